// Patterns of attention that leave keys out: who sees whom, and what that spares.

import {html, nothing, svg} from "../assets/vendor/lit.js";
import {choice, reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {count, formatPercent} from "./lib/numbers.js";
import {weightMap} from "./lib/weight-map.js";

// ---- Model ---------------------------------------------------------------------------------

export const PATTERNS = ["full", "causal", "window", "strided", "blocks"];
const TILE = 8; // cells a side that a kernel computes at once

/** Whether the query at i sees the key at j. `size`: of the window, the stride or the blocks. */
const RULES = {
  full: () => true,
  causal: (i, j) => j <= i,
  window: (i, j, size) => j <= i && i - j < size,
  strided: (i, j, size) => j <= i && (i - j < size || (i - j) % size === 0),
  blocks(i, j, size) {
    const [row, column] = [Math.floor(i / size), Math.floor(j / size)];
    return j <= i && (column === 0 || row - column < 2);
  },
};

/** Rows of 1 and 0, the pairs and tiles that are left, the keys that words to come can see, and the way back to the first, with its layers. */
export function patternOf({tokens}, {pattern, size}) {
  const sees = RULES[pattern];
  const places = Array.from({length: tokens}, (_, i) => i);
  const mask = places.map((i) => places.map((j) => Number(sees(i, j, size))));
  const later = Array.from({length: 2 * tokens}, (_, i) => tokens + i);
  const all = tokens * tokens;
  const route = routeOf(mask);
  return {
    pattern,
    size,
    mask,
    all,
    tokens,
    pairs: mask.flat().reduce((a, b) => a + b, 0),
    tiles: tilesOf(mask),
    tilesInAll: (tokens / TILE) ** 2,
    kept:
      pattern === "full" ? null : places.filter((j) => later.some((i) => sees(i, j, size))).length,
    route,
    layers: route && route.length - 1,
  };
}

function tilesOf(mask) {
  const found = new Set();
  mask.forEach((row, i) =>
    row.forEach((on, j) => on && found.add(`${Math.floor(i / TILE)},${Math.floor(j / TILE)}`)),
  );
  return found.size;
}

/** The shortest way from the last word back to the first, a layer for each step: places, or null. */
export function routeOf(mask) {
  let ends = [[mask.length - 1]]; // one way to each place that is newly known
  const known = new Set(ends[0]);
  while (ends.length) {
    const there = ends.find(([place]) => place === 0);
    if (there) return there.reverse();
    const next = [];
    for (const way of ends.sort(([a], [b]) => a - b)) // the furthest back goes first
      mask[way[0]].forEach(
        (on, j) => on && !known.has(j) && known.add(j) && next.push([j, ...way]),
      );
    ends = next;
  }
  return null;
}

// ---- Sentence, view ------------------------------------------------------------------------

const NAMES = ["full", "causal", "window", "strided", "blocks"];
const SIZES = {window: "Window", strided: "Window and stride", blocks: "Block"};
const WHAT = {
  full: "Every token sees every token",
  causal: "Every token sees itself and those before it",
  window: "Every token sees the last {size}, itself included",
  strided: "Every token sees the last {size}, and before them every {nth}",
  blocks: "Tokens in blocks of {size}: each sees its own block, the one before, and the first",
};
const nth = (n) =>
  n === 1
    ? "one"
    : `${n}${((n % 100 < 4 || n % 100 > 20) && ["th", "st", "nd", "rd"][n % 10]) || "th"}`;
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

export function sentence({pattern, size, pairs, all, tiles, tilesInAll, kept, layers, tokens}) {
  const what = WHAT[pattern].replace("{size}", size).replace("{nth}", nth(size));
  const left =
    pattern === "window"
      ? ""
      : `: ${formatPercent(pairs / all)} of the pairs, in ${formatPercent(tiles / tilesInAll)} of the tiles`;
  return (
    `${what}${left}. ${kept === null ? "No writer looks like this" : `Of ${tokens} keys, later tokens can still see ${kept}`}. ` +
    (layers === null
      ? "The last token never hears of the first."
      : `The last token hears of the first after ${plural(layers, "layer")}.`)
  );
}

const number = (name, value, note) =>
  html`<div><dt>${name}</dt><dd>${value}</dd><dd class="note">${note}</dd></div>`;

/** The way as stairs: along a row to the key that is seen, then up its column to that token's own row. */
function stairs({route, tokens}) {
  if (!route) return nothing;
  const at = (place) => place + 0.5;
  const steps = route.slice(1).map((place) => `H${at(place)}V${at(place)}`);
  return svg`<svg viewBox="0 0 ${tokens} ${tokens}" aria-hidden="true"><path d=${`M${at(route[0])} ${at(route[0])}${steps.join("")}`}></path>${route
    .slice(1)
    .map((place, i) => svg`<circle cx=${at(place)} cy=${at(route[i])} r="0.9"></circle>`)}</svg>`;
}

function view(m, widget) {
  const {mask, pairs, all, tiles, tilesInAll, kept, layers, tokens} = m;
  return html`<div class="stage"><div class="map"><p class="axis">keys, first to last →</p><div class="way">${weightMap(mask)}${stairs(m)}</div>
      <p class="axis">↓ queries. Filled: may look. Dot: a look, a layer for each</p></div>
    <dl>${number("keys to keep", kept ?? "–", kept === null ? "not for writing" : `of ${tokens}, for later tokens`)}
      ${number("layers from first to last", layers ?? "–", "until the last token hears of the first")}</dl></div>
    ${widget.sentence()}
    <details class="more"><summary>Other patterns, and what a kernel can skip</summary>
      <div class="controls">${choice("pattern", "Pattern", NAMES)(widget)}</div>
      <dl>${number("pairs of tokens", formatPercent(pairs / all), `${count(pairs)} of ${count(all)}`)}
      ${number("tiles with such a pair", formatPercent(tiles / tilesInAll), `${tiles} of ${tilesInAll}, each ${TILE} × ${TILE}`)}</dl></details>`;
}

/** The size, by what it is the size of; full and causal have none. */
const size = (widget) =>
  slider("size", SIZES[widget.state.pattern] ?? "Window, stride or block", {
    unit: unitsOf("token"),
  })(widget);

/** data: {tokens} */
export const sparsePatterns = defineWidget({
  name: "sparse-patterns",
  label: "Patterns and what they save",
  key: "pattern",
  fields: () => ({pattern: option("window", PATTERNS), size: integer(16, {min: 1, max: 32})}),
  controls: () => [[size, reset]],
  model: patternOf,
  sentence,
  view,
  challenges: {
    "nine-layers": ({pattern, layers}) => pattern === "window" && layers === 9,
    "skip-tiles": ({tiles, tilesInAll}) => tiles <= tilesInAll / 4,
    "far-and-few": ({pairs, all, layers, pattern}) =>
      pattern !== "full" && layers !== null && layers <= 2 && pairs < all / 5,
  },
});
