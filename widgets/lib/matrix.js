// A matrix as a table: captions and headers, and cells that hold numbers to edit, cells to choose, or
// cells to switch on and off. What changes stands in a cell, in its field or its number, never on the
// <td> itself: a browser works out a <td> five times as long, and lays out a whole table for one text
// that has no box.

import {html, nothing} from "../../assets/vendor/lit.js";
import {numberField} from "./number-field.js";
import {format} from "./numbers.js";

const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
const PRESS = [" ", "Enter"];

/**
 * One <table>.
 * grid: {name, title, caption, shape, rows, columns: header words, cells: rows of numbers,
 *        text(row, col) where a cell isn't shown as a decimal, fill(row, col) → 0…1,
 *        hidden(row, col), lit(row, col), chosen(row, col), moved(row, col): no longer what it was}
 * What its cells are for, by what is given: choose(row, col); paint(row, col, isOn) for cells that
 * are booleans; or edit(row, col, value), with the `widget` and the field's `range`.
 */
export function matrixTable(grid) {
  const make = grid.edit ? entry : grid.paint ? switchable : choosable;
  const stop = grid.edit ? null : tabStop(grid);
  return html`<table class="matrix ${grid.name} ${grid.edit ? "editable" : ""}" role=${grid.edit ? nothing : "grid"}
      aria-multiselectable=${grid.paint ? "true" : nothing}>
    <caption><b>${grid.caption}</b> <span class="shape">${grid.shape}</span></caption>
    <thead><tr><th scope="col" aria-hidden="true"></th>${grid.columns.map((word) => html`<th scope="col">${word}</th>`)}</tr></thead>
    <tbody @click=${grid.edit ? null : (event) => press(event, grid)} @keydown=${grid.edit ? null : (event) => moveBy(event, grid)}
      @pointerdown=${grid.paint && ((event) => startStroke(event, grid))} @pointerover=${grid.paint && ((event) => goOnStroke(event, grid))}
      @focusin=${grid.paint && keepTabStop}>
      ${grid.cells.map((row, i) => html`<tr><th scope="row">${grid.rows[i]}</th>${row.map((_, j) => make(grid, i, j, stop))}</tr>`)}
    </tbody></table>`;
}

const marks = (grid, i, j) =>
  (grid.hidden?.(i, j) ? "number hidden-cell" : "number") +
  (grid.lit?.(i, j) ? " lit" : "") +
  (grid.moved?.(i, j) ? " moved" : "");

// ---- Numbers to edit -------------------------------------------------------------------------

const entry = (grid, i, j) =>
  html`<td>${numberField(grid.widget, {
    id: `${grid.name}.${i}.${j}`,
    value: grid.cells[i][j],
    range: grid.range,
    className: grid.lit?.(i, j) ? "lit" : "",
    label: `${grid.title}, ${grid.rows[i]}, ${grid.columns[j]}`,
    onValue: (value) => grid.edit(i, j, value),
  })}</td>`;

// ---- Cells to choose and to switch -------------------------------------------------------------

const choosable = (grid, i, j, stop) => {
  const isChosen = !!grid.chosen?.(i, j);
  const className = marks(grid, i, j) + (isChosen ? " chosen" : "");
  const text = grid.text ? grid.text(i, j) : format(grid.cells[i][j]);
  const tabindex = stop[0] === i && stop[1] === j ? 0 : -1;
  return grid.fill
    ? html`<td role="gridcell" tabindex=${tabindex} aria-selected=${isChosen}><span class="${className} weighted" style="--weight:${+grid.fill(i, j).toFixed(4)}">${text}</span></td>`
    : html`<td role="gridcell" tabindex=${tabindex} aria-selected=${isChosen}><span class=${className}>${text}</span></td>`;
};

const switchable = (grid, i, j, stop) => {
  const isOn = grid.cells[i][j];
  return html`<td role="gridcell" tabindex=${stop[0] === i && stop[1] === j ? 0 : -1} aria-selected=${isOn}><span
    class=${marks(grid, i, j) + (isOn ? " on weighted" : "")}>${isOn ? 1 : 0}</span></td>`;
};

/** The one cell that Tab reaches: the chosen one, or the first. The arrow keys move from there. */
function tabStop({cells, chosen}) {
  for (let i = 0; chosen && i < cells.length; i += 1) {
    const j = cells[i].findIndex((_, col) => chosen(i, col));
    if (j >= 0) return [i, j];
  }
  return [0, 0];
}

/** In cells to switch, where the focus was last. */
function keepTabStop({target, currentTarget}) {
  for (const td of currentTarget.querySelectorAll("td")) td.tabIndex = td === target ? 0 : -1;
}

function cellOf(event) {
  const td = event.target.closest("td");
  return td && {td, row: td.parentElement.sectionRowIndex, col: td.cellIndex - 1};
}

function press(event, grid) {
  const cell = cellOf(event);
  const isPainted = stroke !== null && event.detail !== 0; // 0: a click by no pointer
  stroke = null;
  if (!cell) return;
  if (grid.choose) grid.choose(cell.row, cell.col);
  else if (!isPainted) grid.paint(cell.row, cell.col, !grid.cells[cell.row][cell.col]);
}

function moveBy(event, grid) {
  const {td, row, col} = cellOf(event) ?? {};
  const presses = PRESS.includes(event.key);
  const [down, right] = ARROWS[event.key] ?? [0, 0];
  if (!td || !(presses || event.key in ARROWS)) return;
  event.preventDefault();
  const target = td.closest("tbody").rows[row + down]?.querySelectorAll("td")[col + right];
  if (!target) return;
  if (grid.choose) grid.choose(row + down, col + right);
  else if (presses) grid.paint(row, col, !grid.cells[row][col]);
  target.focus();
}

// A mouse paints what it is dragged over; a finger taps, so that the page still scrolls under it.
let stroke = null; // what the mouse paints while its button is down

function startStroke(event, grid) {
  const cell = cellOf(event);
  const isMouse = event.pointerType !== "touch" && event.button === 0;
  stroke = cell && isMouse ? !grid.cells[cell.row][cell.col] : null;
  if (stroke !== null) grid.paint(cell.row, cell.col, stroke);
}

function goOnStroke(event, grid) {
  const cell = cellOf(event);
  if (!cell || stroke === null) return;
  if (event.buttons !== 1) stroke = null;
  else if (grid.cells[cell.row][cell.col] !== stroke) grid.paint(cell.row, cell.col, stroke);
}
