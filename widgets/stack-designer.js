// A stack of layers of three kinds: what it keeps along a text.

import {html} from "../assets/vendor/lit.js";
import {menu, reset} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {option} from "./lib/fields.js";
import {count, format, formatPercent} from "./lib/numbers.js";
import {bytes} from "./kv-calculator.js";

// ---- Model ---------------------------------------------------------------------------------

export const KINDS = ["softmax", "window", "table"];
export const LENGTHS = [64, 128, 256, 1024, 4096, 65536, 1048576];
const SLOTS = ["first", "second", "third", "fourth"]; // they repeat up to the top

/** Bytes that one layer keeps of a text: keys and values in 16 bits, tables in 32. */
export function keeps(kind, tokens, {kvHeads, size, window}) {
  if (kind === "table") return 4 * kvHeads * size * size;
  return 2 * 2 * kvHeads * size * (kind === "window" ? Math.min(tokens, window) : tokens);
}

/** data: {layers, kvHeads, size, window, block}, with the kinds of four layers to begin with */
export function stackOf(data, state) {
  const block = SLOTS.map((slot) => state[slot]);
  const each = data.layers / block.length;
  const sum = (of, kinds, tokens) =>
    each * kinds.reduce((all, kind) => all + of(kind, tokens, data), 0);
  const plain = block.map(() => "softmax");
  const rows = LENGTHS.map((tokens) => ({
    tokens,
    kept: sum(keeps, block, tokens),
    parts: KINDS.map((kind) =>
      sum(
        keeps,
        block.filter((one) => one === kind),
        tokens,
      ),
    ),
    keptPlain: sum(keeps, plain, tokens),
  }));
  const counts = Object.fromEntries(
    KINDS.map((kind) => [kind, each * block.filter((one) => one === kind).length]),
  );
  return {block, counts, rows, last: rows[rows.length - 1]};
}

// ---- Sentence, view ------------------------------------------------------------------------

const NAMES = ["softmax", "a window", "a table"];
const part = (x) => (x < 0.005 ? `< ${formatPercent(0.01)}` : formatPercent(x));
const times = (x) => (x < 0.005 ? `< ${format(0.01)} ×` : `${format(x)} ×`);
const tick = (n) => (n >= 1048576 ? "1M" : n >= 1024 ? `${n / 1024}k` : `${n}`);

export function sentence({block, counts, rows, last}) {
  const listed = block.map((kind) => NAMES[KINDS.indexOf(kind)]).join(", ");
  const some = rows.map(({tokens, kept}) => `${bytes(kept)} of ${tick(tokens)} tokens`).join(", ");
  return (
    `From below: ${listed}, and again. ${counts.softmax} layers of softmax, ${counts.window} with a window, ${counts.table} with tables. ` +
    `Kept: ${some}. At ${tick(last.tokens)} tokens that is ${part(last.kept / last.keptPlain)} of what softmax in all layers keeps.`
  );
}

/** What softmax keeps ends at half, where a mark stands, because a short text takes twice as much in tables. */
const MOST = 2;

/** A piece of the bar for each kind of layer; a bar that would pass the end keeps its pieces' shares. */
function pieces({parts, kept, keptPlain}) {
  const whole = 50 * Math.min(MOST, kept / keptPlain);
  return KINDS.map(
    (kind, i) =>
      html`<i class="of-${kind}" style=${`width:${((whole * parts[i]) / kept).toFixed(2)}%`}></i>`,
  );
}

const row = ({tokens, kept, parts, keptPlain}) => html`<tr><th scope="row">${tick(tokens)}</th>
  <td><div class="part"><span class="bar">${pieces({parts, kept, keptPlain})}</span><span>${times(kept / keptPlain)}</span></div></td><td><span>${bytes(kept)}</span></td>
  <td><span>${bytes(keptPlain)}</span></td></tr>`;

/** The layers from below, left to right, each in the colour of its kind. */
const stack = ({block, counts}) => html`<p class="counted">${KINDS.map(
  (kind, i) => html`<span class="of-${kind}">${count(counts[kind])}
  × ${NAMES[i]}</span>`,
)}</p>
  <div class="layers" aria-hidden="true">${Array.from({length: KINDS.reduce((sum, kind) => sum + counts[kind], 0)}, (_, i) => html`<i class="of-${block[i % block.length]}"></i>`)}</div>`;

const view = (
  m,
  widget,
) => html`${stack(m)}<table class="along"><caption>What the stack keeps along a text</caption>
  <thead><tr><th scope="col">tokens</th><th scope="col">kept, × all softmax</th><th scope="col">this stack</th><th scope="col">all softmax</th></tr></thead>
  <tbody>${m.rows.map(row)}</tbody></table>
  ${widget.sentence({hidden: true})}`;

export const stackDesigner = defineWidget({
  name: "stack-designer",
  label: "Kinds of layers, and what they keep",
  key: "stack",
  fields: ({block}) => Object.fromEntries(SLOTS.map((slot, i) => [slot, option(block[i], KINDS)])),
  controls: () => [
    [menu("first", "First layer", NAMES), menu("second", "Second", NAMES)],
    [menu("third", "Third", NAMES), menu("fourth", "Fourth", NAMES), reset],
  ],
  model: stackOf,
  sentence,
  view,
  challenges: {
    flat: ({rows}) => rows[0].kept === rows[rows.length - 1].kept,
  },
});
