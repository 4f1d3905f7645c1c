// A part of the explorer that is drawn a frame after the rest, so that neither frame takes long.

import {render} from "../../assets/vendor/lit.js";

/** An element, to be kept as it is, whose `show(content)` draws the template that `content()` gives: first at once. */
export function later() {
  const place = Object.assign(document.createElement("div"), {className: "later"});
  let waiting = null;
  function draw() {
    render(waiting(), place);
    waiting = null;
    place.removeAttribute("aria-busy");
  }
  return Object.assign(place, {
    show(content) {
      const [isFirst, isIdle] = [!place.hasChildNodes(), !waiting];
      waiting = content;
      if (isFirst) draw();
      else {
        place.setAttribute("aria-busy", "true");
        if (isIdle) requestAnimationFrame(() => setTimeout(draw)); // once this frame has been laid out
      }
      return place;
    }
  });
}
