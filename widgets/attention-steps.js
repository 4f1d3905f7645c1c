// Scaled dot-product attention step by step, over real matrices that the reader can change.

import {html, nothing, render, svg} from "../assets/vendor/lit.js";
import {attentionSteps, randomMatrices} from "./lib/attention.js";
import {button, reset, steps, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, matrix} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format, formatEntry, formatExact, formatFine} from "./lib/numbers.js";
import {backToText, followSetUps} from "./lib/set-up-links.js";
import {whenIdle} from "./lib/stage-height.js";

// ---- Model ---------------------------------------------------------------------------------

const COMPUTED = ["scores", "scaled", "weights", "output"];
const INPUTS = {query: "Q", key: "K", value: "V"};
const [WIDTH, HEIGHT, MARGIN] = [200, 150, 26]; // of the plane
const [BESIDE, BELOW, ABOVE] = [24, 34, 10]; // room for the numbers of its axes and their names

export const STEPS = [
  {
    tick: "Overview",
    shows: ["query", "key", "value", ...COMPUTED],
    result: "output",
    says: "Four steps, from queries and keys to the output.",
  },
  {
    tick: "QKᵀ",
    shows: ["query", "key turned", "scores"],
    result: "scores",
    says: "Step 1. Each query meets each key in a dot product.",
  },
  {
    tick: "÷ √dₖ",
    shows: ["scores", "scaled"],
    result: "scaled",
    says: "Step 2. Every score is divided by √dₖ.",
  },
  {
    tick: "softmax",
    shows: ["scaled", "weights"],
    result: "weights",
    says: "Step 3. Each row becomes weights that sum to 1.",
  },
  {
    tick: "× V",
    shows: ["value", "weights", "output"],
    result: "output",
    says: "Step 4. The weights mix the values: one row a token.",
  },
];

/** A computed cell, and the step it was chosen in, written "3.weights.2.1". */
const cell = (value, size) => ({
  value,
  parse(text) {
    const [, step, name, row, col] = /^(\d)\.(\w+)\.(\d)\.(\d)$/.exec(text) ?? [];
    if (!COMPUTED.includes(name) || row >= size || col >= size) return undefined;
    return {step: +step, matrix: name, row: +row, col: +col};
  },
  format: ({step, matrix: name, row, col}) => `${step}.${name}.${row}.${col}`,
});

/** The cell whose arithmetic is shown: the one chosen in this step, or its like in the result. */
export function shownCell({step, cell: chosen, value: [{length: columns}]}) {
  const {shows, result} = STEPS[step];
  const name = chosen.step === step && shows.includes(chosen.matrix) ? chosen.matrix : result;
  return {
    matrix: name,
    row: chosen.row,
    col: name === "output" ? Math.min(chosen.col, columns - 1) : chosen.col,
  };
}

/**
 * Attention with its arithmetic for one cell: `parts` of text, and `read`, the cells that it takes.
 * `changed`: the names of the matrices that are no longer the lesson's own; `moved`: for each matrix
 * that is computed, which of its numbers aren't those that the lesson's own give.
 */
export function steppedAttention({tokens, axes, ...own}, state) {
  const source = state.drawn ? "random" : "constructed";
  const changed = Object.keys(INPUTS).filter((name) => String(state[name]) !== String(own[name]));
  const now = attentionSteps(state, state);
  const first = state.drawn ? now : attentionSteps(own, state);
  const m = {
    ...now,
    moved: Object.fromEntries(COMPUTED.map((name) => [name, differing(now[name], first[name])])),
    tokens,
    axes: state.drawn ? undefined : axes,
    source,
    changed,
    step: state.step,
    causal: state.causal,
    shown: shownCell(state),
  };
  return {...m, ...explain(m)};
}

const differing = (rows, others) => rows.map((row, i) => row.map((x, j) => x !== others[i][j]));

/**
 * Where the plane of WIDTH × HEIGHT has a value of two numbers, first to the right, second up: all
 * values and the origin fit in, and a unit is as long in both directions.
 */
export function planeScale(values, [width, height] = [WIDTH, HEIGHT]) {
  const ends = [0, 1]
    .map((d) => values.map((value) => value[d]))
    .map((xs) => [Math.min(0, ...xs), Math.max(0, ...xs)]);
  const [across, up] = ends.map(([low, high]) => high - low || 1);
  const unit = Math.min((width - 2 * MARGIN) / across, (height - 2 * MARGIN) / up);
  const [[left, right], [bottom, top]] = ends;
  return {
    x: (value) => width / 2 + (value - (left + right) / 2) * unit,
    y: (value) => height / 2 - (value - (bottom + top) / 2) * unit,
  };
}

