// The small figures of the tour. Steps 1 and 5: where the words of a sentence look in a trained
// model. Steps 3, 4 and 6: matrices of three words, and what one chosen cell says.
// Step 4 follows what a reader chooses in step 3.

import {html} from "../assets/vendor/lit.js";
import {attentionSteps} from "./lib/attention.js";
import {menu, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format} from "./lib/numbers.js";
import {shareList} from "./lib/shares.js";
import {labelledMap, weightMap} from "./lib/weight-map.js";

// ---- Where the words look: model -----------------------------------------------------------

/** Heads of the model on one sentence; `look` is where `row` looks in the chosen head. */
export function looking({sentences, names}, {ending = 0, head, row, untrained = false}) {
  const source = untrained ? "random" : "trained";
  const {tokens, [source]: maps} = sentences[ending];
  const look = maps[head][row].map((weight, j) => ({token: tokens[j], weight}));
  const most = maps.map((map) => {
    const weight = Math.max(...map[row]);
    return {token: tokens[map[row].indexOf(weight)], weight};
  });
  return {tokens, names, maps, head, row, look, most, source};
}

// ---- Where the words look: sentences, views --------------------------------------------------

const withShare = ({token, weight}) => `${token} ${format(weight)}`;

export const lookSentence = ({tokens, names, head, row, look, source}) =>
  `${names[head]}, ${source}: ${tokens[row]} looks at ${look.map(withShare).join(", ")}.`;

const asks = ({tokens, row}) => `“${tokens[row]}” looks at`;

/** Which word looks, by its place and what stands there. */
const wordMenu = (widget) => {
  const [{tokens}] = widget.data.sentences;
  return menu(
    "row",
    "From word",
    tokens.map((token, i) => `${i + 1}: ${token}`),
  )(widget);
};

const looks = (label, rest) =>
  defineWidget({name: "tour-figure", label, key: "see", sentence: lookSentence, ...rest});

export const tourWhy = looks("Where “it” looks", {
  fields: () => ({ending: integer(0, {max: 1})}), // which last word
  controls: ({data: {sentences}}) => [
    [
      menu(
        "ending",
        "… because it was",
        sentences.map(({tokens}) => tokens[tokens.length - 1]),
      ),
    ],
  ],
  model: (data, {ending}) => looking(data, {ending, row: data.it, head: data.head}),
  view: (
    m,
    widget,
  ) => html`<p class="asks">${asks(m)}</p>${shareList(m.look, {format, label: asks(m)})}
    ${widget.sentence({hidden: true})}`,
});

export const tourHeads = looks("The heads side by side", {
  fields: ({sentences: [{tokens, trained}], on, head}) => ({
    row: integer(on, {max: tokens.length - 1}),
    head: integer(head, {max: trained.length - 1}),
    untrained: flag(false),
  }),
  controls: () => [[wordMenu, toggle("untrained", "Before training")]],
  model: looking,
  view: (
    m,
    widget,
  ) => html`<ul class="maps" aria-label="Where “${m.tokens[m.row]}” looks most in each head">${m.maps.map(
    (map, i) => html`<li><button
      type="button" aria-pressed=${i === m.head} @click=${() => widget.set({head: i})}><b>${m.names[i]}</b>
      ${weightMap(map, {row: m.row})}<span class="most">${withShare(m.most[i])}</span></button></li>`,
  )}</ul>
    <div class="pattern">
    ${labelledMap(m.maps[m.head], {tokens: m.tokens, row: m.row, choose: (row) => widget.set({row})})}
    <div><p class="asks">${asks(m)} <span class="source">${m.source}</span></p>${shareList(m.look, {format, label: asks(m)})}</div></div>
    ${widget.sentence({hidden: true})}`,
});

// ---- Three words: model ----------------------------------------------------------------------
// Each figure is {grids, says}: matrices, and text in pieces.

const stepsOf = (worked, options) => ({...worked, ...attentionSteps(worked, options)});
const inParentheses = (row) => `(${row.map(format).join(", ")})`;
const times = (a, b) => a.map((x, i) => `${format(x)}·${format(b[i])}`).join(" + ");

