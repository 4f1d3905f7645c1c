// Words of which one is chosen: a group of radio buttons with one tab stop.

import {html, nothing} from "../../assets/vendor/lit.js";

const MOVES = {ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -Infinity, End: Infinity};

/** `words` in an element of class "words"; `notes`, where given, stand after them. */
export const wordGroup = ({words, chosen, label, className, notes, choose}) => html`
  <div class="${className} words" role="radiogroup" aria-label=${label} @keydown=${(event) => move(event, words, choose)}>
  ${words.map((word, i) => html`<button type="button" role="radio" aria-checked=${i === chosen} tabindex=${i === chosen ? 0 : -1}
    @click=${() => choose(i)}><span class="word">${word}</span>${notes ? html`<span class="note">${notes[i]}</span>` : nothing}</button>`)}</div>`;

function move(event, words, choose) {
  const by = MOVES[event.key];
  if (!by) return;
  event.preventDefault();
  const buttons = [...event.currentTarget.children];
  const here = buttons.indexOf(event.target.closest("button"));
  const next = Math.max(0, Math.min(words.length - 1, here + by));
  choose(next);
  buttons[next].focus();
}
