// What a model makes of an example, and when its training has learned the task.

import {chanceOf} from "../lib/exact.js";
import {mean} from "../lib/lists.js";
import {forward, largest} from "./model.js";
import {TASKS} from "./tasks.js";

export const LONGEST = 1000; // steps of a training
const EXAMPLES = 500000; // seeds from here on, which no training has

/** The training's `number`th example, which it never learns from. */
export const exampleOf = (task, number) => TASKS[task].make(chanceOf(EXAMPLES + number));

/**
 * What a model makes of an example: {maps: of each head a flat map, answers: the likeliest answer to
 * each question at each symbol, shares: how likely it is}.
 */
export function readingOf(spec, views, {tokens}, off = []) {
  const {logits, layers} = forward(spec, views, tokens, off);
  const width = TASKS[spec.task].answers.length;
  const answers = Array.from({length: logits.length / width}, (_, i) =>
    largest(logits, i * width, width),
  );
  const shares = answers.map(
    (answer, i) => 1 / partition(logits, i * width, width, logits[i * width + answer]),
  );
  return {
    maps: layers.flatMap(({weights}) => weights[0].map((map) => Float32Array.from(map))),
    answers,
    shares,
  };
}

function partition(logits, from, width, top) {
  let total = 0;
  for (let i = from; i < from + width; i += 1) total += Math.exp(logits[i] - top); // only shown
  return total;
}

/** All heads of a model, as [layer, head], counted from 0. */
export const headsOf = ({layers, heads}) =>
  Array.from({length: layers * heads}, (_, i) => [Math.floor(i / heads), i % heads]);

// ---- When a training has learned its task ------------------------------------------------------

export const ENOUGH = 0.95; // of the answers right
export const MEAN = 10; // steps

/** The mean of the last ten numbers up to `step`. */
export const meanAt = (numbers, step) => mean(numbers.slice(Math.max(0, step - MEAN), step));

const searched = new WeakMap(); // of a list that grows: as far as `step` the mean isn't enough

/** The first step at which the mean of ten is enough, or null. */
export function learnedAt(shares) {
  let step = searched.get(shares) ?? MEAN;
  while (step <= shares.length && !(meanAt(shares, step) >= ENOUGH)) step += 1;
  searched.set(shares, step);
  return step <= shares.length ? step : null;
}
