// A text as the tokens of a model, and back: storyteller, grammar and induction read differently.

import {withoutEnd} from "../lib/next-token.js";
import {tokenizer} from "../lib/tokenizer.js";

const KNOWN = 3; // unknown words that a sentence names

/**
 * {tokens(text), text(id), pieces(ids)} for a model of the course. `kind` is "storyteller",
 * "grammar" or "induction". Throws an Error to show where a text has nothing to read, or what the
 * model doesn't know.
 */
export function vocabularyOf({config: {vocabulary}}, kind) {
  const ids = new Map(vocabulary.map((word, id) => [word, id]));
  const bytes = kind === "storyteller" ? tokenizer(vocabulary) : null;
  const cut = {
    storyteller: (text) => bytes.encode(withoutEnd(text)),
    grammar: (text) => lookUp(split(text), ids, "words"),
    induction: (text) => lookUp([...text.toLowerCase()], ids, "letters and marks"),
  }[kind];
  const text = bytes ? bytes.name : (id) => vocabulary[id];

  function tokens(whole) {
    const found = cut(whole);
    if (!found.length) throw new Error("There is no text yet: type a few words.");
    return found;
  }

  return {tokens, text, pieces: bytes ? bytes.pieces : (all) => all.map(text)};
}

/** As models/grammar/words.py: words and marks, in small letters. */
const split = (text) =>
  text
    .toLowerCase()
    .replace(/([a-z])n['’]t(?![\p{L}\p{N}_])/gu, "$1 not")
    .match(/\[(?:mask|pad)\]|[\p{L}\p{N}]+|[^\p{L}\p{N}_\s]/gu) ?? [];

function lookUp(words, ids, what) {
  const unknown = [...new Set(words)].filter((word) => !ids.has(word));
  if (!unknown.length) return words.map((word) => ids.get(word));
  const named = unknown
    .slice(0, KNOWN)
    .map((word) => `“${word.slice(0, 20)}”`)
    .join(", ");
  throw new Error(
    `This model doesn't know ${named}${unknown.length > KNOWN ? " and others" : ""}: it has ${ids.size} ${what}.`,
  );
}
