// How a text goes on by a token: for workers, and for pages, which don't load the model's code.

/** The spaces at the end, after which the books' words don't begin: each word begins with its own. */
export const withoutEnd = (text) => text.replace(/ +$/, "");

/** The token at which the sum of shares passes `at`, from 0 to 1. */
export function draw(share, at) {
  let left = at;
  for (let i = 0; i < share.length; i += 1) {
    left -= share[i];
    if (left < 0) return i;
  }
  return share.reduce((best, x, i) => (x > share[best] ? i : best), 0); // what rounding left over
}
