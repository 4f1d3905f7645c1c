// Two heads that learn to work together: checkpoints of a training under a slider, its loss, the map of
// each head on any text, and any head switched off.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, live, nothing, svg} from "../assets/vendor/lit.js";
import {checkpoints} from "./lib/checkpoints.js";
import {reset, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, someOf, text as anyText} from "./lib/fields.js";
import {readSigns, refusal, unpacked} from "./lib/induction.js";
import {moveByKey} from "./lib/keys.js";
import {format, formatPercent} from "./lib/numbers.js";
import {shareList} from "./lib/shares.js";
import {weightMap} from "./lib/weight-map.js";

const HEADS = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
];
const NAMES = HEADS.map(([layer, head]) => `${layer + 1}.${head + 1}`); // counted from 1, as on the front page
const BLIND = Math.log(32);

// ---- Model ---------------------------------------------------------------------------------

const isOpening = ({text, files}, state) =>
  state.text === text && state.step === files.length - 1 && !state.off.length;

/** The reading of the state's text by its checkpoint: the opening's, one from memory, or a new one; null until there is a model. */
function readingOf(data, state) {
  const {store, memory} = data;
  if (isOpening(data, state)) return data.opening;
  const key = [state.step, state.off, state.text].join("|");
  const model = store?.models[state.step];
  if (!memory.has(key) && model) {
    if (memory.size > 200) memory.clear();
    memory.set(
      key,
      readSigns(
        model,
        state.text,
        state.off.map((head) => HEADS[head]),
      ),
    );
  }
  return memory.get(key) ?? null;
}

/** What is shown; of a text that can't be read, or isn't yet, the last one that was. */
export function watched(data, state) {
  const problem = refusal(state.text, data);
  const found = problem ? null : readingOf(data, state);
  const reading = found ?? data.last ?? data.opening;
  data.last = reading;
  const signs = [...reading.text];
  const at = Math.min(state.at, signs.length - 1);
  const scores = data.scores[state.step];
  return {
    signs,
    at,
    reading,
    problem: problem || data.store?.problem || "",
    isFresh: Boolean(found),
    isOpening: reading.text === data.text,
    step: scores.step,
    loss: {fresh: scores.first_loss, seen: scores.repeated_loss},
    guesses: reading.guesses[at],
    heads: HEADS.map((_, i) => ({
      name: NAMES[i],
      isOff: state.off.includes(i),
      map: reading.maps[i],
      ...scores.heads[i],
      most: most(reading.maps[i][at]),
    })),
    arrived: data.store && data.store.asked > data.store.arrived ? data.store : null,
  };
}

const most = (row) => row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);

export const called = (sign) => (sign === " " ? "space" : sign);

const looks = ({most: to, map, isOff}, {signs, at}) =>
  isOff ? "is off" : `${called(signs[at])} → ${called(signs[to])} ${formatPercent(map[at][to])}`;

export function summarize(m) {
  if (m.problem) return m.problem;
  if (!m.isFresh) return `Step ${m.step}: the checkpoint is being fetched.`;
  const heads = m.heads.map((head) => `head ${head.name} ${looks(head, m)}`).join(", ");
  const {fresh, seen} = m.reading.losses;
  return (
    `Step ${m.step}. From token ${m.at + 1}, ${called(m.signs[m.at])}: ${heads}. It guesses ${called(m.guesses[0][0])}, ` +
    `${formatPercent(m.guesses[0][1])}. Mean loss of the guess after a new token ${lossText(fresh)}, after a token seen before ${lossText(seen)}.`
  );
}

const lossText = (loss) => (loss === null ? "–" : format(loss));

/** Whether the model was sure of a sign, and another one came. */
const isFooled = ({reading: {given, guesses}}) =>
  given.some((share, i) => share < 0.05 && guesses[i][0][1] > 0.5);

export const GOALS = {
  turning: ({heads, isFresh}) =>
    isFresh && heads.slice(2).every(({induction}) => induction > 0.3 && induction < 0.6),
  blind: ({heads, reading, isFresh, isOpening, step}) =>
    isFresh &&
    isOpening &&
    step === 1000 &&
    heads.filter(({isOff}) => isOff).length === 2 &&
    reading.losses.seen > BLIND,
  fooled: (m, {text}) =>
    m.isFresh &&
    m.step === 1000 &&
    !m.heads.some(({isOff}) => isOff) &&
    text.length > 1 &&
    isFooled(m),
};

// ---- View ----------------------------------------------------------------------------------

const PLOT = {width: 340, height: 168, left: 26, right: 330, top: 12, bottom: 142};
const scales = () => ({
  x: scaleLinear([0, 1000], [PLOT.left, PLOT.right]),
  y: scaleLinear([0, 5], [PLOT.bottom, PLOT.top]),
});

