// Two runs of a classifier, and an answer that moves when vectors of the first are replaced by the second's.

import {html} from "../assets/vendor/lit.js";
import {choice, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, option} from "./lib/fields.js";
import {format, formatPercent} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/** Positions in the order in which they were chosen, written "8.0"; at most `most`. */
const positions = (length, most = length) => ({
  value: [],
  parse(text) {
    const all = /^\d+(\.\d+)*$/.test(text) ? text.split(".").map(Number) : [];
    const fits =
      all.length &&
      all.length <= most &&
      new Set(all).size === all.length &&
      all.every((i) => i < length);
    return fits ? all : undefined;
  },
  format: (all) => all.join("."),
});

/**
 * data: course/payloads/patch_lab.py. `at`: the replaced positions, two at most, and without `two`
 * the last alone. `tried`: positions replaced alone so far, the first of them the reader's bet.
 * With the head off, only [class]'s own vector is left to the answer.
 */
export function patch({words, runs, models}, {model, run: name, at, tried, two, off}) {
  const {weights, below, runs: answers} = models[model];
  const {y, off: alone, ways} = answers[name];
  const [first, second] = off ? alone : y;
  const moved = (i, j) => (off ? +(i === 0 || j === 0) : ways[i][j]);
  const replaced = two ? at : at.slice(-1);
  const share = replaced.length ? moved(replaced[0], replaced.at(-1)) : 0;
  const alreadyThere = replaced.length === 1 && !tried.includes(replaced[0]) ? replaced : [];
  return {
    words,
    model,
    off,
    run: runs.find((one) => one.name === name),
    weights: weights.map((weight) => (off ? 0 : weight)),
    below: replaced.length ? below[replaced.at(-1)] : null, // of the position pressed last
    first,
    second,
    now: first + share * (second - first),
    replaced,
    share,
    found: [...tried, ...alreadyThere].map((i) => ({i, share: moved(i, i)})),
  };
}

const SURE = Math.log(3); // a chance of 75 %
export const verdict = (y) => (Math.abs(y) < SURE ? "unsure" : y > 0 ? "good" : "bad");

export const GOALS = {
  copies: (m) => m.model === "B" && !m.off && m.found.filter(({share}) => share > 0.5).length > 1,
  headless: ({model, off, first, now}) =>
    model === "B" && off && verdict(first) === "bad" && verdict(now) === "good",
  lost: ({off, replaced, first}) => off && !replaced.length && verdict(first) === "unsure",
};

// ---- Sentence ------------------------------------------------------------------------------

const said = (y) => `${format(y)}, ${verdict(y)}`;
const list = (all) => all.join(" and ");
const quoted = (word) => `“${word}”`;

/** Where the position pressed last looks in layer 1: at which two words most. */
function looksOf({words, below, replaced}) {
  const order = [...below.keys()].sort((a, b) => below[b] - below[a]).slice(0, 2);
  const told = order.map((i) => `at ${quoted(words[i])}, with ${formatPercent(below[i])}`);
  return `In the first run’s layer 1 ${quoted(words[replaced.at(-1)])} looks most ${told.join(", and ")}. `;
}

export function sentence(m) {
  const {words, model, off, run, first, second, now, replaced, share, found} = m;
  const head = off ? ", without the head of layer 2," : "";
  if (!replaced.length)
    return (
      `Model ${model}${head} says y = ${said(first)}, with ${quoted(run.word)}, and ${said(second)}, with ${quoted(run.name)}. ` +
      (found.length
        ? ""
        : "Which vector, replaced alone, moves y most? Your first press is your bet.")
    );
  const name = list(replaced.map((i) => quoted(words[i])));
  const moves = `With the vector${replaced.length > 1 ? "s" : ""} at ${name} replaced${head || ","} y goes from ${said(first)}, to ${said(now)}: ${formatPercent(share)} of the way. ${looksOf(m)}`;
  if (replaced.length > 1) {
    const parts = replaced.map((i) => found.find((one) => one.i === i));
    return parts.every(Boolean)
      ? `${moves}Alone they move it by ${list(parts.map((one) => formatPercent(one.share)))}.`
      : moves;
  }
  if (off) return moves;
  const [bet] = found;
  const best = found.reduce((a, b) => (b.share > a.share ? b : a));
  if (found.length === 1) return `${moves}That was your bet. Is there a better one?`;
  const told = ({i, share}) => `${quoted(words[i])}, with ${formatPercent(share)}`;
  const rest =
    best === bet ? ", and nothing so far beats it." : `. The most so far is ${told(best)}.`;
  return `${moves}Your bet was ${told(bet)}${rest}`;
}

