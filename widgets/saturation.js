// How the size of keys drives softmax into saturation: eight weights, and how far they can still move.

import {softmax} from "./lib/attention.js";
import {part, setAttr, setAttrs, setHeight, setText} from "./lib/dom.js";
import {liveElement} from "./lib/live.js";
import {format, formatShort, formatSmall} from "./lib/numbers.js";
import {decimal, flag, integer} from "./lib/url-state.js";

// ---- Model: numbers in, objects out --------------------------------------------------------

/** What a reader can choose, with where it starts: for urlState. */
export const saturationFields = ({sizes, products}) => ({
  size: integer(0, {min: 0, max: sizes.length - 1}),
  divide: flag(false),
  spread: decimal(1, {min: 0.25, max: 2}),
  draw: integer(0, {min: 0, max: products[0].length - 1})
});

/** The standard deviation of the numbers themselves. */
export function deviation(row) {
  const mean = row.reduce((a, b) => a + b, 0) / row.length;
  return Math.sqrt(row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length);
}

/** √(Σ (∂wᵢ/∂sⱼ)²) of softmax: how far the weights can follow the scores. At most ½. */
export function jacobianNorm(weights) {
  // Sums of the others in place of 1 − w, and sizes relative to the largest entry, which is always
  // on the diagonal: so that norms far below rounding keep their digits.
  const rest = sumsOfOthers(weights);
  const largest = Math.max(...weights.map((w, i) => w * rest[i]));
  if (!largest) return 0;
  let squares = 0;
  weights.forEach((w, i) => {
    squares += (w * rest[i] / largest) ** 2;
    for (let j = 0; j < i; j++) squares += 2 * (w * weights[j] / largest) ** 2; // symmetric
  });
  return largest * Math.sqrt(squares);
}

/** For each number the sum of the others, without taking it from the sum of all. */
function sumsOfOthers(numbers) {
  const sums = numbers.map(() => 0);
  for (let i = 1, before = 0; i < numbers.length; i++) sums[i] = before += numbers[i - 1];
  for (let i = numbers.length - 2, after = 0; i >= 0; i--) sums[i] += after += numbers[i + 1];
  return sums;
}

const scoresOf = (products, size, {spread = 1, divide = false}) =>
  products.map((product) => product * spread ** 2 / (divide ? Math.sqrt(size) : 1));

/** One row of attention over products q·k of keys of `size` numbers, each of which spreads by `spread`. */
export function row(products, size, {spread, divide} = {}) {
  const scores = scoresOf(products, size, {spread, divide});
  const weights = softmax(scores);
  return {scores, weights, deviation: deviation(scores), norm: jacobianNorm(weights)};
}

/** Every draw of every size, and the mean of their norms: with the division and without. */
export function cloud({sizes, products}, spread) {
  const series = (divide) => {
    const normOf = (draw, size) => jacobianNorm(softmax(scoresOf(draw, size, {spread, divide})));
    const norms = sizes.map((size, i) => products[i].map((draw) => normOf(draw, size)));
    return {divide, norms, means: norms.map((all) => all.reduce((a, b) => a + b, 0) / all.length)};
  };
  return [series(false), series(true)];
}

// ---- Summary -------------------------------------------------------------------------------

export function describe({deviation: spread, weights, norm}, {size, divide}) {
  return `Keys of ${size} numbers, ${divide ? "divided by" : "not divided by"} √${size}. The scores spread by `
    + `${format(spread)}, the largest weight is ${format(Math.max(...weights))}, `
    + `the Jacobian's norm is ${formatSmall(norm)}.`;
}

// ---- View: one element, updated in place; the caller keeps the state ------------------------

const BARS = {left: 26, right: 308, top: 22, bottom: 150, height: 174};
const PLOT = {left: 34, right: 300, top: 14, bottom: 150, height: 188};
const MOST = 0.5; // the Jacobian's norm can't be larger: the axis holds all there can be

/** draw(data, {size, divide, spread, draw}) updates the drawing and returns it. */
export function saturationView(d3) {
  const root = d3.select(emptyView());
  let drawn = null; // the spread that the cloud stands for
  return (data, chosen) => {
    const size = data.sizes[chosen.size];
    const now = row(data.products[chosen.size][chosen.draw], size, chosen);
    bars(d3, root.select(".weights-now"), now);
    if (drawn !== chosen.spread) points(d3, root.select(".norms"), data, cloud(data, drawn = chosen.spread));
    marker(d3, root.select(".norms"), data, chosen, now);
    for (const [name, text] of [["spread", format(now.deviation)], ["top", format(Math.max(...now.weights))],
      ["norm", formatSmall(now.norm)]]) setText(root.select(`.now-${name}`), () => text);
    setText(root.select(".summary"), () => describe(now, {size, divide: chosen.divide}));
    return root.node();
  };
}

