// How far a change in one word is felt in the others: through a recurrent net, through attention.
// Both maps show the same thing on the same scale: raise a word by 1, and see what rises how much.

import {softmax} from "./lib/attention.js";
import {setClass, setShare, setText} from "./lib/dom.js";
import {liveElement} from "./lib/live.js";
import {format} from "./lib/numbers.js";
import {flag, integer} from "./lib/url-state.js";
import {cellAt, drawWeightMap} from "./lib/weight-map.js";

// ---- Model ---------------------------------------------------------------------------------

export const DECAYS = [0.5, 0.7, 0.9, 0.99, 1];
export const TIMES = [1, 3, 10, 30, 100, 1000];

export const flowFields = ({words, source}) => ({
  decay: integer(1, {min: 0, max: DECAYS.length - 1}),
  times: integer(3, {min: 0, max: TIMES.length - 1}),
  source: integer(source, {min: 0, max: words.length - 1}),
  causal: flag(false)
});

/** state = decay · state before + word: what word j's state gets of word i. */
export function recurrentFlow(n, decay) {
  return Array.from({length: n}, (_, j) => Array.from({length: n}, (_, i) => (i <= j ? decay ** (j - i) : 0)));
}

/** Every word looks for `source`, `times` as strongly as for another: softmax of ln(times) and 0. */
export function attentionFlow(n, {source, times, causal}) {
  const scores = Array.from({length: n}, (_, i) => (i === source ? Math.log(times) : 0));
  return scores.map((_, j) => softmax(scores, (i) => causal && i > j));
}

/** Both maps, and of both the column of the source: what each word gets of it, or null. */
export function flows({words}, {decay, times, source, causal}) {
  const n = words.length;
  const chosen = {decay: DECAYS[decay], times: TIMES[times], source, causal};
  const recurrent = recurrentFlow(n, chosen.decay);
  const attention = attentionFlow(n, chosen);
  const readers = words.map((word, j) => ({
    word, steps: j - source,
    recurrent: j < source ? null : recurrent[j][source],
    attention: causal && j < source ? null : attention[j][source]
  }));
  return {words, ...chosen, recurrent, attention, readers};
}

// ---- Summary -------------------------------------------------------------------------------

export function summarize({words, source, decay, times, readers}) {
  const last = readers[readers.length - 1];
  const power = decay === 1 ? "1" : `${decay}${superscript(last.steps)}`;
  const where = last.steps ? `In ${last.word}, ${last.steps} ${last.steps === 1 ? "word" : "words"} on,` : `In ${last.word} itself`;
  return `Raise ${words[source]} by 1. ${where} that adds ${format(last.recurrent)} through the recurrent net (${power}), `
    + `and ${format(last.attention)} through attention (${times}/${times - 1 + words.length}).`;
}

const superscript = (n) => [...String(n)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");

// ---- View ----------------------------------------------------------------------------------

const KINDS = ["recurrent", "attention"];

/** A drawing in one element of its own: draw(found, {onChoose(source)}) updates and returns it. */
export function flowMapView(d3) {
  const root = d3.select(emptyView());
  return (found, options) => {
    draw(root, found, options);
    return root.node();
  };
}

function emptyView() {
  const map = (kind) => `<figure class="${kind}"><figcaption>${kind}</figcaption><div class="weight-map"></div></figure>`;
  return liveElement("flow-map", `<div class="maps">${KINDS.map(map).join("")}
      <p class="scale"><span>0</span><i></i><span>1, in both maps</span></p>
      <p class="axes">A row for each word that reads, a column for each word that is read.</p></div>
    <table class="readers"><thead><tr><th scope="col">read by</th>
      <th scope="col">recurrent</th><th scope="col">attention</th></tr></thead><tbody></tbody></table>
    <p class="says" aria-live="polite"></p>`);
}

function draw(root, found, {onChoose}) {
  for (const kind of KINDS) {
    const map = root.select(`figure.${kind} .weight-map`);
    drawWeightMap(map, found[kind], {column: found.source});
    map.on("click", function (event) { onChoose(cellAt(event, this, found.words.length).column); });
  }
  const rows = root.select("tbody").selectAll("tr").data(found.readers).join((enter) => {
    const row = enter.append("tr");
    row.append("th").attr("scope", "row");
    for (const kind of KINDS) {
      const cell = row.append("td").attr("class", kind);
      cell.append("span").attr("class", "bar");
      cell.append("span").attr("class", "share");
    }
    return row;
  });
  setClass(rows, "looked-for", (_, j) => j === found.source);
  setText(rows.select("th"), (reader) => reader.word);
  for (const kind of KINDS) {
    setShare(rows.select(`.${kind} .bar`), (reader) => reader[kind] ?? 0);
    setText(rows.select(`.${kind} .share`), (reader) => (reader[kind] === null ? "no way" : format(reader[kind])));
  }
  setText(root.select(".says"), () => summarize(found));
}
