// Several ways of doing one thing, side by side: each with its code and what it gives each key.

import {html, nothing} from "../../assets/vendor/lit.js";

/**
 * One <table>. ways: [{name, code, note, isWrong, cells: [{text, isOn}]}]; columns: header words.
 * switchCell(col, isOn), where given, makes the first way's cells switches.
 */
export const waysTable = ({caption, columns, ways, switchCell}) => html`<table class="ways">
  <caption class="screen-reader-only">${caption}</caption>
  <thead><tr>${columns.map((word) => html`<th scope="col">${word}</th>`)}</tr></thead>
  ${ways.map(
    (way, i) => html`<tbody>
    <tr><th scope="rowgroup" colspan=${columns.length}><b>${way.name}</b> ${
      way.code
        ? html`<code>${way.code}</code>
      `
        : nothing
    }<span class=${way.isWrong ? "note wrong" : "note"}>${way.note ?? ""}</span></th></tr>
    <tr class="cells">${way.cells.map(
      ({text, isOn}, col) =>
        html`<td class=${isOn ? "on" : "off"}>${
          switchCell && i === 0
            ? html`<button type="button" aria-pressed=${isOn} aria-label="${text}: may attend to ${columns[col]}" @click=${() => switchCell(col, !isOn)}>${text}</button>`
            : html`<span>${text}</span>`
        }</td>`,
    )}</tr></tbody>`,
  )}</table>`;
