// A training that goes step by step, by AdamW, and can be read at any step.

import {chanceOf} from "../lib/exact.js";
import {learnFrom} from "./gradient.js";
import {numbersOf, viewsOf} from "./model.js";
import {batchOf} from "./tasks.js";

export const BATCH = 16;
const [WARM, DECAY, FIRST, SECOND, TINY] = [20, 0.01, 0.9, 0.95, 1e-8];

/** {step, numbers, views, next()} of a new training; next() learns from 16 new rows, and gives what it made of them before. */
export function trainerOf(spec) {
  const {task, rate, seed} = spec;
  const numbers = numbersOf(spec, chanceOf(2 * seed));
  const [slopes, mean, square] = [0, 1, 2].map(() => new Float64Array(numbers.length));
  const [views, slopeViews] = [viewsOf(spec, numbers), viewsOf(spec, slopes)];
  const chance = chanceOf(2 * seed + 1);
  const powers = [1, 1]; // of the two averages' shares, for their bias
  const trainer = {step: 0, numbers, views, next};

  function next() {
    slopes.fill(0);
    const {tokens, targets} = batchOf(task, chance, BATCH);
    const {loss, share, run} = learnFrom(spec, views, {tokens, targets}, slopeViews);
    trainer.step += 1;
    powers[0] *= FIRST;
    powers[1] *= SECOND;
    const now = rate * Math.min(1, trainer.step / WARM);
    for (let i = 0; i < numbers.length; i += 1) {
      mean[i] = FIRST * mean[i] + (1 - FIRST) * slopes[i];
      square[i] = SECOND * square[i] + (1 - SECOND) * slopes[i] * slopes[i];
      const move = mean[i] / (1 - powers[0]) / (Math.sqrt(square[i] / (1 - powers[1])) + TINY);
      numbers[i] -= now * (move + DECAY * numbers[i]);
    }
    return {loss, share, run, targets};
  }
  return trainer;
}
