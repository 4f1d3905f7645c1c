// The place of a widget's drawing has its height stated, so that a change inside is laid out without
// the page around it: up to a quarter less work for an event.

/** Runs `task` when the page has nothing else to do; in Safari, which doesn't say when, after 2 s. */
export const whenIdle = globalThis.requestIdleCallback ?? ((task) => setTimeout(task, 2000));

let heights; // one observer for the page

/** States the height of `stage` on its parent from the first idle moment on: until then it only costs. */
export function watchHeight(stage) {
  // In the next frame: a size that changes while sizes are told is an error ("ResizeObserver loop").
  heights =
    heights ??
    new ResizeObserver((changes) => requestAnimationFrame(() => changes.forEach(stateHeight)));
  whenIdle(() => heights.observe(stage));
}

/** As it was told: to measure would be to lay out once more. */
function stateHeight({target, borderBoxSize}) {
  const {blockSize} = borderBoxSize[0];
  if (blockSize)
    Object.assign(target.parentElement.style, {contain: "size layout", height: `${blockSize}px`});
}
