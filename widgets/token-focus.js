// Choose a word of a sentence: weighted arrows show where it looks, in a trained model.

import {setAttr, setAttrs, setClass, setStyle, setText} from "./lib/dom.js";
import {liveElement} from "./lib/live.js";
import {formatPercent} from "./lib/numbers.js";
import {flag, integer} from "./lib/url-state.js";
import {drawWords} from "./lib/words.js";

// ---- Model: numbers in, objects out --------------------------------------------------------

/**
 * What a reader can choose. `shown` = {sentences: [{tokens, focus}], models: {masked, causal}},
 * a model being {heads: [names], weights: [sentence][head][from][to]}. The head after the last
 * is their mean; a word is kept with its sentence, and another sentence starts at its own focus.
 */
export const focusFields = ({sentences, models}, {sentence = 0, head}) => ({
  sentence: integer(sentence, {min: 0, max: sentences.length - 1}),
  word: {
    value: null,
    parse(text) {
      const [at, token] = /^\d\.\d+$/.test(text) ? text.split(".").map(Number) : [];
      return token < sentences[at]?.tokens.length ? {sentence: at, token} : undefined;
    },
    format: (word) => (word ? `${word.sentence}.${word.token}` : "")
  },
  head: integer(head, {min: 0, max: models.masked.heads.length}),
  causal: flag(false)
});

/** Where the chosen word looks: {tokens, from, row: weights, hidden: which words it can't see}. */
export function looks({sentences, models}, {sentence, word, head, causal}) {
  const {tokens, focus, says} = sentences[sentence];
  const from = word?.sentence === sentence ? word.token : focus;
  const maps = (causal ? models.causal : models.masked).weights[sentence];
  const chosen = head < maps.length ? [maps[head]] : maps;
  const row = tokens.map((_, to) => chosen.reduce((sum, map) => sum + map[from][to], 0) / chosen.length);
  return {tokens, says, from, row, hidden: tokens.map((_, to) => causal && to > from)};
}

export const headNames = (model) => [...model.heads, "mean of all heads"];

// ---- Summary: the same as a sentence -------------------------------------------------------

export function summarize({tokens, from, row, hidden}) {
  const order = row.map((_, to) => to).filter((to) => !hidden[to]).sort((a, b) => row[b] - row[a]).slice(0, 3);
  const most = order.map((to) => `${tokens[to]}, word ${to + 1}, ${formatPercent(row[to])}`).join("; ");
  return `${tokens[from]}, word ${from + 1}, looks most at: ${most}.`;
}

// ---- View: one element, updated in place ---------------------------------------------------

/** A drawing in one element of its own: draw(looks, {onChoose(token)}) updates it and returns it. */
export function tokenFocusView(d3) {
  const root = d3.select(emptyView());
  return (found, options) => {
    draw(root, found, options);
    return root.node();
  };
}

function emptyView() {
  return liveElement("token-focus", `<div class="from words" role="radiogroup" aria-label="The word that looks"></div>
    <svg aria-hidden="true" preserveAspectRatio="none"></svg><ol class="to" aria-hidden="true"></ol>
    <p class="says"></p><p class="rounding">Rounded as shown, the shares may not seem to sum to 100 %. They do.</p>
    <p class="summary screen-reader-only" aria-live="polite"></p>`);
}

function draw(root, found, {onChoose}) {
  const {tokens, from, row, hidden} = found;
  drawWords(root.select(".from"), tokens, from, onChoose);
  setAttr(root.select("svg"), "viewBox", `0 0 100 ${tokens.length}`);
  const lines = root.select("svg").selectAll("line").data(row).join("line");
  setAttrs(lines, {x1: 0, x2: 100, y1: from + 0.5, y2: (_, to) => to + 0.5, visibility: (_, to) => (hidden[to] ? "hidden" : null)});
  setStyle(lines, "--weight", (weight) => weight);
  drawTargets(root.select(".to"), found);
  setText(root.select(".says"), () => found.says);
  setText(root.select(".summary"), () => summarize(found));
  const total = row.reduce((sum, weight) => sum + Math.round(weight * 100), 0);
  root.select(".rounding").classed("needed", total !== 100);
}

function drawTargets(list, {tokens, row, hidden}) {
  const items = list.selectAll("li").data(tokens).join((enter) => {
    const item = enter.append("li");
    item.append("span").attr("class", "token");
    item.append("span").attr("class", "share");
    return item;
  });
  setClass(items, "hidden-word", (_, i) => hidden[i]);
  setStyle(items, "--weight", (_, i) => row[i]);
  setText(items.select(".token"), (word) => word);
  setText(items.select(".share"), (_, i) => (hidden[i] ? "hidden" : formatPercent(row[i])));
}
