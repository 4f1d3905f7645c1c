// What a playground keeps beside its state: the trainings so far, what was read of them, and the worker.

import {specOf, rivalOf, keyOf} from "./spec.js";
import {LONGEST, headsOf} from "./reading.js";

const PROBLEM = {
  script: "The training could not be started: its script is missing, or failed.",
  workers: "The training could not be started: this browser runs no workers.",
};
const MOST = 4000; // readings that are kept

export const sessionOf = () => ({
  runs: new Map(),
  readings: new Map(),
  worths: new Map(),
  untrained: new Map(),
  first: null,
  shown: null,
  playing: null, // what the worker trains in view: {trained, to, pace, example, shown}
  catching: null, // what it trains first, because the address or a comparison asks for it
  again: null, // how far it has come once more, in a training that it had forgotten
  former: null, // the key of the training that was shown before
  looking: null,
  problem: "",
  met: "",
  worker: null,
  isDone: false,
  isReaders: false,
  frame: 0, // the next drawing
  isNew: false, // whether more has come since the last
  acted: 0, // when the reader last did what isn't answered yet
  isLeft: false, // whether the next frame is left to an answer
  part: null, // what this drawing draws anew; null for all
  waiting: [], // the parts to draw next
  panel: "", // what the controls show
});

/** {losses, shares} of a training: of each step, before it learned from that step's rows; since: the step at which each head's pattern began, if it has one. */
export function runFor({runs}, key) {
  if (!runs.has(key)) runs.set(key, {losses: [], shares: [], since: []});
  return runs.get(key);
}
export const lastOf = (session, key) => runFor(session, key).losses.length;

/** How far all trainings have come that a state shows. */
export const cameTo = (session, state) =>
  Math.min(...trainedOf(state).map(({key}) => lastOf(session, key)));

/** The key that the reading of a question is kept by, and its worth. */
export const readingKey = ({key, step, off, example}) =>
  [key, step, off.join(","), example].join("|");

/** The trainings that the state shows: one, or two to compare. */
export function trainedOf(state) {
  const spec = specOf(state);
  return [spec, rivalOf(spec, state.versus)]
    .filter(Boolean)
    .map((one) => ({key: keyOf(one), spec: one}));
}

/** How the state names a head that is off: those of the second training, for i = 1, have a mark before. */
export const offName = (name, i) => (i ? `b${name}` : name);
const offNames = (spec, i) =>
  headsOf(spec).map(([layer, head]) => offName(`${layer + 1}.${head + 1}`, i));

/** What is to be read of a training, for the state. */
export const questionOf = (state, {key, spec}, i) => ({
  key,
  spec,
  step: state.step,
  example: state.example,
  off: headsOf(spec).filter((_, at) => state.off.includes(offNames(spec, i)[at])),
});

// ---- The worker ------------------------------------------------------------------------------

function post(widget, message) {
  const {session} = widget.data;
  try {
    session.worker = session.worker ?? start(widget);
    session.worker.postMessage(message);
  } catch {
    setTimeout(() => fail(widget, PROBLEM.workers));
  }
}

