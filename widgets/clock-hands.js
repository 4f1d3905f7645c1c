// Places as the hands of clocks. Sinusoidal: each place has hands of its own. Rotary: the place turns
// the hands of the words, and only the angle between two words' hands is left in their score.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, nothing, svg} from "../assets/vendor/lit.js";
import {choice, numbered, reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
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

/** A word's query and a key, pair by pair, turned by their places; the score is the sum of the shares. */
export function rotary({queries, key, base, places}, {word, place, distance}) {
  const query = queries[word];
  const size = query.length;
  const hand = (vector, i) => ({
    long: Math.hypot(vector[2 * i], vector[2 * i + 1]),
    angle: Math.atan2(vector[2 * i + 1], vector[2 * i]),
  });
  const clocks = speeds(size, base).map((turn, i) => {
    const [q, k] = [hand(query, i), hand(key, i)];
    const share = (d) => q.long * k.long * Math.cos(q.angle - k.angle + d * turn);
    return {
      turn,
      share: share(distance),
      at: share,
      lengths: [q.long, k.long],
      first: q.angle + place * turn,
      second: k.angle + (place - distance) * turn,
    };
  });
  const scoreAt = (d) => clocks.reduce((sum, {at}) => sum + at(d), 0);
  const curve = Array.from({length: places}, (_, d) => scoreAt(d));
  return {word, place, distance, clocks, curve, now: scoreAt(distance)};
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

const rotarySentence = ({word, place, distance, now, clocks}) =>
  `The query of ${word} stands at position ${place}, the key ${away(distance)} before it, at ${place - distance}. ` +
  `Their score is ${clocks
    .map(({share}) => format(share))
    .join(" + ")
    .replaceAll("+ −", "− ")} ≈ ${format(now)}.`;

// ---- View ----------------------------------------------------------------------------------

const hand = (angle, long, className) => svg`<line class=${className} x1="0" y1="0"
  x2=${(34 * long * Math.cos(angle)).toFixed(2)} y2=${(-34 * long * Math.sin(angle)).toFixed(2)}></line>`;

function clock({turn, first, second, share, lengths = [1, 1]}, {longest, told}) {
  const lap = LAP / turn;
  return html`<figure class="clock"><svg viewBox="-42 -42 84 84" aria-hidden="true"><circle r="38"></circle>
      ${hand(second, lengths[1] / longest, "second")}${hand(first, lengths[0] / longest, "first")}<circle class="axle" r="2.5"></circle></svg>
    <figcaption>one round: ${lap < 9.95 ? lap.toFixed(1) : Math.round(lap)}
      positions<span class="screen-reader-only">, ${told} </span><b>${format(share)}</b></figcaption></figure>`;
}

const PLOT = {left: 40, right: 306, top: 12, bottom: 132};

function plot({curve, distance, now}, [low, high]) {
  const x = scaleLinear([0, curve.length - 1], [PLOT.left, PLOT.right]);
  const y = scaleLinear([low, high], [PLOT.bottom, PLOT.top]);
  const ticks = [low, (low + high) / 2, high];
  return html`<svg class="curve" viewBox="0 0 316 162" aria-hidden="true">
    ${ticks.map(
      (
        tick,
      ) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(tick)} y2=${y(tick)}></line>
      <text class="tick" x=${PLOT.left - 6} y=${y(tick) + 4}>${format(tick).replace(/\.?0+$/, "")}</text>`,
    )}
    ${[0, 10, 20, 30, 40].filter((d) => d < curve.length).map((d) => svg`<text class="below" x=${x(d)} y=${PLOT.bottom + 18}>${d}</text>`)}
    <path d=${line((_, d) => x(d), y)(curve)}></path><circle cx=${x(distance)} cy=${y(now)} r="6"></circle></svg>`;
}

const stage = (m, {range, title, map, told, sentence}) => {
  const longest = Math.max(1, ...m.clocks.flatMap(({lengths = []}) => lengths));
  return html`<div class="clocks">${m.clocks.map((one) => clock(one, {longest, told}))}</div>
    <div class=${map ? "stage with-map" : "stage"}><figure><figcaption>${title}</figcaption>${plot(m, range)}</figure>${map ?? nothing}</div>
    ${sentence}`;
};

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

// ---- The two widgets -------------------------------------------------------------------------

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
  view: (m, widget) =>
    stage(m, {
      range: [-1, 1],
      title: "Similarity, by distance",
      told: "cosine",
      map: similarityMap(m, widget),
      sentence: widget.sentence(),
    }),
});

/** data: {queries: {word: numbers}, two of them, key: as many numbers, base, places} */
export const rotaryHands = defineWidget({
  name: "clock-hands",
  label: "A query and a key, turned by their positions",
  key: "rotary",
  fields: ({queries, places}) => ({
    word: option(Object.keys(queries)[0], Object.keys(queries)),
    place: integer(places, {min: places - 1, max: 3 * places}),
    distance: integer(0, {max: places - 1}),
  }),
  controls: ({data}) => [
    [
      choice(
        "word",
        "Whose query",
        Object.keys(data.queries).map((word) => `Query of ${word}`),
      ),
    ],
    [
      slider("place", "Position of the query", {unit: numbered("position")}),
      slider("distance", "Distance back", {unit: unitsOf("position")}),
      reset,
    ],
  ],
  model: rotary,
  sentence: rotarySentence,
  view: (m, widget) => {
    const most = Math.ceil(Math.max(...m.curve.map(Math.abs)));
    return stage(m, {
      range: [-most, most],
      title: "Score, by distance",
      told: "adds to the score",
      sentence: widget.sentence(),
    });
  },
});
