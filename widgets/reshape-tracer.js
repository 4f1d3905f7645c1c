// Splitting into heads and merging again: which number goes where, the right way and the wrong one.
// Each number is its own place in memory: 0, 1, 2, … through the rows of x.

import {setText} from "./lib/dom.js";
import {liveElement} from "./lib/live.js";
import {drawMatrix} from "./lib/matrix-grid.js";
import {flag, integer} from "./lib/url-state.js";

// ---- Model: numbers in, objects out --------------------------------------------------------

const WIDTH = 8;
export const TRACED_HEADS = [2, 4];

/** What a reader can choose, with where it starts: for urlState. */
export const tracerFields = ({number, tokens}) => ({
  heads: {...integer(2, {min: 2, max: 4}), parse: (text) => TRACED_HEADS.find((n) => String(n) === text)},
  splitBlind: flag(false), mergeBlind: flag(false),
  number: integer(number, {min: 0, max: tokens.length * WIDTH - 1})
});

const grid = (rows, cols, fill) => Array.from({length: rows}, (_, i) => Array.from({length: cols}, (_, j) => fill(i, j)));

/**
 * x (tokens, WIDTH) holds 0, 1, 2, …; heads (heads, tokens, size) and merged (tokens, WIDTH) are
 * what becomes of it. `splitBlind`: view alone, without transpose; `mergeBlind`: reshape alone.
 */
export function trace({tokens, heads: count, splitBlind, mergeBlind, number}) {
  const [length, size] = [tokens.length, WIDTH / count];
  const x = grid(length, WIDTH, (i, e) => i * WIDTH + e);
  const heads = Array.from({length: count}, (_, h) => grid(length, size, (i, d) =>
    (splitBlind ? (h * length + i) * size + d : x[i][h * size + d])));
  const inMemory = heads.flat(2);
  const merged = grid(length, WIDTH, (i, e) =>
    (mergeBlind ? inMemory[i * WIDTH + e] : heads[Math.floor(e / size)][i][e % size]));
  const owner = (n) => Math.floor(n / WIDTH);
  const astray = (rows) => rows.reduce((sum, row, i) => sum + row.filter((n) => owner(n) !== i).length, 0);
  return {
    tokens, count, size, length, splitBlind, mergeBlind, number, x, heads, merged, owner,
    inX: find([x], number).slice(1), inHeads: find(heads, number), inMerged: find([merged], number).slice(1),
    astray: heads.reduce((sum, head) => sum + astray(head), 0), astrayAfter: astray(merged),
    restored: merged.flat().every((n, i) => n === i)
  };
}

function find(matrices, number) {
  const h = matrices.findIndex((rows) => rows.some((row) => row.includes(number)));
  const row = matrices[h].findIndex((cells) => cells.includes(number));
  return [h, row, matrices[h][row].indexOf(number)];
}

/** How the chosen number gets to its place, one sentence for each of the two moves. */
export function explain(m) {
  const {tokens, size, count, length, number, inX: [row, col], inHeads: [h, i, d]} = m;
  const place = `heads[0, ${[h, i, d].join(", ")}]`;
  const split = m.splitBlind
    ? `view(1, ${count}, ${length}, ${size}) only counts through memory: ${number} = ${h} × ${length * size} + ${i} × ${size} + ${d}, so it lands in ${place}.`
    : `view: x[0, ${row}, ${col}] becomes [0, ${row}, ${h}, ${d}], for ${col} = ${h} × ${size} + ${d}. transpose swaps the middle two: ${place}.`;
  const whose = tokens[m.owner(number)];
  const verdict = i === row ? `The row of ${whose}, as it should be.` : `That is the row of ${tokens[i]}, but the number belongs to ${whose}.`;
  const [toRow, toCol] = m.inMerged;
  const back = toRow === row && toCol === col ? "back where it was" : "another place than before";
  return [split, verdict, `Merged: [0, ${toRow}, ${toCol}], ${back}.`];
}

// ---- Summary: the same as a sentence --------------------------------------------------------

const all = (m) => m.length * WIDTH;

export function summarize(m) {
  const heads = m.astray
    ? `${m.astray} of ${all(m)} numbers stand in the row of another token: each head mixes up the words.`
    : `In each head, every row holds ${m.size} numbers of its own token.`;
  const merged = m.restored ? "Merged, all are back in place."
    : `Merged, ${m.astrayAfter} of ${all(m)} stand in the row of another token.`;
  return `${heads} ${merged}`;
}

// ---- View: one element, updated in place; the caller keeps the state ------------------------

const features = (n) => Array.from({length: n}, (_, i) => String(i));

/** draw(model, {onChoose(number)}) updates the one element and returns it. */
export function reshapeTracerView(d3) {
  const root = d3.select(emptyView());
  return (model, options) => {
    draw(d3, root, model, options);
    return root.node();
  };
}

function draw(d3, root, m, {onChoose}) {
  const stages = [
    {name: "x", code: "", shape: [1, m.length, WIDTH], matrices: [m.x]},
    {name: "heads", shape: [1, m.count, m.length, m.size], matrices: m.heads,
      code: m.splitBlind ? `x.view(1, ${m.count}, ${m.length}, ${m.size})` : `x.view(1, ${m.length}, ${m.count}, ${m.size}).transpose(1, 2)`},
    {name: "merged", shape: [1, m.length, WIDTH], matrices: [m.merged],
      code: m.mergeBlind ? `heads.reshape(1, ${m.length}, ${WIDTH})` : `heads.transpose(1, 2).reshape(1, ${m.length}, ${WIDTH})`}
  ];
  const sections = root.selectAll(".stage").data(stages);
  setText(sections.select(".name"), (s) => s.name);
  setText(sections.select(".shape"), (s) => `(${s.shape.join(", ")})`);
  setText(sections.select("code"), (s) => s.code);
  sections.each(function (stage) {
    d3.select(this).select(".matrices").selectAll("table").data(stage.matrices)
      .join("table").attr("class", "matrix")
      .each(function (rows, h) { drawMatrix(d3.select(this), layout(m, stage.name, rows, h), {choose: (i, j) => onChoose(rows[i][j])}); });
  });
  setText(root.select(".arithmetic").selectAll("span").data(explain(m)).join("span"), (text) => `${text} `);
  setText(root.select(".verdict").classed("wrong", !!m.astray || !m.restored), () => summarize(m));
}

function layout(m, stage, rows, h) {
  const inHeads = stage === "heads";
  // The numbers of one token that share a head with the chosen one.
  const together = m.heads[m.inHeads[0]][m.inHeads[1]];
  return {
    title: stage, rows: m.tokens, columns: features(rows[0].length), cells: rows,
    caption: inHeads ? `head ${h}` : stage, shape: inHeads ? `${m.length} × ${m.size}` : `${m.length} × ${WIDTH}`,
    text: (i, j) => String(rows[i][j]),
    fill: (i, j) => 0.08 + 0.62 * m.owner(rows[i][j]) / (m.length - 1),
    hidden: (i, j) => m.owner(rows[i][j]) !== i,
    chosen: (i, j) => rows[i][j] === m.number,
    lit: (i, j) => together.includes(rows[i][j])
  };
}

function emptyView() {
  const stage = `<section class="stage"><p><b class="name"></b> <span class="shape"></span> <code></code></p><div class="matrices"></div></section>`;
  return liveElement("reshape-tracer", `${stage.repeat(3)}<p class="arithmetic" aria-live="polite"></p><p class="verdict" aria-live="polite"></p>`, {label: "Which number goes where"});
}
