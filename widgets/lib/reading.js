// What lib/reader.js made of a text: for the page, which doesn't load the model's code.

/** The spaces at the end, after which the books' words don't begin: each word begins with its own. */
export const withoutEnd = (text) => text.replace(/ +$/, "");

/** What a token gives to the at + 1 tokens up to itself. */
export function rowOf({weights, pieces: {length}}, head, at) {
  const from = (head * length * (length + 1) + at * (at + 1)) / 2;
  return weights.subarray(from, from + at + 1);
}

/** The token at which the sum of shares passes `at`, from 0 to 1. */
export function draw(share, at) {
  let left = at;
  for (let i = 0; i < share.length; i += 1) {
    left -= share[i];
    if (left < 0) return i;
  }
  return share.reduce((best, x, i) => (x > share[best] ? i : best), 0); // what rounding left over
}