// ---- View ----------------------------------------------------------------------------------

const MOST = 10;
const place = (y) => `${+(50 + (50 * y) / MOST).toFixed(2)}%`;

const scale = ({run, first, second, now}) => html`<div class="answers" aria-hidden="true">
  <div class="ends"><span>bad</span><span>y = 0</span><span>good</span></div>
  <div class="track">
    <i class="way" style="left:${place(Math.min(first, now))};right:calc(100% - ${place(Math.max(first, now))})"></i>
    <i class="run" style="left:${place(first)}"></i><i class="run" style="left:${place(second)}"></i>
    <i class="now" style="left:${place(now)}"></i></div>
  <div class="names"><span style="--at:${place(first)}">first run: ${run.word}</span></div>
  <div class="names"><span style="--at:${place(second)}">second run: ${run.name}</span></div>
  <p class="y">y = <b>${format(now)}</b> ${verdict(now)}</p></div>`;

function view(m, widget) {
  const {words, run, weights, below, replaced, found, off} = m;
  const press = (i) => {
    const {two, tried} = widget.state;
    const rest = replaced.filter((one) => one !== i);
    const next = rest.length < replaced.length ? rest : [...(two ? rest.slice(-1) : []), i];
    const isNew = next.length === 1 && next[0] === i && !tried.includes(i);
    widget.set({at: next, tried: isNew ? [...tried, i] : tried});
  };
  const shareAt = (i) => found.find((one) => one.i === i)?.share;
  const told = (i) =>
    shareAt(i) === undefined ? "" : `; alone ${formatPercent(shareAt(i))} of the way`;
  const word = (
    text,
    i,
  ) => html`<button type="button" class=${i === run.at ? "differs" : ""} aria-pressed=${replaced.includes(i)}
    aria-label=${`${text}, position ${i + 1}: replace its vector${told(i)}`} @click=${() => press(i)}><span>${text}</span></button>`;
  const cell = (share, isKnown = true) =>
    html`<i class=${isKnown ? "weighted" : "open"} style="--weight:${Math.min(1, Math.max(0, share ?? 0)).toFixed(3)}">${
      isKnown ? (share >= 0.015 || share <= -0.015 ? Math.round(100 * share) : "0") : "?"
    }</i>`;
  return html`<p class="label" id="${widget.id}-press">Press a position: its vector is replaced by the second run’s.</p>
    <div class="row" role="group" aria-labelledby="${widget.id}-press">${words.map(word)}</div>
    <div aria-hidden="true"><p class="label">Layer 1, first run: weights of ${below ? html`<b>${words[replaced.at(-1)]}</b>` : "the position you press"}, mean of two heads, in percent</p>
    <div class="row">${words.map((_, i) => cell(below?.[i], below !== null))}</div>
    <p class="label">${off ? "The head is off: it brings nothing." : "Layer 2: weights of [class], in percent"}</p>
    <div class="row">${weights.map((weight) => cell(weight))}</div>
    <p class="label">Replaced alone, it moves y by, in percent of the way</p>
    <div class="row">${words.map((_, i) => cell(shareAt(i), shareAt(i) !== undefined))}</div></div>
    ${scale(m)}${widget.sentence()}`;
}

/** A control after which all that was tried has to be tried anew. */
const anew =
  (control, also = {}) =>
  (widget) =>
    control({
      ...widget,
      state: widget.state,
      fields: widget.fields,
      set: (changes) => widget.set({...changes, tried: [], ...also}),
    });

export const patchLab = defineWidget({
  name: "patch-lab",
  label: "Replace vectors between the two layers",
  key: "patch",
  fields: ({words, runs, models}) => ({
    model: option(Object.keys(models)[0], Object.keys(models)),
    run: option(
      runs[0].name,
      runs.map(({name}) => name),
    ),
    two: flag(false),
    off: flag(false),
    at: positions(words.length, 2),
    tried: positions(words.length),
  }),
  controls: ({data}) => [
    [
      anew(
        choice(
          "model",
          "Model",
          Object.keys(data.models).map((name) => `model ${name}`),
        ),
        {at: []},
      ),
      anew(
        choice(
          "run",
          "Second run",
          data.runs.map(({name, word}) => `${name} for ${word}`),
        ),
        {at: []},
      ),
    ],
    [toggle("two", "Replace two at once"), anew(toggle("off", "Switch off layer 2’s head")), reset],
  ],
  model: patch,
  sentence,
  view,
  challenges: GOALS,
});
