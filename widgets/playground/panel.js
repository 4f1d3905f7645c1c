// The playground's controls: the task, the model, the training, and what it is compared with; and the
// page's links "Try it", which set it up and start the training.

import {html, nothing} from "../../assets/vendor/lit.js";
import {formatPercent} from "../lib/numbers.js";
import {setUpLinks} from "../lib/set-up-links.js";
import {STAYS, act, cameTo, play, restart, stop} from "./session.js";
import {countOf} from "./model.js";
import {LONGEST} from "./reading.js";
import {PARTS, changesOf, keyOf, openingOf, rivalOf, specOf} from "./spec.js";
import {TASKS} from "./tasks.js";

const paceInWords = (pace) =>
  pace ? `${pace} step${pace === 1 ? "" : "s"} a second` : "as fast as it can";

const USUAL = {...Object.fromEntries(Object.keys(PARTS).map((name) => [name, null])), versus: null};

/** A change of what is trained: shown as far as it came before. */
function change(widget, changes) {
  const state = {...widget.state, ...changes, off: []};
  if (!rivalOf(specOf(state), state.versus)) state.versus = null;
  widget.data.session.met = "";
  act(widget, "bar", {...state, step: cameTo(widget.data.session, state)});
}

/** Radio buttons that stand together as one bar; a press on the chosen one counts, too. */
function bar(widget, name, options, texts, {label, now, choose}) {
  return html`<fieldset class="bar"><legend>${label}</legend><div>${options.map(
    (value, i) => html`<label><input type="radio" name="${widget.id}-${name}"
    .checked=${value === now} @click=${() => choose(value)}><span>${texts[i]}</span></label>`,
  )}</div></fieldset>`;
}

/** Each task brings its own settings, also the one that is chosen. */
export function tasks(widget) {
  const {data, state} = widget;
  if (data.tasks.length === 1) return nothing;
  return bar(
    widget,
    "task",
    data.tasks,
    data.tasks.map((task) => TASKS[task].title),
    {
      label: "Task",
      now: state.task,
      choose: (task) => change(widget, {...USUAL, seed: state.seed, task, example: 0, at: null}),
    },
  );
}

const part =
  (name, texts = PARTS[name].options) =>
  (widget) =>
    bar(widget, name, PARTS[name].options, texts, {
      label: PARTS[name].label,
      now: specOf(widget.state)[name],
      choose: (value) =>
        change(widget, {
          [name]: value,
          ...(openingOf(widget.state.task)[name] === value ? {[name]: null} : {}),
        }),
    });

const toggle =
  (name, label = PARTS[name].label) =>
  (widget) =>
    html`<label class="toggle"><input type="checkbox"
  .checked=${specOf(widget.state)[name]} @input=${({target}) => change(widget, {[name]: openingOf(widget.state.task)[name] === target.checked ? null : target.checked})}><span>${label}</span></label>`;

const select = (
  label,
  options,
  now,
  choose,
) => html`<label class="menu"><span>${label}</span><select @input=${({target}) => choose(target.selectedIndex)}>
  ${options.map((text, i) => html`<option .selected=${i === now}>${text}</option>`)}</select></label>`;

const rate = (widget) => {
  const {options} = PARTS.rate;
  return select("Learning rate", options, options.indexOf(specOf(widget.state).rate), (i) =>
    change(widget, {rate: openingOf(widget.state.task).rate === options[i] ? null : options[i]}),
  );
};
const seed = (widget) =>
  select("Seed", PARTS.seed.options, specOf(widget.state).seed, (i) =>
    change(widget, {seed: i || null}),
  );

export const thousands = (count) => String(count).replace(/(?<=\d)(?=(\d{3})+$)/g, ",");
const size = (widget) =>
  html`<span class="size">${thousands(countOf(specOf(widget.state)))} numbers to learn</span>`;

// ---- Training --------------------------------------------------------------------------------

/** Brings the training's controls to the top, once all is drawn, unless they and the maps are in view. */
function bringIn(widget) {
  const {data, root} = widget;
  if (data.session.waiting.length) return requestAnimationFrame(() => bringIn(widget));
  const [top, maps] = [".training", ".models"].map((name) => root.querySelector(name));
  if (top.getBoundingClientRect().top >= 0 && maps.getBoundingClientRect().bottom <= innerHeight)
    return;
  top.scrollIntoView({
    behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth",
  });
}

