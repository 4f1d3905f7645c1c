// How a guess and a push are written.

import {html} from "../../assets/vendor/lit.js";
import {tokenText} from "../lib/token-text.js";
import {written} from "../lib/words.js";

/** A push as it is written: with its sign, which 0 has not. */
export const signed = (x) =>
  Math.abs(x) < 0.05 ? "0" : `${x > 0 ? "+" : "−"}${Math.abs(x).toFixed(1)}`;

/** A guess as it is written: with dots where it goes on with the word before it. */
export const guessed = (text, {entry, pieces, at}) =>
  entry.kind === "storyteller" &&
  /^[\p{L}\p{N}]/u.test(text) &&
  /[\p{L}\p{N}]$/u.test(pieces[at] ?? "")
    ? `…${text}`
    : tokenText(text);

/** The same in a template. */
export const guess = (text, m) => written(text, guessed(text, m));

/** The same within a sentence, in a box: it may be a full stop. */
export const boxed = (text, m) => html`<b class="piece">${guess(text, m)}</b>`;
