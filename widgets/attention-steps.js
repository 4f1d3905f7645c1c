// Scaled dot-product attention step by step, over real matrices that the reader can change.

import {liveElement, whenIdle} from "./lib/live.js";
import {format, formatEntry, formatFine} from "./lib/numbers.js";
import {setAttr, setClass, setText} from "./lib/dom.js";
import {drawMatrix} from "./lib/matrix-grid.js";
import {cell, flag, integer, matrix} from "./lib/url-state.js";

// ---- Model: numbers in, objects out --------------------------------------------------------

const COMPUTED = ["scores", "scaled", "weights", "output"];

export const STEPS = [
  {tick: "Overview", shows: ["query", "key", "value", ...COMPUTED], result: "output",
    says: "Four steps, from queries and keys to the output."},
  {tick: "QKᵀ", shows: ["query", "key turned", "scores"], result: "scores",
    says: "Step 1. Each query meets each key in a dot product."},
  {tick: "÷ √dₖ", shows: ["scores", "scaled"], result: "scaled",
    says: "Step 2. Every score is divided by the root of the key size."},
  {tick: "softmax", shows: ["scaled", "weights"], result: "weights",
    says: "Step 3. Each row becomes weights that sum to 1."},
  {tick: "× V", shows: ["value", "weights", "output"], result: "output",
    says: "Step 4. The weights mix the values: one row a token."}
];

/** What a reader can choose, with where it starts: for urlState. */
export const stepFields = ({query, key, value}) => ({
  step: integer(0, {min: 0, max: STEPS.length - 1}),
  causal: flag(false),
  cell: cell({step: 0, matrix: "output", row: 2, col: 1}, {matrices: COMPUTED, size: query.length}),
  query: matrix(query), key: matrix(key), value: matrix(value)
});

/** The cell whose arithmetic is shown: the one chosen in this step, or its like in the result. */
export function shownCell({step, cell: chosen, columns = 2}) {
  const {shows, result} = STEPS[step];
  const name = chosen.step === step && shows.includes(chosen.matrix) ? chosen.matrix : result;
  return {matrix: name, row: chosen.row, col: name === "output" ? Math.min(chosen.col, columns - 1) : chosen.col};
}

/** The arithmetic of one cell: pieces of text with the role that colours them, and what it read. */
export function explain(model, {matrix: name, row, col}, tokens) {
  const {query, key, value, scores, scaled, weights, output, size} = model;
  const [from, to] = [tokens[row], tokens[col]];
  const number = (text, role) => ({text, role});
  const sum = (terms) => terms.flatMap((term, i) => (i ? [" + ", ...term] : term));
  if (model.hidden(row, col) && name !== "output") {
    const why = ` may not look at ${to}, which comes later. `;
    return {lit: [], parts: [`Hidden: ${from}`, why,
      name === "weights" ? "Its weight is exactly 0." : `The score is ${formatFine(model[name][row][col])}, and softmax skips it.`]};
  }
  if (name === "scores") {
    return {lit: [["query", row, null], ["key", col, null]],
      parts: [`score(${from}, ${to}) = `,
        ...sum(query[row].map((q, d) => [number(formatEntry(q), "q"), " × ", number(formatEntry(key[col][d]), "k")])),
        ` = ${formatFine(scores[row][col])}`]};
  }
  if (name === "scaled") {
    return {lit: [["scores", row, col]],
      parts: [`scaled(${from}, ${to}) = ${formatFine(scores[row][col])} ÷ √${size} ≈ ${formatFine(scaled[row][col])}`]};
  }
  if (name === "weights") {
    const seen = tokens.map((_, j) => j).filter((j) => !model.hidden(row, j));
    return {lit: [["scaled", row, null]],
      parts: [`weight(${from}, ${to}) = exp(${formatFine(scaled[row][col])}) ÷ (`,
        seen.map((j) => `exp(${formatFine(scaled[row][j])})`).join(" + "), `) ≈ ${formatFine(weights[row][col])}`]};
  }
  return {lit: [["weights", row, null], ["value", null, col]],
    parts: [`output(${from}), number ${col + 1} = `,
      ...sum(weights[row].map((w, j) => [number(formatFine(w), "w"), " × ", number(bracketed(value[j][col]), "v")])),
      ` ≈ ${formatFine(output[row][col])}`]};
}

const bracketed = (x) => (x < 0 ? `(${formatEntry(x)})` : formatEntry(x));

// ---- Summary: the same as a sentence --------------------------------------------------------

export function summarize(model, {tokens, step, cell: chosen, causal}) {
  const {row} = shownCell({step, cell: chosen});
  const looks = tokens.map((token, j) => `${token} ${format(model.weights[row][j])}`).join(", ");
  return `${STEPS[step].says} ${causal ? "Causal: no token sees a later one. " : ""}`
    + `${tokens[row]} looks at: ${looks}. Its output is (${model.output[row].map(format).join(", ")}).`;
}

// ---- View: one element, updated in place; the caller keeps the state ------------------------

// The term of each step carries its number, so that the active one can be marked.
const FORMULA = `<math display="block"><mi class="term" data-step="3">softmax</mi><mo>(</mo><mfrac>
  <mrow class="term" data-step="1"><mi class="q">Q</mi><msup><mi class="k">K</mi><mo>⊤</mo></msup></mrow>
  <msqrt class="term" data-step="2"><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>)</mo>
  <mi class="v term" data-step="4">V</mi></math>`;

