// A mask made of rules and of single cells painted by hand, and the weights that it leaves.

import {html} from "../assets/vendor/lit.js";
import {selfAttention} from "./lib/attention.js";
import {choice, reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/** Painted cells [{row, col, isOn}], written "0.3.1_4.2.0". */
const cells = (size) => ({
  value: [],
  parse(text) {
    const found = text.split("_").map((cell) => /^(\d)\.(\d)\.([01])$/.exec(cell));
    const fits = found.every((parts) => parts && parts[1] < size && parts[2] < size);
    return fits
      ? found.map(([, row, col, on]) => ({row: +row, col: +col, isOn: on === "1"}))
      : undefined;
  },
  format: (all) => all.map(({row, col, isOn}) => `${row}.${col}.${+isOn}`).join("_"),
});

/** Whether the rules alone let query `row` see key `col`. */
function rules({causal, window, prefix, padding}, size) {
  return (row, col) =>
    (((!causal || col <= row) && Math.abs(row - col) < window) || col < prefix) &&
    col < size - padding;
}

/** Rows of booleans: true = may attend. */
export function buildMask(state, size) {
  const isVisible = rules(state, size);
  const mask = Array.from({length: size}, (_, row) =>
    Array.from({length: size}, (_, col) => isVisible(row, col)),
  );
  for (const {row, col, isOn} of state.painted) mask[row][col] = isOn;
  return mask;
}

/** The painted cells after one more: it replaces what was painted there, and goes where a rule says the same. */
export function paint(state, {row, col, isOn}, size) {
  const others = state.painted.filter((cell) => cell.row !== row || cell.col !== col);
  return rules(state, size)(row, col) === isOn ? others : [...others, {row, col, isOn}];
}

/** The lines of Python that make this mask. */
export function maskCode({causal, window, prefix, padding, painted}, size) {
  const list = (name, isOn) =>
    painted
      .filter((cell) => cell.isOn === isOn)
      .map((cell) => cell[name])
      .join(", ");
  const painting = (isOn) =>
    list("row", isOn) &&
    `mask[[${list("row", isOn)}], [${list("col", isOn)}]] = ${isOn ? "True" : "False"}`;
  return [
    causal
      ? `mask = create_causal_mask(${size})`
      : `mask = torch.ones(${size}, ${size}, dtype=torch.bool)`,
    window < size && `mask &= create_window_mask(${size}, window=${window})`,
    prefix > 0 && `mask |= torch.arange(${size}) < ${prefix}`,
    padding > 0 && `mask &= create_padding_mask([${size - padding}], ${size})[0, 0]`,
    painting(true),
    painting(false),
  ].filter(Boolean);
}

/** The mask, the words as it sees them (the last ones are only padding), and what it leaves. */
export function masked(sentence, state) {
  const size = sentence.tokens.length;
  const mask = buildMask(state, size);
  return {
    mask,
    row: state.row,
    code: maskCode(state, size),
    tokens: sentence.tokens.map((token, i) => (i < size - state.padding ? token : "pad")),
    ...selfAttention(sentence.x, sentence, {hidden: (i, j) => !mask[i][j]}),
  };
}

const seenBy = ({mask, tokens}, row) => tokens.filter((_, col) => mask[row][col]);

// ---- Sentence, view ------------------------------------------------------------------------

function sentence({mask, weights, tokens, row}) {
  const seen = tokens.flatMap((token, j) =>
    mask[row][j] ? [`${token} ${format(weights[row][j])}`] : [],
  );
  const allowed = mask.flat().filter(Boolean).length;
  const looks = seen.length
    ? `${seen.length} of ${tokens.length}: ${seen.join(", ")}`
    : "nothing: all its weights are 0";
  return html`<span class="screen-reader-only">The mask allows ${allowed} of
    ${tokens.length ** 2} pairs. </span>${tokens[row]} may look at ${looks}.`;
}

function view(m, widget) {
  const size = m.tokens.length;
  const shared = {
    shape: `${size} × ${size}`,
    rows: m.tokens,
    columns: m.tokens,
    hidden: (i, j) => !m.mask[i][j],
  };
  const grid = (name, rest) => matrixTable({name, title: name, caption: name, ...shared, ...rest});
  return html`<div class="stage">
    ${grid("mask", {cells: m.mask, paint: (row, col, isOn) => widget.set({painted: paint(widget.state, {row, col, isOn}, size)})})}
    ${grid("weights", {
      cells: m.weights,
      fill: (i, j) => m.weights[i][j],
      lit: (i) => i === m.row,
      chosen: (i, j) => i === m.row && j === widget.column,
      choose(row, col) {
        widget.column = col;
        widget.set({row});
      },
    })}</div>
    ${widget.sentence()}<pre class="made"><code>${m.code.join("\n")}</code></pre>`;
}

const TOKENS = unitsOf("token");

export const maskBuilder = defineWidget({
  name: "mask-builder",
  label: "Mask builder",
  key: "mask",
  fields: ({tokens: {length}, row = 0}) => ({
    causal: flag(true),
    window: integer(length, {min: 1, max: length}), // a window of all hides nothing
    prefix: integer(0, {max: length - 1}),
    padding: integer(0, {max: length - 1}),
    painted: cells(length),
    row: integer(row, {max: length - 1}),
  }),
  controls: () => [
    [choice("causal", "Direction", ["both ways", "causal"]), reset],
    [
      slider("window", "Window", {unit: TOKENS}),
      slider("prefix", "Prefix", {unit: TOKENS}),
      slider("padding", "Padding", {unit: TOKENS}),
    ],
  ],
  model: masked,
  sentence,
  view,
  challenges: {
    "hide-one": ({mask}) => mask[5].every((isOn, col) => isOn === (col !== 2)),
    "two-words": (m) => seenBy(m, 5).length === 2,
    "prefix-padding": ({mask}) => mask[0][1] && mask.every((row) => !row[5]),
  },
});
