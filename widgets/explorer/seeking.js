// Which head a guess needs most: each is switched off in turn, in the worker, and the strongest is chosen.

import {ranked} from "./game.js";
import {HEADS, next, showGuide} from "./steps.js";
import {nameOf} from "./names.js";

/** What is sought, to compare. */
export const seekingOf = ({model, text, temperature, at}) =>
  JSON.stringify([model, text, temperature, at]);

export function seek(widget) {
  const {
    data: {session},
    model: m,
  } = widget;
  session.sought = seekingOf({...m.question, at: m.at});
  session.drawn = null;
  widget.set({off: []});
  if (m.needed) take(widget, m.needed);
}

/** Chooses the head that was found, if it is still the one that was sought. */
export function take(widget, found) {
  const {
    data: {session},
    model: m,
  } = widget;
  if (session.sought !== seekingOf(found) || !m.isRead) return;
  session.drawn = null;
  const {guide} = widget.state;
  widget.set(
    {head: nameOf(m.reading.heads[ranked(found)[0]]), to: null, ...next(widget, 3)},
    {silently: true},
  );
  if (guide !== HEADS) return;
  widget.root.querySelector(".guide .main")?.focus({preventScroll: true}); // which comes next, the button has gone
  showGuide(widget, ".verdict");
}
