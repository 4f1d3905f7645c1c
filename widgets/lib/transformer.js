// The models of models/transformer.py, run in plain JavaScript. A test holds the two to each other.
// Inside, matrices are flat; what is handed out is cut into rows. Nothing here needs a page.

import {attend, gelu, linear, normalize, sum} from "./layers.js";
import {parseSafetensors} from "./safetensors.js";

const FIELDS = [
  "vocabulary", "max_len", "embed_dim", "num_heads", "num_layers",
  "mlp_dim", "norm", "positions", "is_causal", "raw_values"
];

/**
 * A model from its weights file, an ArrayBuffer: {config, encode(words), run(tokens, {off})}.
 * Throws an Error that calls the file `name` where it is cut, or no model of the course.
 */
export function transformer(buffer, name = "the weights file") {
  const {metadata, tensors} = parseSafetensors(buffer, name);
  if (!metadata.config) throw new Error(`${name} has no config in its metadata, so it isn't a model of the course`);
  const config = settle(JSON.parse(metadata.config), name);
  const {vocabulary, max_len: longest, embed_dim: E, num_heads: heads, positions, mlp_dim: wide} = config;
  const ids = new Map(vocabulary.map((word, id) => [word, id]));

  function take(key, ...shape) {
    const tensor = tensors[key];
    if (!tensor) throw new Error(`${name} lacks ${key}, which its config asks for`);
    if (String(tensor.shape) !== String(shape)) {
      throw new Error(`${name}: ${key} is (${tensor.shape}), but its config asks for (${shape})`);
    }
    return tensor.data;
  }
  const takeBoth = (key, ...shape) => ({weight: take(`${key}.weight`, ...shape), bias: take(`${key}.bias`, shape[0])});
  const takeNorm = (key) => (config.norm ? takeBoth(key, E) : null);

  const takeMlp = (key) => ({
    norm: takeNorm(`${key}.0`), into: takeBoth(`${key}.1`, wide, E), out: takeBoth(`${key}.3`, E, wide)
  });

  const reach = Math.max(1, longest - 1); // the longest distance that relative positions tell apart
  const embedding = take("embedding", vocabulary.length, E);
  const places = positions === "relative" ? null : take("positions", longest, E);
  const unembedding = {weight: embedding, bias: take("unembedding_bias", vocabulary.length)};
  const lastNorm = takeNorm("norm");
  const layers = heads.map((count, i) => {
    const at = `layers.${i}.`;
    const {weight, bias} = takeBoth(`${at}attention.qkv_proj`, 3 * E, E);
    return {
      norm: takeNorm(`${at}norm`),
      queryKey: {weight: weight.subarray(0, 2 * E * E), bias: bias.subarray(0, 2 * E)},
      value: {weight: weight.subarray(2 * E * E), bias: bias.subarray(2 * E)},
      out: takeBoth(`${at}attention.out_proj`, E, E),
      reach,
      relative: positions === "relative" ? take(`${at}relative.table`, count, 2 * reach + 1) : null,
      mlp: wide ? takeMlp(`${at}mlp`) : null,
      readsWords: config.raw_values[i],
      isCausal: config.is_causal,
      heads: count
    };
  });

  /** Words as tokens. Throws an Error that names the words that the model doesn't know. */
  function encode(words) {
    const unknown = [...new Set(words)].filter((word) => !ids.has(word)).map((word) => `"${word}"`);
    if (unknown.length) throw new Error(`unknown: ${unknown.join(", ")}; the model knows ${ids.size} words`);
    return [...words].map((word) => ids.get(word));
  }

  /**
   * Everything that a forward pass computes, in rows, a row for each token:
   * {logits: rows of vocabulary.length, weights[layer][head]: rows of tokens.length,
   *  residual[0 … layers]: rows of embed_dim, first what enters layer 0, then what leaves each}.
   * off: [[layer, head], …], counted from 0: heads that write nothing; their weights are 0.
   */
  function run(tokens, {off = []} = {}) {
    check(tokens, off);
    const L = tokens.length;
    const words = new Float64Array(L * E);
    tokens.forEach((id, i) => words.set(embedding.subarray(id * E, (id + 1) * E), i * E));
    const here = places && places.subarray(0, L * E);
    let x = positions === "learned" ? sum(words, here) : words;
    const weights = [];
    const residual = [toRows(x, E)];
    layers.forEach((layer, i) => {
      const isOff = (head) => off.some(([a, b]) => a === i && b === head);
      const read = normalize(x, E, layer.norm);
      const queryKey = linear(positions === "query-key" ? sum(read, here) : read, L, layer.queryKey);
      const value = linear(layer.readsWords ? words : read, L, layer.value);
      const mixed = attend(queryKey, value, L, E, layer, isOff);
      x = sum(x, linear(mixed.output, L, layer.out));
      if (layer.mlp) {
        const inner = linear(normalize(x, E, layer.mlp.norm), L, layer.mlp.into).map(gelu);
        x = sum(x, linear(inner, L, layer.mlp.out));
      }
      weights.push(mixed.weights.map((flat) => toRows(flat, L)));
      residual.push(toRows(x, E));
    });
    const logits = linear(normalize(x, E, lastNorm), L, unembedding);
    return {logits: toRows(logits, vocabulary.length), weights, residual};
  }

  function check(tokens, off) {
    if (!(tokens.length >= 1 && tokens.length <= longest)) {
      throw new Error(`a sequence has 1 to ${longest} tokens, this one has ${tokens.length}`);
    }
    const lost = tokens.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < ids.size));
    if (lost >= 0) throw new Error(`tokens are whole numbers from 0 to ${ids.size - 1}, not ${tokens[lost]}`);
    const missing = off.find(([layer, head]) => !(head in Array(heads[layer] ?? 0).fill(head)));
    if (missing) throw new Error(`no head (${missing}): the layers have ${heads} heads`);
  }

  return {config, encode, run};
}

/** What config's short forms stand for: a number of heads, and of raw values, for each layer. */
function settle(config, name) {
  const missing = FIELDS.filter((field) => !(field in config));
  if (missing.length) throw new Error(`${name}: its config lacks ${missing.join(", ")}`);
  const {num_layers: n, num_heads: heads, raw_values: raw} = config;
  const each = Array.from({length: n}, (_, i) => i);
  return {...config, num_heads: each.map((i) => heads[i] ?? heads), raw_values: each.map((i) => !!raw[i])};
}

/** A flat matrix as an array of its rows, without copying. */
const toRows = (flat, width) =>
  Array.from({length: flat.length / width}, (_, i) => flat.subarray(i * width, (i + 1) * width));
