// Splitting into heads and merging again: which number goes where, the right way and the wrong one.
// Each number is its own place in memory: 0, 1, 2, … through the rows of Q.

import {html, nothing} from "../assets/vendor/lit.js";
import {menu, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";

// ---- Model ---------------------------------------------------------------------------------

const WIDTH = 8;
const HEADS = [2, 4];

const ownerOf = (number) => Math.floor(number / WIDTH);
const grid = (rows, cols, fill) =>
  Array.from({length: rows}, (_, i) => Array.from({length: cols}, (_, j) => fill(i, j)));

/**
 * Q (tokens, WIDTH) holds 0, 1, 2, …; heads (heads, tokens, size) and merged (tokens, WIDTH) are
 * what becomes of it. `splitBlind`: view alone, without transpose; `mergeBlind`: reshape alone.
 */
export function trace({tokens}, {heads: count, splitBlind, mergeBlind, number}) {
  const [length, size] = [tokens.length, WIDTH / count];
  const Q = grid(length, WIDTH, (i, e) => i * WIDTH + e);
  const heads = Array.from({length: count}, (_, h) =>
    grid(length, size, (i, d) => (splitBlind ? (h * length + i) * size + d : Q[i][h * size + d])),
  );
  const inMemory = heads.flat(2);
  const merged = grid(length, WIDTH, (i, e) =>
    mergeBlind ? inMemory[i * WIDTH + e] : heads[Math.floor(e / size)][i][e % size],
  );
  const astray = (rows) =>
    rows.reduce((sum, row, i) => sum + row.filter((n) => ownerOf(n) !== i).length, 0);
  return {
    tokens,
    count,
    size,
    length,
    splitBlind,
    mergeBlind,
    number,
    Q,
    heads,
    merged,
    inQ: find([Q], number).slice(1),
    inHeads: find(heads, number),
    inMerged: find([merged], number).slice(1),
    astray: heads.reduce((sum, head) => sum + astray(head), 0),
    astrayAfter: astray(merged),
    restored: merged.flat().every((n, i) => n === i),
  };
}

function find(matrices, number) {
  const h = matrices.findIndex((rows) => rows.some((row) => row.includes(number)));
  const row = matrices[h].findIndex((cells) => cells.includes(number));
  return [h, row, matrices[h][row].indexOf(number)];
}

/** How the chosen number gets to its place, one sentence for each of the two moves. */
export function explain(m) {
  const {
    tokens,
    size,
    count,
    length,
    number,
    inQ: [row, col],
    inHeads: [h, i, d],
  } = m;
  const place = `heads[0, ${[h, i, d].join(", ")}]`;
  const split = m.splitBlind
    ? `view(1, ${count}, ${length}, ${size}) only counts through memory: ${number} = ${h} × ${length * size} + ${i} × ${size} + ${d}, so it lands in ${place}.`
    : `view: Q[0, ${row}, ${col}] becomes [0, ${row}, ${h}, ${d}], for ${col} = ${h} × ${size} + ${d}. transpose swaps the middle two: ${place}.`;
  const whose = tokens[ownerOf(number)];
  const verdict =
    i === row
      ? `The row of ${whose}, as it should be.`
      : `That is the row of ${tokens[i]}, but the number belongs to ${whose}.`;
  const [toRow, toCol] = m.inMerged;
  const back = toRow === row && toCol === col ? "back where it was" : "another place than before";
  return [split, verdict, `Merged: [0, ${toRow}, ${toCol}], ${back}.`];
}

export function summarize(m) {
  const all = m.length * WIDTH;
  const heads = m.astray
    ? `${m.astray} of ${all} numbers stand in the row of another token: each head mixes up the words.`
    : `In each head, every row holds ${m.size} numbers of its own token.`;
  const merged = m.restored
    ? "Merged, all are back in place."
    : `Merged, ${m.astrayAfter} of ${all} stand in the row of another token.`;
  return `${heads} ${merged}`;
}

// ---- View ----------------------------------------------------------------------------------

const sentence = (m) => html`<span class="arithmetic">${explain(m).join(" ")}</span>
  <span class=${m.astray || !m.restored ? "verdict wrong" : "verdict"}>${summarize(m)}</span>`;

const splitCode = ({splitBlind, length, count, size}) =>
  splitBlind
    ? `Q.view(1, ${count}, ${length}, ${size})`
    : `Q.view(1, ${length}, ${count}, ${size}).transpose(1, 2)`;

const mergeCode = ({mergeBlind, length}) =>
  `heads${mergeBlind ? "" : ".transpose(1, 2)"}.reshape(1, ${length}, ${WIDTH})`;

function view(m, widget) {
  // The numbers of one token that share a head with the chosen one.
  const together = m.heads[m.inHeads[0]][m.inHeads[1]];
  const table = (caption, cells) =>
    matrixTable({
      name: "",
      caption,
      shape: "",
      rows: m.tokens,
      columns: cells[0].map((_, j) => j),
      cells,
      text: (i, j) => String(cells[i][j]),
      fill: (i, j) => 0.08 + (0.62 * ownerOf(cells[i][j])) / (m.length - 1),
      hidden: (i, j) => ownerOf(cells[i][j]) !== i,
      chosen: (i, j) => cells[i][j] === m.number,
      lit: (i, j) => together.includes(cells[i][j]),
      choose: (i, j) => widget.set({number: cells[i][j]}),
    });
  const stage = (name, shape, code, tables) => html`<section class="stage">
    <p><b>${name}</b> <span class="shape">(${shape.join(", ")})</span>
      ${code ? html`<code>${code}</code>` : nothing}</p>
    <div class="matrices">${tables}</div></section>`;
  return html`${stage("Q", [1, m.length, WIDTH], "", table("Q", m.Q))}
    ${stage(
      "heads",
      [1, m.count, m.length, m.size],
      splitCode(m),
      m.heads.map((head, h) => table(`heads[0, ${h}]`, head)),
    )}
    ${stage("merged", [1, m.length, WIDTH], mergeCode(m), table("merged", m.merged))}
    ${widget.sentence()}`;
}

export const reshapeTracer = defineWidget({
  name: "reshape-tracer",
  label: "Which number goes where",
  key: "trace",
  fields: ({tokens, number}) => ({
    heads: option(HEADS[0], HEADS),
    splitBlind: flag(false),
    mergeBlind: flag(false),
    number: integer(number, {max: tokens.length * WIDTH - 1}),
  }),
  controls: () => [
    [
      menu("heads", "Heads", HEADS),
      toggle("splitBlind", "Split without transpose"),
      toggle("mergeBlind", "Merge without transpose"),
    ],
  ],
  model: trace,
  sentence,
  view,
  challenges: {
    "all-back": (m) => m.astray > 0 && m.restored,
  },
});
