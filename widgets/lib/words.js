// Words of which one is chosen: a group of radio buttons with one tab stop.

import {html} from "../../assets/vendor/lit.js";
import {isPart, shown} from "./ground-words.js";

/** A token on the page: small, and with its reason, where it is only a byte of a letter. */
export const written = (text, name = shown(text)) => (isPart(text) ? html`<small class="byte" title="part of a character, which takes several bytes">${name}</small>` : name);

/** `words` in an element of class "words". */
export const wordGroup = ({words, chosen, label, className, choose}) => html`
  <div class="${className} words" role="radiogroup" aria-label=${label} @keydown=${(event) => moveByKey(event, choose)}>
  ${words.map((word, i) => html`<button type="button" role="radio" aria-checked=${i === chosen} tabindex=${i === chosen ? 0 : -1}
    @click=${() => choose(i)}><span class="word">${word}</span></button>`)}</div>`;

/** Arrow keys in a group of radio buttons: up and down by a row, where they stand in `columns`. */
export function moveByKey(event, choose, columns = 1) {
  const moves = {ArrowUp: -columns, ArrowLeft: -1, ArrowDown: columns, ArrowRight: 1, Home: -Infinity, End: Infinity};
  const by = moves[event.key];
  if (!by) return;
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll("[role=radio]")];
  const last = buttons.length - 1;
  const here = buttons.indexOf(event.target.closest("button"));
  const isInside = columns === 1 || Math.abs(by) === Infinity || (here + by >= 0 && here + by <= last);
  const next = isInside ? Math.max(0, Math.min(last, here + by)) : here;
  choose(next);
  buttons[next].focus();
}

/** The indices of a text's pieces, word by word. */
export function toWords(pieces) {
  const words = [];
  pieces.forEach((piece, i) => {
    if (i && !/^\s/.test(piece) && !/\s$/.test(pieces[i - 1])) words[words.length - 1].push(i);
    else words.push([i]);
  });
  return words;
}

/** Whether a line of the text ends with word `i` of `words`, as toWords gives them. */
export const isBreak = (pieces, words, i) => pieces[words[i][words[i].length - 1]].endsWith("\n") && !pieces[words[i + 1]?.[0]]?.startsWith("\n");
