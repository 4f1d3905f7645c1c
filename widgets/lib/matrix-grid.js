// A matrix as a table: captions and headers, numbers that can be edited, cells that can be chosen.
// Used by widgets that show the arithmetic of attention. Drawn again on the same element, it
// updates in place, so the focus and a half-typed number stay where they are.

import {part} from "./dom.js";
import {format, formatEntry, parseEntry} from "./numbers.js";

const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};

/**
 * Draw `grid` into the selection of one <table>.
 * grid: {name, caption, shape, rows, columns: header words, cells: rows of numbers,
 *        editable, fill(row, col) → 0…1, hidden(row, col), lit(row, col), chosen(row, col)}
 * on: {edit(row, col, value), hint(text), choose(row, col)}
 */
export function drawMatrix(d3, table, grid, on) {
  table.attr("class", `matrix ${grid.name}`).classed("editable", !!grid.editable)
    .attr("role", grid.editable ? null : "grid");
  caption(table, grid);
  header(table, grid);
  const rows = part(table, "tbody").selectAll("tr").data(grid.cells)
    .join((enter) => enter.append("tr").call((tr) => tr.append("th").attr("scope", "row")));
  rows.select("th").text((_, i) => grid.rows[i]);
  const cells = rows.selectAll("td")
    .data((row, i) => row.map((value, j) => ({value, row: i, col: j})))
    .join("td")
    .style("--fill", (c) => (grid.fill ? grid.fill(c.row, c.col) : 0))
    .classed("hidden-cell", (c) => !!grid.hidden?.(c.row, c.col))
    .classed("lit", (c) => !!grid.lit?.(c.row, c.col));
  if (grid.editable) entries(cells, grid, on);
  else choices(d3, table, cells, grid, on);
}

function caption(table, {caption: text, shape}) {
  const node = part(table, "caption");
  part(node, "b").text(text);
  part(node, "span").attr("class", "shape").text(shape);
}

function header(table, {columns}) {
  part(part(table, "thead"), "tr").selectAll("th").data(["", ...columns]).join("th")
    .attr("scope", (_, i) => (i ? "col" : null))
    .attr("aria-hidden", (_, i) => (i ? null : "true"))
    .text((word) => word);
}

function entries(cells, grid, on) {
  const inputs = cells.selectAll("input").data((c) => [c]).join((enter) => enter.append("input")
    .attr("type", "text").attr("autocomplete", "off").attr("spellcheck", "false").attr("maxlength", 24));
  inputs
    .attr("aria-label", (c) => `${grid.title}, ${grid.rows[c.row]}, ${grid.columns[c.col]}`)
    .each(function (c) {
      // Don't rewrite what is being typed while it already means this number.
      if (parseEntry(this.value).value !== c.value) this.value = formatEntry(c.value);
      if (parseEntry(this.value).value === c.value) this.removeAttribute("aria-invalid");
    })
    .on("focus", function () { this.select(); })
    .on("input", function (event, c) { commit(this, c, on); })
    .on("blur", function (event, c) {
      this.value = formatEntry(c.value);
      this.removeAttribute("aria-invalid");
      on.hint("");
    })
    .on("keydown", function (event, c) {
      const step = {ArrowUp: 0.1, ArrowDown: -0.1}[event.key];
      if (!step) return;
      event.preventDefault();
      this.value = formatEntry(Math.round((c.value + step) * 100) / 100);
      commit(this, c, on);
    });
}

function commit(input, {row, col}, on) {
  const {value, hint} = parseEntry(input.value);
  on.hint(hint ?? "");
  input.toggleAttribute("aria-invalid", hint !== undefined);
  if (hint === undefined) on.edit(row, col, value);
  else input.setAttribute("aria-invalid", "true");
}

function choices(d3, table, cells, grid, on) {
  const chosen = (c) => !!grid.chosen?.(c.row, c.col);
  const anyChosen = cells.data().some(chosen);
  cells
    .text((c) => format(c.value))
    .attr("role", "gridcell")
    // One tab stop a matrix; the arrow keys move inside it.
    .attr("tabindex", (c) => (chosen(c) || (!anyChosen && c.row + c.col === 0) ? 0 : -1))
    .attr("aria-selected", (c) => String(chosen(c)))
    .on("click", (event, c) => on.choose(c.row, c.col))
    .on("keydown", (event, c) => {
      const move = ARROWS[event.key];
      if (!move && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      const [row, col] = [c.row + (move?.[0] ?? 0), c.col + (move?.[1] ?? 0)];
      const target = cells.filter((d) => d.row === row && d.col === col).node();
      if (!target) return;
      on.choose(row, col);
      target.focus();
    });
}
