// The models of models/transformer.py, run in plain JavaScript. A test holds the two to each other.
// Inside, matrices are flat; what is handed out is cut into rows. Nothing here needs a page.

import {attend, gelu, linear, normalize, rotate, sum} from "./layers.js";
import {parseSafetensors} from "./safetensors.js";

const FIELDS = [
  "vocabulary",
  "max_len",
  "embed_dim",
  "num_heads",
  "num_layers",
  "mlp_dim",
  "norm",
  "positions",
  "is_causal",
  "raw_values",
];

/**
 * A model from its weights file, an ArrayBuffer, as modelOf makes it.
 * Throws an Error that calls the file `name` where it is cut, or no model of the course.
 */
export function transformer(buffer, name = "the weights file") {
  const {metadata, tensors} = parseSafetensors(buffer, name);
  if (!metadata.config)
    throw new Error(`${name} has no config in its metadata, so it isn't a model of the course`);
  const config = settle(JSON.parse(metadata.config), name);
  return modelOf(config, parametersOf(config, tensors, name), name);
}

/** The numbers that training sets, {embedding, unembedding, places, norm, layers}, checked and by their use. */
function parametersOf(config, tensors, name) {
  const {
    vocabulary,
    max_len: longest,
    embed_dim: E,
    num_heads: heads,
    positions,
    mlp_dim: wide,
  } = config;

  function take(key, ...shape) {
    const tensor = tensors[key];
    if (!tensor) throw new Error(`${name} lacks ${key}, which its config asks for`);
    if (String(tensor.shape) !== String(shape)) {
      throw new Error(`${name}: ${key} is (${tensor.shape}), but its config asks for (${shape})`);
    }
    return tensors[`${key}.scale`]
      ? scaled(tensor.data, take(`${key}.scale`, shape[0]))
      : tensor.data;
  }
  const takeBoth = (key, ...shape) => ({
    weight: take(`${key}.weight`, ...shape),
    bias: take(`${key}.bias`, shape[0]),
  });
  const takeNorm = (key) => (config.norm ? takeBoth(key, E) : null);

  const takeMlp = (key) => ({
    norm: takeNorm(`${key}.0`),
    into: takeBoth(`${key}.1`, wide, E),
    out: takeBoth(`${key}.3`, E, wide),
  });

  const reach = reachOf(longest);
  const embedding = take("embedding", vocabulary.length, E);
  const places = ["learned", "query-key"].includes(positions)
    ? take("positions", longest, E)
    : null;
  const unembedding = {weight: embedding, bias: take("unembedding_bias", vocabulary.length)};
  const norm = takeNorm("norm");
  const layers = heads.map((count, i) => {
    const at = `layers.${i}.`;
    const {weight, bias} = takeBoth(`${at}attention.qkv_proj`, 3 * E, E);
    const [query, key, value] = [0, 1, 2].map((part) => ({
      weight: weight.subarray(part * E * E, (part + 1) * E * E),
      bias: bias.subarray(part * E, (part + 1) * E),
    }));
    return {
      norm: takeNorm(`${at}norm`),
      query,
      key,
      value,
      out: takeBoth(`${at}attention.out_proj`, E, E),
      relative: positions === "relative" ? take(`${at}relative.table`, count, 2 * reach + 1) : null,
      mlp: wide ? takeMlp(`${at}mlp`) : null,
    };
  });
  return {embedding, unembedding, places, norm, layers};
}

/**
 * A model of `config` with the numbers `parameters`:
 * {config, parameters, encode(words), run(tokens, {off}), cache()}.
 */
