// One step of training in plain JavaScript: the gradient of a text's loss with respect to every number
// of a causal model of lib/transformer.js, backwards through what it computes. PyTorch's, by test.

import {attend, gelu, linear, normalize, rotate, sum} from "./layers.js";
import {modelOf} from "./transformer.js";

/**
 * {losses, loss, gradient} of a text: what each token but the last guesses of the next, in nats; their
 * mean; and the gradient of the mean, in the form of model.parameters.
 */
export function gradientOf(model, tokens) {
  const {config, parameters} = model;
  const isKnown = config.is_causal && ["learned", "rotary"].includes(config.positions) && !config.raw_values.includes(true);
  if (!isKnown) throw new Error("a step is known only for causal models of learned or rotary positions");
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
    dx = backLayer(dx, layers[i], L, config, parameters.layers[i], gradient.layers[i], config.num_heads[i]);
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
  const parameters = mapNumbers(model.parameters, gradient, seen, (old, slope) => old.map((x, i) => {
    const moved = x - rate * slope[i];
    change.count += 1;
    if (moved !== x) change.moved += 1;
    change.largest = Math.max(change.largest, Math.abs(moved - x));
    return moved;
  }));
  return {model: modelOf(model.config, parameters), losses, loss, change};
}

// ---- Parameters ------------------------------------------------------------------------------

/** The same tree with every array replaced; one that stands in two places, such as the embedding, once. */
function mapNumbers(tree, other, seen, replace) {
  if (tree === null || typeof tree !== "object") return tree;
  if (!ArrayBuffer.isView(tree)) {
    const entries = Object.entries(tree).map(([key, value]) => [key, mapNumbers(value, other[key], seen, replace)]);
    return Array.isArray(tree) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
  }
  if (!seen.has(tree)) seen.set(tree, replace(tree, other));
  return seen.get(tree);
}

const emptyLike = (tree) => mapNumbers(tree, tree, new Map(), (array) => new Float64Array(array.length));

// ---- Forward, with all that the way back needs ---------------------------------------------------

function forward(config, {embedding, places, layers}, tokens) {
  const [L, E] = [tokens.length, config.embed_dim];
  let x = new Float64Array(L * E);
  tokens.forEach((id, row) => x.set(embedding.subarray(id * E, (id + 1) * E), row * E));
  if (places) x = sum(x, places.subarray(0, L * E));
  const kept = layers.map((layer, i) => {
    const heads = config.num_heads[i];
    const turn = (y) => (config.positions === "rotary" ? rotate(y, 0, E, E / heads) : y);
    const read = normalize(x, E, layer.norm);
    const [query, key] = [turn(linear(read, L, layer.query)), turn(linear(read, L, layer.key))];
    const value = linear(read, L, layer.value);
    const {output, weights} = attend(query, key, value, L, L, E, {heads, isCausal: true}, () => false);
    const middle = sum(x, linear(output, L, layer.out));
    const found = {x, read, query, key, value, output, weights, middle};
    x = middle;
    if (layer.mlp) {
      found.calm = normalize(middle, E, layer.mlp.norm);
      found.wide = linear(found.calm, L, layer.mlp.into);
      found.units = found.wide.map(gelu);
      x = sum(middle, linear(found.units, L, layer.mlp.out));
    }
    return found;
  });
  return {rows: tokens, layers: kept, x};
}

// ---- Backwards -------------------------------------------------------------------------------
// Each takes the gradient of what came out, and returns that of what went in; that of the numbers on
// the way is added to the last argument.

function crossEntropy(logits, targets) {
  const width = logits.length / targets.length;
  const dLogits = new Float64Array(logits.length);
  const losses = targets.map((target, row) => {
    const scores = logits.subarray(row * width, (row + 1) * width);
    const top = scores.reduce((a, b) => Math.max(a, b));
    const total = scores.reduce((all, score) => all + Math.exp(score - top), 0);
    for (let i = 0; i < width; i += 1) {
      dLogits[row * width + i] = (Math.exp(scores[i] - top) / total - (i === target ? 1 : 0)) / targets.length;
    }
    return top + Math.log(total) - scores[target];
  });
  return {losses, dLogits};
}

