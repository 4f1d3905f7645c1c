// Two nouns whose values are exchanged in one head of a trained model: the same weights, another guess.

import {html, nothing, svg} from "../assets/vendor/lit.js";
import {menu, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/**
 * data: {sentences: [{words, nouns: [first, second], weights: of the last word, own, exchanged}]}, and
 * of the last two each {first: the likeliest word, chance: its, one and several: [chance of *is* or
 * *are*, of all verbs of this number]}. `found`: at each noun, the one whose value stands there.
 */
export function withValues({sentences}, {sentence, exchange}) {
  const {words, nouns, weights, own, exchanged} = sentences[sentence];
  return {
    words,
    nouns,
    weights,
    isExchanged: exchange,
    found: exchange ? [...nouns].reverse() : nouns,
    before: own,
    now: exchange ? exchanged : own,
  };
}

export const GOALS = {
  turn: ({before, now}) => before.first === "are" && now.first === "is",
  keep: ({isExchanged, before, now}) => isExchanged && before.first === now.first,
};

// ---- Sentence, view ------------------------------------------------------------------------

const first = (guess) => `${guess.first}, ${format(guess.chance)}`;
const sums = ({one, several}) =>
  `verbs for one get ${format(one[1])}, and those for several ${format(several[1])}`;

export function sentence({words, nouns, weights, isExchanged, found, before, now}) {
  const asks = words[words.length - 1];
  const looks = nouns.map((i, at) => {
    const whose = isExchanged ? `, where it finds the value of ${words[found[at]]}` : "";
    return `${format(weights[i])} to the noun ${words[i]}${whose}`;
  });
  const was = isExchanged ? ` Before, it was ${first(before)}; ${sums(before)}.` : "";
  return `After “${words.join(" ")}”, ${asks} gives ${looks.join(", and ")}. The first guess is ${first(now)}; ${sums(now)}.${was}`;
}

const middle = (i, {words}) => `${(100 * (i + 0.5)) / words.length}%`;

/** The words, the weights that the last one gives, and the values that they fetch at the nouns. */
function row(m) {
  const {words, nouns, weights, found} = m;
  const way = (i, at) =>
    svg`<line class="way" x1=${middle(i, m)} x2=${middle(found[at], m)} y1="0" y2="100%" style="--weight:${weights[i].toFixed(3)}" />`;
  const cell = (weight) =>
    html`<i class="weighted" style="--weight:${weight.toFixed(3)}">${format(weight)}</i>`;
  const value = (i) =>
    html`<span class="value" style="grid-column:${i + 1}">value of ${words[i]}</span>`;
  return html`<div class="row" style="--words:${words.length}">
    ${words.map((word, i) => html`<b class=${i === words.length - 1 ? "asks" : ""}>${word}</b>`)}
    ${weights.map(cell)}
    <svg class="ways">${nouns.map(way)}</svg>
    ${[...nouns].sort((a, b) => a - b).map(value)}</div>`;
}

/** One bar for the verbs of a number, dark for *is* or *are*; the mark is where it ended before. */
function verbs(name, word, m) {
  const of = (guess) => guess[name];
  const [verb, all] = of(m.now);
  const before = of(m.before)[1];
  const width = (share) => `${(100 * share).toFixed(2)}%`;
  return html`<div class=${m.now.first === word ? "verbs leads" : "verbs"}><span class="name">for ${name}</span>
    <span class="track"><span class="all" style="width:${width(all)}"></span><span class="verb" style="width:${width(verb)}"></span>
    ${m.isExchanged ? html`<span class="before" style="left:${width(before)}"></span>` : nothing}</span>
    <span class="told"><i>${word}</i> ${format(verb)}, all ${format(all)}</span></div>`;
}

const view = (m, widget) => html`<div aria-hidden="true">
    <p class="label">Layer 2, head 2: weights of the last word, and the values that they fetch</p>
    ${row(m)}
    <p class="label guess">First guess: <b>${m.now.first}</b> ${format(m.now.chance)}${
      m.isExchanged
        ? html`<span class="was">with their own values: ${m.before.first}
    ${format(m.before.chance)}</span>`
        : nothing
    }</p>
    <p class="label">Chances of all verbs …</p>
    ${verbs("one", "is", m)}${verbs("several", "are", m)}</div>
  ${widget.sentence({hidden: true})}`;

export const exchangedValues = defineWidget({
  name: "exchanged-values",
  label: "Exchange the values of two nouns",
  key: "exchange",
  fields: ({sentences}) => ({
    sentence: integer(0, {max: sentences.length - 1}),
    exchange: flag(false),
  }),
  controls: ({data: {sentences}}) => [
    [
      menu(
        "sentence",
        "Sentence",
        sentences.map(({words}) => words.join(" ")),
      ),
      toggle("exchange", "Exchange the two values"),
      reset,
    ],
  ],
  model: withValues,
  sentence,
  view,
  challenges: GOALS,
});
