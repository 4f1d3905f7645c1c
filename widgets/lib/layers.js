// What a transformer's layers compute. Matrices are flat Float64Arrays, row by row.

export const sum = (a, b) => a.map((x, i) => x + b[i]);
// GPT-2's GELU, 0.5 x (1 + tanh(z)), in the form that costs one exponential.
export const gelu = (x) => x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));

/** x Wᵀ + bias for the `rows` of x: four at a time, so that a weight read once serves four. */
export function linear(x, rows, {weight, bias}) {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const y = new Float64Array(rows * outputs);
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

/** softmax(QKᵀ / √D + bias) V in every head; queryKey (L, 2E), value (L, E), heads side by side. */
export function attend(queryKey, value, L, E, {heads, relative, reach, isCausal}, isOff) {
  const D = E / heads;
  const scale = 1 / Math.sqrt(D);
  const output = new Float64Array(L * E);
  const weights = Array.from({length: heads}, () => new Float64Array(L * L));
  weights.forEach((weight, head) => {
    if (isOff(head)) return;
    for (let i = 0; i < L; i += 1) {
      const end = isCausal ? i + 1 : L;
      const query = i * 2 * E + head * D;
      const row = weight.subarray(i * L, i * L + end);
      for (let j = 0; j < end; j += 1) {
        const key = j * 2 * E + E + head * D;
        let score = 0;
        for (let d = 0; d < D; d += 1) score += queryKey[query + d] * queryKey[key + d];
        const bias = relative ? relative[head * (2 * reach + 1) + reach + j - i] : 0;
        row[j] = score * scale + bias;
      }
      softmax(row);
      for (let j = 0; j < end; j += 1) {
        for (let d = 0; d < D; d += 1) output[i * E + head * D + d] += row[j] * value[j * E + head * D + d];
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