function backLinear(dy, x, rows, {weight, bias}, gradient) {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const dx = new Float64Array(rows * inputs);
  for (let o = 0; o < outputs; o += 1) {
    const at = o * inputs;
    for (let row = 0; row < rows; row += 1) {
      const slope = dy[row * outputs + o];
      gradient.bias[o] += slope;
      for (let i = 0; i < inputs; i += 1) {
        dx[row * inputs + i] += slope * weight[at + i];
        gradient.weight[at + i] += slope * x[row * inputs + i];
      }
    }
  }
  return dx;
}

function backNorm(dy, x, width, norm, gradient) {
  if (!norm) return dy;
  const dx = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let [mean, square] = [0, 0];
    for (let i = 0; i < width; i += 1) mean += x[row + i] / width;
    for (let i = 0; i < width; i += 1) square += (x[row + i] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(square + 1e-5);
    let [flat, along] = [0, 0];
    for (let i = 0; i < width; i += 1) {
      const normal = (x[row + i] - mean) * scale;
      const slope = dy[row + i] * norm.weight[i];
      gradient.weight[i] += dy[row + i] * normal;
      gradient.bias[i] += dy[row + i];
      flat += slope / width;
      along += slope * normal / width;
    }
    for (let i = 0; i < width; i += 1) {
      dx[row + i] = (dy[row + i] * norm.weight[i] - flat - (x[row + i] - mean) * scale * along) * scale;
    }
  }
  return dx;
}

function backLayer(dx, found, L, config, layer, gradient, heads) {
  const E = config.embed_dim;
  let dMiddle = dx;
  if (layer.mlp) {
    const dUnits = backLinear(dx, found.units, L, layer.mlp.out, gradient.mlp.out);
    const dWide = dUnits.map((slope, i) => slope * geluSlope(found.wide[i]));
    const dCalm = backLinear(dWide, found.calm, L, layer.mlp.into, gradient.mlp.into);
    dMiddle = sum(dx, backNorm(dCalm, found.middle, E, layer.mlp.norm, gradient.mlp.norm));
  }
  const dOutput = backLinear(dMiddle, found.output, L, layer.out, gradient.out);
  const {dQuery, dKey, dValue} = backAttend(dOutput, found, L, E, heads);
  const turnBack = (y) => (config.positions === "rotary" ? rotate(y, 0, E, E / heads, -1) : y);
  const parts = [[turnBack(dQuery), "query"], [turnBack(dKey), "key"], [dValue, "value"]];
  const dRead = parts.map(([slope, name]) => backLinear(slope, found.read, L, layer[name], gradient[name])).reduce(sum);
  return sum(dMiddle, backNorm(dRead, found.x, E, layer.norm, gradient.norm));
}

const geluSlope = (x) => {
  const share = 1 / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
  return share + x * share * (1 - share) * 2 * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * x * x);
};

function backAttend(dOutput, {query, key, value, weights}, L, E, heads) {
  const D = E / heads;
  const scale = 1 / Math.sqrt(D);
  const [dQuery, dKey, dValue] = [query, key, value].map((x) => new Float64Array(x.length));
  weights.forEach((flat, head) => {
    for (let i = 0; i < L; i += 1) {
      const slopes = [];
      let mean = 0;
      for (let j = 0; j <= i; j += 1) {
        const weight = flat[i * L + j];
        let slope = 0;
        for (let d = head * D; d < head * D + D; d += 1) {
          slope += dOutput[i * E + d] * value[j * E + d];
          dValue[j * E + d] += weight * dOutput[i * E + d];
        }
        slopes.push(slope);
        mean += weight * slope;
      }
      for (let j = 0; j <= i; j += 1) {
        const dScore = flat[i * L + j] * (slopes[j] - mean) * scale;
        for (let d = head * D; d < head * D + D; d += 1) {
          dQuery[i * E + d] += dScore * key[j * E + d];
          dKey[j * E + d] += dScore * query[i * E + d];
        }
      }
    }
  });
  return {dQuery, dKey, dValue};
}
