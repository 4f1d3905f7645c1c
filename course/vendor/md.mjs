// md`…`: Markdown to one element. What is put in with ${…} stays text, never markup.

import {marked} from "marked";

const escape = (value) => String(value).replace(/[&<>"'`*_{}[\]()#+.!|~\\-]/g, (c) => `&#${c.charCodeAt(0)};`);

// Quarto displays each import statement through md; readers have no use for that.
const isImport = (text) => /^\s*(`{3,}|~{3,})?\s*(js|javascript)?\s*import\b/.test(text);

export function md(strings, ...values) {
  const element = document.createElement("div");
  const text = strings.reduce((all, string, i) => all + escape(values[i - 1]) + string);
  if (!isImport(text)) element.innerHTML = marked.parse(text, {async: false});
  return element;
}
