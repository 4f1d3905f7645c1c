// The maps of all heads, layer by layer, each with what it mostly looks at and its switch.

import {html, nothing} from "../../assets/vendor/lit.js";
import {formatPercent} from "../lib/numbers.js";
import {weightMap} from "../lib/weight-map.js";
import {act, drawnPart, offName} from "./session.js";
import {looks, offToo, symbol} from "./look.js";

const MARKED = 0.1; // of a weight: the letters above a map that stand out
const rows = new WeakMap();

function rowsOf(map, length) {
  if (!rows.has(map))
    rows.set(
      map,
      Array.from({length}, (_, i) => map.subarray(i * length, (i + 1) * length)),
    );
  return rows.get(map);
}

/** A map with the chosen token beside its row, and above it the tokens, of which those that it looks at stand out. */
function lettered(head, to, {task, at, example: {tokens}}, widget, name) {
  const weights = rowsOf(head.map, tokens.length);
  const mark = (j) => (head.isOff || weights[at][j] < MARKED ? "" : "some");
  return html`<div class="lettered" style="--size:${tokens.length}"><div class="columns" aria-hidden="true">${tokens.map(
    (token, j) =>
      html`<span class=${j === to && !head.isOff ? "most" : mark(j)}>${symbol(task, token)}</span>`,
  )}</div>
    <div class="rows" aria-hidden="true"><span style="transform:translateY(${100 * at}%)">${symbol(task, tokens[at])}</span></div>
    ${weightMap(weights, {row: at, choose: ({row}) => act(widget, name, {at: row})})}</div>`;
}

const followed = ({isOff, follows: {share, says, even}}, isShort) =>
  isOff
    ? "is off"
    : share
      ? html`<b>${formatPercent(share)}</b> ${says}${
          isShort
            ? nothing
            : html`
        <span class="even">(${formatPercent(even)} if it looked at all alike)</span>`
        }`
      : says;

function card(head, side, m, widget, i) {
  const {
    task,
    at,
    example: {tokens},
  } = m;
  const {to, weight} = looks(head.map, m);
  const name = offName(head.name, i);
  const toggle = ({target}) => {
    const {off} = widget.state;
    act(widget, name, {
      off: target.checked ? off.filter((one) => one !== name) : [...off, name].sort(),
    });
  };
  const worth =
    head.without === null || head.isOff || m.isPlaying
      ? ""
      : html`${offToo(side)}: <b>${formatPercent(head.without)}</b> right`;
  return html`<div class=${head.isOff ? "head off" : "head"}><label class="toggle"><b>Head ${head.name}</b> <span>${head.isOff ? "off" : "on"}</span><input type="checkbox"
    aria-label="Head ${head.name}${i ? " of the second model" : ""} is on" .checked=${!head.isOff} @input=${toggle}></label>
    ${lettered(head, to, m, widget, name)}
    <p class="row"><span class="from">${
      head.isOff
        ? ""
        : html`${symbol(task, tokens[at])} →
      ${symbol(task, tokens[to])} ${formatPercent(weight)}`
    }</span> <span class="worth">${worth}</span></p>
    <p class=${head.follows.share ? "pattern" : "pattern faint"}>${followed(head, Boolean(m.change))}</p></div>`;
}

const LARGEST = [17, 11, 6]; // rem: a map, by how many stand one above the other, so that all fit a screen

/** One training's heads: a column for each layer, or a row where it has more heads than there are layers. */
export function headMaps(side, m, widget, i) {
  const {heads} = side.spec;
  const most = Math.max(...m.sides.map(({spec}) => spec.layers)); // so that maps have one size in both
  const isDown = most >= heads;
  const [columns, rows] = isDown ? [most, heads] : [heads, most];
  const drawnCard = (head) =>
    drawnPart(widget.data.session, offName(head.name, i), () => card(head, side, m, widget, i));
  return html`<div class=${isDown ? "layers down" : "layers"}
    style="--columns:${columns};--rows:${heads};--largest:${LARGEST[rows - 1]}rem">${side.heads.map(drawnCard)}</div>`;
}
