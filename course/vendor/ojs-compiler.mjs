// OJS to JavaScript, at build time. Runs in QuickJS: see course/render/ojs.py.

import {parseModule} from "@observablehq/parser";

/** The statements of one cell as JSON, or {error: {message, line, column}}, both from 1. */
export function compile(source) {
  try {
    return JSON.stringify(parseModule(source).cells.map((cell) => statement(cell, source)));
  } catch (error) {
    if (!error.loc) throw error;
    const message = error.message.replace(/ \(\d+:\d+\)$/, "");
    return JSON.stringify({error: {message, line: error.loc.line, column: error.loc.column + 1}});
  }
}

function statement(cell, source) {
  const line = source.slice(0, cell.start).split("\n").length;
  if (cell.body && cell.body.type === "ImportDeclaration") {
    return {line, kind: "import", from: cell.body.source.value, bindings: cell.body.specifiers.map(binding)};
  }
  const [kind, name] = identity(cell.id);
  const {inputs, parameters, code} = body(cell, source);
  const keyword = `${cell.async ? "async " : ""}function${cell.generator ? "*" : ""}`;
  return {line, kind, name, inputs, code: `${keyword} (${parameters.join(", ")}) ${code}`};
}

function binding(specifier) {
  if (specifier.type !== "ImportSpecifier" || specifier.view || specifier.mutable) {
    throw Object.assign(new SyntaxError("only plain names can be imported: import {a, b as c} from …"),
      {loc: {line: 1, column: 0}});
  }
  return [specifier.imported.name, specifier.local.name];
}

function identity(id) {
  if (!id) return ["expression", null];
  if (id.type === "ViewExpression") return ["viewof", id.id.name];
  if (id.type === "MutableExpression") return ["mutable", id.id.name];
  return ["declaration", id.name];
}

// `viewof x` and `mutable x` are no JavaScript: each becomes a parameter of its own.
function body(cell, source) {
  const parameters = new Map();
  const edits = [];
  for (const reference of cell.references || []) {
    const special = {ViewExpression: "viewof", MutableExpression: "mutable"}[reference.type];
    const name = special ? `${special} ${reference.id.name}` : reference.name;
    if (!parameters.has(name)) parameters.set(name, special ? `$${parameters.size}` : name);
    if (special) {
      const text = parameters.get(name) + (special === "mutable" ? ".value" : "");
      edits.push({start: reference.start, end: reference.end, text});
    }
  }
  const {start, end, type} = cell.body;
  let code = source.slice(start, end);
  for (const edit of edits.sort((a, b) => b.start - a.start)) {
    code = code.slice(0, edit.start - start) + edit.text + code.slice(edit.end - start);
  }
  return {
    inputs: [...parameters.keys()],
    parameters: [...parameters.values()],
    code: type === "BlockStatement" ? code : `{ return (${code}\n); }`
  };
}