const dims = (letter, n) => Array.from({length: n}, (_, i) => letter + "₁₂₃₄₅₆₇₈₉"[i]);
const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));

function layout(table, model, tokens) {
  const n = tokens.length;
  const inputs = {query: "Q", key: "K", value: "V"};
  const [name, turned] = table.split(" ");
  if (name in inputs) {
    const [title, flat] = [inputs[name], dims(inputs[name].toLowerCase(), model[name][0].length)];
    return {
      name, title, turned, editable: true, shape: turned ? `${flat.length} × ${n}` : `${n} × ${flat.length}`,
      caption: turned ? "Kᵀ" : title, rows: turned ? flat : tokens, columns: turned ? tokens : flat,
      cells: turned ? transpose(model[name]) : model[name]
    };
  }
  const captions = {scores: "QKᵀ", scaled: `÷ √${model.size}`, weights: "weights", output: "output"};
  const square = name !== "output";
  return {
    name, title: name, caption: captions[name], shape: `${n} × ${square ? n : model.output[0].length}`,
    rows: tokens, columns: square ? tokens : dims("o", model.output[0].length), cells: model[name],
    fill: name === "weights" ? (row, col) => model.weights[row][col] : null,
    hidden: square ? model.hidden : null
  };
}

/** Which cells of a matrix the arithmetic read; null in `read` stands for a whole row or column. */
function isLit(read, {name, turned}) {
  const mine = read.filter(([matrixName]) => matrixName === name);
  return (i, j) => mine.some(([, row, col]) => {
    const [r, c] = turned ? [j, i] : [i, j];
    return (row === null || row === r) && (col === null || col === c);
  });
}

/**
 * A drawing in one element of its own: draw(model, options) updates it and returns it.
 * options: {tokens, step, causal, cell, onEdit(name, rows), onChoose({step, matrix, row, col})}
 */
export function attentionStepsView(d3) {
  const root = d3.select(emptyView());
  // One stage a step. Those not shown keep their layout, so a step costs a slow phone little.
  root.select(".stages").selectAll(".stage").data(STEPS).join("div").attr("class", "stage")
    .attr("data-step", (_, step) => step)
    .selectAll("table").data((step) => step.shows).join("table").attr("class", (name) => `matrix ${name}`);
  let prepared = false;
  return (model, options) => {
    draw(d3, root, model, options);
    if (!prepared) prepareOtherSteps(d3, root, model, options);
    prepared = true;
    return root.node();
  };
}

/** Drawn and laid out while nobody waits, the first visit to a step is as quick as the next. */
function prepareOtherSteps(d3, root, model, options) {
  root.selectAll(".stage").each(function (_, step) {
    whenIdle(() => {
      if (this.classList.contains("shown")) return;
      drawStage(d3, root, model, {...options, step});
      this.firstChild.getBoundingClientRect();
    });
  });
}

function draw(d3, root, model, options) {
  const {tokens, step, causal, cell: chosen} = options;
  root.selectAll(".term").each(function () { this.classList.toggle("active", +this.dataset.step === step); });
  setClass(root.selectAll(".stage"), "shown", (_, i) => i === step);
  setText(root.select(".says"), () => STEPS[step].says);
  const parts = drawStage(d3, root, model, options);

  // Pieces that this step has no use for stay, empty: to write is quicker than to take out and add.
  const spare = root.selectAll(".arithmetic span").size() - parts.length;
  const pieces = root.select(".arithmetic").selectAll("span")
    .data([...parts, ...Array(Math.max(0, spare)).fill("")].map((p) => p.role ? p : {text: p})).join("span");
  setAttr(pieces, "class", (p) => p.role ?? null);
  setText(pieces, (p) => p.text);
  setText(root.select(".summary"), () => summarize(model, {tokens, step, cell: chosen, causal}));
  root.select(".rounding").classed("needed", STEPS[step].shows.includes("weights") && looksOff(model.weights));
}

/** The matrices of one step. Returns the words of the chosen cell's arithmetic. */
function drawStage(d3, root, model, {tokens, step, cell: chosen, onEdit, onChoose}) {
  const shown = shownCell({step, cell: chosen, columns: model.output[0].length});
  const {parts, lit} = explain(model, shown, tokens);
  root.selectAll(".stage").filter((_, i) => i === step).selectAll("table").each(function (name) {
    const grid = layout(name, model, tokens);
    const isShown = (row, col) => shown.matrix === grid.name && shown.row === row && shown.col === col;
    drawMatrix(d3.select(this), {...grid, lit: isLit(lit, grid), chosen: isShown}, {
      hint: (text) => root.select(".hint").text(text),
      choose: (row, col) => onChoose({step, matrix: grid.name, row, col}),
      edit: (i, j, value) => onEdit(grid.name, replaced(model[grid.name], grid.turned ? [j, i] : [i, j], value))
    });
  });
  return parts;
}

function emptyView() {
  return liveElement("attention-steps", `<div class="formula">${FORMULA}</div><p class="says"></p><div class="stages"></div>
    <p class="arithmetic" aria-live="polite"></p>
    <div class="notes"><p class="hint" role="status"></p>
    <p class="rounding">Rounded as shown, a row may not seem to sum to 1. It does.</p></div>
    <p class="summary screen-reader-only"></p>`, {label: "Attention step by step"});
}

const replaced = (rows, [i, j], value) => rows.map((row, r) => row.map((x, c) => (r === i && c === j ? value : x)));

const looksOff = (weights) =>
  weights.some((row) => row.reduce((sum, w) => sum + Math.round(w * 100), 0) !== 100);
