// The element that a widget draws in, once the page's scripts run.

/** An element of class `name` with `html` in it from the start; with `label`, a group of that name. */
export function liveElement(name, html, {label} = {}) {
  const node = document.createElement("div");
  node.className = `${name} widget-live`;
  if (label) {
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", label);
  }
  node.innerHTML = html;
  watchHeight(node);
  return node;
}

// Its place on the page has the height that it takes, stated. So what changes inside is laid out
// without the page around it: a third less work for an event. (Not by a class: Observable sets the
// place's class again at each drawing.)
let heights;

function watchHeight(node) {
  heights = heights ?? new ResizeObserver((changes) => changes.forEach(({target}) => stateHeight(target)));
  heights.observe(node);
}

function stateHeight(node) {
  const place = node.parentElement;
  if (!place) return;
  const height = node.getBoundingClientRect().bottom - place.getBoundingClientRect().top;
  Object.assign(place.style, {contain: "size layout", height: `${height}px`});
}
