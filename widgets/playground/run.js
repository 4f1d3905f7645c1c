// A training that is kept: its numbers at every step, so that any step can be read again.

import {chanceOf} from "../lib/exact.js";
import {scoreOf} from "./gradient.js";
import {countOf, forward, viewsOf} from "./model.js";
import {named, sharesOf} from "./patterns.js";
import {LONGEST, MEAN, exampleOf, headsOf, readingOf} from "./reading.js";
import {TASKS, batchOf} from "./tasks.js";
import {trainerOf} from "./trainer.js";

const ROOM = 4e7; // bytes for the numbers of all steps
const ASKED = 16; // rows that a head's worth is measured on
const OTHERS = 600000; // a seed that no training has

/** {spec, steps, goOn(), look(step, off, example), worth(step, off)} of a training from its first step. */
export function runOf(spec) {
  const trainer = trainerOf(spec);
  const every = Math.ceil((countOf(spec) * 4 * LONGEST) / ROOM); // steps between two that are kept
  const kept = [Float32Array.from(trainer.numbers)];
  const others = batchOf(spec.task, chanceOf(OTHERS), ASKED);
  const shares = []; // at each step, each head's, over the rows of that step
  const follows = []; // at each step, what each head follows by the mean of the last ten, and since when

  /** The model as it was at a step, or shortly before. */
  function viewsAt(step) {
    if (step === trainer.step) return trainer.views;
    return viewsOf(spec, Float64Array.from(kept[Math.floor(step / every)]));
  }
  function goOn() {
    const {loss, share, run, targets} = trainer.next();
    shares.push(headShares(spec, run, targets));
    const before = follows.at(-1);
    follows[trainer.step] = namesOf(spec, shares.slice(-MEAN)).map((one, head) => {
      const isSame = before && before[head].says === one.says;
      return one.share ? {...one, since: isSame ? before[head].since : trainer.step} : one;
    });
    if (trainer.step % every === 0) kept.push(Float32Array.from(trainer.numbers));
    return {loss, share};
  }
  function look(step, off, example) {
    const views = viewsAt(step);
    return {
      ...readingOf(spec, views, exampleOf(spec.task, example), off),
      follows: off.length
        ? namesOf(spec, [
            headShares(spec, forward(spec, views, others.tokens, off), others.targets),
          ])
        : follows[step],
    };
  }

  /** {share: right on 16 other rows with the heads of `off` off, without: the same without each head as well}. */
  function worth(step, off) {
    const views = viewsAt(step);
    const right = (without) =>
      scoreOf(forward(spec, views, others.tokens, without).logits, others.targets).share;
    return {share: right(off), without: headsOf(spec).map((head) => right([...off, head]))};
  }
  return {
    spec,
    get step() {
      return trainer.step;
    },
    goOn,
    look,
    worth,
  };
}

/** Of each head, the shares that name it, over the rows of a batch. */
function headShares({task, mask, layers, heads}, run, targets) {
  const {length, questions} = TASKS[task];
  const rows = Array.from({length: run.rows}, (_, row) => row);
  const part = (list, row, size) => list.slice(row * size, (row + 1) * size);
  const found = sharesOf(
    task,
    rows.map((row) => ({
      tokens: part(run.tokens, row, length),
      targets: part(targets, row, length * questions.length),
    })),
    mask,
  );
  return headsOf({layers, heads}).map(([layer, head]) =>
    found(rows.map((row) => run.layers[layer].weights[row][head])),
  );
}

/** Of each head, what it follows by the mean over some steps. */
const namesOf = ({task}, steps) =>
  steps[0].map((one, head) =>
    named(
      task,
      one.map((_, k) => steps.reduce((all, heads) => all + heads[head][k], 0) / steps.length),
    ),
  );
