// One head as a matrix: who looks, from top to bottom, at whom, from left to right.

import {html} from "../../assets/vendor/lit.js";
import {tokenText} from "../lib/token-text.js";
import {weightMap} from "../lib/weight-map.js";
import {rowsOf} from "./overview.js";

const [LONGEST, NAMED] = [13, 14]; // letters of a name; words of a matrix that can be named

export const label = (piece) => {
  const text = tokenText(piece);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
};

/** Which words of `length` are named: all where there is room, else every second, third …, and the chosen one. */
export const named = (length, i, chosen) => {
  const every = Math.ceil(length / NAMED);
  return i === chosen || (i % every === 0 && (every === 1 || Math.abs(i - chosen) >= every));
};

export function matrix({reading: {heads}, head, pieces, at, to}, widget) {
  const names = (chosen) =>
    pieces.map(
      (piece, i) =>
        html`<span class=${i === chosen ? "chosen" : ""}>${named(pieces.length, i, chosen) ? html`<bdi>${label(piece)}</bdi>` : ""}</span>`,
    );
  const choose = ({row, column}) => widget.set({at: row, to: column});
  return html`<div class="picture"><p class="sides" aria-hidden="true"><span class="q">who looks
    ↓</span><span class="k">whom it looks at →</span></p>
    <div class="labelled-map" aria-hidden="true" style="--size:${pieces.length};--label:${0.6 + Math.max(1.6, ...pieces.map((piece) => label(piece).length * 0.5))}rem">
    <div class="columns">${names(to)}</div><div class="rows">${names(at)}</div>
    <div class="cells">${weightMap(rowsOf(heads[head], pieces.length), {row: at, choose})}
    <i class="cell" style="width:${100 / pieces.length}%;height:${100 / pieces.length}%;left:${(100 * to) / pieces.length}%;top:${(100 * at) / pieces.length}%"></i></div></div></div>`;
}
