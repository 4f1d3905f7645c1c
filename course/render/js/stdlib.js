// The names that a cell can use without an import: fewer than Quarto's, and none that loads files.
// Observable's own library would add code that fetches from public CDNs.
// course/render/ojs/page_script.py lists the same names.
import {html, svg} from "htl";
import * as Generators from "../../../node_modules/@observablehq/stdlib/src/generators/index.js";
import * as Promises from "../../../node_modules/@observablehq/stdlib/src/promises/index.js";
import {Mutable} from "../../../node_modules/@observablehq/stdlib/src/mutable.js";
import {now} from "../../../node_modules/@observablehq/stdlib/src/now.js";

export const builtins = {
  Generators: () => Generators,
  Mutable: () => Mutable,
  Promises: () => Promises,
  html: () => html,
  svg: () => svg,
  now,
  width
};

// The width of the text column. A drawing may add a scrollbar, which narrows the column, which
// redraws without it, and so on; so an immediate return to the last width is not reported.
function width() {
  const main = document.querySelector("main") || document.body;
  return Generators.observe((change) => {
    let before, last, since = -Infinity;
    const observer = new ResizeObserver(() => {
      const width = main.clientWidth;
      const time = performance.now();
      if (width === last || (width === before && time - since < 300)) return;
      [before, last, since] = [last, width, time];
      change(width);
    });
    observer.observe(main);
    return () => observer.disconnect();
  });
}
