// What lib/reader.js made of a text: for the page, which doesn't load the model's code.

/** The spaces at the end, after which the books' words don't begin: each word begins with its own. */
export const withoutEnd = (text) => text.replace(/ +$/, "");

/** What a token gives to the at + 1 tokens up to itself. */
export function rowOf({weights, pieces: {length}}, head, at) {
  const from = (head * length * (length + 1) + at * (at + 1)) / 2;
  return weights.subarray(from, from + at + 1);
}
