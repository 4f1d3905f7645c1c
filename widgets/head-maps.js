// The two heads of a layer side by side: their maps, and what the model says with one of them off.

import {html} from "../assets/vendor/lit.js";
import {choice, menu, reset} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {mean} from "./lib/lists.js";
import {format, formatPercent} from "./lib/numbers.js";
import {shareList} from "./lib/shares.js";
import {labelledMap} from "./lib/weight-map.js";

// ---- Model ---------------------------------------------------------------------------------

export const WAYS = ["on", "off-1", "off-2", "mean"];

/** The maps of the heads: a head that is off weighs nothing, and "mean" gives all heads their mean. */
export function changedMaps(maps, way) {
  if (way === "mean") {
    const one = maps[0].map((row, i) => row.map((_, j) => mean(maps.map((map) => map[i][j]))));
    return maps.map(() => one);
  }
  return maps.map((map, h) => (way === `off-${h + 1}` ? map.map((row) => row.map(() => 0)) : map));
}

/**
 * data: course/payloads/two_heads.py. The last word stands for those that a sentence lacks.
 * Gives each head's map and the looks of one word, and what the model puts into the gap.
 */
export function compareHeads({sentences}, {sentence, row, way}) {
  const {tokens, gap, right, maps, guesses} = sentences[sentence];
  const query = Math.min(row, tokens.length - 1);
  return {
    tokens,
    query,
    way,
    gap: tokens[gap],
    right,
    heads: changedMaps(maps, way).map((weights, h) => ({
      name: `Head ${h + 1}`,
      isOff: way === `off-${h + 1}`,
      weights,
      looks: tokens.map((token, j) => ({token, weight: weights[query][j]})),
    })),
    guesses: guesses[way],
    best: guesses[way][0].token,
    isRight: guesses[way][0].token === right,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const NAMES = ["both on", "head 1 off", "head 2 off", "one map for both"];

const spoken = (looks) =>
  looks.map(({token, weight}) => `${token} ${formatPercent(weight)}`).join(", ");

export function summarize({tokens, query, way, gap, heads, guesses, best, right, isRight}) {
  const looks = heads.map(({name, isOff, looks}) =>
    isOff
      ? `${name} is off`
      : `in ${name.toLowerCase()}, “${tokens[query]}” looks at ${spoken(looks)}`,
  );
  return (
    `${tokens.join(" ")}, ${NAMES[WAYS.indexOf(way)]}: ${looks.join("; ")}. The model puts into “${gap}”: ` +
    `${spoken(guesses)}. Its answer, ${best}, is ${isRight ? "right" : `wrong: ${right} is right`}.`
  );
}

const column = ({name, isOff, weights, looks}, {tokens, query, way}, widget) => html`
  <section class=${isOff ? "off" : ""}><p class="title"><b>${name}</b>
    <span>${isOff ? "off" : way === "mean" ? "the mean map" : ""}</span></p>
    ${labelledMap(weights, {tokens, row: query, choose: (row) => widget.set({row})})}
    <p class="asks">“${tokens[query]}” looks at</p>
    ${shareList(looks, {format, label: `In ${name.toLowerCase()}, “${tokens[query]}” looks at`})}</section>`;

function view(m, widget) {
  return html`<div class="says ${m.isRight ? "right" : "wrong"}"><p class="asks">The model puts into “${m.gap}”
      <span aria-hidden="true">${m.isRight ? "✓ right" : `✗ right is “${m.right}”`}</span></p>
    ${shareList(m.guesses, {label: `The model puts into “${m.gap}”`})}</div>
    <div class="heads">${m.heads.map((head) => column(head, m, widget))}</div>
    ${widget.sentence({hidden: true})}`;
}

const verbs = ["is", "are"];

export const headMaps = defineWidget({
  name: "head-maps",
  label: "Two heads side by side",
  key: "heads",
  fields: ({sentences, row}) => ({
    sentence: integer(0, {max: sentences.length - 1}),
    row: integer(row, {max: Math.max(...sentences.map(({tokens}) => tokens.length)) - 1}),
    way: option("on", WAYS),
  }),
  controls: ({data: {sentences}, state}) => [
    [
      menu(
        "sentence",
        "Sentence",
        sentences.map(({tokens}) => tokens.join(" ")),
      ),
      menu("row", "Word", sentences[state.sentence].tokens),
    ],
    [choice("way", "Layer 2", NAMES), reset],
  ],
  model: compareHeads,
  sentence: summarize,
  view,
  challenges: {
    "wrong-number": ({best, right}) => verbs.includes(best) && best !== right,
    "no-verb": ({best}) => !verbs.includes(best),
  },
});
