// How one weight comes about, as numbers: loaded with what shows them. No DOM.

import {dot} from "../lib/lists.js";
import {rowOf} from "./reading.js";

/**
 * The arithmetic of the chosen weight of a look: {products of query and key, dot, size, bias, score, scores of the
 * whole row, top, parts e^(score − top), total, weight}. null where the head's vectors aren't there.
 */
export function weightSums({reading, pieces: {length}, at, to, head: number}) {
  const head = reading.heads[number];
  if (!head.query || head.isOff) return null;
  const {size} = head;
  const part = (name, i) => head[name].subarray(i * size, (i + 1) * size);
  const [query, key, value, mixed] = [
    part("query", at),
    part("key", to),
    part("value", to),
    part("mixed", at),
  ];
  const bias = (j) => (head.bias ? head.bias[length - 1 + j - at] : 0);
  const dots = Array.from({length}, (_, j) => dot(query, part("key", j)));
  const row = rowOf(head, at, length);
  const isSeen = (j) => row[j] > 0 || j === at;
  const scores = dots.map((sum, j) => (isSeen(j) ? sum / Math.sqrt(size) + bias(j) : null));
  const top = Math.max(...scores.filter((score) => score !== null));
  const parts = scores.map((score) => (score === null ? 0 : Math.exp(score - top)));
  return {
    query,
    key,
    value,
    mixed,
    size,
    products: query.map((x, d) => x * key[d]),
    dot: dots[to],
    bias: head.bias ? bias(to) : null,
    score: scores[to],
    scores,
    top,
    part: parts[to],
    total: parts.reduce((a, b) => a + b),
    weight: row[to],
  };
}
