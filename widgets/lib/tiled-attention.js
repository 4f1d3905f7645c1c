// Attention tile by tile, with a running softmax: numbers in, objects out. A test holds it to attention.py.

import {dot, range} from "./lists.js";

/** What a row keeps while its keys pass: its largest score, its sum and its mix, both in units of e^top. */
const nothingYet = (size) => ({top: -Infinity, sum: 0, mix: new Array(size).fill(0)});

/**
 * A row that has met more keys. `rate` is what one old unit is worth in the new one: 1 where the
 * largest score stays. Scores of keys that are hidden are left out by the caller.
 */
export function takeIn({top, sum, mix}, scores, values) {
  if (!scores.length) return {top, sum, mix, rate: 1};
  const next = Math.max(top, ...scores);
  const rate = Math.exp(top - next); // 0 where nothing was kept yet
  const grown = {top: next, sum: rate * sum, mix: mix.map((x) => rate * x), rate};
  scores.forEach((score, j) => {
    const part = Math.exp(score - next);
    grown.sum += part;
    grown.mix = grown.mix.map((x, c) => x + part * values[j][c]);
  });
  return grown;
}

/** A finished row; 0 where it saw nothing. */
export const finished = ({sum, mix}) => mix.map((x) => (sum ? x / sum : 0));

const tiles = (length, size) =>
  range(0, Math.ceil(length / size)).map((n) => range(n * size, Math.min(length, (n + 1) * size)));

/**
 * softmax(QKᵀ / √d) V, computed tile by tile: query and key (n, d), value (n, dv), and
 * `hidden(row, col)` as in attention.js. `queryTile` queries stay while tiles of `keyTile` keys pass.
 *
 * Returns {scores, output, acts, skipped, carried, plain, desk}. acts: what happens one after the
 * other, {kind: "meet", rows, cols, before, kept} or {kind: "write", rows, kept, output}, each with
 * `carried`, the numbers moved so far between the memories. A tile in which all is hidden is skipped.
 * plain: numbers moved by the way that stores scores and weights; desk: room for one act.
 */
export function tiledAttention({query, key, value}, {queryTile, keyTile, hidden = () => false}) {
  const [size, width, root] = [key[0].length, value[0].length, Math.sqrt(key[0].length)];
  const scores = query.map((q) => key.map((k) => dot(q, k) / root));
  const acts = [];
  let [carried, skipped] = [0, 0];
  const output = [];
  for (const rows of tiles(query.length, queryTile)) {
    carried += rows.length * size;
    let kept = rows.map(() => nothingYet(width));
    for (const cols of tiles(key.length, keyTile)) {
      const seen = rows.map((i) => cols.filter((j) => !hidden(i, j)));
      if (!seen.some((of) => of.length)) {
        skipped += 1;
        continue;
      }
      carried += cols.length * (size + width);
      const before = kept;
      kept = kept.map((row, r) =>
        takeIn(
          row,
          seen[r].map((j) => scores[rows[r]][j]),
          seen[r].map((j) => value[j]),
        ),
      );
      acts.push({kind: "meet", rows, cols, before, kept, carried});
    }
    carried += rows.length * width;
    output.push(...kept.map(finished));
    acts.push({kind: "write", rows, kept, output: kept.map(finished), carried});
  }
  return {
    scores,
    output,
    acts,
    skipped,
    carried,
    ...rooms({query, key, value}, queryTile, keyTile),
  };
}

/** Numbers moved by the plain way, each matrix read or written once a step; and room on the desk. */
function rooms({query, key, value}, queryTile, keyTile) {
  const [L, S, size, width] = [query.length, key.length, key[0].length, value[0].length];
  const [rows, cols] = [Math.min(queryTile, L), Math.min(keyTile, S)];
  return {
    plain: L * size + S * size + 4 * L * S + S * width + L * width,
    desk: rows * (size + width + 2) + cols * (size + width) + rows * cols,
  };
}