/** The numbers that an axis shows: round ones, far enough apart to be read. `place`: x or y of the plane. */
export function ticks(place, length) {
  const unit = Math.abs(place(1) - place(0));
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10].find((s) => s * unit >= 22) ?? 10;
  const inside = (value) => place(value) >= 4 && place(value) <= length - 4;
  const most = Math.ceil(10 / step);
  return Array.from(
    {length: 2 * most + 1},
    (_, i) => Math.round((i - most) * step * 10) / 10,
  ).filter(inside);
}

/** parts: texts, or {text, role} where a role colours it; read: [matrix, row, column], null for all of them. */
function explain(m) {
  const {matrix: name, row, col} = m.shown;
  if (name === "output" || !m.hidden(row, col)) return ARITHMETIC[name](m, row, col);
  const why =
    name === "weights"
      ? "Its weight is exactly 0."
      : `The score is ${formatFine(m[name][row][col])}, and softmax skips it.`;
  return {
    read: [],
    parts: [`Hidden: ${m.tokens[row]} may not look at ${m.tokens[col]}, which comes later. ${why}`],
  };
}

const ARITHMETIC = {
  scores: ({tokens, query, key, scores}, row, col) => ({
    read: [
      ["query", row, null],
      ["key", col, null],
    ],
    parts: [
      `score(${tokens[row]}, ${tokens[col]}) = `,
      ...sumOfProducts(
        query[row].map((q, d) => [asQuery(formatEntry(q)), asKey(formatEntry(key[col][d]))]),
      ),
      ` = ${formatExact(scores[row][col])}`,
    ],
  }),
  scaled: ({tokens, scores, scaled, size}, row, col) => ({
    read: [["scores", row, col]],
    parts: [
      `scaled(${tokens[row]}, ${tokens[col]}) = `,
      `${formatExact(scores[row][col])} ÷ √${size} ≈ ${formatFine(scaled[row][col])}`,
    ],
  }),
  weights({tokens, scaled, weights, hidden}, row, col) {
    const exp = (j) => `exp(${formatFine(scaled[row][j])})`;
    const seen = tokens.flatMap((_, j) => (hidden(row, j) ? [] : [exp(j)]));
    return {
      read: [["scaled", row, null]],
      parts: [
        `weight(${tokens[row]}, ${tokens[col]}) = `,
        `${exp(col)} ÷ (${seen.join(" + ")}) ≈ ${formatFine(weights[row][col])}`,
      ],
    };
  },
  output: ({tokens, weights, value, output}, row, col) => ({
    read: [
      ["weights", row, null],
      ["value", null, col],
    ],
    parts: [
      `output(${tokens[row]}), number ${col + 1} = `,
      ...sumOfProducts(
        weights[row].map((w, j) => [asWeight(formatFine(w)), asValue(bracketed(value[j][col]))]),
      ),
      ` ≈ ${formatFine(output[row][col])}`,
    ],
  }),
};

const [asQuery, asKey, asValue, asWeight] = ["q", "k", "v", "w"].map((role) => (text) => ({
  text,
  role,
}));
const sumOfProducts = (pairs) => pairs.flatMap(([a, b], i) => [i ? " + " : "", a, " × ", b]);
const bracketed = (x) => (x < 0 ? `(${formatEntry(x)})` : formatEntry(x));

/** Whether the weights, rounded as they are shown, seem not to sum to 1. */
const looksOff = (weights) =>
  weights.some((row) => row.reduce((sum, w) => sum + Math.round(w * 100), 0) !== 100);

// ---- Sentence, view ------------------------------------------------------------------------

export function sentence({tokens, step, causal, shown: {row}, parts, weights, output, moved}) {
  const looks = tokens.map((token, j) => `${token} ${format(weights[row][j])}`).join(", ");
  return (
    `${STEPS[step].says} ${causal ? "Causal: no token sees a later one. " : ""}` +
    `${tokens[row]} looks at: ${looks}. Its output is (${output[row].map(format).join(", ")}). ${textOf(parts)}` +
    (moved.output.flat().includes(true)
      ? ` Not as at the start: ${count(moved.weights)} weights, ${count(moved.output)} numbers of the output.`
      : "")
  );
}

const count = (rows) => `${rows.flat().filter(Boolean).length} of ${rows.flat().length}`;

const textOf = (parts) => parts.map((part) => part.text ?? part).join("");

/** The formula, in which the term of this step is marked. */
function formula(step) {
  const term = (number, role = "") => `${role} term ${number === step ? "active" : ""}`;
  return html`<math display="block"><mi class=${term(3)}>softmax</mi><mo>(</mo><mfrac>
    <mrow class=${term(1)}><mi class="q">Q</mi><msup><mi class="k">K</mi><mo>⊤</mo></msup></mrow>
    <msqrt class=${term(2)}><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>)</mo>
    <mi class=${term(4, "v")}>V</mi></math>`;
}

