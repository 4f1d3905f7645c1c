// The small figures of the tour. Steps 1, 5 and 8: where the words of a sentence look in a trained
// model. Steps 3, 4 and 6: matrices of three words, and what one chosen cell says.
// Step 4 follows what a reader chooses in step 3.

import {html, nothing} from "../assets/vendor/lit.js";
import {attentionSteps} from "./lib/attention.js";
import {capitalize} from "./lib/capitalize.js";
import {choice, menu, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format} from "./lib/numbers.js";
import {shareList} from "./lib/shares.js";
import {labelledMap, weightMap} from "./lib/weight-map.js";

// ---- Where the words look: model -----------------------------------------------------------

/** `look` is where `row` looks in the chosen head, `most` where it looks most in each. */
function lookOf({tokens, maps, head, row}) {
  const look = maps[head][row].map((weight, j) => ({token: tokens[j], weight}));
  const most = maps.map((map) => {
    const weight = Math.max(...map[row]);
    return {token: tokens[map[row].indexOf(weight)], weight};
  });
  return {look, most};
}

/** Heads of the model on one sentence. */
export function looking({sentences, names}, {ending = 0, head, row, untrained = false}) {
  const source = untrained ? "random" : "trained";
  const {tokens, [source]: maps} = sentences[ending];
  return {tokens, names, maps, head, row, source, ...lookOf({tokens, maps, head, row})};
}

const SEEN = 0.005; // a smaller difference doesn't show

/**
 * Heads of the model on a sentence with a gap, the chosen one perhaps switched off, and what the
 * model fills in. sentences: [{tokens, first: maps of layer 1, runs}]; the runs are those with all
 * heads, then those without each: {second: maps of layer 2, guesses: [[word, share]]}.
 * `isChanged`: of each map, whether it differs from the one with all heads.
 */
