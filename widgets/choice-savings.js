// One more token in a layer: what it costs to look at everything, and to choose first, along the length of a text.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {reset, steps} from "./lib/controls.js";
import {amount, doublings, stop, whole} from "./lib/costs.js";
import {defineWidget} from "./lib/define-widget.js";
import {filled} from "./lib/shares.js";

// ---- Model ---------------------------------------------------------------------------------

const ascending = (a, b) => a - b;
export const LENGTHS = [...doublings(8, 20, 4), 2304, 128000].sort(ascending);
const TICKS = [256, 2048, 128000];
const MARKS = [256, 2048, 16384, 128000];

/** The scores' work in cheap scores, bytes that are fetched and bytes that stay: [everything, with a choice]. */
export function costs({heads, numbers, bytes, cheapHeads, short, shortBytes, kept}, length) {
  const full = {work: (heads * numbers) / (cheapHeads * short), fetched: numbers * bytes};
  const cheap = {work: 1, fetched: short * shortBytes};
  const few = Math.min(length, kept);
  const both = (part) => [length * full[part], length * cheap[part] + few * full[part]];
  return {
    work: both("work"),
    fetched: both("fetched"),
    room: [length * full.fetched, length * (full.fetched + cheap.fetched)],
  };
}

/** How many times less each is with a choice; below 1 it is more. */
const saved = (data, length) =>
  Object.fromEntries(
    Object.entries(costs(data, length)).map(([part, [all, choice]]) => [part, all / choice]),
  );

export function savings(data, {length: at}) {
  const length = LENGTHS[at];
  return {
    length,
    kept: data.kept,
    costs: costs(data, length),
    saved: saved(data, length),
    along: LENGTHS.map((tokens) => ({tokens, ...saved(data, tokens)})),
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const bytesOf = (x) => amount(x, "B");
const PARTS = [
  {part: "work", name: "Work", unit: "in cheap scores", told: whole},
  {part: "fetched", name: "Fetching", unit: "in bytes", told: bytesOf},
  {part: "room", name: "Room", unit: "in bytes", told: bytesOf},
];

const compared = (times) =>
  times > 1.005
    ? `${times.toFixed(1)} times less`
    : times < 0.995
      ? `${(1 / times).toFixed(2)} times as much`
      : "the same";

export const sentence = ({length, kept, costs: found, saved: times}) =>
  `A text of ${whole(length)} tokens, everything against ${whole(kept)} that are chosen. ` +
  PARTS.map(
    ({part, name, told}) =>
      `${name}: ${found[part].map(told).join(" and ")}${part === "work" ? " cheap scores" : ""}, with the choice ${compared(times[part])}.`,
  ).join(" ");

const bar = (name, className, share, text) => html`<span class="name">${name}</span>
  <span class="bar ${className}"><span style=${filled(share)}></span></span><span class="told">${text}</span>`;

const group =
  (m) =>
  ({part, name, unit, told}) => {
    const [all, choice] = m.costs[part];
    const most = Math.max(all, choice);
    return html`<section class=${part}><p><b>${name}</b> <span>${unit}</span><strong>${compared(m.saved[part])}</strong></p>
    <div>${bar("everything", "all", all / most, told(all))}${bar("with a choice", "chosen", choice / most, told(choice))}</div></section>`;
  };

const BOX = {left: 34, right: 540, top: 12, bottom: 168, height: 200, width: 560};
const {log10} = Math;

function plot({length, along}) {
  const x = scaleLinear([along[0].tokens, along[along.length - 1].tokens].map(log10), [
    BOX.left,
    BOX.right,
  ]);
  const y = scaleLinear([0.75, 10].map(log10), [BOX.bottom, BOX.top]);
  const now = along.find(({tokens}) => tokens === length);
  const through = (part) =>
    line(
      (one) => x(log10(one.tokens)),
      (one) => y(log10(one[part])),
    )(along);
  const dot = (part) =>
    svg`<circle class=${part} r="7" cx=${x(log10(length))} cy=${y(log10(now[part]))}></circle>`;
  return html`<p class="legend" aria-hidden="true"><span>How many times less it is with a
    choice:</span><span class="work">work and fetching</span><span class="room">room</span></p>
    <svg viewBox="0 0 ${BOX.width} ${BOX.height}" aria-hidden="true">
    ${[1, 3, 9].map(
      (
        times,
      ) => svg`<line class=${times === 3 ? "" : "mark"} x1=${BOX.left} x2=${BOX.right} y1=${y(log10(times))} y2=${y(log10(times))}></line>
      <text class="times" x=${BOX.left - 8} y=${y(log10(times)) + 5}>${times}</text>`,
    )}
    ${MARKS.map((tokens) => svg`<text x=${x(log10(tokens))} y=${BOX.bottom + 22}>${whole(tokens)}</text>`)}
    <path class="work" d=${through("work")}></path><path class="room dashed" d=${through("room")}></path>
    <line class="now" x1=${x(log10(length))} x2=${x(log10(length))} y1=${BOX.top} y2=${BOX.bottom}></line>
    ${dot("work")}${dot("room")}</svg>`;
}

const view = (m, widget) => html`<p class="length">A text of <b>${whole(m.length)}</b> tokens</p>
  <div class="groups" aria-hidden="true">${PARTS.map(group(m))}</div>
  ${plot(m)}
  ${widget.sentence({hidden: true})}`;

/** data: sizes of one layer: heads, numbers kept of a token and their bytes; the same of the cheap score; tokens kept. */
export const choiceSavings = defineWidget({
  name: "choice-savings",
  label: "What a choice saves along a text",
  key: "savings",
  fields: () => ({length: stop(128000, LENGTHS)}),
  controls: () => [
    [
      steps("length", "Tokens", LENGTHS.map(whole), {
        ticks: TICKS.map((tokens) => LENGTHS.indexOf(tokens)),
      }),
      reset,
    ],
  ],
  model: savings,
  sentence,
  view,
  challenges: {
    even: ({saved: {work}}) => work === 1,
    most: ({saved: {work}}) => work > 8.5,
  },
});
