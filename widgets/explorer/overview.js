// The model's heads, layer by layer, each with its push; and, where it is asked for, what the stream would
// guess after each layer.

import {html, nothing} from "../../assets/vendor/lit.js";
import {moveByKey} from "../lib/keys.js";
import {chance, count, format} from "../lib/numbers.js";
import {filled} from "../lib/shares.js";
import {written} from "../lib/words.js";
import {weightMap} from "../lib/weight-map.js";
import "../lib/pixels.js";
import {folded} from "./folded.js";
import {ranked} from "./game.js";
import {FREE, HEADS, next, showGuide} from "./steps.js";
import {nameOf} from "./names.js";
import {boxed, guess, signed} from "./token-view.js";

export const LENS = 3; // guesses of the stream at each place

export const overview = (
  m,
  widget,
) => html`<div class="machine ${isOpen(widget, "layers") ? "with-lens" : ""}">
  <p class="heading"><b>The ${m.reading.heads.length} heads, in ${m.entry.counts.length}
    layer${m.entry.counts.length > 1 ? "s" : ""}</b>
    ${
      m.arcs.isFew
        ? nothing
        : html`<button type="button" class="all-heads" aria-pressed=${m.isAll} @click=${() => widget.set({head: null, to: null})}>Arcs of all heads</button>`
    }</p>
  ${m.step === FREE && !m.round ? html`<div class="folds">${layersFold(m, widget)}${folded(widget, "pushes", "Push: what each head adds itself", () => pushNote(m))}</div>` : nothing}
  <div class="stages" role="radiogroup" aria-label=${m.tellsPushes ? "Head, with its push" : "Head"} @keydown=${(event) => moveByKey(event, (head) => choose(m, widget, head), columnsOf(event.target))}
    @pointerover=${({target}) => peek(widget, target)} @pointerleave=${() => peek(widget, null)}>
    ${isOpen(widget, "layers") ? start(m, widget) : nothing}${m.entry.counts.map((_, layer) => widget.data.session.layers[layer].show(() => layerOf(m, widget, layer)))}</div>
  ${m.round ? nothing : about(m)}
  </div>`;

const layersFold = (m, widget) =>
  folded(
    widget,
    "layers",
    "Layer by layer: the stream",
    () => html`<p class="came">The <b>stream</b> is the line of numbers that each word carries
      through the model: first the word’s own vector, to which every layer adds. <b>After layer
      1</b> stands what the model would guess if the stream of
        <b class="q">${written(m.pieces[m.at])}</b> ended there. Training asked only for good
          guesses at the end. The last step divides the whole stream by one number, so to switch
          a head off changes every part’s push a little.</p>
    ${folded(
      widget,
      "stream",
      "The numbers of the stream",
      () => html`<p class="came">The
      strips show them: the stronger the colour, the larger; grey: below 0.</p>`,
    )}`,
  );

/** What a square is, by one of its cells. */
function about({pieces, at, to, row, head, name, reading}) {
  const {layer, head: number, isOff} = reading.heads[head];
  return html`<p class="note">Each square is a head: its rows are the words that look, its
    columns the words looked at, stronger where it looks more. ${name} is head ${number + 1} of layer ${layer + 1}${
      isOff
        ? ""
        : html`; framed in its square: from <b class="q">${written(pieces[at])}</b> at
        <b class="k">${written(pieces[to])}</b>, ${chance(row[to])}`
    }.</p>`;
}

/** What a push is, and what it is worth. */
function pushNote(m) {
  const {
    head,
    name,
    pushed: text,
    pushes: {heads},
    reading,
  } = m;
  const times = Math.exp(heads[head]);
  return html`<p class="came">Below each head stands its <b>push</b>: what it adds itself to the
    score of the guess ${boxed(text, m)}; in red, what it takes off. A green frame: +1 or more,
    a red one: −1 or less. What later parts make of it, only the switch shows.</p>
    <p class="note">Each +1 multiplies the odds of ${boxed(text, m)} against the average token by e ≈ 2.7${
      reading.heads[head].isOff || signed(heads[head]) === "0"
        ? ""
        : `, and so ${exact(heads[head])}, the push of ${name}, by about ${times >= 10 ? count(Math.round(times)) : times.toPrecision(2)}`
    }.</p>`;
}