export function filling({sentences, names, gap}, {plural, head, off}) {
  const {tokens, first, runs} = sentences[Number(plural)];
  const whole = [...first, ...runs[0].second];
  const {second, guesses} = runs[off ? head + 1 : 0];
  const isOff = (i) => off && i === head;
  const maps = [...first, ...second].map((map, i) =>
    isOff(i) ? map.map((row) => row.map(() => 0)) : map,
  );
  const differs = (map, other) =>
    map.some((row, i) => row.some((weight, j) => Math.abs(weight - other[i][j]) > SEEN));
  return {
    tokens,
    names,
    maps,
    head,
    off,
    row: gap,
    source: "trained",
    ...lookOf({tokens, maps, head, row: gap}),
    isChanged: maps.map((map, i) => differs(map, whole[i])),
    guesses: guesses.map(([token, weight]) => ({token, weight})),
  };
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

/** All maps small, each a button, with what `below` says of it; the chosen one large, and `beside` it. */
const sideBySide = (m, widget, {below, beside, choose = null}) => html`
  <ul class="maps" aria-label="Where “${m.tokens[m.row]}” looks most in each head">${m.maps.map(
    (map, i) => html`<li><button
      type="button" aria-pressed=${i === m.head} @click=${() => widget.set({head: i})}><b>${m.names[i]}</b>
      ${weightMap(map, {row: m.row})}<span class="most">${below(i)}</span></button></li>`,
  )}</ul>
    <div class="pattern">
    ${labelledMap(m.maps[m.head], {tokens: m.tokens, row: m.row, choose: (row) => choose?.(row)})}
    <div>${beside}</div></div>
    ${widget.sentence({hidden: true})}`;

const lookList = (m, {asks, badge}) => html`
  <p class="asks">${asks} <span class="source">${badge}</span></p>${shareList(m.look, {format, label: asks})}`;

export const tourHeads = looks("The heads side by side", {
  fields: ({sentences: [{tokens, trained}], on, head}) => ({
    row: integer(on, {max: tokens.length - 1}),
    head: integer(head, {max: trained.length - 1}),
    untrained: flag(false),
  }),
  controls: () => [[wordMenu, toggle("untrained", "Before training")]],
  model: looking,
  view: (m, widget) =>
    sideBySide(m, widget, {
      below: (i) => withShare(m.most[i]),
      beside: lookList(m, {asks: asks(m), badge: m.source}),
      choose: (row) => widget.set({row}),
    }),
});

const FILLS = "The model fills in";

export function fillSentence({tokens, names, head, off, row, look, isChanged, guesses}) {
  const changed = names.filter((_, i) => isChanged[i] && i !== head);
  const words = tokens.map((token, i) => (i === row ? "gap" : token)).join(" ");
  return (
    `${words}. ${capitalize(names[head])}, ${off ? "off" : "on"}: ${FILLS.toLowerCase()} ${guesses.map(withShare).join(", ")}. ` +
    (off
      ? `${changed.length ? `Changed: ${changed.join("; ")}.` : "No other map changes."}`
      : `The gap looks at ${look.map(withShare).join(", ")}.`)
  );
}

export const tourPatterns = looks("What the model fills in without a head", {
  key: "gap",
  fields: ({names, head}) => ({
    plural: flag(false), // "the lions"
    head: integer(head, {max: names.length - 1}),
    off: flag(false),
  }),
  controls: ({data: {sentences, names}, state: {head}}) => [
    [
      choice(
        "plural",
        "Sentence",
        sentences.map(({tokens}) => tokens.join(" ")),
      ),
    ],
    [choice("off", capitalize(names[head]), ["on", "off"], {isShown: true})],
  ],
  model: filling,
  sentence: fillSentence,
  view: (m, widget) => html`<div class="fills"><p class="asks">${FILLS}</p>
    ${shareList(m.guesses, {format, label: FILLS})}</div>
    ${sideBySide(m, widget, {
      below: (i) =>
        m.off && i === m.head
          ? "off"
          : html`${withShare(m.most[i])}${m.isChanged[i] ? html` <b class="changed">changed</b>` : nothing}`,
      beside: lookList(m, {asks: asks(m), badge: m.off ? "off" : m.source}),
    })}`,
});

// ---- Three words: model ----------------------------------------------------------------------
// worked: [{tokens, query, key, value}], of the cat and of the mat. Each figure is
// {tokens, pairs, says}: matrices two by two, and text in pieces.

const stepsOf = (worked, {mat = false, ...options}) => ({
  ...worked[Number(mat)],
  ...attentionSteps(worked[Number(mat)], options),
});
const inParentheses = (row) => `(${row.map(format).join(", ")})`;
const times = (a, b) => a.map((x, i) => `${format(x)}·${format(b[i])}`).join(" + ");

const PLACES = ["doer", "partner"]; // what the numbers of a query and of a key are about

/** Step 3: the score of one pair, from a query and a key. */
export function scoring(worked, {word, key, mat}) {
  const m = stepsOf(worked, {mat});
  const [score, scaled] = [m.scores, m.scaled].map((rows) => format(rows[word][key]));
  return {
    tokens: m.tokens,
    pairs: [
      [
        {name: "query", caption: "queries Q", cells: m.query, columns: PLACES},
        {name: "key", caption: "keys K", cells: m.key, columns: PLACES, by: "key"},
      ],
      ["scores", "scaled"].map((name) => ({name, cells: m[name], columns: m.tokens})),
    ],
    says: [
      `${m.tokens[word]} asks ${m.tokens[key]}:  ${times(m.query[word], m.key[key])} = ${score},  ` +
        `÷ √${m.size} ≈ ${scaled}`,
    ],
  };
}

/** Step 4: weights of one row, and the mix of values that they make. */
export function sharing(worked, {word, key, mat}) {
  const m = stepsOf(worked, {mat});
  const powers = m.scaled[word].map((x) => `e^${format(x)}`);
  const parts = m.scaled[word].map(Math.exp);
  const total = parts.reduce((a, b) => a + b, 0);
  const share = `${powers[key]} ÷ (${powers.join(" + ")}) ≈ ${format(parts[key])} ÷ ${format(total)} ≈ ${format(m.weights[word][key])}`;
  const mix = m.value
    .map((row, j) => `${m.weights[word][j].toFixed(3)}·${inParentheses(row)}`)
    .join(" + "); // so that it comes out by hand
  return {
    tokens: m.tokens,
    pairs: [
      [
        {name: "scaled", cells: m.scaled, columns: m.tokens},
        {name: "weights", cells: m.weights, columns: m.tokens, isFilled: true},
      ],
      [
        {name: "value", caption: "values V", cells: m.value, columns: ["1", "2"], by: "key"},
        {name: "output", cells: m.output, columns: ["1", "2"]},
      ],
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
    tokens: m.tokens,
    pairs: [
      [
        {name: "masked", cells: m.scaled, ...masked, text: withInfinity(m)},
        {name: "weights", cells: m.weights, ...masked, isFilled: true},
      ],
    ],
    says: [`${m.tokens[word]} spreads its weight over: ${seen.join(", ")}.`],
  };
}

// ---- Three words: sentence, view ---------------------------------------------------------------

const pieces = ({says}) => says.map((text) => html`<span>${text}</span>`);

/** One matrix; a cell of a square one chooses a pair, of another a word that asks, or, `by` its key, is asked. */
function grid({isFilled, by = "word", caption, ...matrix}, {tokens}, {state, set}) {
  const {cells, columns, name} = matrix;
  const isSquare = columns === tokens;
  return matrixTable({
    ...matrix,
    title: name,
    caption: caption ?? name,
    shape: `${cells.length} × ${cells[0].length}`,
    rows: tokens,
    fill: isFilled && ((i, j) => cells[i][j]),
    lit: (i) => i === state[by],
    chosen: (i, j) => isSquare && i === state.word && j === state.key,
    choose: (i, j) => set(isSquare ? {word: i, key: j} : {[by]: i}),
  });
}

const threeWords = (label, rest) =>
  defineWidget({
    name: "tour-figure",
    label,
    key: "see",
    sentence: pieces,
    view: (m, widget) =>
      html`<div class="stage">${m.pairs.map(
        (pair) => html`<div class="pair">${pair.map((one) => grid(one, m, widget))}</div>`,
      )}</div>${widget.sentence()}`,
    ...rest,
  });

/** Which noun sat. */
const noun = ({data}) =>
  choice(
    "mat",
    "The … sat",
    data.map(({tokens}) => tokens[1]),
    {isShown: true},
  );

export const tourScores = threeWords("Queries, keys and scores", {
  fields: () => ({
    word: integer(2, {max: 2}), // who asks
    key: integer(1, {max: 2}), // who is asked
    mat: flag(false),
  }),
  controls: (widget) => [[noun(widget)]],
  model: scoring,
});
export const tourSoftmax = threeWords("Weights, values and output", {
  controls: (widget) => [[noun(widget)]],
  model: sharing,
});
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
