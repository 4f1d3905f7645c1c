// A map of weights as one small drawing, for many maps beside one another.
// Cells of about the same weight are one path: a map costs a few elements, whatever its size.

import {part, setAttr, setAttrs, setClass, setStyle, setText} from "./dom.js";

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
  setAttr(svg, "viewBox", `0 0 ${weights[0].length} ${size}`);
  setClass(svg, "weight-map", () => true);
  const paths = part(svg, "g").selectAll("path").data(mapPaths(weights)).join("path");
  setAttrs(paths, {"fill-opacity": ({level}) => level, d: ({d}) => d});
  setAttrs(part(svg, "rect"), {width: weights[0].length, height: 1, y: row ?? 0, visibility: row === null ? "hidden" : null});
}

export const LABELLED_MAP = `<div class="labelled-map" aria-hidden="true">
  <div class="columns"></div><div class="rows"></div><svg class="large"></svg></div>`;

/** The same in a selection of one LABELLED_MAP, with a word beside each row and column to choose a row by. */
export function drawLabelledMap(root, weights, {tokens, row, onRow}) {
  const size = tokens.length;
  setStyle(root, "--size", size);
  for (const side of [".rows", ".columns"]) {
    const words = root.select(side).selectAll("span").data(tokens).join("span");
    setClass(words, "chosen", (_, i) => side === ".rows" && i === row);
    setText(words, (token) => token);
  }
  drawWeightMap(root.select("svg.large"), weights, {row});
  root.select("svg.large").on("click", function (event) {
    const box = this.getBoundingClientRect();
    onRow(Math.max(0, Math.min(size - 1, Math.floor(((event.clientY - box.top) / box.height) * size))));
  });
}
