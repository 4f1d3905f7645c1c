// Reads texts with the storyteller, and says what a page shows of them in a form that a worker can post.

import {draw, withoutEnd} from "./next-token.js";
import {isPart} from "./token-text.js";

const GUESSES = 5;
const TOP = 40; // tokens of which the next is drawn

/**
 * A function ({text, off, temperature, write}) → {text, off, temperature, pieces, weights, guesses}.
 * off        heads without effect, counted from 0 through all layers
 * write      whether the text is to go on by a token first
 * weights    flat: of each head the rows of all tokens, of which row i has i + 1
 * guesses    for each token what may follow it, [{text, share}], the likeliest first
 * Throws an Error to show, as the storyteller does. `random` gives numbers from 0 to 1.
 */
export function reader(story, random = Math.random) {
  const [perLayer] = story.config.num_heads;
  let past = null;
  let pastOff = "";
  let guesses = []; // of the tokens so far, at `heat`
  let heat = 1;

  function change(text, off) {
    const readable = withoutEnd(text);
    const isSame = past && pastOff === String(off);
    const count = isSame ? past.change(readable) : 0;
    if (!isSame)
      past = story.begin(readable, {
        off: off.map((head) => [Math.floor(head / perLayer), head % perLayer]),
      });
    pastOff = String(off);
    guesses = guesses.slice(0, count);
  }

  /** Of all tokens; only those that are new are computed. */
  function guessed(temperature) {
    if (temperature !== heat) guesses = [];
    heat = temperature;
    for (let at = guesses.length; at < past.tokens.length; at += 1) {
      guesses.push(
        past.guesses({temperature, count: GUESSES, at}).map(({text, share}) => ({text, share})),
      );
    }
    return [...guesses];
  }

  function goOn(text, temperature) {
    // A part of a character can't stand in a text.
    const whole = past
      .guesses({temperature, topK: TOP, count: TOP})
      .filter((guess) => !isPart(guess.text));
    const share = whole.map((guess) => guess.share);
    if (!whole.length) return text;
    return withoutEnd(text) + whole[draw(share, random() * share.reduce((a, b) => a + b))].text;
  }

  return ({text, off = [], temperature = 1, write = false}) => {
    change(text, off);
    const now = write ? goOn(text, temperature) : text;
    if (now !== text) change(now, off);
    return {
      text: now,
      off,
      temperature,
      pieces: story.pieces(past.tokens),
      weights: flat(past.weights),
      guesses: guessed(temperature),
    };
  };
}

function flat(layers) {
  const heads = layers.flat();
  const length = heads[0].length;
  const weights = new Float32Array((heads.length * length * (length + 1)) / 2);
  let at = 0;
  for (const rows of heads) {
    for (const row of rows) {
      weights.set(row, at);
      at += row.length;
    }
  }
  return weights;
}
