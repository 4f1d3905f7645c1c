// Change one word and see whose output moves: whether a mask keeps the future out of the past.

import {liveElement} from "./lib/live.js";
import {format} from "./lib/numbers.js";
import {setText} from "./lib/dom.js";
import {drawShares} from "./lib/shares.js";
import {selfAttention} from "./lib/attention.js";
import {decimal, integer} from "./lib/url-state.js";

// ---- Model ---------------------------------------------------------------------------------

/** What a reader can choose: a word, and how far all its numbers move. For urlState. */
export const leakFields = (size) => ({
  word: integer(size - 1, {min: 0, max: size - 1}),
  change: decimal(1, {min: -2, max: 2})
});

/** For each word how far its output moved, exactly; and the earlier words that moved at all. */
export function leakTest(x, projections, mask, {word, change}) {
  const options = {hidden: (row, col) => !mask[row][col]};
  const changed = x.map((row, i) => (i === word ? row.map((number) => number + change) : row));
  const before = selfAttention(x, projections, options).output;
  const after = selfAttention(changed, projections, options).output;
  const moved = before.map((row, i) => Math.max(...row.map((number, c) => Math.abs(after[i][c] - number))));
  return {moved, word, leaks: moved.flatMap((far, i) => (i < word && far !== 0 ? [i] : []))};
}

// ---- Summary -------------------------------------------------------------------------------

export function verdict({moved, word, leaks}, tokens) {
  if (moved.every((far) => far === 0)) return `No output moved. Does anyone look at ${tokens[word]}?`;
  if (!word) return `${tokens[0]} is the first word: there is no past to leak into.`;
  if (!leaks.length) return `No leak: every output before ${tokens[word]} is the same to the last bit.`;
  return `Leak: ${leaks.map((i) => tokens[i]).join(", ")} moved, and ${tokens[word]} comes later.`;
}

// ---- View ----------------------------------------------------------------------------------

/** A drawing in one element of its own: draw(result, {tokens}) updates it and returns it. */
export function leakTestView(d3) {
  const root = d3.select(emptyView());
  return (result, {tokens}) => {
    const most = Math.max(...result.moved) || 1;
    const found = result.moved.map((far, i) => ({token: tokens[i], weight: far / most}));
    const list = root.select("ul").call(drawShares, found, (share) => movedText(share * most));
    list.selectAll("li")
      .classed("changed", (_, i) => i === result.word)
      .classed("leaks", (_, i) => result.leaks.includes(i));
    setText(root.select(".verdict").classed("leak", result.leaks.length > 0), () => verdict(result, tokens));
    return root.node();
  };
}

/** "0" is exactly 0; what only rounds to it is shown as "< 0.01". */
const movedText = (far) => (far === 0 ? "0" : far < 0.005 ? "< 0.01" : format(far));

function emptyView() {
  return liveElement("leak-test", `<ul class="shares" aria-label="How far each output moved"></ul><p class="verdict" aria-live="polite"></p>`, {label: "Leak test"});
}
