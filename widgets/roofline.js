// What holds a step of a model back: arithmetic, or reading memory. Two dots under a machine's roof.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, svg} from "../assets/vendor/lit.js";
import {choice, menu, reset, steps} from "./lib/controls.js";
import {amount, cacheBytes, doublings, duration, step, stop, tick, whole} from "./lib/costs.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";

// ---- Model ---------------------------------------------------------------------------------

export const LENGTHS = doublings(7, 17);
export const BATCHES = doublings(0, 10);
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

/** A pass that reads whole texts, or writes a token for each, with its two kinds of work. */
export function roofline({models, machines}, state) {
  const [model, machine] = [models[state.model], machines[state.machine]];
  const [length, batch] = [LENGTHS[state.length], BATCHES[state.batch]];
  const found = step(
    model,
    {queries: state.writing ? 1 : length, keys: length, batch},
    state.bits / 8,
  );
  const parts = ["matrices", "attention"].map((name) => ({name, ...timed(found[name], machine)}));
  const seconds = parts.reduce((sum, part) => sum + part.seconds, 0);
  return {
    model,
    machine,
    length,
    batch,
    writing: state.writing,
    parts,
    seconds,
    kept: (state.bits / 8) * model.parameters + cacheBytes(model, length, batch, state.bits / 8),
    ridge: machine.flops / machine.bandwidth,
    tokens: (batch * (state.writing ? 1 : length)) / seconds,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const isHeldByMemory = ({memory, arithmetic}) => memory > arithmetic;
const short = (x) => (x < 9.995 ? x.toFixed(2) : x < 99.95 ? x.toFixed(1) : whole(x));

const CALLED = {matrices: "parameters", attention: "cache"};
const told = (part) =>
  `${CALLED[part.name]} ${short(part.intensity)} FLOP a byte, ${duration(part.seconds)}, held back by ${isHeldByMemory(part) ? "memory" : "arithmetic"}`;

/** What is kept, beside the machine's memory; of the CPU core no size is known. */
function beside({kept, machine: {memory}}) {
  if (memory === 0) return "";
  return `${kept > memory ? ": more than" : " of"} the machine's ${amount(memory, "B")}`;
}

const inAll = (batch) => (batch === 1 ? "" : ", all texts together");

export const sentence = ({model, machine, length, batch, writing, parts, seconds, tokens, kept}) =>
  `${model.name} on ${machine.name} ${writing ? "writes one token after" : "reads"} ${whole(length)} tokens, ${batch === 1 ? "1 text" : `${whole(batch)} texts`}. ` +
  `${parts.map(told).join("; ")}. At least ${duration(seconds)} in all, at most ${amount(tokens, "")} tokens a second${inAll(batch)}. ` +
  `Parameters and caches take ${amount(kept, "B")}${beside({kept, machine})}.`;

const BOX = {left: 76, right: 548, top: 32, bottom: 260, height: 314, width: 560};
const LOWEST = -0.6; // powers of ten, FLOP a byte
const HIGHEST = 4.6;
const {log10} = Math;

const spot = {attention: "diamond", matrices: "disc"};
/** A mark of its own shape for each kind, so that colour isn't needed. */
const mark = (name, x, y) =>
  name === "matrices"
    ? svg`<circle class="matrices" r="11" cx=${x} cy=${y}></circle>`
    : svg`<path class="attention" d="M${x},${y - 7}l7,7l-7,7l-7,-7z"></path>`;

/** A mark's name, where no roof runs: of parameters below it, of the cache above it and to the left. */
const label = ({name, x, y}) => {
  if (name === "attention")
    return svg`<text class="kind" text-anchor="end" x=${x + 8} y=${y - 18}>${CALLED[name]}</text>`;
  const atEdge = x > BOX.right - 115; // phones have larger text
  return svg`<text class="kind" text-anchor=${atEdge ? "end" : "start"} x=${x + (atEdge ? 8 : 12)} y=${y + 34}>${CALLED[name]}</text>`;
};

function plot({model, writing, parts, machine, ridge}) {
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
    ${[0, 1, 2, 3, 4].map((power) => svg`<text class="below" x=${x(power)} y=${BOX.bottom + 22}>${whole(10 ** power)}</text>`)}
    <text class="below name" x=${(BOX.left + BOX.right) / 2} y=${BOX.bottom + 47}>FLOP for each byte</text>
    <text class="name" x="4" y="18">FLOP/s</text>
    <text class="name" text-anchor="end" x=${BOX.right} y="18">${model.name} ${writing ? "writes" : "reads"}</text>
    <line class="ridge" x1=${across} x2=${across} y1=${y(top)} y2=${BOX.bottom}></line>
    <text class="ridge" x=${across + 7} y=${BOX.bottom - 8}>ridge ${short(ridge)}</text>
    <path class="roof" d=${line(
      ([at]) => x(at),
      ([, rate]) => y(rate),
    )(roof)}></path>
    ${marks.map((spot) => mark(spot.name, spot.x, spot.y))}
    ${marks.map(label)}</svg>`;
}

const view = (m) => html`${plot(m)}
  <table class="held" aria-label="What holds each kind of work back"><thead><tr><th scope="col">work with</th>
    <th scope="col">FLOP a byte</th><th scope="col">arithmetic</th><th scope="col">memory</th></tr></thead>
  <tbody>${m.parts.map(
    (
      part,
    ) => html`<tr><th scope="row"><span class=${spot[part.name]}></span>${CALLED[part.name]}</th><td>${short(part.intensity)}</td>
    <td><span class=${isHeldByMemory(part) ? "" : "longer"}>${duration(part.arithmetic)}</span></td>
    <td><span class=${isHeldByMemory(part) ? "longer" : ""}>${duration(part.memory)}</span></td></tr>`,
  )}</tbody></table>
  <p class="in-all">At least <b>${duration(m.seconds)}</b> in all. At most
    <b>${amount(m.tokens, "")}</b> tokens a second${inAll(m.batch)}.</p>
  <p class="fits">Parameters and caches take <b>${amount(m.kept, "B")}</b>${beside(m)}.</p>`;

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
  ${steps("length", "Tokens", LENGTHS.map(whole), {ticks: [0, 7]})(widget)}
  ${choice("writing", "The model", ["reads the text", "writes a token after it"])(widget)}${choice(
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
    writing: flag(true),
    length: stop(1024, LENGTHS),
    batch: stop(4, BATCHES),
    model: integer(
      models.findIndex(({name}) => name === chosen),
      {max: models.length - 1},
    ),
    bits: option(16, BITS),
  }),
  controls: () => [
    [steps("batch", "Texts", BATCHES.map(whole), {ticks: [0, 2, 4, 6, 8]})],
    [more, reset],
  ],
  model: roofline,
  sentence,
  view: (m, widget) => html`${view(m)}${widget.sentence({hidden: true})}`,
  challenges: {
    "past-the-ridge": ({writing, parts: [matrices]}) => writing && !isHeldByMemory(matrices),
    "cache-first": ({writing, parts: [matrices, attention]}) =>
      writing && attention.seconds > matrices.seconds,
    "lift-attention": ({writing, parts: [, attention]}) => writing && attention.intensity > 3,
  },
});
