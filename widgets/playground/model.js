// The playground's model: a small transformer whose every part can be left out, without biases, gains
// and dropout. gradient.js goes back.

import {attend, gelu, linear, rmsNormalize, rotate, sum} from "../lib/layers.js";
import {TASKS} from "./tasks.js";

/** What a model is made of: {task, layers, heads, width, positions, mask, scale, norm, mlp}. */

/** Where each matrix stands in the one list of all numbers: [{name, from, rows, columns, spread}]. */
export function planOf({task, layers, width, positions, mlp}) {
  const {symbols, length, answers, questions} = TASKS[task];
  const plan = [];
  const add = (name, rows, columns, spread = 1 / Math.sqrt(columns)) => {
    // browsers round ** differently
    const last = plan[plan.length - 1];
    plan.push({name, from: last ? last.from + last.rows * last.columns : 0, rows, columns, spread});
  };
  add("embedding", symbols.length, width, 1);
  if (positions === "learned") add("places", length, width, task === "recall" ? 0.5 : 1);
  for (let i = 0; i < layers; i += 1) {
    for (const part of ["query", "key", "value", "out"]) add(`${i}.${part}`, width, width);
    if (mlp) add(`${i}.into`, 4 * width, width);
    if (mlp) add(`${i}.back`, width, 4 * width);
  }
  add("unembedding", questions.length * answers.length, width, 0.5 / Math.sqrt(width));
  return plan;
}

export const countOf = (spec) =>
  planOf(spec).reduce((count, {rows, columns}) => count + rows * columns, 0);

/** All numbers of an untrained model, by chance. */
export function numbersOf(spec, chance) {
  const numbers = new Float64Array(countOf(spec));
  for (const {from, rows, columns, spread} of planOf(spec)) {
    for (let i = from; i < from + rows * columns; i += 1) numbers[i] = chance.normal() * spread;
  }
  return numbers;
}

/** The matrices by name, as views of `numbers`: {name: {weight, bias: null}}. */
export const viewsOf = (spec, numbers) =>
  Object.fromEntries(
    planOf(spec).map(({name, from, rows, columns}) => [
      name,
      {weight: numbers.subarray(from, from + rows * columns), bias: null},
    ]),
  );

const normed = (x, {norm, width}) => (norm ? rmsNormalize(x, width) : x);

/** Each row of symbols apart: part(row's slice) → for each name its pieces, put together again. */
export function perRow(rows, size, make) {
  const found = Array.from({length: rows}, (_, row) =>
    make(row, (x) => x.subarray(row * size, (row + 1) * size)),
  );
  const joined = {};
  for (const name of Object.keys(found[0])) {
    if (!ArrayBuffer.isView(found[0][name])) continue;
    joined[name] = new Float64Array(rows * size);
    found.forEach((one, row) => joined[name].set(one[name], row * size));
  }
  return {found, joined};
}

/**
 * Forward over rows of symbols, with all that the way back needs:
 * {logits, layers: [{weights: for each row, of each head a flat map, …}], …}.
 * off: heads as [layer, head], counted from 0, that write nothing.
 */
export function forward(spec, views, tokens, off = []) {
  const {width: E, heads, positions} = spec;
  const {length: L} = TASKS[spec.task];
  const rows = tokens.length / L;
  const start = new Float64Array(tokens.length * E);
  tokens.forEach((token, i) => {
    for (let e = 0; e < E; e += 1) {
      start[i * E + e] =
        views.embedding.weight[token * E + e] +
        (positions === "learned" ? views.places.weight[(i % L) * E + e] : 0);
    }
  });
  const options = {heads, isCausal: spec.mask, isScaled: spec.scale};
  const turn = (x) => (positions === "rotary" ? rotate(x, 0, E, E / heads) : x);
  let x = start;
  const layers = Array.from({length: spec.layers}, (_, i) => {
    const matrix = (name) => views[`${i}.${name}`];
    const isOff = (head) => off.some(([layer, one]) => layer === i && one === head);
    const read = normed(x, spec);
    const [plainQuery, plainKey, value] = ["query", "key", "value"].map((name) =>
      linear(read, tokens.length, matrix(name)),
    );
    const {found, joined} = perRow(rows, L * E, (_, slice) => {
      const [query, key] = [turn(slice(plainQuery)), turn(slice(plainKey))];
      return {query, key, ...attend(query, key, slice(value), L, L, E, options, isOff)};
    });
    /** @type {Record<string, any>} what the way back needs, and more with an MLP */
    const kept = {x, read, ...joined, value, weights: found.map(({weights}) => weights)};
    x = kept.middle = sum(x, linear(kept.output, tokens.length, matrix("out")));
    if (spec.mlp) {
      kept.calm = normed(x, spec);
      kept.wide = linear(kept.calm, tokens.length, matrix("into"));
      kept.units = kept.wide.map(gelu);
      x = sum(x, linear(kept.units, tokens.length, matrix("back")));
    }
    return kept;
  });
  const last = normed(x, spec);
  return {tokens, rows, layers, x, last, logits: linear(last, tokens.length, views.unembedding)};
}

/** Which of `count` numbers from `from` on is the largest; of equal ones, the first. */
export function largest(numbers, from, count) {
  let best = 0;
  for (let i = 1; i < count; i += 1) if (numbers[from + i] > numbers[from + best]) best = i;
  return best;
}
