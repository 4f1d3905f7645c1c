// What a reader chooses, as fields; the model and training that follow from it; and one change of it.

import {flag, integer, option} from "../lib/fields.js";
import {LONGEST} from "./reading.js";
import {TASKS} from "./tasks.js";

const RATES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];
const COMMON = {heads: 1, positions: "learned", scale: true, norm: true, mlp: false, seed: 0};

/** What can differ between two trainings, with the words for each value. */
const count = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
export const PARTS = {
  layers: {options: [1, 2, 3], label: "Layers", says: (n) => count(n, "layer")},
  heads: {options: [1, 2, 4], label: "Heads a layer", says: (n) => `${count(n, "head")} a layer`},
  width: {options: [16, 32, 64], label: "Width", says: (n) => `${n} numbers wide`},
  positions: {
    options: ["none", "learned", "rotary"],
    label: "Positions",
    says: (name) => (name === "none" ? "no positions" : `${name} positions`),
  },
  mask: {
    options: [true, false],
    label: "causal mask",
    says: (on) => (on ? "causal mask" : "no mask"),
  },
  scale: {
    options: [true, false],
    label: "scores ÷ √d",
    says: (on) => (on ? "scores ÷ √d" : "no ÷ √d"),
  },
  norm: {options: [true, false], label: "norm", says: (on) => (on ? "norm" : "no norm")},
  mlp: {options: [false, true], label: "MLP", says: (on) => (on ? "with MLPs" : "no MLP")},
  rate: {options: RATES, label: "Learning rate", says: (rate) => `learning rate ${rate}`},
  seed: {options: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], label: "Seed", says: (seed) => `seed ${seed}`},
};
const NAMES = Object.keys(PARTS);

/** A field that has no value of its own until it is chosen: then the task's counts. */
const ofTask = (field) => ({
  ...field,
  value: null,
  format: (value) => (value === null ? "" : field.format(value)),
});
const fieldOf = ({options}) =>
  ofTask(typeof options[0] === "boolean" ? flag(options[0]) : option(options[0], options));

const aHead = /^b?[1-3]\.[1-4]$/; // b: of the second training
const headsOff = {
  value: [],
  parse: (text) =>
    text.split(",").every((name) => aHead.test(name))
      ? [...new Set(text.split(","))].sort()
      : undefined,
  format: (names) => names.join(","),
};
const aChange = {
  value: null,
  parse(text) {
    const [name, value] = text.split("-");
    return changeOf(
      name,
      PARTS[name]?.options.find((one) => String(one) === value),
    );
  },
  format: (change) => (change ? `${change.name}-${change.value}` : ""),
};
const changeOf = (name, value) => (value === undefined ? undefined : {name, value});

/** The fields, of a playground with `tasks`, of which the first is open. */
export const fieldsOf = ({tasks}) => ({
  task: option(tasks[0], tasks),
  ...Object.fromEntries(NAMES.map((name) => [name, fieldOf(PARTS[name])])),
  step: integer(0, {max: LONGEST}),
  off: headsOff,
  example: integer(0, {max: 9}),
  at: ofTask(integer(0, {max: 23})),
  versus: aChange,
  pace: option(15, [1, 3, 15, 30, 0]),
});

/**
 * The values that the state stands for: its own, or the task's.
 * @returns {Record<string, any>}
 */
export function specOf(state) {
  const usual = {...COMMON, ...TASKS[state.task].opening};
  return {
    task: state.task,
    ...Object.fromEntries(NAMES.map((name) => [name, state[name] ?? usual[name]])),
  };
}

/** The values that a task is opened with. */
export const openingOf = (task) => specOf({task});

/** The other training of a comparison; null for none, or for one that isn't another. */
export function rivalOf(spec, versus) {
  return versus && spec[versus.name] !== versus.value
    ? {...spec, [versus.name]: versus.value}
    : null;
}

/** All changes of one of the `parts`: [{name, value, text}]. */
export const changesOf = (spec, parts = NAMES) =>
  NAMES.filter((name) => name !== "seed" && parts.includes(name))
    .flatMap((name) =>
      PARTS[name].options
        .filter((value) => value !== spec[name])
        .map((value) => ({name, value, text: PARTS[name].says(value)})),
    )
    .concat([
      {name: "seed", value: (spec.seed + 1) % 10, text: `another seed, ${(spec.seed + 1) % 10}`},
    ]);

/** What of the model differs from the task's opening, in words; the model's size where nothing does. */
export const wordsOf = (spec) => NAMES.map((name) => PARTS[name].says(spec[name])).join(", ");

export const keyOf = (spec) => JSON.stringify(spec);
