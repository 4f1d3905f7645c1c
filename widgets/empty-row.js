// A row of scores of which fewer and fewer are visible: what five ways of masking make of it.
// PyTorch computed every case when the page was made.

import {drawWays} from "./lib/ways.js";
import {liveElement} from "./lib/live.js";
import {integer} from "./lib/url-state.js";

// ---- Model ---------------------------------------------------------------------------------

/** What a reader can choose: a dtype, by its place in the list, and how many keys are visible. */
export const emptyRowFields = (cases, size) => ({
  dtype: integer(0, {min: 0, max: Object.keys(cases).length - 1}),
  visible: integer(0, {min: 0, max: size})
});

/** cases[dtype][visible]: [{name, weights: [text] or null, error or gradient}] → ways to draw. */
export function emptyRowWays(cases, {dtype, visible}, size) {
  return Object.values(cases)[dtype][visible].map(({name, weights, error, gradient}) => {
    const wrong = error ?? (weights.includes("NaN") ? "no numbers" : weights.some((text, j) => j >= visible && text !== "0.00") && "hidden keys get weight");
    return {
      name,
      cells: Array.from({length: size}, (_, j) => ({text: weights?.[j] ?? "\u2013", isOn: j < visible})),
      note: [wrong, gradient && `gradients ${gradient}`].filter(Boolean).join(", "),
      isWrong: !!wrong
    };
  });
}

// ---- Summary -------------------------------------------------------------------------------

export const summarize = (ways) =>
  ways.map(({name, cells, note}) => `${name}: ${cells.map((cell) => cell.text).join(", ")}; ${note}`).join(". ") + ".";

// ---- View ----------------------------------------------------------------------------------

/** A drawing in one element of its own: draw(ways, {columns}) updates it and returns it. */
export function emptyRowView(d3) {
  const node = liveElement("empty-row", `<table class="ways"></table>`, {label: "Five ways to mask a row"});
  return (ways, {columns}) => {
    drawWays(d3.select(node).select("table"), {caption: summarize(ways), columns, ways});
    return node;
  };
}
