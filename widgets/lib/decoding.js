// Writes with the storyteller, with its cache or without, and times it.

import {draw} from "./next-token.js";
import {randomFrom, shares} from "./storyteller.js";

const [TEMPERATURE, TOP] = [0.8, 40];
const SLICE = 80; // ms after which it answers, so that a page can show what there is

/**
 * A function ({begin, tokens, isCached, most}) → {tokens, text, times}: it goes on with `tokens`, or
 * with the text `begin` where there are none, by some tokens, at most `most`. times: of each of them
 * the milliseconds that the layers took. What is drawn depends on the place alone, so that both ways
 * write the same.
 */
export function decoder(story, now = () => performance.now()) {
  const past = story.model.cache();
  let held = []; // the tokens whose keys and values are there

  function read(tokens, isCached) {
    if (!isCached) return story.model.run(tokens, {last: true}).logits[0];
    let same = 0;
    while (same < tokens.length - 1 && held[same] === tokens[same]) same += 1;
    past.length = same;
    held = [...tokens];
    return story.model.run(tokens.slice(same), {past, last: true}).logits[0];
  }

  return ({begin, tokens, isCached, most}) => {
    const all = tokens ? [...tokens] : story.encode(begin);
    const times = [];
    const started = now();
    do {
      const begun = now();
      const logits = read(all, isCached);
      times.push(now() - begun);
      all.push(draw(shares(logits, TEMPERATURE, TOP), randomFrom(all.length)()));
    } while (times.length < most && now() - started < SLICE);
    return {tokens: all, text: story.decode(all), times};
  };
}
