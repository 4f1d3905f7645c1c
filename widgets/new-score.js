// The online softmax at the moment when a new score comes: a row's parts, sum and mix in the new coin.

import {scaleBand, scaleLinear} from "../assets/vendor/d3.js";
import {html, nothing, svg} from "../assets/vendor/lit.js";
import {reset, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {count} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

const total = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** A row's sum and mix in coins of 2^top, by powers of 2, whose every digit is kept. */
function counted(scores, values, top) {
  const parts = scores.map((score) => 2 ** (score - top));
  return {top, parts, sum: total(parts), mix: total(parts.map((part, i) => part * values[i]))};
}

/** What the row keeps, what becomes of it when the chosen score comes, and the whole row at once. */
export function withNewScore({scores, values, value, choices}, {score: at}) {
  const score = choices[at];
  const before = counted(scores, values, Math.max(...scores));
  const top = Math.max(before.top, score);
  const rate = 2 ** (before.top - top);
  const converted = {
    top,
    parts: before.parts.map((part) => rate * part),
    sum: rate * before.sum,
    mix: rate * before.mix,
  };
  const part = 2 ** (score - top);
  const after = {
    top,
    parts: [...converted.parts, part],
    sum: converted.sum + part,
    mix: converted.mix + part * value,
  };
  return {
    scores: [...scores, score],
    score,
    value,
    rate,
    part,
    before,
    converted,
    after,
    output: after.mix / after.sum,
    atOnce: counted([...scores, score], [...values, value], 0), // without taking off anything
  };
}

// ---- Sentence ------------------------------------------------------------------------------

const exact = (x) => (x === Infinity ? "∞" : Number.isInteger(x) ? count(x) : String(x)); // its digits end: 0.46875
const quotient = ({sum, mix}) => (Number.isFinite(mix / sum) ? (mix / sum).toFixed(2) : "NaN");

export function sentence({score, rate, before, converted, part, after, atOnce}) {
  const says =
    rate === 1
      ? `${count(score)} isn’t larger than ${before.top}, so the coin stays, and the new part is only added. `
      : `${count(score)} is larger than ${before.top}, so an old coin is worth ${rate === 0 ? "next to nothing: the computer rounds it to 0" : `${fraction(rate)} of a new one`}. `;
  const made = `The sum is ${exact(converted.sum)} + ${exact(part)} = ${exact(after.sum)}, and the output ${exact(after.mix)} / ${exact(after.sum)} = ${quotient(after)}. `;
  return (
    says +
    made +
    (Number.isFinite(atOnce.sum)
      ? `The whole row at once gives ${quotient(atOnce)}, too.`
      : "The whole row at once overflows: its output isn’t a number.")
  );
}

// ---- View ----------------------------------------------------------------------------------

/** A power of 2 that isn't above 1: 1, 1/2, 1/4, …, and 0 where it is rounded to it. */
const fraction = (part) => (part === 0 || part === 1 ? String(part) : `1/${count(1 / part)}`);

const PLOT = {left: 44, right: 308, top: 8, bottom: 124, height: 168};

function bars({scores, before, after}) {
  const x = scaleBand(
    scores.map((_, i) => i),
    [PLOT.left, PLOT.right],
  ).paddingInner(0.3);
  const y = scaleLinear([0, 1], [PLOT.bottom, PLOT.top]);
  const middle = x.bandwidth() / 2;
  const old = (part) =>
    svg`<line class="old" x1="-3" x2=${x.bandwidth() + 3} y1=${y(part)} y2=${y(part)}></line>`;
  return html`<svg viewBox="0 0 312 ${PLOT.height}" aria-hidden="true">
    <line class="ground" x1=${PLOT.left} x2=${PLOT.right} y1=${PLOT.bottom} y2=${PLOT.bottom}></line>
    ${scores.map(
      (
        score,
        i,
      ) => svg`<g class=${i < before.parts.length ? "" : "new"} transform="translate(${x(i)})">
      <rect width=${x.bandwidth()} y=${PLOT.top} height=${PLOT.bottom - PLOT.top} style="transform:scaleY(${+after.parts[i].toFixed(5)})"></rect>
      ${i < before.parts.length ? old(before.parts[i]) : nothing}
      <text x=${middle} y=${PLOT.bottom + 18}>${count(score)}</text>
      <text class="part" x=${middle} y=${PLOT.bottom + 38}>${fraction(after.parts[i])}</text></g>`,
    )}
    ${["score", "part"].map((name, i) => svg`<text class="name" x="0" y=${PLOT.bottom + 18 + 20 * i}>${name}</text>`)}</svg>`;
}

const line = (
  name,
  top,
  {sum, mix},
  output = "",
  className = "",
) => html`<tr class=${className}><th scope="row">${name}</th>
  ${[top, exact(sum), exact(mix), output].map((text) => html`<td><span>${text}</span></td>`)}</tr>`;

const ledger = (m) => html`<table class="ledger"><caption><b>kept for the
  row</b></caption><thead><tr><td></td>${["largest", "sum", "mix", "mix / sum"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
  <tbody>${line("before", count(m.before.top), m.before)}
    ${line(html`× ${fraction(m.rate)}`, count(m.after.top), m.converted)}
    ${line("with the new part", count(m.after.top), m.after, quotient(m.after), "made")}
    ${line("whole row at once", "", m.atOnce, quotient(m.atOnce), "whole")}</tbody></table>`;

const view = (m, widget) =>
  html`<div class="stage">${bars(m)}${ledger(m)}</div>${widget.sentence()}`;

/** data: {scores, values: of the row so far; value: of the new score; choices: its scores; at: the one chosen at first} */
export const newScore = defineWidget({
  name: "new-score",
  label: "A new score, and a new coin",
  fields: ({choices, at}) => ({score: integer(at, {max: choices.length - 1})}),
  controls: ({data}) => [[steps("score", "New score", data.choices.map(count)), reset]],
  model: withNewScore,
  sentence,
  view,
});
