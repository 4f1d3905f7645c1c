// One step for one row: where it takes that row on the curve of softmax, and where those of other texts with the same query.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {reset, steps, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {mean} from "./lib/lists.js";
import {chance, formatPercent} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

const SATURATED = 0.99; // a weight above it
const share = (gap) => 1 / (1 + Math.exp(-gap));
const SLOPE = 1 / 4; // of the weight at a gap of 0, where all rows begin

/**
 * data: {size: numbers in a key, rates, own: (k₁ − k₂)·(k₁ − k₂), others: (k₁ − k₂)·(k₃ − k₄) of each other row}.
 * Gives {rate, size, divide, own: {gap, weight}, others: the gaps, spread: theirs, sure: {wrong, right}, open: how many rows}.
 */
export function oneStep({size, rates, own, others}, {rate: at, divide}) {
  const rate = rates[at];
  const move = (product) => (rate * SLOPE * product) / (divide ? size : 1);
  const gaps = others.map(move);
  const right = gaps.filter((gap) => share(gap) > SATURATED).length;
  const wrong = gaps.filter((gap) => share(-gap) > SATURATED).length;
  return {
    rate,
    size,
    divide,
    own: {gap: move(own), weight: share(move(own))},
    others: gaps,
    spread: Math.sqrt(mean(gaps.map((gap) => gap ** 2))),
    sure: {wrong, right},
    open: gaps.length - right - wrong,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

/** 768, 7.7, 0.07: as many digits as one can use. */
const short = (x) =>
  x >= 9.95 ? x.toFixed(0) : x >= 0.0995 ? x.toFixed(1) : String(+x.toPrecision(1));

export const sentence = ({rate, size, divide, own, others, spread, sure, open}) =>
  `${divide ? `Divided by √${size}` : "Undivided"}, a step at a rate of ${rate} moves the gap of its own row by ${short(own.gap)}, ` +
  `and the right key gets ${chance(own.weight)}. It moves the gaps of ${others.length} other rows by about ${short(spread)}, up or down: ` +
  `${sure.wrong} become sure of the wrong key, ${sure.right} of the right one, and ${open} stay open.`;

const PLOT = {left: 48, right: 340, width: 348, height: 282};
const PANELS = [
  {top: 26, bottom: 98, text: "the row that the step is for"},
  {top: 150, bottom: 222, text: "other texts, with the same query"},
];
const MOST = 7; // gaps beyond it stand at the side
const x = scaleLinear([-MOST, MOST], [98, 290]);
const SURE = Math.log(SATURATED / (1 - SATURATED));
const heightOf = ({top, bottom}) => scaleLinear([0, 1], [bottom, top]);
const along = (y, from, to) =>
  line(x, (gap) => y(share(gap)))(
    Array.from({length: 71}, (_, i) => from + (i / 70) * (to - from)),
  );

function frame(panel) {
  const y = heightOf(panel);
  const band = (from, to) =>
    svg`<rect class="sure" x=${from} y=${panel.top - 8} width=${to - from} height=${panel.bottom - panel.top + 16}></rect>`;
  return svg`${band(PLOT.left, x(-SURE))}${band(x(SURE), PLOT.right)}
    ${[0, 0.5, 1].map((w) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(w)} y2=${y(w)}></line><text class="tick" x=${PLOT.left - 6} y=${y(w) + 4}>${formatPercent(w)}</text>`)}
    <path class="curve" d=${along(y, -MOST, MOST)}></path><text class="panel" x=${PLOT.left} y=${panel.top - 14}>${panel.text}</text>`;
}

/** Where a row's mark stands: on the curve, or beyond its ends in columns of five, the nth of those there. */
function place(gap, nth, y) {
  if (Math.abs(gap) <= MOST) return [x(gap), y(share(gap))];
  const [column, line] = [Math.floor(nth / 5), nth % 5];
  return gap > 0
    ? [PLOT.right - 6 - 8 * column, y(1) + 8 * line]
    : [PLOT.left + 6 + 8 * column, y(0) - 8 * line];
}

function ownRow({gap}) {
  const y = heightOf(PANELS[0]);
  const isOutside = gap > MOST;
  const [cx, cy] = place(gap, 0, y);
  const name = isOutside ? [PLOT.right - 4, cy + 22, "end"] : [cx + 9, cy + 15, "start"];
  return svg`${frame(PANELS[0])}<path class="way" d=${along(y, 0, Math.min(gap, MOST))}></path>
    ${isOutside ? svg`<line class="way outside" x1=${x(MOST)} x2=${cx} y1=${cy} y2=${cy}></line>` : ""}
    <circle class="start" r="5" cx=${x(0)} cy=${y(0.5)}></circle><circle class="row" r="5.5" style="transform:translate(${cx}px,${cy}px)"></circle>
    <text class="gap" x=${name[0]} y=${name[1]} text-anchor=${name[2]}>+${short(gap)}</text>`;
}

function otherRows({others, spread}) {
  const y = heightOf(PANELS[1]);
  const beyond = [0, 0];
  const marks = others.map((gap) => {
    const nth = Math.abs(gap) > MOST ? beyond[gap > 0 ? 1 : 0]++ : 0;
    const [cx, cy] = place(gap, nth, y);
    return svg`<circle class="row" r="3.4" style="transform:translate(${cx}px,${cy}px)"></circle>`;
  });
  return svg`${frame(PANELS[1])}<circle class="start" r="5" cx=${x(0)} cy=${y(0.5)}></circle>${marks}
    <text class="gap" x=${x(0) + 12} y=${y(0.5) + 20} text-anchor="start">± ${short(spread)}</text>`;
}

const view = (
  m,
  widget,
) => html`<svg class=${m.divide ? "divided" : "undivided"} viewBox="0 0 ${PLOT.width} ${PLOT.height}" aria-hidden="true">
    ${ownRow(m.own)}${otherRows(m)}
    ${[-5, 0, 5].map((gap) => svg`<text class="axis" x=${x(gap)} y=${PANELS[1].bottom + 26}>${gap < 0 ? `−${-gap}` : gap}</text>`)}
    <text class="axis" x=${x(0)} y=${PANELS[1].bottom + 46}>gap of the inputs, right key to wrong key</text></svg>
  <dl><div><dt>Others sure of the wrong key</dt><dd>${m.sure.wrong}</dd></div>
    <div><dt>Others still open</dt><dd>${m.open}</dd></div>
    <div><dt>Others sure of the right key</dt><dd>${m.sure.right}</dd></div></dl>
  ${widget.sentence({hidden: true})}`;

export const stepForOne = defineWidget({
  name: "one-step",
  label: "One step, many rows",
  fields: ({rates}) => ({
    rate: integer(rates.length - 1, {max: rates.length - 1}), // the largest, which does the harm
    divide: flag(false),
  }),
  controls: ({data}) => [
    [steps("rate", "Learning rate", data.rates.map(String))],
    [toggle("divide", `Divide by √${data.size}`), reset],
  ],
  model: oneStep,
  sentence,
  view,
  challenges: {
    "all-open": ({divide, own, others, open}) =>
      !divide && own.weight <= SATURATED && open === others.length,
  },
});
