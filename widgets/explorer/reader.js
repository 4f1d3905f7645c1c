// Everything that the explorer shows of a model and a text, in a form that a worker can post.

import {linear, normalize, sum} from "../lib/layers.js";
import {shares} from "../lib/storyteller.js";
import {meanOrNull, pushedMost, pushesOf, top} from "./pushes.js";
import {vocabularyOf} from "./vocabulary.js";
import {isPart} from "../lib/token-text.js";

export const MOST = 256; // tokens
const [GUESSES, GROUP, DRAWN, TOPS, FELL] = [5, 8, 40, 3, 0.1];

/**
 * A function ({text, off, temperature}) → the reading of a text:
 * text, off, temperature   as asked; `off` has heads as pairs [layer, head], counted from 0
 * ids, pieces, causal      the tokens, and their texts; whether each sees only what came before
 * dropped                  how many tokens of the text went first, because the model has no room for them
 * next      what may follow the text, of which the next token is drawn: [{text, share}], the likeliest
 *           first; empty in a model that sees both ways
 * heads     of all layers, one after the other: {layer, head, size, isOff, weights: rows of all tokens,
 *           query, key, value, mixed: rows of `size` numbers, bias: of each distance, or null}, all flat;
 *           where it is off, `former`: its weights with all heads on
 * stream    [stage]: the residual stream, flat: before the first layer, then after each
 * reads     [layer]: {placed, values}, flat: what its queries and keys, and its values, are made of
 * units     [layer]: of each token the strongest of every eight units of the MLP, flat; or null
 * guesses   [stage][token]: [{text, share}], what the stream would guess there; in the last stage
 *           also `without`, the share with all heads on, where some are off
 * truth     [token]: {text, share, rank, loss, without} of what comes next; in a model that sees
 *           both ways, of the token itself where it alone is hidden; null where nothing is to be guessed
 * loss, lossWithout        the mean of the losses, and with all heads on; null where there is none
 * whole     [token]: {text, share, now, heads, moved}, the first guess with all heads on, and how far each head pushes it then;
 *           null where all are on. moved: {head, to, before, now}, the weight that fell most in a later layer, or null
 * pushes    [token]: how far each part moves what is guessed first with all heads on, against the average word:
 *           {start, heads, mlps, rest}, whose sum is its logit less the mean of all
 * Asked a `study` of token `at`, it gives this alone, in place of a reading:
 * needed    {share, without: [head]}: of the first guess there, all heads on, and each switched off in turn
 * pushed    {tops: [head]: [{text, push}]}: the tokens that each head pushes hardest
 * Throws an Error to show.
 */
export function explorerReader(model, kind) {
  const {config, parameters} = model;
  const words = vocabularyOf(model, kind);
  const room = Math.min(MOST, config.max_len);
  const runs = new Map(); // the last ones, by text and heads off

  function runOf(text, off) {
    const key = JSON.stringify([text, off]);
    if (!runs.has(key)) {
      const all = words.tokens(text);
      const ids = all.slice(-room);
      const found = model.run(ids, {off});
      if (runs.size > 3) runs.delete(runs.keys().next().value);
      runs.set(key, {
        ids,
        dropped: all.length - ids.length,
        ...found,
        lens: found.residual.map((rows) => logitsOf(rows)),
        asked: asked(ids, off, found),
      });
    }
    return runs.get(key);
  }

  /** Of each token the logits by which it is guessed: of a model that sees both ways, while it is hidden. */
  function asked(ids, off, {logits}) {
    if (config.is_causal) return logits;
    const mask = config.vocabulary.indexOf("[mask]");
    return ids.map(
      (_, i) =>
        model.run(
          ids.map((id, j) => (j === i ? mask : id)),
          {off},
        ).logits[i],
    );
  }

  function logitsOf(rows) {
    const flat = linear(
      normalize(flatten(rows), config.embed_dim, parameters.norm),
      rows.length,
      parameters.unembedding,
    );
    return rows.map((_, i) =>
      flat.subarray(i * config.vocabulary.length, (i + 1) * config.vocabulary.length),
    );
  }

  function guessesOf(logits, temperature, before) {
    const share = shares(logits, temperature);
    const all = before && shares(before, temperature);
    return top(share, GUESSES)
      .filter((id) => share[id] > 0)
      .map((id) => ({text: words.text(id), share: share[id], ...(all && {without: all[id]})}));
  }

  /** What may follow: whole characters alone, since a part of one can't stand in a text. */
  function nextOf(logits, temperature) {
    const share = shares(logits, temperature);
    return top(share, DRAWN)
      .map((id) => ({text: words.text(id), share: share[id]}))
      .filter(({text, share: own}) => own > 0 && !isPart(text));
  }

  function wholeOf(run, before, i, temperature, off) {
    const all = shares(before.logits[i], temperature);
    const [id] = top(all, 1);
    return {
      text: words.text(id),
      share: all[id],
      now: shares(run.logits[i], temperature)[id],
      heads: pushesOf(before, i, model, id).heads,
      moved: movedOf(run, before, i, off),
    };
  }

  function truthOf(run, i, before) {
    const target = config.is_causal ? run.ids[i + 1] : run.ids[i];
    if (target === undefined || /^\[(mask|pad)\]$/.test(words.text(target))) return null;
    const chances = shares(run.asked[i]);
    const share = chances[target];
    return {
      text: words.text(target),
      share,
      rank: 1 + chances.reduce((count, other) => count + (other > share), 0),
      loss: -Math.log(share),
      ...(before && {without: shares(before.asked[i])[target]}),
    };
  }

  const studies = {
    needed(text, _off, temperature, at) {
      const run = runOf(text, []);
      const seen = config.is_causal ? run.ids.slice(0, at + 1) : run.ids;
      const [id] = top(run.logits[at], 1);
      const share = (logits) => shares(logits[at], temperature)[id];
      const each = config.num_heads.flatMap((count, layer) =>
        Array.from({length: count}, (_, head) => [layer, head]),
      );
      return {
        share: share(run.logits),
        without: each.map((pair) => share(model.run(seen, {off: [pair]}).logits)),
      };
    },
    pushed: (text, off, _temperature, at) => ({
      tops: pushedMost(runOf(text, off), at, model, TOPS).map((tops) =>
        tops.map(([id, push]) => ({text: words.text(id), push})),
      ),
    }),
  };

  return ({text, off = [], temperature = 1, study, at}) => {
    if (study)
      return {text, off, temperature, study, at, ...studies[study](text, off, temperature, at)};
    const run = runOf(text, off);
    const before = off.length ? runOf(text, []) : null;
    const last = run.lens.length - 1;
    const truth = run.ids.map((_, i) => truthOf(run, i, before));
    return {
      text,
      off,
      temperature,
      ids: run.ids,
      pieces: words.pieces(run.ids),
      dropped: run.dropped,
      causal: config.is_causal,
      heads: headsOf(run, model, off, before),
      stream: run.residual.map((rows) => float(flatten(rows))),
      reads: readsOf(run, model),
      units: run.inner.length ? run.inner.map((rows) => float(flatten(rows.map(strongest)))) : null,
      guesses: run.lens.map((rows, stage) =>
        rows.map((logits, i) =>
          guessesOf(logits, temperature, stage === last ? before?.lens[last][i] : null),
        ),
      ),
      next: config.is_causal ? nextOf(run.logits[run.ids.length - 1], temperature) : [],
      truth,
      loss: meanOrNull(truth.filter(Boolean).map((one) => one.loss)),
      lossWithout: before && meanOrNull(truth.filter(Boolean).map((one) => -Math.log(one.without))),
      whole: before && run.ids.map((_, i) => wholeOf(run, before, i, temperature, off)),
      pushes: run.ids.map((_, i) => pushesOf(run, i, model, top((before ?? run).logits[i], 1)[0])),
    };
  };
}

