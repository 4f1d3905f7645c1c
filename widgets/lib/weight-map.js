// A map of weights as one small drawing, for many maps beside one another.
// Cells of about the same weight are one path: a map costs a few elements, whatever its size.

import {part, setStyle, setText} from "./dom.js";

const LEVELS = 25;

/** What is drawn: one path for each level of weight above 0, in units of a cell. */
export function mapPaths(weights) {
  const paths = Array.from({length: LEVELS}, (_, i) => ({level: (i + 1) / LEVELS, d: ""}));
  weights.forEach((row, i) => row.forEach((weight, j) => {
    const level = Math.round(weight * LEVELS);
    if (level > 0) paths[level - 1].d += `M${j},${i}h1v1h-1z`;
  }));
  return paths;
}

/** Draw `weights` (rows of numbers from 0 to 1) into the selection of one <svg>; `row` is framed. */
export function drawWeightMap(svg, weights, {row = null} = {}) {
  const size = weights.length;
  svg.attr("viewBox", `0 0 ${weights[0].length} ${size}`).classed("weight-map", true);
  part(svg, "g").selectAll("path").data(mapPaths(weights)).join("path")
    .each(function ({level, d}) {
      if (!this.hasAttribute("fill-opacity")) this.setAttribute("fill-opacity", level);
      if (this.getAttribute("d") !== d) this.setAttribute("d", d);
    });
  part(svg, "rect").attr("width", weights[0].length).attr("height", 1)
    .attr("y", row ?? 0).attr("visibility", row === null ? "hidden" : null);
}

export const LABELLED_MAP = `<div class="labelled-map" aria-hidden="true">
  <div class="columns"></div><div class="rows"></div><svg class="large"></svg></div>`;

/** The same in a selection of one LABELLED_MAP, with a word beside each row and column to choose a row by. */
export function drawLabelledMap(root, weights, {tokens, row, onRow}) {
  const size = tokens.length;
  setStyle(root, "--size", size);
  for (const side of [".rows", ".columns"]) {
    const words = root.select(side).selectAll("span").data(tokens).join("span");
    setText(words.classed("chosen", (_, i) => side === ".rows" && i === row), (token) => token);
  }
  drawWeightMap(root.select("svg.large"), weights, {row});
  root.select("svg.large").on("click", function (event) {
    const box = this.getBoundingClientRect();
    onRow(Math.max(0, Math.min(size - 1, Math.floor(((event.clientY - box.top) / box.height) * size))));
  });
}
