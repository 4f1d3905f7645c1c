// One example, symbol by symbol: what stands there, what is asked, and what each model answers.

import {html, nothing} from "../../assets/vendor/lit.js";
import {formatPercent} from "../lib/numbers.js";
import {moveByKey} from "../lib/words.js";
import {answer, symbol} from "./look.js";
import {TASKS, askedAt} from "./tasks.js";

const heard = (words) => html`<span class="screen-reader-only">${words}</span>`;

/** A cell for each question at a symbol: what `cell` makes of its place in the targets, empty cells where nothing is asked. */
function cells(m, i, cell, empty) {
  const asked = askedAt(m.task, m.example.targets, i);
  return asked.length ? asked.map(cell) : TASKS[m.task].questions.map((_, k) => empty(k));
}

/** What a model answers at a symbol, for the eye and the ear. */
const given = (side, i, m) => cells(m, i, (at) => {
  const [share, isRight] = [side.reading.shares[at], side.isRight[at]];
  return html`${heard("answered:")}<span class=${isRight ? "given right weighted" : "given wrong"} style="--share:${share.toFixed(2)}">${answer(m.task, side.reading.answers[at])}</span>
    ${heard(`with ${formatPercent(share)}, ${isRight ? "right" : "wrong"}`)}`;
}, () => html`<span class="given none"></span>`);

const asked = (i, m) => cells(m, i, (at) => html`${heard("asked:")}<span class="asked">${answer(m.task, m.example.targets[at])}</span>`,
  (k) => html`<span class="asked" aria-hidden="true">·</span>${k ? nothing : heard("nothing is asked")}`);

function column(token, i, m) {
  return html`<button type="button" role="radio" aria-checked=${i === m.at} tabindex=${i === m.at ? 0 : -1}>
    <span class="symbol">${symbol(m.task, token)}</span>${heard(`position ${i + 1},`)}${asked(i, m)}
    ${m.sides.map((side) => given(side, i, m))}</button>`;
}

/** What the rows of a column are, for the eye. */
function legend({task, sides}) {
  const {questions} = TASKS[task];
  const answers = sides.map((_, i) => (sides[1] ? `answer ${i + 1}` : "answer"));
  return ["row", ...questions, ...answers.flatMap((name) => questions.map((_, k) => (k ? "" : name)))];
}

/** The example as a row of columns; one column is chosen. */
export function strip(m, widget) {
  const press = ({target}) => {
    const chosen = target.closest("button");
    if (chosen) widget.set({at: [...chosen.parentElement.querySelectorAll("button")].indexOf(chosen)});
  };
  return html`<div class="strip"><div class="sides" aria-hidden="true">${legend(m).map((name) => html`<span>${name}</span>`)}</div>
    <div class="symbols" role="radiogroup" aria-label="The token that looks" @click=${press} @keydown=${(event) => moveByKey(event, (at) => widget.set({at}))}>
    ${m.example.tokens.map((token, i) => column(token, i, m))}</div></div>`;
}
