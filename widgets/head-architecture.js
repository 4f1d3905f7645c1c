// A multi-head layer step by step: the shape of every tensor, with as many heads as the reader asks.

import {setClass, setStyle, setText} from "./lib/dom.js";
import {liveElement} from "./lib/live.js";
import {integer} from "./lib/url-state.js";

// ---- Model: numbers in, objects out --------------------------------------------------------

export const LAYER_HEADS = [1, 2, 4, 8, 16];
export const SHARING = ["each head its own (MHA)", "pairs share (GQA)", "all share (MQA)"];
export const LAYER_STEPS = ["Input", "Project", "Split", "Attend", "Join", "Output"];

/** What a reader can choose, with where it starts: for urlState. */
export const architectureFields = ({heads}) => ({
  step: integer(0, {min: 0, max: LAYER_STEPS.length - 1}),
  heads: {...integer(heads, {min: 1, max: 16}), parse: (text) => LAYER_HEADS.find((n) => String(n) === text)},
  sharing: integer(0, {min: 0, max: SHARING.length - 1})
});

const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

/** Every size in a layer of `width` with `heads` heads; sharing: 0 MHA, 1 GQA in pairs, 2 MQA. */
export function architecture({batch, length, width, heads, sharing}) {
  const [size, keyHeads] = [width / heads, [heads, Math.max(1, heads / 2), 1][sharing]];
  const keyWidth = keyHeads * size;
  const [whole, narrow] = [[batch, length, width], [batch, length, keyWidth]];
  const [split, few] = [[batch, heads, length, size], [batch, keyHeads, length, size]];
  const parameters = {project: (width + 1) * (width + 2 * keyWidth), output: (width + 1) * width};
  return {
    batch, length, width, heads, size, keyHeads, keyWidth, parameters,
    total: parameters.project + parameters.output, kept: 2 * keyWidth,
    shapes: {
      x: whole, W_Q: [width, width], W_K: [width, keyWidth], W_V: [width, keyWidth],
      Q: whole, K: narrow, V: narrow, "Q split": split, "K split": few, "V split": few,
      weights: [batch, heads, length, length], heads: split, joined: whole, W_O: [width, width], output: whole
    }
  };
}

// Not toLocaleString: its first call loads all languages, for a tenth of a second on a phone.
const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const shape = (sizes) => `(${sizes.join(", ")})`;

/** What happens in one step, as code, and as a count. */
export function describe(m, step) {
  const {batch, length, width, heads, size, keyHeads, keyWidth, parameters, shapes} = m;
  const shared = keyHeads < heads;
  return [
    {says: "The tokens come in: one row of numbers for each.",
      code: `x.shape == ${shape(shapes.x)}`,
      count: `${batch} texts × ${length} tokens × ${width} numbers = ${count(product(shapes.x))} numbers.`},
    {says: "One matrix product makes the queries, keys and values of all heads together.",
      code: `qkv = x @ W_QKV + b    # W_QKV: ${width} × ${width + 2 * keyWidth}`,
      count: `W_Q, W_K and W_V lie side by side: ${width} × ${width + 2 * keyWidth} weights and ${width + 2 * keyWidth} biases, ${count(parameters.project)} parameters.`},
    {says: "Each row is cut into pieces, one for each head. Nothing is computed.",
      code: `q = q.view(${batch}, ${length}, ${heads}, ${size}).transpose(1, 2)`,
      count: `${width} = ${heads} × ${size}. Keys and values: ${keyWidth} = ${keyHeads} × ${size}. ${shared ? `A decoder keeps ${m.kept} numbers a token instead of ${2 * width}.` : `A decoder keeps ${m.kept} numbers a token.`}`},
    {says: `${heads === 1 ? "The one head" : "Each head"} attends by itself: compare, scale, softmax, mix.`,
      code: `o = softmax(q @ k.mT / √${size}) @ v`,
      count: `${heads} maps of ${length} × ${length} for each text: ${count(product(shapes.weights))} weights in all.`},
    {says: "The heads' outputs are laid side by side again.",
      code: `o = o.transpose(1, 2).reshape${shape(shapes.joined)}`,
      count: `${heads} × ${size} = ${width}. Still nothing mixes one head's numbers with another's.`},
    {says: "W_O mixes what the heads found: one more product, back to the width of the input.",
      code: `y = o @ W_O + b    # W_O: ${width} × ${width}`,
      count: `${count(parameters.output)} parameters more: ${count(m.total)} in the layer.`}
  ][step];
}

