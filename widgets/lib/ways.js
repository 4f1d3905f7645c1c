// Several ways of doing one thing, side by side: each with its code and what it gives each key.

import {part, setAttr, setClass, setText} from "./dom.js";

/**
 * Draw `ways` into the selection of one <table>.
 * ways: [{name, code, note, isWrong, cells: [{text, isOn}]}]; columns: header words.
 * onSwitch(col, isOn), where given, makes the first way's cells switches.
 */
export function drawWays(table, {caption, columns, ways}, {onSwitch} = {}) {
  setText(part(table, "caption", "screen-reader-only"), () => caption);
  const head = part(part(table, "thead"), "tr").selectAll("th").data(columns).join((enter) => enter.append("th").attr("scope", "col"));
  setText(head, (word) => word);
  const bodies = table.selectAll("tbody").data(ways).join(addWay);
  setText(bodies.select("b"), (way) => way.name);
  setText(bodies.select("code"), (way) => way.code ?? "");
  setClass(bodies.select(".note"), "wrong", (way) => way.isWrong);
  setText(bodies.select(".note"), (way) => way.note ?? "");
  const cells = bodies.select("tr.cells").selectAll("td")
    .data((way, i) => way.cells.map((cell, col) => ({...cell, col, canSwitch: !!onSwitch && i === 0})))
    .join((enter) => enter.append("td").call((td) => td.append((c) => document.createElement(c.canSwitch ? "button" : "span"))));
  setClass(cells, "on", (c) => c.isOn);
  setClass(cells, "off", (c) => !c.isOn);
  setText(cells.select("span, button"), (c) => c.text);
  const switches = cells.select("button").on("click", (event, c) => onSwitch(c.col, !c.isOn));
  setAttr(switches, "type", "button");
  setAttr(switches, "aria-pressed", (c) => c.isOn);
  setAttr(switches, "aria-label", (c) => `may attend to ${columns[c.col]}`);
}

function addWay(enter) {
  const body = enter.append("tbody");
  const head = body.append("tr").append("th").attr("scope", "rowgroup").attr("colspan", (way) => way.cells.length);
  for (const [tag, name] of [["b"], ["code"], ["span", "note"]]) head.append(tag).attr("class", name ?? null);
  body.append("tr").attr("class", "cells");
  return body;
}
