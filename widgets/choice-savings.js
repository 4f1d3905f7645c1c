// One more token in a layer: what it costs to look at everything, and to choose first, along the length of a text.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {reset, steps} from "./lib/controls.js";
import {amount, doublings, stop, whole} from "./lib/costs.js";
import {defineWidget} from "./lib/define-widget.js";
import {filled} from "./lib/shares.js";

// ---- Model ---------------------------------------------------------------------------------

const ascending = (a, b) => a - b;
const DOUBLED = doublings(8, 20);
/** The slider's stops: each doubles the one before, but for the length that a pencil found, and the novel. */
export const LENGTHS = [...DOUBLED.filter((n) => n !== 2 ** 17), 2304, 128000].sort(ascending);
/** Where the curve is computed: between the stops, too. */
const ALONG = [...new Set([...doublings(8, 20, 4), ...LENGTHS])].sort(ascending);
const TICKS = [256, 2048, 128000];
const MARKS = [256, 2048, 16384, 131072];
const LONGEST = DOUBLED[DOUBLED.length - 1];
const MOST = 9;

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
    along: ALONG.map((tokens) => ({tokens, ...saved(data, tokens)})),
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
  `A text of ${whole(length)} tokens, everything against ${whole(Math.min(length, kept))} that are chosen. ` +
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

const BOX = {left: 34, right: 520, top: 24, bottom: 176, height: 224, width: 560};
const {log2} = Math;

function plot({length, along}) {
  const x = scaleLinear([DOUBLED[0], LONGEST].map(log2), [BOX.left, BOX.right]);
  const y = scaleLinear([0.6, MOST].map(log2), [BOX.bottom, BOX.top]);
  const now = along.find(({tokens}) => tokens === length);
  const across = (times, className) =>
    svg`<line class=${className} x1=${BOX.left} x2=${BOX.right} y1=${y(log2(times))} y2=${y(log2(times))}></line>`;
  const curve = line(
    (one) => x(log2(one.tokens)),
    (one) => y(log2(one.work)),
  )(along);
  return html`<p class="legend" aria-hidden="true">Work and fetching: how many times less with a choice</p>
    <svg viewBox="0 0 ${BOX.width} ${BOX.height}" aria-hidden="true">
    <rect class="dearer" x=${BOX.left} y=${y(0)} width=${BOX.right - BOX.left} height=${BOX.bottom - y(0)}></rect>
    ${[1, 2, 4, 8].map(
      (times) =>
        svg`${across(times, "")}<text class="times" x=${BOX.left - 8} y=${y(log2(times)) + 5}>${times}</text>`,
    )}
    ${across(MOST, "mark")}<text class="most" x=${BOX.left + 6} y=${y(log2(MOST)) - 6}>${MOST}, never reached</text>
    <text class="most" x=${x(12)} y=${(y(0) + BOX.bottom) / 2 + 5}>with a choice more</text>
    ${DOUBLED.map((tokens) => svg`<line x1=${x(log2(tokens))} x2=${x(log2(tokens))} y1=${BOX.bottom} y2=${BOX.bottom + 5}></line>`)}
    ${MARKS.map((tokens) => svg`<text x=${x(log2(tokens))} y=${BOX.bottom + 22}>${whole(tokens)}</text>`)}
    <text class="end" x=${BOX.width} y=${BOX.bottom + 22}>${whole(LONGEST)}</text>
    <text x=${(BOX.left + BOX.right) / 2} y=${BOX.bottom + 44}>tokens: each mark doubles the text</text>
    <path d=${curve}></path>
    <line class="now" x1=${x(log2(length))} x2=${x(log2(length))} y1=${BOX.top} y2=${BOX.bottom}></line>
    <circle r="7" cx=${x(log2(length))} cy=${y(log2(now.work))}></circle></svg>`;
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
  },
});
