// How the size of keys drives softmax into saturation: eight weights, and the largest of forty rows.

import {line, scaleBand, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {button, reset, steps, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {mean} from "./lib/lists.js";
import {format, formatPercent, formatShort} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

const scoresOf = (products, size, divide) =>
  products.map((product) => product / (divide ? Math.sqrt(size) : 1));

/** One row of attention over products q·k of keys of `size` numbers. */
export function row(products, size, divide) {
  const scores = scoresOf(products, size, divide);
  const weights = softmax(scores);
  return {scores, weights, largest: Math.max(...weights)};
}

const SATURATED = 0.99; // a weight above it
const countSaturated = (largest) => largest.filter((weight) => weight > SATURATED).length;

/** The largest weight of every draw of every size, each size's mean and count of saturated draws: undivided, and divided. */
export function cloud({sizes, products}) {
  const series = (divide) => {
    const largest = sizes.map((size, i) =>
      products[i].map((draw) => row(draw, size, divide).largest),
    );
    return {
      divide,
      largest,
      means: largest.map(mean),
      saturated: largest.map(countSaturated),
    };
  };
  return [series(false), series(true)];
}

/** The row that is chosen, and how many of its size are saturated. */
export function saturation({sizes, products}, {size: chosen, draw, divide}) {
  const size = sizes[chosen];
  const rows = products[chosen].map((one) => row(one, size, divide));
  return {
    size,
    ...rows[draw],
    saturated: countSaturated(rows.map(({largest}) => largest)),
    rows: rows.length,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

/** To a tenth of a percent, so that one sees what is above 99. */
const tenths = (share) => (share >= 0.9995 ? "99.9+\u202f%" : `${(100 * share).toFixed(1)}\u202f%`);

export const sentence = ({size, largest, saturated, rows}, {state}) =>
  `Keys of ${size} numbers, ${state.divide ? "divided by" : "not divided by"} √${size}. ` +
  `The largest weight is ${tenths(largest)}. Of ${rows} such rows, ${saturated} have one above ${formatPercent(SATURATED)}.`;

const BARS = {left: 26, right: 308, top: 22, bottom: 150, height: 174};
const PLOT = {left: 30, right: 300, top: 14, bottom: 150, height: 196};

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
  y: scaleLinear([0, 1], [PLOT.bottom, PLOT.top]),
});
const aside = (divide) => (divide ? 4 : -4); // beside one another, so that both are seen

// Of the first `shown` sizes. The counts stand below: marks of saturated draws lie on top of one another.
function dots({divide, largest, means, saturated}, shown) {
  const {x, y} = scalesOf(means);
  const draws = largest
    .slice(0, shown)
    .flatMap((all, i) =>
      all.map((weight) => `M${(x(i) + aside(divide)).toFixed(1)},${y(weight).toFixed(1)}h0`),
    );
  return svg`<g class="series ${divide ? "divided" : "raw"}">
    <path class="draws" d=${draws.join("")}></path><path class="mean" d=${line((_, i) => x(i) + aside(divide), y)(means.slice(0, shown))}></path>
    ${saturated.slice(0, shown).map((count, i) => svg`<text class="count" x=${x(i)} y=${PLOT.bottom + 40}>${count}</text>`)}</g>`;
}

function plot({largest}, {data, state: {size: chosen, divide}}) {
  const {x, y} = scalesOf(data.sizes);
  return html`<svg class="rows ${divide ? "both" : ""}" viewBox="0 0 312 ${PLOT.height}" aria-hidden="true">${axis(PLOT, [0, 0.5, 1], y)}
    ${data.sizes.map((size, i) => svg`<text class="size" x=${x(i)} y=${PLOT.bottom + 18}>${size < 1024 ? size : `${size / 1024}k`}</text>`)}
    ${cloud(data).map((series) => dots(series, chosen + 1))}<circle class="now" r="7" cx=${x(chosen) + aside(divide)} cy=${y(largest)}></circle></svg>`;
}

const view = (m, widget) => html`<dl class="now">
    <div><dt>Largest weight</dt><dd class="now-top">${tenths(m.largest)}</dd></div>
    <div><dt>Rows with a weight above ${formatPercent(SATURATED)}</dt><dd class="now-saturated">${m.saturated} of ${m.rows}</dd></div></dl>
  <div class="stage"><figure><figcaption>Weights of eight keys, scores below</figcaption>${bars(m)}</figure>
    <figure><figcaption>The largest weight of ${m.rows} rows, by size of the keys; below, how many are above ${formatPercent(SATURATED)}</figcaption>${plot(m, widget)}</figure></div>
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
    draw: integer(0, {max: products[0].length - 1}),
  }),
  controls: ({data}) => [
    [
      steps("size", "Numbers in a key", data.sizes.map(String), {
        ticks: data.sizes.map((_, place) => place),
      }),
    ],
    [toggle("divide", "Divide by √dₖ"), button("Another row", anotherDraw), reset],
  ],
  model: saturation,
  sentence,
  view,
});