let drawn = {}; // the curves, which no event changes
function curves({scores, control}) {
  if (drawn.scores === scores) return drawn.curves;
  const {x, y} = scales();
  const path = (points) =>
    line(
      (p) => x(p[0]),
      (p) => y(p[1]),
    )(points.filter(([step, loss]) => step <= 1000 && loss <= 5));
  const of = (name) => path(scores.map((point) => [point.step, point[name]]));
  const shown = svg`${[0, 1, 2, 3, 4, 5].map(
    (tick) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(tick)} y2=${y(tick)} />
      <text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${tick}</text>`,
  )}
    ${[0, 250, 500, 750, 1000].map((tick) => svg`<text class="step" x=${Math.min(x(tick), PLOT.right - 10)} y=${PLOT.bottom + 18}>${tick}</text>`)}
    <path class="first" d=${of("first_loss")} /><path class="control" d=${path(control)} /><path class="second" d=${of("repeated_loss")} />`;
  drawn = {scores, curves: shown};
  return shown;
}

function plot(m, {data}) {
  const {x, y} = scales();
  const [across, down] = [x(m.step), y(Math.min(5, m.loss.seen))].map((at) => `${at.toFixed(1)}px`);
  return html`<svg class="curve" viewBox="0 0 ${PLOT.width} ${PLOT.height}" aria-hidden="true">${curves(data)}
    <line class="now" y1=${PLOT.top - 6} y2=${PLOT.bottom} style="transform:translateX(${across})" />
    <circle class="now" r="5" style="transform:translate(${across},${down})" /></svg>`;
}

const strip = (
  m,
  widget,
) => html`<div class="signs" role="radiogroup" aria-label="The token that looks"
  @keydown=${(event) => moveByKey(event, (at) => widget.set({at}))}>${m.signs.map(
    (sign, i) => html`<button type="button" role="radio" class="weighted"
    aria-checked=${i === m.at} aria-label=${called(sign)} tabindex=${i === m.at ? 0 : -1} style="--weight:${i ? m.reading.given[i - 1].toFixed(3) : 0}"
    @click=${() => widget.set({at: i})}>${sign === " " ? "␣" : sign}</button>`,
  )}</div>`;

function card(head, i, m, widget) {
  const {off} = widget.state;
  const set = (isOn) =>
    widget.set({off: isOn ? off.filter((one) => one !== i) : [...off, i].sort()});
  return html`<div class=${head.isOff ? "head off" : "head"}><label class="toggle"><b>Head ${head.name}</b>
      <input type="checkbox" aria-label="Head ${head.name} is on" .checked=${!head.isOff} @input=${(event) => set(event.target.checked)}></label>
    ${weightMap(head.map, {row: m.at, choose: ({row}) => widget.set({at: row})})}
    <p class="looks">${looks(head, m)}</p>
    <p class="measured"><span>previous</span> <span class="previous">${formatPercent(head.previous)}</span></p>
    <p class="measured"><span>induction</span> <span class="induction">${formatPercent(head.induction)}</span></p></div>`;
}

const ownText = (
  widget,
) => html`<label class="own-text"><span>Your text</span><textarea rows="1" spellcheck="false" autocapitalize="off" autocomplete="off"
  .value=${live(widget.state.text)} @input=${(event) => widget.set({text: event.target.value.toLowerCase()})}
  @keydown=${(event) => event.key === "Enter" && event.preventDefault()}></textarea></label>`;

const status = ({problem, arrived}, {data}) =>
  html`<p class=${problem ? "status problem" : "status"} role="status">${problem}${
    arrived && !problem
      ? html`Fetching ${(data.size / 1e6).toFixed(1)} MB of checkpoints …`
      : nothing
  }</p>`;

function view(m, widget) {
  const {losses} = m.reading;
  return html`<div class="lab"><figure><figcaption>Loss in training: <span class="second">second time</span>,
        <span class="first">first time</span>, <span class="control">second time with one
          layer</span></figcaption>${plot(m, widget)}</figure>
      <div class="guess"><p class="title">After <b>${called(m.signs[m.at])}</b> it guesses</p>
        ${shareList(
          m.guesses.map(([sign, weight]) => ({
            token: called(sign),
            weight,
            className: sign === m.signs[m.at + 1] ? "follows" : "",
          })),
          {label: "Guesses"},
        )}
        <p class="note">Mean loss of the guess after a new token
          <b class="fresh">${lossText(losses.fresh)}</b>, after a token
          seen before <b class="seen">${lossText(losses.seen)}</b></p></div>
    <div class=${m.isFresh ? "read" : "read waiting"}>
      <p class="title">The text <span class="note">(press a token to look from it; the fuller
        its colour, the surer the model was that it would come)</span></p>${strip(m, widget)}
      <div class="heads">${m.heads.map((head, i) => card(head, i, m, widget))}</div></div></div>
    ${status(m, widget)}${widget.sentence({hidden: true})}`;
}

/** Fetches what the state asks for, once a state: after a failure the next change tries again. */
function fetchWanted({data, state}) {
  if (data.tried === state || isOpening(data, state)) return;
  data.tried = state;
  data.store.need(state.step);
}

const lab = defineWidget({
  name: "induction-lab",
  label: "Induction lab",
  key: "lab",
  fields: ({files, text, at, longest}) => ({
    step: integer(files.length - 1, {max: files.length - 1}),
    text: anyText(text, {most: longest}),
    at: integer(at, {max: longest - 1}),
    off: someOf(NAMES, [...NAMES.keys()]),
  }),
  controls: ({data}) => [
    [
      steps(
        "step",
        "Steps",
        data.scores.map(({step}) => String(step)),
        {ticks: data.ticks},
      ),
    ],
    [ownText, reset],
  ],
  model: watched,
  sentence: summarize,
  view,
  challenges: GOALS,
  started(widget) {
    const {data, root, listen} = widget;
    let isReaders = false; // whether a reader chose this state, or an address did
    listen(root, "input", ({target, detail}) => target === root && (isReaders = detail));
    data.store = checkpoints(data.files, (i) => {
      if (i === widget.state.step || data.store.arrived === data.store.asked || data.store.problem)
        widget.refresh(isReaders);
    });
    const isScrubber = ({target}) => target.closest?.(".step-slider");
    for (const touch of ["pointerdown", "keydown", "input"]) {
      listen(root, touch, (event) => isScrubber(event) && data.store.needAll(widget.state.step), {
        capture: true,
      });
    }
    fetchWanted(widget);
  },
  drawn: fetchWanted,
});

/** data: of course/payloads/induction_lab.py. */
export const inductionLab = (data) =>
  lab({...data, opening: unpacked(data.text, data.reading), memory: new Map(), last: null});
