// The controls of widgets: native ones, each bound to a field, whose range and options it takes.
// A control is a function (widget) → template.

import {html, nothing} from "../../assets/vendor/lit.js";
import {valuesOf} from "./fields.js";
import {numberField} from "./number-field.js";

/**
 * A number to type, and a slider beside it. Spoken is `unit(value)`, "3 places", where the number has one;
 * `before`, words that only a screen reader needs before the label.
 */
export const slider =
  (name, label, {unit = null, before = ""} = {}) =>
  (widget) => {
    const field = widget.fields[name];
    const id = `${widget.id}-${name}`;
    const set = (value) => widget.set({[name]: value});
    return html`<div class="range"><label for=${id}>${
      before
        ? html`<span class="screen-reader-only">${before}
      </span>`
        : nothing
    }${label}</label>
    <div>${numberField(widget, {id, value: widget.state[name], range: field, onValue: set})}
    <input type="range" aria-label=${`${before} ${label}`.trim()} aria-valuetext=${unit ? unit(widget.state[name]) : nothing} min=${field.min} max=${field.max} step=${field.step}
      .value=${String(widget.state[name])} @input=${(event) => set(event.target.valueAsNumber)}></div></div>`;
  };

/** A slider's unit: "1 place", "2 places"; or, of `numbered`, "place 2". */
export const unitsOf = (unit) => (n) => `${n} ${unit}${n === 1 ? "" : "s"}`;
export const numbered = (unit) => (n) => `${unit} ${n}`;

/** A slider over named steps, with a button under it for each, or for those in `ticks`. */
export const steps =
  (name, label, names, {ticks} = {}) =>
  (widget) => {
    const now = widget.state[name];
    const set = (step) => widget.set({[name]: step});
    const last = names.length - 1;
    // One tab stop for the whole control, the slider; the buttons are for pointers.
    const tick = (
      step,
    ) => html`<button type="button" tabindex="-1" class=${step === now ? "current" : ""} aria-label=${`${label} ${names[step]}`}
    style=${ticks ? `--at: ${step / last}` : ""} @click=${() => set(step)}>${names[step]}</button>`;
    return html`<div class="step-slider"><label for="${widget.id}-${name}">${label}</label>
    <div><input id="${widget.id}-${name}" type="range" min="0" max=${last} step="1" aria-valuetext=${`${now} of ${last}: ${names[now]}`}
      .value=${String(now)} @input=${(event) => set(event.target.valueAsNumber)}>
    <div class=${ticks ? "step-ticks placed" : "step-ticks"}>${(ticks ?? names.map((_, step) => step)).map(tick)}</div></div></div>`;
  };

/** A menu of the field's values, called `texts`; where these are fewer, the last stands for the rest. */
export const menu = (name, label, texts) => (widget) => {
  const values = valuesOf(widget.fields[name]);
  const now = Math.min(values.indexOf(widget.state[name]), texts.length - 1);
  const choose = (event) => widget.set({[name]: values[event.target.selectedIndex]});
  return html`<label class="menu"><span>${label}</span><select @input=${choose}>
    ${texts.map((text, i) => html`<option .selected=${i === now}>${text}</option>`)}</select></label>`;
};

/** Radio buttons for the field's values (false and true, where it is a flag), called `texts`; `isShown`: the label is seen, too. */
export const choice =
  (name, label, texts, {isShown = false} = {}) =>
  (widget) => {
    const values = widget.fields[name].options ?? [false, true];
    const radio = (value, i) => html`<label><input type="radio" name="${widget.id}-${name}"
    .checked=${value === widget.state[name]} @input=${() => widget.set({[name]: value})}>${texts[i]}</label>`;
    return html`<fieldset class="choice"><legend class=${isShown ? "" : "screen-reader-only"}>${label}</legend>${values.map(radio)}</fieldset>`;
  };

/** A box to tick. */
export const toggle = (name, label) => (widget) =>
  html`<label class="toggle"><span>${label}</span><input type="checkbox"
  .checked=${widget.state[name]} @input=${(event) => widget.set({[name]: event.target.checked})}></label>`;

export const button = (text, press) => (widget) =>
  html`<button type="button" @click=${() => press(widget)}>${text}</button>`;

export const reset = button("Reset", (widget) => widget.reset());
