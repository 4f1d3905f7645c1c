// A copier guesses some tokens ahead, and one reading of the storyteller keeps or strikes them.

import {html, nothing} from "../assets/vendor/lit.js";
import {button, choice, reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {shareList} from "./lib/shares.js";
import {tokenText} from "./lib/token-text.js";

// ---- Model ---------------------------------------------------------------------------------

/** Where what followed an earlier pair like the last two tokens begins, the latest of them; −1: nowhere. */
export function copiedFrom(tokens) {
  const n = tokens.length;
  for (let i = n - 2; i > 0; i--)
    if (tokens[i - 1] === tokens[n - 2] && tokens[i] === tokens[n - 1]) return i + 1;
  return -1;
}

/**
 * All readings that write `pieces`, the first `begun` of which are given. Each is {start: the length
 * before it, from: where the guesses were copied, or −1, guessed: [token], kept: how many of them, own}.
 */
export function readingsOf({begun, pieces}, guesses) {
  const readings = [];
  for (let start = begun; start < pieces.length; ) {
    const from = copiedFrom(pieces.slice(0, start));
    const most = Math.min(guesses, pieces.length - start - 1); // the last token is the model's own
    const guessed = from < 0 ? [] : pieces.slice(from, Math.min(from + most, start));
    const differs = guessed.findIndex((token, i) => token !== pieces[start + i]);
    const kept = differs < 0 ? guessed.length : differs;
    readings.push({start, from, guessed, kept, own: pieces[start + kept]});
    start += kept + 1;
  }
  return readings;
}

const total = (readings, part) => readings.reduce((sum, reading) => sum + part(reading), 0);

/** What `readings` have led to: {readings: how many, written, kept, thrown: tokens}. */
export function counted(readings) {
  const kept = total(readings, (one) => one.kept);
  return {
    readings: readings.length,
    written: readings.length + kept,
    kept,
    thrown: total(readings, ({guessed}) => guessed.length) - kept,
  };
}

/** data: {texts: [{name, begun, pieces}], most: tokens to write, guesses: the most, start: readings} */
export function writtenAhead({texts, guesses: most}, {text, guesses, done}) {
  const {begun, pieces} = texts[text];
  const all = readingsOf(texts[text], guesses);
  const past = all.slice(0, done);
  const counts = Array.from({length: most}, (_, i) => readingsOf(texts[text], i + 1).length);
  const length = begun + counted(past).written;
  const last = past[past.length - 1] ?? null;
  return {
    ...counted(past),
    text,
    begun,
    pieces,
    length,
    last,
    next: all[past.length] ?? null,
    pair: pieces.slice(length - 2, length),
    ofModel: past.map(({start, kept}) => start + kept),
    isEnd: past.length === all.length,
    isFewest: all.length === Math.min(...counts),
    all: all.length,
    stops: all.flatMap(({guessed}, i) => (guessed.length ? [i] : [])), // readings with a guess
  };
}

// ---- Sentence ------------------------------------------------------------------------------

const quoted = (tokens) => tokens.map((token) => `“${tokenText(token)}”`).join(", ");
const shown = (tokens) => `“${tokens.map(tokenText).join(" ")}”`;
const READINGS = unitsOf("reading");
const TOKENS = unitsOf("token");

const heading = ({readings, last: {guessed, kept}}) =>
  `Reading ${readings}: ${guessed.length ? `${kept} of ${guessed.length} guesses kept` : "no guess to keep"}`;

function outlook({next, pair, isEnd, readings, written}) {
  if (isEnd) return `All ${TOKENS(written)} are written, in ${READINGS(readings)}`;
  if (next.from < 0) return `Next: no guess, as ${shown(pair)} hasn’t stood in the text before`;
  if (!next.guessed.length) return "Next: no guess, as only one token is left to write";
  return `Next guess: ${shown(pair)} has stood in the text before, and this followed`;
}

export function sentence(m) {
  const {last, next, readings, written, thrown} = m;
  const reading = !last
    ? "Nothing has been read yet."
    : `${heading(m)}, ${TOKENS(last.kept + 1)} written. ${last.guessed.length ? `Guessed: ${quoted(last.guessed)}. ` : ""}The storyteller’s own token: ${quoted([last.own])}.`;
  const coming = `${outlook(m)}${next?.guessed.length ? `: ${quoted(next.guessed)}` : ""}.`;
  const sofar = `So far ${READINGS(readings)} for ${TOKENS(written)}, and ${thrown} ${thrown === 1 ? "guess" : "guesses"} thrown away.`;
  return `${reading} ${sofar} ${coming}`;
}

// ---- View ----------------------------------------------------------------------------------

/** All of this text and, under it, of the others, so that the page keeps its height: what isn't written yet has no ink. */
function textSoFar({pieces, begun, length, last, next, ofModel}, others) {
  const copies = next?.guessed.length ?? 0;
  const isLooked = (i) =>
    copies > 0 && (i >= length - 2 || (i >= next.from - 2 && i < next.from)) && i < length;
  const token = (piece, i) => {
    const kind =
      i < begun ? "given" : i >= length ? "unwritten" : ofModel.includes(i) ? "own" : "kept";
    const isSource = copies > 0 && i >= next.from && i < next.from + copies;
    const marks = [
      kind,
      isLooked(i) ? "looked" : "",
      isSource ? "copied" : "",
      last && i >= last.start && i < length ? "new" : "",
    ];
    return html`${/^ ./.test(piece) ? " " : nothing}<span class=${marks.join(" ")}>${tokenText(piece)}</span>`;
  };
  return html`<div class="text" aria-hidden="true"><p>${pieces.map(token)}</p>${others.map(
    (other) => html`<p class="unwritten">${other.join("").replace(/\n/g, "↵")}</p>`,
  )}</div>`;
}

const chip = (kind, sign, token) =>
  html`<li class=${kind}><span class="sign">${sign}</span> ${kind === "struck" ? html`<s>${tokenText(token)}</s>` : tokenText(token)}</li>`;

/** What was written, kept guesses and the own token, and then what was thrown away. */
const verdicts = ({guessed, kept, own}) => [
  ...guessed.slice(0, kept).map((token) => chip("kept", "✓", token)),
  chip("own", "+", own),
  ...guessed.slice(kept).map((token) => chip("struck", "✗", token)),
];

const block = (className, title, columns) =>
  html`<div class=${className} aria-hidden="true"><p class="title">${title}</p><ol>${columns}</ol></div>`;

function view(m, widget) {
  const {last, next, readings, written, thrown} = m;
  const {most, texts} = widget.data;
  const count = (token, n, className) => ({token, weight: n / most, n, className});
  const counters = [
    count("readings", readings, "readings"),
    count("tokens written", written, "written"),
    count("guesses thrown away", thrown, "thrown"),
  ];
  return html`${textSoFar(
    m,
    texts.filter((_, i) => i !== m.text).map(({pieces}) => pieces),
  )}<div class=${widget.state.guesses > 4 ? "stage many" : "stage"}>
    ${block("past", last ? heading(m) : "Nothing has been read yet", last ? verdicts(last) : nothing)}
    ${block("coming", outlook(m), next ? next.guessed.map((token) => chip("open", "?", token)) : nothing)}</div>
    ${shareList(counters, {format: (share) => String(Math.round(share * most)), label: "Counted so far"})}
    ${widget.sentence({hidden: true})}`;
}

// ---- Controls ------------------------------------------------------------------------------

/** Once all is read, `done` stays at the end for any number of guesses. */
const goTo = (widget, done) =>
  widget.set({done: done >= widget.model.all ? widget.fields.done.max : Math.max(0, done)});

const back = button("Back", (widget) => goTo(widget, widget.model.readings - 1));
const onward = button("On to the next guess", (widget) => {
  const {readings, stops, all} = widget.model;
  goTo(widget, stops.find((stop) => stop > readings) ?? all);
});
const toEnd = button("To the end", (widget) => goTo(widget, widget.model.all));
const read = (widget) =>
  html`<button type="button" class="read" @click=${() => goTo(widget, widget.model.readings + 1)}>Read</button>`;

export const writingAhead = defineWidget({
  name: "writing-ahead",
  label: "The storyteller reads what a copier has guessed",
  key: "ahead",
  fields: ({texts, most, guesses, start}) => ({
    text: option(0, [...texts.keys()]),
    guesses: integer(4, {min: 1, max: guesses}),
    done: integer(start, {max: most}),
  }),
  controls: ({data: {texts}}) => [
    [
      choice(
        "text",
        "Beginning",
        texts.map(({name}) => name),
      ),
    ],
    [slider("guesses", "Guesses ahead", {unit: unitsOf("token")}), reset],
    [back, read, onward, toEnd],
  ],
  model: writtenAhead,
  sentence,
  view,
  challenges: {
    "fewest-readings": ({text, isEnd, isFewest}) => text === 0 && isEnd && isFewest,
  },
});
