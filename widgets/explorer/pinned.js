// A text that was pinned, beside the one that is read now: the same head on it, and its guesses.

import {html} from "../../assets/vendor/lit.js";
import {chance, format} from "../lib/numbers.js";
import {filled} from "../lib/shares.js";
import {weightMap} from "../lib/weight-map.js";
import {written} from "../lib/words.js";
import {rowsOf} from "./overview.js";

const SHOWN = 3;

const list = (items) =>
  html`<div class="looks">${items.map(
    ({text, share}) => html`
  <p><i style=${filled(share)}></i><span>${written(text)}</span> <span>${chance(share)}</span></p>`,
  )}</div>`;

/** `m.pinned`: {reading, at, head, row, guesses} of reading.js. */
export function pinned({name, pinned: {reading, at, head, row, guesses}}) {
  const best = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, SHOWN);
  return html`<section class="pinned"><p class="name">Kept: <span class="kept-text">${reading.text}</span></p>
    <div class="sides-by-side"><div class="small">${weightMap(rowsOf(head, reading.pieces.length), {row: at})}</div>
    <div><p class="note">head ${name}: <b class="q">${written(reading.pieces[at])}</b> looks
      at</p>${list(best.map((i) => ({text: reading.pieces[i], share: row[i]})))}</div>
    <div><p class="note">guesses</p>${list(guesses.slice(0, SHOWN))}</div>
    <p class="note">${reading.loss === null ? "" : `Mean loss ${format(reading.loss)}.`}</p></div></section>`;
}
