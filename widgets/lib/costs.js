// What attention and a model around it cost: the counts of course/page/costs.py, under its names.

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** `count` matrix products of (rows × inner) by (inner × columns). */
const product = (rows, inner, columns, count = 1) => ({
  flops: 2 * count * rows * inner * columns,
  numbers: count * (rows * inner + inner * columns + rows * columns),
});

const queryDim = ({num_heads: heads, head_dim: size}) => heads * size;
const kvDim = ({num_kv_heads: heads, head_dim: size}) => heads * size;

/** The products of one layer by part, and the guess of the next token. */
function products(model, {queries, keys = queries, batch = 1}) {
  const {
    embed_dim: E,
    mlp_dim: M,
    mlp_matrices: matrices,
    num_heads: H,
    num_kv_heads: G,
    head_dim: D,
  } = model;
  const tokens = batch * queries;
  const rows = (queries * H) / G; // heads that share keys are stacked
  return {
    projections: [
      product(tokens, E, queryDim(model) + 2 * kvDim(model)),
      product(tokens, queryDim(model), E),
    ],
    pairs: [product(rows, D, keys, batch * G), product(rows, keys, D, batch * G)],
    mlp: [product(tokens, E, (matrices - 1) * M), product(tokens, M, E)],
    guess: [product(batch, E, model.vocab_size)],
  };
}

const flopsOf = (all) => sum(all.map(({flops}) => flops));

/** FLOPs of one layer by part. */
export function layerFlops(model, sizes) {
  const {projections, pairs, mlp} = products(model, sizes);
  return {projections: flopsOf(projections), pairs: flopsOf(pairs), mlp: flopsOf(mlp)};
}

/** FLOPs and moved bytes of one pass: "matrices", which all texts share, and "attention", each text's own. */
export function step(model, sizes, numberBytes = 2) {
  const {projections, pairs, mlp, guess} = products(model, sizes);
  const part = (inLayers, once = []) => ({
    flops: model.layers * flopsOf(inLayers) + flopsOf(once),
    bytes:
      numberBytes *
      (model.layers * sum(inLayers.map(({numbers}) => numbers)) +
        sum(once.map(({numbers}) => numbers))),
  });
  return {matrices: part([...projections, ...mlp], guess), attention: part(pairs)};
}

export const cacheBytes = (model, tokens, batch = 1, numberBytes = 2) =>
  batch * tokens * model.layers * 2 * kvDim(model) * numberBytes;

/** The maps of all heads of one layer, where they are stored. */
export const mapBytes = (model, tokens, batch = 1, numberBytes = 2) =>
  batch * model.num_heads * tokens ** 2 * numberBytes;

const PREFIXES = ["", "k", "M", "G", "T", "P", "E", "Z"];

/** A power of ten on an axis: 1 G, 10 G, 100 G. */
export const tick = (power) =>
  `${10 ** (power % 3)}\u202f${PREFIXES[Math.floor(power / 3)]}`.trimEnd();

/** A large amount in three digits: 343.6 GFLOP is amount(3.436e11, "FLOP"). */
export function amount(x, unit) {
  const at = x < 999.5 ? 0 : Math.min(PREFIXES.length - 1, Math.floor(Math.log10(x * 1.0005) / 3));
  const value = x / 1000 ** at;
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)}\u202f${PREFIXES[at]}${unit}`.trimEnd();
}

/** A time in three digits: 4.80 ms. */
export function duration(seconds) {
  const [size, unit] =
    seconds >= 1
      ? [1, "s"]
      : seconds >= 1e-3
        ? [1e3, "ms"]
        : seconds >= 1e-6
          ? [1e6, "µs"]
          : [1e9, "ns"];
  const value = seconds * size;
  return `${value < 99.95 ? value.toFixed(value < 9.995 ? 2 : 1) : whole(value)}\u202f${unit}`;
}

/** A whole number with commas: 8,192. */
export const whole = (x) => String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, ",");

/** A field over `stops`: its value is the place of one, the address holds the number itself. */
export const stop = (value, stops) => ({
  value: stops.indexOf(value),
  max: stops.length - 1,
  parse(text) {
    const at = stops.map(String).indexOf(text);
    return at < 0 ? undefined : at;
  },
  format: (at) => String(stops[at]),
});

/** From 2^first to 2^last, so many to a doubling, as whole numbers. */
export const doublings = (first, last, each = 1) =>
  Array.from({length: (last - first) * each + 1}, (_, i) => Math.round(2 ** (first + i / each)));
