// Attention in plain JavaScript: numbers in, objects out. A test holds it to attention.py.

import {dot} from "./lists.js";

/** The shares of the numbers in `row`; where isHidden(j), exactly 0: all 0 where all are hidden. */
export function softmax(row, isHidden = () => false) {
  if (row.every((_, j) => isHidden(j))) return row.map(() => 0);
  const top = Math.max(...row.filter((_, j) => !isHidden(j))); // so that exp never overflows
  const parts = row.map((x, j) => (isHidden(j) ? 0 : Math.exp(x - top)));
  const total = parts.reduce((a, b) => a + b, 0);
  return parts.map((x) => x / total);
}

/** softmax(row / T); for T → 0 the largest share all, for T → ∞ all share equally. */
export function atTemperature(row, T) {
  if (T === Infinity) return row.map(() => 1 / row.length);
  const top = Math.max(...row);
  const largest = row.filter((score) => isSame(score, top)).length;
  if (T === 0) return row.map((score) => (isSame(score, top) ? 1 / largest : 0));
  return softmax(row.map((score) => score / T));
}

// Equal on paper may differ in the last bit: 0.1 + 0.2 and 0.3.
const isSame = (a, b) => Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(b));

/**
 * softmax(QKᵀ / √d) V with everything on the way; query and key (n, d), value (n, dv).
 * `hidden(row, col)`: whether that query may not look at that key.
 */
export function attentionSteps(
  {query, key, value},
  {causal = false, hidden = (row, col) => causal && col > row} = {},
) {
  const root = Math.sqrt(key[0].length);
  const scores = query.map((q) => key.map((k) => dot(q, k)));
  const scaled = scores.map((row) => row.map((score) => score / root));
  const weights = scaled.map((row, i) => softmax(row, (j) => hidden(i, j)));
  const output = weights.map((row) =>
    value[0].map((_, c) =>
      dot(
        row,
        value.map((v) => v[c]),
      ),
    ),
  );
  return {query, key, value, scores, scaled, weights, output, size: key[0].length, hidden};
}

/** Self-attention: queries, keys and values are all made from the rows of `x`, then attention as above. */
export function selfAttention(x, projections, options) {
  const project = (matrix) =>
    x.map((row) =>
      matrix[0].map((_, c) =>
        dot(
          row,
          matrix.map((m) => m[c]),
        ),
      ),
    );
  const [query, key, value] = ["query", "key", "value"].map((name) => project(projections[name]));
  return attentionSteps({query, key, value}, options);
}

/** Fresh numbers for those of query, key and value that are given: one decimal, from -2 to 2. */
export function randomMatrices({query, key, value}, random = Math.random) {
  const fresh = (rows) =>
    rows.map((row) => row.map(() => Math.round(random() * 40 - 20) / 10 || 0));
  const given = Object.entries({query, key, value}).filter(([, rows]) => rows);
  return Object.fromEntries(given.map(([name, rows]) => [name, fresh(rows)]));
}
