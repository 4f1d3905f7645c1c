// A map of weights as one small picture, a pixel for each weight, for many maps beside one another:
// a new map costs no style and no layout, whatever its size.

import {part, setClass, setStyle, setText} from "./dom.js";
import {observeTheme} from "./surroundings.js";

/**
 * Draw `weights` (rows of numbers from 0 to 1) into the selection of one <div class="weight-map">;
 * one `row` or one `column` is framed. A pixel's opacity is its weight.
 */
export function drawWeightMap(map, weights, {row = null, column = null} = {}) {
  const canvas = part(map, "canvas").attr("aria-hidden", "true").node();
  canvas.weights = weights;
  paint(canvas);
  frame(part(map, "i", "frame"), {row, column, rows: weights.length, columns: weights[0].length});
}

/** Which {row, column} of a map of `size` rows and columns an event's pointer is on. */
export function cellAt(event, map, size) {
  const box = map.getBoundingClientRect();
  const within = (share) => Math.max(0, Math.min(size - 1, Math.floor(share * size)));
  return {row: within((event.clientY - box.top) / box.height), column: within((event.clientX - box.left) / box.width)};
}

let color; // of a weight of 1, as long as the theme stays

function weightColor() {
  if (!color) {
    observeTheme((colors) => {
      color = colors.weight;
      document.querySelectorAll(".weight-map canvas").forEach(paint);
    });
  }
  return color;
}

function paint(canvas) {
  const {weights} = canvas;
  const context = canvas.getContext("2d");
  Object.assign(canvas, {width: weights[0].length, height: weights.length}); // which clears it too
  context.fillStyle = weightColor();
  weights.forEach((cells, y) => cells.forEach((weight, x) => {
    context.globalAlpha = weight;
    context.fillRect(x, y, 1, 1);
  }));
}

function frame(mark, {row, column, rows, columns}) {
  const [width, height] = row === null ? [100 / columns, 100] : [100, 100 / rows];
  setStyle(mark, "width", `${+width.toFixed(4)}%`);
  setStyle(mark, "height", `${+height.toFixed(4)}%`);
  setStyle(mark, "transform", row === null ? `translateX(${100 * (column ?? 0)}%)` : `translateY(${100 * row}%)`);
  setStyle(mark, "visibility", row === null && column === null ? "hidden" : "visible");
}

export const LABELLED_MAP = `<div class="labelled-map" aria-hidden="true">
  <div class="columns"></div><div class="rows"></div><div class="weight-map"></div></div>`;

/** The same in a selection of one LABELLED_MAP, with a word beside each row and column to choose a row by. */
export function drawLabelledMap(root, weights, {tokens, row, onRow}) {
  const size = tokens.length;
  setStyle(root, "--size", size);
  for (const side of [".rows", ".columns"]) {
    const words = root.select(side).selectAll("span").data(tokens).join("span");
    setClass(words, "chosen", (_, i) => side === ".rows" && i === row);
    setText(words, (token) => token);
  }
  const map = root.select(".weight-map").on("click", function (event) { onRow(cellAt(event, this, size).row); });
  drawWeightMap(map, weights, {row});
}
