// The two curves of a training: its loss, on an axis of powers, and how many answers are right.

import {scaleLinear} from "../../assets/vendor/d3.js";
import {html, nothing, svg} from "../../assets/vendor/lit.js";
import {ENOUGH, meanAt} from "./learned.js";

const PLOT = {width: 340, height: 132, left: 46, right: 332, top: 8, bottom: 106};
const DECADES = [0.01, 0.1, 1, 10];
const [LOWEST, HIGHEST] = [-2, 1]; // powers of ten
const height = (loss) => Math.max(LOWEST, Math.min(HIGHEST, Math.log10(loss)));
const PARTS = [
  {name: "losses", title: "Loss", range: [LOWEST, HIGHEST], of: height, ticks: DECADES.map((loss) => [Math.log10(loss), String(loss)])},
  {name: "shares", title: "Answers right", range: [0, 1], of: (share) => share, ticks: [0, 0.5, 1].map((share) => [share, `${100 * share}\u202f%`])}
];
const LENGTHS = [100, 200, 300, 400, 500, 700, 1000];

const paths = new WeakMap(); // of a list that grows, and with it the paths: {length, extent, raw, smooth}

/** The path of every step's number, and that of the mean of ten. */
function pathsOf(numbers, {of}, x, y, extent) {
  const known = paths.get(numbers);
  const made = known?.extent === extent ? known : {length: 0, extent, raw: "", smooth: ""};
  while (made.length < numbers.length) {
    const start = made.length ? "L" : "M";
    const step = (made.length += 1);
    const point = (number) => `${start}${x(step).toFixed(2)},${y(of(number)).toFixed(2)}`;
    made.raw += point(numbers[step - 1]);
    made.smooth += point(meanAt(numbers, step));
  }
  paths.set(numbers, made);
  return made;
}

function plot(part, {sides, step, last}, choose) {
  const extent = LENGTHS.find((length) => length >= last + 10) ?? 1000;
  const x = scaleLinear([0, extent], [PLOT.left, PLOT.right]);
  const y = scaleLinear(part.range, [PLOT.bottom, PLOT.top]);
  const press = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    choose(Math.max(0, Math.min(last, Math.round(x.invert((event.clientX - box.left) / box.width * PLOT.width)))));
  };
  const enough = part.name === "shares" ? svg`<line class="enough" x1=${PLOT.left} x2=${PLOT.right} y1=${y(ENOUGH)} y2=${y(ENOUGH)} />` : nothing;
  const curve = (side, i) => {
    const {raw, smooth} = pathsOf(side[part.name], part, x, y, extent);
    return svg`<path class=${i ? "raw other" : "raw"} d=${raw} /><path class=${i ? "mean other" : "mean"} d=${smooth} />`;
  };
  return html`<figure><figcaption>${part.title}</figcaption>
    <svg class="curve" viewBox="0 0 ${PLOT.width} ${PLOT.height}" aria-hidden="true" @click=${press}>
    ${part.ticks.map(([at, text]) => svg`<line class="tick" x1=${PLOT.left} x2=${PLOT.right} y1=${y(at)} y2=${y(at)} /><text x=${PLOT.left - 6} y=${y(at) + 4}>${text}</text>`)}
    ${[0, extent / 2, extent].map((at, i) => svg`<text class=${i === 2 ? "" : "step"} x=${x(at)} y=${PLOT.bottom + 18}>${at}</text>`)}
    ${enough}${sides.map(curve)}<line class="now" x1=${x(step)} x2=${x(step)} y1=${PLOT.top - 4} y2=${PLOT.bottom} /></svg></figure>`;
}

export const chart = (m, widget) => html`<div class="curves">${PARTS.map((part) => plot(part, m, (step) => widget.set({step})))}</div>`;
