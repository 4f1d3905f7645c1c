// What stands above the picture: the reader's text, and the button that lets the model go on with it.

import {html, live, nothing} from "../../assets/vendor/lit.js";
import {shownOf} from "./gallery.js";
import {leave} from "./guide.js";
import {FREE, next} from "./steps.js";
import {entryOf, isKnown, questionOf} from "./reading.js";
import {takeBack, wasWritten, write} from "./writing.js";

const SETTLED = 1500; // ms without a key, after which a text counts as typed

export const ownText = (widget) => {
  const {data, state} = widget;
  return html`<div class="own-text"><textarea rows="1" aria-label="Your text" spellcheck="false" autocapitalize="off" autocomplete="off"
    .value=${live(questionOf(data, state).text)} @input=${({target}) => type(widget, target.value)} @keydown=${(event) => enter(widget, event)}></textarea></div>`;
};

export const goOn = (widget) =>
  entryOf(widget.data.models, widget.state.model).causal
    ? html`<button type="button" class="write" @click=${() => write(widget)}>${widget.data.session.left ? "Stop" : "Continue"}</button>${
        wasWritten(widget)
          ? html`<button type="button" class="undo" @click=${() => takeBack(widget)}>Undo</button>`
          : nothing
      }`
    : nothing;

/** What a text can be begun with, and how the model goes on with one: under the field. */
export function underField(m, widget) {
  const {data, state} = widget;
  if (m.isWriting || wasWritten(widget))
    return html`<p class="beginnings">Each token is drawn at random from the ${state.topk}
      likeliest, as often as its share says.${m.isWriting ? "" : " Undo takes all of it back."}</p>`;
  if (
    data.session.game ||
    shownOf(data, state) ||
    m.entry.kind !== "storyteller" ||
    !(state.guide === FREE || m.isOwn || m.problem)
  )
    return nothing;
  return html`<p class="beginnings"><span>Type your own text, or begin
    with</span>${data.beginnings.map((text) => html`<button type="button" @click=${() => begin(widget, text)}>${text}</button>`)}</p>`;
}

function begin(widget, text) {
  widget.data.session.unfolded.delete("layers");
  leave(widget, {text, at: null, to: null, head: null, off: [], ...next(widget, 1)}, "textarea");
}

/** Enter ends the text, with Shift it breaks the line. */
function enter(widget, event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  settle(widget);
}

function settle(widget) {
  clearTimeout(widget.data.session.typing);
  widget.data.session.typing = null;
  widget.refresh(true);
}

/** While a reader types no goal is met: half a word is no text yet. */
function type(widget, text) {
  const {
    data,
    data: {session},
    state,
  } = widget;
  session.left = 0;
  session.unfolded.delete("layers");
  clearTimeout(session.typing);
  session.typing = setTimeout(() => settle(widget), SETTLED);
  widget.set({
    text,
    at: null,
    to: null,
    ...next(widget, 1),
    ...(isKnown(data, questionOf(data, state).text) && {off: [], head: null}),
  }); // a reader's text begins with all heads, and all on
}
