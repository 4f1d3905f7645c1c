// What a transformer's layers compute. Matrices are flat Float64Arrays, row by row. lib/backward.js goes back.

import {exp, rotation} from "./exact.js";

export function sum(a, b) {
  const both = new Float64Array(a.length);
  for (let i = 0; i < a.length; i += 1) both[i] = a[i] + b[i];
  return both;
}
// GPT-2's GELU, 0.5 x (1 + tanh(z)), in the form that costs one exponential.
export const gelu = (x) => x / (1 + exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));

/** x Wᵀ + bias for the `rows` of x; bias null: none. */
export function linear(x, rows, {weight, bias}) {
  const given = bias ?? new Float64Array((weight.length * rows) / x.length);
  const y = new Float64Array(rows * given.length);
  if (rows === 1) one(x, weight, given, y);
  else many(x, rows, weight, given, y);
  return y;
}

/** Four rows by two outputs at a time, so that a number read once serves several. */
function many(x, rows, weight, bias, y) {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const last = rows - 1;
  for (let row = 0; row < rows; row += 4) {
    const below = [row, Math.min(row + 1, last), Math.min(row + 2, last), Math.min(row + 3, last)]; // the last may come twice
    const a = below[0] * inputs;
    const b = below[1] * inputs;
    const c = below[2] * inputs;
    const d = below[3] * inputs;
    for (let o = 0; o < outputs; o += 2) {
      const next = Math.min(o + 1, outputs - 1);
      const one = o * inputs;
      const two = next * inputs;
      let p = bias[o],
        q = p,
        s = p,
        t = p;
      let e = bias[next],
        f = e,
        g = e,
        h = e;
      for (let i = 0; i < inputs; i += 1) {
        p += weight[one + i] * x[a + i];
        q += weight[one + i] * x[b + i];
        s += weight[one + i] * x[c + i];
        t += weight[one + i] * x[d + i];
        e += weight[two + i] * x[a + i];
        f += weight[two + i] * x[b + i];
        g += weight[two + i] * x[c + i];
        h += weight[two + i] * x[d + i];
      }
      y[below[0] * outputs + o] = p;
      y[below[1] * outputs + o] = q;
      y[below[2] * outputs + o] = s;
      y[below[3] * outputs + o] = t;
      y[below[0] * outputs + next] = e;
      y[below[1] * outputs + next] = f;
      y[below[2] * outputs + next] = g;
      y[below[3] * outputs + next] = h;
    }
  }
}

/** One row: four outputs at a time, whose sums don't wait for one another. */
function one(x, weight, bias, y) {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const last = outputs - 1;
  for (let a = 0; a < outputs; a += 4) {
    const b = Math.min(a + 1, last);
    const c = Math.min(a + 2, last);
    const d = Math.min(a + 3, last);
    let p = bias[a],
      q = bias[b],
      s = bias[c],
      t = bias[d];
    for (let i = 0; i < inputs; i += 1) {
      const number = x[i];
      p += weight[a * inputs + i] * number;
      q += weight[b * inputs + i] * number;
      s += weight[c * inputs + i] * number;
      t += weight[d * inputs + i] * number;
    }
    y[a] = p;
    y[b] = q;
    y[c] = s;
    y[d] = t;
  }
}

/** Turns each pair of neighbours in every head by an angle that grows with its position; way -1: back. */
export function rotate(x, first, width, size, way = 1) {
  const y = new Float64Array(x.length);
  for (let at = 0; at < x.length; at += 2) {
    const turn = rotation(first + Math.floor(at / width), size);
    const cos = turn.cos[(at % size) / 2];
    const sin = way * turn.sin[(at % size) / 2];
    y[at] = x[at] * cos - x[at + 1] * sin;
    y[at + 1] = x[at] * sin + x[at + 1] * cos;
  }
  return y;
}

/** Layer norm of each row; where a model has none, the rows themselves. */
export function normalize(x, width, norm) {
  if (!norm) return x;
  const y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let [mean, square] = [0, 0];
    for (let i = 0; i < width; i += 1) mean += x[row + i] / width;
    for (let i = 0; i < width; i += 1) square += (x[row + i] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(square + 1e-5);
    for (let i = 0; i < width; i += 1)
      y[row + i] = (x[row + i] - mean) * scale * norm.weight[i] + norm.bias[i];
  }
  return y;
}

/** Each row divided by the root of its mean square: RMS norm without a gain. */
export function rmsNormalize(x, width) {
  const y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let square = 0;
    for (let i = row; i < row + width; i += 1) square += (x[i] * x[i]) / width;
    const scale = 1 / Math.sqrt(square + 1e-5);
    for (let i = row; i < row + width; i += 1) y[i] = x[i] * scale;
  }
  return y;
}

/**
 * softmax(QKᵀ / √D + bias) V in every head, heads side by side. The `count` queries are the last of
 * the `length` tokens whose keys and values there are; weights are (count, length) for each head.
 * isScaled false: without the division by √D.
 */
export function attend(
  query,
  key,
  value,
  count,
  length,
  E,
  {heads, relative, reach, isCausal, isScaled = true},
  isOff,
) {
  const D = E / heads;
  const scale = isScaled ? 1 / Math.sqrt(D) : 1;
  const first = length - count;
  const output = new Float64Array(count * E);
  const weights = Array.from({length: heads}, () => new Float64Array(count * length));
  weights.forEach((weight, head) => {
    if (isOff(head)) return;
    for (let i = 0; i < count; i += 1) {
      const end = isCausal ? first + i + 1 : length;
      const row = weight.subarray(i * length, i * length + end);
      for (let j = 0; j < end; j += 1) {
        let score = 0;
        for (let d = head * D; d < head * D + D; d += 1) score += query[i * E + d] * key[j * E + d];
        const bias = relative ? relative[head * (2 * reach + 1) + reach + j - first - i] : 0;
        row[j] = score * scale + bias;
      }
      softmax(row);
      for (let j = 0; j < end; j += 1) {
        for (let d = head * D; d < head * D + D; d += 1)
          output[i * E + d] += row[j] * value[j * E + d];
      }
    }
  });
  return {output, weights};
}

function softmax(row) {
  const top = row.reduce((a, b) => Math.max(a, b));
  let total = 0;
  for (let j = 0; j < row.length; j += 1) total += row[j] = exp(row[j] - top);
  for (let j = 0; j < row.length; j += 1) row[j] /= total;
}
