// The text large, word by word, with the arcs of its heads: the picture that the explorer opens with.

import {html, nothing} from "../../assets/vendor/lit.js";
import {arcsOver, paints} from "../lib/arcs.js";
import {moveByKey} from "../lib/keys.js";
import {isPart, tokenText} from "../lib/token-text.js";
import {isBreak, toWords, written} from "../lib/words.js";
import {CALM, FREE, next, showGuide} from "./steps.js";
import {nameOf} from "./names.js";
import {rowOf, strongest} from "./reading.js";
import {guess} from "./token-view.js";
import {append} from "./writing.js";

const [LEAST, FEW, LARGE] = [0.08, 0.005, 0.25]; // weights that are drawn: of all heads, of one, to begin with
const [SHORT, LONG] = [24, 70]; // tokens of a text that stays in view, and of one in large letters
const LIFT = 3; // px from head to head, so that arcs over the same words can be told apart
const STUCK_LIFT = 1; // px, the same where the text is stuck
const STUCK = 46; // px: how high arcs are there

// ---- Model ---------------------------------------------------------------------------------

/** The arcs from token `at`: {head, layer, to, weight}, of the heads `only`, or, where it is null, of all; of one that is off, as they were. */
export function arcsOf({heads, pieces}, at, only = null, least = only === null ? LEAST : FEW) {
  return heads.flatMap((head, i) =>
    only === null || only.includes(i)
      ? Array.from(
          rowOf(only && head.former ? {weights: head.former} : head, at, pieces.length),
          (weight, to) => ({head: i, layer: head.layer, to, weight}),
        ).filter(({weight}) => weight >= least)
      : [],
  );
}

/** The tokens of each word. Only the storyteller's are pieces that make words together. */
const wordsOf = ({entry, pieces}) =>
  entry.kind === "storyteller" ? toWords(pieces) : pieces.map((_, i) => [i]);

/** Whether a word is cut before piece `i`, which isn't a mark behind it. */
const isCut = (pieces, i, word) => i !== word[0] && /^[\p{L}\p{N}]/u.test(pieces[i]);
/** Whether any word of the text is. */
export const isInPieces = (m) =>
  wordsOf(m).some((word) => word.some((i) => isCut(m.pieces, i, word)));

/** The word that a piece belongs to, where it has more: "boy" of "b" and "oy". */
const wholeOf = (pieces, word) =>
  word.map((i) => (isPart(pieces[i]) ? "" : pieces[i].trim())).join("");

// ---- View ----------------------------------------------------------------------------------

export function sentence(m, widget) {
  const {pieces, at, entry} = m;
  const words = wordsOf(m);
  const choose = (i) => {
    const isFirst = widget.state.guide <= 2;
    widget.set({at: i, to: null, ...next(widget, 2)});
    if (isFirst) showGuide(widget, ".tiles .try");
  };
  const seen = (i) => {
    if (widget.data.session.isStill && i !== null) return;
    widget.data.session.hover = i;
    drawArcs(widget);
  };
  const over = ({target}) =>
    target.closest("[role=radio]") && seen(+target.closest("[role=radio]").dataset.at);
  const ends = entry.kind === "storyteller" ? (i) => isBreak(pieces, words, i) : () => false;
  return html`<div class="text ${pieces.length > LONG ? "long" : pieces.length <= SHORT ? "short" : ""} ${entry.kind}">
    <svg class="arcs" aria-hidden="true">${paints}<g></g></svg>
    <div class="tokens" role="radiogroup" aria-label="The word that looks" @keydown=${(event) => moveByKey(event, choose)}
      @pointerover=${over} @pointerleave=${() => seen(null)} @focusin=${over} @focusout=${() => seen(null)}>${words.map(
        (word, i) =>
          html`<span class=${ends(i) ? "line-end" : nothing}>${word.map((j) =>
            token(m, j, word, choose),
          )}</span>`,
      )}${
        entry.causal && at === pieces.length - 1
          ? html`<span class="ghost" aria-hidden="true" title="the model’s first guess: press to go on with it" @click=${() => append(widget, m.guesses[0])}>${guess(m.guesses[0].text, m)}</span>`
          : nothing
      }</div></div>`;
}

const token = (
  {pieces, at, entry, step},
  i,
  word,
  choose,
) => html`<button type="button" role="radio" aria-checked=${i === at} data-at=${i}
  title=${i && isPart(pieces[i - 1]) && !isPart(pieces[i]) ? "its last byte, with which the character is whole" : nothing}
  aria-label=${word.length > 1 && !isPart(pieces[i]) ? `${named(pieces, i)}, part of ${wholeOf(pieces, word)}` : nothing}
  class="${entry.causal && i > at ? "ahead" : "weighted"} ${step === 2 && i === at ? "try" : ""} ${isCut(pieces, i, word) ? "cut" : ""}" tabindex=${i === at ? 0 : -1}
  @click=${() => choose(i)}><bdi>${isPart(pieces[i]) ? written(pieces[i]) : named(pieces, i)}</bdi></button>`;

