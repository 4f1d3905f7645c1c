// What is written: a guess that a reader presses, or what the model draws from its guesses, token by token.

import {draw, withoutEnd} from "../lib/reading.js";
import {answers, questionOf} from "./look.js";
import {withoutParts} from "../lib/token-text.js";

const [ENOUGH, TO_END, PACE] = [60, 20, 160]; // tokens written at once; the last of them, which end with a sentence; ms

// ---- Model ---------------------------------------------------------------------------------

/** The guesses that are drawn from: the `most` likeliest, whose shares make 1 together. */
export function drawnFrom(next, most) {
  const kept = next.slice(0, most);
  const total = kept.reduce((all, {share}) => all + share, 0);
  return kept.map(({text, share}) => ({text, share: share / total}));
}

/** The text of a reading with `guess` after token `at`; where a model sees both ways, in its place. What there was no room for goes. */
export function withGuess({kind}, {text, pieces, causal, dropped}, at, guess) {
  if (!causal) return pieces.map((piece, i) => (i === at ? guess : piece)).join(" ");
  const between = kind === "grammar" ? " " : "";
  const isEnd = at === pieces.length - 1 && !dropped;
  const before = isEnd ? withoutEnd(text) : withoutParts(pieces.slice(0, at + 1).join(between));
  return before + between + guess;
}

// ---- Acts ----------------------------------------------------------------------------------

/** A press on a guess. */
export const append = (widget, {text}) => {
  const {entry, reading, at} = widget.model;
  widget.data.bench.left = 0;
  widget.set({text: withGuess(entry, reading, at, text), at: null, to: null});
};

/** Lets the model go on from its last token, or stops it. */
export function write(widget) {
  const {bench} = widget.data;
  bench.left = bench.left ? 0 : ENOUGH;
  bench.written = questionOf(widget.data, widget.state).text;
  if (bench.left) bench.before = bench.written;
  widget.set(bench.left ? {at: null, to: null} : {}, {silently: true}); // and each drawing goes on
}

/** Whether what stands is what the model wrote last, so that it can be taken back. */
export const wasWritten = ({data, state}) =>
  data.bench.before !== null &&
  data.bench.written !== data.bench.before &&
  questionOf(data, state).text === data.bench.written;

export function takeBack(widget) {
  const {bench} = widget.data;
  const {before} = bench;
  Object.assign(bench, {left: 0, before: null, draw: null});
  widget.set({text: before, at: null, to: null});
  widget.root.querySelector(".write").focus();
}

/** One token more, if the text has been read; whoever changes it stops the writing. */
export function goOn(widget) {
  const {data, state} = widget;
  const {bench} = data;
  const question = questionOf(data, state);
  clearTimeout(bench.later);
  if (!bench.left) return;
  if (question.text !== bench.written || bench.asking.problem) return stop(widget);
  const reading = bench.readings.find((one) => answers(one, question));
  if (!reading) return; // the answer calls again
  const pace = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : PACE;
  bench.later = setTimeout(() => bench.left && take(widget, reading), pace);
}

function take(widget, reading) {
  const {
    data: {bench},
    state,
    model: {entry},
  } = widget;
  if (questionOf(widget.data, state).text !== bench.written) return stop(widget);
  const from = drawnFrom(reading.next, state.topk);
  const at = Math.random();
  const chosen = draw(
    from.map(({share}) => share),
    at,
  );
  if (!from.length) return stop(widget);
  bench.draw = {from, at, chosen};
  const text = withGuess(entry, reading, reading.pieces.length - 1, from[chosen].text);
  const isFirst = bench.left === ENOUGH; // a step for Back, to the text before; the others belong to it
  bench.left = bench.left <= TO_END && /[.!?]["']?$/.test(text) ? 0 : bench.left - 1;
  bench.written = text;
  widget.set({text, at: null, to: null}, {silently: !isFirst});
}

function stop(widget) {
  widget.data.bench.left = 0;
  widget.set({}, {silently: true}); // so that the button is drawn, too
}
