// How far a change in one word is felt in the others: through a recurrent network, through attention.
// Both maps show the same thing on the same scale: raise a word by 1, and see what rises how much.

import {html} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {menu, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {format} from "./lib/numbers.js";
import {filled} from "./lib/shares.js";
import {weightMap} from "./lib/weight-map.js";

// ---- Model ---------------------------------------------------------------------------------

export const DECAYS = [0.5, 0.7, 0.9, 0.99, 1];
const TIMES = [1, 3, 10, 30, 100, 1000];

/** state = decay · state before + word: what word j's state gets of word i. */
function recurrentFlow(n, decay) {
  return Array.from({length: n}, (_, j) =>
    Array.from({length: n}, (_, i) => (i <= j ? decay ** (j - i) : 0)),
  );
}

/** Every word looks for `source`, `times` as strongly as for another: softmax of ln(times) and 0. */
function attentionFlow(n, {source, times}) {
  const scores = Array.from({length: n}, (_, i) => (i === source ? Math.log(times) : 0));
  return scores.map(() => softmax(scores));
}

/** Both maps, and of both the column of the source: what each word gets of it, or null. */
export function flows({words}, {decay, times, source}) {
  const n = words.length;
  const chosen = {decay: DECAYS[decay], times: TIMES[times], source};
  const recurrent = recurrentFlow(n, chosen.decay);
  const attention = attentionFlow(n, chosen);
  const readers = words.map((word, j) => ({
    word,
    steps: j - source,
    recurrent: j < source ? null : recurrent[j][source],
    attention: attention[j][source],
  }));
  return {words, ...chosen, recurrent, attention, readers};
}

// ---- Sentence, view ------------------------------------------------------------------------

const lastOf = ({readers}) => readers[readers.length - 1];

export function sentence(m) {
  const {words, source, decay, times} = m;
  const end = lastOf(m);
  const power = decay === 1 ? "1" : `${decay}${superscript(end.steps)}`;
  const who = end.steps
    ? `“${end.word}”, ${end.steps} ${end.steps === 1 ? "word" : "words"} on,`
    : `“${end.word}” itself`;
  return (
    `Raise “${words[source]}” by 1. Through attention every word rises by ${format(end.attention)} ` +
    `(${times}/${times - 1 + words.length}). Through the recurrent network ${who} rises by ${format(end.recurrent)} (${power}).`
  );
}

const superscript = (n) => [...String(n)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");

const flowFigure = (
  kind,
  m,
  widget,
) => html`<div class=${kind} role="img" aria-label="Map, ${kind}: a row for each word that reads, a column for each that is read"><p class="kind">${kind}</p>
  ${weightMap(m[kind], {column: m.source, choose: ({column}) => widget.set({source: column})})}</div>`;

const cell = (
  kind,
  reader,
) => html`<td class=${kind}><span class="bar" style=${filled(reader[kind] ?? 0)}></span><span
  class="share">${reader[kind] === null ? "no path" : format(reader[kind])}</span></td>`;

const view = (
  m,
  widget,
) => html`<table class="readers" aria-label="How much of “${m.words[m.source]}” arrives at each word"><thead><tr><th scope="col">arrives at</th>
    <th scope="col">recurrent</th><th scope="col">attention</th></tr></thead>
    <tbody>${m.readers.map(
      (
        reader,
        j,
      ) => html`<tr class=${j === m.source ? "looked-for" : ""}><th scope="row">${reader.word}</th>
      ${cell("recurrent", reader)}${cell("attention", reader)}</tr>`,
    )}</tbody></table>
  ${widget.sentence()}
  <details><summary>The same for every word: both maps</summary><div class="maps">${flowFigure("recurrent", m, widget)}${flowFigure("attention", m, widget)}
    <p class="scale"><span>0</span><i></i><span>1, in both maps</span></p>
    <p class="axes">A row for each word that reads, a column for each word that is read. The
      bars show the framed column, “${m.words[m.source]}”.</p></div></details>`;

export const flowMap = defineWidget({
  name: "flow-map",
  label: "How far a change is felt",
  key: "flow",
  fields: ({words, source}) => ({
    decay: integer(1, {max: DECAYS.length - 1}), // its place among DECAYS
    times: integer(3, {max: TIMES.length - 1}),
    source: integer(source, {max: words.length - 1}),
  }),
  controls: ({data: {words}}) => [
    [
      menu(
        "source",
        "Raise the word",
        words.map((word, i) => `${i + 1} ${word}`),
      ),
    ],
    [
      steps(
        "times",
        "Attention counts it",
        TIMES.map((times) => `${times}×`),
      ),
    ],
    [steps("decay", "Recurrent network keeps", DECAYS.map(String))],
  ],
  model: flows,
  sentence,
  view,
  challenges: {
    "half-far": (m) => m.source === 0 && lastOf(m).recurrent >= 0.5,
  },
});
