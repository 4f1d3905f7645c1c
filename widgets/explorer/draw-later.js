// Parts of the explorer that are drawn after the rest, one a frame, so that no frame takes long.

import {render} from "../../assets/vendor/lit.js";

const waiting = []; // functions that draw a place each
let isOpening = true; // until all that the page opens with is drawn
const soon = () => requestAnimationFrame(() => setTimeout(drawNext)); // once this frame has been laid out

function drawFirst() {
  try {
    waiting[0](); // may add to those that wait
  } finally {
    waiting.shift();
  }
}

function drawNext() {
  try {
    if (waiting.length) drawFirst();
  } finally {
    if (waiting.length) soon();
    else isOpening = false;
  }
}

/** Draws all that waits, now: for what a reader has just opened. */
export function drawWaiting() {
  while (waiting.length) drawFirst();
}

/** An element that takes no room of its own. */
export const emptyPlace = () => Object.assign(document.createElement("div"), {className: "later"});

/** Such an element, to be kept as it is, whose `show(content)` draws the template that `content()` gives: first at once, but as the page opens. */
export function drawnLater() {
  const place = emptyPlace();
  let newest = null;
  function draw() {
    render(newest(), place);
    place.removeAttribute("aria-busy");
  }
  return Object.assign(place, {
    show(content) {
      newest = content;
      if (!isOpening && !place.hasChildNodes()) draw();
      else if (!waiting.includes(draw)) {
        place.setAttribute("aria-busy", "true");
        if (waiting.push(draw) === 1) soon();
      }
      return place;
    },
  });
}
