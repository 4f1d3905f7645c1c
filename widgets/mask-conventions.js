// One query's row of a mask, in this course's convention and in PyTorch's three.

import {drawWays} from "./lib/ways.js";
import {liveElement} from "./lib/live.js";

// ---- Model ---------------------------------------------------------------------------------

const word = (isTrue) => (isTrue ? "True" : "False");

export const CONVENTIONS = [
  {name: "This course", code: "mask", says: word, note: "True = may attend"},
  {name: "F.scaled_dot_product_attention, bool", code: "attn_mask=mask", says: word, note: "True = may attend"},
  {name: "F.scaled_dot_product_attention, float", code: "attn_mask=torch.zeros(L, S).masked_fill(~mask, -torch.inf)",
    says: (isVisible) => (isVisible ? "0" : "\u2212inf"), note: "added to the scores"},
  {name: "nn.MultiheadAttention, bool", code: "attn_mask=~mask", says: (isVisible) => word(!isVisible), note: "True = hidden"}
];

/** What each convention writes for `row`, a query's booleans: true = may attend. */
export const translate = (row) =>
  CONVENTIONS.map(({says, ...way}) => ({...way, cells: row.map((isOn) => ({text: says(isOn), isOn}))}));

// ---- Summary -------------------------------------------------------------------------------

export const summarize = (ways, token) =>
  ways.map(({name, cells}) => `${name}: ${cells.map((cell) => cell.text).join(", ")}`).join(". ").replace(/^/, `The row of ${token}. `) + ".";

// ---- View ----------------------------------------------------------------------------------

/** A drawing in one element of its own: draw(ways, {tokens, row, onSwitch(col, isOn)}) returns it. */
export function maskConventionsView(d3) {
  const node = liveElement("mask-conventions", `<table class="ways"></table>`, {label: "One mask in four conventions"});
  return (ways, {tokens, row, onSwitch}) => {
    drawWays(d3.select(node).select("table"), {caption: summarize(ways, tokens[row]), columns: tokens, ways}, {onSwitch});
    return node;
  };
}
