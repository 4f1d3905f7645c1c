// Ways of looking: maps that were constructed, and those of trained heads, with what each gives to whom.

import {html} from "../assets/vendor/lit.js";
import {choice} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {moveByKey} from "./lib/keys.js";
import {formatPercent} from "./lib/numbers.js";
import {filled} from "./lib/shares.js";
import {labelledMap, weightMap} from "./lib/weight-map.js";

// ---- Model ---------------------------------------------------------------------------------

// Whether query i's weight on key j counts, by the name of the look. `marks`: which words are punctuation.
const LOOKS = {
  itself: (i, j) => j === i,
  previous: (i, j) => j === i - 1,
  first: (_i, j) => j === 0,
  near: (i, j) => j > i - 4,
  punctuation: (_i, j, marks) => marks[j],
};
const TOLD = {
  itself: "the word itself",
  previous: "the word before",
  first: "the first word",
  near: "itself and the three before",
  punctuation: "punctuation",
};

/** For each look the mean weight that a map gives so, over all queries but the first, which has no choice. */
export function scoresOf(map, marks) {
  const rows = map.slice(1);
  return Object.entries(LOOKS).map(([name, counts]) => ({
    name,
    share:
      rows.reduce(
        (sum, row, i) =>
          sum + row.reduce((all, w, j) => all + (j <= i + 1 && counts(i + 1, j, marks) ? w : 0), 0),
        0,
      ) / rows.length,
  }));
}

/** The chosen map, what it gives to whom, and what equal weights would give. */
export function zoo({tokens, marks, constructed, trained}, {isTrained, head, row}) {
  const maps = isTrained ? trained : constructed;
  const at = Math.min(head, maps.length - 1);
  const {name, map} = maps[at];
  const equal = tokens.map((_, i) => tokens.map((_, j) => (j <= i ? 1 / (i + 1) : 0)));
  const fair = scoresOf(equal, marks);
  const scores = scoresOf(map, marks).map((score, i) => ({...score, equal: fair[i].share}));
  return {
    tokens,
    maps,
    at,
    name,
    map,
    row,
    scores,
    isTrained,
    most: Math.max(...trained.map((one) => punctuationOf(one.map, marks))),
  };
}

const punctuationOf = (map, marks) => scoresOf(map, marks)[4].share;

const mostOf = ({map, row}) => map[row].indexOf(Math.max(...map[row]));

export function summarize(m) {
  const to = mostOf(m);
  return (
    `${m.isTrained ? `Head ${m.name}, trained` : `${m.name}, constructed`}: ${m.tokens[m.row]}, word ${m.row + 1}, looks most at ` +
    `${m.tokens[to]}, word ${to + 1}, ${formatPercent(m.map[m.row][to])}. Mean weights: ` +
    `${m.scores.map(({name, share}) => `${TOLD[name]} ${formatPercent(share)}`).join(", ")}.`
  );
}

// ---- View ----------------------------------------------------------------------------------

const tile = (
  {name, map},
  i,
  at,
  choose,
) => html`<button type="button" role="radio" aria-checked=${i === at} tabindex=${i === at ? 0 : -1}
  @click=${() => choose(i)}>${weightMap(map)}<span>${name}</span></button>`;

const bar = ({name, share, equal}) => html`<li><span class="token">${TOLD[name]}</span>
  <span class="bar"><span style=${filled(share)}></span><i style="left:${(100 * equal).toFixed(2)}%"></i></span><span class="share">${formatPercent(share)}</span></li>`;

function view(m, widget) {
  const choose = (head) => widget.set({head});
  const to = mostOf(m);
  return html`<div class="tiles ${m.isTrained ? "trained" : ""}" role="radiogroup" aria-label="Map" @keydown=${(event) => moveByKey(event, choose)}>
      ${m.maps.map((one, i) => tile(one, i, m.at, choose))}</div>
    <div class="chosen-map">${labelledMap(m.map, {tokens: m.tokens, row: m.row, choose: (row) => widget.set({row})})}
      <div><p class="title">${m.isTrained ? `Head ${m.name}` : m.name}
        <span class="source">${m.isTrained ? "trained" : "constructed"}</span></p>
        <p class="asks">“${m.tokens[m.row]}” looks most at “${m.tokens[to]}”, ${formatPercent(m.map[m.row][to])}.</p>
        <p class="asks">On average, a word after the first gives</p>
        <ul class="shares" aria-label="Mean weights that a word gives">${m.scores.map(bar)}</ul>
        <p class="note">The stroke: what equal weights would give.</p></div></div>
    ${widget.sentence({hidden: true})}`;
}

/** data: {tokens, marks, constructed, trained: [{name, map}], row}. */
export const patternZoo = defineWidget({
  name: "pattern-zoo",
  label: "Ways of looking",
  key: "zoo",
  fields: ({tokens, constructed, trained, row}) => ({
    isTrained: flag(false),
    head: integer(1, {max: Math.max(constructed.length, trained.length) - 1}),
    row: integer(row, {max: tokens.length - 1}),
  }),
  controls: () => [
    [choice("isTrained", "Maps", ["five that we constructed", "sixteen trained heads"])],
  ],
  model: zoo,
  sentence: summarize,
  view,
  challenges: {
    previous: ({isTrained, scores}) => isTrained && scores[1].share > 0.5,
    marks: ({isTrained, scores, most}) => isTrained && scores[4].share === most,
    rabbit: (m) =>
      m.isTrained &&
      m.row === m.tokens.length - 1 &&
      m.map[m.row][m.tokens.indexOf("Rabbit")] > 0.5,
  },
});
