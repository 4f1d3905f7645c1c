// A multi-head layer step by step: the shape of every tensor, with as many heads as the reader asks.

import {html} from "../assets/vendor/lit.js";
import {menu, steps} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {range} from "./lib/lists.js";
import {count} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

const HEADS = [1, 2, 4, 8, 16];
const STEPS = ["Input", "Project", "Split", "Attend", "Merge", "Combine"];

const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

/** Every size in a layer of `width` with `heads` heads. */
export function architecture({batch, length, width, heads, step}) {
  const size = width / heads;
  const [square, whole, split] = [
    [width, width],
    [batch, length, width],
    [batch, heads, length, size],
  ];
  const parameters = {project: (width + 1) * 3 * width, output: (width + 1) * width};
  return {
    step,
    batch,
    length,
    width,
    heads,
    size,
    parameters,
    total: parameters.project + parameters.output,
    shapes: {
      x: whole,
      W_Q: square,
      W_K: square,
      W_V: square,
      Q: whole,
      K: whole,
      V: whole,
      "Q split": split,
      "K split": split,
      "V split": split,
      weights: [batch, heads, length, length],
      outputs: split,
      merged: whole,
      W_O: square,
      output: whole,
    },
  };
}

// Not toLocaleString: its first call loads all languages, for a tenth of a second on a phone.
const shape = (sizes) => `(${sizes.join(", ")})`;

/** What happens in the chosen step, as code, and as a count. */
export function describe(m) {
  const {step, batch, length, width, heads, size, parameters, shapes} = m;
  return [
    {
      says: "The tokens come in: one row of numbers for each.",
      code: `x.shape == ${shape(shapes.x)}`,
      count: `${batch} texts × ${length} tokens × ${width} numbers = ${count(product(shapes.x))} numbers.`,
    },
    {
      says: "One matrix product makes the queries, keys and values of all heads together.",
      code: `qkv = x @ W_QKV + b    # W_QKV: ${width} × ${3 * width}`,
      count:
        `W_Q, W_K and W_V lie side by side: ${width} × ${3 * width} weights ` +
        `and ${3 * width} biases, ${count(parameters.project)} parameters.`,
    },
    {
      says: "Each row of Q, K and V is cut into pieces, one for each head. Nothing is computed.",
      code: `q = q.view(${batch}, ${length}, ${heads}, ${size}).transpose(1, 2)`,
      count: `${width} = ${heads} × ${size}, for queries, keys and values alike.`,
    },
    {
      says: `${heads === 1 ? "The one head" : "Each head"} attends by itself: compare, scale, softmax, mix.`,
      code: `o = softmax(q @ k.mT / √${size}) @ v`,
      count: `${heads} maps of ${length} × ${length} for each text: ${count(product(shapes.weights))} weights in all.`,
    },
    {
      says: "The heads' outputs are laid side by side again.",
      code: `o = o.transpose(1, 2).reshape${shape(shapes.merged)}`,
      count: `${heads} × ${size} = ${width}. Still nothing combines one head's numbers with another's.`,
    },
    {
      says: "W_O combines what the heads found: one more product, back to the width of the input.",
      code: `y = o @ W_O + b    # W_O: ${width} × ${width}`,
      count: `${count(parameters.output)} parameters more: ${count(m.total)} in the layer.`,
    },
  ][step];
}

export function summarize(m) {
  const {says, count: counted} = describe(m);
  return `Step ${m.step} of 5, ${STEPS[m.step]}. ${says} ${counted} Heads: ${m.heads} of size ${m.size}.`;
}

// ---- View ----------------------------------------------------------------------------------

const ROLES = ["q", "k", "v"];

const named = (name, sizes) =>
  html`<p class="named"><b>${name}</b> <span class="shape">${shape(sizes)}</span></p>`;
const square = () => html`<i class="square" aria-hidden="true"></i>`;
const bar = () => html`<i class="bar" aria-hidden="true"></i>`;

// On a phone a sixteenth of a bar has no room for its number.
const bands = (heads) => html`<div class="bands" aria-hidden="true">
  ${range(0, heads).map((i) => html`<i>${heads <= 8 ? i + 1 : ""}</i>`)}</div>`;

const trio = (make) => html`<div class="trio">
  ${["Q", "K", "V"].map((name, i) => html`<div class="role ${ROLES[i]}">${make(name)}</div>`)}</div>`;

const headCard = (h) => html`<li><b>${h}</b><i class="map"></i>
  <span class="q">Q${h}</span><span class="k">K${h}</span><span class="v">V${h}</span></li>`;

const headCards = (heads) => html`<ol class="heads" aria-hidden="true">
  ${range(0, heads).map((h) => headCard(h + 1))}</ol>`;

const stages = ({shapes, heads}) => [
  html`${bar()}${named("x", shapes.x)}`,
  trio(
    (name) => html`${square()}${named(html`W<sub>${name}</sub>`, shapes[`W_${name}`])}
    ${bar()}${named(name, shapes[name])}`,
  ),
  trio(
    (name) => html`${bands(heads)}
    ${named(name, shapes[`${name} split`])}`,
  ),
  html`${headCards(heads)}${named("weights", shapes.weights)}${named("outputs", shapes.outputs)}`,
  html`${bands(heads)}${named("merged", shapes.merged)}`,
  html`${square()}${named(html`W<sub>O</sub>`, shapes.W_O)}${bar()}${named("output", shapes.output)}`,
];

function view(m, widget) {
  const {says, code, count: counted} = describe(m);
  return html`<p class="says">${says}</p><p class="code">${code}</p><p class="count">${counted}</p>
    <div class="stages" style="--heads:${m.heads}">
    ${stages(m).map(
      (inner, step) => html`
      <section class=${step === m.step ? "stage current" : "stage"} @click=${() => widget.set({step})}>
        <p class="name">${step} ${STEPS[step]}</p><div>${inner}</div></section>`,
    )}</div>
    ${widget.sentence({hidden: true})}`;
}

export const headArchitecture = defineWidget({
  name: "head-architecture",
  label: "A multi-head layer step by step",
  key: "layer",
  fields: ({heads}) => ({
    step: integer(0, {max: STEPS.length - 1}),
    heads: option(heads, HEADS),
  }),
  controls: () => [[steps("step", "Step", STEPS)], [menu("heads", "Heads", HEADS)]],
  model: (sizes, state) => architecture({...sizes, ...state}),
  sentence: summarize,
  view,
});
