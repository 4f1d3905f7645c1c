// The chosen head: where the chosen word looks, its map, how one weight comes about, and what was measured of it.

import {html, nothing} from "../../assets/vendor/lit.js";
import {moveByKey} from "../lib/keys.js";
import {chance, format, formatFine, formatPercent, ordinal} from "../lib/numbers.js";
import {filled} from "../lib/shares.js";
import {written} from "../lib/words.js";
import {anyNumber} from "./number.js";
import {matrix} from "./head.js";
import {folded} from "./folded.js";
import {boxed, signed} from "./token-view.js";
import {weightSums} from "./weight-sums.js";

export const detail = (m, widget) => html`<div class="detail">
  <p class="heading"><b>Head ${m.name}</b> <span>${
    m.reading.heads[m.head].isOff
      ? "is off"
      : html`looks
    from ${from(m)} at:`
  }</span></p>
  ${looks(m, widget)}
  ${folded(
    widget,
    "map",
    html`All that ${m.name} looks at, as a
    map`,
    () => widget.data.session.large.show(() => matrix(m, widget)),
  )}
  ${folded(widget, "average", `What ${m.name} looks at on other texts`, () => measured(m))}
  ${folded(widget, "weight", titleOfSums(m), () => widget.data.session.sums.show(() => sums(m, widget)))}</div>`;

const from = ({pieces, at}) => html`<b class="q">${written(pieces[at])}</b>`;
const key = ({pieces, to}) => html`<b class="k">${written(pieces[to])}</b>`;

const titleOfSums = (m) =>
  m.reading.heads[m.head].isOff
    ? "How a weight comes about"
    : html`How ${from(m)} came to give ${key(m)} ${chance(m.row[m.to])}`;

/** Of which one is chosen: the words that get most. */
function looks(m, widget) {
  const {
    pieces,
    to,
    row,
    looks: {shown: list, others, left},
    reading,
    head,
  } = m;
  const choose = (i) => widget.set({to: list[i]});
  if (reading.heads[head].isOff) return html`<p class="note">Off, so nothing is added.</p>`;
  return html`<div class="looks" role="radiogroup" aria-label="The word that is looked at" @keydown=${(event) => moveByKey(event, choose)}>${list.map(
    (i) => html`
      <button type="button" role="radio" aria-checked=${i === to} tabindex=${i === to ? 0 : -1} @click=${() => widget.set({to: i})}>
      <i style=${filled(row[i])}></i><span><bdi>${written(pieces[i])}</bdi>${
        pieces.indexOf(pieces[i]) === pieces.lastIndexOf(pieces[i])
          ? nothing
          : html`
        <small>${ordinal(i + 1)} ${UNITS[m.entry.kind]}</small>`
      }</span> <span>${chance(row[i])}</span></button>`,
  )}</div>
    <p class="note">${others ? `${others} more: ${chance(left)}.` : ""}</p>${m.tellsTops ? html`<p class="note tops">${topsOf(m)}</p>` : nothing}`;
}

/** The tokens that the head pushes hardest, and the guess where it isn't among them. */
function topsOf(m) {
  if (!m.tops) return html`<span aria-busy="true">What it adds itself …</span>`;
  const tops = m.tops.tops[m.head];
  const isAmong = tops.some(({text}) => text === m.pushed);
  return html`The scores that it raises most by itself:
    ${tops.map(
      ({text, push}, i) => html`${i ? ", " : ""}${boxed(text, m)}
      ${signed(push)}`,
    )}${
      isAmong
        ? ""
        : html`; that of the guess ${boxed(m.pushed, m)}:
        ${signed(m.pushes.heads[m.head])}`
    }.`;
}

const UNITS = {storyteller: "token", grammar: "word", induction: "letter"};

