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

/** Runs `task` when the page has nothing else to do; in Safari, which doesn't say when, after 2 s. */
export const whenIdle = globalThis.requestIdleCallback ?? ((task) => setTimeout(task, 2000));

// Its place on the page has the height that it takes, stated. So what changes inside is laid out
// without the page around it: up to a quarter less work for an event. (Not by a class: Observable
// sets the place's class again at each drawing.) That is for later: while a page arrives it only costs.
let heights;

function watchHeight(node) {
  heights = heights ?? new ResizeObserver((changes) => stateHeights(changes.map(({target}) => target)));
  whenIdle(() => heights.observe(node));
}

function stateHeights(nodes) {
  const measured = nodes.filter((node) => node.parentElement).map((node) => {
    const place = node.parentElement;
    return [place, node.getBoundingClientRect().bottom - place.getBoundingClientRect().top];
  }); // all are measured first: to measure after a change is to lay out once more
  for (const [place, height] of measured) Object.assign(place.style, {contain: "size layout", height: `${height}px`});
}
