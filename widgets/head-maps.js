// The heads of a layer side by side: their maps, their mean, how spread out and how sure they are.

import {liveElement} from "./lib/live.js";
import {format, formatPercent} from "./lib/numbers.js";
import {setAttr, setText} from "./lib/dom.js";
import {drawShares} from "./lib/shares.js";
import {drawLabelledMap, drawWeightMap, LABELLED_MAP} from "./lib/weight-map.js";
import {flag, integer} from "./lib/url-state.js";

// ---- Model: numbers in, objects out --------------------------------------------------------

/** What a reader can choose, with where it starts: for urlState. */
export const headFields = ({sentences, layer, head, row}) => ({
  sentence: integer(0, {min: 0, max: sentences.length - 1}),
  layer: integer(layer, {min: 0, max: sentences[0].trained.length - 1}),
  head: integer(head, {min: 0, max: 9}),
  row: integer(row, {min: 0, max: 30}),
  untrained: flag(false)
});

/** The words of a sentence; where it has no such word as was chosen, its last is. */
export function wordsOf(sentence, store) {
  const last = sentence.tokens.length - 1;
  if (store.value.row > last) store.set({row: last});
  return sentence.tokens;
}

const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
const entropy = (row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);

/**
 * The maps of one layer and their mean, each with its mean entropy (nats) and mean peak.
 * sentence: {tokens, trained: layers of heads of rows of weights, random: the same}.
 */
export function headMaps(sentence, {layer, head, row, untrained}) {
  const heads = sentence[untrained ? "random" : "trained"][layer];
  const average = heads[0].map((cells, i) => cells.map((_, j) => mean(heads.map((map) => map[i][j]))));
  const maps = [...heads, average].map((weights, h) => ({
    name: h < heads.length ? `head ${h}` : "mean", weights,
    entropy: mean(weights.map(entropy)), peak: mean(weights.map((cells) => Math.max(...cells)))
  }));
  const {tokens} = sentence;
  const [shown, query] = [Math.min(head, heads.length), Math.min(row, tokens.length - 1)];
  return {tokens, maps, shown, query, layer, untrained, source: untrained ? "random" : "trained",
    looks: tokens.map((token, j) => ({token, weight: maps[shown].weights[query][j]}))};
}

// ---- Summary: the same as a sentence --------------------------------------------------------

export function summarize({tokens, maps, shown, query, layer, looks, source}) {
  const spread = maps.map((map) => `${map.name} ${format(map.entropy)}`).join(", ");
  return `Layer ${layer}, ${maps[shown].name}, ${source} weights: ${tokens[query]} looks at `
    + `${looks.map(({token, weight}) => `${token} ${formatPercent(weight)}`).join(", ")}. Entropy in nats: ${spread}.`;
}

// ---- View: one element, updated in place; the caller keeps the state ------------------------

/** draw(model, {onHead(index), onRow(index)}) updates the one element and returns it. */
export function headMapsView(d3) {
  const root = d3.select(emptyView());
  return (model, options) => {
    draw(d3, root, model, options);
    return root.node();
  };
}

function draw(d3, root, m, {onHead, onRow}) {
  const cards = root.select(".maps").selectAll("button").data(m.maps).join((enter) => {
    const button = enter.append("button").attr("type", "button");
    button.append("b");
    button.append("div").attr("class", "weight-map");
    for (const name of ["entropy", "peak"]) button.append("span").attr("class", name);
    return button;
  }).on("click", (event, map) => onHead(m.maps.indexOf(map)));
  setAttr(cards, "aria-pressed", (_, h) => h === m.shown);
  setText(cards.select("b"), (map) => map.name);
  setText(cards.select(".entropy"), (map) => format(map.entropy));
  setText(cards.select(".peak"), (map) => format(map.peak));
  cards.each(function (map) { drawWeightMap(d3.select(this).select(".weight-map"), map.weights); });

  const [chosen, size] = [m.maps[m.shown], m.tokens.length];
  setText(root.select(".legend"), () => `Under each map: its entropy in nats, at most ${format(Math.log(size))}, and its peak, at most 1. Both are means over the rows.`);
  setText(root.select(".title"), () => `Layer ${m.layer}, ${chosen.name}`);
  setText(root.select(".source"), () => m.source);
  drawLabelledMap(root.select(".labelled-map"), chosen.weights, {tokens: m.tokens, row: m.query, onRow});
  setText(root.select(".asks"), () => `“${m.tokens[m.query]}” looks at`);
  drawShares(root.select(".shares"), m.looks, format);
  setText(root.select(".summary"), () => summarize(m));
}

function emptyView() {
  return liveElement("head-maps", `<div class="maps"></div><p class="legend"></p>
    <p class="heading"><b class="title"></b> <span class="source"></span></p>
    <div class="chosen-map">${LABELLED_MAP}
    <div><p class="asks"></p><ul class="shares"></ul></div></div>
    <p class="summary screen-reader-only" aria-live="polite"></p>`, {label: "The heads of a layer side by side"});
}
