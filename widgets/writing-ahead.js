// Something cheap drafts some tokens, and one reading of the storyteller keeps or strikes them.

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

/** Where the copier found its draft, or −1, and what a writer drafts at `start`, at most `most` tokens. */
function draftAt(start, {begun, pieces, drafts}, writer, most) {
  if (writer === "layers") return {from: -1, drafted: drafts[start - begun].slice(0, most)};
  const from = copiedFrom(pieces.slice(0, start));
  return {from, drafted: from < 0 ? [] : pieces.slice(from, Math.min(from + most, start))};
}

/**
 * All readings that write `pieces`, the first `begun` of which are given. Each is {start: the length
 * before it, from: where the draft was copied, or −1, drafted: [token], kept: how many of them, own}.
 */
export function readingsOf(text, writer, length) {
  const {begun, pieces} = text;
  const readings = [];
  for (let start = begun; start < pieces.length; ) {
    const most = Math.min(length, pieces.length - start - 1); // the last token is the model's own
    const {from, drafted} = draftAt(start, text, writer, most);
    const differs = drafted.findIndex((token, i) => token !== pieces[start + i]);
    const kept = differs < 0 ? drafted.length : differs;
    readings.push({start, from, drafted, kept, own: pieces[start + kept]});
    start += kept + 1;
  }
  return readings;
}

const total = (readings, part) => readings.reduce((sum, reading) => sum + part(reading), 0);

/** What `readings` have led to: {readings: how many, written, kept, drafted, thrown: tokens}. */
export function counted(readings) {
  const kept = total(readings, (one) => one.kept);
  const drafted = total(readings, (one) => one.drafted.length);
  return {
    readings: readings.length,
    written: readings.length + kept,
    kept,
    drafted,
    thrown: drafted - kept,
  };
}

/** How many layers are gone through: the storyteller's by each reading, and the writer's by each drafted token. */
const layersOf = ({readings, drafted}, writer, {whole, draft}) =>
  readings * whole + (writer === "layers" ? drafted * draft : 0);

const WRITERS = ["copier", "layers"];

/**
 * data: {texts: [{name, begun, pieces, drafts: what the layers draft after each length}], most: tokens
 * to write, longest: draft, start: readings, layers: {whole: of the storyteller, draft: of the writer}}
 */
export function writtenAhead({texts, most, longest, layers}, {text, writer, length, done}) {
  const {begun, pieces} = texts[text];
  const all = readingsOf(texts[text], writer, length);
  const past = all.slice(0, done);
  const lengths = Array.from({length: longest}, (_, i) => i + 1);
  const counts = WRITERS.flatMap((of) => lengths.map((n) => readingsOf(texts[text], of, n).length));
  const so = counted(past);
  const written = begun + so.written;
  const last = past[past.length - 1] ?? null;
  return {
    ...so,
    text,
    writer,
    begun,
    pieces,
    length: written,
    layers: layersOf(so, writer, layers),
    alone: so.written * layers.whole,
    each: layers,
    last,
    next: all[past.length] ?? null,
    pair: pieces.slice(written - 2, written),
    ofModel: past.map(({start, kept}) => start + kept),
    isEnd: past.length === all.length,
    isFewest: all.length === Math.min(...counts),
    all: all.length,
    scale: Math.max(most, counted(all).thrown), // of the bars, the same at every reading
    stops: all.flatMap(({drafted}, i) => (drafted.length ? [i] : [])), // readings of a draft
  };
}

// ---- Sentence ------------------------------------------------------------------------------

const quoted = (tokens) => tokens.map((token) => `“${tokenText(token)}”`).join(", ");
const shown = (tokens) => `“${tokens.map(tokenText).join(" ")}”`;
const READINGS = unitsOf("reading");
const TOKENS = unitsOf("token");

const heading = ({readings, last: {drafted, kept}}) =>
  `Reading ${readings}: ${drafted.length ? `${kept} of ${drafted.length} drafted tokens kept` : "there was no draft"}`;

function outlook({next, writer, pair, isEnd, readings, written}) {
  if (isEnd) return `All ${TOKENS(written)} are written, in ${READINGS(readings)}`;
  if (writer === "layers" && next.drafted.length) return "Next draft: the first two layers write";
  if (writer === "copier" && next.from < 0)
    return `No draft: ${shown(pair)} hasn’t stood in the text before`;
  if (!next.drafted.length) return "No draft: only one token is left to write";
  return `Next draft: ${shown(pair)} has stood in the text before, and this followed`;
}

