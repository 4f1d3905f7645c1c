// What surrounds a widget and may change while it is shown. Each observer calls `notify` at once
// and on every change, and returns the function that stops it, as Generators.observe expects.

/**
 * The colour tokens of assets/course.css: {page: "rgb(…)", query: "rgb(…)", …}. Each is looked up
 * when it is first asked for, since most pages ask for none; undefined where there is no such token.
 */
export function themeColors() {
  const known = new Map(); // those that are no token, too: to look them up costs as much
  const look = (name) => (known.has(name) ? known : known.set(name, currentColor(name))).get(name);
  return new Proxy({}, {get: (_, name) => (typeof name === "string" ? look(name) : undefined)});
}

function currentColor(name) {
  const token = `--color-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  if (!getComputedStyle(document.body).getPropertyValue(token)) return undefined;
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.color = `var(${token})`; // a token may depend on the scheme: ask what it comes to
  probe.style.setProperty("forced-color-adjust", "none"); // drawings keep their colours, as in widgets.css
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

// One for the page: to look a colour up is to style the page at once, which no drawing should do again.
let colors = null;
let observer = null;
const listeners = new Set();

export function observeTheme(notify) {
  observer =
    observer ??
    new MutationObserver(() => {
      colors = themeColors();
      for (const tell of listeners) tell(colors);
    });
  if (!listeners.size) {
    colors = themeColors();
    observer.observe(document.body, {attributes: true, attributeFilter: ["class"]});
  }
  listeners.add(notify);
  notify(colors);
  return () => {
    listeners.delete(notify);
    if (!listeners.size) observer.disconnect();
  };
}
