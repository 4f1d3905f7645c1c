// One temperature for a whole map of attention: from its largest scores alone to an equal share for all.

import {html} from "../assets/vendor/lit.js";
import {atTemperature, attentionSteps, randomMatrices} from "./lib/attention.js";
import {button, reset, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {matrix} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format, formatFine} from "./lib/numbers.js";
import {shareList} from "./lib/shares.js";

// ---- Model ---------------------------------------------------------------------------------

// The slider's stops, a tenth apart up to HOTTEST: its two ends are the limits themselves.
const HOTTEST = 3;
export const STOPS = [0, ...Array.from({length: 10 * HOTTEST}, (_, i) => (i + 1) / 10), Infinity];
const NAMES = STOPS.map((T) => ({0: "→ 0", Infinity: "→ ∞"})[T] ?? T.toFixed(1));
const TICKS = [0, 0.5, 1, 2, Infinity].map((T) => STOPS.indexOf(T));

/** A stop of the slider; the address holds T itself. */
const stopAt = (T) => ({
  value: STOPS.indexOf(T),
  parse(text) {
    const stop = STOPS.map(String).indexOf(text);
    return stop < 0 ? undefined : stop;
  },
  format: (stop) => String(STOPS[stop]),
});

/** A cell [row, column], written "2.1". */
const cell = (value, size) => ({
  value,
  parse(text) {
    const [, row, col] = /^(\d)\.(\d)$/.exec(text) ?? [];
    return row < size && col < size ? [+row, +col] : undefined;
  },
  format: (place) => place.join("."),
});

/** How spread out a row of weights is, in nats; 0 log 0 is 0. */
export const entropy = (row) => row.reduce((sum, w) => (w > 0 ? sum - w * Math.log(w) : sum), 0);

/** The map of attention at the temperature of `stop`, each row's entropy, and whether we chose the numbers. */
export function heat({tokens, ...published}, {query, key, stop, cell: [row, col]}) {
  const T = STOPS[stop];
  const {scaled} = attentionSteps({query, key, value: key});
  const weights = scaled.map((scores) => atTemperature(scores, T));
  const entropies = weights.map(entropy);
  const isPublished =
    String(query) === String(published.query) && String(key) === String(published.key);
  return {
    T,
    weights,
    tokens,
    row,
    col,
    entropies,
    keys: Math.exp(entropies[row]), // as many, were they to share alike
    source: isPublished ? "constructed" : "random",
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

function says({T}) {
  if (T === 0) return "T → 0: the largest score takes all, and equal ones get equal weights.";
  if (T === Infinity) return "T → ∞: every key gets the same.";
  return T === 1
    ? "T = 1.0: the scores q·k / √dₖ as they are."
    : `T = ${T.toFixed(1)}: every score q·k / √dₖ divided by ${T.toFixed(1)}.`;
}

const spreadOut = ({keys, tokens, row}) =>
  `Keys that ${tokens[row]} looks at: ${format(keys)} of ${tokens.length}.`;

export function sentence(m) {
  const looks = m.tokens.map((token, j) => `${token} ${format(m.weights[m.row][j])}`).join(", ");
  return `${says(m)} ${m.tokens[m.row]} looks at: ${looks}. ${spreadOut(m)}`;
}

function view(m, widget) {
  const {tokens, weights, row, col} = m;
  const title = `Where ${tokens[row]} looks`;
  const map = matrixTable({
    name: "weights",
    title: "weights",
    caption: "weights",
    shape: `${tokens.length} × ${tokens.length}`,
    rows: tokens,
    columns: tokens,
    cells: weights,
    fill: (i, j) => weights[i][j],
    lit: (i) => i === row,
    chosen: (i, j) => i === row && j === col,
    choose: (i, j) => widget.set({cell: [i, j]}),
  });
  const shares = tokens.map((token, j) => ({token, weight: weights[row][j]}));
  return html`<p class="says">${says(m)}</p>
    <div class="stage" data-source=${m.source}>${map}
    <div class="row"><p class="of-row">${title}</p>${shareList(shares, {format: formatFine, label: title})}</div></div>
    <p class="entropy">${spreadOut(m)}</p>
    ${widget.sentence({hidden: true})}`;
}

/** data: {tokens, query, key, cell: [row, column], chosen at first} */
export const temperatureMap = defineWidget({
  name: "temperature",
  label: "Attention at a temperature",
  key: "heat",
  fields: ({query, key, cell: chosen}) => ({
    stop: stopAt(1),
    cell: cell(chosen, query.length),
    query: matrix(query),
    key: matrix(key),
  }),
  controls: () => [
    [steps("stop", "Temperature", NAMES, {ticks: TICKS})],
    [button("Random queries and keys", (widget) => widget.set(randomMatrices(widget.data))), reset],
  ],
  model: heat,
  sentence,
  view,
});