function measured({scores, entry, name}) {
  const order = [...scores.looks].sort((a, b) => b[1] - b[2] - a[1] + a[2]).slice(0, 3);
  return html`<div class="scores"><p>On texts that it never read, ${name} gives on average</p>
    <ul class="measured" aria-label="What ${name} looks at on average">${order.map(
      ([
        label,
        now,
        before,
      ]) => html`<li><span class="bar"><span style=${filled(now)}></span><i style="left:${+(100 * before).toFixed(1)}%"></i></span>
      <span><b>${formatPercent(now)}</b> ${entry.kind === "grammar" ? "" : "to "}${label}</span></li>`,
    )}</ul>
    <p class="note">The mark <i class="tick"></i> stands for
      ${entry.kind === "grammar" ? "a head that always looks equally far" : "the untrained model"}.</p>
    ${
      scores.cost === null
        ? nothing
        : html`<p class="note">Without ${name} the loss on
      ${entry.kind === "induction" ? "what repeats" : "those texts"} is ${signedLoss(scores.cost)}.</p>`
    }</div>`;
}

const signedLoss = (cost) => `${format(Math.abs(cost))} ${cost >= 0 ? "larger" : "smaller"}`;

// ---- The arithmetic --------------------------------------------------------------------------

/** How one weight comes about, and what it brings. */
function sums(m, widget) {
  const {reading, head} = m;
  if (reading.heads[head].isOff)
    return html`<div class="sums"><p>The head is off, so it has no weights.</p></div>`;
  const pair = weightSums(m);
  if (!pair)
    return html`<div class="sums"><p>${m.failure || `The numbers of this head come with the model, ${m.entry.size > 5e5 ? "1 MB" : `${Math.round(m.entry.size / 1000)} KB`} …`}</p></div>`;
  const root = Math.sqrt(pair.size);
  return html`<div class="sums">
    <p class="note">The stronger the colour, the larger the number; grey: below 0.</p>
    <div class="step"><span>query of ${from(m)}</span>${strip(pair.query, "query")}
      <span>key of ${key(m)}</span>${strip(pair.key, "key")}
      <span>multiplied</span>${strip(pair.products, "product")}</div>
    <p class="line">added up <b>${formatFine(pair.dot)}</b>, divided by √${pair.size}:
      ${formatFine(pair.dot)} ÷ ${formatFine(root)} ≈ <b>${format(pair.dot / root)}</b>${
        pair.bias === null
          ? ""
          : html`, and ${format(pair.bias)} for the distance: <b>${format(pair.score)}</b>`
      }, the score. The three largest of the ${pair.size} products make ${formatFine(largest(pair.products))}.</p>
    <p class="line">Softmax takes off the row's largest score,
      ${pair.score === pair.top ? "here this one" : format(pair.top)}:
        e<sup>${format(pair.score)} − ${format(pair.top)}</sup>
        ${pair.score === pair.top ? "=" : "≈"} ${formatFine(pair.part)}. The same for all words
          comes to ${formatFine(pair.total)} together; ${formatFine(pair.part)} ÷
          ${formatFine(pair.total)} ≈ <b>${formatFine(pair.weight)}</b>, the weight.</p>
    <div class="step"><span>value of ${key(m)}</span>${strip(pair.value, "value")}
      <span>output: all values, each × its weight</span>${strip(pair.mixed, "value")}</div>
    ${folded(widget, "number", "Where any of these numbers comes from", () => anyNumber(m, widget))}
    ${folded(widget, "all", `All ${pair.size} numbers`, () => table(pair))}</div>`;
}

const largest = (products) =>
  Array.from(products)
    .sort((a, b) => b - a)
    .slice(0, 3)
    .reduce((a, b) => a + b, 0);

const strip = (numbers, tone) =>
  html`<number-strip class=${tone} .tone=${tone} aria-hidden="true" .numbers=${numbers}></number-strip>`;

const table = ({
  query,
  key,
  products,
  value,
  mixed,
}) => html`<table class="numbers" aria-label="Query, key, value and output, number by number"><thead><tr><th scope="col">no.</th><th scope="col" class="q">query</th>
  <th scope="col" class="k">key</th><th scope="col">product</th><th scope="col" class="v">value</th><th scope="col" class="v">output</th></tr></thead>
  <tbody>${Array.from(
    query,
    (x, d) =>
      html`<tr><th scope="row">${d + 1}</th>${[x, key[d], products[d], value[d], mixed[d]].map(
        (number) => html`<td>${formatFine(number)}</td>`,
      )}</tr>`,
  )}</tbody></table>`;
