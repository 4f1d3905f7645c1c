// Where one number of a query, key, value or output comes from.

import {html} from "../../assets/vendor/lit.js";
import {choice, numbered, slider} from "../lib/controls.js";
import {formatFine} from "../lib/numbers.js";
import {written} from "../lib/words.js";
import {PARTS} from "./names.js";

const SHOWN = 5; // terms that are listed

/**
 * Number `no`, from 0, of a part of `head` at token `i`: {terms: [{from, a, b}] largest product first,
 * bias, sum, turned: null or {angle, other, isFirst}, value}. The value is the sum, or, where places
 * turn queries and keys, that number turned together with its neighbour, `other`.
 * reads: [layer] {placed, values}, what queries and keys, and values, are made of; matrices: [layer]
 * {query, key, value} of {weight, bias}. `turns`: whether places turn them.
 */
export function explain({head, reads, matrices, turns, width}, part, no, i, length) {
  const {size, layer} = head;
  if (part === "output") {
    const weights = head.weights.subarray(i * length, (i + 1) * length);
    const terms = sorted(
      Array.from(weights, (a, from) => ({from, a, b: head.value[from * size + no]})),
    );
    return {terms, bias: null, sum: total(terms), turned: null, value: head.mixed[i * size + no]};
  }
  const input = reads[layer][part === "value" ? "values" : "placed"].subarray(
    i * width,
    (i + 1) * width,
  );
  const made = (number) => {
    const row = head.head * size + number;
    const {weight, bias} = matrices[layer][part];
    const terms = sorted(
      Array.from(input, (a, from) => ({from, a, b: weight[row * width + from]})),
    );
    return {terms, bias: bias[row], sum: total(terms) + bias[row]};
  };
  const own = made(no);
  const isFirst = no % 2 === 0;
  const turned =
    turns && part !== "value"
      ? {
          isFirst,
          other: made(isFirst ? no + 1 : no - 1).sum,
          angle: i / 10000 ** ((no - (no % 2)) / size),
        }
      : null;
  return {...own, turned, value: head[part][i * size + no]};
}

const total = (terms) => terms.reduce((all, {a, b}) => all + a * b, 0);
const sorted = (terms) => terms.sort((x, y) => Math.abs(y.a * y.b) - Math.abs(x.a * x.b));

/** The same on the page; `m.parts` are the model's matrices, which come with it. */
export function anyNumber(m, widget) {
  const {reading, head, at, to, pieces, entry, parts} = m;
  const {part, no} = widget.state;
  const chosen = reading.heads[head];
  const number = Math.min(no, chosen.size) - 1;
  const i = ["query", "output"].includes(part) ? at : to;
  if (part !== "output" && !(parts && reading.reads))
    return html`<p>${m.failure || "Fetching the model, with its matrices …"}</p>`;
  const found = explain(
    {head: chosen, reads: reading.reads, matrices: parts, turns: entry.turns, width: entry.width},
    part,
    number,
    i,
    pieces.length,
  );
  return html`<div class="controls">${choice("part", "Of what", PARTS)(widget)}${slider("no", "Number", {unit: numbered("number")})(widget)}</div>
    <p>Number ${number + 1} of the ${part} of <b class=${i === at ? "q" : "k"}>${written(pieces[i])}</b>:
      <b>${formatFine(found.value)}</b></p>
    <table class="numbers" aria-label="The largest products of number ${number + 1}"><thead><tr>
      <th scope="col">${part === "output" ? "from" : "place in the stream"}</th>
      <th scope="col">${part === "output" ? "weight" : "its number"}</th>
      <th scope="col">× ${part === "output" ? "value" : "matrix"}</th><th scope="col">≈ product</th></tr></thead>
    <tbody>${found.terms.slice(0, SHOWN).map(
      ({
        from,
        a,
        b,
      }) => html`<tr><th scope="row">${part === "output" ? written(pieces[from]) : from + 1}</th>
      <td>${formatFine(a)}</td><td>${formatFine(b)}</td><td>${formatFine(a * b)}</td></tr>`,
    )}</tbody></table>
    <p class="line">The other ${Math.max(0, found.terms.length - SHOWN)} products together:
      ${formatFine(total(found.terms.slice(SHOWN)))}${found.bias === null ? "" : `, bias ${formatFine(found.bias)}`}.
        Sum <b>${formatFine(found.sum)}</b>.
    ${found.turned ? turnedBy(found) : ""}</p>`;
}

/** How the place of the word turns a number together with its neighbour. */
const turnedBy = ({
  sum,
  value,
  turned: {angle, other, isFirst},
}) => html`Rotary: its place turns it, together with its neighbour ${formatFine(other)}, by
  ${formatFine(angle)} radians:
  ${formatFine(sum)} · cos ${formatFine(angle)} ${isFirst ? "−" : "+"} (${formatFine(other)}) ·
    sin ${formatFine(angle)} ≈ <b>${formatFine(value)}</b>.`;
