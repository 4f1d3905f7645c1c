// The heads of a layer side by side: their maps, and their mean.

import {html} from "../assets/vendor/lit.js";
import {menu, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {mean} from "./lib/lists.js";
import {format, formatPercent} from "./lib/numbers.js";
import {shareList} from "./lib/shares.js";
import {labelledMap, weightMap} from "./lib/weight-map.js";

// ---- Model ---------------------------------------------------------------------------------

/**
 * The maps of one layer and their mean. The last word stands for those that a sentence lacks.
 * sentences: [{tokens, trained: layers of heads of rows of weights, random: the same}].
 */
export function compareHeads({sentences}, {sentence, layer, head, row, untrained}) {
  const source = untrained ? "random" : "trained";
  const {tokens, [source]: layers} = sentences[sentence];
  const heads = layers[layer];
  const average = heads[0].map((cells, i) =>
    cells.map((_, j) => mean(heads.map((map) => map[i][j]))),
  );
  const maps = [...heads, average].map((weights, h) => ({
    name: h < heads.length ? `head ${h + 1}` : "mean",
    weights,
  }));
  const query = Math.min(row, tokens.length - 1);
  const chosen = maps[head];
  return {
    tokens,
    maps,
    chosen,
    query,
    layer,
    source,
    looks: tokens.map((token, j) => ({token, weight: chosen.weights[query][j]})),
  };
}

export function summarize({tokens, chosen, query, layer, looks, source}) {
  return (
    `Layer ${layer + 1}, ${chosen.name}, ${source} weights: ${tokens[query]} looks at ` +
    `${looks.map(({token, weight}) => `${token} ${formatPercent(weight)}`).join(", ")}.`
  );
}

/** Whether the trained head on show gives nearly all of `from`'s weight to the subject, word 1. */
const finds = ({tokens, looks, query, source}, from, subject) =>
  source === "trained" &&
  tokens[query] === from &&
  looks[1].token === subject &&
  looks[1].weight > 0.9;

// ---- View ----------------------------------------------------------------------------------

const card = ({name, weights}, isChosen, choose) => html`
  <button type="button" aria-pressed=${isChosen} @click=${choose}><b>${name}</b>${weightMap(weights)}</button>`;

function view(m, widget) {
  const {tokens, maps, chosen, query} = m;
  return html`<div class="maps" role="group" aria-label="Heads of layer ${m.layer + 1}">${maps.map((map, head) => card(map, map === chosen, () => widget.set({head})))}</div>
    <p class="heading"><b class="title">Layer ${m.layer + 1}, ${chosen.name}</b>
      <span class="source">${m.source}</span></p>
    <div class="chosen-map">${labelledMap(chosen.weights, {tokens, row: query, choose: (row) => widget.set({row})})}
    <div><p class="asks">“${tokens[query]}” looks at</p>${shareList(m.looks, {format, label: `“${tokens[query]}” looks at`})}</div></div>
    ${widget.sentence({hidden: true})}`;
}

export const headMaps = defineWidget({
  name: "head-maps",
  label: "The heads of a layer side by side",
  key: "heads",
  fields: ({sentences, layer, head, row}) => ({
    sentence: integer(0, {max: sentences.length - 1}),
    layer: integer(layer, {max: sentences[0].trained.length - 1}),
    head: integer(head, {max: sentences[0].trained[0].length}), // after the last: their mean
    row: integer(row, {max: Math.max(...sentences.map(({tokens}) => tokens.length)) - 1}),
    untrained: flag(false),
  }),
  controls({data: {sentences}, state}) {
    const {tokens, trained} = sentences[state.sentence];
    return [
      [
        menu(
          "sentence",
          "Sentence",
          sentences.map((one) => one.tokens.join(" ")),
        ),
      ],
      [
        menu("row", "Word", tokens),
        menu(
          "layer",
          "Layer",
          trained.map((_, i) => i + 1),
        ),
        toggle("untrained", "Before training"),
      ],
    ];
  },
  model: compareHeads,
  sentence: summarize,
  view,
  challenges: {
    "finds-keys": (m) => finds(m, "cabinet", "keys"),
    "finds-dogs": (m) => finds(m, "bird", "dogs"),
  },
});