/** How many heads stand in a row: arrows up and down go by a row. */
const columnsOf = (head) =>
  getComputedStyle(head.closest(".tiles")).gridTemplateColumns.split(" ").length;

/** The arcs of the head under the pointer. */
function peek(widget, target) {
  const tile = widget.data.session.isStill ? null : target?.closest("[role=radio]");
  widget.data.session.hoverHead = tile ? +tile.dataset.head : null;
  widget.data.session.drawArcs(widget);
}

function choose(m, widget, head) {
  const {guide} = widget.state;
  widget.set({head: nameOf(m.reading.heads[head]), to: null, ...next(widget, 3)});
  if (guide <= 3) showGuide(widget, ".verdict"); // the card says what comes next
}

const stage = (name, content, guesses, className = "") => html`<section class="stage ${className}">
  <div class="what"><p class="name">${name}</p>${content}</div>
  ${guesses ? html`<div class="lens">${guesses}</div>` : nothing}</section>`;

const lens = (
  m,
  number,
) => html`<p class="caption">${number ? html`after layer ${number}` : "before layer 1"}</p>
  ${m.stages[number].slice(0, LENS).map(
    ({
      text,
      share,
    }) => html`<p class=${text === m.guesses[0].text ? "guess final" : "guess"}><i style=${filled(share)}></i><span>${guess(text, m)}</span>
    <span>${chance(share)}</span></p>`,
  )}`;

const start = (m, widget) =>
  stage(
    "Words become vectors",
    html`${onePush("vector", m.pushes.start, m)}${streamOf(m, widget, 0)}`,
    lens(m, 0),
    "start",
  );

function layerOf(m, widget, layer) {
  const {reading, pushes} = m;
  const units = reading.units?.[layer];
  return stage(
    `Layer ${layer + 1}`,
    html`
    <div class="tiles">${reading.heads.map((head, i) => (head.layer === layer ? tile(m, widget, head, i) : nothing))}</div>
    ${units && isOpen(widget, "layers") ? onePush("MLP", pushes.mlps[layer], m) : nothing}
    ${units && isOpen(widget, "stream") ? html`<div class="strips"><span>MLP</span>${strip(m, units, units.length / m.pieces.length, "units")}</div>` : nothing}${streamOf(m, widget, layer + 1)}`,
    isOpen(widget, "layers") && lens(m, layer + 1),
  );
}

/** A part of one push alone, with its bar. */
const onePush = (name, push, m) =>
  html`<p class="pushed"><span>${name} adds</span><span class="push ${strength(push)}" style=${force(push, m)}>${signed(push)}</span></p>`;

const isOpen = (widget, part) =>
  widget.data.session.unfolded.has("layers") && widget.data.session.unfolded.has(part);
const streamOf = (m, widget, number) =>
  isOpen(widget, "stream")
    ? html`<div class="strips"><span>stream</span>${strip(m, m.reading.stream[number], m.entry.width, "stream")}</div>`
    : nothing;

const strips = new WeakMap(); // so that the same numbers are painted once

/** The numbers of the chosen token, as a strip. */
function strip({at}, flat, width, className) {
  if (!strips.has(flat)) strips.set(flat, new Map());
  const made = strips.get(flat);
  if (!made.has(at)) made.set(at, flat.subarray(at * width, (at + 1) * width));
  return html`<number-strip class=${className} aria-hidden="true" .numbers=${made.get(at)}></number-strip>`;
}

const maps = new WeakMap();

/** The rows of a head's map, the same for the same weights, so that nothing is painted twice. */
export function rowsOf({weights}, length) {
  if (!maps.has(weights))
    maps.set(
      weights,
      Array.from({length}, (_, i) => weights.subarray(i * length, (i + 1) * length)),
    );
  return maps.get(weights);
}

