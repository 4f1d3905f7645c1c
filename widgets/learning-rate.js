// Trainings of one layer at several learning rates: with the division by √dₖ, and without it.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {reset, steps as stepSlider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {mean} from "./lib/lists.js";

// ---- Model ---------------------------------------------------------------------------------

const LAST = 5; // values of a curve that count as its end

/** {right, stuck: a curve for each seed, ends: the least and the most of the shares of right answers at the end}. */
function outcome({right, stuck}) {
  const ends = right.map((curve) => mean(curve.slice(-LAST)));
  const left = mean(stuck.map((curve) => mean(curve.slice(-LAST))));
  return {right, stuck, ends: [Math.min(...ends), Math.max(...ends)], left};
}

/** data: {rates, every: steps a value of a curve is of, divided, undivided: {right, stuck: [rate][seed] → curve}}. */
export function trainings({rates, every, divided, undivided}, {rate}) {
  const at = ({right, stuck}) => outcome({right: right[rate], stuck: stuck[rate]});
  return {
    rate: rates[rate],
    every,
    steps: every * divided.right[rate][0].length,
    divided: at(divided),
    undivided: at(undivided),
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const hundredths = (share) => Math.round(100 * share);
/** "97", or "60 to 70". */
const of100 = ({ends}) => [...new Set(ends.map(hundredths))].join(" to ");

export const sentence = ({rate, steps, divided, undivided}) =>
  `At a rate of ${rate}, after ${steps} steps, ${of100(divided)} of 100 answers are right with the division, ` +
  `and ${of100(undivided)} without it. Of 100 rows, ${hundredths(divided.left)} are stuck with it, and ${hundredths(undivided.left)} without it.`;

const PLOT = {left: 40, right: 300, top: 10, bottom: 150, height: 186};

function chart({every, steps, ...kinds}, what) {
  const x = scaleLinear([0, steps], [PLOT.left, PLOT.right]);
  const y = scaleLinear([0, 1], [PLOT.bottom, PLOT.top]);
  const path = line((_, i) => x((i + 1) * every), y);
  const level = (at, className) =>
    svg`<line class=${className} x1=${PLOT.left} x2=${PLOT.right} y1=${y(at)} y2=${y(at)}></line>`;
  return html`<svg viewBox="0 0 312 ${PLOT.height}" aria-hidden="true">
    ${[0, 0.5, 1].map((tick) => svg`${level(tick, "tick")}<text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${100 * tick}</text>`)}
    ${[0, 0.5, 1].map((part) => svg`<text class="step" x=${x(part * steps)} y=${PLOT.bottom + 17}>${part * steps}</text>`)}
    <text class="step" x=${(PLOT.left + PLOT.right) / 2} y=${PLOT.bottom + 33}>step</text>
    ${["divided", "undivided"].map((name) => kinds[name][what].map((curve) => svg`<path class=${name} d=${path(curve)}></path>`))}</svg>`;
}

const view = (m, widget) => html`<div class="stage">
    <figure><figcaption>Answers right, of 100, at a rate of ${m.rate}</figcaption>${chart(m, "right")}</figure>
    <figure><figcaption>Rows stuck, of 100: saturated, and answered wrongly</figcaption>${chart(m, "stuck")}</figure></div>
  <dl><div class="divided"><dt>divided: right in the end</dt><dd>${of100(m.divided)}</dd></div>
    <div class="undivided"><dt>undivided: right in the end</dt><dd>${of100(m.undivided)}</dd></div></dl>
  ${widget.sentence({hidden: true})}`;

export const learningRate = defineWidget({
  name: "learning-rate",
  label: "Learning rates",
  fields: ({rates}) => ({rate: integer(0, {max: rates.length - 1})}), // the smallest, where the page's story begins
  controls: ({data}) => [[stepSlider("rate", "Learning rate", data.rates.map(String)), reset]],
  model: trainings,
  sentence,
  view,
});
