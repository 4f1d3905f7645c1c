// Scaled dot-product attention step by step, over real matrices that the reader can change, and a
// query that is an arrow to drag.

import {pointer} from "../assets/vendor/d3.js";
import {html, nothing, render, svg} from "../assets/vendor/lit.js";
import {attentionSteps} from "./lib/attention.js";
import {reset, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {dragBy} from "./lib/drag.js";
import {integer, matrix} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format, formatEntry, formatExact, formatFine, formatSmall} from "./lib/numbers.js";
import {backToText, followSetUps} from "./lib/set-up-links.js";
import {whenIdle} from "./lib/stage-height.js";

// ---- Model ---------------------------------------------------------------------------------

const COMPUTED = ["scores", "scaled", "weights", "output"];
const INPUTS = {query: "Q", key: "K", value: "V"};
const [WIDTH, HEIGHT, MARGIN] = [200, 150, 26]; // of the plane
const [BESIDE, BELOW, ABOVE] = [24, 34, 10]; // room for the numbers of its axes and their names
const ARROW = {across: 7, up: 4.4, down: 2.8, unit: 22}; // how far the arrow's plane goes each way; a 1 in it
const LEAST = 0.1; // of a query's number, by which it is dragged or moved by a key

/** What the slider shows: the planes with one word's row, all tables, then the four steps. */
export const STEPS = [
  {
    tick: "Planes",
    shows: COMPUTED,
    result: "output",
    says: "One word asks, and its weights mix the values.",
  },
  {
    tick: "Tables",
    shows: ["query", "key", "value", ...COMPUTED],
    result: "output",
    says: "All words ask. Numbers on white can be typed over.",
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
 * that is computed, which of its numbers aren't those that the lesson's own give. `ratios`: in the
 * row of the cell, how many times the second word's weight is each of the others'.
 */
export function steppedAttention({tokens, axes, asks, ring, ...own}, state) {
  const changed = Object.keys(INPUTS).filter((name) => String(state[name]) !== String(own[name]));
  const now = attentionSteps(state);
  const first = attentionSteps(own);
  const shown = shownCell(state);
  const m = {
    ...now,
    moved: Object.fromEntries(COMPUTED.map((name) => [name, differing(now[name], first[name])])),
    tokens,
    axes,
    asks,
    ring: changed.includes("value") ? undefined : ring,
    changed,
    step: state.step,
    shown,
    ratios: ratiosOf(now, first, shown, tokens),
  };
  const isOwn = byQuery(changed) && shown.row === 2;
  return {
    ...m,
    ...explain(m),
    reached: isOwn ? reachedBy(m) : "",
    tied: isOwn && isTie(m.weights[2]) ? tieLine(m.key) : null,
  };
}

/** Of weights that softmax made: e to the difference of the scaled scores, which is exact where a weight is too small to be. */
function ratiosOf({scaled}, first, {row}, tokens) {
  const ratio = (rows, j) => Math.exp(rows[row][1] - rows[row][j]);
  return [2, 0].map((j) => ({
    words: `${tokens[1]} : ${tokens[j]}`,
    value: ratio(scaled, j),
    moved: ratio(scaled, j) !== ratio(first.scaled, j),
  }));
}

/** Whether two words get the same, to one in a hundred, and the third clearly less. */
const isTie = ([third, one, other]) =>
  Math.abs(one - other) <= 0.01 && third < Math.min(one, other) - 0.02;

const isInRing = ([water, money], [x, y]) => Math.hypot(water - x, money - y) <= 0.1;

/** Which way the line goes on which all queries score the same with the second and the third key. */
const tieLine = ([, [x1, y1], [x2, y2]]) => [y1 - y2, x2 - x1];

const GOALS = {
  equal: ({weights}) => isTie(weights[2]),
  "equal-doubled": ({weights}) => isTie(weights[2]) && weights[2][0] < 0.05,
  "bank-to-the": ({weights}) => weights[2][0] > 0.5,
  steer: ({output, ring}) => ring && isInRing(output[2], ring),
};

/** What the reader has reached with the query of the last word, in words; empty where it is nothing. */
function reachedBy(m) {
  const [name] = m.tokens;
  if (GOALS["equal-doubled"](m)) return `Reached: equal weights, and ${name} is below 0.05.`;
  if (GOALS.equal(m)) return "Reached: equal weights, as on all of the dashed line.";
  if (GOALS["bank-to-the"](m)) return `Reached: more than half for ${name}.`;
  return GOALS.steer(m) ? "Reached: the diamond is in the ring." : "";
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

const [REACH_X, REACH_Y] = [ARROW.across * ARROW.unit, ARROW.up * ARROW.unit];
const [ARROW_BESIDE, ARROW_BELOW] = [18, 16]; // room for the numbers of its axes
const [ARROW_WIDTH, ARROW_HEIGHT] = [2 * REACH_X, REACH_Y + ARROW.down * ARROW.unit];

/**
 * Where the arrow's plane has a point, first to the right, second up, and whether it lies beyond the
 * edge, where it is drawn then.
 * @returns {[number, number, boolean]}
 */
export function arrowPlace([first, second]) {
  const vertical = Math.max(second / ARROW.up, -second / ARROW.down);
  const beyond = Math.max(Math.abs(first) / ARROW.across, vertical, 1);
  return [
    REACH_X + (first / beyond) * ARROW.unit,
    REACH_Y - (second / beyond) * ARROW.unit,
    beyond > 1,
  ];
}

const rounded = (x, least, most) =>
  Math.max(least, Math.min(most, Math.round(x / LEAST) / 10)) || 0;

/** The query whose arrow ends at this place of the plane. */
export const queryAt = ([x, y]) => [
  rounded((x - REACH_X) / ARROW.unit, -ARROW.across, ARROW.across),
  rounded((REACH_Y - y) / ARROW.unit, -ARROW.down, ARROW.up),
];

const KEYS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};

/** The query after an arrow key, five times as far with Shift; undefined for other keys. */
export function queryByKey(query, {key, shiftKey = false}, {max}) {
  const by = KEYS[key];
  const step = shiftKey ? 5 * LEAST : LEAST;
  return (
    by && query.map((x, d) => Math.max(-max, Math.min(max, x + by[d] * step))).map(twoDecimals)
  );
}

const twoDecimals = (x) => Math.round(x * 100) / 100 || 0;

/** Twice the query; undefined where that is out of the range. */
export function doubledQuery(query, {max}) {
  const twice = query.map((x) => twoDecimals(2 * x));
  return twice.every((x) => Math.abs(x) <= max) ? twice : undefined;
}

/** parts: texts, or {text, role} where a role colours it; read: [matrix, row, column], null for all of them. */
const explain = (m) => ARITHMETIC[m.shown.matrix](m, m.shown.row, m.shown.col);

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
  weights({tokens, scaled, weights}, row, col) {
    const exp = (j) => `exp(${formatFine(scaled[row][j])})`;
    return {
      read: [["scaled", row, null]],
      parts: [
        `weight(${tokens[row]}, ${tokens[col]}) = `,
        `${exp(col)} ÷ (${tokens.map((_, j) => exp(j)).join(" + ")}) ≈ ${formatFine(weights[row][col])}`,
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

// ---- Sentence, view ------------------------------------------------------------------------

export function sentence(m) {
  const {tokens, step, query, shown, parts, weights, output, moved, ratios, reached} = m;
  const {row} = shown;
  const looks = tokens.map((token, j) => `${token} ${format(weights[row][j])}`).join(", ");
  const times = ratios.map(({words, value}) => `${words} is ${ratioText(value)}`).join(", ");
  return (
    `${STEPS[step].says} ${tokens[row]} asks with ${queryText(query[row])} and ` +
    `looks at: ${looks}. ${times}. Its output is ${pairText(output[row].map(format))}. ${textOf(parts)}` +
    (moved.output.flat().includes(true)
      ? ` Not as at the start: ${count(moved.weights)} weights, ${count(moved.output)} numbers of the output.`
      : "") +
    (reached ? ` ${reached}` : "")
  );
}

const pairText = (texts) => `(${texts.join(", ")})`;
const queryText = (query) => pairText(query.map((x) => formatEntry(x)));
const ratioText = (ratio) => (ratio < 0.01 ? formatSmall(ratio) : format(ratio));

const count = (rows) => `${rows.flat().filter(Boolean).length} of ${rows.flat().length}`;

const textOf = (parts) => parts.map((part) => part.text ?? part).join("");

/** The formula, in which the term of this step is marked. */
function formula(step) {
  const term = (number, role = "") => `${role} term ${number === step - 1 ? "active" : ""}`;
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

/** The row of the word that asks: its scores, before and after scaling, and its weights. */
function askedRow(m, widget) {
  const {row, matrix, col: chosen} = m.shown;
  const names = COMPUTED.slice(0, 3);
  return matrixTable({
    name: "asked",
    title: `row of ${m.tokens[row]}`,
    caption: `row of ${m.tokens[row]}`,
    shape: "",
    rows: ["score", `÷ √${m.size}`, "weight"],
    columns: m.tokens,
    cells: names.map((name) => m[name][row]),
    fill: (i, j) => (names[i] === "weights" ? m.weights[row][j] : 0),
    moved: (i, j) => m.moved[names[i]][row][j],
    lit: (i, j) => isRead(m, names[i], row, j),
    chosen: (i, j) => names[i] === matrix && j === chosen,
    choose: (i, col) => widget.set({cell: {step: m.step, matrix: names[i], row, col}}),
  });
}

/** Labels of a plane, of which those that would touch are one: "the, river". A letter is `wide`. */
function joined(labels, {width = WIDTH, wide = 7.6, high = 15} = {}) {
  const half = ({text}) => (wide / 2) * text.length;
  const touch = (a, b) => Math.abs(a.x - b.x) < half(a) + half(b) && Math.abs(a.y - b.y) < high;
  for (const [i, a] of labels.entries()) {
    const b = labels.slice(i + 1).find((other) => touch(a, other));
    if (!b) continue;
    const both = {text: `${a.text}, ${b.text}`, x: (a.x + b.x) / 2, y: (a.y + b.y) / 2};
    const others = labels.filter((label) => label !== a && label !== b);
    return joined([...others, both], {width, wide, high});
  }
  return labels.map((label) => ({
    ...label,
    x: Math.max(half(label), Math.min(width - half(label), label.x)),
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
  ring,
  shown: {row},
}) {
  if (value[0].length !== 2) return nothing;
  const {x, y} = planeScale(value);
  const at = ([first, second]) => [x(first).toFixed(1), y(second).toFixed(1)];
  const [mixX, mixY] = at(output[row]);
  const middle = value.reduce((sum, [, up]) => sum + up, 0) / value.length;
  const radius = (j) => 14 * Math.sqrt(weights[row][j]);
  const isMet = ring && isInRing(output[row], ring);
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
  return html`<div class="plane" aria-hidden="true"><p><span class="q">◆</span> <b>output of ${tokens[row]}</b> <span class="at">${pairText(output[row].map(format))}</span></p>
    <svg viewBox="${-BESIDE} ${-ABOVE} ${WIDTH + BESIDE} ${ABOVE + HEIGHT + BELOW}">
      ${ticks(x, WIDTH).map((value) => svg`<line class="grid" x1=${x(value)} y1="0" x2=${x(value)} y2=${HEIGHT} /><text class="tick" x=${x(value)} y=${HEIGHT + 13}>${tickText(value)}</text>`)}
      ${ticks(y, HEIGHT).map((value) => svg`<line class="grid" x1="0" y1=${y(value)} x2=${WIDTH} y2=${y(value)} /><text class="tick end" x="-5" y=${y(value) + 4}>${tickText(value)}</text>`)}
      <text class="name end" x=${WIDTH} y=${HEIGHT + 29}>${across}
        →</text><text class="name start" x=${-BESIDE} y="0">↑ ${upwards}</text>
      <line class="axis" x1="0" y1=${y(0)} x2=${WIDTH} y2=${y(0)} /><line class="axis" x1=${x(0)} y1="0" x2=${x(0)} y2=${HEIGHT} />
      <polygon points=${value.map((v) => at(v).join()).join(" ")} />
      ${ring ? svg`<circle class=${isMet ? "ring met" : "ring"} cx=${x(ring[0])} cy=${y(ring[1])} r="11" />` : nothing}
      ${tokens.map(point)}${labels.map((label) => svg`<text x=${label.x.toFixed(1)} y=${label.y.toFixed(1)}>${label.text}</text>`)}
      <path class="output" d="M${mixX} ${mixY}m0 -7l7 7l-7 7l-7 -7z" /></svg></div>`;
}

const HALF_HEAD = 5; // of the arrow's head

/** A line for each whole number of a query, and the even ones at the edge. */
function arrowGrid() {
  const wholes = (least, most) =>
    Array.from({length: most - least + 1}, (_, i) => least + i).filter((n) => n !== 0);
  const isNamed = (n) => n % 2 === 0;
  const up = wholes(-Math.floor(ARROW.down), Math.floor(ARROW.up));
  const across = wholes(1 - ARROW.across, ARROW.across - 1);
  return svg`${across.map((n) => svg`<line class="grid" x1=${arrowPlace([n, 0])[0]} x2=${arrowPlace([n, 0])[0]} y1="0" y2=${ARROW_HEIGHT} />`)}
    ${up.map((n) => svg`<line class="grid" x1="0" x2=${ARROW_WIDTH} y1=${arrowPlace([0, n])[1]} y2=${arrowPlace([0, n])[1]} />`)}
    ${across.filter(isNamed).map((n) => svg`<text class="tick" x=${arrowPlace([n, 0])[0]} y=${ARROW_HEIGHT + 13}>${tickText(n)}</text>`)}
    ${up.filter(isNamed).map((n) => svg`<text class="tick end" x="-5" y=${arrowPlace([0, n])[1] + 4}>${tickText(n)}</text>`)}`;
}

/** The line of equal scores, through the origin from edge to edge. */
function tieInPlane([x, y]) {
  const [[x1, y1], [x2, y2]] = [99, -99].map((far) => arrowPlace([far * x, far * y]));
  return svg`<line class="tie" x1=${x1} y1=${y1} x2=${x2} y2=${y2} />`;
}

/** The query of the word that asks as an arrow among the keys, to drag by its tip or to move by arrow keys. */
function arrowPlane(m, widget) {
  const {tokens, asks: [across, upwards] = ["number 1", "number 2"], query, key, weights} = m;
  const {row} = m.shown;
  if (key[0].length !== 2) return nothing;
  const ask = (changed) => {
    widget.typing = null;
    widget.set({query: query.map((q, i) => (i === row ? changed : q))});
  };
  const put = (event) => ask(queryAt(pointer(event, event.currentTarget)));
  const {move, hold} = dragBy(".query", put);
  const press = (event) => {
    const next = queryByKey(query[row], event, widget.fields.query);
    if (!next) return;
    event.preventDefault();
    ask(next);
  };
  const double = () => {
    const twice = doubledQuery(query[row], widget.fields.query);
    if (twice) return ask(twice);
    widget.typing = {
      id: "double",
      text: "",
      hint: "Twice that is out of range: only numbers up to 9.99.",
    };
    widget.draw();
  };
  const [fromX, fromY] = arrowPlace([0, 0]);
  const [tipX, tipY, isBeyond] = arrowPlace(query[row]);
  const angle = (Math.atan2(tipY - fromY, tipX - fromX) * 180) / Math.PI;
  const radius = (j) => 2 + 8 * Math.sqrt(weights[row][j]);
  const labels = joined(
    tokens.map((token, j) => {
      const [x, y] = arrowPlace(key[j]);
      const text = `${token} ${format(weights[row][j])}`;
      const side = key[j][0] > 0 ? 1 : -1;
      return {
        text,
        x: x + side * (3.1 * text.length + radius(j) + 3),
        y: Math.min(y, ARROW_HEIGHT - 8) + 4,
      };
    }),
    {width: ARROW_WIDTH, wide: 6.2, high: 12},
  );
  return html`<div class="arrow"><p><span class="q" aria-hidden="true">➔</span> <b>query of ${tokens[row]}</b>
    <span class="at">${queryText(query[row])}</span> <span class="how">drag the arrow’s tip</span></p>
    <div class="pad" role="slider" tabindex="0" aria-label="Query of ${tokens[row]}: four arrow keys" aria-valuemin=${widget.fields.query.min} aria-valuemax=${widget.fields.query.max}
      aria-valuenow=${query[row][0]} aria-valuetext="${across} ${formatEntry(query[row][0])}, ${upwards} ${formatEntry(query[row][1])}" @keydown=${press}>
    <svg viewBox="${-ARROW_BESIDE} 0 ${ARROW_BESIDE + ARROW_WIDTH} ${ARROW_HEIGHT + ARROW_BELOW}" aria-hidden="true" @touchstart=${hold} @pointerdown=${move} @pointermove=${move} @click=${put}>
      <rect width=${ARROW_WIDTH} height=${ARROW_HEIGHT} />
      ${arrowGrid()}${m.tied ? tieInPlane(m.tied) : nothing}
      <line class="axis" x1="0" y1=${fromY} x2=${ARROW_WIDTH} y2=${fromY} /><line class="axis" x1=${fromX} y1="0" x2=${fromX} y2=${ARROW_HEIGHT} />
      <text class="name end" x=${ARROW_WIDTH - 4} y=${fromY + 13}>${across} →</text><text class="name" x=${fromX + 4} y="12">↑ ${upwards}</text>
      ${key.map((k, j) => svg`<circle class="key" cx=${arrowPlace(k)[0]} cy=${arrowPlace(k)[1]} r=${radius(j).toFixed(1)} />`)}
      <g class="query"><line class=${isBeyond ? "beyond" : ""} x1=${fromX} y1=${fromY} x2=${tipX} y2=${tipY} />
        <path transform="translate(${tipX} ${tipY}) rotate(${angle.toFixed(2)})" d="M2 0L-9 ${-HALF_HEAD}V${HALF_HEAD}Z" />
        <circle class="handle" r="19" cx=${tipX} cy=${tipY} /></g>
      ${labels.map(({text, x, y}) => svg`<text class="word" x=${x.toFixed(1)} y=${y.toFixed(1)}>${text}</text>`)}</svg></div>
    <div class="ratios"><p>${m.ratios.map(({words, value, moved}) => html`<span>${words} ≈ <b class=${moved ? "moved" : ""}>${ratioText(value)}</b></span> `)}</p>
      <button type="button" @click=${double}>Double the query</button></div></div>`;
}

const planes = (m, widget) => html`<div class="planes">${arrowPlane(m, widget)}${plane(m)}</div>
  ${askedRow(m, widget)}`;

function allTables(m, widget) {
  const tables = (names) => names.map((name) => grid(name, m, widget));
  return html`<div class="inputs">${tables(Object.keys(INPUTS))}</div><div class="results">${tables(COMPUTED)}</div>`;
}

function view(m, widget) {
  const {says} = STEPS[m.step];
  const stage = (_, step) =>
    html`<div class=${step === m.step ? "stage shown" : "stage"} data-step=${step}></div>`;
  return html`${m.step > 1 ? html`<div class="formula">${formula(m.step)}</div>` : nothing}<p class="says">${(m.step === 0 && m.reached) || says}
    <span class="source">constructed</span> ${backToText(widget)}</p>
    <div class="stages">${STEPS.map(stage)}</div>
    <p class="arithmetic">${m.parts.map((part) => html`<span class=${part.role ?? ""}>${part.text ?? part}</span>`)}</p>
    ${widget.sentence({hidden: true})}`;
}

/** The matrices of one step. Those of the others stay as they are: to make them costs several times what a change does. */
function drawStage(widget, step) {
  const m =
    step === widget.state.step
      ? widget.model
      : steppedAttention(widget.data, {...widget.state, step});
  const stage = widget.root.querySelectorAll(".stage")[step];
  const whole = [planes, allTables][step];
  render(
    whole ? whole(m, widget) : STEPS[step].shows.map((table) => grid(table, m, widget)),
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

/**
 * data: {tokens, query, key, value, cell: [row, column] of the output, chosen at first,
 *        axes, asks: what the two numbers of a value and of a query say, ring: an output to steer to}
 */
export const attentionStepper = defineWidget({
  name: "attention-steps",
  label: "Attention step by step",
  key: "steps",
  fields: ({query, key, value, cell: [row, col]}) => ({
    step: integer(0, {max: STEPS.length - 1}),
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
      reset,
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
  challenges: Object.fromEntries(
    Object.entries(GOALS).map(([name, isMet]) => [name, (m) => byQuery(m.changed) && isMet(m)]),
  ),
});
