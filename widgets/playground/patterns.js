// What a head may look at, and how much of its attention it gives to it.

import {askedAt} from "./tasks.js";

const isNumber = (token) => token >= 8; // in the task of pairs
const places = (tokens, isOne) => tokens.map((_, j) => j).filter(isOne);
const one = (j) => [j];
const none = [];

/** Each gives the places that the symbol at i would look at: none where it has nothing to look for. */
const PATTERNS = {
  itself: {says: "to the token itself", at: ({i}) => one(i)},
  before: {says: "to the token before", at: ({i}) => one(i - 1)},
  third: {says: "to the third token back", at: ({i}) => (i >= 3 ? one(i - 3) : none)},
  "before, once": {says: "to the token before, in the first round", at: ({i, start}) => (i <= start ? one(i - 1) : none)},
  next: {says: "to the next token", at: ({tokens, i}) => (i + 1 < tokens.length ? one(i + 1) : none)},
  after: {says: "to what came after the same token", at: ({tokens, i}) => places(tokens, (j) => j > 0 && j <= i && tokens[j - 1] === tokens[i])},
  same: {says: "to the same token, earlier", at: ({tokens, i}) => places(tokens, (j) => j < i && tokens[j] === tokens[i])},
  key: {says: "from a number to its letter", at: ({tokens, i, start}) => (i < start && isNumber(tokens[i]) ? one(i - 1) : none)},
  value: {says: "from a letter to its number", at: ({tokens, i, start}) => (i >= start && !isNumber(tokens[i]) ? one(tokens.indexOf(tokens[i]) + 1) : none)},
  mirror: {says: "to the mirrored position", at: ({tokens, i}) => one(tokens.length - 1 - i)},
  first: {says: "to where the letter first stood", at: ({tokens, i}) => one(tokens.indexOf(tokens[i]))},
  larger: {says: "to the next letter in order", at: ({tokens, targets, i}) => (targets[i] < 0 ? none : one(tokens.indexOf(targets[i])))},
  start: {says: "to the first token of all", at: () => one(0)}
};
const OF_TASK = {
  repeat: ["before, once", "after", "same", "itself", "next", "start"],
  recall: ["key", "value", "before", "itself", "next", "start"],
  two: ["before", "third", "itself", "next", "start"],
  previous: ["before", "itself", "next", "start"],
  reverse: ["mirror", "itself", "before", "next", "start"],
  first: ["first", "before", "itself", "next", "start"],
  sort: ["larger", "before", "itself", "next", "start"]
};

/** [{pattern, says, share}]: how far a map of weights follows each pattern, in an example of a task. */
export const patternsOf = (task, example, map) => OF_TASK[task].map((pattern) =>
  ({pattern, says: PATTERNS[pattern].says, share: shareOf(pattern, task, example, map)}));

// So far above equal weights a pattern is followed: of 100 heads that have learned nothing, one comes so far.
const CLEAR = 0.15;

/** The one that a map follows most, beside `even`, what equal weights give to each: {pattern, says, share, even, isClear}. */
export function bestPattern(task, example, map, even) {
  const all = patternsOf(task, example, map).map((one, i) => ({...one, even: even[i].share, above: one.share - even[i].share}));
  const best = all.reduce((most, now) => (now.above > most.above + 1e-9 ? now : most));
  return {...best, isClear: best.above >= CLEAR};
}

/** What equal weights, on all that the mask leaves, would give to each pattern. */
export function evenShares(task, example, isMasked) {
  const {length} = example.tokens;
  const map = new Float64Array(length * length);
  for (let i = 0; i < length; i += 1) {
    if (isMasked) map.fill(1 / (i + 1), i * length, i * length + i + 1);
    else map.fill(1 / length, i * length, (i + 1) * length);
  }
  return patternsOf(task, example, map);
}

/** The mean weight on the pattern's places, over the symbols that have some; the first symbol sees only itself. */
function shareOf(pattern, task, {tokens, targets}, map) {
  const start = tokens.findIndex((_, i) => askedAt(task, targets, i).length); // before it nothing is asked
  let [total, count] = [0, 0];
  for (let i = 1; i < tokens.length; i += 1) {
    const found = PATTERNS[pattern].at({tokens, targets, i, start});
    for (const j of found) total += map[i * tokens.length + j];
    if (found.length) count += 1;
  }
  return count ? total / count : 0;
}
