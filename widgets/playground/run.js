// A training that is kept: its numbers at every step, so that any step can be read again.

import {chanceOf} from "../lib/exact.js";
import {countOf, forward, largest, scoreOf, viewsOf} from "./model.js";
import {TASKS, batchOf} from "./tasks.js";
import {trainerOf} from "./trainer.js";

export const LONGEST = 1000; // steps of a training
const ROOM = 4e7; // bytes for the numbers of all steps
const ASKED = 16; // rows that a head's worth is measured on
const [EXAMPLES, OTHERS] = [500000, 600000]; // seeds that no training has

/** The training's `number`th example, which it never learns from. */
export const exampleOf = (task, number) => TASKS[task].make(chanceOf(EXAMPLES + number));

/**
 * What a model makes of an example: {maps: of each head a flat map, answers: the likeliest answer at
 * each symbol, shares: how likely it is}.
 */
export function readingOf(spec, views, {tokens}, off = []) {
  const {logits, layers} = forward(spec, views, tokens, off);
  const width = logits.length / tokens.length;
  const answers = tokens.map((_, i) => largest(logits, i * width, width));
  const shares = answers.map((answer, i) => 1 / partition(logits, i * width, width, logits[i * width + answer]));
  return {maps: layers.flatMap(({weights}) => weights[0].map((map) => Float32Array.from(map))), answers, shares};
}

function partition(logits, from, width, top) {
  let total = 0;
  for (let i = from; i < from + width; i += 1) total += Math.exp(logits[i] - top); // only shown
  return total;
}

/** All heads of a model, as [layer, head], counted from 0. */
export const headsOf = ({layers, heads}) => Array.from({length: layers * heads}, (_, i) => [Math.floor(i / heads), i % heads]);

/** {spec, steps, goOn(), look(step, off, example), worth(step, off)} of a training from its first step. */
export function runOf(spec) {
  const trainer = trainerOf(spec);
  const every = Math.ceil(countOf(spec) * 4 * LONGEST / ROOM); // steps between two that are kept
  const kept = [Float32Array.from(trainer.numbers)];
  const others = batchOf(spec.task, chanceOf(OTHERS), ASKED);

  /** The model as it was at a step, or shortly before. */
  function viewsAt(step) {
    if (step === trainer.step) return trainer.views;
    return viewsOf(spec, Float64Array.from(kept[Math.floor(step / every)]));
  }
  function goOn() {
    const score = trainer.next();
    if (trainer.step % every === 0) kept.push(Float32Array.from(trainer.numbers));
    return score;
  }
  const look = (step, off, example) => readingOf(spec, viewsAt(step), exampleOf(spec.task, example), off);

  /** {share: right on 16 other rows with the heads of `off` off, without: the same without each head as well}. */
  function worth(step, off) {
    const views = viewsAt(step);
    const right = (without) => scoreOf(forward(spec, views, others.tokens, without).logits, others.targets).share;
    return {share: right(off), without: headsOf(spec).map((head) => right([...off, head]))};
  }
  return {spec, get step() { return trainer.step; }, goOn, look, worth};
}