function start(widget) {
  const {session} = widget.data;
  const worker = new Worker(new URL("./worker.js", import.meta.url), {type: "module"});
  worker.onmessage = ({data}) => {
    if (!widget.root.isConnected) return worker.terminate(); // the page no longer has this widget
    if (data.problem) fail(widget, `The training stopped: ${data.problem}.`);
    else if (data.looked) hearLook(widget, data.looked);
    else hearRecords(widget, data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    session.worker = null; // the next act tries again
    fail(widget, PROBLEM.script);
  };
  return worker;
}

function fail(widget, problem) {
  Object.assign(widget.data.session, {
    problem,
    playing: null,
    catching: null,
    looking: null,
    again: null,
  });
  widget.refresh();
}

function hearLook(widget, {reading, worth, ...question}) {
  const {session} = widget.data;
  session.looking = null;
  keep(session, question, reading);
  if (worth) session.worths.set(readingKey(question), worth);
  session.waiting = [];
  showSoon(widget);
}

function keep({readings, worths}, question, reading) {
  if (readings.size > MOST)
    for (const place of readings.keys()) if (!worths.has(place)) readings.delete(place); // where a reader stayed is kept
  readings.set(readingKey({off: [], ...question}), reading);
}

function hearRecords(widget, {records, isDone}) {
  const {session} = widget.data;
  for (const {key, step, loss, share, example, reading} of records) {
    const run = runFor(session, key);
    const {losses, shares} = run;
    const isNew = step === losses.length + 1;
    if (session.playing) session.again = isNew ? null : step; // the worker had forgotten it, and began again
    if (!isNew) continue;
    losses.push(loss);
    shares.push(share);
    run.since = reading.follows.map((head) => head.since);
    keep(session, {key, step, example}, reading);
  }
  session.isDone = isDone;
  showSoon(widget);
}

const PAUSE = 120; // ms without a drawing of the training, after a reader's act
const DRAWING = 2; // ms in a frame before the rest waits: layout and paint take three times as long

/** The parts of a drawing: a number is a training's score. */
const partsOf = (state) => [
  "bar",
  ...trainedOf(state).flatMap(({spec}, i) => [i, ...offNames(spec, i)]),
  "example",
  "curves",
];

function showSoon(widget) {
  widget.data.session.isNew = true;
  goOnSoon(widget);
}

function goOnSoon(widget) {
  const {session} = widget.data;
  if (!session.frame && (session.isNew || session.waiting.length))
    session.frame = requestAnimationFrame(() => goOn(widget));
}

/** Draws a few parts in each frame, so that what a reader does is answered soon. */
function goOn(widget) {
  const {session} = widget.data;
  const start = performance.now();
  session.frame = 0;
  if (session.isLeft) session.isLeft = false;
  else if (!session.playing || start > session.acted + PAUSE) {
    if (!session.waiting.length) {
      Object.assign(session, {isNew: false, waiting: partsOf(widget.state)});
      drawNext(widget, () => show(widget));
    }
    while (session.waiting.length && performance.now() < start + DRAWING)
      drawNext(widget, widget.draw);
  }
  goOnSoon(widget);
}

/** Draws one part of a change. */
function drawNext({data: {session}}, change) {
  session.part = session.waiting.shift();
  change();
  session.part = null;
}

/** Changes fields for a reader, and draws what was pressed first. */
export function act(widget, part, changes, options) {
  const {session} = widget.data;
  const waiting = [...new Set([part, ...partsOf({...widget.state, ...changes})])];
  Object.assign(session, {acted: 0, isLeft: true, waiting});
  drawNext(widget, () => widget.set(changes, options));
  goOnSoon(widget);
}

export const STAYS = Symbol.for("lit-noChange"); // Lit leaves what is there

/** A part of the drawing: made, or left as it was where this drawing is of another. */
export const drawnPart = ({part}, name, make) => (part !== null && part !== name ? STAYS : make());

/** Shows how far the training has come. */
function show(widget) {
  const {
    session,
    session: {playing},
  } = widget.data;
  if (session.isDone) session.catching = null;
  if (!playing) return widget.refresh(session.isReaders);
  const step = Math.min(...playing.trained.map(({key}) => lastOf(session, key)));
  if (session.isDone && step >= playing.to) session.playing = null;
  playing.shown = step;
  widget.set({step}, {silently: true});
}

// ---- Acts ------------------------------------------------------------------------------------

/** Trains in view, as far as `steps` from where it is. */
export function play(widget, steps, pace = widget.state.pace) {
  const {session} = widget.data;
  const trained = trainedOf(widget.state);
  const step = cameTo(session, widget.state);
  const to = Math.min(LONGEST, step + steps);
  Object.assign(session, {
    problem: "",
    met: "",
    catching: null,
    isDone: false,
    playing: {
      trained,
      from: step,
      to,
      pace,
      example: widget.state.example,
      shown: step,
      isSingle: steps === 1,
    },
  });
  act(widget, "bar", {step, off: []}, {silently: true});
  post(widget, {train: session.playing});
}

export function stop(widget) {
  if (!widget.data.session.playing) return;
  halt(widget);
  act(widget, "bar", {}, {silently: true});
}

function halt(widget) {
  const {session} = widget.data;
  session.playing = session.again = null;
  post(widget, {stop: true});
}

/** Drops the trainings that the state shows, which begin anew; the settings stay. */
export function restart(widget) {
  const {session} = widget.data;
  const keys = trainedOf(widget.state).map(({key}) => key);
  keys.forEach((key) => session.runs.delete(key)); // what was read of them is found the same again
  Object.assign(session, {playing: null, catching: null, again: null, met: ""});
  post(widget, {forget: keys});
  act(widget, "bar", {step: 0, off: []});
}

/** After each drawing: asks the worker for what the state shows and isn't there yet. */
export function follow(widget) {
  const {
    data: {session},
    state,
  } = widget;
  const trained = trainedOf(state);
  const {playing} = session;
  if (session.part === null) session.waiting = [];
  if (playing) {
    const same =
      String(trained.map(({key}) => key)) === String(playing.trained.map(({key}) => key));
    if (
      !same ||
      state.step !== playing.shown ||
      state.example !== playing.example ||
      state.off.length
    ) {
      halt(widget);
      session.waiting = []; // they would tell that it goes on
      return showSoon(widget);
    }
    if (!playing.isSingle && playing.pace !== state.pace) {
      playing.pace = state.pace;
      post(widget, {train: playing});
    }
    return;
  }
  if (session.problem || session.looking) return;
  const behind = trained.filter(({key}) => lastOf(session, key) < state.step);
  const wanted = String(trained.map(({key}) => key)) + state.step;
  if (behind.length) {
    if (session.catching === wanted) return;
    session.catching = wanted;
    session.isDone = false;
    return post(widget, {
      train: {trained: behind, to: state.step, pace: 0, example: state.example},
    });
  }
  const questions = trained.map((one, i) => questionOf(state, one, i));
  const unread = questions.find(
    (question) => state.step && !session.readings.has(readingKey(question)),
  );
  const unweighed = questions.find(
    (question) => state.step && !session.worths.has(readingKey(question)),
  );
  if (!unread && !unweighed) return;
  session.looking = {...(unread ?? unweighed), withWorth: !unread};
  post(widget, {look: session.looking});
}
