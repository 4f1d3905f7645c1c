// How a token is written for a reader: bytes, spaces and new lines too.

const PARTS = /[\uee80-\ueeff]+/g; // bytes that are no character alone, as lib/tokenizer.js names them

/** Whether a token holds only a part of a letter or sign, which takes several bytes. */
export const isPart = (text) => text.search(PARTS) >= 0;

/** A text without such bytes. */
export const withoutParts = (text) => text.replace(PARTS, "");

/** "byte F0" where a text holds such a byte. */
export const nameBytes = (text) =>
  text.replace(
    PARTS,
    (bytes) => `byte${bytes.length > 1 ? "s" : ""} ${[...bytes].map(hex).join(" ")}`,
  );
const hex = (byte) => (byte.charCodeAt(0) - 0xee00).toString(16).toUpperCase();

/** A token as a reader sees it: its space is left out, and a mark stands for what has no shape. */
export const tokenText = (text) =>
  nameBytes(
    text
      .replace(/^ (?=.)/, "")
      .replace(/\n/g, "↵")
      .replace(/^\s+$/, "␣"),
  ) || "�";
