// Hide the last word from words of layer 1: two steps of a trained model, and whom its pronoun finds.

import {html, nothing, svg} from "../assets/vendor/lit.js";
import {choice, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, option} from "./lib/fields.js";
import {formatPercent} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/**
 * data: course/payloads/token_focus.py, `hiding`. state: `last`, the last word, and for each of
 * data.words, whether the last one is hidden from it. Gives {last, words: [{word, isHidden, looks:
 * its weight for the last word in layer 1, score: with the pronoun in layer 2, found: the weight that
 * the pronoun gives it there}], finds}.
 */
export function withHidden({words, endings}, state) {
  const {looks, found, scores} = endings[state.last];
  const isHidden = words.map((word) => state[word]);
  const row = isHidden.reduce((sum, hidden, i) => sum + (hidden ? 2 ** i : 0), 0);
  const all = words.map((word, i) => ({
    word,
    isHidden: isHidden[i],
    looks: isHidden[i] ? 0 : looks[i],
    score: scores[row][i],
    found: found[row][i],
  }));
  const best = all.reduce((a, b) => (b.found > a.found ? b : a));
  return {last: state.last, words: all, finds: best.word, weight: best.found};
}

// ---- Sentence, view ------------------------------------------------------------------------

export function sentence({last, words, finds, weight}) {
  const looks = words.map(
    ({word, isHidden, looks}) =>
      `${word} ${isHidden ? `can’t see ${last}` : `gives ${last} ${formatPercent(looks)}`}`,
  );
  const scores = words.map(({word, score}) => `${word} ${score.toFixed(1)}`);
  const found = words.map(({word, found}) => `${word} ${formatPercent(found)}`);
  return (
    `In layer 1, head 4, ${looks.join(", ")}. In layer 2, head 1, the scores with the pronoun are: ` +
    `${scores.join(", ")}. The pronoun gives ${found.join(", ")}. ` +
    `It finds ${finds}${weight < 0.6 ? ", but isn’t sure" : ""}.`
  );
}

const PLOT = {left: 42, from: 92, to: 168, right: 308, middle: 82, height: 188};
const yOf = (i) => 28 + 54 * i;

/** The way of a weight: from x1, y1 level to x2, y2 level. */
const way = (weight, [x1, y1], [x2, y2], gradient) => {
  const half = (x1 + x2) / 2;
  return svg`<path class="way" d="M${x1},${y1}C${half},${y1} ${half},${y2} ${x2},${y2}" stroke="url(#${gradient})" style="--weight:${weight}" />`;
};

/** From the key that is found, on the left, to the query that asks. */
const gradient = (id, x1, x2) =>
  svg`<linearGradient id=${id} gradientUnits="userSpaceOnUse" x1=${x1} x2=${x2}>
    <stop class="key" offset="0" /><stop class="query" offset="1" /></linearGradient>`;

/** A word that looks at the last one, on the left, and is found by the pronoun, on the right. */
function step({word, isHidden, looks, score, found}, i, finds) {
  const y = yOf(i);
  const beside = i === 2 ? y + 17 : y - 7; // above its way, or below the way that comes from above
  return svg`${isHidden ? nothing : way(looks, [PLOT.left, PLOT.middle], [PLOT.from, y], "hidden-word-look")}
    ${way(found, [PLOT.to, y], [PLOT.right, PLOT.middle], "hidden-word-find")}
    <rect class="taken" x=${PLOT.from} y=${y - 15} width=${PLOT.to - PLOT.from} height="30" rx="6" style="--weight:${looks}"></rect>
    <rect class=${word === finds ? "frame finds" : "frame"} x=${PLOT.from} y=${y - 15} width=${PLOT.to - PLOT.from} height="30" rx="6"></rect>
    <text x=${(PLOT.from + PLOT.to) / 2} y=${y + 5} text-anchor="middle">${word}</text>
    <text class=${isHidden ? "share muted" : "share"} x=${PLOT.from - 6} y=${beside} text-anchor="end">${isHidden ? "hidden" : formatPercent(looks)}</text>
    <text class="share" x=${PLOT.to + 6} y=${beside}>${score.toFixed(1)} → ${formatPercent(found)}</text>`;
}

const view = ({last, words, finds}, widget) => html`<div class="heads" aria-hidden="true">
    <span>Layer 1, head 4: how much each looks at <i>${last}</i></span>
    <span>Layer 2, head 1: score → how much <i>it</i> looks at each</span></div>
  <svg viewBox="0 0 356 ${PLOT.height}" aria-hidden="true">
    <defs>${gradient("hidden-word-look", PLOT.left, PLOT.from)}${gradient("hidden-word-find", PLOT.to, PLOT.right)}</defs>
    ${words.map((word, i) => step(word, i, finds))}
    <path class="own" d="M130,151C130,184 326,184 326,108"></path><text class="makes" x="226" y="184" text-anchor="middle">makes the query</text>
    <text x=${PLOT.left - 4} y=${PLOT.middle + 5} text-anchor="end">${last}</text>
    <text x=${PLOT.right + 5} y=${PLOT.middle + 5}>it,</text>
    <text x=${PLOT.right + 5} y=${PLOT.middle + 21}>asking</text></svg>
  ${widget.sentence({hidden: true})}`;

const hiddenFrom = (word) =>
  toggle(word, html`<span class="screen-reader-only">Hide the last word from </span>${word}`);

export const hiddenWord = defineWidget({
  name: "hidden-word",
  label: "Hide the last word",
  key: "hide",
  fields: ({words, endings}) => ({
    last: option("small", Object.keys(endings)),
    ...Object.fromEntries(words.map((word) => [word, flag(false)])),
  }),
  controls: ({data, state}) => [
    [choice("last", "… because it was too", Object.keys(data.endings), {isShown: true})],
    [
      () => html`<span aria-hidden="true">Hide <i>${state.last}</i> from</span>`,
      ...data.words.map(hiddenFrom),
      reset,
    ],
  ],
  model: withHidden,
  sentence,
  view,
  challenges: {
    "sure-of-trophy": ({last, words}) => last === "small" && words[0].found > 0.9,
  },
});
