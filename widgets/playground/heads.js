// The maps of all heads, layer by layer, each with what it mostly looks at and its switch.

import {html, nothing} from "../../assets/vendor/lit.js";
import {formatPercent} from "../lib/numbers.js";
import {weightMap} from "../lib/weight-map.js";
import {looks, symbol} from "./look.js";

const CLEAR = 0.3; // a smaller share is no pattern yet
const rows = new WeakMap();

function rowsOf(map, length) {
  if (!rows.has(map)) rows.set(map, Array.from({length}, (_, i) => map.subarray(i * length, (i + 1) * length)));
  return rows.get(map);
}

function card(head, m, widget, isOwn) {
  const {task, at, example: {tokens}} = m;
  const {to, weight} = looks(head.map, m);
  const toggle = ({target}) => widget.set({off: target.checked ? m.off.filter((name) => name !== head.name) : [...m.off, head.name].sort()});
  const name = isOwn
    ? html`<label class="toggle"><b>Head ${head.name}</b><input type="checkbox" aria-label="Head ${head.name} is on" .checked=${!head.isOff} @input=${toggle}></label>`
    : html`<p class="toggle"><b>Head ${head.name}</b></p>`;
  const worth = head.without === null || head.isOff || m.isPlaying ? "" : html`With it off: <b>${formatPercent(head.without)}</b> right`;
  return html`<div class=${head.isOff ? "head off" : "head"}>${name}
    ${weightMap(rowsOf(head.map, tokens.length), {row: at, choose: ({row}) => widget.set({at: row})})}
    <p class=${head.share < CLEAR ? "pattern faint" : "pattern"}>${head.isOff ? "is off" : html`<b>${formatPercent(head.share)}</b> ${head.says} <span class="even">(equal weights: ${formatPercent(head.even)})</span>`}</p>
    <p class="from">${head.isOff ? "" : html`${symbol(task, tokens[at])} → ${symbol(task, tokens[to])} ${formatPercent(weight)}`}</p>
    <p class="worth">${worth}</p></div>`;
}

/** One training's heads, a row for each layer. */
export function headMaps(side, m, widget, isOwn) {
  const layers = [...new Set(side.heads.map(({layer}) => layer))];
  return html`<div class="layers" style="--heads:${side.spec.heads}">${layers.map((layer) => html`<div class="layer"><p class="name">Layer ${layer + 1}</p>
    <div class="heads">${side.heads.filter((head) => head.layer === layer).map((head) => card(head, m, widget, isOwn))}</div></div>`)}
    ${side.heads.some(({isOff}) => isOff) && side.worth ? html`<p class="lesion">With what is off, <b>${formatPercent(side.worth.share)}</b> of the answers on 16 other rows are right.</p>` : nothing}</div>`;
}
