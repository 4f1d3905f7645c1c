// Compiles cells at build time; course/render/ojs/compiler.py runs it in V8. Both functions return JSON,
// for mistakes in the source too.
import {Parser} from "acorn";
import {ancestor} from "acorn-walk";
import {parseModule, walk} from "@observablehq/parser";

globalThis.browserNames = () => JSON.stringify(BROWSER_NAMES);
globalThis.compileCell = (source) => answer(source, () => parseModule(source).cells.map((cell) => compile(cell, source)));
globalThis.scanModule = (source) => answer(source, () => scan(source));

function answer(source, work) {
  try {
    return JSON.stringify({value: work()});
  } catch (error) {
    // For some syntax Observable's parser throws other errors than SyntaxError, without a position.
    const message = error.message.replace(/ \(\d+:\d+\)$/, "");
    return JSON.stringify({error: {message, ...place(source, error.pos ?? 0)}});
  }
}

// Lines as an editor counts them (acorn would also break them at U+2028), columns in characters.
function place(source, position) {
  const lines = source.slice(0, position).split(/\r\n?|\n/);
  return {line: lines.length, column: [...lines[lines.length - 1]].length + 1};
}

function refuse(node, message) {
  throw Object.assign(new SyntaxError(message), {pos: node.start});
}

// ---- A cell -----------------------------------------------------------------------------------

function compile(cell, source) {
  const {body, id} = cell;
  if (!body) refuse(cell, "an empty statement: remove the semicolon");
  const start = place(source, cell.start);
  if (body.type === "ImportDeclaration") return {...start, kind: "import", ...importOf(body, source)};
  refuseWhatQuartoDoesOtherwise(body);
  const inputs = inputsOf(cell, source);
  const code = functionOf(cell, inputs, source);
  checkAsModule(cell, code);
  return {
    ...start,
    kind: id?.type === "ViewExpression" ? "view" : id?.type === "MutableExpression" ? "mutable" : id ? "value" : "expression",
    name: id ? (id.id ?? id).name : null,
    isBlock: body.type === "BlockStatement",
    inputs: inputs.map(({name, node}) => ({name, ...place(source, node.start)})),
    code
  };
}

function importOf({source: from, specifiers, injections}, source) {
  if (injections) refuse(injections[0] ?? from, "import … with … {} is for notebooks; only ES modules can be imported");
  const names = specifiers.map(({local, imported, view, mutable, start}) => {
    if (view || mutable) refuse({start}, "viewof and mutable can't be imported from an ES module");
    return {name: local.name, exported: imported.name, ...place(source, start)};
  });
  return {module: from.value, moduleAt: place(source, from.start), names};
}

function refuseWhatQuartoDoesOtherwise(body) {
  ancestor(body, {
    ThisExpression(node, parents) {
      if (!parents.some(({type}) => /^(Function(Expression|Declaration)|Class)/.test(type))) {
        refuse(node, "this is not the cell's previous value under Quarto: name the element in a cell of its own");
      }
    },
    ImportExpression(node) {
      refuse(node, "import() inside a cell counts from another place under Quarto: import at the cell's start");
    },
    TaggedTemplateExpression(node) {
      const found = node.quasi.quasis.find(({value}) => /<\/script/i.test(value.raw));
      if (found) refuse(found, "</script in a tagged template would end the page's own script");
    }
  }, walk);
}

/** The names that the cell refers to, each once: {name, node, parameter}. */
function inputsOf({references}, source) {
  const inputs = new Map();
  for (const node of references) {
    const kind = {ViewExpression: "viewof", MutableExpression: "mutable"}[node.type];
    const name = kind ? `${kind} ${node.id.name}` : node.name;
    if (!inputs.has(name)) inputs.set(name, {name, node, parameter: kind ? unused(`$${kind}_${node.id.name}`, source) : name});
  }
  return [...inputs.values()];
}

function unused(name, source) {
  while (source.includes(name)) name += "$";
  return name;
}

function functionOf({body, async, generator}, inputs, source) {
  const parameters = new Map(inputs.map(({name, parameter}) => [name, parameter]));
  let text = "";
  let end = body.start;
  const replace = (node, by) => {
    text += source.slice(end, node.start) + by;
    end = node.end;
  };
  const found = [];
  ancestor(body, {ViewExpression: (node) => found.push(node), MutableExpression: (node) => found.push(node)}, walk);
  for (const node of [...new Set(found)].sort((a, b) => a.start - b.start)) {
    if (node.type === "ViewExpression") replace(node, parameters.get(`viewof ${node.id.name}`));
    else replace(node, `${parameters.get(`mutable ${node.id.name}`)}.value`);
  }
  text += source.slice(end, body.end);
  const head = `${async ? "async " : ""}function${generator ? "*" : ""} (${[...parameters.values()].join(", ")}) `;
  return head + (body.type === "BlockStatement" ? text : `{return (\n${text}\n);}`);
}

// The page runs it in a module, which refuses more syntax: one slip would stop every cell.
function checkAsModule(cell, code) {
  try {
    Parser.parse(`export default ${code}`, {ecmaVersion: 12, sourceType: "module"});
  } catch (error) {
    refuse(cell, error.message);
  }
}

// ---- An ES module -----------------------------------------------------------------------------

/** The imports and exports of a module; `all` if it exports all names of another. */
function scan(source) {
  const program = Parser.parse(source, {ecmaVersion: 2020, sourceType: "module"});
  const imports = [];
  const exports = [];
  let all = false;
  for (const node of program.body) {
    if (node.source) {
      const names = (node.specifiers ?? [])
        .map(({type, imported, local}) => imported?.name ?? (type === "ExportSpecifier" ? local.name : type === "ImportDefaultSpecifier" ? "default" : null))
        .filter(Boolean);
      imports.push({module: node.source.value, names, ...place(source, node.source.start)});
    }
    if (node.type === "ExportDefaultDeclaration") exports.push("default");
    if (node.type === "ExportAllDeclaration") node.exported ? exports.push(node.exported.name) : (all = true);
    if (node.type === "ExportNamedDeclaration") exports.push(...exportedNames(node));
  }
  return {imports, exports, all};
}

function exportedNames({declaration, specifiers}) {
  if (!declaration) return specifiers.map(({exported}) => exported.name);
  if (declaration.id) return [declaration.id.name];
  return declaration.declarations.flatMap(({id}) => boundNames(id));
}

function boundNames(pattern) {
  switch (pattern.type) {
    case "Identifier": return [pattern.name];
    case "ObjectPattern": return pattern.properties.flatMap((property) => boundNames(property.value ?? property.argument));
    case "ArrayPattern": return pattern.elements.filter(Boolean).flatMap(boundNames);
    case "AssignmentPattern": return boundNames(pattern.left);
    default: return boundNames(pattern.argument); // RestElement
  }
}
