// The two curves of a training: its loss, on an axis of powers, and how many answers are right.

import {scaleLinear} from "../../assets/vendor/d3.js";
import {html, nothing, svg} from "../../assets/vendor/lit.js";
import {ENOUGH, meanAt} from "./reading.js";
import {act} from "./session.js";

const [LEFT, TOP] = [46, 8];
const sizeOf = ({change, isWide}) => ({
  width: isWide && !change ? 240 : 340,
  bottom: change ? 74 : 98,
}); // what is beside it needs room
const [LOWEST, HIGHEST] = [-2, 1]; // powers of ten
const height = (loss) => Math.max(LOWEST, Math.min(HIGHEST, Math.log10(loss)));
const PARTS = [
  {
    name: "losses",
    title: "Loss",
    range: [LOWEST, HIGHEST],
    of: height,
    ticks: [-2, -1, 0, 1].map((power) => [power, String(10 ** power)]),
  },
  {
    name: "shares",
    title: "Answers right",
    range: [0, 1],
    of: (share) => share,
    ticks: [0, 0.5, 1].map((share) => [share, `${100 * share}\u202f%`]),
  },
];
const LENGTHS = [100, 200, 300, 400, 500, 700, 1000];

const paths = new WeakMap(); // of a list that grows, and with it the paths: {length, extent, raw, smooth}

/** The path of every step's number, and that of the mean of ten. */
function pathsOf(numbers, {of}, x, y) {
  const extent = String([...x.domain(), ...x.range(), ...y.range()]);
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

function plot(part, m, choose) {
  const {sides, step, last, former} = m;
  const {width, bottom} = sizeOf(m);
  const extent =
    LENGTHS.find((length) => length >= Math.max(last, former ? former.losses.length : 0) + 10) ??
    1000;
  const x = scaleLinear([0, extent], [LEFT, width - 8]);
  const y = scaleLinear(part.range, [bottom, TOP]);
  const press = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    choose(
      Math.max(
        0,
        Math.min(last, Math.round(x.invert(((event.clientX - box.left) / box.width) * width))),
      ),
    );
  };
  const enough =
    part.name === "shares"
      ? svg`<line class="enough" x1=${LEFT} x2=${width - 8} y1=${y(ENOUGH)} y2=${y(ENOUGH)} />`
      : nothing;
  const curve = (side, i) => {
    const {raw, smooth} = pathsOf(side[part.name], part, x, y);
    return svg`<path class=${i ? "raw other" : "raw"} d=${raw} /><path class=${i ? "mean other" : "mean"} d=${smooth} />
      ${side.begins.map(([at]) => svg`<path class=${i ? "begin other" : "begin"} d="M${x(at)},${TOP - 4}V${bottom}" />`)}`;
  };
  const before = former
    ? svg`<path class="former" d=${pathsOf(former[part.name], part, x, y).smooth} />`
    : nothing;
  return html`<figure><figcaption>${part.title}</figcaption>
    <svg class="curve" viewBox="0 0 ${width} ${bottom + 26}" aria-hidden="true" @click=${press}>
    ${part.ticks.map(([at, text]) => svg`<line class="tick" x1=${LEFT} x2=${width - 8} y1=${y(at)} y2=${y(at)} /><text x=${LEFT - 6} y=${y(at) + 4}>${text}</text>`)}
    ${[0, extent / 2, extent].map((at, i) => svg`<text class=${i === 2 ? "" : "step"} x=${x(at)} y=${bottom + 18}>${at}</text>`)}
    ${enough}${before}<svg width=${x(last) + 1}>${sides.map(curve)}</svg><line class="now" x1=${x(step)} x2=${x(step)} y1=${TOP - 4} y2=${bottom} /></svg></figure>`;
}

export const chart = (
  m,
  widget,
) => html`<div class="curves">${PARTS.map((part) => plot(part, m, (step) => act(widget, "curves", {step})))}
  ${
    m.former
      ? html`<p class="note">dotted: the training before
    (${m.former.says})</p>`
      : nothing
  }</div>`;

/** Where the patterns of a few heads begin, the first of them first, and ways back to there. */
export function begins({change, sides: [{begins: all, heads}]}, widget) {
  if (change || !all.length || heads.length > 4) return nothing;
  return html`<p class="begins">Pattern begins: ${all.map(([step, name]) => html`<button type="button" @click=${() => act(widget, "curves", {step, off: []})}>${name}, step ${step}</button>`)}</p>`;
}
