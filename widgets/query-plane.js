// A query to move in the plane over a few keys, and the weights it gets: attention as a lookup.

import {pointer, scaleLinear} from "../assets/vendor/d3.js";
import {html, nothing, svg} from "../assets/vendor/lit.js";
import {atTemperature} from "./lib/attention.js";
import {slider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {dragBy} from "./lib/drag.js";
import {decimal} from "./lib/fields.js";
import {format, formatPercent} from "./lib/numbers.js";
import {backToText, followSetUps} from "./lib/set-up-links.js";
import {shareList} from "./lib/shares.js";

const LIMIT = 2;
const TICKS = [
  [-LIMIT, 0],
  [LIMIT, 0],
  [0, LIMIT],
  [0, -LIMIT],
]; // the axes' ends
const SIZE = 300; // of the drawing's own units; CSS sets its size on the page

// ---- Model ---------------------------------------------------------------------------------

/** softmax(q·k / T) over keys [{token, key: [x, y]}]: T is `heat`, or √d; at 0 the best alone. */
export function lookup({keys}, {across, up, heat = Math.SQRT2}) {
  const scores = keys.map(({key: [x, y]}) => across * x + up * y);
  const weights = atTemperature(scores, heat);
  return {query: [across, up], found: keys.map((key, i) => ({...key, weight: weights[i]}))};
}

/** The same, and what is handed over: the mix of the keys' values. */
export function ask(data, state) {
  const {query, found} = lookup(data, state);
  const answer = found.reduce((sum, {weight, value}) => sum + weight * value, 0);
  const best = found.filter(({weight}) => weight > 0).length;
  const note = best > 1 ? `, from the ${best} that fit best alike` : ", from the best fit alone";
  return {query, found, answer, note: state.heat === 0 ? note : ""};
}

export function summarize({query: [across, up], found, answer, note}) {
  const shares = found.map(({token, weight}) => `${token} ${formatPercent(weight)}`).join(", ");
  const handed = answer === undefined ? "" : ` Your answer: ${format(answer)} m${note}.`;
  return `A query at (${format(across)}, ${format(up)}) looks at: ${shares}.${handed}`;
}

const weightOf = (token, {found}) => found.find((one) => one.token === token).weight;

/** Two keys share alike, to two in a hundred, and leave each other one less than a tenth. */
function halves({found}) {
  const [first, second, third] = found.map(({weight}) => weight).sort((a, b) => b - a);
  return first - second <= 0.02 && third < 0.1;
}

// ---- View ----------------------------------------------------------------------------------

const heavy = (weight) =>
  `opacity:max(var(--faintest), ${+(0.25 + 0.75 * weight).toFixed(4)});stroke-width:${+(1.5 + 7 * weight).toFixed(3)}px`;

const within = (value) => Math.max(-LIMIT, Math.min(LIMIT, Math.round(value * 20) / 20)) || 0;

function view({query: [across, up], found, answer, note}, widget) {
  const x = scaleLinear([-LIMIT, LIMIT], [0, SIZE]);
  const y = scaleLinear([-LIMIT, LIMIT], [SIZE, 0]);
  const put = (event) => {
    const [px, py] = pointer(event, event.currentTarget);
    widget.set({across: within(x.invert(px)), up: within(y.invert(py))});
  };
  const {move, hold} = dragBy(".query", put);
  const key = ({token, key: [kx, ky], weight}) => svg`<g class="key">
    <line x1=${x(0)} y1=${y(0)} x2=${x(kx)} y2=${y(ky)} style=${heavy(weight)} />
    <circle r="6" cx=${x(kx)} cy=${y(ky)} /><text x=${x(kx)} y=${y(ky) + (ky < 0 ? 26 : -14)}>${token}</text></g>`;
  return html`<div class="plane">
    <svg viewBox="-8 -8 ${SIZE + 16} ${SIZE + 16}" aria-hidden="true" @touchstart=${hold} @pointerdown=${move} @pointermove=${move} @click=${put}>
      <line class="axis" x1="0" y1=${y(0)} x2=${SIZE} y2=${y(0)} />
      <line class="axis" x1=${x(0)} y1="0" x2=${x(0)} y2=${SIZE} />
      ${answer === undefined ? nothing : TICKS.map(([at, up]) => svg`<text class="tick" x=${x(at) + (up ? 12 : -7 * at)} y=${y(up) + (up ? 0 : 19)}>${at + up < 0 ? "−" : ""}${LIMIT}</text>`)}
      ${found.map(key)}
      <g class="query"><line x1=${x(0)} y1=${y(0)} x2=${x(across)} y2=${y(up)} />
        <circle class="handle" r="28" cx=${x(across)} cy=${y(up)} /><circle r="11" cx=${x(across)} cy=${y(up)} /></g></svg>
    ${shareList(
      found.map(({token, listed = token, weight}) => ({token: listed, weight})),
      {label: "The query looks at"},
    )}
    ${
      answer === undefined
        ? nothing
        : html`
      <p class="retrieved"><span aria-hidden="true">Your answer: <b>${format(answer)}
        m</b>${note}</span> ${backToText(widget)}</p>`
    }</div>
    ${widget.sentence({hidden: true})}`;
}

const place = ([across, up]) => {
  const range = {min: -LIMIT, max: LIMIT, step: 0.05};
  return {across: decimal(across, range), up: decimal(up, range)};
};
const moves = [slider("across", "Query, across"), slider("up", "Query, up")];

/** data: {query: [across, up], keys: [{token, key: [x, y]}]}. */
export const queryPlane = defineWidget({
  name: "query-plane",
  label: "A query and its keys",
  key: "taste",
  fields: ({query}) => place(query),
  controls: () => [moves],
  controlsBelow: true,
  model: lookup,
  sentence: summarize,
  view,
});

/** With a temperature and an answer: each key has a `value` too, and is `listed` with it. */
export const softLookup = defineWidget({
  name: "query-plane",
  label: "A query that asks the harbours",
  key: "lookup",
  fields: ({query}) => ({...place(query), heat: decimal(1, {min: 0, max: 3, step: 0.05})}),
  controls: () => [[slider("heat", "Temperature")], moves],
  controlsBelow: true,
  model: ask,
  started: (widget) => followSetUps(widget, "lookup"),
  sentence: summarize,
  view,
  challenges: {
    bow: (m) => weightOf("Bow", m) >= 0.9,
    halves,
  },
});