const trainButton = (widget) => {
  const {model: m, state} = widget;
  const [isPlaying, isDone] = [m.isPlaying, m.last >= LONGEST];
  function press() {
    if (isPlaying) return stop(widget);
    play(widget, TASKS[state.task].steps);
    bringIn(widget);
  }
  return html`<button type="button" class="train" aria-disabled=${isDone} @click=${() => !isDone && press()}>${isPlaying ? "Stop" : m.last ? "Train on" : "Train"}</button>`;
};
const oneStep = (widget) => {
  const isDone = widget.model.last >= LONGEST;
  return html`<button type="button" aria-disabled=${isDone} @click=${() => !isDone && play(widget, 1)}>One step</button>`;
};
const pace = (widget) => {
  const {options} = widget.fields.pace;
  return select("Speed", options.map(paceInWords), options.indexOf(widget.state.pace), (i) =>
    widget.set({pace: options[i]}),
  );
};

const versus = (widget) => {
  const all = changesOf(specOf(widget.state), widget.data.parts ?? undefined);
  const now = widget.state.versus;
  const at = now ? all.findIndex(({name, value}) => name === now.name && value === now.value) : -1;
  const choose = (i) =>
    change(widget, {versus: i ? {name: all[i - 1].name, value: all[i - 1].value} : null});
  return select("Compare with", ["nothing", ...all.map(({text}) => text)], at + 1, choose);
};

const reset = (widget) =>
  html`<button type="button" @click=${() => restart(widget)}>Reset</button>`;

/** Back through what was recorded. */
const scrub = (widget) => {
  const {
    model: {
      last,
      step,
      sides: [{share}],
    },
  } = widget;
  const says = `step ${step} of ${last}${share === null ? "" : `, ${formatPercent(share)} right`}`;
  return html`<div class="scrub"><label for="${widget.id}-step">Step</label><b>${step}</b><input id="${widget.id}-step" type="range" min="0" max=${Math.max(1, last)} step="1" aria-valuetext=${says}
    .value=${String(step)} ?disabled=${!last} @input=${({target}) => act(widget, "bar", {step: target.valueAsNumber})}></div>`;
};

const FIRST = ["layers", "heads", "positions", "mask"];
const MORE = ["width", "scale", "norm", "mlp", "rate", "seed"];
const made = (name) =>
  ({rate, seed})[name] ?? (typeof PARTS[name].options[0] === "boolean" ? toggle(name) : part(name));

/** What is changed later: folded, until the state has some of it. */
const more = (widget) => {
  const {
    data: {session},
    state,
  } = widget;
  session.hasMore = session.hasMore || MORE.some((name) => state[name] !== null);
  return html`<details class="more" ?open=${session.hasMore}>
  <summary>More settings</summary><div class="controls">${MORE.map((name) => made(name)(widget))}</div></details>`;
};

const all = (parts) =>
  parts
    ? [
        [tasks],
        [...FIRST, ...MORE].filter((name) => parts.includes(name)).map(made),
        [versus, size],
      ]
    : [[tasks], FIRST.map(made), [more, versus, size]];

/** Drawn only where what they show has changed: a step of the training leaves them as they are. */
export function controls({data: {session, parts}, state}) {
  const shown = keyOf(specOf(state)) + keyOf(state.versus);
  const rows = all(parts);
  if (shown === session.panel) return rows.map((row) => row.map(() => () => STAYS));
  session.panel = shown;
  return rows;
}

/** The training's own controls, which change while it goes. */
export const training = (widget) =>
  html`<div class="controls training">${[trainButton, oneStep, pace, reset, scrub].map((control) => control(widget))}</div>`;

// ---- Try it ----------------------------------------------------------------------------------

/** Hears presses of `a.set-up` that lead to this widget, with its fields as "key.name" in their address. */
export function setUps(widget, key) {
  const {root} = widget;
  setUpLinks(widget, key, (state) => {
    train(widget, {...state, pace: state.step ? 0 : widget.state.pace}); // a long one, at full speed
    root.querySelector(".training").scrollIntoView();
    root.querySelector(".train").focus({preventScroll: true});
  });
}

/** Trains what `state` says as far as its step, or else its task's steps; a training that came so far before is shown. */
function train(widget, state) {
  const steps = state.step || TASKS[state.task].steps;
  const last = cameTo(widget.data.session, state);
  widget.set({...state, step: Math.min(last, steps)});
  if (last < steps) play(widget, steps - last);
}
