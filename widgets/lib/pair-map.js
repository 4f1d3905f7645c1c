// A square map of every two places, with its places numbered and one pair of them marked.

import {html, nothing} from "../../assets/vendor/lit.js";
import {weightMap} from "./weight-map.js";

/** `cells`: rows of shares; `trained`: side of the dashed square, in places; a pair outside the map isn't marked. */
export function pairMap(cells, {row, column, ticks, trained = 0, choose}) {
  const size = cells.length;
  const numbers = ticks.map((at) => html`<span style="--at:${(at + 0.5) / size}">${at}</span>`);
  const inside = Math.max(row, column) < size;
  return html`<div class="pair-map"><div class="down" aria-hidden="true">${numbers}</div>
    <div class="place" style="--row:${row / size};--column:${column / size};--cell:${1 / size};--trained:${trained / size}">
      ${weightMap(cells, {choose})}${trained ? html`<i class="trained"></i>` : nothing}${inside ? html`<i class="pair"></i>` : nothing}</div>
    <div class="across" aria-hidden="true">${numbers}</div></div>`;
}
