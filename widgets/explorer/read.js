// Everything that the explorer shows of a model and a text, in a form that a worker can post.

import {linear, normalize, sum} from "../lib/layers.js";
import {shares} from "../lib/storyteller.js";
import {wordsOf} from "./words.js";

export const MOST = 48; // tokens
const [GUESSES, GROUP] = [5, 8];

/**
 * A function ({text, off, temperature}) → the reading of a text:
 * text, off, temperature   as asked; `off` has heads as pairs [layer, head], counted from 0
 * pieces, causal           the tokens' texts; whether each sees only what came before
 * heads     of all layers, one after the other: {layer, head, size, isOff, weights: rows of all tokens,
 *           query, key, value, mixed: rows of `size` numbers, bias: of each distance, or null}, all flat
 * stream    [stage]: the residual stream, flat: before the first layer, then after each
 * reads     [layer]: {placed, values}, flat: what its queries and keys, and its values, are made of
 * units     [layer]: of each token the strongest of every eight units of the MLP, flat; or null
 * guesses   [stage][token]: [{text, share}], what the stream would guess there; in the last stage
 *           also `without`, the share with all heads on, where some are off
 * truth     [token]: {text, share, rank, loss, without} of what comes next; in a model that sees
 *           both ways, of the token itself where it alone is hidden; null where nothing is to be guessed
 * loss, lossWithout        the mean of the losses, and with all heads on; null where there is none
 * whole     [token]: {text, share, now}, the first guess with all heads on; null where all are on
 * pushes    [token]: how far each part moves the first guess, against the average word:
 *           {start, heads, mlps, rest}, whose sum is its logit less the mean of all
 * Throws an Error to show.
 */
export function explorerReader(model, kind) {
  const {config, parameters} = model;
  const words = wordsOf(model, kind, Math.min(MOST, config.max_len));
  const runs = new Map(); // the last ones, by text and heads off

  function runOf(text, off) {
    const key = JSON.stringify([text, off]);
    if (!runs.has(key)) {
      const ids = words.tokens(text);
      const found = model.run(ids, {off});
      if (runs.size > 3) runs.delete(runs.keys().next().value);
      runs.set(key, {ids, ...found, lens: found.residual.map((rows) => logitsOf(rows)), asked: asked(ids, off, found)});
    }
    return runs.get(key);
  }

  /** Of each token the logits by which it is guessed: of a model that sees both ways, while it is hidden. */
  function asked(ids, off, {logits}) {
    if (config.is_causal) return logits;
    const mask = config.vocabulary.indexOf("[mask]");
    return ids.map((_, i) => model.run(ids.map((id, j) => (j === i ? mask : id)), {off}).logits[i]);
  }

  function logitsOf(rows) {
    const flat = linear(normalize(flatten(rows), config.embed_dim, parameters.norm), rows.length, parameters.unembedding);
    return rows.map((_, i) => flat.subarray(i * config.vocabulary.length, (i + 1) * config.vocabulary.length));
  }

  function guessesOf(logits, temperature, before) {
    const share = shares(logits, temperature);
    const all = before && shares(before, temperature);
    return top(share, GUESSES).filter((id) => share[id] > 0).map((id) => ({text: words.text(id), share: share[id], ...(all && {without: all[id]})}));
  }

  function wholeOf(logits, before, temperature) {
    const all = shares(before, temperature);
    const [id] = top(all, 1);
    return {text: words.text(id), share: all[id], now: shares(logits, temperature)[id]};
  }

  function truthOf(run, i, before) {
    const target = config.is_causal ? run.ids[i + 1] : run.ids[i];
    if (target === undefined || /^\[(mask|pad)\]$/.test(words.text(target))) return null;
    const chances = shares(run.asked[i]);
    const share = chances[target];
    return {
      text: words.text(target), share, rank: 1 + chances.reduce((count, other) => count + (other > share), 0),
      loss: -Math.log(share), ...(before && {without: shares(before.asked[i])[target]})
    };
  }

  return ({text, off = [], temperature = 1}) => {
    const run = runOf(text, off);
    const before = off.length ? runOf(text, []) : null;
    const last = run.lens.length - 1;
    const truth = run.ids.map((_, i) => truthOf(run, i, before));
    return {
      text, off, temperature,
      pieces: words.pieces(run.ids), causal: config.is_causal,
      heads: headsOf(run, model, off),
      stream: run.residual.map((rows) => float(flatten(rows))),
      reads: readsOf(run, model),
      units: run.inner.length ? run.inner.map((rows) => float(flatten(rows.map(strongest)))) : null,
      guesses: run.lens.map((rows, stage) => rows.map((logits, i) =>
        guessesOf(logits, temperature, stage === last ? before?.lens[last][i] : null))),
      truth,
      loss: mean(truth.filter(Boolean).map((one) => one.loss)),
      lossWithout: before && mean(truth.filter(Boolean).map((one) => -Math.log(one.without))),
      whole: before && run.ids.map((_, i) => wholeOf(run.logits[i], before.logits[i], temperature)),
      pushes: run.ids.map((_, i) => pushesOf(run, i, model))
    };
  };
}

