// Widgets in parts of the page that are not shown: drawing them costs nothing until they are.

const waiting = new Map(); // element → what draws it as it should be by now
let isDivided = false; // whether this page shows one part at a time

/** Runs `draw` now, or, in a part that is not shown, when it is; of several that wait, the last. */
export function whenShown(element, draw) {
  if (!isDivided) return draw();
  waiting.set(element, draw);
  if (element.isConnected) drawShown();
  else requestAnimationFrame(drawShown); // by then it has its place
}

/** For a page that shows one part at a time: call before its widgets start, and after each change. */
export function drawShown() {
  isDivided = true;
  for (const [element, draw] of waiting) {
    if (!element.isConnected || element.closest("[hidden]")) continue;
    waiting.delete(element);
    draw();
  }
}
