// Change one word and see whose output moves: whether a mask keeps the future out of the past.

import {html} from "../assets/vendor/lit.js";
import {selfAttention} from "./lib/attention.js";
import {menu, slider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {decimal, integer} from "./lib/fields.js";
import {format} from "./lib/numbers.js";
import {paint} from "./mask-builder.js";
import {shareList} from "./lib/shares.js";

/** For each word how far its output moved, exactly; and the earlier words that moved at all. */
export function leakTest(sentence, {word, change}, {mask, tokens}) {
  const options = {hidden: (row, col) => !mask[row][col]};
  const changed = sentence.x.map((row, i) =>
    i === word ? row.map((number) => number + change) : row,
  );
  const before = selfAttention(sentence.x, sentence, options).output;
  const after = selfAttention(changed, sentence, options).output;
  const moved = before.map((row, i) =>
    Math.max(...row.map((number, c) => Math.abs(after[i][c] - number))),
  );
  return {
    tokens,
    mask,
    moved,
    word,
    leaks: moved.flatMap((far, i) => (i < word && far !== 0 ? [i] : [])),
  };
}

export function verdict({moved, word, leaks, tokens}) {
  if (moved.every((far) => far === 0))
    return `No output moved. Does anyone look at ${tokens[word]}?`;
  if (!word) return `${tokens[0]} is the first word: there is no past to leak into.`;
  if (!leaks.length)
    return `No leak: every output before ${tokens[word]} is the same to the last bit.`;
  return `Leak: ${leaks.map((i) => tokens[i]).join(", ")} moved, and ${tokens[word]} comes later.`;
}

/** "0" is exactly 0; what only rounds to it is shown as "< 0.01". */
const movedText = (far) => (far === 0 ? "0" : far < 0.005 ? "< 0.01" : format(far));

/** The mask that is followed, changed here: made causal again; or one cell, may the word before see the changed one? */
function maskButtons({tokens, mask, word}, {followed}) {
  const [row, col] = [Math.max(0, word - 1), word];
  const isOn = !mask[row][col];
  const flip = () =>
    followed.set({painted: paint(followed.state, {row, col, isOn}, tokens.length)});
  const text = `${isOn ? "Let" : "Don\u2019t let"} \u201c${tokens[row]}\u201d see \u201c${tokens[col]}\u201d`;
  const isCausal = mask.every((cells, i) => cells.every((on, j) => on === j <= i));
  const makeCausal = () =>
    followed.set({causal: true, window: tokens.length, prefix: 0, padding: 0, painted: []});
  return html`<p class="mask-buttons"><button type="button" ?disabled=${!word} @click=${flip}>${word ? text : "No word comes before"}</button>
    <button type="button" ?disabled=${isCausal} @click=${makeCausal}>Make the mask causal</button></p>`;
}

/** The verdict; and for the ear how far the bar of the changed word reaches. */
const told = (m) =>
  html`${verdict(m)}<span class="screen-reader-only"> The output of ${m.tokens[m.word]} itself
    moved by ${movedText(m.moved[m.word])}.</span>`;

function view(m, widget) {
  const {tokens, moved, word, leaks} = m;
  const most = Math.max(...moved) || 1;
  const found = moved.map((far, i) => ({
    token: tokens[i],
    weight: far / most,
    className: `${i === word ? "changed" : ""} ${leaks.includes(i) ? "leaks" : ""}`,
  }));
  return html`${maskButtons(m, widget)}${shareList(found, {format: (share) => movedText(share * most), label: "How far each output moved"})}
    <div class=${leaks.length ? "verdict leak" : "verdict"}>${widget.sentence()}</div>`;
}

/** Follows the mask builder: the mask is the reader's. */
export const leakTester = defineWidget({
  name: "leak-test",
  label: "Leak test",
  key: "leak",
  fields: ({tokens}) => ({
    word: integer(tokens.length - 1, {max: tokens.length - 1}),
    change: decimal(1, {min: -2, max: 2, step: 0.1}), // how far all its numbers move
  }),
  controls: ({data}) => [
    [
      menu("word", "Change the numbers of", data.tokens),
      slider("change", "by", {before: "Change"}),
    ],
  ],
  model: leakTest,
  sentence: told,
  view,
  challenges: {leak: ({leaks}) => leaks.length > 0},
});
