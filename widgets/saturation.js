// How the size of keys drives softmax into saturation: eight weights, and the slope of the largest.

import {line, scaleBand, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {button, reset, slider, steps, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {decimal, flag, integer} from "./lib/fields.js";
import {mean} from "./lib/lists.js";
import {format, formatShort, formatSmall} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/** The standard deviation of the numbers themselves. */
function deviation(row) {
  const middle = mean(row);
  return Math.sqrt(mean(row.map((x) => (x - middle) ** 2)));
}

/** How fast the largest weight w changes with the score that softmax gets for it: w(1 − w). */
export function slopeOfLargest(weights) {
  const best = weights.indexOf(Math.max(...weights));
  // The sum of the others in place of 1 − w: it keeps its digits where w is close to 1.
  const rest = weights.reduce((sum, w, i) => (i === best ? sum : sum + w), 0);
  return weights[best] * rest;
}

const scoresOf = (products, size, {spread = 1, divide = false}) =>
  products.map((product) => (product * spread ** 2) / (divide ? Math.sqrt(size) : 1));

/** One row of attention over products q·k of keys of `size` numbers, each of which spreads by `spread`. */
export function row(products, size, {spread, divide} = {}) {
  const scores = scoresOf(products, size, {spread, divide});
  const weights = softmax(scores);
  return {scores, weights, deviation: deviation(scores), slope: slopeOfLargest(weights)};
}

const SATURATED = 0.01; // a slope that passes on next to nothing
const countSaturated = (slopes) => slopes.filter((slope) => slope < SATURATED).length;

/** Every draw of every size, its slope, and each size's mean slope and count of saturated draws: undivided, and divided. */
export function cloud({sizes, products}, spread) {
  const series = (divide) => {
    const slopeOf = (draw, size) => slopeOfLargest(softmax(scoresOf(draw, size, {spread, divide})));
    const slopes = sizes.map((size, i) => products[i].map((draw) => slopeOf(draw, size)));
    return {
      divide,
      slopes,
      means: slopes.map(mean),
      saturated: slopes.map(countSaturated),
    };
  };
  return [series(false), series(true)];
}

/** The row that is chosen, and how many of its size are saturated. */
export function saturation({sizes, products}, state) {
  const size = sizes[state.size];
  const rows = products[state.size].map((draw) => row(draw, size, state));
  return {
    size,
    ...rows[state.draw],
    saturated: countSaturated(rows.map(({slope}) => slope)),
    rows: rows.length,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

export const sentence = ({size, deviation: spread, weights, slope, saturated, rows}, {state}) =>
  `Keys of ${size} numbers, ${state.divide ? "divided by" : "not divided by"} √${size}. The spread of the scores is ` +
  `${format(spread)}, the largest weight is ${format(Math.max(...weights))}. ` +
  `The slope of the largest weight is ${formatSlope(slope)}. Of ${rows} such rows, ${saturated} have a slope below ${SATURATED}.`;

const BARS = {left: 26, right: 308, top: 22, bottom: 150, height: 174};
const PLOT = {left: 34, right: 300, top: 14, bottom: 150, height: 196};
const MOST = 0.25; // ½ · ½: the axis holds all there can be
const formatSlope = (x) => (x < 0.0001 ? formatSmall(x) : x.toFixed(4));

const axis = ({left, right}, ticks, y) =>
  ticks.map(
    (tick) => svg`
  <line class="tick" x1=${left} x2=${right} y1=${y(tick)} y2=${y(tick)}></line>
  <text class="tick" x=${left - 6} y=${y(tick) + 4}>${tick}</text>`,
  );

function bars({scores, weights}) {
  const x = scaleBand(
    weights.map((_, i) => i),
    [BARS.left, BARS.right],
  ).paddingInner(0.25);
  const y = scaleLinear([0, 1], [BARS.bottom, BARS.top]);
  const middle = x.bandwidth() / 2;
  return html`<svg class="weights-now" viewBox="0 0 312 ${BARS.height}" aria-hidden="true">${axis(BARS, [0, 0.5, 1], y)}
    ${weights.map(
      (w, i) => svg`<g class="key" transform="translate(${x(i)})">
      <rect width=${x.bandwidth()} y=${BARS.top} height=${BARS.bottom - BARS.top} style="transform:scaleY(${+w.toFixed(5)})"></rect>
      <text class="weight" x=${middle} y=${y(w) - 6}>${format(w)}</text>
      <text class="score" x=${middle} y=${BARS.bottom + 18}>${formatShort(scores[i])}</text></g>`,
    )}</svg>`;
}

const scalesOf = (sizes) => ({
  x: scaleLinear([0, sizes.length - 1], [PLOT.left + 14, PLOT.right - 14]),
  y: scaleLinear([0, MOST], [PLOT.bottom, PLOT.top]),
});
const aside = (divide) => (divide ? 4 : -4); // beside one another, so that both are seen

// The counts stand below the sizes: marks of saturated draws lie on top of one another.
function dots({divide, slopes, means, saturated}) {
  const {x, y} = scalesOf(means);
  const draws = slopes.flatMap((all, i) =>
    all.map((slope) => `M${(x(i) + aside(divide)).toFixed(1)},${y(slope).toFixed(1)}h0`),
  );
  return svg`<g class="series ${divide ? "divided" : "raw"}">
    <path class="draws" d=${draws.join("")}></path><path class="mean" d=${line((_, i) => x(i), y)(means)}></path>
    ${saturated.map((count, i) => svg`<text class="count" x=${x(i)} y=${PLOT.bottom + 40}>${count}</text>`)}</g>`;
}

let kept = {}; // what was drawn last: most changes leave the dots as they are
function dotsOf(data, spread) {
  if (kept.data !== data || kept.spread !== spread)
    kept = {data, spread, drawing: cloud(data, spread).map(dots)};
  return kept.drawing;
}

function plot({slope}, {data, state: {size: chosen, divide, spread}}) {
  const {x, y} = scalesOf(data.sizes);
  return html`<svg class="slopes ${divide ? "both" : ""}" viewBox="0 0 312 ${PLOT.height}" aria-hidden="true">${axis(PLOT, [0, 0.1, 0.2], y)}
    ${data.sizes.map((size, i) => svg`<text class="size" x=${x(i)} y=${PLOT.bottom + 18}>${size < 1024 ? size : `${size / 1024}k`}</text>`)}
    <line class="limit" x1=${PLOT.left} x2=${PLOT.right} y1=${y(SATURATED)} y2=${y(SATURATED)}></line>
    ${dotsOf(data, spread)}<circle class="now" r="7" cx=${x(chosen) + aside(divide)} cy=${y(slope)}></circle></svg>`;
}

const view = (m, widget) => html`<dl class="now"><div><dt>Spread of these eight
  scores</dt><dd class="now-spread">${format(m.deviation)}</dd></div>
    <div><dt>Largest weight</dt><dd class="now-top">${format(Math.max(...m.weights))}</dd></div>
    <div><dt>Its slope</dt><dd class="now-slope">${formatSlope(m.slope)}</dd></div>
    <div><dt>Slopes below ${SATURATED}</dt><dd class="now-saturated">${m.saturated} of ${m.rows}</dd></div></dl>
  <div class="stage"><figure><figcaption>Weights of eight keys, scores below</figcaption>${bars(m)}</figure>
    <figure><figcaption>Slope of the largest, by size of the keys; below, how many of the ${m.rows} are under ${SATURATED}</figcaption>${plot(m, widget)}</figure></div>
  <p class="legend ${widget.state.divide ? "both" : ""}"><span class="raw means">undivided</span>
    <span class="divided means">divided by √dₖ</span> <span class="ring">what you see</span></p>
  ${widget.sentence({hidden: true})}`;

const anotherDraw = ({state, fields, set}) => set({draw: (state.draw + 1) % (fields.draw.max + 1)});

/** data: {sizes, size: index of the one chosen at first, products: rows of q·k, by size and draw} */
export const saturationExplorer = defineWidget({
  name: "saturation",
  label: "Saturation explorer",
  fields: ({sizes, size, products}) => ({
    size: integer(size, {max: sizes.length - 1}),
    divide: flag(false),
    spread: decimal(1, {min: 0.25, max: 2, step: 0.05}),
    draw: integer(0, {max: products[0].length - 1}),
  }),
  controls: ({data}) => [
    [steps("size", "Size of the keys", data.sizes.map(String))],
    [
      toggle("divide", "Divide by √dₖ"),
      slider("spread", "Spread of q, k"),
      button("Another draw", anotherDraw),
      reset,
    ],
  ],
  model: saturation,
  sentence,
  view,
  challenges: {
    "spread-of-1": ({deviation: spread}, {divide}) => !divide && Math.abs(spread - 1) < 0.1,
    frozen: ({slope}, {divide}) => !divide && slope < 0.001,
    "frozen-divided": ({slope}, {divide}) => divide && slope < 0.05,
  },
});
