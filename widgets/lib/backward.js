// The way back through what lib/layers.js computes: the gradient of a loss. PyTorch's, by test.
// Each function takes the gradient of what came out, and returns that of what went in; that of the
// numbers on the way is added to the last argument.

import {exp, log} from "./exact.js";

/**
 * {losses, dLogits} of rows of logits; the loss is the mean over the rows that have a target, which
 * the others lack: theirs is −1.
 */
export function crossEntropy(logits, targets) {
  const width = logits.length / targets.length;
  const dLogits = new Float64Array(logits.length);
  const asked = targets.reduce((count, target) => count + (target >= 0 ? 1 : 0), 0);
  const losses = targets.map((target, row) => {
    if (target < 0) return 0;
    const scores = logits.subarray(row * width, (row + 1) * width);
    const slopes = dLogits.subarray(row * width, (row + 1) * width);
    const top = scores.reduce((a, b) => Math.max(a, b));
    let total = 0;
    for (let i = 0; i < width; i += 1) total += slopes[i] = exp(scores[i] - top);
    for (let i = 0; i < width; i += 1)
      slopes[i] = (slopes[i] / total - (i === target ? 1 : 0)) / asked;
    return top + log(total) - scores[target];
  });
  return {losses, dLogits};
}

export function backLinear(dy, x, rows, {weight, bias}, gradient) {
  const outputs = dy.length / rows;
  const inputs = weight.length / outputs;
  for (let o = 0; bias && o < outputs; o += 1) {
    for (let at = o; at < dy.length; at += outputs) gradient.bias[o] += dy[at];
  }
  addProducts(dy, x, rows, outputs, inputs, gradient.weight);
  return product(dy, weight, rows, outputs, inputs);
}

/** Adds dyᵀ x to `slopes`: four outputs by two inputs at a time, whose sums a processor keeps at hand. */
function addProducts(dy, x, rows, outputs, inputs, slopes) {
  const last = outputs - 1;
  for (let o = 0; o < outputs; o += 4) {
    const b = Math.min(o + 1, last); // the last may come twice
    const c = Math.min(o + 2, last);
    const d = Math.min(o + 3, last);
    for (let i = 0; i < inputs; i += 2) {
      const j = Math.min(i + 1, inputs - 1);
      let p = 0,
        q = 0,
        s = 0,
        t = 0,
        u = 0,
        v = 0,
        w = 0,
        z = 0;
      for (let row = 0, at = 0, from = 0; row < rows; row += 1, at += inputs, from += outputs) {
        const one = x[at + i];
        const two = x[at + j];
        p += dy[from + o] * one;
        q += dy[from + o] * two;
        s += dy[from + b] * one;
        t += dy[from + b] * two;
        u += dy[from + c] * one;
        v += dy[from + c] * two;
        w += dy[from + d] * one;
        z += dy[from + d] * two;
      }
      const isTwo = j > i;
      add(slopes, o * inputs + i, p, q, isTwo);
      if (b > o) add(slopes, b * inputs + i, s, t, isTwo);
      if (c > b) add(slopes, c * inputs + i, u, v, isTwo);
      if (d > c) add(slopes, d * inputs + i, w, z, isTwo);
    }
  }
}

function add(numbers, at, one, two, isTwo) {
  numbers[at] += one;
  if (isTwo) numbers[at + 1] += two;
}

/** dy W: two rows by four inputs at a time. */
function product(dy, weight, rows, outputs, inputs) {
  const dx = new Float64Array(rows * inputs);
  const last = inputs - 1;
  for (let row = 0; row < rows; row += 2) {
    const from = row * outputs;
    const next = row + 1 < rows ? from + outputs : from; // the last row may come twice
    const to = row * inputs;
    const below = row + 1 < rows ? to + inputs : to;
    for (let i = 0; i < inputs; i += 4) {
      const b = Math.min(i + 1, last);
      const c = Math.min(i + 2, last);
      const d = Math.min(i + 3, last);
      let p = 0,
        q = 0,
        s = 0,
        t = 0,
        u = 0,
        v = 0,
        w = 0,
        z = 0;
      for (let o = 0, at = 0; o < outputs; o += 1, at += inputs) {
        const one = dy[from + o];
        const two = dy[next + o];
        p += one * weight[at + i];
        q += one * weight[at + b];
        s += one * weight[at + c];
        t += one * weight[at + d];
        u += two * weight[at + i];
        v += two * weight[at + b];
        w += two * weight[at + c];
        z += two * weight[at + d];
      }
      dx[to + i] = p;
      dx[to + b] = q;
      dx[to + c] = s;
      dx[to + d] = t;
      dx[below + i] = u;
      dx[below + b] = v;
      dx[below + c] = w;
      dx[below + d] = z;
    }
  }
  return dx;
}

/** Through lib/layers.js's rmsNormalize of x, which gave y. */
export function backRms(dy, x, y, width) {
  const dx = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let [square, along] = [0, 0];
    for (let i = row; i < row + width; i += 1) {
      square += (x[i] * x[i]) / width;
      along += (dy[i] * y[i]) / width;
    }
    const scale = 1 / Math.sqrt(square + 1e-5);
    for (let i = row; i < row + width; i += 1) dx[i] = (dy[i] - y[i] * along) * scale;
  }
  return dx;
}

export function backNorm(dy, x, width, norm, gradient) {
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
      along += (slope * normal) / width;
    }
    for (let i = 0; i < width; i += 1) {
      dx[row + i] =
        (dy[row + i] * norm.weight[i] - flat - (x[row + i] - mean) * scale * along) * scale;
    }
  }
  return dx;
}

export const geluSlope = (x) => {
  const share = 1 / (1 + exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
  return share + x * share * (1 - share) * 2 * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * x * x);
};

/** Through lib/layers.js's attend, from what it took and the weights that it gave. */
export function backAttend(
  dOutput,
  {query, key, value, weights},
  L,
  E,
  {heads, isCausal, isScaled = true},
) {
  const D = E / heads;
  const scale = isScaled ? 1 / Math.sqrt(D) : 1;
  const [dQuery, dKey, dValue] = [query, key, value].map((x) => new Float64Array(x.length));
  const slopes = new Float64Array(L);
  weights.forEach((flat, head) => {
    for (let i = 0; i < L; i += 1) {
      const end = isCausal ? i + 1 : L;
      const [from, to] = [i * E + head * D, i * E + head * D + D];
      let mean = 0;
      for (let j = 0; j < end; j += 1) {
        const weight = flat[i * L + j];
        const shift = (j - i) * E;
        let slope = 0;
        for (let d = from; d < to; d += 1) {
          slope += dOutput[d] * value[d + shift];
          dValue[d + shift] += weight * dOutput[d];
        }
        slopes[j] = slope;
        mean += weight * slope;
      }
      for (let j = 0; j < end; j += 1) {
        const dScore = flat[i * L + j] * (slopes[j] - mean) * scale;
        const shift = (j - i) * E;
        for (let d = from; d < to; d += 1) {
          dQuery[d] += dScore * key[d + shift];
          dKey[d + shift] += dScore * query[d];
        }
      }
    }
  });
  return {dQuery, dKey, dValue};
}
