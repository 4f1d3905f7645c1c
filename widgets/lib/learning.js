// One step of training in plain JavaScript: the gradient of a text's loss with respect to every number
// of a causal model of lib/transformer.js, backwards through what it computes. PyTorch's, by test.

import {backAttend, backLinear, backNorm, crossEntropy, geluSlope} from "./backward.js";
import {attend, gelu, linear, normalize, rotate, sum} from "./layers.js";
import {modelOf} from "./transformer.js";

/**
 * {losses, loss, gradient} of a text: what each token but the last guesses of the next, in nats; their
 * mean; and the gradient of the mean, in the form of model.parameters.
 */
export function gradientOf(model, tokens) {
  const {config, parameters} = model;
  const isKnown =
    config.is_causal &&
    ["learned", "rotary"].includes(config.positions) &&
    !config.raw_values.includes(true);
  if (!isKnown)
    throw new Error("a step is known only for causal models of learned or rotary positions");
  if (tokens.length < 2) throw new Error("to learn from a text, it takes two tokens");
  const read = tokens.slice(0, -1);
  const gradient = emptyLike(parameters);
  const {rows, layers, x} = forward(config, parameters, read);
  const [L, E] = [read.length, config.embed_dim];

  const last = normalize(x, E, parameters.norm);
  const {losses, dLogits} = crossEntropy(linear(last, L, parameters.unembedding), tokens.slice(1));
  let dx = backLinear(dLogits, last, L, parameters.unembedding, gradient.unembedding);
  dx = backNorm(dx, x, E, parameters.norm, gradient.norm);
  for (let i = layers.length - 1; i >= 0; i -= 1) {
    dx = backLayer(
      dx,
      layers[i],
      L,
      config,
      parameters.layers[i],
      gradient.layers[i],
      config.num_heads[i],
    );
  }
  rows.forEach((id, row) => {
    for (let e = 0; e < E; e += 1) {
      gradient.embedding[id * E + e] += dx[row * E + e];
      if (gradient.places) gradient.places[row * E + e] += dx[row * E + e];
    }
  });
  return {losses, loss: losses.reduce((a, b) => a + b) / losses.length, gradient};
}

/** The model after one step of gradient descent on `tokens`: {model, loss and losses before it, change}. */
export function learnOnce(model, tokens, rate) {
  const {losses, loss, gradient} = gradientOf(model, tokens);
  const change = {count: 0, moved: 0, largest: 0};
  const seen = new Map();
  const parameters = mapNumbers(model.parameters, gradient, seen, (old, slope) =>
    old.map((x, i) => {
      const moved = x - rate * slope[i];
      change.count += 1;
      if (moved !== x) change.moved += 1;
      change.largest = Math.max(change.largest, Math.abs(moved - x));
      return moved;
    }),
  );
  return {model: modelOf(model.config, parameters), losses, loss, change};
}

// ---- Parameters ------------------------------------------------------------------------------

/** The same tree with every array replaced; one that stands in two places, such as the embedding, once. */
function mapNumbers(tree, other, seen, replace) {
  if (tree === null || typeof tree !== "object") return tree;
  if (!ArrayBuffer.isView(tree)) {
    const entries = Object.entries(tree).map(([key, value]) => [
      key,
      mapNumbers(value, other[key], seen, replace),
    ]);
    return Array.isArray(tree) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
  }
  if (!seen.has(tree)) seen.set(tree, replace(tree, other));
  return seen.get(tree);
}

const emptyLike = (tree) =>
  mapNumbers(tree, tree, new Map(), (array) => new Float64Array(array.length));

// ---- Forward, with all that the way back needs ---------------------------------------------------

function forward(config, {embedding, places, layers}, tokens) {
  const [L, E] = [tokens.length, config.embed_dim];
  let x = new Float64Array(L * E);
  tokens.forEach((id, row) => x.set(embedding.subarray(id * E, (id + 1) * E), row * E));
  if (places) x = sum(x, places.subarray(0, L * E));
  const passes = layers.map((layer, i) => {
    const heads = config.num_heads[i];
    const turn = (y) => (config.positions === "rotary" ? rotate(y, 0, E, E / heads) : y);
    const read = normalize(x, E, layer.norm);
    const [query, key] = [turn(linear(read, L, layer.query)), turn(linear(read, L, layer.key))];
    const value = linear(read, L, layer.value);
    const {output, weights} = attend(
      query,
      key,
      value,
      L,
      L,
      E,
      {heads, isCausal: true},
      () => false,
    );
    const middle = sum(x, linear(output, L, layer.out));
    const pass = {x, read, query, key, value, output, weights, middle};
    x = middle;
    if (layer.mlp) {
      pass.calm = normalize(middle, E, layer.mlp.norm);
      pass.wide = linear(pass.calm, L, layer.mlp.into);
      pass.units = pass.wide.map(gelu);
      x = sum(middle, linear(pass.units, L, layer.mlp.out));
    }
    return pass;
  });
  return {rows: tokens, layers: passes, x};
}

// ---- Backwards -------------------------------------------------------------------------------

function backLayer(dx, pass, L, config, layer, gradient, heads) {
  const E = config.embed_dim;
  let dMiddle = dx;
  if (layer.mlp) {
    const dUnits = backLinear(dx, pass.units, L, layer.mlp.out, gradient.mlp.out);
    const dWide = dUnits.map((slope, i) => slope * geluSlope(pass.wide[i]));
    const dCalm = backLinear(dWide, pass.calm, L, layer.mlp.into, gradient.mlp.into);
    dMiddle = sum(dx, backNorm(dCalm, pass.middle, E, layer.mlp.norm, gradient.mlp.norm));
  }
  const dOutput = backLinear(dMiddle, pass.output, L, layer.out, gradient.out);
  const {dQuery, dKey, dValue} = backAttend(dOutput, pass, L, E, {heads, isCausal: true});
  const turnBack = (y) => (config.positions === "rotary" ? rotate(y, 0, E, E / heads, -1) : y);
  const parts = [
    [turnBack(dQuery), "query"],
    [turnBack(dKey), "key"],
    [dValue, "value"],
  ];
  const dRead = parts
    .map(([slope, name]) => backLinear(slope, pass.read, L, layer[name], gradient[name]))
    .reduce(sum);
  return sum(dMiddle, backNorm(dRead, pass.x, E, layer.norm, gradient.norm));
}
