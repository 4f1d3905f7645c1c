// Short arithmetic on lists of numbers.

export const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

export const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/** The whole numbers from `from` up to `to`, without it. */
export const range = (from, to) => Array.from({length: to - from}, (_, i) => from + i);

export const last = (list) => list[list.length - 1];