/** Step 3: the score of one pair. */
export function scoring(worked, {word, key}) {
  const m = stepsOf(worked);
  const [score, scaled] = [m.scores, m.scaled].map((rows) => format(rows[word][key]));
  return {
    grids: ["scores", "scaled"].map((name) => ({name, cells: m[name], columns: m.tokens})),
    says: [
      `${m.tokens[word]} asks ${m.tokens[key]}:  ${times(m.query[word], m.key[key])} = ${score},  ` +
        `÷ √${m.size} ≈ ${scaled}`,
    ],
  };
}

/** Step 4: weights of one row, and the mix of values that they make. */
export function sharing(worked, {word, key}) {
  const m = stepsOf(worked);
  const powers = m.scaled[word].map((x) => `e^${format(x)}`);
  const parts = m.scaled[word].map(Math.exp);
  const total = parts.reduce((a, b) => a + b, 0);
  const share = `${powers[key]} ÷ (${powers.join(" + ")}) ≈ ${format(parts[key])} ÷ ${format(total)} ≈ ${format(m.weights[word][key])}`;
  const mix = m.value
    .map((row, j) => `${m.weights[word][j].toFixed(3)}·${inParentheses(row)}`)
    .join(" + "); // so that it comes out by hand
  return {
    grids: [
      {name: "weights", cells: m.weights, columns: m.tokens, isFilled: true},
      {name: "output", cells: m.output, columns: ["1", "2"]},
    ],
    says: [
      `${m.tokens[word]} gives ${m.tokens[key]}:  ${share}\n`,
      `output of ${m.tokens[word]}:  ${mix} ≈ ${inParentheses(m.output[word])}`,
    ],
  };
}

const withInfinity = (m) => (i, j) => (m.hidden(i, j) ? "−∞" : format(m.scaled[i][j]));

/** Step 6: who may look at whom. */
export function masking(worked, {word, causal}) {
  const m = stepsOf(worked, {causal});
  const masked = {columns: m.tokens, hidden: m.hidden};
  const seen = m.tokens.flatMap((token, j) =>
    m.hidden(word, j) ? [] : [withShare({token, weight: m.weights[word][j]})],
  );
  return {
    grids: [
      {name: "masked", cells: m.scaled, ...masked, text: withInfinity(m)},
      {name: "weights", cells: m.weights, ...masked, isFilled: true},
    ],
    says: [`${m.tokens[word]} spreads its weight over: ${seen.join(", ")}.`],
  };
}

// ---- Three words: sentence, view ---------------------------------------------------------------

const pieces = ({says}) => says.map((text) => html`<span>${text}</span>`);

/** One matrix; a cell of a square one chooses a pair, of another a word. */
function grid({isFilled, ...matrix}, {data: {tokens}, state: {word, key}, set}) {
  const {cells, columns, name} = matrix;
  const isSquare = columns === tokens;
  return matrixTable({
    ...matrix,
    title: name,
    caption: name,
    shape: `${cells.length} × ${cells[0].length}`,
    rows: tokens,
    fill: isFilled && ((i, j) => cells[i][j]),
    lit: (i) => i === word,
    chosen: (i, j) => isSquare && i === word && j === key,
    choose: (i, j) => set({word: i, key: isSquare ? j : key}),
  });
}

const threeWords = (label, rest) =>
  defineWidget({
    name: "tour-figure",
    label,
    key: "see",
    sentence: pieces,
    view: ({grids}, widget) =>
      html`<div class="stage">${grids.map((one) => grid(one, widget))}</div>${widget.sentence()}`,
    ...rest,
  });

export const tourScores = threeWords("Scores, raw and scaled", {
  fields: () => ({
    word: integer(2, {max: 2}), // who asks
    key: integer(1, {max: 2}), // who is asked
  }),
  model: scoring,
});
export const tourSoftmax = threeWords("Weights and output", {model: sharing});
export const tourMask = threeWords("Scaled scores and weights under the mask", {
  key: "mask",
  fields: () => ({
    word: integer(1, {max: 2}), // a row that the mask changes
    key: integer(0, {max: 2}),
    causal: flag(true),
  }),
  controls: () => [[toggle("causal", "Causal mask")]],
  model: masking,
});
