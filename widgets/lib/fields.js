// The kinds of fields a widget has: {value, parse, format} and, for its control, the range.
// `value` is the default; parse(text) gives a value that fits, or undefined; format(value) is the
// text in the address.

export const integer = (value, {min = 0, max}) => ({
  value,
  min,
  max,
  step: 1,
  parse: (text) => (/^\d+$/.test(text) && +text >= min && +text <= max ? +text : undefined),
  format: String,
});

export const decimal = (value, {min, max, step}) => ({
  value,
  min,
  max,
  step,
  parse: (text) => (text.trim() !== "" && +text >= min && +text <= max ? +text : undefined),
  format: String,
});

export const flag = (value) => ({
  value,
  parse: (text) => ({1: true, 0: false})[text],
  format: (on) => (on ? "1" : "0"),
});

/** One of `options`, which are numbers or words. */
export const option = (value, options) => ({
  value,
  options,
  parse: (text) => options.find((one) => String(one) === text),
  format: String,
});

/** Some of `names`, written "2.4,4.3"; the state has their `values`. */
export const someOf = (names, values = names) => ({
  value: [],
  parse(text) {
    const chosen = text.split(",");
    return chosen.every((name) => names.includes(name))
      ? values.filter((_, i) => chosen.includes(names[i]))
      : undefined;
  },
  format: (chosen) => chosen.map((one) => names[values.indexOf(one)]).join(","),
});

/** A position in a text, or null for none. */
export const position = {
  value: null,
  parse: (text) => (/^\d{1,3}$/.test(text) ? +text : undefined),
  format: (at) => String(at ?? ""),
};

/** Any text; the address keeps those of at most `most` characters. */
export const text = (value, {most = 1500} = {}) => ({
  value,
  parse: (given) => (given.length <= most ? given : undefined),
  format: (now) => (now.length <= most ? now : value),
});

/** Rows of numbers, written "1,0.5;0,2"; only the shape of `value`, within ±limit, is read back. */
export const matrix = (value, {limit = 9.99} = {}) => ({
  value,
  min: -limit,
  max: limit,
  step: 0.1,
  parse(text) {
    const rows = text
      .split(";")
      .map((row) => row.split(",").map((cell) => (cell.trim() === "" ? NaN : Number(cell))));
    const fits =
      rows.length === value.length &&
      rows.every((row) => row.length === value[0].length && row.every((x) => Math.abs(x) <= limit));
    return fits ? rows.map((row) => row.map((x) => Math.round(x * 100) / 100 || 0)) : undefined;
  },
  format: (rows) => rows.map((row) => row.join(",")).join(";"),
});

/** The control's values: those listed, or the whole numbers of the range. */
export const valuesOf = ({options, min, max}) =>
  options ?? Array.from({length: max - min + 1}, (_, i) => min + i);
