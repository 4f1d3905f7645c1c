// Q, K and V keep their colours in code, as in formulas and figures: names get a highlight of the
// browser's, so that the page's elements stay as they are. Browsers without highlights show plain code.

const NAMES = /\b(?:W_)?(?:(Q|q|query|queries)|(K|k|key|keys)|(V|v|value|values))\b(?!=lambda)/g;
const GROUPS = ["query", "key", "value"];
const IS_TEXT = ".co, .st, .ss, .do, .cn"; // comments and strings

export function colourCode(main = document.querySelector("main")) {
  if (!globalThis.CSS?.highlights) return;
  const ranges = GROUPS.map(() => []);
  for (const code of main.querySelectorAll("code.python")) {
    const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) mark(walk.currentNode, ranges);
  }
  GROUPS.forEach((name, i) => CSS.highlights.set(name, new Highlight(...ranges[i])));
}

function mark(text, ranges) {
  if (text.parentElement.closest(IS_TEXT)) return;
  for (const match of text.data.matchAll(NAMES)) {
    const group = match.slice(1).findIndex(Boolean);
    const range = new StaticRange({
      startContainer: text,
      startOffset: match.index,
      endContainer: text,
      endOffset: match.index + match[0].length,
    });
    ranges[group].push(range);
  }
}
