// A whole model, computed on the reader's own text: from its words through every head to its guesses,
// and down to any number.

import {html, live, nothing, render} from "../assets/vendor/lit.js";
import {askStoryteller} from "./lib/ask-storyteller.js";
import {reset} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {decimal, integer, option} from "./lib/fields.js";
import {chance, shown} from "./lib/ground-words.js";
import {format} from "./lib/numbers.js";
import {wordGroup, written} from "./lib/words.js";
import {detail} from "./explorer/detail.js";
import {answers, entryOf, look, opened, questionOf} from "./explorer/look.js";
import {PARTS} from "./explorer/number.js";
import {emptyPlace, later} from "./explorer/later.js";
import {LENS, ending, guessed, overview} from "./explorer/overview.js";
import {pictureOf} from "./explorer/picture.js";
import {pinned} from "./explorer/pinned.js";
import {verdict} from "./explorer/verdict.js";

const [LONGEST, KEPT] = [1500, 8]; // letters that an address keeps; readings that are kept

// ---- Model ---------------------------------------------------------------------------------

/** What is shown: of the state's model and text, or, until they are read, of those before. */
export function explore(data, state) {
  const {bench} = data;
  const question = questionOf(data, state);
  const found = (asked) => [...bench.readings, data.opening].find((reading) => answers(reading, asked));
  const reading = found(question) ?? bench.last ?? data.opening;
  bench.last = reading;
  const isRead = answers(reading, question);
  const pinned = state.pin === null ? null : found(questionOf(data, state, state.pin));
  const [problem, isWhole] = [bench.asking?.problem ?? "", isRead && !needs(reading, state, bench)];
  return {
    ...look(data.models, reading, state, pinned ?? null), isRead,
    problem: isRead ? "" : problem, failure: problem, isAwaited: !isWhole && !problem,
    arrived: isWhole ? null : bench.asking?.arrived ?? null
  };
}

/** Whether the opening, which came with the page, lacks what is shown. */
const needs = (reading, state, {unfolded}) => Boolean(reading.isOpening) && (state.head !== null || state.at !== null || unfolded.has("number"));

export function summarize(m) {
  const {pieces, at, row, looks, name, guesses, entry, reading, problem} = m;
  if (problem) return problem;
  const best = looks.shown.slice(0, 3).map((i) => `${shown(pieces[i])} ${chance(row[i])}`).join(", ");
  const next = guesses.slice(0, 3).map(({text, share}) => `${guessed(text, m)} ${chance(share)}`).join(", ");
  const {whole} = m;
  const changed = whole ? ` With all heads on, ${guessed(whole.text, m)} had ${chance(whole.share)}; now ${chance(whole.now)}.` : "";
  return `${entry.title}. Head ${name} ${reading.heads[m.head].isOff ? "is switched off" : `looks from ${shown(pieces[at])} at ${best}`}. `
    + `The model guesses ${entry.causal ? "next" : "there"}: ${next}.${changed}${reading.loss === null ? "" : ` Mean loss ${format(reading.loss)}.`}`
    + `${reading.heads[m.head].isOff ? "" : ` Number by number: ${shown(pieces[m.to])}, ${chance(row[m.to])}.`}${m.pinned ? ` Kept beside: ${m.pinned.reading.text}` : ""}`;
}

// ---- Asking ----------------------------------------------------------------------------------

/** Whether the text is the reader's. */
const isOwn = ({entry, reading}) => entry.examples.every(({text}) => text !== reading.text);

/** Asks for what the state shows and isn't there yet, once. */
function follow(widget) {
  const {data, state} = widget;
  const {bench} = data;
  const wanted = [questionOf(data, state), ...(state.pin === null ? [] : [questionOf(data, state, state.pin)])];
  const isThere = (question) => bench.readings.some((reading) => answers(reading, question))
    || (answers(data.opening, question) && !needs(data.opening, state, bench));
  const next = wanted.find((question) => !isThere(question) && JSON.stringify(question) !== bench.failed);
  if (next && bench.asking.ask(next)) bench.asked = JSON.stringify(next);
}

