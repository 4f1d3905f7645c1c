// What holds a model back that writes: arithmetic, or memory. Two marks under a machine's roof.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {choice, menu, reset, slider, steps, unitsOf} from "./lib/controls.js";
import {amount, cacheBytes, duration, step, stop, tick, whole} from "./lib/costs.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";

// ---- Model ---------------------------------------------------------------------------------

// The bill's 1,000 and 2,000 tokens are among them.
export const LENGTHS = Array.from({length: 11}, (_, i) => 125 * 2 ** i);
const MOST_TEXTS = 512;
const BITS = [16, 8];

/** One kind of work on a machine: the time that arithmetic takes alone, and memory alone. */
function timed({flops, bytes}, machine) {
  const [arithmetic, memory] = [flops / machine.flops, bytes / machine.bandwidth];
  const seconds = Math.max(arithmetic, memory);
  return {
    flops,
    bytes,
    intensity: flops / bytes,
    arithmetic,
    memory,
    seconds,
    rate: flops / seconds,
  };
}

/**
 * A token for each text, with its two kinds of work. Counted as moved are what the page's bill counts:
 * the parameters, once for all texts, and each text's keys and values; not the texts' own vectors.
 */
export function roofline({models, machines}, state) {
  const [model, machine] = [models[state.model], machines[state.machine]];
  const [length, batch, size] = [LENGTHS[state.length], state.batch, state.bits / 8];
  const one = step(model, {queries: 1, keys: length, batch: 1}, size);
  const numbers = one.matrices.flops / 2; // a multiplication and an addition each
  const caches = (texts) => cacheBytes(model, length, texts, size);
  const work = (texts) =>
    Object.entries({matrices: numbers * size, attention: caches(texts)}).map(([name, bytes]) => ({
      name,
      ...timed({flops: texts * one[name].flops, bytes}, machine),
    }));
  const doCachesLead = (texts) => {
    const [matrices, attention] = work(texts);
    return attention.seconds > matrices.seconds;
  };
  const parts = work(batch);
  const seconds = parts.reduce((sum, part) => sum + part.seconds, 0);
  const room = machine.memory - size * model.parameters;
  return {
    model,
    machine,
    length,
    batch,
    parts,
    seconds,
    kept: size * model.parameters + caches(batch),
    fit: machine.memory === 0 ? null : Math.max(0, Math.floor(room / caches(1))), // null: unknown
    ridge: machine.flops / machine.bandwidth,
    tokens: batch / seconds,
    turns: doCachesLead(batch) && !doCachesLead(batch - 1), // with a text less they take no longer
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const isHeldByMemory = ({memory, arithmetic}) => memory > arithmetic;
const isTooMuch = ({fit, batch}) => fit !== null && batch > fit;
const short = (x) => (x < 9.995 ? x.toFixed(2) : x < 999.5 ? x.toFixed(1) : whole(x));
/** Without the zeros of a whole number: 1, 295.3. */
const brief = (x) => short(x).replace(/\.0+$/, "");

const CALLED = {matrices: "parameters", attention: "cache"};
const told = (part) =>
  `${CALLED[part.name]} ${brief(part.intensity)} FLOP a byte, ${duration(part.seconds)}, held back by ${isHeldByMemory(part) ? "memory" : "arithmetic"}`;

/** What is kept, beside the machine's memory; of the CPU core no size is known. */
function beside(m) {
  const {memory} = m.machine;
  if (memory === 0) return "";
  return `${isTooMuch(m) ? ": more than" : " of"} the machine's ${amount(memory, "B")}`;
}

const inAll = (batch) => (batch === 1 ? "" : ", all texts together");
const perSecond = (tokens) => (tokens < 99_999.5 ? whole(tokens) : amount(tokens, ""));
const textsOf = unitsOf("text");

/** The ring's height in words: on the slope, or at the flat top. */
const height = ({parts: [matrices], machine, batch}) =>
  isHeldByMemory(matrices)
    ? `on the slope, ${amount(matrices.rate, "FLOP")} a second of ${amount(machine.flops, "FLOP")}`
    : `the flat top is reached, with ${textsOf(batch)}`;

export function sentence(m) {
  const {model, machine, length, batch, parts, seconds, tokens, kept} = m;
  return (
    `${model.name} on ${machine.name} writes one token after ${whole(length)} tokens, ${textsOf(batch)}. ` +
    `${parts.map(told).join("; ")}. Parameters: ${height(m)}. ` +
    `At least ${duration(seconds)} in all, at most ${perSecond(tokens)} tokens a second${inAll(batch)}. ` +
    `Parameters and caches take ${amount(kept, "B")}${beside(m)}.`
  );
}

const BOX = {left: 76, right: 548, top: 32, bottom: 260, height: 314, width: 560};
const LOWEST = -0.6; // powers of ten, FLOP a byte
const HIGHEST = 3.4;
const {log10} = Math;

const spot = {attention: "diamond", matrices: "disc"};
/** A mark of its own shape for each kind, so that colour isn't needed. */
const mark = ({name, x, y}, isOver) =>
  name === "matrices"
    ? svg`<circle class=${isOver ? "matrices over" : "matrices"} r="11" cx=${x} cy=${y}></circle>`
    : svg`<path class="attention" d="M${x},${y - 7}l7,7l-7,7l-7,-7z"></path>`;

/** A mark's name, where no roof runs: of parameters below it, of the cache above it and to the left. */
const label = ({name, x, y}) => {
  if (name === "attention")
    return svg`<text class="kind" text-anchor="end" x=${x + 8} y=${y - 18}>${CALLED[name]}</text>`;
  const atEdge = x > BOX.right - 115; // phones have larger text
  return svg`<text class="kind" text-anchor=${atEdge ? "end" : "start"} x=${atEdge ? BOX.right + 8 : x + 12} y=${y + 34}>${CALLED[name]}</text>`;
};

function plot(m) {
  const {model, parts, machine, ridge} = m;
  const x = scaleLinear([LOWEST, HIGHEST], [BOX.left, BOX.right]);
  const top = log10(machine.flops);
  const y = scaleLinear([top - 4, top + 0.4], [BOX.bottom, BOX.top]);
  const roof = [
    [LOWEST, log10(machine.bandwidth) + LOWEST],
    [log10(ridge), top],
    [HIGHEST, top],
  ];
  const inside = (power) => Math.max(LOWEST, Math.min(HIGHEST, power));
  const across = x(log10(ridge));
  const marks = parts.map((part) => ({
    ...part,
    x: x(inside(log10(part.intensity))),
    y: y(Math.max(top - 4, log10(part.rate))),
  }));
  const powers = Array.from({length: 40}, (_, i) => i).filter(
    (power) => power > top - 4 && power < top + 0.4,
  );
  return html`<svg viewBox="0 0 ${BOX.width} ${BOX.height}" aria-hidden="true">
    ${powers.map(
      (
        power,
      ) => svg`<line class="tick" x1=${BOX.left} x2=${BOX.right} y1=${y(power)} y2=${y(power)}></line>
      <text class="tick" x=${BOX.left - 8} y=${y(power) + 5}>${tick(power)}</text>`,
    )}
    ${[0, 1, 2, 3].map((power) => svg`<text class="below" x=${x(power)} y=${BOX.bottom + 22}>${whole(10 ** power)}</text>`)}
    <text class="below name" x=${(BOX.left + BOX.right) / 2} y=${BOX.bottom + 47}>FLOP for each byte</text>
    <text class="name" x="4" y="18">FLOP/s</text>
    <text class="name" text-anchor="end" x=${BOX.right} y="18">${model.name} writes</text>
    <line class="ridge" x1=${across} x2=${across} y1=${y(top)} y2=${BOX.bottom}></line>
    <text class="ridge" x=${across + 7} y=${BOX.bottom - 8}>ridge ${brief(ridge)}</text>
    <path class="roof" d=${line(
      ([at]) => x(at),
      ([, rate]) => y(rate),
    )(roof)}></path>
    ${marks.map((spot) => mark(spot, isTooMuch(m)))}
    ${marks.map(label)}</svg>`;
}

const view = (m) => html`${plot(m)}
  <table class="held" aria-label="What holds each kind of work back"><thead><tr><th scope="col">work with</th>
    <th scope="col">FLOP a byte</th><th scope="col">arithmetic</th><th scope="col">memory</th></tr></thead>
  <tbody>${m.parts.map(
    (
      part,
    ) => html`<tr><th scope="row"><span class=${spot[part.name]}></span>${CALLED[part.name]}</th><td>${brief(part.intensity)}</td>
    <td><span class=${isHeldByMemory(part) ? "" : "longer"}>${duration(part.arithmetic)}</span></td>
    <td><span class=${isHeldByMemory(part) ? "longer" : ""}>${duration(part.memory)}</span></td></tr>`,
  )}</tbody></table>
  <p class="height"><span class="disc"></span>${
    isHeldByMemory(m.parts[0])
      ? html`On the slope: <b>${amount(m.parts[0].rate, "FLOP")}</b> a second, of the machine's ${amount(m.machine.flops, "FLOP")}.`
      : html`<b>The flat top is reached, with ${textsOf(m.batch)}.</b> More texts lift the ring no higher.`
  }</p>
  <p class="in-all">At least <b>${duration(m.seconds)}</b> in all. At most
    <b>${perSecond(m.tokens)}</b> tokens a second${inAll(m.batch)}.</p>
  <p class=${isTooMuch(m) ? "fits over" : "fits"}>Parameters and caches take <b>${amount(m.kept, "B")}</b>${beside(m)}.</p>`;

const more = (
  widget,
) => html`<details><summary>Another machine, model or length</summary><div class="controls">
  ${menu(
    "machine",
    "Machine",
    widget.data.machines.map(({name}) => name),
  )(widget)}${menu(
    "model",
    "Model",
    widget.data.models.map(({name}) => name),
  )(widget)}
  ${steps("length", "Tokens", LENGTHS.map(whole), {ticks: [0, 3, 7]})(widget)}
  ${choice(
    "bits",
    "Bits of a number",
    BITS.map((bits) => `${bits} bits`),
  )(widget)}</div></details>`;

/** data: {models, machines: as in course/page/costs.py; chosen: name of the first model} */
export const rooflineExplorer = defineWidget({
  name: "roofline",
  label: "Roofline explorer",
  fields: ({models, machines, chosen}) => ({
    machine: integer(1, {max: machines.length - 1}),
    length: stop(1000, LENGTHS),
    batch: integer(1, {min: 1, max: MOST_TEXTS}),
    model: integer(
      models.findIndex(({name}) => name === chosen),
      {max: models.length - 1},
    ),
    bits: option(16, BITS),
  }),
  controls: () => [[slider("batch", "Texts", {unit: textsOf})], [more, reset]],
  model: roofline,
  sentence,
  view: (m, widget) => html`${view(m)}${widget.sentence({hidden: true})}`,
  challenges: {
    "past-the-ridge": ({parts: [matrices]}) => !isHeldByMemory(matrices),
    full: ({batch, fit}) => batch === fit,
    "cache-first": ({turns}) => turns,
    "lift-attention": ({parts: [, attention]}) => attention.intensity > 3,
  },
});
