// Places as the hands of clocks: sinusoidal positions, in which each place has hands of its own.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {numbered, reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {format} from "./lib/numbers.js";
import {pairMap} from "./lib/pair-map.js";

// ---- Model ---------------------------------------------------------------------------------

/** How far each clock's hand turns from one place to the next, in radians: base^(−2i / size). */
export const speeds = (size, base) =>
  Array.from({length: size / 2}, (_, i) => base ** ((-2 * i) / size));

/** The sinusoidal vectors of two places, pair by pair, and how alike places are at every distance. */
export function sinusoidal({size, base, places}, {place, distance}) {
  const turns = speeds(size, base);
  const alike = (d) => turns.reduce((sum, turn) => sum + Math.cos(d * turn), 0) / turns.length;
  const clocks = turns.map((turn) => ({
    turn,
    first: place * turn,
    second: (place + distance) * turn,
    share: Math.cos(distance * turn),
  }));
  const curve = Array.from({length: places}, (_, d) => alike(d));
  return {
    place,
    distance,
    clocks,
    curve,
    now: alike(distance),
    lowest: Math.min(...curve.slice(0, distance + 1)),
  };
}

// ---- Sentences -----------------------------------------------------------------------------

const LAP = 2 * Math.PI;
const away = (d) => `${d} ${d === 1 ? "position" : "positions"}`;

function sinusoidalSentence({place, distance, now, lowest, clocks}) {
  const rebound =
    now > lowest + 0.02 ? ` Some nearer positions are less alike: down to ${format(lowest)}.` : "";
  return (
    `Positions ${place} and ${place + distance}, ${away(distance)} apart: similarity ${format(now)}, ` +
    `the average of ${clocks.map(({share}) => format(share)).join(", ")}.${rebound}`
  );
}

// ---- View ----------------------------------------------------------------------------------

/** A clock's hand, from the axle in the middle; a hand of length 1 nearly reaches the rim at 38. */
export const hand = (angle, long, className) => svg`<line class=${className} x1="0" y1="0"
  x2=${(34 * long * Math.cos(angle)).toFixed(2)} y2=${(-34 * long * Math.sin(angle)).toFixed(2)}></line>`;

function clock({turn, first, second, share}) {
  const lap = LAP / turn;
  return html`<figure class="clock"><svg viewBox="-42 -42 84 84" aria-hidden="true"><circle r="38"></circle>
      ${hand(second, 1, "second")}${hand(first, 1, "first")}<circle class="axle" r="2.5"></circle></svg>
    <figcaption>one round: ${lap < 9.95 ? lap.toFixed(1) : Math.round(lap)}
      positions<span class="screen-reader-only">, cosine </span><b>${format(share)}</b></figcaption></figure>`;
}

const PLOT = {left: 40, right: 306, top: 12, bottom: 132};

function plot({curve, distance, now}) {
  const x = scaleLinear([0, curve.length - 1], [PLOT.left, PLOT.right]);
  const y = scaleLinear([-1, 1], [PLOT.bottom, PLOT.top]);
  return html`<svg class="curve" viewBox="0 0 316 162" aria-hidden="true">
    ${[-1, 0, 1].map(
      (
        tick,
      ) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(tick)} y2=${y(tick)}></line>
      <text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${format(tick).replace(/\.?0+$/, "")}</text>`,
    )}
    ${[0, 10, 20, 30, 40].filter((d) => d < curve.length).map((d) => svg`<text class="below" x=${x(d)} y=${PLOT.bottom + 18}>${d}</text>`)}
    <path d=${line((_, d) => x(d), y)(curve)}></path><circle cx=${x(distance)} cy=${y(now)} r="6"></circle></svg>`;
}

/** Similarities from −1 to 1 as shares from 0 to 1. */
const mapOf = ({curve}, size) =>
  Array.from({length: size}, (_, i) =>
    Array.from({length: size}, (_, j) => (curve[Math.abs(i - j)] + 1) / 2),
  );
let kept = {};
function similarityMap(m, {data, state, set}) {
  if (kept.data !== data) kept = {data, cells: mapOf(m, data.places)};
  const {place, distance} = state;
  const choose = ({row, column}) =>
    set({place: Math.min(row, column), distance: Math.max(1, Math.abs(row - column))});
  return html`<figure><figcaption>Similarity of every two positions</figcaption>
    ${pairMap(kept.cells, {row: place, column: place + distance, ticks: [0, 10, 20, 30, 40], choose})}</figure>`;
}

// ---- The widget ----------------------------------------------------------------------------

/** data: {size: numbers of a place, base, places} */
export const clockHands = defineWidget({
  name: "clock-hands",
  label: "Positions as clock hands",
  key: "clocks",
  fields: ({places}) => ({
    place: integer(0, {max: places - 1}),
    distance: integer(1, {min: 1, max: places - 1}),
  }),
  controls: () => [
    [
      slider("place", "First position", {unit: numbered("position")}),
      slider("distance", "Distance", {unit: unitsOf("position")}),
      reset,
    ],
  ],
  model: sinusoidal,
  sentence: sinusoidalSentence,
  view: (m, widget) => html`<div class="clocks">${m.clocks.map(clock)}</div>
    <div class="stage"><figure><figcaption>Similarity, by distance</figcaption>${plot(m)}</figure>${similarityMap(m, widget)}</div>
    ${widget.sentence()}`,
});
