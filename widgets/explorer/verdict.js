// What the model guesses, with all heads on and without those that are off; and the switch of the chosen head.

import {html} from "../../assets/vendor/lit.js";
import {chance} from "../lib/ground-words.js";
import {filled} from "../lib/shares.js";
import {written} from "../lib/words.js";
import {nameOf} from "./look.js";
import {boxed, guess} from "./overview.js";

const LISTED = 3; // guesses in words

export const verdict = (m, widget) => {
  const {entry, pieces, at, whole, guesses} = m;
  const {off} = m.reading;
  const [first] = guesses;
  const before = whole ?? first;
  return html`<section class="verdict"><div class="outcome">
    <p class="name">${entry.causal ? "What comes after" : "What stands at"} <b class="q">${written(pieces[at])}</b>?</p>
    ${row("all heads on", guess(before.text, m), before.share, chance(before.share))}
    ${row(`without ${off.length > 1 ? `these ${off.length}` : off.map(([layer, head]) => nameOf({layer, head})).join() || m.name}`,
      guess(before.text, m), whole ? whole.now : 0, whole ? chance(whole.now) : "?", whole ? "now" : "unknown")}
    <p class="note">${whole ? "Now it guesses" : "It guesses"} ${guesses.slice(0, LISTED).map(({text, share}, i) => html`${i ? ", " : ""}${boxed(text, m)} ${chance(share)}`)}.</p></div>
    ${switches(m, widget)}</section>`;
};

const row = (label, token, share, told, className = "") => html`<p class="row ${className}"><span>${label}</span><b>${token}</b>
  <span class="bar"><span style=${filled(share)}></span></span><span class="share">${told}</span></p>`;

function switches({name}, widget) {
  const {off} = widget.state;
  const toggled = off.includes(name) ? off.filter((one) => one !== name) : [...off, name].sort();
  return html`<div class="switches"><label class="toggle"><input type="checkbox" .checked=${off.includes(name)}
    @input=${() => widget.set({off: toggled})}><span>Switch off head <b>${name}</b></span></label>
    <button type="button" aria-disabled=${!off.length} @click=${() => widget.set({off: []})}>All heads on</button></div>`;
}
