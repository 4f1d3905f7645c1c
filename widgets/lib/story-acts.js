// What a reader does with the storyteller's widget, and what follows from it.

import {withoutEnd} from "./next-token.js";
import {withoutParts} from "./token-text.js";

const ENOUGH = 60; // tokens that are written at once
const TO_END = 20; // of them, the last of which end with a sentence
const PACE = 130; // ms from token to token, to be followed by eye

export function type(widget, text) {
  widget.data.story.left = 0;
  widget.set({text, at: null});
}

/** Goes on from the chosen word with a guess. */
export function goOnWith(widget, {reading, pieces, at}, guess) {
  const before =
    at === pieces.length - 1
      ? withoutEnd(reading.text)
      : withoutParts(pieces.slice(0, at + 1).join(""));
  type(widget, before + guess.text);
}

/** Lets the model go on, or stops it. */
export function write(widget) {
  const {story} = widget.data;
  story.left = story.left ? 0 : ENOUGH;
  story.written = widget.state.text;
  writeOne(widget);
  widget.set(story.left ? {at: null} : {}, {silently: true});
}

/** Where another question is in work, its answer comes first. Whoever changes the text stops it. */
function writeOne(widget) {
  const {
    state: {text, off, temperature},
    data: {story},
  } = widget;
  if (text !== story.written) {
    story.left = 0;
    widget.set({}, {silently: true});
  } else if (story.left) story.asking.ask({text, off, temperature, write: true});
}

/** A question was answered; if it was to write, what was written is the text now. */
export function hear(widget, reading, question) {
  const {story} = widget.data;
  story.reading = reading ?? story.reading;
  clearTimeout(story.next);
  if (!story.left) return;
  if (question?.write) take(widget, reading, question);
  const pace = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : PACE;
  if (story.left) story.next = setTimeout(() => writeOne(widget), pace);
}

function take(widget, {text}, question) {
  const {story} = widget.data;
  const isChanged = widget.state.text !== question.text;
  const isFirst = story.left === ENOUGH; // a step for Back, to the text before; the others belong to it
  const isEnd = text === question.text || (story.left <= TO_END && /[.!?]["']?$/.test(text));
  story.left = isChanged || isEnd ? 0 : story.left - 1;
  story.written = text;
  if (!isChanged) widget.set({text}, {silently: !isFirst});
}

/** Asks for the reading of a state, once. */
export function follow({data: {opening, story}, state: {text, off, temperature}}) {
  const question = {text, off, temperature};
  const key = JSON.stringify(question);
  if (isOf(opening, question)) story.last = null;
  else if (!isOf(story.reading, question) && key !== story.last && story.asking.ask(question))
    story.last = key;
}

/** Whether a reading is of a state. */
export const isOf = (reading, {text, off, temperature}) =>
  Boolean(reading) &&
  reading.text === text &&
  reading.temperature === temperature &&
  String(reading.off) === String(off);
