// How the ground floor writes tokens, shares and losses.

const PARTS = /[\uee80-\ueeff]+/g; // bytes that are no character alone, as lib/tokenizer.js names them

/** Whether a token holds only a part of a letter or sign, which takes several bytes. */
export const isPart = (text) => text.search(PARTS) >= 0;

/** A text without such bytes. */
export const withoutParts = (text) => text.replace(PARTS, "");

/** "byte F0" where a text holds such a byte. */
export const told = (text) => text.replace(PARTS, (bytes) => `byte${bytes.length > 1 ? "s" : ""} ${[...bytes].map(hex).join(" ")}`);
const hex = (byte) => (byte.charCodeAt(0) - 0xee00).toString(16).toUpperCase();

/** A token as a reader sees it: its space is left out, and a mark stands for what has no shape. */
export const shown = (text) => told(text.replace(/^ (?=.)/, "").replace(/\n/g, "↵").replace(/^\s+$/, "␣")) || "�";

export const chance = (share) =>
  share >= 0.995 ? "99+\u202f%" : share >= 0.0995 ? `${(100 * share).toFixed(0)}\u202f%` : share >= 0.001 ? `${(100 * share).toFixed(1)}\u202f%` : "< 0.1\u202f%";

export const nats = (loss) => loss.toFixed(2);

export const last = (list) => list[list.length - 1];

/** With a comma for each thousand: toLocaleString's first call is slow. */
export const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** 1st, 2nd, 3rd, 4th. */
export const ordinal = (n) => `${n}${(n % 100 > 10 && n % 100 < 14 ? "" : ["", "st", "nd", "rd"][n % 10]) || "th"}`;
