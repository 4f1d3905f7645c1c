// A text field for one number. What is being typed stays as it is typed; a number that doesn't fit
// changes nothing, and a hint says why.

import {html, live, nothing} from "../../assets/vendor/lit.js";
import {formatEntry, parseEntry} from "./numbers.js";

/**
 * range: {min, max, step}; `onValue(number)` hears of each number that fits. `id` must be the
 * field's own in `widget`; `label`, where no <label> names it. `className` for its look.
 */
export function numberField(widget, {id, value, range, label, className = "number", onValue}) {
  const typing = widget.typing?.id === id ? widget.typing : null;
  const type = (text) => {
    const {value: typed, hint = ""} = parseEntry(text, range);
    widget.typing = {id, text, hint};
    if (hint) widget.draw();
    else onValue(typed);
  };
  const press = (event) => {
    const direction = {ArrowUp: 1, ArrowDown: -1}[event.key];
    if (!direction) return;
    event.preventDefault();
    const next = Math.round((value + direction * range.step) * 100) / 100;
    type(formatEntry(Math.max(range.min, Math.min(range.max, next)), range));
  };
  const leave = () => {
    widget.typing = null;
    widget.draw();
  };
  // A phone's keyboard for decimals has no minus.
  return html`<input class=${className} id=${label ? nothing : id} type="text" inputmode=${range.min < 0 ? nothing : "decimal"}
    autocomplete="off" spellcheck="false" maxlength="24" aria-label=${label ?? nothing}
    aria-invalid=${typing?.hint ? "true" : nothing} .value=${live(typing ? typing.text : formatEntry(value, range))}
    @focus=${(event) => event.target.select()} @input=${(event) => type(event.target.value)} @blur=${leave} @keydown=${press}>`;
}

/** Why what is being typed doesn't fit; empty where it does. */
export const numberHint = (widget) =>
  html`<p class="hint" role="status">${widget.typing?.hint ?? ""}</p>`;
