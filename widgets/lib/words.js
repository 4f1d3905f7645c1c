// Words of which one is chosen: a group of radio buttons with one tab stop.

import {html} from "../../assets/vendor/lit.js";
import {moveByKey} from "./keys.js";
import {isPart, tokenText} from "./token-text.js";

/** A token on the page: small, and with its reason, where it is only a byte of a letter. */
export const written = (text, name = tokenText(text)) =>
  isPart(text)
    ? html`<small class="byte" title="part of a character, which takes several bytes">${name}</small>`
    : name;

/** `words` in an element of class "words". */
export const wordGroup = ({words, chosen, label, className, choose}) => html`
  <div class="${className} words" role="radiogroup" aria-label=${label} @keydown=${(event) => moveByKey(event, choose)}>
  ${words.map(
    (
      word,
      i,
    ) => html`<button type="button" role="radio" aria-checked=${i === chosen} tabindex=${i === chosen ? 0 : -1}
    @click=${() => choose(i)}><span class="word">${word}</span></button>`,
  )}</div>`;

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
export const isBreak = (pieces, words, i) =>
  pieces[words[i][words[i].length - 1]].endsWith("\n") &&
  !pieces[words[i + 1]?.[0]]?.startsWith("\n");
