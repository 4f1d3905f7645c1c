// The weights of one training at several steps, fetched when they are asked for.

import {loadModel} from "./load-model.js";

/**
 * {models: by index, arrived: how many, asked: how many, problem: in words, need(i), needAll(first)}.
 * onChange(i) hears of each that has arrived, and of problems.
 */
export function checkpoints(files, onChange) {
  const pending = new Set();
  const store = {
    models: files.map(() => null),
    arrived: 0,
    asked: 0,
    problem: "",
    need(i) {
      if (store.models[i] || pending.has(i)) return;
      pending.add(i);
      store.asked += 1;
      loadModel(files[i])
        .then(
          (model) => {
            store.models[i] = model;
            store.arrived += 1;
            store.problem = "";
          },
          (error) => {
            store.asked -= 1;
            store.problem = `${error.message}.`; // asking again tries again
          },
        )
        .then(() => {
          pending.delete(i);
          onChange(i);
        });
    },
    /** All, those near `first` before the others. */
    needAll(first) {
      [...files.keys()]
        .sort((a, b) => Math.abs(a - first) - Math.abs(b - first))
        .forEach(store.need);
    },
  };
  return store;
}
