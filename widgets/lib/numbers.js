// How numbers are typed and shown in every widget.

const MINUS = "\u2212";
const signed = (text) => text.replace(/^-(0(?:\.0*)?)$/, "$1").replace("-", MINUS);

/** A computed number in three digits: 0.07, 4.50, 12.3, 200; powers of ten from 100,000 on. */
export function format(x) {
  const size = Math.abs(x);
  if (size >= 1e5) return signed(x.toExponential(1).replace("e+", "e"));
  return signed(x.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0));
}

/** Three decimals, for arithmetic that a reader may follow with a calculator. */
export const formatFine = (x) => (Math.abs(x) >= 1e5 ? format(x) : signed(x.toFixed(3)));

/** A sum of products of typed numbers, whose two decimals make four: all of them, and at least three. */
export const formatExact = (x) =>
  Math.abs(x) >= 1e5 ? format(x) : signed(x.toFixed(4).replace(/0$/, ""));

/** Two digits, for many numbers beside one another: 2.4, −37. */
export const formatShort = (x) => signed(x.toFixed(Math.abs(x) < 9.95 ? 1 : 0));

/** For what may be far below 1: three decimals, or 1.2e−8 where they would be zeros. */
export const formatSmall = (x) => (x && x < 0.001 ? signed(x.toExponential(1)) : formatFine(x));

/** A number that was typed, exactly as it is: one or two decimals, or none where steps are whole. */
export function formatEntry(x, {step} = {}) {
  if (step === 1) return signed(String(x));
  return signed(Number.isInteger(x * 10) ? x.toFixed(1) : x.toFixed(2));
}

export const formatPercent = (share) => `${Math.round(share * 100)}\u202f%`;

/** A probability: its whole percent, a digit more below ten. */
export const chance = (share) =>
  share >= 0.995
    ? "99+\u202f%"
    : share >= 0.0995
      ? `${(100 * share).toFixed(0)}\u202f%`
      : share >= 0.001
        ? `${(100 * share).toFixed(1)}\u202f%`
        : "< 0.1\u202f%";

/** A loss, in nats. */
export const nats = (loss) => loss.toFixed(2);

/** With a comma for each thousand: toLocaleString's first call is slow. */
export const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** 1st, 2nd, 3rd, 4th. */
export const ordinal = (n) =>
  `${n}${(n % 100 > 10 && n % 100 < 14 ? "" : ["", "st", "nd", "rd"][n % 10]) || "th"}`;

/** What a reader typed: {value}, or {hint} in plain words where it is no number from min to max. */
export function parseEntry(text, {min = -9.99, max = 9.99, step} = {}) {
  const plain = text.trim().replaceAll(MINUS, "-").replace(",", ".");
  const isNumber = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain);
  const value = Number(plain);
  const range = `from ${signed(String(min))} to ${signed(String(max))}`;
  if (plain === "" || !isNumber) return {hint: `Type one number, ${range}.`};
  const isBelow = value < min || (min >= 0 && plain.startsWith("-")); // -0 may become -0.5
  if (isBelow || value > max) return {hint: `Only numbers ${range}.`};
  if (step === 1 && !Number.isInteger(value)) return {hint: `Only whole numbers, ${range}.`};
  return {value: Math.round(value * 100) / 100 || 0};
}
