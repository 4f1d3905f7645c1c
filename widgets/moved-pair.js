// One pair of signs, moved along the row: its score at every two places, in six trained models.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {choice, reset, slider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {format} from "./lib/numbers.js";
import {weightMap} from "./lib/weight-map.js";

// ---- Model ---------------------------------------------------------------------------------

const FIRST = 3; // place of a query
const SAME = 0.0015; // the scores are published in three decimals

/** The scores of the pair at this distance, place after place; `cells` are all of them as shares. */
export function moved({schemes, trained}, {scheme, place, distance}) {
  const {name, scores} = schemes.find((one) => one.key === scheme);
  const size = scores.length;
  const query = Math.max(place, distance);
  const along = Array.from({length: size - distance}, (_, i) => scores[i + distance][i]);
  const byDistance = Array.from({length: size}, (_, d) => scores[size - 1][size - 1 - d]);
  const steps = byDistance.slice(1).map((score, i) => score - byDistance[i]);
  const spread = (numbers) => Math.max(...numbers) - Math.min(...numbers);
  return {
    name, scores, size, trained, distance, place: query, along, now: scores[query][query - distance],
    still: spread(along) <= SAME,
    flat: spread(byDistance) <= SAME,
    straight: spread(steps) <= 2 * SAME && Math.abs(steps[0]) > SAME
  };
}

const DARK = 0.85;
/** The scores as shares, the smallest of this scheme 0; a key after its query has none. */
function shares({scores}) {
  const seen = scores.flatMap((row, i) => row.slice(0, i + 1));
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  return scores.map((row, i) => row.map((score, j) => (j > i ? 0 : 0.06 + DARK * (high > low ? (score - low) / (high - low) : 0.5))));
}

// ---- Sentence, view ------------------------------------------------------------------------

export function sentence({name, place, distance, now, along, still, size}) {
  const here = `${name}: the query at place ${place}, the key ${distance} ${distance === 1 ? "place" : "places"} before it, at ${place - distance}: score ${format(now)}.`;
  if (along.length === 1) return here;
  if (still) return `${here} Moved along the row, from place ${distance} to ${size - 1}, the pair keeps its score.`;
  return `${here} Moved along the row, its score runs from ${format(Math.min(...along))} to ${format(Math.max(...along))}.`;
}

const PLOT = {left: 44, right: 306, top: 12, bottom: 168};

function plot({along, distance, place, now, size, trained, scores}) {
  const x = scaleLinear([0, size - 1], [PLOT.left, PLOT.right]);
  const seen = scores.flatMap((row, i) => row.slice(0, i + 1));
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  const room = Math.max(0.5, (high - low) * 0.08);
  const y = scaleLinear([low - room, high + room], [PLOT.bottom, PLOT.top]);
  return html`<svg class="along" viewBox="0 0 316 200" aria-hidden="true">
    <rect class="trained" x=${PLOT.left} y=${PLOT.top} width=${x(trained - 1) - PLOT.left} height=${PLOT.bottom - PLOT.top}></rect>
    ${y.ticks(4).map((tick) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(tick)} y2=${y(tick)}></line>
      <text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${format(tick).replace(/\.?0+$/, "")}</text>`)}
    ${[0, 8, 16, 24].map((at) => svg`<text class="below" x=${x(at)} y=${PLOT.bottom + 20}>${at}</text>`)}
    <path d=${line((_, i) => x(i + distance), y)(along)}></path><circle cx=${x(place)} cy=${y(now)} r="6"></circle></svg>`;
}

let kept = {};
function cellsOf(m) {
  if (kept.scores !== m.scores) kept = {scores: m.scores, cells: shares(m)};
  return kept.cells;
}

const choose = ({row, column}, widget) =>
  widget.set({place: Math.max(FIRST, row), ...(column < row && {distance: row - column})});

const view = (m, widget) => html`<div class="stage">
    <figure><figcaption>Score. Rows: place of the query; columns: of the key</figcaption>
      <div class="map-place" style="--trained:${m.trained / m.size};--row:${m.place / m.size};--column:${(m.place - m.distance) / m.size};--cell:${1 / m.size}">
      ${weightMap(cellsOf(m), {choose: (cell) => choose(cell, widget)})}<i class="trained-part"></i><i class="pair"></i></div></figure>
    <figure><figcaption>Both moved along; below: the place of the query</figcaption>${plot(m)}</figure></div>
  ${widget.sentence()}`;

/** data: {schemes: [{key, name, scores: rows}], trained: the length that the models were trained at} */
export const movedPair = defineWidget({
  name: "moved-pair",
  label: "One pair, moved along the row",
  key: "pair",
  fields: ({schemes}) => ({
    scheme: option((schemes.find(({key}) => key === "learned") ?? schemes[0]).key, schemes.map(({key}) => key)),
    place: integer(10, {min: FIRST, max: schemes[0].scores.length - 1}),
    distance: integer(3, {min: 1, max: schemes[0].scores.length - 1})
  }),
  controls: ({data: {schemes}}) => [
    [choice("scheme", "How places are told", schemes.map(({name}) => name))],
    [slider("place", "Place of the query"), slider("distance", "Distance back"), reset]
  ],
  model: moved,
  sentence,
  view,
  challenges: {
    stays: ({still, along}) => still && along.length > 1,
    flat: ({flat}) => flat,
    straight: ({straight}) => straight
  }
});