/** Keeps the last readings, so that a pinned text and Back cost nothing. */
function hear({data: {bench}}, reading) {
  if (!reading) return;
  const {matrices, ...rest} = reading;
  if (matrices) bench.parts[reading.model] = matrices;
  bench.readings = [rest, ...bench.readings].slice(0, KEPT);
}

// ---- Controls --------------------------------------------------------------------------------

const afresh = {text: null, at: null, to: null, head: null, off: [], pin: null};

const modelMenu = (widget) => html`<label class="menu"><span>Model</span><select @input=${({target}) => widget.set({...afresh, model: widget.data.models[target.selectedIndex].name})}>
  ${widget.data.models.map(({title, name}) => html`<option .selected=${name === widget.state.model}>${title}</option>`)}</select></label>`;

const examples = (widget) => {
  const {data, state} = widget;
  const {examples: all} = entryOf(data.models, state.model);
  const now = state.text === null ? 0 : all.findIndex(({text}) => text === state.text);
  const choose = ({target: {selectedIndex: i}}) =>
    widget.set({text: i === 1 ? null : all[i - 1]?.text ?? "", at: null, to: null, head: null});
  return html`<label class="menu examples"><span>Text</span><select @input=${choose}><option .selected=${now < 0}>your own</option>
    ${all.map(({text}, i) => html`<option .selected=${i === now}>${text}</option>`)}</select></label>`;
};

const ownText = (widget) => {
  const {data, state} = widget;
  return html`<label class="own-text"><span class="screen-reader-only">Your text</span><textarea rows="1" spellcheck="false" autocapitalize="off" autocomplete="off"
    .value=${live(state.text ?? entryOf(data.models, state.model).examples[0].text)} @input=${({target}) => widget.set({text: target.value, at: null, to: null})}></textarea></label>`;
};

const pin = (widget) => {
  const {text, model} = questionOf(widget.data, widget.state);
  return html`<button type="button" aria-pressed=${widget.state.pin !== null} title="Keeps this text's guesses and head in view while you read another text"
    @click=${() => widget.set({pin: widget.state.pin === null && model ? text : null})}>${widget.state.pin === null ? "Compare with another text" : "Drop the kept text"}</button>`;
};

/** One change of the opening each, to be guessed before it is made; then the answer. */
const experiments = ({data, state, set}) => {
  const [{name: model}] = data.models;
  const isOn = ({text, off}) => state.model === model && state.text === text && String(state.off) === String(off);
  const question = (one) => html`<button type="button" aria-pressed=${isOn(one)}
    @click=${() => set({...afresh, model, text: one.text, off: one.off})}>${one.title}</button>`;
  return html`<div class="experiments" role="group" aria-label="Three questions"><span>${state.model === model ? "Guess, then try" : "In the storyteller"}</span>
    ${data.experiments.map(question)}<p class="note" role="status">${data.experiments.find(isOn)?.found ?? ""}</p></div>`;
};

// ---- View ------------------------------------------------------------------------------------

const status = ({arrived, problem}) => html`<p class=${problem ? "status problem" : "status"} role="status">${
  problem ? `${problem} What stands below is the last text that was read.` : ""}${arrived === null || problem ? "" : html`Fetching the model …
    <progress max="1" .value=${arrived} aria-label="Fetched"></progress>`}</p>`;

const words = (m, widget) => wordGroup({
  words: m.pieces.map((piece, i) => html`<span class=${m.entry.causal && i > m.at ? "later" : ""}>${written(piece)}</span>`),
  chosen: m.at, label: "The word that looks", className: "chips", choose: (at) => widget.set({at, to: null})
});

/** Draws, but while a typed text is read: until it has been, nothing that is shown changes. */
function view(m, widget) {
  const {bench} = widget.data;
  const chosen = JSON.stringify([{...widget.state, text: null}, [...bench.unfolded]]);
  const isDrawn = bench.drawn?.reading === m.reading && bench.drawn.chosen === chosen;
  const isReading = isDrawn && m.isAwaited && m.arrived === null && !m.failure;
  if (!isReading) {
    render(whole(m, widget), bench.place);
    bench.drawn = {reading: m.reading, chosen};
  }
  bench.place.setAttribute("aria-busy", String(isReading));
  return bench.place;
}

