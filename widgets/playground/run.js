// A training that is kept: its numbers at every step, so that any step can be read again.

import {chanceOf} from "../lib/exact.js";
import {scoreOf} from "./gradient.js";
import {countOf, forward, viewsOf} from "./model.js";
import {followed} from "./patterns.js";
import {LONGEST, exampleOf, headsOf, readingOf} from "./reading.js";
import {TASKS, batchOf} from "./tasks.js";
import {trainerOf} from "./trainer.js";

const ROOM = 4e7; // bytes for the numbers of all steps
const ASKED = 16; // rows that a head's worth is measured on
const OTHERS = 600000; // a seed that no training has

/** {spec, steps, goOn(), look(step, off, example), worth(step, off)} of a training from its first step. */
export function runOf(spec) {
  const trainer = trainerOf(spec);
  const every = Math.ceil(countOf(spec) * 4 * LONGEST / ROOM); // steps between two that are kept
  const kept = [Float32Array.from(trainer.numbers)];
  const others = batchOf(spec.task, chanceOf(OTHERS), ASKED);
  const follows = []; // at each step, what each head follows in the rows of that step

  /** The model as it was at a step, or shortly before. */
  function viewsAt(step) {
    if (step === trainer.step) return trainer.views;
    return viewsOf(spec, Float64Array.from(kept[Math.floor(step / every)]));
  }
  function goOn() {
    const {loss, share, run, targets} = trainer.next();
    follows[trainer.step] = followsOf(spec, run, targets);
    if (trainer.step % every === 0) kept.push(Float32Array.from(trainer.numbers));
    return {loss, share};
  }
  function look(step, off, example) {
    const views = viewsAt(step);
    return {
      ...readingOf(spec, views, exampleOf(spec.task, example), off),
      follows: off.length ? followsOf(spec, forward(spec, views, others.tokens, off), others.targets) : follows[step]
    };
  }

  /** {share: right on 16 other rows with the heads of `off` off, without: the same without each head as well}. */
  function worth(step, off) {
    const views = viewsAt(step);
    const right = (without) => scoreOf(forward(spec, views, others.tokens, without).logits, others.targets).share;
    return {share: right(off), without: headsOf(spec).map((head) => right([...off, head]))};
  }
  return {spec, get step() { return trainer.step; }, goOn, look, worth};
}

/** Of each head, what it follows over the rows of a batch: see `followed`. */
function followsOf({task, mask, layers, heads}, run, targets) {
  const {length, questions} = TASKS[task];
  const rows = Array.from({length: run.rows}, (_, row) => row);
  const part = (list, row, size) => list.slice(row * size, (row + 1) * size);
  const follow = followed(task, rows.map((row) => ({tokens: part(run.tokens, row, length), targets: part(targets, row, length * questions.length)})), mask);
  return headsOf({layers, heads}).map(([layer, head]) => follow(rows.map((row) => run.layers[layer].weights[row][head])));
}
