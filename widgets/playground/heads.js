// The maps of all heads, layer by layer, each with what it mostly looks at and its switch.

import {html, nothing} from "../../assets/vendor/lit.js";
import {formatPercent} from "../lib/numbers.js";
import {weightMap} from "../lib/weight-map.js";
import {offName} from "./bench.js";
import {looks, offToo, symbol} from "./look.js";

const MARKED = 0.1; // of a weight: the letters above a map that stand out
const rows = new WeakMap();

function rowsOf(map, length) {
  if (!rows.has(map)) rows.set(map, Array.from({length}, (_, i) => map.subarray(i * length, (i + 1) * length)));
  return rows.get(map);
}

/** A map with the chosen token beside its row, and above it the tokens, of which those that it looks at stand out. */
function lettered(head, to, {task, at, example: {tokens}}, widget) {
  const weights = rowsOf(head.map, tokens.length);
  const mark = (j) => (head.isOff || weights[at][j] < MARKED ? "" : "some");
  return html`<div class="lettered" style="--size:${tokens.length}"><div class="columns" aria-hidden="true">${tokens.map((token, j) => html`<span class=${j === to && !head.isOff ? "most" : mark(j)}>${symbol(task, token)}</span>`)}</div>
    <div class="rows" aria-hidden="true"><span style="transform:translateY(${100 * at}%)">${symbol(task, tokens[at])}</span></div>
    ${weightMap(weights, {row: at, choose: ({row}) => widget.set({at: row})})}</div>`;
}

const followed = ({isOff, isClear, share, says, even}, isShort) => (isOff ? "is off" : isClear
  ? html`<b>${formatPercent(share)}</b> ${says}${isShort ? nothing : html` <span class="even">(equal weights: ${formatPercent(even)})</span>`}` : "no pattern that we know");

function card(head, side, m, widget, i) {
  const {task, at, example: {tokens}} = m;
  const {to, weight} = looks(head.map, m);
  const name = offName(head.name, i);
  const toggle = ({target}) => widget.set({off: target.checked ? m.off.filter((one) => one !== name) : [...m.off, name].sort()});
  const worth = head.without === null || head.isOff || m.isPlaying ? "" : html`${offToo(side)}: <b>${formatPercent(head.without)}</b> right`;
  return html`<div class=${head.isOff ? "head off" : "head"}><label class="toggle"><b>Head ${head.name}</b> <span>${head.isOff ? "off" : "on"}</span><input type="checkbox" aria-label="Head ${head.name}${i ? " of the second model" : ""} is on" .checked=${!head.isOff} @input=${toggle}></label>
    ${lettered(head, to, m, widget)}
    <p class=${head.isClear ? "pattern" : "pattern faint"}>${followed(head, Boolean(m.change))}</p>
    <p class="from">${head.isOff ? "" : html`${symbol(task, tokens[at])} → ${symbol(task, tokens[to])} ${formatPercent(weight)}`}</p>
    <p class="worth">${worth}</p></div>`;
}

/** One training's heads, a row for each layer. */
export function headMaps(side, m, widget, i) {
  const layers = [...new Set(side.heads.map(({layer}) => layer))];
  return html`<div class="layers" style="--heads:${side.spec.heads}">${layers.map((layer) => html`<div class="layer"><p class="name">Layer ${layer + 1}</p>
    <div class="heads">${side.heads.filter((head) => head.layer === layer).map((head) => card(head, side, m, widget, i))}</div></div>`)}
    ${side.heads.some(({isOff}) => isOff) && side.worth ? html`<p class="lesion">With what is off, <b>${formatPercent(side.worth.share)}</b> of the answers on 16 other rows are right.</p>` : nothing}</div>`;
}
