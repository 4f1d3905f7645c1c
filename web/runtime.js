// assets/vendor/ojs-runtime.js: starts the cells of a page, which course/render/ojs/ compiles to calls
// of `define` and `load`. The page has Quarto's DOM.
import {Runtime} from "@observablehq/runtime";
import {Inspector} from "@observablehq/inspector";
import {input} from "../node_modules/@observablehq/stdlib/src/generators/input.js";

const main = new Runtime({}).module();

for (const script of document.querySelectorAll("script[data-ojs-define]")) {
  for (const {name, value} of JSON.parse(script.textContent).contents)
    main.define(name, [], () => value);
}

// Run each drawing cell in a task of its own the first time, from the top of the page down, so that
// the page can respond in between.
let drawing = 0;
const waiting = []; // [place, start]

function inTurn(body) {
  const place = drawing++;
  let drawn = false;
  return function (...inputs) {
    if (drawn) return body.apply(this, inputs);
    return new Promise((start) => {
      waiting.push([place, start]);
      setTimeout(startFirst);
    }).then(() => {
      drawn = true;
      return body.apply(this, inputs);
    });
  };
}

function startFirst() {
  const [[, start]] = waiting.sort(([a], [b]) => a - b).splice(0, 1);
  start();
}

/** Define a cell {place, at, kind, name, inputs}; `body` maps the inputs to the value. */
export function define({place, at, kind, name, inputs}, body) {
  if (kind === "expression") {
    main.variable(new Output(place, at)).define(inputs, inTurn(body));
  } else if (kind === "view") {
    main.variable(new Output(place, at)).define(`viewof ${name}`, inputs, inTurn(body));
    main.define(name, [`viewof ${name}`], input);
  } else {
    main.variable(new QuietOutput(place, at)).define(name, inputs, body);
  }
}

/** Import a module; `names` maps each name on the page to the module's name for it. */
export function load({place, at, module, names}, start) {
  const loaded = `module ${place}`; // a space, so that no cell can have this name
  const started = start(); // now: the runtime would begin at the foot of the page
  started.catch(() => {}); // told by the output
  main.variable(new ImportOutput(place, at)).define(loaded, [], () => started);
  for (const [name, exported] of Object.entries(names)) {
    main.define(name, [loaded], (exports) => {
      if (!(exported in exports)) throw new SyntaxError(`${module} exports no ${exported}`);
      return exports[exported];
    });
  }
}

const logged = new Set();

class Output extends Inspector {
  constructor(place, at) {
    const parent = document.getElementById(place);
    super(document.createElement("div"));
    if (parent) parent.append(this._node);
    this.at = at;
  }
  rejected(error, name) {
    // The error of a cell reaches all cells that use it, with the failed cell's name as `input`.
    const message = error?.message;
    if (!(error?.input && logged.has(message))) console.error(`${this.at}: ${error}`, error);
    logged.add(message);
    super.rejected(error, name);
  }
}

// Show a definition only if its value is an element or an error.
class QuietOutput extends Output {
  fulfilled(value, name) {
    if (value instanceof Node) return super.fulfilled(value, name);
    this._node.replaceChildren();
    this._node.classList.remove("observablehq--running", "observablehq--error");
  }
}

class ImportOutput extends QuietOutput {
  rejected(error) {
    super.rejected(error); // without the name, which only `load` knows
  }
}