const whole = (m, widget) => html`${status(m)}<p class="note">${m.entry.about}</p>${words(m, widget)}${verdict(m, widget)}
  ${m.pinned ? pinned(m) : nothing}
  <div class="halves" aria-busy=${m.isAwaited}>${widget.data.bench.machine.show(() => overview(m, widget))}
    ${detail({...m, parts: widget.data.bench.parts[m.entry.name]}, widget)}${ending(m, widget)}</div>
  ${widget.sentence({hidden: true})}`;

// ---- Fields ----------------------------------------------------------------------------------

const aText = {value: null, parse: (text) => (text.length <= LONGEST ? text : undefined), format: (text) => (text === null || text.length > LONGEST ? "" : text || " ")};
const place = {value: null, parse: (text) => (/^\d{1,2}$/.test(text) ? +text : undefined), format: (at) => String(at ?? "")};
const NAME = /^[1-4]\.[1-4]$/;
const aHead = {value: null, parse: (text) => (NAME.test(text) ? text : undefined), format: (name) => name ?? ""};
const headsOff = {
  value: [],
  parse: (text) => (text.split(",").every((name) => NAME.test(name)) ? [...new Set(text.split(","))].sort() : undefined),
  format: (names) => names.join(",")
};

const widgetOf = defineWidget({
  name: "explorer",
  label: "A whole model on your text",
  key: "explorer",
  fields: ({models: all}) => ({
    model: option(all[0].name, all.map(({name}) => name)),
    text: aText, at: place, to: place, head: aHead, off: headsOff,
    temperature: decimal(1, {min: 0, max: 2, step: 0.05}),
    as: option("arrows", ["arrows", "matrix"]), pin: aText, part: option("query", PARTS), no: integer(1, {min: 1, max: 32})
  }),
  controls: () => [[modelMenu, examples], [ownText, pin, reset], [experiments]],
  model: explore,
  sentence: summarize,
  view,
  started(widget) {
    const {bench} = widget.data;
    const onChange = () => {
      bench.failed = bench.asking.problem ? bench.asked : "";
      widget.refresh(true);
    };
    bench.asking = askStoryteller({size: 1, script: "../explorer/worker.js"}, {onChange, onAnswer: (reading) => hear(widget, reading)});
    const warm = () => {
      bench.failed = ""; // a reader's act asks again for what couldn't be fetched
      if (!bench.isWarm) bench.asking.ask({...questionOf(widget.data, widget.state), text: undefined});
      bench.isWarm = true;
    };
    for (const touch of ["pointerdown", "keydown"]) widget.listen(widget.root, touch, warm);
  },
  drawn: follow,
  pictures: {"Chosen head": pictureOf},
  challenges: {
    "one-head-off": (m) => m.isRead && isOwn(m) && m.reading.off.length === 1 && m.whole.text !== m.guesses[0].text,
    "copied": (m) => m.isRead && m.entry.kind === "induction" && isOwn(m) && m.to > 0 && m.to < m.at - 1 && m.row[m.to] >= 0.9 && m.pieces[m.to - 1] === m.pieces[m.at],
    "late": (m) => m.isRead && m.entry.kind === "storyteller" && m.reading.temperature === 1 && m.stages[m.stages.length - 1][0].share >= 0.5 && !m.reading.off.length && m.stages[m.stages.length - 2].slice(0, LENS).every(({text}) => text !== m.guesses[0].text)
  }
});

/** What the widget keeps beside its state: the places that are drawn apart, and what was read. */
const benchOf = (models) => ({
  place: emptyPlace(), machine: later(), large: later(), sums: later(), account: later(),
  layers: Array.from({length: Math.max(...models.map(({counts}) => counts.length))}, later),
  readings: [], parts: {}, unfolded: new Set(), drawn: null, last: null, failed: ""
});

/** data: {models, opening, experiments} of course/payloads/explorer.py. */
export const explorer = ({models, opening, experiments: offered}) => widgetOf({models, experiments: offered, opening: opened(opening), bench: benchOf(models)});
