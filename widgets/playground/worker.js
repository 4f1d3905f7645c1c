// Trains in a worker of its own, so that the page answers while it does.
// Asked {train}, it posts {records} until it is done, or {stop} comes; asked {look}, {looked}; {forget} drops trainings.

import {runOf} from "./run.js";

const MOST = 4; // trainings that are kept
const SLICE = 40; // ms at full speed before what has come is heard
const runs = new Map(); // by key: the longest unused is first
let waiting = 0; // of setTimeout

function runFor({key, spec}) {
  const run = runs.get(key) ?? runOf(spec);
  runs.delete(key);
  runs.set(key, run);
  if (runs.size > MOST) runs.delete(runs.keys().next().value);
  return run;
}

/** One step of each training that is behind the furthest of them, or of all. */
function stepOf({trained, example}) {
  const least = Math.min(...trained.map((one) => runFor(one).step));
  return trained
    .map((one) => [one, runFor(one)])
    .filter(([, run]) => run.step === least)
    .map(([{key}, run]) => {
      const score = run.goOn();
      return {key, step: run.step, ...score, example, reading: run.look(run.step, [], example)};
    });
}

/** trained: [{key, spec}]; from: the step that the page has come to, and to: the last; pace: steps a second, 0 as many as can be. */
function train(asked) {
  const isBehind = () => asked.trained.some((one) => runFor(one).step < asked.from); // it had been forgotten
  const isDone = () => asked.trained.every((one) => runFor(one).step >= asked.to);
  function go() {
    const records = [];
    const start = performance.now();
    do {
      if (isDone()) break;
      records.push(...stepOf(asked));
    } while ((!asked.pace || isBehind()) && performance.now() < start + SLICE);
    postMessage({
      records: records.map(({loss, share, step, key, example, reading}) => ({
        loss,
        share,
        step,
        key,
        example,
        reading,
      })),
      isDone: isDone(),
    });
    if (isDone()) return;
    const due = asked.pace && !isBehind() ? start + 1000 / asked.pace - performance.now() : 0;
    waiting = setTimeout(go, Math.max(0, due));
  }
  clearTimeout(waiting);
  waiting = setTimeout(go);
}

function look({key, spec, step, off, example, withWorth}) {
  const run = runFor({key, spec});
  while (run.step < step) run.goOn(); // it had been forgotten
  const worth = withWorth ? run.worth(step, off) : null;
  return {key, step, off, example, reading: run.look(step, off, example), worth};
}

function forget(keys) {
  clearTimeout(waiting);
  keys.forEach((key) => runs.delete(key));
}

globalThis.onmessage = ({data}) => {
  try {
    if (data.stop) clearTimeout(waiting);
    else if (data.forget) forget(data.forget);
    else if (data.train) train(data.train);
    else postMessage({looked: look(data.look)});
  } catch (error) {
    clearTimeout(waiting);
    postMessage({
      problem:
        error instanceof RangeError ? "this device has too little memory for it" : error.message,
    });
  }
};
