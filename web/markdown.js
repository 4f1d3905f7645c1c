// assets/vendor/markdown.js: the parser behind `md`, loaded when it is first used.
import {Marked} from "marked";

const marked = new Marked({async: false, gfm: true});
const SLOT = /mdslot(\d+)end/;
const SAFE_ADDRESS = /^(https?:|mailto:|[^:]*$|[^:]*[/?#])/i;

export function render(strings, values) {
  const template = document.createElement("template");
  const text = strings.reduce((before, after, i) => `${before}mdslot${i - 1}end${after}`);
  template.innerHTML = marked.parse(dedent(text));
  const walker = document.createTreeWalker(
    template.content,
    NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
  );
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes)
    node.nodeType === Node.TEXT_NODE ? fillText(node, values) : fillAttributes(node, values);
  return template.content;
}

// A template literal is indented with its cell; four spaces would make code of it.
function dedent(text) {
  const indents = text
    .split("\n")
    .slice(1)
    .filter((line) => line.trim())
    .map((line) => line.search(/\S/));
  const common = indents.length ? Math.min(...indents) : 0;
  return text.replace(new RegExp(`\n {${common}}`, "g"), "\n").trim();
}

function fillText(node, values) {
  const pieces = node.data.split(new RegExp(SLOT, "g"));
  if (pieces.length > 1)
    node.replaceWith(...pieces.flatMap((piece, i) => (i % 2 ? shown(values[piece]) : piece)));
}

const shown = (value) =>
  Array.isArray(value)
    ? value.flatMap(shown)
    : value instanceof Node
      ? value
      : value == null
        ? ""
        : String(value);

function fillAttributes(element, values) {
  for (const {name, value} of [...element.attributes]) {
    if (!SLOT.test(value)) continue;
    const filled = value.replace(new RegExp(SLOT, "g"), (_, i) => shown(values[i]));
    const isCode = /^on|^(srcdoc|style)$/.test(name);
    const isAddress = /(href|src|action|data)$/.test(name);
    if (isCode || (isAddress && !SAFE_ADDRESS.test(filled))) element.removeAttribute(name);
    else element.setAttribute(name, filled);
  }
}
