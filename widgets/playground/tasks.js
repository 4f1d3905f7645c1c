// The tasks of the playground: rows of symbols made by chance, and the answer at each symbol, or none.

import {range} from "../lib/lists.js";

const LETTERS = [..."abcdefghijklmnop"];
const NUMBERS = LETTERS.map((_, i) => String(i + 1));
const MIXED = [...LETTERS.slice(0, 8), ...NUMBERS.slice(0, 8)];
const NONE = -1; // no answer is asked for

/** `period` letters, each once, over and over: from the second time on, each tells which comes next. */
function repeat(chance) {
  const period = 5 + chance.below(8);
  const own = chance.shuffled(range(0, 16)).slice(0, period);
  const row = range(0, 25).map((i) => own[i % period]);
  return {
    tokens: row.slice(0, 24),
    targets: range(0, 24).map((i) => (i < period ? NONE : row[i + 1])),
  };
}

/** Six pairs of a letter and a number; then the letters again, in another order: which number was it? */
function recall(chance) {
  const keys = chance.shuffled(range(0, 8)).slice(0, 6);
  const values = keys.map(() => 8 + chance.below(8));
  const asked = chance.shuffled(range(0, 6));
  const pairs = [...range(0, 6), ...asked];
  const tokens = pairs.flatMap((i) => [keys[i], values[i]]);
  return {tokens, targets: tokens.map((_, i) => (i >= 12 && i % 2 === 0 ? tokens[i + 1] : NONE))};
}

const letters = (chance, count, length) => range(0, length).map(() => chance.below(count));

function reverse(chance) {
  const tokens = letters(chance, 12, 16);
  return {tokens, targets: [...tokens].reverse()};
}

function first(chance) {
  const tokens = letters(chance, 16, 16);
  return {tokens, targets: tokens.map((token) => tokens.indexOf(token))};
}

function previous(chance) {
  const tokens = letters(chance, 12, 16);
  return {tokens, targets: tokens.map((_, i) => (i ? tokens[i - 1] : NONE))};
}

/** Two questions at each letter: which one stood one place before, and which one three? */
function two(chance) {
  const tokens = letters(chance, 10, 16);
  return {
    tokens,
    targets: tokens.flatMap((_, i) => (i < 3 ? [NONE, NONE] : [tokens[i - 1], tokens[i - 3]])),
  };
}

/** Ten letters, each once, and then the same in order: from the last of the ten on, which comes next? */
function sort(chance) {
  const given = chance.shuffled(range(0, 16)).slice(0, 10);
  const row = [...given, ...[...given].sort((a, b) => a - b)];
  return {tokens: row.slice(0, 19), targets: range(0, 19).map((i) => (i < 9 ? NONE : row[i + 1]))};
}

/**
 * By name: what it is called and asks; make(chance) → {tokens, targets}; the symbols that stand for tokens, and those for answers;
 * the length of a row; the questions that are asked at each symbol, whose answers stand side by
 * side in targets; the steps of one press of Train; and the settings that it is opened with.
 */
export const TASKS = {
  repeat: {
    title: "Repeat",
    asks: "The row begins again and again. Which letter comes next?",
    make: repeat,
    symbols: LETTERS,
    answers: LETTERS,
    length: 24,
    questions: ["asked"],
    steps: 300,
    opening: {layers: 2, width: 32, rate: 0.01, mask: true},
  },
  recall: {
    title: "Recall",
    asks: "Which number stood after this letter?",
    make: recall,
    symbols: MIXED,
    answers: MIXED,
    length: 24,
    questions: ["asked"],
    steps: 400,
    opening: {layers: 2, width: 32, rate: 0.005, mask: true},
  },
  previous: {
    title: "Previous token",
    asks: "Which letter stands before this one?",
    make: previous,
    symbols: LETTERS.slice(0, 12),
    answers: LETTERS.slice(0, 12),
    length: 16,
    questions: ["asked"],
    steps: 200,
    opening: {layers: 1, width: 16, rate: 0.01, mask: true},
  },
  reverse: {
    title: "Reverse",
    asks: "Read from the end, which letter stands at this position?",
    make: reverse,
    symbols: LETTERS.slice(0, 12),
    answers: LETTERS.slice(0, 12),
    length: 16,
    questions: ["asked"],
    steps: 200,
    opening: {layers: 1, width: 16, rate: 0.01, mask: false},
  },
  first: {
    title: "First occurrence",
    asks: "At which position did this letter first stand?",
    make: first,
    symbols: LETTERS,
    answers: NUMBERS,
    length: 16,
    questions: ["asked"],
    steps: 200,
    opening: {layers: 1, width: 16, rate: 0.02, mask: true},
  },
  two: {
    title: "Two back",
    asks: "Which letters stand one and three positions before this one?",
    make: two,
    symbols: LETTERS.slice(0, 10),
    answers: LETTERS.slice(0, 10),
    length: 16,
    questions: ["1 back", "3 back"],
    steps: 300,
    opening: {layers: 1, heads: 2, width: 32, rate: 0.01, mask: true, seed: 1},
  },
  sort: {
    title: "Sort",
    asks: "Ten letters, then the same by the alphabet. Which one comes next?",
    make: sort,
    symbols: LETTERS,
    answers: LETTERS,
    length: 19,
    questions: ["asked"],
    steps: 400,
    opening: {layers: 1, width: 32, rate: 0.01, mask: true},
  },
};

/** `count` rows of a task, one after the other: {tokens, targets} as flat lists. */
export function batchOf(task, chance, count) {
  const rows = range(0, count).map(() => TASKS[task].make(chance));
  return {
    tokens: rows.flatMap(({tokens}) => tokens),
    targets: rows.flatMap(({targets}) => targets),
  };
}

/** Where in `targets` the answers that are asked for at symbol i stand; nowhere where nothing is asked. */
export function askedAt(task, targets, i) {
  const {questions} = TASKS[task];
  return range(i * questions.length, (i + 1) * questions.length).filter(
    (at) => targets[at] !== NONE,
  );
}
