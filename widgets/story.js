// A language model on the reader's own text: where each head looks, what it guesses, what it writes.

import {html, live, nothing, svg} from "../assets/vendor/lit.js";
import {arcsOver, paints} from "./lib/arcs.js";
import {askStoryteller} from "./lib/ask-storyteller.js";
import {reset, slider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {decimal, position, someOf, text as anyText} from "./lib/fields.js";
import {moveByKey} from "./lib/keys.js";
import {chance, formatPercent} from "./lib/numbers.js";
import {filled} from "./lib/shares.js";
import {follow, goOnWith, hear, isOf, type, write} from "./lib/story-acts.js";
import {isPart, nameBytes} from "./lib/token-text.js";
import {isBreak, toWords, written} from "./lib/words.js";

const COLUMNS = 4;
const LOOKS = {
  itself: "the word itself",
  previous: "the word before",
  first: "the first word",
  induction: "what came after the same word last time",
  punctuation: "punctuation",
};

// ---- Model ---------------------------------------------------------------------------------

/** What course/payloads/story.py gives, as a reading of lib/storyteller-reader.js. */
export const opened = ({text, temperature, pieces, weights, guesses}) => ({
  text,
  temperature,
  pieces,
  off: [],
  weights: Float32Array.from(weights),
  guesses: guesses.map((some) => some.map(([of, share]) => ({text: of, share}))),
});

/** What a token gives to the at + 1 tokens up to itself. */
function rowOf({weights, pieces: {length}}, head, at) {
  const from = (head * length * (length + 1) + at * (at + 1)) / 2;
  return weights.subarray(from, from + at + 1);
}

/** What is shown: of the state's text, or, until that is read, of the one before. */
export function shown(data, state) {
  const {opening, story = {}} = data;
  const isOpening = isOf(opening, state);
  const reading = isOpening ? opening : (story.reading ?? opening);
  const {arrived = null, problem = "", about} = story.asking ?? {};
  const {pieces, guesses} = reading;
  const at = Math.min(state.at ?? Infinity, pieces.length - 1);
  const heads = data.heads.map(({name}, head) => ({
    name,
    isOff: reading.off.includes(head),
    row: rowOf(reading, head, at),
  }));
  return {
    reading,
    pieces,
    at,
    heads,
    head: state.head,
    words: toWords(pieces),
    row: heads[state.head].row,
    guesses: guesses[at],
    follows: pieces[at + 1],
    told: told(data.heads[state.head]),
    isWriting: Boolean(story.left),
    arrived: isOpening && !story.left ? null : arrived,
    problem: isOf(reading, state) && !isOf(about, state) ? "" : problem, // a text that is read may be too long to go on
  };
}

/** What sets a head off: the look that has grown most in training. */
export function told({name, cost, looks}) {
  const [look, [now, before]] = Object.entries(looks).reduce((a, b) =>
    a[1][0] - a[1][1] >= b[1][0] - b[1][1] ? a : b,
  );
  return {name, look: LOOKS[look], now, before, lost: 1 - Math.exp(-cost)};
}

/** A piece as it is called: without the space before it, or in words. */
export function called(piece) {
  if (/^[\s]*$/.test(piece)) return piece.includes("\n") ? "new line" : "space";
  return nameBytes(piece.trim());
}

/** The same, with dots where it goes on with the word before it. */
const guessed = (piece, before) =>
  /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(piece)
    ? `…${piece.trim()}`
    : called(piece);

/** The same within a sentence, which has marks of its own. */
const quoted = (piece) =>
  /[\p{L}\p{N}]/u.test(called(piece)) ? called(piece) : `“${called(piece)}”`;

export function summarize({pieces, at, heads, head, row, guesses, isWriting, problem}) {
  if (problem) return problem;
  if (isWriting) return "The model is writing.";
  return `${looksAt({pieces, at, heads, head, row})} The model guesses next: ${guesses
    .slice(0, 3)
    .map(({text, share}) => `${quoted(text)} ${formatPercent(share)}`)
    .join(", ")}.`;
}

function looksAt({pieces, at, heads, head, row}) {
  const looks = best(row)
    .map((to) => `${quoted(pieces[to])} ${formatPercent(row[to])}`)
    .join(", ");
  return `Head ${heads[head].name} ${heads[head].isOff ? "is switched off" : `looks from ${quoted(pieces[at])} at: ${looks}`}.`;
}

const best = (row) => [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3);

const oneHead = (value, names) => ({
  value,
  parse: (text) => (names.includes(text) ? names.indexOf(text) : undefined),
  format: (head) => names[head],
});

// ---- View ----------------------------------------------------------------------------------

const textField = (
  widget,
) => html`<label class="own-text"><span>Your text (Enter continues it)</span><textarea rows="2" spellcheck="false" autocapitalize="off"
  .value=${live(widget.state.text)} @input=${(event) => type(widget, event.target.value)}
  @keydown=${(event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    write(widget);
  }}></textarea></label>`;

const switchOff = (widget) => {
  const {
    state: {head, off},
    data,
  } = widget;
  const toggled = off.includes(head)
    ? off.filter((one) => one !== head)
    : [...off, head].sort((a, b) => a - b);
  return html`<label class="toggle"><span>Switch head ${data.heads[head].name} off</span><input type="checkbox"
    .checked=${off.includes(head)} @input=${() => widget.set({off: toggled})}></label>`;
};

const token = (
  {pieces, at, row},
  i,
  choose,
) => html`<button type="button" role="radio" aria-checked=${i === at}
  class=${i > at ? "later" : "weighted"} tabindex=${i === at ? 0 : -1} style="--weight:${+(row[i] ?? 0).toFixed(3)}"
  @click=${() => choose(i)}>${called(pieces[i]) === pieces[i].trim() ? pieces[i].trim() : isPart(pieces[i]) ? written(pieces[i]) : pieces[i].includes("\n") ? "¶" : "␣"}</button>`;

const BARS = 60; // that a tile has room for

/** A row as bars: of a long text each stands for several tokens, and is as high as their largest weight. */
export const barsOf = (row, each) =>
  Array.from({length: Math.ceil(row.length / each)}, (_, i) =>
    row.subarray(i * each, (i + 1) * each).reduce((a, b) => Math.max(a, b)),
  );

const tile = (
  {name, isOff, row},
  i,
  {head, pieces},
  choose,
  each = Math.ceil(pieces.length / BARS),
) => html`<button type="button" role="radio" aria-checked=${i === head}
  class=${isOff ? "off" : nothing} tabindex=${i === head ? 0 : -1} @click=${() => choose(i)}>
  <svg aria-hidden="true" viewBox="0 0 ${Math.ceil(pieces.length / each)} 1" preserveAspectRatio="none">
    <path d=${barsOf(row, each)
      .map((weight, j) => `M${j + 0.5},1v${-weight.toFixed(3)}`)
      .join("")} /></svg>
  <span>${name}${isOff ? " off" : ""}</span></button>`;

const guessList = (m, widget) =>
  html`<ol class="guesses" aria-label="What may follow ${called(m.pieces[m.at])}">${m.guesses.map(
    (guess) => html`
  <li class=${m.follows === guess.text ? "follows" : nothing}><button type="button" aria-disabled=${isPart(guess.text)} @click=${() => isPart(guess.text) || goOnWith(widget, m, guess)}>
    <span class="token">${written(guess.text, guessed(guess.text, m.pieces[m.at]))}</span>
    <span class="bar" aria-hidden="true"><span style=${filled(guess.share)}></span></span>
    <span class="share">${formatPercent(guess.share)}</span></button></li>`,
  )}</ol>`;

const status = ({arrived, problem}) =>
  html`<p class=${problem ? "status problem" : "status"} role="status">${
    problem ? `${problem} ${KEPT}` : ""
  }${
    arrived === null || problem
      ? ""
      : html`Fetching the model, 1 MB …
    <progress max="1" .value=${arrived} aria-label="Fetched"></progress>`
  }</p>`;
const KEPT = "What stands below is the last text that was read.";

/** The sentence of looksAt for the eye: each token in a box. */
const looks = ({pieces, at, heads, head, row}) =>
  html`Head ${heads[head].name} ${
    heads[head].isOff
      ? "is switched off."
      : html`looks from ${boxed(pieces[at])} at ${best(row).map(
          (to, i) => html`${i ? ", " : ""}${boxed(pieces[to])}
        ${formatPercent(row[to])}`,
        )}.`
  }`;
const boxed = (piece) => html`<span class="piece">${written(piece, called(piece))}</span>`;

function view(m, widget) {
  const {pieces, at, heads, row, told: score, words} = m;
  const look = (to) => widget.set({at: to === pieces.length - 1 ? null : to});
  const choose = (head) => widget.set({head});
  return html`<div class="text ${pieces.length > 80 ? "long" : ""} ${widget.data.story.drawn === m.reading ? "same" : ""}">
      <svg class="arcs" aria-hidden="true">${paints}${[...row].map((weight) => svg`<path style="--weight:${+weight.toFixed(3)}" />`)}</svg>
      <div class="tokens" role="radiogroup" aria-label="The word that looks" @keydown=${(event) => moveByKey(event, look)}>${words.map(
        (word, i) =>
          html`<span class=${isBreak(pieces, words, i) ? "line-end" : nothing}>${word.map((j) => token(m, j, look))}</span>`,
      )}${
        at === pieces.length - 1 && m.guesses.length
          ? html`<span class="ghost" aria-hidden="true">${guessed(m.guesses[0].text, pieces[at])}</span>`
          : nothing
      }</div></div>
    <div class="write-on">${textField(widget)}<button type="button" class="write" @click=${() => write(widget)}>${
      m.isWriting ? "Stop" : "Continue"
    }</button></div>
    ${status(m)}
    <div class="below">
      <div class="heads"><p class="title">The 16 heads of the model look back from
        <b>${called(pieces[at])}</b> <span class="note">(a bar for each word, the first at the
          left; press a head for its arcs)</span></p>
        <div class="tiles" role="radiogroup" aria-label="Head" @keydown=${(event) => moveByKey(event, choose, COLUMNS)}>${heads.map(
          (head, i) => tile(head, i, m, choose),
        )}</div></div>
      <div class="next"><p class="title">After <b>${called(pieces[at])}</b> it guesses${
        at < pieces.length - 1 ? html` <span class="note">(framed: what follows)</span>` : nothing
      }</p>${guessList(m, widget)}${switchOff(widget)}</div>
      <p class="score"><b aria-hidden="true">${looks(m)}</b> In training it has learned to look more at ${score.look}.</p>
      <details class="measured"><summary>Measured in new books</summary><p>In four new books,
        ${formatPercent(score.now)} of its weight goes to ${score.look} on average
        (before training: ${formatPercent(score.before)}). Without this head, the word that
          comes next loses ${chance(score.lost)} of its probability, on average.</p></details></div>
    ${widget.sentence({hidden: true})}`;
}

/** Draws the arcs where the words now stand. */
function drawArcs({root, model: {at}}) {
  const text = root.querySelector(".text");
  const over = arcsOver(text);
  text.querySelectorAll(".arcs path").forEach((path, to) => {
    path.setAttribute("d", over.path(at, to));
    path.setAttribute("stroke", over.paint(at, to));
  });
}

const widgetOf = defineWidget({
  name: "story",
  label: "A language model reads your text",
  key: "story",
  fields({text, temperature, heads, head}) {
    const names = heads.map(({name}) => name);
    return {
      text: anyText(text),
      at: position,
      head: oneHead(names.indexOf(head), names),
      off: someOf(names, [...names.keys()]),
      temperature: decimal(temperature, {min: 0, max: 2, step: 0.05}),
    };
  },
  controls: () => [[slider("temperature", "Temperature"), reset]],
  controlsBelow: true,
  model: shown,
  sentence: summarize,
  view,
  started(widget) {
    const {story, file, size} = widget.data;
    const onChange = () => {
      if (story.asking.problem) story.left = 0;
      widget.set({}, {silently: true});
    };
    story.asking = askStoryteller(
      {file, size},
      {onChange, onAnswer: (...answer) => hear(widget, ...answer)},
    );
    const warm = () => {
      if (!story.isWarm) story.asking.ask(null);
      story.isWarm = true;
    };
    for (const touch of ["pointerdown", "keydown"]) widget.listen(widget.root, touch, warm);
    new ResizeObserver(() => widget.root.querySelector(".text") && drawArcs(widget)).observe(
      widget.root,
    );
  },
  drawn(widget) {
    follow(widget);
    drawArcs(widget);
    widget.data.story.drawn = widget.model.reading;
  },
});

/** data: of course/payloads/story.py. */
export const story = (data) =>
  widgetOf({...data, opening: opened(data), story: {reading: null, left: 0}});
