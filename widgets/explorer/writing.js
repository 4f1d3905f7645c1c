// What is written: a guess that a reader presses, or what the model draws from its guesses, token by token.

import {draw, withoutEnd} from "../lib/next-token.js";
import {answers, questionOf} from "./reading.js";
import {withoutParts} from "../lib/token-text.js";

const ENOUGH = 60; // tokens written at once
const TO_END = 20; // the last of them, which end with a sentence
const PACE = 160; // ms from token to token

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
  widget.data.session.left = 0;
  widget.set({text: withGuess(entry, reading, at, text), at: null, to: null});
};

/** Lets the model go on from its last token, or stops it. */
export function write(widget) {
  const {session} = widget.data;
  session.left = session.left ? 0 : ENOUGH;
  session.written = questionOf(widget.data, widget.state).text;
  if (session.left) session.before = session.written;
  widget.set(session.left ? {at: null, to: null} : {}, {silently: true}); // and each drawing goes on
}

/** Whether what stands is what the model wrote last, so that it can be taken back. */
export const wasWritten = ({data, state}) =>
  data.session.before !== null &&
  data.session.written !== data.session.before &&
  questionOf(data, state).text === data.session.written;

export function takeBack(widget) {
  const {session} = widget.data;
  const {before} = session;
  Object.assign(session, {left: 0, before: null, draw: null});
  widget.set({text: before, at: null, to: null});
  widget.root.querySelector(".write").focus();
}

/** One token more, if the text has been read; whoever changes it stops the writing. */
export function goOn(widget) {
  const {data, state} = widget;
  const {session} = data;
  const question = questionOf(data, state);
  clearTimeout(session.later);
  if (!session.left) return;
  if (question.text !== session.written || session.asking.problem) return stop(widget);
  const reading = session.readings.find((one) => answers(one, question));
  if (!reading) return; // the answer calls again
  const pace = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : PACE;
  session.later = setTimeout(() => session.left && take(widget, reading), pace);
}

function take(widget, reading) {
  const {
    data: {session},
    state,
    model: {entry},
  } = widget;
  if (questionOf(widget.data, state).text !== session.written) return stop(widget);
  const from = drawnFrom(reading.next, state.topk);
  const at = Math.random();
  const chosen = draw(
    from.map(({share}) => share),
    at,
  );
  if (!from.length) return stop(widget);
  session.draw = {from, at, chosen};
  const text = withGuess(entry, reading, reading.pieces.length - 1, from[chosen].text);
  const isFirst = session.left === ENOUGH; // a step for Back, to the text before; the others belong to it
  session.left = session.left <= TO_END && /[.!?]["']?$/.test(text) ? 0 : session.left - 1;
  session.written = text;
  widget.set({text, at: null, to: null}, {silently: !isFirst});
}

function stop(widget) {
  widget.data.session.left = 0;
  widget.set({}, {silently: true}); // so that the button is drawn, too
}
