// Trainings of one layer at several learning rates: with the division by √dₖ, and without it.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {reset, steps as stepSlider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {mean} from "./lib/lists.js";

// ---- Model ---------------------------------------------------------------------------------

const LAST = 5; // values of a curve that count as its end

/** {curves, ends: the least and the most of the shares of right answers at the end}. */
function outcome(curves) {
  const ends = curves.map((curve) => mean(curve.slice(-LAST)));
  return {curves, ends: [Math.min(...ends), Math.max(...ends)]};
}

/** data: {rates, every: steps a value of a curve is of, divided, undivided: [rate][seed] → curve}. */
export function trainings({rates, every, divided, undivided}, {rate}) {
  return {
    rate: rates[rate],
    every,
    steps: every * divided[rate][0].length,
    divided: outcome(divided[rate]),
    undivided: outcome(undivided[rate]),
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

/** "97", or "60 to 70". */
const of100 = ({ends}) => [...new Set(ends.map((end) => Math.round(100 * end)))].join(" to ");

export const sentence = ({rate, steps, divided, undivided}) =>
  `At a rate of ${rate}, after ${steps} steps, ${of100(divided)} of 100 answers are right with the division, ` +
  `and ${of100(undivided)} without it.`;

const PLOT = {left: 40, right: 300, top: 10, bottom: 150, height: 186};
const GUESS = 1 / 8;

function chart({every, steps, divided, undivided}) {
  const x = scaleLinear([0, steps], [PLOT.left, PLOT.right]);
  const y = scaleLinear([0, 1], [PLOT.bottom, PLOT.top]);
  const path = line((_, i) => x((i + 1) * every), y);
  const level = (at, className) =>
    svg`<line class=${className} x1=${PLOT.left} x2=${PLOT.right} y1=${y(at)} y2=${y(at)}></line>`;
  return html`<svg viewBox="0 0 312 ${PLOT.height}" aria-hidden="true">
    ${[0, 0.5, 1].map((tick) => svg`${level(tick, "tick")}<text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${100 * tick}</text>`)}
    ${level(GUESS, "guess")}
    ${[0, 0.5, 1].map((part) => svg`<text class="step" x=${x(part * steps)} y=${PLOT.bottom + 17}>${part * steps}</text>`)}
    <text class="step" x=${(PLOT.left + PLOT.right) / 2} y=${PLOT.bottom + 33}>step</text>
    ${Object.entries({divided, undivided}).map(([name, {curves}]) => curves.map((curve) => svg`<path class=${name} d=${path(curve)}></path>`))}</svg>`;
}

const view = (m, widget) => html`<p class="head">Answers right, of 100, at a rate of ${m.rate}</p>
  ${chart(m)}
  <dl><div class="divided"><dt>divided, in the end</dt><dd>${of100(m.divided)}</dd></div>
    <div class="undivided"><dt>undivided, in the end</dt><dd>${of100(m.undivided)}</dd></div></dl>
  ${widget.sentence({hidden: true})}`;

export const learningRate = defineWidget({
  name: "learning-rate",
  label: "Learning rates",
  fields: ({rates}) => ({rate: integer(rates.length - 1, {max: rates.length - 1})}),
  controls: ({data}) => [[stepSlider("rate", "Learning rate", data.rates.map(String)), reset]],
  model: trainings,
  sentence,
  view,
});