/** The heads whose arcs are drawn where nothing is pointed at: null for all, and of heads that are off all of these. */
const ownHeads = ({arcs: {only, isOff}, reading: {heads}}) =>
  only === null ? null : isOff ? [...heads.keys()].filter((i) => heads[i].isOff) : [only];

/** A token as it stands in the line; the last byte of a letter shows the letter that it completes. */
const named = (pieces, i) => tokenText(pieces[i]);

/** Draws the arcs where the words now stand: of the word under the pointer, else of the chosen one. */
export function drawArcs({root, model: m, data: {session}}) {
  const text = root.querySelector(".text");
  if (!text) return;
  const isCalm = m.arcs.isFew;
  const hover =
    session.hover !== null && session.hover < m.pieces.length && !(isCalm && session.hover === m.at)
      ? session.hover
      : null;
  const from = hover ?? m.at;
  const {heads} = m.reading;
  const only =
    session.hoverHead !== null
      ? [session.hoverHead]
      : isCalm && hover !== null && m.step === CALM
        ? null
        : ownHeads(m);
  const isFormer = only !== null && heads[only[0]].isOff;
  const arcs = arcsOf(m.reading, from, only, isCalm && hover === null ? LARGE : undefined);
  measure(text);
  const isStuck = "stuck" in text.dataset;
  const best = strongest(m.pushes);
  const over = arcsOver(text, isStuck ? STUCK : Infinity);
  const svg = text.querySelector(".arcs");
  const {lastElementChild: group} = svg;
  while (group.children.length < arcs.length)
    group.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
  while (group.children.length > arcs.length) group.lastChild.remove();
  const isAll = only === null;
  svg.classList.toggle("all", isAll);
  svg.classList.toggle("former", isFormer);
  svg.classList.toggle("several", isFormer && only.length > 1);
  svg.classList.toggle("one-first", isAll && m.step < FREE);
  root.querySelector(".peeked").textContent = peekedAt(
    m,
    session.hoverHead,
    hover === m.at ? null : hover,
    only,
  );
  shade(text, m, from, only, isCalm && hover === null ? LARGE : 0);
  arcs.forEach(({head, layer, to, weight}, i) => {
    const path = group.children[i];
    path.setAttribute(
      "d",
      over.path(from, to, isAll || only.length > 1 ? (isStuck ? STUCK_LIFT : LIFT) * head : 0),
    );
    path.setAttribute("stroke", over.paint(from, to));
    path.setAttribute("class", `layer-${layer + 1} ${head === best ? "best" : ""}`);
    path.style.setProperty("--weight", weight.toFixed(3));
  });
}

/** What is told of the arcs while another head, or another word, is pointed at. */
function peekedAt({reading: {heads}, pieces, arcs}, head, word, only) {
  const from = word === null ? "" : ` from ${tokenText(pieces[word])}`;
  if (head !== null && head !== arcs.only)
    return `The arcs of head ${nameOf(heads[head])}${from}, under the pointer.`;
  if (word === null) return "";
  if (only === null)
    return arcs.only === null ? "" : `The arcs of all ${heads.length} heads${from}.`;
  return `Where ${only.map((i) => `head ${nameOf(heads[i])}`).join(" and ")} ${only.length > 1 ? "look" : "looks"}${from}.`;
}

/** Shades the words by the arcs that are drawn of one head. */
function shade(text, {reading: {heads}, pieces}, from, only, least) {
  const row = only?.length === 1 ? rowOf(heads[only[0]], from, pieces.length) : null;
  text
    .querySelectorAll("[role=radio]")
    .forEach((word, i) =>
      word.style.setProperty("--weight", !row || row[i] < least ? 0 : +row[i].toFixed(3)),
    );
}

/** Marks a text of several lines, over which there needn't be room for high arcs. */
function measure(text) {
  const words = text.querySelectorAll("[role=radio]");
  text.toggleAttribute("data-wrapped", words[words.length - 1].offsetTop > words[0].offsetTop);
}

/** Marks the text while it sticks to the top of the window: its arcs are low there. */
export function stick(widget) {
  const text = widget.root.querySelector(".text");
  if (!text) return;
  const {position, top} = getComputedStyle(text);
  const isStuck = position === "sticky" && text.getBoundingClientRect().top < parseFloat(top) + 1;
  if (isStuck === "stuck" in text.dataset) return;
  text.toggleAttribute("data-stuck", isStuck);
  drawArcs(widget);
}