/** The matrices of every layer that make queries, keys and values, for a page to show. */
export const matricesOf = ({parameters: {layers}}) => layers.map((layer) => Object.fromEntries(["query", "key", "value"].map((part) =>
  [part, {weight: float(layer[part].weight), bias: float(layer[part].bias)}])));

function readsOf({residual, ids}, {config: {embed_dim: E, raw_values: raw, positions}, parameters: {embedding, layers, places}}) {
  const words = () => flatten(ids.map((id) => embedding.subarray(id * E, (id + 1) * E)));
  return layers.map(({norm}, layer) => {
    const read = normalize(flatten(residual[layer]), E, norm);
    const placed = positions === "query-key" ? sum(read, places) : read;
    return {placed: float(placed), values: float(raw[layer] ? words() : read)};
  });
}

function headsOf(run, {config: {embed_dim: E, max_len: longest, num_heads: counts}, parameters}, off) {
  const L = run.ids.length;
  return counts.flatMap((count, layer) => Array.from({length: count}, (_, head) => {
    const size = E / count;
    const cut = (rows) => float(flatten(rows.map((row) => row.subarray(head * size, (head + 1) * size))));
    const [query, key, value, mixed] = ["query", "key", "value", "mixed"].map((part) => cut(run[part][layer]));
    const {relative} = parameters.layers[layer];
    const reach = Math.max(1, longest - 1);
    const middle = head * (2 * reach + 1) + reach; // of the distance 0
    return {
      layer, head, size, isOff: off.some(([a, b]) => a === layer && b === head),
      weights: float(flatten(run.weights[layer][head])), query, key, value, mixed,
      bias: relative && float(relative.slice(middle - L + 1, middle + L))
    };
  }));
}

/** What each part adds to the first guess's logit, less what it adds to all on average. */
function pushesOf(run, i, {config: {embed_dim: E, num_heads: counts, vocabulary}, parameters: {embedding, unembedding, norm, layers}}) {
  const guess = top(run.logits[i], 1)[0];
  const way = new Float64Array(E);
  for (let id = 0; id < vocabulary.length; id += 1) {
    for (let e = 0; e < E; e += 1) way[e] -= embedding[id * E + e] / vocabulary.length;
  }
  for (let e = 0; e < E; e += 1) way[e] += embedding[guess * E + e];
  let rest = unembedding.bias[guess] - mean([...unembedding.bias]);
  const end = run.residual[run.residual.length - 1][i];
  if (norm) {
    const middle = mean([...end]);
    const scale = 1 / Math.sqrt(mean(Array.from(end, (x) => (x - middle) ** 2)) + 1e-5);
    rest += dot(way, norm.bias);
    for (let e = 0; e < E; e += 1) way[e] *= norm.weight[e] * scale;
    const level = mean([...way]); // the norm takes the mean away first
    for (let e = 0; e < E; e += 1) way[e] -= level;
  }
  const heads = counts.flatMap((count, n) => {
    const {weight, bias} = layers[n].out;
    rest += dot(way, bias);
    const size = E / count;
    return Array.from({length: count}, (_, head) => {
      let push = 0;
      for (let e = 0; e < E; e += 1) {
        for (let d = head * size; d < (head + 1) * size; d += 1) push += way[e] * weight[e * E + d] * run.mixed[n][i][d];
      }
      return push;
    });
  });
  const mlps = run.inner.map((_, n) => dot(way, run.residual[n + 1][i]) - dot(way, run.middle[n][i]));
  return {start: dot(way, run.residual[0][i]), heads, mlps, rest};
}

const dot = (a, b) => a.reduce((all, x, i) => all + x * b[i], 0);
const mean = (numbers) => (numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : null);
const float = (numbers) => Float32Array.from(numbers);
const top = (numbers, count) => Array.from(numbers.keys()).sort((a, b) => numbers[b] - numbers[a] || a - b).slice(0, count);

function flatten(rows) {
  const flat = new Float64Array(rows.length * rows[0].length);
  rows.forEach((row, i) => flat.set(row, i * row.length));
  return flat;
}

/** Of each group of units the strongest answer. */
const strongest = (units) => Float64Array.from({length: Math.ceil(units.length / GROUP)}, (_, i) =>
  units.subarray(i * GROUP, (i + 1) * GROUP).reduce((a, b) => Math.max(a, b)));
