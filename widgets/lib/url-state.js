// What a reader has chosen, kept in the address so that a view can be shared and Back goes back.
// A field says how it reads and writes: {value, parse(text) → value or undefined, format(value)}.

export const integer = (value, {min, max}) => ({
  value,
  parse: (text) => (/^\d+$/.test(text) && +text >= min && +text <= max ? +text : undefined),
  format: String
});

export const decimal = (value, {min, max}) => ({
  value,
  parse: (text) => (text.trim() !== "" && +text >= min && +text <= max ? +text : undefined),
  format: String
});

export const flag = (value) => ({
  value,
  parse: (text) => ({1: true, 0: false})[text],
  format: (on) => (on ? "1" : "0")
});

/** Rows of numbers, written "1,0.5;0,2"; only the shape of `value`, within ±limit, is read back. */
export const matrix = (value, {limit = 9.99} = {}) => ({
  value,
  parse(text) {
    const rows = text.split(";").map((row) => row.split(",").map((cell) => (cell.trim() === "" ? NaN : Number(cell))));
    const fits = rows.length === value.length
      && rows.every((row) => row.length === value[0].length && row.every((x) => Math.abs(x) <= limit));
    return fits ? rows.map((row) => row.map((x) => Math.round(x * 100) / 100 || 0)) : undefined;
  },
  format: (rows) => rows.map((row) => row.join(",")).join(";")
});

/** A computed cell of a matrix, and the step it was chosen in, written "3.weights.2.1". */
export const cell = (value, {matrices, size}) => ({
  value,
  parse(text) {
    const [, step, name, row, col] = /^(\d)\.(\w+)\.(\d)\.(\d)$/.exec(text) ?? [];
    if (!matrices.includes(name) || row >= size || col >= size) return undefined;
    return {step: +step, matrix: name, row: +row, col: +col};
  },
  format: ({step, matrix: name, row, col}) => `${step}.${name}.${row}.${col}`
});

// The address follows when changes pause this long, in ms: one burst is one step for Back, and
// browsers refuse more than some hundred changes of the address in half a minute.
const PAUSE = 400;

/**
 * The fields as one store, itself a view: `value` holds them all, "input" tells of any change.
 * `view(name)` is one field, for Inputs.bind; `set(values)` changes several at once; `reset()`.
 */
export function urlState(prefix, fields, {invalidation} = {}) {
  const names = Object.keys(fields);
  const defaults = Object.fromEntries(names.map((name) => [name, fields[name].value]));
  const views = Object.fromEntries(names.map((name) => [name, new EventTarget()]));
  const store = new EventTarget();
  const key = (name) => `${prefix}.${name}`;
  let waiting;

  function read() {
    const query = new URLSearchParams(location.search);
    for (const name of names) {
      const text = query.get(key(name));
      views[name].value = (text === null ? undefined : fields[name].parse(text)) ?? defaults[name];
    }
  }

  function writeSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(write, PAUSE);
  }
  function write() {
    clearTimeout(waiting);
    const url = new URL(location);
    for (const name of names) {
      const text = fields[name].format(views[name].value);
      if (text === fields[name].format(defaults[name])) url.searchParams.delete(key(name));
      else url.searchParams.set(key(name), text);
    }
    if (url.href !== location.href) history.pushState(null, "", url);
  }

  // The fields' own listeners (bound inputs) hear first; the store tells everyone else once.
  let telling = false;
  function tell(changed) {
    telling = true;
    changed.forEach((name) => views[name].dispatchEvent(new Event("input")));
    telling = false;
    changedNow();
  }
  function changedNow() {
    if (telling) return;
    writeSoon();
    store.dispatchEvent(new Event("input"));
  }
  function goBack() {
    clearTimeout(waiting);
    read();
    tell(names);
  }

  // A link within the page starts a new entry: what waits still belongs to this one.
  const writeBeforeLinks = ({target}) => target.closest?.("a[href]") && write();

  read();
  names.forEach((name) => views[name].addEventListener("input", changedNow));
  addEventListener("popstate", goBack);
  addEventListener("pagehide", write);
  addEventListener("click", writeBeforeLinks, true);
  invalidation?.then(() => {
    removeEventListener("popstate", goBack);
    removeEventListener("pagehide", write);
    removeEventListener("click", writeBeforeLinks, true);
  });

  function set(values) {
    for (const [name, value] of Object.entries(values)) views[name].value = value;
    tell(Object.keys(values));
  }
  Object.defineProperty(store, "value", {
    get: () => Object.fromEntries(names.map((name) => [name, views[name].value]))
  });
  return Object.assign(store, {view: (name) => views[name], set, reset: () => set(defaults)});
}