function bars(d3, svg, {scores, weights}) {
  const x = d3.scaleBand(weights.map((_, i) => i), [BARS.left, BARS.right]).paddingInner(0.25);
  const y = d3.scaleLinear([0, 1], [BARS.bottom, BARS.top]);
  frame(svg, BARS, [0, 0.5, 1], y);
  const keys = svg.selectAll("g.key").data(weights).join((enter) => {
    const key = enter.append("g").attr("class", "key").attr("transform", (_, i) => `translate(${x(i)})`);
    key.append("rect").attr("width", x.bandwidth()).attr("y", BARS.top).attr("height", BARS.bottom - BARS.top);
    key.append("text").attr("class", "weight").attr("x", x.bandwidth() / 2);
    key.append("text").attr("class", "score").attr("x", x.bandwidth() / 2).attr("y", BARS.bottom + 18);
    return key;
  });
  setHeight(keys.select("rect"), (w) => w);
  setAttr(keys.select(".weight"), "y", (w) => y(w) - 6);
  setText(keys.select(".weight"), (w) => format(w));
  setText(keys.select(".score"), (_, i) => formatShort(scores[i]));
}

const across = (d3, sizes) => d3.scaleLinear([0, sizes.length - 1], [PLOT.left + 14, PLOT.right - 14]);
const up = (d3) => d3.scaleLinear([0, MOST], [PLOT.bottom, PLOT.top]);

function points(d3, svg, {sizes}, series) {
  const [x, y] = [across(d3, sizes), up(d3)];
  frame(svg, PLOT, [0, 0.1, 0.2, 0.3, 0.4, 0.5], y);
  const labels = sizes.map((size, i) => ({size, i})).filter(({i}) => i % 2 === 0);
  setText(svg.selectAll("text.size").data(labels).join("text").attr("class", "size")
    .attr("x", ({i}) => x(i)).attr("y", PLOT.bottom + 18), ({size}) => size);
  const groups = svg.selectAll("g.series").data(series).join((enter) => {
    const group = enter.append("g").attr("class", ({divide}) => `series ${divide ? "divided" : "raw"}`);
    group.append("path").attr("class", "draws");
    group.append("path").attr("class", "mean");
    return group;
  });
  const aside = ({divide}) => (divide ? 4 : -4); // beside one another, so that both are seen
  groups.select(".draws").attr("d", (one) => one.norms.map((all, i) =>
    all.map((norm) => `M${(x(i) + aside(one)).toFixed(1)},${y(norm).toFixed(1)}h0`).join("")).join(""));
  groups.select(".mean").attr("d", ({means}) => d3.line((_, i) => x(i), y)(means));
}

function marker(d3, svg, {sizes}, {size, divide}, {norm}) {
  const ring = part(svg, "circle", "now").raise();
  setAttrs(ring, {r: 7, cx: across(d3, sizes)(size) + (divide ? 4 : -4), cy: up(d3)(norm)});
}

function frame(svg, {left, right}, ticks, y) {
  svg.selectAll("line.tick").data(ticks).join((enter) => enter.append("line").attr("class", "tick")
    .attr("x1", left).attr("x2", right).attr("y1", y).attr("y2", y));
  svg.selectAll("text.tick").data(ticks).join((enter) => enter.append("text").attr("class", "tick")
    .attr("x", left - 6).attr("y", (tick) => y(tick) + 4).text((tick) => tick));
}

function emptyView() {
  return liveElement("saturation", `<dl class="now"><div><dt>Spread of the scores</dt><dd class="now-spread"></dd></div>
    <div><dt>Largest weight</dt><dd class="now-top"></dd></div>
    <div><dt>Norm of the Jacobian</dt><dd class="now-norm"></dd></div></dl>
    <div class="stage"><figure><figcaption>Weights of eight keys, scores below</figcaption>
    <svg class="weights-now" viewBox="0 0 312 ${BARS.height}" aria-hidden="true"></svg></figure>
    <figure><figcaption>Norm of the Jacobian, by dₖ</figcaption>
    <svg class="norms" viewBox="0 0 312 ${PLOT.height}" aria-hidden="true"></svg></figure></div>
    <p class="legend"><span class="raw">not divided</span> <span class="divided">divided by √dₖ</span>
    <span class="means">mean of the draws</span> <span class="ring">what you see</span></p>
    <p class="summary screen-reader-only" aria-live="polite"></p>`, {label: "Saturation explorer"});
}