/** The length of a push's bar, as a share of the largest. */
const force = (push, {most}) =>
  `background-size:${((100 * Math.abs(push)) / most).toFixed(1)}% 4px`;
const strength = (push) =>
  `${push < 0 ? "lowers" : ""} ${push >= 1 ? "up" : push <= -1 ? "down" : ""}`;

/** A head: its map, and its push, where a round of the game doesn't hide it. */
function tile(m, widget, head, i) {
  const push = m.tellsPushes ? m.pushes.heads[i] : 0;
  const isFramed = i === m.head && !head.isOff && !(m.isAll && m.round); // which would give a round's answer away
  const [told, strong] = m.tellsPushes && !head.isOff ? [signed(push), strength(push)] : ["", ""];
  const isTry = m.step <= HEADS && m.isAll && i === m.head;
  const isNeeded = m.isSought && m.needed && i === ranked(m.needed)[0];
  return html`<button type="button" role="radio" aria-checked=${i === m.head && !m.isAll} tabindex=${i === (m.isAll && m.round ? 0 : m.head) ? 0 : -1} data-head=${i}
  aria-label="Head ${nameOf(head)} ${head.isOff ? "off" : told}" class="${head.isOff ? "off" : strong} ${isTry ? "try" : isNeeded ? "needed" : ""}" @click=${() => choose(m, widget, i)}>
  <span class="label">${nameOf(head)}</span><span
  class="square">${weightMap(rowsOf(head, m.pieces.length), {row: m.at})}${isFramed ? cell(m) : nothing}${head.isOff ? html`<b class="label">off</b>` : nothing}</span>
  ${told ? html`<span class="label push ${strong}" style=${force(push, m)}>${told}</span>` : nothing}</button>`;
}

/** The frame of one cell: who looks at whom. */
const cell = ({pieces: {length}, at, to}) =>
  html`<i class="cell" style="height:${100 / length}%;left:${(100 * to) / length}%;top:${(100 * at) / length}%;width:${100 / length}%"></i>`;

/** The pushes of the guess, what came, and the loss. */
export function account(m) {
  const {pushed: text, truth, reading, entry} = m;
  const {start: own, heads, mlps} = m.pushes;
  return html`<p class="came">What each part adds itself to the score of ${boxed(text, m)}: the
    vector of ${boxed(m.pieces[m.at], {...m, at: -1})} ${exact(own)}, the heads together
    ${exact(sum(heads))}${mlps.length ? `, the MLPs ${exact(sum(mlps))}` : ""}; biases, which
      are the same on any text, ${exact(m.pushes.rest)}. So its logit is
      ${exact(total(m.pushes) + m.pushes.rest)} above the mean of all ${count(entry.words)}
        ${entry.kind === "grammar" ? "words" : entry.kind === "induction" ? "letters" : "tokens"}.</p>
    <p class="came">${truthText(truth, entry)} ${
      reading.loss === null
        ? ""
        : html`Mean loss over the text${entry.causal ? "" : ", each word hidden in turn"}:
          <b>${format(reading.loss)}</b>${
            reading.lossWithout === null
              ? ""
              : html`, with all heads on <b>${format(reading.lossWithout)}</b>${reading.loss < reading.lossWithout ? " (other words of the text are guessed better without)" : ""}`
          }. Guessing evenly among ${count(entry.words)}: ${format(Math.log(entry.words))}.`
    }</p>`;
}

const exact = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const total = ({start: first, heads, mlps}) => first + sum(heads) + sum(mlps);

/** What is to be guessed here, and how well it is. */
function truthText(truth, {causal}) {
  if (!truth)
    return causal ? "Nothing follows yet, so this guess has no loss." : "The word is hidden.";
  const loss = html`${chance(truth.share)}, a loss of <b>${format(truth.loss)}</b>.`;
  return causal
    ? html`What came: <b class="piece">${written(truth.text)}</b> ${loss}`
    : html`If it were hidden, <b class="piece">${written(truth.text)}</b> would get ${loss}`;
}
