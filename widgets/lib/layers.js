// What a transformer's layers compute. Matrices are flat Float64Arrays, row by row.

export const sum = (a, b) => a.map((x, i) => x + b[i]);
// GPT-2's GELU, 0.5 x (1 + tanh(z)), in the form that costs one exponential.
export const gelu = (x) => x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));

/** x Wᵀ + bias for the `rows` of x. */
export function linear(x, rows, {weight, bias}) {
  const y = new Float64Array(rows * bias.length);
  if (rows === 1) one(x, weight, bias, y);
  else many(x, rows, weight, bias, y);
  return y;
}

/** Four rows at a time, so that a weight read once serves four. */
function many(x, rows, weight, bias, y) {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const last = rows - 1;
  for (let a = 0; a < rows; a += 4) {
    const b = Math.min(a + 1, last); // the last row may come twice
    const c = Math.min(a + 2, last);
    const d = Math.min(a + 3, last);
    for (let o = 0; o < outputs; o += 1) {
      const start = o * inputs;
      let p = bias[o], q = p, s = p, t = p;
      for (let i = 0; i < inputs; i += 1) {
        const w = weight[start + i];
        p += w * x[a * inputs + i];
        q += w * x[b * inputs + i];
        s += w * x[c * inputs + i];
        t += w * x[d * inputs + i];
      }
      y[a * outputs + o] = p;
      y[b * outputs + o] = q;
      y[c * outputs + o] = s;
      y[d * outputs + o] = t;
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
    let p = bias[a], q = bias[b], s = bias[c], t = bias[d];
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
    const position = first + Math.floor(at / width);
    const angle = way * position / 10000 ** ((at % size) / size);
    const cos = Math.cos(angle);
    const sin = Math.sin(angle);
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
    for (let i = 0; i < width; i += 1) y[row + i] = (x[row + i] - mean) * scale * norm.weight[i] + norm.bias[i];
  }
  return y;
}

/**
 * softmax(QKᵀ / √D + bias) V in every head, heads side by side. The `count` queries are the last of
 * the `length` tokens whose keys and values there are; weights are (count, length) for each head.
 */
export function attend(query, key, value, count, length, E, {heads, relative, reach, isCausal}, isOff) {
  const D = E / heads;
  const scale = 1 / Math.sqrt(D);
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
        for (let d = head * D; d < head * D + D; d += 1) output[i * E + d] += row[j] * value[j * E + d];
      }
    }
  });
  return {output, weights};
}

function softmax(row) {
  const top = row.reduce((a, b) => Math.max(a, b));
  let total = 0;
  for (let j = 0; j < row.length; j += 1) total += row[j] = Math.exp(row[j] - top);
  for (let j = 0; j < row.length; j += 1) row[j] /= total;
}
