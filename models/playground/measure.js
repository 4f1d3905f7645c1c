// One training of the playground, as a press of "Train" does it, and what came of it.

import {patternsOf} from "/widgets/playground/patterns.js";
import {exampleOf, headsOf, learnedAt, meanAt} from "/widgets/playground/reading.js";
import {runOf} from "/widgets/playground/run.js";
import {specOf} from "/widgets/playground/spec.js";
import {TASKS} from "/widgets/playground/tasks.js";
import {countOf} from "/widgets/playground/model.js";

const EXAMPLES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const round = (x, digits) => Number(x.toFixed(digits));

/** Begins a training that differs from the task's opening in `changes`, of `most` steps; more(steps) goes on. */
export function begin({task, most = TASKS[task].steps, ...changes}) {
  const spec = specOf({task, ...changes});
  const run = runOf(spec);
  const [losses, shares] = [[], []];
  function more(steps) {
    for (let i = 0; i < steps && losses.length < most; i += 1) {
      const {loss, share} = run.goOn();
      losses.push(loss);
      shares.push(share);
    }
    return {step: losses.length, isDone: losses.length === most, loss: losses[losses.length - 1]};
  }
  return {more, end: () => ended(spec, run, losses, shares)};
}

/** Of each head, the mean weight on each pattern over ten examples. */
function patterns(spec, run) {
  const readings = EXAMPLES.map((number) => run.look(run.step, [], number));
  return headsOf(spec).map((_, head) => {
    const found = EXAMPLES.map((number, i) =>
      patternsOf(spec.task, exampleOf(spec.task, number), readings[i].maps[head]),
    );
    return Object.fromEntries(
      found[0].map(({pattern}, k) => [
        pattern,
        round(found.reduce((all, one) => all + one[k].share, 0) / EXAMPLES.length, 3),
      ]),
    );
  });
}

/** How often the answer is right at each symbol of ten examples; null where none is asked. */
function rightAt(spec, run) {
  const all = EXAMPLES.map((number) => ({
    ...exampleOf(spec.task, number),
    ...run.look(run.step, [], number),
  }));
  return all[0].targets.map((_, i) => {
    const asked = all.filter(({targets}) => targets[i] >= 0);
    return asked.length
      ? round(
          asked.filter(({targets, answers}) => targets[i] === answers[i]).length / asked.length,
          2,
        )
      : null;
  });
}

function ended(spec, run, losses, shares) {
  return {
    numbers: countOf(spec),
    steps: losses.length,
    learned: learnedAt(shares),
    share: round(meanAt(shares, shares.length), 4),
    loss: round(meanAt(losses, losses.length), 4),
    without: run.worth(run.step, []).without.map((share) => round(share, 3)),
    heads: patterns(spec, run),
    right: rightAt(spec, run),
  };
}

/** A training step by step, with what the widget says of each head: [{step, loss, share, follows, answers}] at `steps`. */
export function recorded(task, steps) {
  const spec = specOf({task});
  const run = runOf(spec);
  const [losses, shares] = [[], []];
  return steps.map((step) => {
    while (losses.length < step) {
      const {loss, share} = run.goOn();
      losses.push(loss);
      shares.push(share);
    }
    const {follows: found, answers} = run.look(step, [], 0);
    const follows = found
      ? found.map(({says, share}) => ({says, share: share ? round(share, 4) : null}))
      : null;
    return {
      step,
      follows,
      answers,
      loss: step ? round(meanAt(losses, step), 4) : null,
      share: step ? round(meanAt(shares, step), 4) : null,
    };
  });
}

/** Of each head, the step since which its line names the pattern that it names at the end. */
export function since(task, seed) {
  const run = runOf(specOf({task, seed}));
  const {steps} = TASKS[task];
  while (run.step < steps) run.goOn();
  return run.look(steps, [], 0).follows.map((one) => one.since);
}