export function modelOf(config, parameters, name = "the model") {
  const {vocabulary, max_len: longest, embed_dim: E, num_heads: heads, positions} = config;
  const {embedding, unembedding, places, norm: lastNorm} = parameters;
  const ids = new Map(vocabulary.map((word, id) => [word, id]));
  const layers = parameters.layers.map((layer, i) => ({
    ...layer,
    reach: reachOf(longest),
    readsWords: config.raw_values[i],
    isCausal: config.is_causal,
    heads: heads[i],
  }));

  /** Words as tokens. Throws an Error that names the words that the model doesn't know. */
  function encode(words) {
    const unknown = [...new Set(words)].filter((word) => !ids.has(word)).map((word) => `"${word}"`);
    if (unknown.length)
      throw new Error(`unknown: ${unknown.join(", ")}; the model knows ${ids.size} words`);
    return [...words].map((word) => ids.get(word));
  }

  /** Memory for the keys and values of every layer, of which the first `length` tokens are there. */
  const cache = (room = longest) => ({
    length: 0,
    layers: heads.map(() => ({key: new Float64Array(room * E), value: new Float64Array(room * E)})),
  });

  /**
   * Everything that a forward pass computes, in rows, a row for each token:
   * {logits: rows of vocabulary.length, weights[layer][head]: rows of tokens.length,
   *  residual[0 … layers]: rows of embed_dim, first what enters layer 0, then what leaves each,
   *  middle[layer]: the same between its attention and its MLP, inner[layer]: rows of mlp_dim,
   *  query[layer], key[layer], value[layer], mixed[layer]: rows of embed_dim, heads side by side:
   *  as they are compared, so turned where places turn them, and what the heads return}.
   * off: [[layer, head], …], counted from 0: heads that write nothing; their weights are 0.
   * past: a cache() of a causal model, to which the tokens are added; rows of weights are then as
   * long as all that it holds. To forget its last tokens, set its length.
   * last: logits of the last token alone.
   */
  function run(tokens, {off = [], past = null, last = false} = {}) {
    check(tokens, off, past);
    const first = past ? past.length : 0;
    const L = tokens.length;
    const length = first + L;
    const {layers: caches} = past ?? cache(L);
    const words = new Float64Array(L * E);
    tokens.forEach((id, i) => words.set(embedding.subarray(id * E, (id + 1) * E), i * E));
    const here = places?.subarray(first * E, length * E);
    let x = positions === "learned" ? sum(words, here) : words;
    const weights = [];
    const residual = [toRows(x, E)];
    const [middle, inner] = [[], []];
    const parts = {query: [], key: [], value: [], mixed: []};
    layers.forEach((layer, i) => {
      const isOff = (head) => off.some(([a, b]) => a === i && b === head);
      const turn = (y) => (positions === "rotary" ? rotate(y, first, E, E / layer.heads) : y);
      const read = normalize(x, E, layer.norm);
      const placed = positions === "query-key" ? sum(read, here) : read;
      const {key, value} = caches[i];
      key.set(turn(linear(placed, L, layer.key)), first * E);
      value.set(linear(layer.readsWords ? words : read, L, layer.value), first * E);
      const query = turn(linear(placed, L, layer.query));
      const mixed = attend(query, key, value, L, length, E, layer, isOff);
      x = sum(x, linear(mixed.output, L, layer.out));
      const shown = {
        query,
        key: key.subarray(first * E, length * E),
        value: value.subarray(first * E, length * E),
        mixed: mixed.output,
      };
      for (const part of Object.keys(parts)) parts[part].push(toRows(shown[part], E));
      middle.push(toRows(x, E));
      if (layer.mlp) {
        const units = linear(normalize(x, E, layer.mlp.norm), L, layer.mlp.into).map(gelu);
        x = sum(x, linear(units, L, layer.mlp.out));
        inner.push(toRows(units, config.mlp_dim));
      }
      weights.push(mixed.weights.map((flat) => toRows(flat, length)));
      residual.push(toRows(x, E));
    });
    if (past) past.length = length;
    const ends = last ? x.subarray(x.length - E) : x;
    const logits = linear(normalize(ends, E, lastNorm), ends.length / E, unembedding);
    return {logits: toRows(logits, vocabulary.length), weights, residual, middle, inner, ...parts};
  }

  function check(tokens, off, past) {
    const length = tokens.length + (past ? past.length : 0);
    if (!(tokens.length >= 1 && length <= longest)) {
      throw new Error(`a sequence has 1 to ${longest} tokens, this one has ${length}`);
    }
    if (past && !config.is_causal)
      throw new Error(`${name} is not causal: what comes later changes what it has read`);
    const lost = tokens.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < ids.size));
    if (lost >= 0)
      throw new Error(`tokens are whole numbers from 0 to ${ids.size - 1}, not ${tokens[lost]}`);
    const missing = off.find(([layer, head]) => !(head in Array(heads[layer] ?? 0).fill(head)));
    if (missing) throw new Error(`no head (${missing}): the layers have ${heads} heads`);
  }

  return {config, parameters, encode, run, cache};
}

/** The longest distance that relative positions tell apart. */
const reachOf = (longest) => Math.max(1, longest - 1);

/** 8-bit rows: whole numbers, times what one of them is worth in each row. */
function scaled(data, scale) {
  const width = data.length / scale.length;
  return data.map((whole, i) => whole * scale[Math.floor(i / width)]);
}

/** What config's short forms stand for: a number of heads, and of raw values, for each layer. */
function settle(config, name) {
  const missing = FIELDS.filter((field) => !(field in config));
  if (missing.length) throw new Error(`${name}: its config lacks ${missing.join(", ")}`);
  const {num_layers: n, num_heads: heads, raw_values: raw} = config;
  const each = Array.from({length: n}, (_, i) => i);
  return {
    ...config,
    num_heads: each.map((i) => heads[i] ?? heads),
    raw_values: each.map((i) => !!raw[i]),
  };
}

/** A flat matrix as an array of its rows, without copying. */
const toRows = (flat, width) =>
  Array.from({length: flat.length / width}, (_, i) => flat.subarray(i * width, (i + 1) * width));
