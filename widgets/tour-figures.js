// The small figures of the tour. Steps 2 to 4, 6 and 7: matrices of three words, and what one
// chosen cell says. Steps 1, 5 and 8: where the words of a sentence look in a trained model.

import {setText} from "./lib/dom.js";
import {liveElement} from "./lib/live.js";
import {drawMatrix} from "./lib/matrix-grid.js";
import {format} from "./lib/numbers.js";
import {drawShares} from "./lib/shares.js";
import {flag, integer} from "./lib/url-state.js";
import {drawLabelledMap, drawWeightMap, LABELLED_MAP} from "./lib/weight-map.js";
import {whenShown} from "./lib/when-shown.js";

// ---- Model: numbers in, objects out -----------------------------------------------------------

/** A word's name in a menu: its place, and what stands there, in whichever of the sentences. */
export const nameOf = ({sentences}, i) => `${i + 1}: ${[...new Set(sentences.map(({tokens}) => tokens[i]))].join(" / ")}`;

/** What a reader can choose, kept from step to step. */
export const figureFields = ({sentences: [{tokens, trained}], it, head}) => ({
  ending: integer(0, {min: 0, max: 1}), // which last word
  row: integer(it, {min: 0, max: tokens.length - 1}), head: integer(head, {min: 0, max: trained.length - 1}),
  untrained: flag(false),
  word: integer(2, {min: 0, max: 2}), key: integer(1, {min: 0, max: 2}), // who asks whom, of three words
  causal: flag(true), line: integer(3, {min: 0, max: LINES.length - 1})
});

/** The lines of the code, and what each makes. */
export const LINES = [
  {does: "compare", makes: "scores"}, {does: "scale", makes: "scaled"}, {does: "mask", makes: "masked"},
  {does: "share", makes: "weights"}, {does: "mix", makes: "output"}
];

const letters = {query: "q", key: "k", value: "v"};
const inParentheses = (row) => `(${row.map(format).join(", ")})`;
const times = (a, b) => a.map((x, i) => `${format(x)}·${format(b[i])}`).join(" + ");

/** Step 2: features become queries, keys and values. `says` is text in pieces, [text, colour]. */
export function roles(m, {word}) {
  const grids = ["features", "query", "key", "value"].map((name) => ({
    name, cells: m[name], text: name === "features" ? (i, j) => String(m.features[i][j]) : undefined, columns: name === "features" ? m.described : m[name][0].map((_, i) => `${letters[name]}${"₁₂"[i]}`)
  }));
  const pieces = Object.keys(letters).map((name) => [`${name} ${inParentheses(m[name][word])}  `, letters[name]]);
  return {grids, says: [[`${m.tokens[word]}:  `], ...pieces]};
}

/** Step 3: the score of one pair. */
export function scoring(m, {word, key}) {
  const grids = ["scores", "scaled"].map((name) => ({name, cells: m[name], columns: m.tokens}));
  return {grids, says: [
    [`${m.tokens[word]} asks ${m.tokens[key]}:  ${times(m.query[word], m.key[key])} = ${format(m.scores[word][key])},  `
      + `divided by √${m.size} is ${format(m.scaled[word][key])}`]]};
}

/** Step 4: shares of one row, and the mix of values that they make. */
export function sharing(m, {word, key}) {
  const parts = m.scaled[word].map(Math.exp);
  const total = parts.reduce((a, b) => a + b, 0);
  return {
    grids: [{name: "weights", cells: m.weights, columns: m.tokens, weights: true}, {name: "output", cells: m.output, columns: ["1", "2"]}],
    says: [[`${m.tokens[word]} gives ${m.tokens[key]}:  e^${format(m.scaled[word][key])} ÷ (${m.scaled[word].map((x) => `e^${format(x)}`).join(" + ")})`
      + ` = ${format(parts[key])} ÷ ${format(total)} = ${format(m.weights[word][key])}\n`],
      [`output of ${m.tokens[word]}:  ${m.value.map((row, j) => `${format(m.weights[word][j])}·${inParentheses(row)}`).join(" + ")} = ${inParentheses(m.output[word])}`]]
  };
}

const withInfinity = (m) => (i, j) => (m.hidden(i, j) ? "−∞" : format(m.scaled[i][j]));

/** Step 6: who may look at whom. */
export function masking(m, {word}) {
  const seen = m.tokens.filter((_, j) => !m.hidden(word, j));
  const masked = {columns: m.tokens, hidden: m.hidden};
  return {
    grids: [{name: "masked", cells: m.scaled, ...masked, text: withInfinity(m)}, {name: "weights", cells: m.weights, ...masked, weights: true}],
    says: [[`${m.tokens[word]} shares its attention among: ${seen.join(", ")}.`]]
  };
}

