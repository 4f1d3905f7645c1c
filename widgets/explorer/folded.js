// A part that is drawn only while it is open, so that it costs nothing until then.

import {html, nothing} from "../../assets/vendor/lit.js";
import {drawWaiting} from "./draw-later.js";

export function folded(widget, name, title, content) {
  const {unfolded} = widget.data.session;
  const toggle = ({target: {open}}) => {
    if (open === unfolded.has(name)) return;
    unfolded[open ? "add" : "delete"](name);
    widget.refresh(); // it may need what has not been fetched
    drawWaiting();
  };
  return html`<details data-fold=${name} .open=${unfolded.has(name)} @toggle=${toggle}><summary>${title}</summary>${unfolded.has(name) ? content() : nothing}</details>`;
}

/** Shows a part that has been opened. */
export function openFold({root}, name) {
  drawWaiting();
  const summary = root.querySelector(`[data-fold=${name}] > summary`);
  summary?.focus({preventScroll: true});
  summary?.scrollIntoView({block: "start"});
}
