// What a head may look at, and how much of its attention it gives to it.

import {mean} from "../lib/lists.js";
import {askedAt} from "./tasks.js";

const isNumber = (token) => token >= 8; // in the task of pairs
const places = (tokens, isOne) => tokens.map((_, j) => j).filter(isOne);
const one = (j) => [j];
const none = [];

/** Each gives the places that the symbol at i would look at: none where it has nothing to look for. Some go by tokens, others by positions alone. */
const PATTERNS = {
  itself: {says: "to the token itself", at: ({i}) => one(i)},
  before: {says: "to the token before", at: ({i}) => one(i - 1)},
  third: {says: "to the third token back", at: ({i}) => (i >= 3 ? one(i - 3) : none)},
  "before, once": {
    says: "to the token before, in the first round",
    at: ({i, start}) => (i <= start ? one(i - 1) : none),
  },
  next: {
    says: "to the next token",
    at: ({tokens, i}) => (i + 1 < tokens.length ? one(i + 1) : none),
  },
  after: {
    isOfTokens: true,
    says: "to what came after the same token",
    at: ({tokens, i}) => places(tokens, (j) => j > 0 && j <= i && tokens[j - 1] === tokens[i]),
  },
  same: {
    isOfTokens: true,
    says: "to the same token, earlier",
    at: ({tokens, i}) => places(tokens, (j) => j < i && tokens[j] === tokens[i]),
  },
  key: {
    says: "from a number to its letter",
    at: ({tokens, i, start}) => (i < start && isNumber(tokens[i]) ? one(i - 1) : none),
  },
  value: {
    isOfTokens: true,
    says: "from a letter to its number",
    at: ({tokens, i, start}) =>
      i >= start && !isNumber(tokens[i]) ? one(tokens.indexOf(tokens[i]) + 1) : none,
  },
  mirror: {says: "to the mirrored position", at: ({tokens, i}) => one(tokens.length - 1 - i)},
  first: {
    isOfTokens: true,
    says: "to where the letter first stood",
    at: ({tokens, i}) => one(tokens.indexOf(tokens[i])),
  },
  larger: {
    isOfTokens: true,
    says: "to the next letter in order",
    at: ({tokens, targets, i}) => (targets[i] < 0 ? none : one(tokens.indexOf(targets[i]))),
  },
  back: {
    says: "to tokens 4 to 11 back", // what came after one 5 to 12 back
    at: ({i}) => (i >= 11 ? [11, 10, 9, 8, 7, 6, 5, 4].map((far) => i - far) : none),
  },
  start: {says: "to the first token of all", at: () => one(0)},
};
const OF_TASK = {
  repeat: ["before, once", "after", "same", "itself", "next", "start"],
  recall: ["key", "value", "before", "itself", "next", "start"],
  two: ["before", "third", "itself", "next", "start"],
  previous: ["before", "itself", "next", "start"],
  reverse: ["mirror", "itself", "before", "next", "start"],
  first: ["first", "before", "itself", "next", "start"],
  sort: ["larger", "before", "itself", "next", "start"],
};

/** [{pattern, says, share}]: how far a map of weights follows each pattern, in an example of a task. */
export const patternsOf = (task, example, map) =>
  OF_TASK[task].map((pattern) => ({
    pattern,
    says: PATTERNS[pattern].says,
    share: shareAt(placesOf(pattern, task, example), map),
  }));

// ---- The name of a head --------------------------------------------------------------------------

// A name needs so much of the attention, so much more than equal weights give, and, where it tells of tokens, so much
// more than the head gives to the same positions whatever the row.
const [MUCH, ABOVE_EVEN, ABOVE_USUAL] = [0.3, 0.15, 0.2];
const NEARLY = 0.2; // of the attention elsewhere than equal weights have it
const NAMED = {...OF_TASK, repeat: [...OF_TASK.repeat, "back"]};

/**
 * A function of one head's maps, one for each of the examples, to the shares that name it, of which means may be taken:
 * of each pattern how much it gets, would get by equal weights, and gets whatever the row; last, how much is elsewhere.
 */
export function sharesOf(task, examples, isMasked) {
  const size = examples[0].tokens.length;
  const even = evenMap(size, isMasked);
  const all = NAMED[task].map((pattern) => ({
    ...PATTERNS[pattern],
    places: examples.map((example) => placesOf(pattern, task, example)),
  }));
  const meanOf = ({places}, mapOf) => mean(places.map((found, i) => shareAt(found, mapOf(i))));
  const evens = all.map((one) => meanOf(one, () => even));
  return (maps) => {
    const usual = new Float64Array(size * size);
    for (const map of maps)
      for (let at = 0; at < usual.length; at += 1) usual[at] += map[at] / maps.length;
    let apart = 0;
    for (const map of maps)
      for (let at = 0; at < usual.length; at += 1) apart += Math.abs(map[at] - even[at]);
    return [
      ...all.flatMap((one, k) => [meanOf(one, (i) => maps[i]), evens[k], meanOf(one, () => usual)]),
      apart / 2 / size / maps.length,
    ];
  };
}

/** What a head follows, by its shares: {says, share, even: what equal weights would give}; {says} alone where no pattern is clear. */
export function named(task, shares) {
  const found = NAMED[task]
    .map((pattern, k) => ({
      ...PATTERNS[pattern],
      share: shares[3 * k],
      even: shares[3 * k + 1],
      usual: shares[3 * k + 2],
    }))
    .filter(
      ({share, even, usual, isOfTokens}) =>
        share >= MUCH &&
        share - even >= ABOVE_EVEN &&
        (!isOfTokens || share - usual >= ABOVE_USUAL),
    )
    .sort((a, b) => b.share - b.even - a.share + a.even)[0];
  if (found) return {says: found.says, share: found.share, even: found.even};
  return {
    says: shares.at(-1) < NEARLY ? "nearly even over all that it sees" : "no pattern that we know",
  };
}

/** Equal weights, on all that the mask leaves. */
function evenMap(length, isMasked) {
  const map = new Float64Array(length * length);
  for (let i = 0; i < length; i += 1) {
    if (isMasked) map.fill(1 / (i + 1), i * length, i * length + i + 1);
    else map.fill(1 / length, i * length, (i + 1) * length);
  }
  return map;
}

/** Where in a flat map the pattern's places are, for each symbol that has some; the first symbol sees only itself. */
function placesOf(pattern, task, {tokens, targets}) {
  const start = tokens.findIndex((_, i) => askedAt(task, targets, i).length); // before it nothing is asked
  return tokens
    .map((_, i) =>
      i
        ? PATTERNS[pattern].at({tokens, targets, i, start}).map((j) => i * tokens.length + j)
        : none,
    )
    .filter((found) => found.length);
}

/** The mean weight on the places, over the symbols that have some. */
function shareAt(places, map) {
  let total = 0;
  for (const found of places) for (const at of found) total += map[at];
  return places.length ? total / places.length : 0;
}