const dims = (letter, row) => row.map((_, i) => letter + "₁₂₃₄₅₆₇₈₉"[i]);
const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
const replaced = (rows, [i, j], value) =>
  rows.map((row, r) => row.map((x, c) => (r === i && c === j ? value : x)));

/** A matrix to edit, upright or turned: "key turned". */
function inputGrid(name, turned, m, widget) {
  const [title, rows] = [INPUTS[name], m[name]];
  const flat = dims(title.toLowerCase(), rows[0]);
  const place = (i, j) => (turned ? [j, i] : [i, j]);
  return matrixTable({
    name,
    title,
    widget,
    range: widget.fields[name],
    caption: turned ? `${title}ᵀ` : title,
    shape: place(rows.length, flat.length).join(" × "),
    rows: turned ? flat : m.tokens,
    columns: turned ? m.tokens : flat,
    cells: turned ? transpose(rows) : rows,
    lit: (i, j) => isRead(m, name, ...place(i, j)),
    edit: (i, j, value) => widget.set({[name]: replaced(rows, place(i, j), value)}),
  });
}

function computedGrid(name, m, widget) {
  const isSquare = name !== "output";
  const captions = {scores: "QKᵀ", scaled: `÷ √${m.size}`};
  return matrixTable({
    name,
    title: name,
    caption: captions[name] ?? name,
    shape: `${m[name].length} × ${m[name][0].length}`,
    rows: m.tokens,
    columns: isSquare ? m.tokens : dims("o", m.output[0]),
    cells: m[name],
    fill: name === "weights" ? (i, j) => m.weights[i][j] : null,
    hidden: isSquare ? m.hidden : null,
    moved: (i, j) => m.moved[name][i][j],
    lit: (i, j) => isRead(m, name, i, j),
    chosen: (i, j) => m.shown.matrix === name && m.shown.row === i && m.shown.col === j,
    choose: (row, col) => widget.set({cell: {step: m.step, matrix: name, row, col}}),
  });
}

/** Whether the arithmetic that is shown takes this cell. */
const isRead = ({read}, name, i, j) =>
  read.some(
    ([matrixName, row, col]) => matrixName === name && (row ?? i) === i && (col ?? j) === j,
  );

function grid(table, m, widget) {
  const [name, turned] = table.split(" ");
  return name in INPUTS ? inputGrid(name, turned, m, widget) : computedGrid(name, m, widget);
}

/** Labels of the plane, of which those that would touch are one: "the, river". */
function joined(labels) {
  const half = ({text}) => 3.8 * text.length;
  const touch = (a, b) => Math.abs(a.x - b.x) < half(a) + half(b) && Math.abs(a.y - b.y) < 15;
  for (const [i, a] of labels.entries()) {
    const b = labels.slice(i + 1).find((other) => touch(a, other));
    if (!b) continue;
    const both = {text: `${a.text}, ${b.text}`, x: (a.x + b.x) / 2, y: (a.y + b.y) / 2};
    return joined([...labels.filter((label) => label !== a && label !== b), both]);
  }
  return labels.map((label) => ({
    ...label,
    x: Math.max(half(label), Math.min(WIDTH - half(label), label.x)),
  }));
}

const tickText = (value) => String(value).replace("-", "−");

