// A widget's state, kept in the page's address, so that a view can be shared and Back goes back.

// The address follows when changes pause this long, in ms: a burst is one step for Back, and
// browsers refuse more than some hundred changes of the address in half a minute.
const PAUSE = 400;

/**
 * The values of `fields`, read from the address under "prefix.name" and written back to it.
 * `onBack()` runs after the reader went back or forward; `listen(target, type, handler)` registers.
 */
export function addressState(prefix, fields, {onBack, listen}) {
  const names = Object.keys(fields);
  const defaults = Object.fromEntries(names.map((name) => [name, fields[name].value]));
  const key = (name) => `${prefix}.${name}`;
  let state = read();
  let waiting = 0;
  let isStep = false; // whether what waits is a step for Back

  function read() {
    const query = new URLSearchParams(location.search);
    const parsed = (name) =>
      query.has(key(name)) ? fields[name].parse(query.get(key(name))) : undefined;
    return Object.fromEntries(names.map((name) => [name, parsed(name) ?? defaults[name]]));
  }

  function write() {
    clearTimeout(waiting);
    const url = new URL(location);
    for (const name of names) {
      const text = fields[name].format(state[name]);
      if (text === fields[name].format(defaults[name])) url.searchParams.delete(key(name));
      else url.searchParams.set(key(name), text);
    }
    if (url.href !== location.href) history[isStep ? "pushState" : "replaceState"](null, "", url);
    isStep = false;
  }

  listen(window, "popstate", () => {
    clearTimeout(waiting);
    state = read();
    onBack();
  });
  listen(window, "pagehide", write);
  // A link within the page starts a new entry: what waits still belongs to this one.
  listen(window, "click", ({target}) => target.closest?.("a[href]") && write(), {capture: true});

  return {
    get value() {
      return state;
    },
    /** Changes some values; `silently`: without a step for Back, as when a player moves on by itself. */
    set(changes, {silently = false} = {}) {
      state = {...state, ...changes};
      isStep = isStep || !silently;
      clearTimeout(waiting);
      waiting = setTimeout(write, PAUSE);
    },
    defaults,
  };
}