/** The matrices of every layer that make queries, keys and values, for a page to show. */
export const matricesOf = ({parameters: {layers}}) =>
  layers.map((layer) =>
    Object.fromEntries(
      ["query", "key", "value"].map((part) => [
        part,
        {weight: float(layer[part].weight), bias: float(layer[part].bias)},
      ]),
    ),
  );

function readsOf(
  {residual, ids},
  {config: {embed_dim: E, raw_values: raw, positions}, parameters: {embedding, layers, places}},
) {
  const words = () => flatten(ids.map((id) => embedding.subarray(id * E, (id + 1) * E)));
  return layers.map(({norm}, layer) => {
    const read = normalize(flatten(residual[layer]), E, norm);
    const placed = positions === "query-key" ? sum(read, places) : read;
    return {placed: float(placed), values: float(raw[layer] ? words() : read)};
  });
}

function headsOf(
  run,
  {config: {embed_dim: E, max_len: longest, num_heads: counts}, parameters},
  off,
  before,
) {
  const L = run.ids.length;
  return counts.flatMap((count, layer) =>
    Array.from({length: count}, (_, head) => {
      const size = E / count;
      const cut = (rows) =>
        float(flatten(rows.map((row) => row.subarray(head * size, (head + 1) * size))));
      const [query, key, value, mixed] = ["query", "key", "value", "mixed"].map((part) =>
        cut(run[part][layer]),
      );
      const {relative} = parameters.layers[layer];
      const reach = Math.max(1, longest - 1);
      const middle = head * (2 * reach + 1) + reach; // of the distance 0
      const isOff = off.some(([a, b]) => a === layer && b === head);
      return {
        layer,
        head,
        size,
        isOff,
        ...(isOff && {former: float(flatten(before.weights[layer][head]))}),
        weights: float(flatten(run.weights[layer][head])),
        query,
        key,
        value,
        mixed,
        bias: relative && float(relative.slice(middle - L + 1, middle + L)),
      };
    }),
  );
}

/** The weight of token `i` that fell most, in the layers after the first of `off`: null where none fell by a tenth. */
function movedOf({weights}, before, i, off) {
  let found = null;
  let head = 0;
  const first = Math.min(...off.map(([layer]) => layer));
  weights.forEach((heads, layer) =>
    heads.forEach((rows, n) => {
      before.weights[layer][n][i].forEach((was, to) => {
        const fall = was - rows[i][to];
        if (
          layer > first &&
          !off.some(([a, b]) => a === layer && b === n) &&
          fall >= FELL &&
          fall > (found ? found.before - found.now : 0)
        )
          found = {head, to, before: was, now: rows[i][to]};
      });
      head += 1;
    }),
  );
  return found;
}

const float = (numbers) => Float32Array.from(numbers);

function flatten(rows) {
  const flat = new Float64Array(rows.length * rows[0].length);
  rows.forEach((row, i) => flat.set(row, i * row.length));
  return flat;
}

/** Of each group of units the strongest answer. */
const strongest = (units) =>
  Float64Array.from({length: Math.ceil(units.length / GROUP)}, (_, i) =>
    units.subarray(i * GROUP, (i + 1) * GROUP).reduce((a, b) => Math.max(a, b)),
  );
