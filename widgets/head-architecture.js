// A multi-head layer step by step: the shape of every tensor, with as many heads as the reader asks.

import {html} from "../assets/vendor/lit.js";
import {menu, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";

// ---- Model ---------------------------------------------------------------------------------

const HEADS = [1, 2, 4, 8, 16];
const SHARING = ["each head its own", "pairs of heads share", "all heads share"];
const STEPS = ["Input", "Project", "Split", "Attend", "Merge", "Combine"];

const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

/** Every size in a layer of `width` with `heads` heads; sharing: 0 MHA, 1 GQA in pairs, 2 MQA. */
export function architecture({batch, length, width, heads, sharing, step}) {
  const [size, keyHeads] = [width / heads, [heads, Math.max(1, heads / 2), 1][sharing]];
  const keyWidth = keyHeads * size;
  const [whole, narrow] = [[batch, length, width], [batch, length, keyWidth]];
  const [split, few] = [[batch, heads, length, size], [batch, keyHeads, length, size]];
  const parameters = {project: (width + 1) * (width + 2 * keyWidth), output: (width + 1) * width};
  return {
    step, batch, length, width, heads, size, keyHeads, keyWidth, parameters,
    total: parameters.project + parameters.output, kept: 2 * keyWidth,
    shapes: {
      x: whole, W_Q: [width, width], W_K: [width, keyWidth], W_V: [width, keyWidth],
      Q: whole, K: narrow, V: narrow, "Q split": split, "K split": few, "V split": few,
      weights: [batch, heads, length, length], outputs: split, merged: whole, W_O: [width, width], output: whole
    }
  };
}

// Not toLocaleString: its first call loads all languages, for a tenth of a second on a phone.
const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const shape = (sizes) => `(${sizes.join(", ")})`;

/** What happens in the chosen step, as code, and as a count. */
export function describe(m) {
  const {step, batch, length, width, heads, size, keyHeads, keyWidth, parameters, shapes} = m;
  const whole = keyHeads < heads ? ` instead of ${2 * width}` : "";
  return [
    {says: "The tokens come in: one row of numbers for each.",
      code: `x.shape == ${shape(shapes.x)}`,
      count: `${batch} texts × ${length} tokens × ${width} numbers = ${count(product(shapes.x))} numbers.`},
    {says: "One matrix product makes the queries, keys and values of all heads together.",
      code: `qkv = x @ W_QKV + b    # W_QKV: ${width} × ${width + 2 * keyWidth}`,
      count: `W_Q, W_K and W_V lie side by side: ${width} × ${width + 2 * keyWidth} weights `
        + `and ${width + 2 * keyWidth} biases, ${count(parameters.project)} parameters.`},
    {says: "Each row of Q, K and V is cut into pieces, one for each head. Nothing is computed.",
      code: `q = q.view(${batch}, ${length}, ${heads}, ${size}).transpose(1, 2)`,
      count: `${width} = ${heads} × ${size}. Keys and values: ${keyWidth} = ${keyHeads} × ${size}. `
        + `A decoder keeps ${m.kept} numbers a token${whole}.`},
    {says: `${heads === 1 ? "The one head" : "Each head"} attends by itself: compare, scale, softmax, mix.`,
      code: `o = softmax(q @ k.mT / √${size}) @ v`,
      count: `${heads} maps of ${length} × ${length} for each text: ${count(product(shapes.weights))} weights in all.`},
    {says: "The heads' outputs are laid side by side again.",
      code: `o = o.transpose(1, 2).reshape${shape(shapes.merged)}`,
      count: `${heads} × ${size} = ${width}. Still nothing combines one head's numbers with another's.`},
    {says: "W_O combines what the heads found: one more product, back to the width of the input.",
      code: `y = o @ W_O + b    # W_O: ${width} × ${width}`,
      count: `${count(parameters.output)} parameters more: ${count(m.total)} in the layer.`}
  ][step];
}

export function summarize(m) {
  const {says, count: counted} = describe(m);
  const keys = m.keyHeads === m.heads ? "" : `, ${m.keyHeads} for keys and values`;
  return `Step ${m.step} of 5, ${STEPS[m.step]}. ${says} ${counted} Heads: ${m.heads} of size ${m.size}${keys}.`;
}

// ---- View ----------------------------------------------------------------------------------

const ROLES = ["q", "k", "v"];

const named = (name, sizes) => html`<p class="named"><b>${name}</b> <span class="shape">${shape(sizes)}</span></p>`;
const square = () => html`<i class="square" aria-hidden="true"></i>`;
const bar = () => html`<i class="bar" aria-hidden="true"></i>`;
const range = (n) => Array.from({length: n}, (_, i) => i);

// On a phone a sixteenth of a bar has no room for its number.
const bands = (pieces, heads) => html`<div class="bands" aria-hidden="true">
  ${range(pieces).map((i) => html`<i>${heads <= 8 ? i + 1 : ""}</i>`)}</div>`;

const trio = (make) => html`<div class="trio">
  ${["Q", "K", "V"].map((name, i) => html`<div class="role ${ROLES[i]}">${make(name)}</div>`)}</div>`;

const headCard = (h, shared) => html`<li><b>${h}</b><i class="map"></i>
  <span class="q">Q${h}</span><span class="k">K${shared}</span><span class="v">V${shared}</span></li>`;

const headCards = ({heads, keyHeads}) => html`<ol class="heads" aria-hidden="true">
  ${range(heads).map((h) => headCard(h + 1, Math.floor((h * keyHeads) / heads) + 1))}</ol>`;

const stages = ({shapes, heads, keyHeads}) => [
  html`${bar()}${named("x", shapes.x)}`,
  trio((name) => html`${square()}${named(html`W<sub>${name}</sub>`, shapes[`W_${name}`])}
    ${bar()}${named(name, shapes[name])}`),
  trio((name) => html`${bands(name === "Q" ? heads : keyHeads, heads)}
    ${named(name, shapes[`${name} split`])}`),
  html`${headCards({heads, keyHeads})}${named("weights", shapes.weights)}${named("outputs", shapes.outputs)}`,
  html`${bands(heads, heads)}${named("merged", shapes.merged)}`,
  html`${square()}${named(html`W<sub>O</sub>`, shapes.W_O)}${bar()}${named("output", shapes.output)}`
];

function view(m, widget) {
  const {says, code, count: counted} = describe(m);
  return html`<p class="says">${says}</p><p class="code">${code}</p><p class="count">${counted}</p>
    <div class="stages" style="--heads:${m.heads};--part:${m.keyWidth / m.width}">
    ${stages(m).map((inner, step) => html`
      <section class=${step === m.step ? "stage current" : "stage"} @click=${() => widget.set({step})}>
        <p class="name">${step} ${STEPS[step]}</p><div>${inner}</div></section>`)}</div>
    ${widget.sentence({hidden: true})}`;
}

export const headArchitecture = defineWidget({
  name: "head-architecture",
  label: "A multi-head layer step by step",
  key: "layer",
  fields: ({heads}) => ({
    step: integer(0, {max: STEPS.length - 1}),
    heads: option(heads, HEADS),
    sharing: integer(0, {max: SHARING.length - 1})
  }),
  controls: () => [
    [steps("step", "Step", STEPS)],
    [menu("heads", "Heads", HEADS), menu("sharing", "Keys and values", SHARING)]
  ],
  model: (sizes, state) => architecture({...sizes, ...state}),
  sentence: summarize,
  view,
  challenges: {
    "small-cache": (m) => m.kept <= 8,
    "quarter-less": (m) => m.total === 0.75 * 4 * (m.width + 1) * m.width
  }
});