/** Step 7: what one line of the code makes. */
export function madeBy(m, {line}) {
  const name = LINES[line].makes;
  const cells = m[name] ?? m.scaled;
  const masked = ["masked", "weights"].includes(name) ? {hidden: m.hidden} : {};
  const text = name === "masked" ? withInfinity(m) : undefined;
  return {
    grids: [{name, cells, columns: cells[0].length === m.tokens.length ? m.tokens : ["1", "2"], ...masked, text, weights: name === "weights"}],
    says: [[`Line ${line + 1}, ${LINES[line].does}: ${cells.length} × ${cells[0].length} numbers.`]]
  };
}

/** Steps 1, 5, 8: heads of the model on one sentence; `look` is where `row` looks in the chosen one. */
export function looking(sentence, {names, head, row, untrained = false}) {
  const maps = sentence[untrained ? "random" : "trained"];
  const look = maps[head][row].map((weight, j) => ({token: sentence.tokens[j], weight}));
  const most = maps.map((map) => {
    const weight = Math.max(...map[row]);
    return {token: sentence.tokens[map[row].indexOf(weight)], weight};
  });
  return {tokens: sentence.tokens, names, maps, head, row, look, most, source: untrained ? "random" : "trained"};
}

// ---- Summary ------------------------------------------------------------------------------------

export const summarize = ({tokens, names, head, row, look, source}) =>
  `${names[head]}, ${source}: ${tokens[row]} looks at ${look.map((d) => `${d.token} ${format(d.weight)}`).join(", ")}.`;

// ---- Views: each draw(model, options) updates the one element and returns it ---------------------

function view(d3, className, label, html) {
  const root = d3.select(liveElement(`tour-figure ${className}`, html, {label}));
  return (draw) => (model, options) => {
    whenShown(root.node(), () => draw(root, model, options ?? {}));
    return root.node();
  };
}

/** Matrices of `tokens` side by side; onChoose(row, col) of a cell; with `col` it is framed. */
export const gridsView = (d3, label) =>
  view(d3, "grids", label, `<div class="stage"></div><p class="says" aria-live="polite"></p>`)((root, {grids, says}, {tokens, word, col, onChoose}) => {
    root.select(".stage").selectAll("table").data(grids, (grid) => grid.name).join("table")
      .attr("class", (grid) => `matrix ${grid.name}`)
      .each(function (grid) {
        const isSquare = grid.columns === tokens;
        drawMatrix(d3.select(this), {
          ...grid, title: grid.name, caption: grid.name, shape: `${grid.cells.length} × ${grid.cells[0].length}`, rows: tokens,
          fill: grid.weights && ((i, j) => grid.cells[i][j]), lit: (i) => i === word,
          chosen: (i, j) => isSquare && i === word && j === col
        }, {choose: (i, j) => onChoose(i, isSquare ? j : undefined)});
      });
    setText(root.select(".says").selectAll("span").data(says).join("span").attr("class", ([, colour]) => colour), ([text]) => text);
  });

/** Where one word looks: bars. */
export const lookView = (d3, label) =>
  view(d3, "look", label, `<p class="asks"></p><ul class="shares"></ul>`)((root, m) => {
    setText(root.select(".asks"), () => `“${m.tokens[m.row]}” looks at`);
    drawShares(root.select(".shares"), m.look, format);
  });

/** All heads side by side, each with the word that `row` looks at most. */
export const headsView = (d3, label) =>
  view(d3, "heads", label, `<ul class="maps"></ul>`)((root, m) => {
    const cards = root.select(".maps").selectAll("li").data(m.maps).join((enter) => {
      const card = enter.append("li");
      card.append("b");
      card.append("div").attr("class", "weight-map");
      card.append("span").attr("class", "most");
      return card;
    });
    setText(cards.select("b"), (_, i) => m.names[i]);
    setText(cards.select(".most"), (_, i) => `${m.most[i].token} ${format(m.most[i].weight)}`);
    cards.each(function (map) { drawWeightMap(d3.select(this).select(".weight-map"), map, {row: m.row}); });
  });

/** One head as a map with its words, and the chosen row as bars; onRow(index). */
export const mapView = (d3, label) =>
  view(d3, "pattern", label, `${LABELLED_MAP}<div><p class="asks"><span></span> <span class="source"></span></p><ul class="shares"></ul></div><p class="summary screen-reader-only" aria-live="polite"></p>`)(
    (root, m, {onRow}) => {
      drawLabelledMap(root.select(".labelled-map"), m.maps[m.head], {tokens: m.tokens, row: m.row, onRow});
      setText(root.select(".asks span"), () => `“${m.tokens[m.row]}” looks at`);
      setText(root.select(".source"), () => m.source);
      drawShares(root.select(".shares"), m.look, format);
      setText(root.select(".summary"), () => summarize(m));
    });
