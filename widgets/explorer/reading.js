// A reading: what a state asks the worker to read, whether a reading is the answer, and what is shown of it. No DOM.

import {nameOf, pairs} from "./names.js";

const SHOWN = 6; // words in the row of weights

/** The model's entry in `models`, or the first one's. */
export const entryOf = (models, name) => models.find((one) => one.name === name) ?? models[0];

/** What a state asks of worker.js; `text`: another one than the state's. */
export function questionOf({models}, {model, text, off, temperature}, other = null) {
  const entry = entryOf(models, model);
  return {
    model: entry.name,
    file: entry.file,
    kind: entry.kind,
    size: entry.size,
    words: entry.words,
    heads: entry.counts,
    text: other ?? text ?? entry.examples[0].text,
    off: pairs(off, entry),
    temperature,
  };
}

/** Whether a reading answers a question. */
export const answers = (reading, {model, text, off, temperature}) =>
  reading.model === model &&
  reading.text === text &&
  reading.temperature === temperature &&
  JSON.stringify(reading.off) === JSON.stringify(off);

/** Whether a study of the worker's answers a question. */
export const isStudy = (study, question) =>
  study.study === question.study && study.at === question.at && answers(study, question);

/** Whether a text is one that the page shows by itself, not the reader's. */
export const isKnown = ({findings, models, game}, text) =>
  [...findings, ...game, ...models.flatMap(({examples}) => examples)].some(
    (one) => one.text === text,
  );

/** What is shown of `reading`, with what the state chooses in it. */
export function look(models, reading, state, pinned = null) {
  const entry = entryOf(models, reading.model);
  const example = entry.examples.find(({text}) => text === reading.text);
  const {pieces, heads} = reading;
  const within = (choice) => (choice !== null && choice < pieces.length ? choice : null);
  const at = within(state.at) ?? example?.at ?? pieces.length - 1;
  const named = (name) => heads.findIndex((head) => nameOf(head) === name);
  const wanted = state.model === entry.name ? named(state.head) : -1;
  const head =
    wanted >= 0 ? wanted : example?.head ? named(example.head) : strongest(reading.pushes[at]);
  const row = rowOf(heads[head], at, pieces.length);
  const chosen = within(state.to);
  const to = chosen !== null && !(reading.causal && chosen > at) ? chosen : largest(row);
  const last = reading.guesses.length - 1;
  return {
    entry,
    reading,
    pieces,
    at,
    to,
    head,
    isAll: wanted < 0,
    row,
    name: nameOf(heads[head]),
    stages: reading.guesses.map((all) => all[at]),
    guesses: reading.guesses[last][at],
    truth: reading.truth[at],
    whole: reading.whole?.[at],
    pushed: reading.whole ? reading.whole[at].text : reading.guesses[last][at][0].text,
    pushes: reading.pushes[at],
    most: mostOf(reading.pushes[at]),
    looks: looksOf(row, to),
    scores: entry.scores[head],
    pinned: pinned && pinnedOf(pinned, entry, head),
  };
}

/** The head that pushes the first guess hardest. */
export const strongest = ({heads}) =>
  heads.reduce((best, push, i) => (push > heads[best] ? i : best), 0);

/** The largest push of all heads and MLPs: the length of a full bar. */
const mostOf = ({start, heads, mlps}) => Math.max(0.5, ...[start, ...heads, ...mlps].map(Math.abs));

/** The same head on the pinned text, from the example's word or the last. */
function pinnedOf(reading, entry, head) {
  if (reading.model !== entry.name) return null;
  const at =
    entry.examples.find(({text}) => text === reading.text)?.at ?? reading.pieces.length - 1;
  return {
    reading,
    at,
    head: reading.heads[head],
    row: rowOf(reading.heads[head], at, reading.pieces.length),
    guesses: reading.guesses[reading.guesses.length - 1][at],
  };
}

/** The weights that token `at` gives, one for each token. */
export const rowOf = ({weights}, at, length) => weights.subarray(at * length, (at + 1) * length);

const largest = (row) => row.reduce((best, weight, i) => (weight > row[best] ? i : best), 0);

/** The largest weights, with that of `to`, in their order; and what is left for all others. */
function looksOf(row, to) {
  const order = [...row.keys()].sort((a, b) => row[b] - row[a] || a - b);
  const shown = order.slice(0, SHOWN);
  if (!shown.includes(to)) shown.splice(-1, 1, to);
  const others = order.filter((i) => !shown.includes(i) && row[i] > 0);
  return {shown, others: others.length, left: others.reduce((all, i) => all + row[i], 0)};
}

/** What course/payloads/explorer.py gives of a text, as a reading. */
export function opened(opening) {
  const heads = opening.heads.map((head) => ({...head, weights: Float32Array.from(head.weights)}));
  // Of the stream and the units the last token's are there, at their place in an array of all.
  const atEnd = (numbers) => {
    const all = new Float32Array(numbers.length * opening.pieces.length);
    all.set(numbers, all.length - numbers.length);
    return all;
  };
  return {
    ...opening,
    heads,
    stream: opening.stream.map(atEnd),
    units: opening.units.map(atEnd),
    isOpening: true,
    whole: null,
    lossWithout: null,
  };
}
