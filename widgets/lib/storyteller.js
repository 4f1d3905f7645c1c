// The course's small language model of English, on any text. Fetched when it is first asked for.

import {loadModel} from "./load-model.js";
import {tokenizer} from "./tokenizer.js";

const FILE = "models/storyteller/weights/storyteller.safetensors";

/**
 * A promise of storyteller(model). Rejects with an Error to show; asking again tries again.
 * `onBytes`: hears how many bytes have arrived.
 */
export const loadStoryteller = (file = FILE, onBytes) =>
  loadModel(file, onBytes).then((model) => storyteller(model, file));

/**
 * {config, model, encode(text), decode(tokens), name(token), pieces(tokens), begin} of a causal model
 * whose vocabulary is that of models/storyteller/tokens.py.
 * `off`: heads without effect, [[layer, head], …].
 * Throws an Error to show where a text is empty, or longer than the model reads at once, and where
 * the model of `name` is another one.
 */
export function storyteller(model, name = FILE) {
  const {config} = model;
  if (!isStoryteller(config))
    throw new Error(`${name} holds another model, which doesn't read bytes`);
  const {encode, decode, name: nameOf, pieces} = tokenizer(config.vocabulary);

  function tokensOf(text) {
    const tokens = encode(text);
    if (!tokens.length)
      throw new Error("There is no text yet: the model needs at least one letter.");
    if (tokens.length > config.max_len) {
      throw new Error(
        `The model reads ${config.max_len} tokens at once, and this text has ${tokens.length}. Shorten it.`,
      );
    }
    return tokens;
  }

  /** A text that is read once, and then changes. Its `off` holds from then on. */
  function begin(text, {off = []} = {}) {
    const past = model.cache();
    const tokens = [];
    const weights = config.num_heads.map((heads) => Array.from({length: heads}, () => []));
    const logits = []; // a row for each token

    function read(added) {
      const run = model.run(added, {off, past});
      tokens.push(...added);
      const first = tokens.length - added.length;
      run.weights.forEach((heads, i) =>
        heads.forEach((rows, head) => {
          weights[i][head].push(...rows.map((row, at) => row.subarray(0, first + at + 1)));
        }),
      );
      logits.push(...run.logits);
    }

    /**
     * The text changes: what it has in common with the old one from the start is not read again.
     * Returns how many tokens that are.
     */
    function change(text) {
      const wanted = tokensOf(text);
      let same = 0;
      while (same < wanted.length && wanted[same] === tokens[same]) same += 1;
      past.length = same;
      tokens.length = same;
      logits.length = same;
      weights.forEach((heads) =>
        heads.forEach((rows) => {
          rows.length = same;
        }),
      );
      if (same < wanted.length) read(wanted.slice(same));
      return same;
    }

    change(text);
    return {
      /** So far: tokens; weights[layer][head][i], what token i gives to the i + 1 up to itself. */
      tokens,
      weights,
      /** What may follow the token `at`, without an `at` the last: [{token, text: its name, share}], the likeliest first. */
      guesses: ({temperature = 1, topK = Infinity, count = 10, at = logits.length - 1} = {}) =>
        likeliest(shares(logits[at], temperature, topK), count).map(([token, share]) => ({
          token,
          text: nameOf(token),
          share,
        })),
      change,
    };
  }

  return {config, model, encode, decode, name: nameOf, pieces, begin};
}

/** Whether it is causal, and its vocabulary begins with the 256 bytes. */
const isStoryteller = ({is_causal: isCausal, vocabulary}) =>
  isCausal &&
  vocabulary.length >= 256 &&
  vocabulary.slice(0, 256).every((token, i) => token === String.fromCharCode(i));

/** Probabilities of the logits: softmax(logits / temperature) over the topK largest; the others get 0. */
export function shares(logits, temperature = 1, topK = Infinity) {
  if (!(temperature >= 0)) throw new Error(`A temperature is 0 or more, not ${temperature}.`);
  if (!(topK >= 1)) throw new Error(`At least one token must remain, not ${topK}.`);
  const top = logits.reduce((a, b) => Math.max(a, b));
  if (temperature === 0 || topK === 1) {
    const best = logits.indexOf(top);
    return logits.map((_, i) => (i === best ? 1 : 0));
  }
  const chosen = topK < logits.length ? new Set(likeliest(logits, topK).map(([i]) => i)) : null;
  const rises = logits.map((x, i) =>
    !chosen || chosen.has(i) ? Math.exp((x - top) / temperature) : 0,
  );
  const total = rises.reduce((a, b) => a + b);
  return rises.map((x) => x / total);
}

/** The indices of the largest numbers, with them; of equals the earlier first. */
function likeliest(numbers, count) {
  const least = Float64Array.from(numbers).sort()[Math.max(0, numbers.length - count)];
  const pairs = [];
  for (let i = 0; i < numbers.length; i += 1) if (numbers[i] >= least) pairs.push([i, numbers[i]]);
  return pairs.sort(([a, x], [b, y]) => y - x || a - b).slice(0, count);
}

/** Numbers from 0 to 1, the same for the same seed in every browser (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
