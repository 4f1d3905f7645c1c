// One pair of signs, moved along the row and apart: its score at every two places, in six trained models.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {choice, numbered, reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {format} from "./lib/numbers.js";
import {pairMap} from "./lib/pair-map.js";

// ---- Model ---------------------------------------------------------------------------------

const FIRST = 3; // place of a query
const SAME = 0.011; // the scores are published in two decimals

/** The scores of the pair at this distance, place after place, and of this query, distance after distance. */
export function moved({schemes, trained}, {scheme, place, distance}) {
  const {name, scores} = schemes.find((one) => one.key === scheme);
  const size = scores.length;
  const query = Math.max(place, distance);
  const now = scores[query][query - distance];
  const along = Array.from({length: size - distance}, (_, i) => scores[i + distance][i]);
  const still = Math.max(...along) - Math.min(...along) <= SAME;
  return {
    name,
    scores,
    size,
    trained,
    distance,
    place: query,
    along,
    now,
    still,
    apart: scores[query].slice(0, query + 1).reverse(),
  };
}

const DARK = 0.85;
const extent = (scores) => {
  const seen = scores.flatMap((row, i) => row.slice(0, i + 1));
  return [Math.min(...seen), Math.max(...seen)];
};

/** The scores as shares, the smallest of this scheme 0; a key after its query has none. */
function shares(scores, [low, high]) {
  const share = (score) => 0.06 + DARK * (high > low ? (score - low) / (high - low) : 0.5);
  return scores.map((row, i) => scores.map((_, j) => (j > i ? 0 : share(row[j]))));
}

// ---- Sentence, view ------------------------------------------------------------------------

export function sentence({name, place, distance, now, along, still, size}) {
  const here = `${name}: the query at position ${place}, the key ${distance} ${distance === 1 ? "position" : "positions"} before it, at ${place - distance}: score ${format(now)}.`;
  if (along.length === 1) return here;
  if (still)
    return `${here} Moved along the row, from position ${distance} to ${size - 1}, the pair keeps its score.`;
  return `${here} Moved along the row, its score runs from ${format(Math.min(...along))} to ${format(Math.max(...along))}.`;
}

const PLOT = {left: 44, right: 306, top: 8, bottom: 112};
const TICKS = [0, 16, 32, 47];

/** Scores over places or distances from `first` on; the ring is at `at`. */
function plot(numbers, {first = 0, at, m, range: [low, high]}) {
  const x = scaleLinear([0, m.size - 1], [PLOT.left, PLOT.right]);
  const room = Math.max(0.5, (high - low) * 0.08);
  const y = scaleLinear([low - room, high + room], [PLOT.bottom, PLOT.top]);
  return html`<svg class="plot" viewBox="0 0 316 140" aria-hidden="true">
    <rect class="trained" x=${PLOT.left} y=${PLOT.top} width=${x(m.trained - 1) - PLOT.left} height=${PLOT.bottom - PLOT.top}></rect>
    ${y.ticks(4).map(
      (
        tick,
      ) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(tick)} y2=${y(tick)}></line>
      <text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${format(tick).replace(/\.?0+$/, "")}</text>`,
    )}
    ${TICKS.map((tick) => svg`<text class="below" x=${x(tick)} y=${PLOT.bottom + 20}>${tick}</text>`)}
    <path d=${line((_, i) => x(first + i), y)(numbers)}></path><circle cx=${x(at)} cy=${y(m.now)} r="6"></circle></svg>`;
}

let kept = {};
function keep(scores) {
  if (kept.scores !== scores) {
    const range = extent(scores);
    kept = {scores, range, cells: shares(scores, range)};
  }
  return kept;
}

const choose = ({row, column}, widget) =>
  widget.set({place: Math.max(FIRST, row), ...(column < row && {distance: row - column})});

function view(m, widget) {
  const {cells, range} = keep(m.scores);
  const map = {
    row: m.place,
    column: m.place - m.distance,
    trained: m.trained,
    ticks: TICKS,
    choose: (cell) => choose(cell, widget),
  };
  return html`<div class="stage">
    <figure><figcaption>Score: a row for each position of the query, a column for each of the
      key</figcaption>${pairMap(cells, map)}</figure>
    <div><figure><figcaption>Score by position of the query, distance
      ${m.distance}</figcaption>${plot(m.along, {first: m.distance, at: m.place, m, range})}</figure>
    <figure><figcaption>Score by distance, query at
      ${m.place}</figcaption>${plot(m.apart, {at: m.distance, m, range})}</figure></div></div>
  ${widget.sentence()}`;
}

/** data: {schemes: [{key, name, scores: a row for each query, up to itself}], trained: the length of training} */
export const movedPair = defineWidget({
  name: "moved-pair",
  label: "One pair, moved along the row and apart",
  key: "pair",
  fields: ({schemes}) => ({
    scheme: option(
      (schemes.find(({key}) => key === "rotary") ?? schemes[0]).key,
      schemes.map(({key}) => key),
    ),
    place: integer(10, {min: FIRST, max: schemes[0].scores.length - 1}),
    distance: integer(3, {min: 1, max: schemes[0].scores.length - 1}),
  }),
  controls: ({data: {schemes}}) => [
    [
      choice(
        "scheme",
        "How positions are told",
        schemes.map(({name}) => name),
      ),
    ],
    [
      slider("place", "Position of the query", {unit: numbered("position")}),
      slider("distance", "Distance back", {unit: unitsOf("position")}),
      reset,
    ],
  ],
  model: moved,
  sentence,
  view,
});
