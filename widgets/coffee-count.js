// Notes under one key, counted by a table that adds, and averaged by softmax.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {formatFine} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/** What softmax and a table that adds say of `coffees` notes of value 1 and `others` of value 0, all with one score. */
export function answers(coffees, others) {
  const values = [...Array(coffees).fill(1), ...Array(others).fill(0)];
  const weights = softmax(values.map(() => 0));
  return {
    coffees,
    weight: weights[0],
    mean: weights.reduce((sum, weight, i) => sum + weight * values[i], 0),
    sum: values.reduce((a, b) => a + b, 0),
  };
}

/** data: {coffees, others, most}; every count of coffees up to `most`, the one that is chosen, and the next. */
export function counted({most}, {coffees, others}) {
  const every = Array.from({length: most}, (_, i) => answers(i + 1, others));
  return {...every[coffees - 1], others, every, next: answers(coffees + 1, others)};
}

// ---- Sentence, view ------------------------------------------------------------------------

const COFFEES = unitsOf("coffee");
const short = (x) => formatFine(x).replace(/\.?0+$/, ""); // 0.375, 0.5, 3

export const sentence = ({coffees, others, weight, mean, sum, next}) =>
  `Ann has had ${COFFEES(coffees)}. Softmax looks at ${coffees === 1 ? "it" : "them"} and at ${unitsOf("other token")(others)}, with a weight of ${short(weight)} each. ` +
  `It says ${short(mean)}, and with one coffee more it would say ${short(next.mean)}. The table says ${sum}, and with one more ${next.sum}.`;

const pieces = (n, className, value) =>
  Array.from({length: n}, () => html`<i class=${className}>${value}</i>`);

/** A bar in pieces, what it comes to, and what one coffee more would make of it. */
const said = (
  name,
  bar,
  sum,
  now,
  next,
) => html`<div class=${name}><p class="who">${name === "mean" ? "Softmax" : "A table that adds"}</p>
  <p class="pieces" aria-hidden="true">${bar}</p><p class="made">${sum}</p>
  <dl><div><dt>says</dt><dd>${now}</dd></div><div><dt>one coffee more</dt><dd>${next}</dd></div></dl></div>`;

const PLOT = {left: 30, right: 300, top: 14, bottom: 118, height: 152};

/** What is said along the number of coffees, with a ring at those chosen. */
function along(name, {coffees, every}, most) {
  const x = scaleLinear([1, every.length], [PLOT.left + 12, PLOT.right - 12]);
  const y = scaleLinear([0, most], [PLOT.bottom, PLOT.top]);
  const at = (one) => [x(one.coffees), y(one[name])];
  const path = line(
    (one) => at(one)[0],
    (one) => at(one)[1],
  )(every);
  const [cx, cy] = at(every[coffees - 1]);
  return html`<svg class="along" viewBox="0 0 312 ${PLOT.height}" aria-hidden="true">
    ${[0, most / 2, most].map(
      (
        tick,
      ) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(tick)} y2=${y(tick)}></line>
      <text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${tick}</text>`,
    )}
    ${every.map((one) => svg`<text x=${x(one.coffees)} y=${PLOT.bottom + 17}>${one.coffees}</text>`)}
    <text class="axis" x=${(PLOT.left + PLOT.right) / 2} y=${PLOT.bottom + 33}>coffees</text>
    <path d=${path}></path>${every.map((one) => svg`<circle class="dot" r="4" cx=${at(one)[0]} cy=${at(one)[1]}></circle>`)}
    <circle class="now" r="8" cx=${cx} cy=${cy}></circle></svg>`;
}

function view(m, widget) {
  const {most} = widget.data;
  const {coffees, others, weight, mean, sum, next} = m;
  const each = short(weight);
  const all = [pieces(coffees, "coffee", 1), pieces(others, "other", 0)];
  const formula = `${coffees} · ${each} · 1 + ${others} · ${each} · 0`;
  return html`<div class="stage">
    <section>${said("mean", all, formula, short(mean), short(next.mean))}${along("mean", m, 1)}</section>
    <section>${said("sum", [pieces(coffees, "coffee", 1), pieces(most - coffees, "empty", "")], Array(coffees).fill(1).join(" + "), sum, next.sum)}${along("sum", m, most)}</section></div>
    ${widget.sentence({hidden: true})}`;
}

export const coffeeCount = defineWidget({
  name: "coffee-count",
  label: "Coffees, averaged and added",
  key: "coffees",
  fields: ({coffees, others, most}) => ({
    coffees: integer(coffees, {min: 1, max: most}),
    others: integer(others, {min: 1, max: most}),
  }),
  controls: () => [
    [slider("coffees", "Coffees for Ann", {unit: COFFEES})],
    [slider("others", "Other tokens looked at", {unit: unitsOf("token")}), reset],
  ],
  model: counted,
  sentence,
  view,
  challenges: {
    "half-of-six": ({coffees, mean}) => coffees === 6 && Math.abs(mean - 0.5) < 1e-9,
    "three-quarters": ({coffees, mean}) => coffees === 6 && Math.abs(mean - 0.75) < 1e-9,
  },
});