/** The values as points, larger by weight, their triangle, and the output of the word that asks. */
function plane({
  tokens,
  axes: [across, upwards] = ["number 1", "number 2"],
  value,
  weights,
  output,
  shown: {row},
}) {
  if (value[0].length !== 2) return nothing;
  const {x, y} = planeScale(value);
  const at = ([first, second]) => [x(first).toFixed(1), y(second).toFixed(1)];
  const [mixX, mixY] = at(output[row]);
  const middle = value.reduce((sum, [, up]) => sum + up, 0) / value.length;
  const radius = (j) => 14 * Math.sqrt(weights[row][j]);
  const point = (_, j) => {
    const [px, py] = at(value[j]);
    return svg`<line class="pull" x1=${px} y1=${py} x2=${mixX} y2=${mixY} /><circle cx=${px} cy=${py} r=${radius(j).toFixed(1)} />`;
  };
  const labels = joined(
    tokens.map((text, j) => ({
      text,
      x: x(value[j][0]),
      y: y(value[j][1]) + (value[j][1] < middle ? radius(j) + 13 : -radius(j) - 5),
    })),
  );
  return html`<div class="plane" aria-hidden="true"><p><span class="q">◆</span> <b>output of ${tokens[row]}</b></p>
    <svg viewBox="${-BESIDE} ${-ABOVE} ${WIDTH + BESIDE} ${ABOVE + HEIGHT + BELOW}">
      ${ticks(x, WIDTH).map((value) => svg`<line class="grid" x1=${x(value)} y1="0" x2=${x(value)} y2=${HEIGHT} /><text class="tick" x=${x(value)} y=${HEIGHT + 13}>${tickText(value)}</text>`)}
      ${ticks(y, HEIGHT).map((value) => svg`<line class="grid" x1="0" y1=${y(value)} x2=${WIDTH} y2=${y(value)} /><text class="tick end" x="-5" y=${y(value) + 4}>${tickText(value)}</text>`)}
      <text class="name end" x=${WIDTH} y=${HEIGHT + 29}>${across}
        →</text><text class="name start" x=${-BESIDE} y="0">↑ ${upwards}</text>
      <line class="axis" x1="0" y1=${y(0)} x2=${WIDTH} y2=${y(0)} /><line class="axis" x1=${x(0)} y1="0" x2=${x(0)} y2=${HEIGHT} />
      <polygon points=${value.map((v) => at(v).join()).join(" ")} />
      ${tokens.map(point)}${labels.map((label) => svg`<text x=${label.x.toFixed(1)} y=${label.y.toFixed(1)}>${label.text}</text>`)}
      <path class="output" d="M${mixX} ${mixY}m0 -7l7 7l-7 7l-7 -7z" /></svg></div>`;
}

function overview(m, widget) {
  const tables = (names) => names.map((name) => grid(name, m, widget));
  return html`<div class="inputs">${tables(Object.keys(INPUTS))}${plane(m)}</div><div class="results">${tables(COMPUTED)}</div>`;
}

function view(m, widget) {
  const {shows, says} = STEPS[m.step];
  const isOff = shows.includes("weights") && looksOff(m.weights);
  const stage = (_, step) =>
    html`<div class=${step === m.step ? "stage shown" : "stage"} data-step=${step}></div>`;
  return html`<div class="formula">${formula(m.step)}</div><p class="says">${says}
    <span class="source">${m.source}</span> ${backToText(widget)}</p>
    <div class="stages">${STEPS.map(stage)}</div>
    <p class="arithmetic">${m.parts.map((part) => html`<span class=${part.role ?? ""}>${part.text ?? part}</span>`)}</p>
    <p class=${isOff ? "rounding needed" : "rounding"}>Rounded as shown, a row may not seem to sum to 1. It does.</p>
    ${widget.sentence({hidden: true})}`;
}

/** The matrices of one step. Those of the others stay as they are: to make them costs several times what a change does. */
function drawStage(widget, step) {
  const m =
    step === widget.state.step
      ? widget.model
      : steppedAttention(widget.data, {...widget.state, step});
  const stage = widget.root.querySelectorAll(".stage")[step];
  render(
    step === 0 ? overview(m, widget) : STEPS[step].shows.map((table) => grid(table, m, widget)),
    stage,
  );
  return stage;
}

/** Made and laid out while nobody waits, the first visit to a step is as quick as the next. */
function prepareOtherSteps(widget) {
  STEPS.forEach((_, step) =>
    whenIdle(() => {
      if (step !== widget.state.step)
        drawStage(widget, step).firstElementChild.getBoundingClientRect();
    }),
  );
}

const byQuery = (changed) => String(changed) === "query";

/** data: {tokens, query, key, value, cell: [row, column] of the output, chosen at first} */
export const attentionStepper = defineWidget({
  name: "attention-steps",
  label: "Attention step by step",
  key: "steps",
  fields: ({query, key, value, cell: [row, col]}) => ({
    step: integer(0, {max: STEPS.length - 1}),
    causal: flag(false),
    drawn: flag(false), // whether the matrices were drawn at random
    cell: cell({step: 0, matrix: "output", row, col}, query.length),
    query: matrix(query),
    key: matrix(key),
    value: matrix(value),
  }),
  controls: () => [
    [
      steps(
        "step",
        "Step",
        STEPS.map(({tick}) => tick),
      ),
    ],
    [
      toggle("causal", "Causal"),
      reset,
      button("Random numbers", (widget) =>
        widget.set({...randomMatrices(widget.data), drawn: true}),
      ),
    ],
  ],
  model: steppedAttention,
  sentence,
  view,
  started(widget) {
    followSetUps(widget, "steps");
    prepareOtherSteps(widget);
  },
  drawn: (widget) => drawStage(widget, widget.state.step),
  challenges: {
    "bank-to-the": ({weights, changed}) => byQuery(changed) && weights[2][0] > 0.5,
    steer: ({output: [, , [water, money]], changed}) =>
      byQuery(changed) && Math.hypot(water - 2, money - 1) <= 0.1,
  },
});
