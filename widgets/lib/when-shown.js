// Figures in parts of the page that are not shown: what changes there costs nothing until it is.

const waiting = new Map(); // element → what draws it as it should be by now
const isShown = (element) => element.isConnected && !element.closest("[hidden]");
let isDivided = false; // whether it is settled what is shown

/** Runs `draw` now, or when `element` is next shown; of several that wait, the last. */
export function whenShown(element, draw) {
  waiting.set(element, draw);
  if (element.isConnected) drawShown();
  else requestAnimationFrame(() => isDivided && drawShown()); // by then it has its place
}

/** For who shows one part of the page or another: draws what has waited there. */
export function drawShown() {
  isDivided = true;
  for (const [element, draw] of waiting) {
    if (!isShown(element)) continue;
    waiting.delete(element);
    draw();
  }
}
