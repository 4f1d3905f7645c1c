// A mask made of rules and of single cells painted by hand, and the weights that it leaves.

import {liveElement} from "./lib/live.js";
import {format} from "./lib/numbers.js";
import {setText} from "./lib/dom.js";
import {drawMatrix} from "./lib/matrix-grid.js";
import {flag, integer} from "./lib/url-state.js";

// ---- Model ---------------------------------------------------------------------------------

/** What a reader can choose, with where it starts: for urlState. `window` = size hides nothing. */
export const maskFields = (size, {row = 0} = {}) => ({
  causal: flag(true),
  window: integer(size, {min: 1, max: size}),
  prefix: integer(0, {min: 0, max: size - 1}),
  padding: integer(0, {min: 0, max: size - 1}),
  painted: cells([], {size}),
  row: integer(row, {min: 0, max: size - 1})
});

/** Painted cells [{row, col, isOn}], written "0.3.1_4.2.0". */
const cells = (value, {size}) => ({
  value,
  parse(text) {
    const found = text.split("_").map((cell) => /^(\d)\.(\d)\.([01])$/.exec(cell));
    const fits = found.every((parts) => parts && parts[1] < size && parts[2] < size);
    return fits ? found.map(([, row, col, on]) => ({row: +row, col: +col, isOn: on === "1"})) : undefined;
  },
  format: (all) => all.map(({row, col, isOn}) => `${row}.${col}.${+isOn}`).join("_")
});

/** Whether the rules alone let query `row` see key `col`. */
function rules({causal, window, prefix, padding}, size) {
  return (row, col) =>
    (((!causal || col <= row) && Math.abs(row - col) < window) || col < prefix) && col < size - padding;
}

/** Rows of booleans: true = may attend. */
export function buildMask(state, size) {
  const isVisible = rules(state, size);
  const mask = Array.from({length: size}, (_, row) => Array.from({length: size}, (_, col) => isVisible(row, col)));
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
  const list = (name, isOn) => painted.filter((cell) => cell.isOn === isOn).map((cell) => cell[name]).join(", ");
  const painting = (isOn) => list("row", isOn) && `mask[[${list("row", isOn)}], [${list("col", isOn)}]] = ${isOn ? "True" : "False"}`;
  return [
    causal ? `mask = create_causal_mask(${size})` : `mask = torch.ones(${size}, ${size}, dtype=torch.bool)`,
    window < size && `mask &= create_window_mask(${size}, window=${window})`,
    prefix > 0 && `mask |= torch.arange(${size}) < ${prefix}`,
    padding > 0 && `mask &= create_padding_mask([${size - padding}], ${size})[0, 0]`,
    painting(true),
    painting(false)
  ].filter(Boolean);
}

/** The words as the mask sees them: the last ones are only padding. */
export const shownTokens = (tokens, {padding}) =>
  tokens.map((token, i) => (i < tokens.length - padding ? token : "pad"));

// ---- Summary -------------------------------------------------------------------------------

export function summarize(model, mask, {tokens, row}) {
  const seen = tokens.flatMap((token, j) => (mask[row][j] ? [`${token} ${format(model.weights[row][j])}`] : []));
  const mix = `Its output is (${model.output[row].map(format).join(", ")}).`;
  if (!seen.length) return `${tokens[row]} may look at nothing: all its weights are 0. ${mix}`;
  return `${tokens[row]} may look at ${seen.length} of ${tokens.length}: ${seen.join(", ")}. ${mix}`;
}

// ---- View ----------------------------------------------------------------------------------

/**
 * A drawing in one element of its own: draw(model, options) updates it and returns it.
 * model: of selfAttention; options: {mask, code, tokens, row, onPaint({row, col, isOn}), onRow(row)}
 */
export function maskBuilderView(d3) {
  const root = d3.select(emptyView());
  return (model, options) => {
    draw(d3, root, model, options);
    return root.node();
  };
}

function draw(d3, root, model, {mask, code, tokens, row, onPaint, onRow}) {
  const size = tokens.length;
  const shared = {shape: `${size} × ${size}`, rows: tokens, columns: tokens, hidden: (i, j) => !mask[i][j]};
  drawMatrix(root.select("table.mask"), {
    ...shared, name: "mask", title: "mask", caption: "mask", cells: mask, toggles: true
  }, {paint: (i, j, isOn) => onPaint({row: i, col: j, isOn})});
  drawMatrix(root.select("table.weights"), {
    ...shared, name: "weights", title: "weights", caption: "weights", cells: model.weights,
    fill: (i, j) => model.weights[i][j], lit: (i) => i === row, chosen: (i, j) => i === row && j === root.node().column
  }, {choose(i, j) {
    root.node().column = j;
    onRow(i);
  }});
  setText(root.select(".says"), () => summarize(model, mask, {tokens, row}));
  setText(root.select("code"), () => code.join("\n"));
}

function emptyView() {
  return liveElement("mask-builder", `<div class="stage"><table class="matrix mask"></table><table class="matrix weights"></table></div>
    <p class="says" aria-live="polite"></p>
    <pre class="made"><code></code></pre>`, {label: "Mask builder"});
}
