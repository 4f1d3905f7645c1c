// Where the arithmetic of a text goes, along its length: work on each token, and work on each pair.

import {line, pointer, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {choice, menu, reset, steps} from "./lib/controls.js";
import {amount, doublings, layerFlops, stop, tick, whole} from "./lib/costs.js";
import {defineWidget} from "./lib/define-widget.js";
import {dragBy} from "./lib/drag.js";
import {flag, integer} from "./lib/fields.js";
import {formatPercent} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

export const STOPS = doublings(7, 18, 8);
const ENDS = [STOPS[0], STOPS[STOPS.length - 1]];
const TICKS = [128, 1024, 8192, 65536];

/** FLOPs of a text of `length` tokens: for each token alone, and for each pair; one attention layer, or all with MLPs. */
export function work(model, length, everything) {
  const {projections, pairs, mlp} = layerFlops(model, {queries: length});
  const times = everything ? model.layers : 1;
  return {
    each: times * (projections + (everything ? mlp : 0)),
    pairs: times * pairs,
    mlp: everything ? times * mlp : 0,
  };
}

const total = ({each, pairs}) => each + pairs;

export function costs({models}, {model: chosen, length: at, everything}) {
  const model = models[chosen];
  const length = STOPS[at];
  const now = work(model, length, everything);
  return {
    model,
    length,
    everything,
    ...now,
    all: total(now),
    share: now.pairs / total(now),
    twice: total(work(model, 2 * length, everything)) / total(now),
    ends: ENDS.map((end) => work(model, end, everything)),
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const place = ({everything}) => (everything ? "all layers" : "one attention layer");

export const sentence = (m) =>
  `${m.model.name}, ${place(m)}, ${whole(m.length)} tokens: ${amount(m.each, "FLOP")} for each token by itself, ` +
  `${amount(m.pairs, "FLOP")} for pairs, ${formatPercent(m.share)} of it all. A text twice as long takes ${m.twice.toFixed(2)} times as much.`;

const BOX = {left: 76, right: 548, top: 14, bottom: 250, height: 282, width: 560};
const {log10} = Math;

function scales({ends}) {
  const low = Math.min(ends[0].each, ends[0].pairs);
  const high = Math.max(ends[1].each, ends[1].pairs);
  return {
    x: scaleLinear(ENDS.map(log10), [BOX.left, BOX.right]),
    y: scaleLinear([log10(low) - 0.2, log10(high) + 0.2], [BOX.bottom, BOX.top]),
  };
}

function decades(y) {
  const [low, high] = y.domain();
  return Array.from({length: 30}, (_, i) => i).filter(
    (power) => power % 2 === 1 && power > low && power < high,
  );
}

function plot(m, widget) {
  const {x, y} = scales(m);
  const across = x(log10(m.length));
  const put = (event) => {
    const [px] = pointer(event, event.currentTarget);
    const wanted = x.invert(px);
    const near = STOPS.map((tokens) => Math.abs(log10(tokens) - wanted));
    widget.set({length: near.indexOf(Math.min(...near))});
  };
  const {move, hold} = dragBy(".now", put);
  const through = (name) =>
    line(
      (_, i) => x(log10(ENDS[i])),
      (end) => y(log10(end[name])),
    )(m.ends);
  const dot = (name) =>
    svg`<circle class=${name} r="7" cx=${across} cy=${y(log10(m[name]))}></circle>`;
  return html`<svg viewBox="0 0 ${BOX.width} ${BOX.height}" aria-hidden="true" @touchstart=${hold} @pointerdown=${move} @pointermove=${move} @click=${put}>
    <rect class="ground" x=${BOX.left} y=${BOX.top} width=${BOX.right - BOX.left} height=${BOX.bottom - BOX.top}></rect>
    ${decades(y).map(
      (
        power,
      ) => svg`<line class="tick" x1=${BOX.left} x2=${BOX.right} y1=${y(power)} y2=${y(power)}></line>
      <text class="tick" x=${BOX.left - 8} y=${y(power) + 5}>${tick(power)}</text>`,
    )}
    ${TICKS.map((tokens) => svg`<text class="length" x=${x(log10(tokens))} y=${BOX.bottom + 22}>${whole(tokens)}</text>`)}
    <path class="each" d=${through("each")}></path><path class="pairs" d=${through("pairs")}></path>
    <g class="now"><line x1=${across} x2=${across} y1=${BOX.top} y2=${BOX.bottom}></line>
      <rect class="grip" x=${across - 22} y=${BOX.top} width="44" height=${BOX.bottom - BOX.top}></rect>${dot("each")}${dot("pairs")}</g></svg>`;
}

function shares(m) {
  const parts = [
    ["each", m.each - m.mlp],
    ["mlp", m.mlp],
    ["pairs", m.pairs],
  ].filter(([, flops]) => flops > 0);
  return html`<div class="parts" aria-hidden="true">${parts.map(([name, flops]) => html`<span class=${name} style="flex-grow:${(flops / m.all).toFixed(4)}"></span>`)}</div>`;
}

const view = (
  m,
  widget,
) => html`<dl class="facts"><div><dt>FLOPs of the text</dt><dd>${amount(m.all, "")}</dd></div>
    <div><dt>Share of the pairs</dt><dd class="share-now">${formatPercent(m.share)}</dd></div>
    <div><dt>A text twice as long takes</dt><dd class="twice-now">${m.twice.toFixed(2)} ×</dd></div></dl>
  ${plot(m, widget)}${shares(m)}
  <p class="legend"><span class="each">each token: four matrices</span>
    ${m.everything ? html`<span class="mlp">and MLP</span> ` : ""}<span class="pairs">pairs: scores and mix</span></p>
  ${widget.sentence({hidden: true})}`;

/** data: {models: as in course/page/costs.py, chosen: name of the first} */
export const costCurves = defineWidget({
  name: "cost-curves",
  label: "Arithmetic along the length of a text",
  key: "cost",
  fields: ({models, chosen}) => ({
    model: integer(
      models.findIndex(({name}) => name === chosen),
      {max: models.length - 1},
    ),
    everything: flag(false),
    length: stop(1024, STOPS),
  }),
  controls: ({data}) => [
    [
      menu(
        "model",
        "Model",
        data.models.map(({name}) => name),
      ),
      reset,
    ],
    [choice("everything", "Count", ["one attention layer", "all layers, with MLPs"])],
    [
      steps("length", "Tokens", STOPS.map(whole), {
        ticks: TICKS.map((tokens) => STOPS.indexOf(tokens)),
      }),
    ],
  ],
  model: costs,
  sentence,
  view,
  challenges: {
    even: ({model, everything, share}) =>
      !everything && model.name === "Llama 2 7B" && Math.abs(share - 0.5) < 0.01,
    "even-in-all": ({everything, share}) => everything && Math.abs(share - 0.5) < 0.02,
  },
});