// ---- Summary: the same as a sentence --------------------------------------------------------

export function summarize(m, step) {
  const {says, count: counted} = describe(m, step);
  const keys = m.keyHeads === m.heads ? "" : `, ${m.keyHeads} for keys and values`;
  return `Step ${step} of 5, ${LAYER_STEPS[step]}. ${says} ${counted} Heads: ${m.heads} of size ${m.size}${keys}.`;
}

// ---- View: one element, updated in place; the caller keeps the state ------------------------

const ROLES = ["q", "k", "v"];

/** draw(model, {step, onStep(step)}) updates the one element and returns it. */
export function headArchitectureView(d3) {
  const root = d3.select(emptyView());
  return (model, options) => {
    draw(d3, root, model, options);
    return root.node();
  };
}

function draw(d3, root, m, {step, onStep}) {
  const described = describe(m, step);
  setStyle(root, "--heads", m.heads);
  const stages = root.selectAll(".stage").data(d3.range(LAYER_STEPS.length)).on("click", (event, i) => onStep(i));
  setClass(stages, "current", (i) => i === step);
  setText(root.select(".says"), () => described.says);
  setText(root.select(".code"), () => described.code);
  setText(root.select(".count"), () => described.count);
  setText(root.select(".summary"), () => summarize(m, step));
  root.selectAll(".shape").each(function () { setText(d3.select(this), () => shape(m.shapes[this.dataset.of])); });
  setStyle(root.select(".stages"), "--part", m.keyWidth / m.width);
  root.selectAll(".bands").each(function () {
    const cut = d3.select(this).selectAll("i").data(d3.range(this.dataset.per === "query" ? m.heads : m.keyHeads)).join("i");
    // On a phone a sixteenth of a third has no room for its number.
    setText(cut, (h) => (m.heads > 8 && this.closest(".trio") ? "" : String(h)));
  });
  drawHeads(d3, root.select(".heads"), m);
}

function drawHeads(d3, list, m) {
  const cards = list.selectAll("li").data(d3.range(m.heads)).join((enter) => {
    const card = enter.append("li");
    card.append("b");
    card.append("i").attr("class", "map");
    ROLES.forEach((role) => card.append("span").attr("class", role));
    return card;
  });
  setText(cards.select("b"), (h) => String(h));
  const shared = (h) => Math.floor((h * m.keyHeads) / m.heads);
  setText(cards.select(".q"), (h) => `Q${h}`);
  setText(cards.select(".k"), (h) => `K${shared(h)}`);
  setText(cards.select(".v"), (h) => `V${shared(h)}`);
}

const named = (name, of) => `<p class="named"><b>${name}</b> <span class="shape" data-of="${of}"></span></p>`;
const square = `<i class="square" aria-hidden="true"></i>`;
const bar = `<i class="bar" aria-hidden="true"></i>`;
const bands = (per) => `<div class="bands" data-per="${per}" aria-hidden="true"></div>`;
const trio = (make) => `<div class="trio">${["Q", "K", "V"].map((name, i) =>
  `<div class="role ${ROLES[i]}">${make(name, i ? "key" : "query")}</div>`).join("")}</div>`;

const STAGES = [
  bar + named("x", "x"),
  trio((name) => square + named(`W<sub>${name}</sub>`, `W_${name}`) + bar + named(name, name)),
  trio((name, per) => bands(per) + named(name, `${name} split`)),
  `<ol class="heads" aria-hidden="true"></ol>${named("weights", "weights")}`,
  bands("query") + named("joined", "joined"),
  square + named("W<sub>O</sub>", "W_O") + bar + named("output", "output")
];

function emptyView() {
  const stages = STAGES.map((inner, i) => `<section class="stage"><p class="name">${i} ${LAYER_STEPS[i]}</p><div>${inner}</div></section>`);
  return liveElement("head-architecture", `<p class="says"></p><p class="code"></p><p class="count"></p><div class="stages">${stages.join("")}</div>
    <p class="summary screen-reader-only" aria-live="polite"></p>`, {label: "A multi-head layer step by step"});
}
