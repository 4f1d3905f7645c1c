// A translator at each step of its writing: where the word before looks in the other text, a row in words.

import {html} from "../assets/vendor/lit.js";
import {choice, reset} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

const LEAST = 0.05; // a smaller weight stays blank

/**
 * data: {opening: the row at first, phrases: [{name, english, french, weights: [written word][English word]}]}. A row is a word that
 * is written; the word before it asks. `most`: the English words with a weight to speak of, largest first.
 */
export function rowOf({phrases}, state) {
  const {name, english, french, weights} = phrases[state.phrase - 1];
  const row = Math.min(state.row, french.length - 1);
  const most = english
    .map((word, at) => ({word, at, weight: weights[row][at]}))
    .filter(({weight}) => weight >= LEAST)
    .sort((a, b) => b.weight - a.weight);
  return {
    name,
    english,
    french,
    weights,
    row,
    asks: row === 0 ? "[start]" : french[row - 1],
    writes: french[row],
    most,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const quoted = (word) => `\u201c${word}\u201d`;

/** What is seen of the row, in words. */
export function summarize({asks, writes, most}) {
  const looks = most.map(({word, weight}) => `${quoted(word)} (${format(weight)})`).join(" and ");
  return `To write ${quoted(writes)}, the query of ${quoted(asks)} looks at ${looks}.`;
}

function sentence(m) {
  const soFar = m.row ? `So far: ${m.french.slice(0, m.row).join(" ")}. ` : "";
  return html`<span class="screen-reader-only">English: ${m.english.join(" ")}. ${soFar}</span>${summarize(m)}`;
}

const view = (m, widget) =>
  html`${matrixTable({
    name: "rows",
    caption: "a row is a new word, and the word above looks",
    shape: `${m.french.length} × ${m.english.length}`,
    rows: m.french.map(
      (word, i) =>
        html`<span class=${i === m.row ? "writes" : i === m.row - 1 ? "asks" : ""}>${word}</span>`,
    ),
    columns: m.english.map((word) => html`<span>${word}</span>`),
    cells: m.weights,
    fill: (i, j) => m.weights[i][j],
    text: (i, j) => (m.weights[i][j] < LEAST ? "" : format(m.weights[i][j])),
    lit: (i) => i === m.row,
    chosen: (i, j) => i === m.row && j === widget.column,
    choose(row, col) {
      widget.column = col;
      widget.set({row});
    },
  })}${widget.sentence()}`;

export const translatorRows = defineWidget({
  name: "translator-rows",
  label: "Where the translator looks",
  key: "translator",
  fields: ({phrases, opening}) => ({
    phrase: option(
      1,
      phrases.map((_, i) => i + 1),
    ),
    row: integer(opening, {max: Math.max(...phrases.map(({french}) => french.length)) - 1}),
  }),
  controls: ({data}) => [
    [
      choice(
        "phrase",
        "English",
        data.phrases.map(({name}) => name),
        {isShown: true},
      ),
      reset,
    ],
  ],
  model: rowOf,
  sentence,
  view,
  challenges: {
    "same-query": (m) => m.name === "without slow" && m.asks === "chats",
    "three-words": (m) => ["fers", "à", "cheval"].includes(m.writes),
  },
});