/** What the tokens so far have cost, and what they cost without drafts. */
function cost({readings, drafted, written, writer, layers, alone, each: {whole, draft}}) {
  const drafts = writer === "layers" ? ` + ${drafted} drafted · ${draft}` : "";
  return `Layers gone through: ${READINGS(readings)} · ${whole}${drafts} = ${layers}. Without drafts: ${TOKENS(written)} · ${whole} = ${alone}.`;
}

export function sentence(m) {
  const {last, next, readings, written, thrown} = m;
  const reading = !last
    ? "Nothing has been read yet."
    : `${heading(m)}, ${TOKENS(last.kept + 1)} written. ${last.drafted.length ? `Drafted: ${quoted(last.drafted)}. ` : ""}The storyteller’s own token: ${quoted([last.own])}.`;
  const coming = `${outlook(m)}${next?.drafted.length ? `: ${quoted(next.drafted)}` : ""}.`;
  const sofar = `So far ${READINGS(readings)} for ${TOKENS(written)}, and ${thrown} drafted ${thrown === 1 ? "token" : "tokens"} thrown away. ${cost(m)}`;
  return `${reading} ${sofar} ${coming}`;
}

// ---- View ----------------------------------------------------------------------------------

/** All of this text and, under it, of the others, so that the page keeps its height: what isn't written yet has no ink. */
function textSoFar({pieces, begun, length, writer, last, next, ofModel}, others) {
  const copies = writer === "copier" ? (next?.drafted.length ?? 0) : 0;
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

/** What was written, kept tokens and the own one, and then what was thrown away. */
const verdicts = ({drafted, kept, own}) => [
  ...drafted.slice(0, kept).map((token) => chip("kept", "✓", token)),
  chip("own", "+", own),
  ...drafted.slice(kept).map((token) => chip("struck", "✗", token)),
];

const block = (className, title, columns) =>
  html`<div class=${className} aria-hidden="true"><p class="title">${title}</p><ol>${columns}</ol></div>`;

function view(m, widget) {
  const {last, next, readings, written, thrown, scale} = m;
  const count = (token, n, className) => ({token, weight: n / scale, className});
  const counters = [
    count("readings", readings, "readings"),
    count("tokens written", written, "written"),
    count("thrown away", thrown, "thrown"),
  ];
  return html`${textSoFar(
    m,
    widget.data.texts.filter((_, i) => i !== m.text).map(({pieces}) => pieces),
  )}<div class=${widget.state.length > 4 ? "stage many" : "stage"}>
    ${block("past", last ? heading(m) : "Nothing has been read yet", last ? verdicts(last) : nothing)}
    ${block("coming", outlook(m), next ? next.drafted.map((token) => chip("open", "?", token)) : nothing)}</div>
    ${shareList(counters, {format: (share) => String(Math.round(share * scale)), label: "Counted so far"})}
    <p class="cost" aria-hidden="true">${cost(m)}</p>
    ${widget.sentence({hidden: true})}`;
}

// ---- Controls ------------------------------------------------------------------------------

/** Once all is read, `done` stays at the end for any writer and length. */
const goTo = (widget, done) =>
  widget.set({done: done >= widget.model.all ? widget.fields.done.max : Math.max(0, done)});

const back = button("Back", (widget) => goTo(widget, widget.model.readings - 1));
const onward = button("On to the next draft", (widget) => {
  const {readings, stops, all} = widget.model;
  goTo(widget, stops.find((stop) => stop > readings) ?? all);
});
const toEnd = button("To the end", (widget) => goTo(widget, widget.model.all));
const read = (widget) =>
  html`<button type="button" class="read" @click=${() => goTo(widget, widget.model.readings + 1)}>Read</button>`;

export const writingAhead = defineWidget({
  name: "writing-ahead",
  label: "The storyteller reads what a cheap writer has drafted",
  key: "ahead",
  fields: ({texts, most, longest, start}) => ({
    text: option(0, [...texts.keys()]),
    writer: option("copier", WRITERS),
    length: integer(4, {min: 1, max: longest}),
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
    [choice("writer", "Who drafts", ["a copier", "the first two layers"], {isShown: true})],
    [slider("length", "Tokens in a draft", {unit: unitsOf("token")}), reset],
    [back, read, onward, toEnd],
  ],
  model: writtenAhead,
  sentence,
  view,
  challenges: {
    "fewest-readings": ({text, isEnd, isFewest}) => text === 0 && isEnd && isFewest,
    "drafts-that-pay": ({writer, isEnd, layers, alone}) =>
      writer === "layers" && isEnd && layers < alone,
  },
});
