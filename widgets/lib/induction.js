// What an induction model does with a text, sign by sign, as course/payloads/induction_lab.py.

import {softmax} from "./attention.js";

const GUESSES = 4;

/**
 * {text, off, maps: one a head, rows of weights; given: what each sign but the first was given by the
 *  guess before it; guesses: after each sign the likeliest next, [sign, share]; losses: {fresh, seen},
 *  the mean loss of what follows signs that are new, and that were there before, null where there are none}.
 * off: [[layer, head], …].
 */
export function readSigns(model, text, off = []) {
  const signs = [...text];
  const ids = model.encode(signs);
  const {logits, weights} = model.run(ids, {off});
  const chances = logits.map((row) => softmax(Array.from(row)));
  const given = ids.slice(1).map((next, i) => chances[i][next]);
  const isSeen = signs.map((sign, i) => signs.indexOf(sign) < i);
  return {
    text,
    off,
    given,
    maps: weights.flat(),
    guesses: chances.map((row) =>
      likeliest(row).map((id) => [model.config.vocabulary[id], row[id]]),
    ),
    losses: {
      fresh: meanLoss(given.filter((_, i) => !isSeen[i])),
      seen: meanLoss(given.filter((_, i) => isSeen[i])),
    },
  };
}

const likeliest = (row) => [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, GUESSES);
const meanLoss = (given) =>
  given.length ? given.reduce((sum, share) => sum - Math.log(share), 0) / given.length : null;

/** What was published: a row of a map ends where its sign can see no further. */
export function unpacked(text, reading) {
  const pad = (row) => [...row, ...Array(text.length - row.length).fill(0)];
  return {text, off: [], ...reading, maps: reading.maps.map((map) => map.map(pad))};
}

/** Why a model of the signs `known` can't read this text; "" where it can. */
export function refusal(text, {known, longest}) {
  const unknown = [...new Set(text)].filter((sign) => !known.includes(sign));
  if (unknown.length)
    return `It doesn't know ${unknown.slice(0, 4).join(" ")}. It knows a to z, space and . , ' ? !`;
  if (text.length < 2) return "Type two signs or more.";
  return text.length > longest
    ? `It reads at most ${longest} signs; these are ${text.length}.`
    : "";
}
