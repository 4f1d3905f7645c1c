// Three words in any order, and what attention makes of each: with the causal mask and without,
// and with rotary positions and without.

import {html} from "../assets/vendor/lit.js";
import {attentionSteps, selfAttention} from "./lib/attention.js";
import {button, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, option} from "./lib/fields.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

const ORDERS = ["0.1.2", "0.2.1", "1.0.2", "1.2.0", "2.0.1", "2.1.0"];
const places = (order) => order.split(".").map(Number);
// Sums in another order may differ in the last bit.
const isSame = (a, b) => a.every((x, c) => Math.abs(x - b[c]) < 1e-12);

/** Rotary's turn of queries or keys of two numbers: one hand each, by one radian a position. */
const turned = (rows) =>
  rows.map(([right, up], place) => {
    const [cos, sin] = [Math.cos(place), Math.sin(place)];
    return [right * cos - up * sin, right * sin + up * cos];
  });

function attend(x, data, {causal, rotary}) {
  const plain = selfAttention(x, data, {causal});
  if (!rotary) return plain;
  return attentionSteps(
    {query: turned(plain.query), key: turned(plain.key), value: plain.value},
    {causal},
  );
}

/**
 * The words in their order, each with its output, whether it had the same one at first, and the
 * weight that the word in the middle of the first order gives it.
 */
export function ordered(data, {order, causal = false, rotary = false}) {
  const now = places(order);
  const first = attend(data.x, data, {causal, rotary}).output;
  const {output, weights} = attend(
    now.map((word) => data.x[word]),
    data,
    {causal, rotary},
  );
  const words = now.map((word, place) => ({
    token: data.tokens[word],
    output: output[place],
    same: isSame(output[place], first[word]),
    weight: weights[now.indexOf(1)][place],
  }));
  return {
    words,
    causal,
    rotary,
    asks: data.tokens[1],
    moved: order !== ORDERS[0],
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const pair = (vector) => `(${vector.map(format).join(", ")})`;
const list = (words) => words.map(({token}) => token).join(" and ");

const given = (words) => words.map(({token, weight}) => `${token} ${format(weight)}`).join(", ");

export function sentence({words, causal, rotary, asks, moved}) {
  const row = words.map(({token}) => token).join(" ");
  const mask =
    (causal ? "With the causal mask" : "Without a mask") + (rotary ? ", with rotary" : "");
  const weights = `${asks} gives ${given(words)}.`;
  if (!moved) return `${row}. ${mask}, ${weights} Swap two words, and compare.`;
  const changed = words.filter(({same}) => !same);
  if (!changed.length)
    return `${row}. ${mask}, every word has the output that it had in the first order. Now ${weights}`;
  return (
    `${row}. ${mask}, ${list(changed)} ${changed.length === 1 ? "has" : "have"} a different output than in the first order. ` +
    `Now ${weights}`
  );
}

const mark = (same, moved) =>
  html`<span class=${same ? "mark same" : "mark other"}>${!moved ? "" : same ? "as before" : "changed"}</span>`;

const view = (
  m,
  widget,
) => html`<ol class="row" aria-label="Words in their order, with their outputs">${m.words.map(
  ({token, output, same}) => html`<li>
    <b>${token}</b><span class="arrow" aria-hidden="true">↓</span><span class="vector">${pair(output)}</span>${mark(same, m.moved)}</li>`,
)}</ol>
  <p class="weights">Weights of <b>${m.asks}</b>: <span class="vector">${given(m.words).replaceAll(", ", " · ")}</span></p>
  ${widget.sentence({hidden: true})}`;

function swap(at) {
  return ({state, set}) => {
    const now = places(state.order);
    [now[at], now[at + 1]] = [now[at + 1], now[at]];
    set({order: now.join(".")});
  };
}

const swaps = [button("Swap 1 and 2", swap(0)), button("Swap 2 and 3", swap(1))];
const shared = {name: "word-order", model: ordered, sentence, view};

/** data: {tokens: three words, x: a row of features each, query, key, value: matrices} */
export const wordOrder = defineWidget({
  ...shared,
  label: "Words in any order",
  key: "order",
  fields: () => ({order: option(ORDERS[0], ORDERS), causal: flag(false)}),
  controls: () => [[...swaps, toggle("causal", "Causal mask"), reset]],
});

/** The same without a mask, where rotary may turn queries and keys; these have two numbers. */
export const turnedOrder = defineWidget({
  ...shared,
  label: "Words in any order, turned by their positions",
  key: "turned",
  fields: () => ({order: option(ORDERS[0], ORDERS), rotary: flag(true)}),
  controls: () => [[...swaps, toggle("rotary", "Rotary"), reset]],
});
