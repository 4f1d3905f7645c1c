// What is changed seldom: the model, its examples, a text that is kept beside, everything back.

import {html} from "../../assets/vendor/lit.js";
import {reset} from "../lib/controls.js";
import {entryOf, questionOf} from "./reading.js";
import {pinned} from "./pinned.js";

const afresh = {text: null, at: null, to: null, head: null, off: [], pin: null};

const modelMenu = (
  widget,
) => html`<label class="menu"><span>Model</span><select @input=${({target}) => widget.set({...afresh, model: widget.data.models[target.selectedIndex].name})}>
  ${widget.data.models.map(({title, name}) => html`<option .selected=${name === widget.state.model}>${title}</option>`)}</select></label>`;

const examples = (widget) => {
  const {data, state} = widget;
  const {examples: all} = entryOf(data.models, state.model);
  const now = state.text === null ? 0 : all.findIndex(({text}) => text === state.text);
  const choose = ({target: {selectedIndex: i}}) => {
    data.session.unfolded.delete("layers");
    widget.set({text: i === 1 ? null : (all[i - 1]?.text ?? ""), at: null, to: null, head: null});
  };
  return html`<label class="menu examples"><span>Text</span><select @input=${choose}><option .selected=${now < 0}>your own</option>
    ${all.map(({text}, i) => html`<option .selected=${i === now}>${text}</option>`)}</select></label>`;
};

const pin = (widget) => {
  const {text} = questionOf(widget.data, widget.state);
  return html`<button type="button" aria-pressed=${widget.state.pin !== null} title="Keeps this text's guesses and head in view while you read another text"
    @click=${() => widget.set({pin: widget.state.pin === null ? text : null})}>${widget.state.pin === null ? "Compare with another text" : "Drop the kept text"}</button>`;
};

/** Everything is as at first: so is what is in view. */
function toTop({root, data: {session}}) {
  session.finding = "";
  root.scrollIntoView({block: "start"});
}

export const tools = (
  m,
  widget,
) => html`<div class="controls">${modelMenu(widget)}${examples(widget)}</div><p class="note">${m.entry.about}</p>
  <div class="controls">${pin(widget)}<span @click=${() => toTop(widget)}>${reset(widget)}</span></div>${m.pinned ? pinned(m) : ""}`;
