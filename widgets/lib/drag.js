// A drawing whose mark follows the pointer.

/**
 * What such a drawing listens to. `put(event)` moves the mark: a mouse drags it from anywhere, a
 * finger by `handle`, a selector; elsewhere a finger scrolls the page, or taps.
 */
export function dragBy(handle, put) {
  const move = (event) => {
    const drawing = event.currentTarget;
    const isDown = event.type === "pointerdown";
    if (isDown && event.pointerType === "touch" && !event.target.closest(handle)) return;
    if (isDown) drawing.setPointerCapture(event.pointerId);
    else if (!drawing.hasPointerCapture(event.pointerId)) return;
    put(event);
  };
  return {move, hold: holdBy(handle)};
}

/**
 * Keep the page still under a finger on `handle`: touch-action of a part of a drawing has no effect
 * in Chromium, which would scroll.
 */
export const holdBy = (handle) => (event) => event.target.closest(handle) && event.preventDefault();
