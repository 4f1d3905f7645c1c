// Softmax as a curve: where the words of a row stand on it, the more their scores are divided, and what a nudge moves.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, nothing, svg} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {reset, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {chance, count, formatPercent, formatShort} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

const weightsAt = ({scores}, divisor) => softmax(scores.map((score) => score / divisor));

/** 1 − w as the sum of the others: it keeps its digits where w is close to 1. */
function restOf(weights, at) {
  return weights.reduce((sum, weight, i) => (i === at ? sum : sum + weight), 0);
}

/** About how far a nudge of the first word's score moves its weight, where all scores are divided. */
function moved(data, divisor) {
  const weights = weightsAt(data, divisor);
  return (data.nudge / divisor) * weights[0] * restOf(weights, 0);
}

/**
 * data: {words, scores, nudge: of the first word's score, divisors, names: theirs}. Gives
 * {divisor, name, nudge, input: how far the input of softmax moves, words: [{word, weight, times: its weight by that
 * of all others together, gap: to them, ln of that, slope: w(1 − w)}], moves: [of the first word, by divisor], moved}.
 */
export function onTheCurve(data, {by}) {
  const divisor = data.divisors[by];
  const weights = weightsAt(data, divisor);
  const moves = data.divisors.map((one) => moved(data, one));
  return {
    divisor,
    name: data.names[by],
    nudge: data.nudge,
    input: data.nudge / divisor,
    words: data.words.map((word, i) => {
      const rest = restOf(weights, i);
      const times = weights[i] / rest;
      return {word, weight: weights[i], times, gap: Math.log(times), slope: weights[i] * rest};
    }),
    moves,
    moved: moves[by],
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

/** How many times the weight of all others together: 148, 1/148, 1. */
export function timesOf(times) {
  const size = Math.max(times, 1 / times);
  const told = size < 9.95 ? size.toFixed(1) : count(+size.toPrecision(3));
  return told === "1.0" ? "1" : times > 1 ? told : `1/${told}`;
}

/** Two digits that count: 0.1, 0.0088, 0.19. */
const short = (x) => String(+x.toPrecision(2));
const equals = (x) => `${Number(short(x)) === x ? "=" : "≈"} ${short(x)}`;

export const sentence = ({name, divisor, input, words, moved}) =>
  `${divisor === 1 ? "Undivided" : `Divided by ${name}`}: ` +
  words
    .map(
      ({word, weight, times, gap, slope}) =>
        `${word} has ${chance(weight)}, ${timesOf(times)} times what the others have, at a gap of ${formatShort(gap)} and a slope of ${short(slope)}`,
    )
    .join("; ") +
  `. The input of ${words[0].word} grows by ${short(input)}, and its weight moves by about ${short(moved)}.`;

const PLOT = {left: 48, right: 336, width: 348, height: 288};
const CURVE = {top: 14, bottom: 134};
const HILL = {top: 162, bottom: 226};
const GAPS = [-10, -5, 0, 5];
const NAMES = GAPS.map((gap) => timesOf(Math.exp(gap)));
const x = scaleLinear([-12.5, 8.5], [PLOT.left, PLOT.right]);
const weightAt = scaleLinear([0, 1], [CURVE.bottom, CURVE.top]);
const slopeAt = scaleLinear([0, 0.25], [HILL.bottom, HILL.top]);
const share = (gap) => 1 / (1 + Math.exp(-gap));
const GRID = Array.from({length: 211}, (_, i) => i / 10 - 12.5);

const drawn = (y, height) => line(x, (gap) => y(height(share(gap))))(GRID);
const CURVES = [drawn(weightAt, (w) => w), drawn(slopeAt, (w) => w * (1 - w))];

const level = (y, text) =>
  svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y} y2=${y}></line>
  <text class="tick" x=${PLOT.left - 6} y=${y + 4}>${text}</text>`;

/** The straight line that touches the curve where a word stands. */
function tangent({gap, weight, slope}) {
  const [from, to] = [-1, 1].map((by) => [x(gap + by), weightAt(weight + by * slope)]);
  return svg`<path class="tangent" d="M${from}L${to}"></path>`;
}

// Where a word's name stands beside its mark: on the steep part, and where the curve is flat.
const STEEP = [
  [-11, 7, "end"],
  [-9, -9, "end"],
  [9, 14, "start"],
];
const FLAT = [
  [-2, -12, "middle"],
  [0, 22, "middle"],
  [6, -12, "start"],
];

/** A word on the curve and on the hill. */
function marks({word, gap, weight, slope}, i) {
  const isFlat = Math.abs(gap) > 3;
  const name = (y, [aside, down, anchor]) =>
    svg`<text x=${x(gap) + aside} y=${y + down} text-anchor=${anchor}>${word}</text>`;
  const [onCurve, onHill] = [weightAt(weight), slopeAt(slope)];
  const beside = (isFlat ? FLAT : STEEP)[i];
  return svg`<g class="word-${i}"><line class="height" x1=${x(gap)} x2=${x(gap)} y1=${HILL.bottom} y2=${onHill}></line>
    <circle r="5.5" cx=${x(gap)} cy=${onCurve}></circle>${name(onCurve, beside)}
    <circle r="5.5" cx=${x(gap)} cy=${onHill}></circle>${i === 2 ? nothing : name(onHill, isFlat ? FLAT[0] : beside)}</g>`;
}

const chart = ({words}) => html`<svg viewBox="0 0 ${PLOT.width} ${PLOT.height}" aria-hidden="true">
    ${[0, 0.5, 1].map((weight) => level(weightAt(weight), formatPercent(weight)))}
    ${[0, 0.25].map((slope) => level(slopeAt(slope), slope))}
    <path class="curve" d=${CURVES[0]}></path><path class="curve" d=${CURVES[1]}></path>
    <text class="title" x=${PLOT.left + 4} y=${HILL.top - 6}>slope</text><text class="title" x=${PLOT.left + 4} y=${CURVE.top + 18}>weight</text>
    ${tangent(words[0])}${words.map(marks).reverse()}
    ${GAPS.map(
      (
        gap,
        i,
      ) => svg`<text class="gap" x=${x(gap)} y=${HILL.bottom + 18}>${gap < 0 ? `−${-gap}` : gap}</text>
      <text class="gap" x=${x(gap)} y=${HILL.bottom + 34}>${NAMES[i]}</text>`,
    )}
    <text class="gap" x=${(PLOT.left + PLOT.right) / 2} y=${HILL.bottom + 54}>gap to all others together; below, times their weight</text></svg>`;

const view = (
  m,
  widget,
) => html`<dl><div><dt>The input of <i>${m.words[0].word}</i> grows by ${short(m.nudge)}/${m.divisor}</dt><dd>${equals(m.input)}</dd></div>
    <div><dt>Times the slope at <i>${m.words[0].word}</i></dt><dd>· ${short(m.words[0].slope)}</dd></div>
    <div><dt><i>${m.words[0].word}</i> moves by about</dt><dd>≈ ${short(m.moved)}</dd></div></dl>
  ${chart(m)}
  ${widget.sentence({hidden: true})}`;

export const softmaxSlope = defineWidget({
  name: "softmax-slope",
  label: "Slope of softmax",
  fields: ({divisors}) => ({by: integer(0, {max: divisors.length - 1})}),
  controls: ({data}) => [[steps("by", "Divide the scores by", data.names), reset]],
  model: onTheCurve,
  sentence,
  view,
  challenges: {
    farthest: ({moves, moved}) => moved === Math.max(...moves),
  },
});
