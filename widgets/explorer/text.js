// What stands above the picture: the reader's text, and the button that lets the model go on with it.

import {html, live, nothing} from "../../assets/vendor/lit.js";
import {next} from "./guide.js";
import {entryOf, questionOf} from "./look.js";
import {write} from "./writing.js";

const SETTLED = 1500; // ms without a key, after which a text counts as typed

export const ownText = (widget) => {
  const {data, state} = widget;
  return html`<label class="own-text"><span class="screen-reader-only">Your text</span><textarea rows="1" aria-label="Your text" spellcheck="false" autocapitalize="off" autocomplete="off"
    .value=${live(questionOf(data, state).text)} @input=${({target}) => type(widget, target.value)} @keydown=${(event) => enter(widget, event)}></textarea></label>`;
};

export const goOn = (widget) => (entryOf(widget.data.models, widget.state.model).causal
  ? html`<button type="button" class="write" @click=${() => write(widget)}>${widget.data.bench.left ? "Stop" : "Continue"}</button>` : nothing);

/** Enter ends the text, with Shift it breaks the line. */
function enter(widget, event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  settle(widget);
}

function settle(widget) {
  clearTimeout(widget.data.bench.typing);
  widget.data.bench.typing = null;
  widget.refresh(true);
}

/** While a reader types no goal is met: half a word is no text yet. */
function type(widget, text) {
  const {bench} = widget.data;
  bench.left = 0;
  clearTimeout(bench.typing);
  bench.typing = setTimeout(() => settle(widget), SETTLED);
  widget.set({text, at: null, to: null, ...next(widget, 1)});
}
