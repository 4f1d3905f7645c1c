// The forward pass, stage by stage, as numbers: of one token, and of one head on the way. No DOM.

import {dot} from "../lib/lists.js";
import {rowOf} from "./reading.js";

const ROWS = 12; // tokens that have a row

/**
 * What is computed for token `at` of a look, and in its head on the way:
 * {at, head, rows: the tokens shown, ids, vectors: of each row, query, keys, values: of each row,
 *  scores, weights: of all tokens for all, rows of `length`, isHidden(i, j), mixed, units,
 *  stream: [stage], added: [{name, push}] whose sum is the guess's logit less the mean of all, total, guesses}
 */
export function passOf({reading, pieces, at, head: number, pushes, guesses, entry, stages}) {
  const head = reading.heads[number];
  const {length} = pieces;
  const cut = (flat, size, i) => flat.subarray(i * size, (i + 1) * size);
  const rows = shown(rowOf(head, at, length), at, reading.causal);
  const weights = pieces.map((_, i) => rowOf(head, i, length));
  const scores = pieces.map((_, i) =>
    Float32Array.from(
      pieces,
      (__, j) =>
        dot(cut(head.query, head.size, i), cut(head.key, head.size, j)) / Math.sqrt(head.size) +
        (head.bias ? head.bias[length - 1 + j - i] : 0),
    ),
  );
  return {
    at,
    number,
    layer: head.layer,
    isOff: head.isOff,
    rows,
    ids: rows.map((i) => reading.ids[i]),
    left: length - rows.length,
    vectors: rows.map((i) => cut(reading.stream[0], entry.width, i)),
    query: cut(head.query, head.size, at),
    keys: rows.map((i) => cut(head.key, head.size, i)),
    values: rows.map((i) => cut(head.value, head.size, i)),
    scores,
    weights,
    isHidden: (i, j) => reading.causal && j > i,
    mixed: cut(head.mixed, head.size, at),
    units:
      reading.units &&
      cut(reading.units[head.layer], reading.units[head.layer].length / length, at),
    stream: reading.stream.map((flat) => cut(flat, entry.width, at)),
    best: stages.map(([first]) => first),
    ...addedTo(pushes, entry.counts),
    guesses,
  };
}

/** The tokens that have a row: all, or of a long text those that `at` looks at most. */
function shown(row, at, causal) {
  const all = [...row.keys()].filter((i) => !causal || row.length <= ROWS || i <= at);
  if (all.length <= ROWS) return all;
  const most = all
    .filter((i) => i !== at)
    .sort((a, b) => row[b] - row[a] || a - b)
    .slice(0, ROWS - 1);
  return [...most, at].sort((a, b) => a - b);
}

/** What the stream is made of, in the order in which it is added. */
function addedTo({start, heads, mlps, rest}, counts) {
  let first = 0;
  const added = [{name: "vector", push: start}];
  counts.forEach((count, layer) => {
    added.push({
      name: `heads of layer ${layer + 1}`,
      push: heads.slice(first, first + count).reduce((a, b) => a + b, 0),
    });
    if (mlps.length) added.push({name: `MLP ${layer + 1}`, push: mlps[layer]});
    first += count;
  });
  added.push({name: "biases", push: rest});
  return {added, total: added.reduce((all, {push}) => all + push, 0)};
}
