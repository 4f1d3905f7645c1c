// One temperature for a whole map of attention: from its largest scores alone to an equal share for all.

import {atTemperature, attentionSteps} from "./lib/attention.js";
import {setAttr, setText} from "./lib/dom.js";
import {liveElement} from "./lib/live.js";
import {drawMatrix} from "./lib/matrix-grid.js";
import {format, formatFine} from "./lib/numbers.js";
import {drawShares} from "./lib/shares.js";
import {matrix} from "./lib/url-state.js";

// ---- Model: numbers in, objects out --------------------------------------------------------

// The slider's stops: its two ends are the limits themselves, reached exactly.
export const STOPS = [0, ...Array.from({length: 30}, (_, i) => (i + 1) / 10), Infinity];
export const NAMES = STOPS.map((T) => ({0: "→ 0", Infinity: "→ ∞"})[T] ?? T.toFixed(1));
export const TICKS = [0, 0.5, 1, 2, Infinity].map((T) => STOPS.indexOf(T));
const TEXTS = STOPS.map(String);

/** What a reader can choose, with where it starts: for urlState. The address holds T itself. */
export const heatFields = ({query, key}) => ({
  stop: {
    value: STOPS.indexOf(1),
    parse: (text) => (TEXTS.includes(text) ? TEXTS.indexOf(text) : undefined),
    format: (stop) => TEXTS[stop]
  },
  cell: {
    value: [2, 1],
    parse: (text) => (/^\d\.\d$/.test(text) && text.split(".").every((i) => +i < query.length)
      ? text.split(".").map(Number) : undefined),
    format: (cell) => cell.join(".")
  },
  query: matrix(query), key: matrix(key)
});

/** How spread out a row of weights is, in nats; 0 log 0 is 0. */
export const entropy = (row) => row.reduce((sum, w) => (w > 0 ? sum - w * Math.log(w) : sum), 0);

/** The map of attention at the temperature of `stop`, and each row's entropy. */
export function heat({query, key, stop}) {
  const {scaled} = attentionSteps({query, key, value: key});
  const weights = scaled.map((row) => atTemperature(row, STOPS[stop]));
  return {T: STOPS[stop], scaled, weights, entropies: weights.map(entropy), most: Math.log(key.length)};
}

// ---- Summary -------------------------------------------------------------------------------

const bits = (nats) => nats / Math.LN2;

/** What the chosen row says, in one sentence. */
export function describe({entropies, most}, row, token) {
  return `The row of ${token} is spread over ${formatFine(entropies[row])} nats, which are `
    + `${formatFine(bits(entropies[row]))} bits. The most for ${Math.round(Math.exp(most))} keys: `
    + `${formatFine(most)} nats, ${formatFine(bits(most))} bits.`;
}

export function says({T}) {
  if (T === 0) return "T → 0: the largest score takes all; equal ones share.";
  if (T === Infinity) return "T → ∞: every key gets the same.";
  return T === 1 ? "T = 1.0: the scores as they are." : `T = ${T.toFixed(1)}: every score divided by ${T.toFixed(1)}.`;
}

/** Whether these are the published numbers, which we chose, or others. */
export const sourceOf = (now, published) =>
  (["query", "key"].every((name) => String(now[name]) === String(published[name])) ? "constructed" : "random");

// ---- View: one element, updated in place; the caller keeps the state ------------------------

/** draw(model, {tokens, cell: [row, col], source, onChoose(cell)}) updates the drawing and returns it. */
export function temperatureView(d3) {
  const root = d3.select(emptyView());
  return (model, options) => {
    draw(root, model, options);
    return root.node();
  };
}

function draw(root, model, {tokens, cell: [row, col], source, onChoose}) {
  const weights = model.weights[row];
  setAttr(root, "data-source", source);
  setText(root.select(".says"), () => says(model));
  drawMatrix(root.select("table"), {
    name: "weights", title: "weights", caption: "weights", shape: `${tokens.length} × ${tokens.length}`,
    rows: tokens, columns: tokens, cells: model.weights,
    fill: (i, j) => model.weights[i][j], lit: (i) => i === row, chosen: (i, j) => i === row && j === col
  }, {choose: (i, j) => onChoose([i, j])});
  setText(root.select(".of-row"), () => `Where ${tokens[row]} looks`);
  drawShares(root.select(".shares"), tokens.map((token, j) => ({token, weight: weights[j]})), formatFine);
  setText(root.select(".entropy"), () => describe(model, row, tokens[row]));
  setText(root.select(".summary"), () => `${says(model)} ${tokens[row]} looks at: `
    + `${tokens.map((token, j) => `${token} ${format(weights[j])}`).join(", ")}.`);
}

function emptyView() {
  return liveElement("temperature", `<p class="says"></p><div class="stage"><table class="matrix weights"></table>
    <div class="row"><p class="of-row"></p><ul class="shares"></ul></div></div>
    <p class="entropy" aria-live="polite"></p>
    <p class="notes">Rounded as shown, a row may not seem to sum to 1. It does.</p>
    <p class="summary screen-reader-only"></p>`, {label: "Attention at a temperature"});
}
