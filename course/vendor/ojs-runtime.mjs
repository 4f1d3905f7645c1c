// Runs a page's OJS cells, compiled at build time, in the DOM that Quarto gives them.

import {Inspector} from "@observablehq/inspector";
import {Runtime} from "@observablehq/runtime";
import * as Generators from "../../node_modules/@observablehq/stdlib/src/generators/index.js";
import {html} from "../../node_modules/@observablehq/stdlib/src/html.js";
import {Mutable} from "../../node_modules/@observablehq/stdlib/src/mutable.js";
import {now} from "../../node_modules/@observablehq/stdlib/src/now.js";
import * as Promises from "../../node_modules/@observablehq/stdlib/src/promises/index.js";
import {svg} from "../../node_modules/@observablehq/stdlib/src/svg.js";

const builtins = {
  Generators: () => Generators, Mutable: () => Mutable, Promises: () => Promises,
  html: () => html, svg: () => svg, now, width: () => Generators.observe(mainWidth)
};

/**
 * Start the cells: {id, kind, name, inputs, define}, in the page's order.
 * kind: declaration, expression, viewof, mutable, inline, or import (shown nowhere).
 */
export function run(cells) {
  const main = new Runtime(builtins).module();
  for (const [name, value] of published()) main.define(name, [], () => value);
  for (const {id, kind, name, inputs, define} of cells) {
    const place = id && document.getElementById(id);
    if (kind === "viewof") {
      main.variable(shown(place)).define(`viewof ${name}`, inputs, define);
      main.variable(quiet(place)).define(name, [`viewof ${name}`], Generators.input);
    } else if (kind === "mutable") {
      main.define(`initial ${name}`, inputs, define);
      main.variable(quiet(place)).define(`mutable ${name}`, ["Mutable", `initial ${name}`], (M, x) => new M(x));
      main.variable(quiet(place)).define(name, [`mutable ${name}`], (mutable) => mutable.generator);
    } else {
      const observers = {expression: shown, inline, declaration: quiet};
      main.variable(observers[kind]?.(place)).define(name, inputs, define);
    }
  }
}

function* published() {
  for (const script of document.querySelectorAll('script[type="ojs-define"]')) {
    for (const {name, value} of JSON.parse(script.textContent).contents) yield [name, value];
  }
}

const spot = (place, tag = "div") => {
  const node = place.appendChild(document.createElement(tag));
  node.className = "observablehq";
  return node;
};

const tellConsole = (error, name) => console.error(`OJS cell ${name ?? ""}:`, error);

// An expression or a view: its value takes the place.
function shown(place) {
  const inspector = new Inspector(spot(place));
  return {
    pending: () => inspector.pending(),
    fulfilled: (value, name) => inspector.fulfilled(value, name),
    rejected(error, name) {
      inspector.rejected(error, name);
      tellConsole(error, name);
    }
  };
}

// A declaration shows nothing but what went wrong.
function quiet(place) {
  let inspector;
  return {
    fulfilled: () => inspector?._node.replaceChildren(),
    rejected(error, name) {
      inspector ??= new Inspector(spot(place));
      inspector.rejected(error, name);
      tellConsole(error, name);
    }
  };
}

function inline(place) {
  const node = spot(place, "span");
  return {
    fulfilled: (value) => node.replaceChildren(value instanceof Node ? value : String(value)),
    rejected: tellConsole
  };
}

function mainWidth(change) {
  const main = document.querySelector("main");
  let width = change(main.clientWidth);
  const observer = new ResizeObserver(() => {
    if (main.clientWidth !== width) width = change(main.clientWidth);
  });
  observer.observe(main);
  return () => observer.disconnect();
}
