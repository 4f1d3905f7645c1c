// A map of weights as one small picture, with its chosen row or column framed.

import {html, nothing} from "../../assets/vendor/lit.js";
import "./pixels.js";

/** One map; one `row` or one `column` is framed; choose({row, column}) hears of clicks. */
export const weightMap = (weights, {row = null, column = null, choose = null} = {}) => html`
  <div class="weight-map" @click=${choose && ((event) => choose(cellAt(event, weights)))}>
    <weight-pixels aria-hidden="true" .weights=${weights}></weight-pixels>${frame({row, column, weights})}</div>`;

function cellAt({clientX, clientY, currentTarget}, weights) {
  const box = currentTarget.getBoundingClientRect();
  const within = (share, size) => Math.max(0, Math.min(size - 1, Math.floor(share * size)));
  return {
    row: within((clientY - box.top) / box.height, weights.length),
    column: within((clientX - box.left) / box.width, weights[0].length),
  };
}

function frame({row, column, weights}) {
  if (row === null && column === null) return nothing;
  const [width, height] =
    row === null ? [100 / weights[0].length, 100] : [100, 100 / weights.length];
  const place = row === null ? `translateX(${100 * column}%)` : `translateY(${100 * row}%)`;
  return html`<i class="frame" style="width:${+width.toFixed(4)}%;height:${+height.toFixed(4)}%;transform:${place}"></i>`;
}

/** The same with a word beside each row and column, to choose a row by. */
export const labelledMap = (weights, {tokens, row, choose}) => html`
  <div class="labelled-map" aria-hidden="true" style="--size:${tokens.length}">
    <div class="columns">${tokens.map((token) => html`<span>${token}</span>`)}</div>
    <div class="rows">${tokens.map((token, i) => html`<span class=${i === row ? "chosen" : ""}>${token}</span>`)}</div>
    ${weightMap(weights, {row, choose: (cell) => choose(cell.row)})}</div>`;
