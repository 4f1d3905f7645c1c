// Hide the import statements that Quarto shows through `md` as code blocks.
const isImportDisplay = ({length, 0: start}, text) =>
  length === 2 && start.trim() === "~~~javascript" && /^import\s*\{/.test(text);

/**
 * Markdown as an element. The text is Markdown; what stands in `${…}` is text or nodes, never
 * Markdown or markup, whoever typed it. Pages without it don't load the Markdown parser.
 */
export function md(strings, ...values) {
  if (isImportDisplay(strings, values[0])) return document.createElement("span");
  const element = document.createElement("div");
  import("./markdown.js").then(
    ({render}) => element.append(render(strings, values)),
    () => element.append(String.raw({raw: strings}, ...values)),
  );
  return element;
}
