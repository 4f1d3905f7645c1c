// A matrix as a table: captions and headers, numbers that can be edited, cells that can be chosen,
// or cells that are switched on and off.
// Drawn again on the same element it updates in place: the focus and a half-typed number stay,
// and only what changed is written, which is what keeps an event under a frame on a slow phone.
// What changes stands in a cell, in its field or its number, never on the <td> itself: a browser
// works out a <td> five times as long, and lays out a whole table for one text that has no box.

import {part, setAttr, setAttrs, setClass, setStyle, setText} from "./dom.js";
import {format, formatEntry, parseEntry} from "./numbers.js";

const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
const PRESS = [" ", "Enter"];

/**
 * Draw `grid` into the selection of one <table>.
 * grid: {name, title, caption, shape, rows, columns: header words, cells: rows of numbers,
 *        editable, toggles, text(row, col) where a cell isn't shown as a decimal,
 *        fill(row, col) → 0…1, hidden(row, col), lit(row, col), chosen(row, col)}
 * on: {edit(row, col, value), hint(text), choose(row, col), paint(row, col, isOn)}
 */
export function drawMatrix(table, grid, on) {
  table.property("on", on);
  setClass(table, "editable", () => grid.editable);
  setAttrs(table, {role: grid.editable ? null : "grid", "aria-multiselectable": grid.toggles ? "true" : null});
  setText(part(part(table, "caption"), "b"), () => grid.caption);
  setText(part(part(table, "caption"), "span", "shape"), () => grid.shape);
  setText(part(part(table, "thead"), "tr").selectAll("th").data(["", ...grid.columns]).join(header), (word) => word);
  const rows = part(table, "tbody").selectAll("tr").data(grid.cells)
    .join((enter) => enter.append("tr").call((tr) => tr.append("th").attr("scope", "row")));
  setText(rows.select("th"), (_, i) => grid.rows[i]);
  const cells = rows.selectAll("td")
    .data((row, i) => row.map((value, j) => ({value, row: i, col: j})))
    .join((enter) => enter.append("td").call(grid.editable ? addField : grid.toggles ? addToggle : addChoice, grid));
  const faces = cells.select(grid.editable ? "input" : ".number");
  setClass(faces, "hidden-cell", (c) => grid.hidden?.(c.row, c.col));
  setClass(faces, "lit", (c) => grid.lit?.(c.row, c.col));
  if (grid.fill) setStyle(cells.select(".fill"), "opacity", (c) => +grid.fill(c.row, c.col).toFixed(4));
  if (grid.editable) updateFields(faces);
  else if (grid.toggles) updateToggles(cells, grid);
  else updateChoices(cells, grid);
}

const header = (enter) => enter.append("th")
  .attr("scope", (_, i) => (i ? "col" : null))
  .attr("aria-hidden", (_, i) => (i ? null : "true"));

const handlers = (node) => node.closest("table").on;

// ---- Numbers to edit -------------------------------------------------------------------------

function addField(cells, grid) {
  cells.append("input")
    .attr("type", "text").attr("autocomplete", "off").attr("spellcheck", "false").attr("maxlength", 24)
    .attr("aria-label", (c) => `${grid.title}, ${grid.rows[c.row]}, ${grid.columns[c.col]}`)
    .on("focus", function () { this.select(); })
    .on("input", function (event, c) { commit(this, c); })
    .on("blur", function (event, c) {
      this.value = formatEntry(c.value);
      this.removeAttribute("aria-invalid");
      handlers(this).hint("");
    })
    .on("keydown", function (event, c) {
      const step = {ArrowUp: 0.1, ArrowDown: -0.1}[event.key];
      if (!step) return;
      event.preventDefault();
      this.value = formatEntry(Math.round((c.value + step) * 100) / 100);
      commit(this, c);
    });
}

function commit(input, {row, col}) {
  const {value, hint} = parseEntry(input.value);
  handlers(input).hint(hint ?? "");
  if (hint) input.setAttribute("aria-invalid", "true");
  else handlers(input).edit(row, col, value);
}

function updateFields(inputs) {
  inputs.each(function (c) {
    // Don't rewrite what is being typed while it already means this number.
    if (parseEntry(this.value).value !== c.value) this.value = formatEntry(c.value);
    this.removeAttribute("aria-invalid");
  });
}

// ---- Cells to choose -------------------------------------------------------------------------

function addNumber(cells, {fill}) {
  if (fill) cells.append("i").attr("class", "fill");
  cells.append("span").attr("class", "number");
}

function addChoice(cells, grid) {
  cells.call(addNumber, grid).attr("role", "gridcell")
    .on("click", function (event, c) { handlers(this).choose(c.row, c.col); })
    .on("keydown", function (event, c) {
      const move = ARROWS[event.key] ?? (PRESS.includes(event.key) ? [0, 0] : null);
      const target = move && neighbour(this, c, move);
      if (move) event.preventDefault();
      if (!target) return;
      handlers(this).choose(c.row + move[0], c.col + move[1]);
      target.focus();
    });
}

const neighbour = (td, {row, col}, [down, right]) =>
  td.closest("tbody").rows[row + down]?.querySelectorAll("td")[col + right];

function updateChoices(cells, grid) {
  const chosen = (c) => !!grid.chosen?.(c.row, c.col);
  const noneChosen = !cells.data().some(chosen);
  const numbers = cells.select(".number");
  setText(numbers, (c) => (grid.text ? grid.text(c.row, c.col) : format(c.value)));
  setClass(numbers, "chosen", chosen);
  // One tab stop a matrix; the arrow keys move inside it.
  setAttr(cells, "tabindex", (c) => (chosen(c) || (noneChosen && c.row + c.col === 0) ? 0 : -1));
  setAttr(cells, "aria-selected", chosen);
}

// ---- Cells to switch ---------------------------------------------------------------------------

// A mouse paints what it is dragged over; a finger taps, so that the page still scrolls under it.
let stroke = null; // what the mouse paints while its button is down

function addToggle(cells, grid) {
  const paint = (td, {row, col}, isOn) => handlers(td).paint(row, col, isOn);
  cells.call(addNumber, grid).attr("role", "gridcell").attr("tabindex", ({row, col}) => (row + col === 0 ? 0 : -1))
    .on("pointerdown", function (event, c) {
      stroke = event.pointerType === "touch" || event.button !== 0 ? null : !c.value;
      if (stroke !== null) paint(this, c, stroke);
    })
    .on("pointerover", function (event, c) {
      if (stroke !== null && event.buttons === 1 && c.value !== stroke) paint(this, c, stroke);
    })
    .on("click", function (event, c) {
      if (stroke === null || event.detail === 0) paint(this, c, !c.value); // 0: not by a pointer
      stroke = null;
    })
    // One tab stop, where the focus was last; the arrow keys move it.
    .on("focus", function () {
      for (const td of this.closest("tbody").querySelectorAll("td")) td.tabIndex = td === this ? 0 : -1;
    })
    .on("keydown", function (event, c) {
      if (PRESS.includes(event.key)) paint(this, c, !c.value);
      else if (event.key in ARROWS) neighbour(this, c, ARROWS[event.key])?.focus();
      else return;
      event.preventDefault();
    });
}

function updateToggles(cells) {
  const numbers = cells.select(".number");
  setText(numbers, (c) => (c.value ? "1" : "0"));
  setClass(numbers, "on", (c) => c.value);
  setAttr(cells, "aria-selected", (c) => !!c.value);
}
