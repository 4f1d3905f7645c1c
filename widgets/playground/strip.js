// One example, symbol by symbol: what stands there, what is asked, and what each model answers.

import {html, nothing} from "../../assets/vendor/lit.js";
import {formatPercent} from "../lib/numbers.js";
import {moveByKey} from "../lib/words.js";
import {answer, symbol} from "./look.js";

const heard = (words) => html`<span class="screen-reader-only">${words}</span>`;

/** What a model answers at a symbol, for the eye and the ear; nothing where nothing is asked. */
function given(side, i, {task, example: {targets}}) {
  if (targets[i] < 0) return html`<span class="given none"></span>`;
  const [share, isRight] = [side.reading.shares[i], side.isRight[i]];
  return html`${heard("answered:")}<span class=${isRight ? "given right weighted" : "given wrong"} style="--share:${share.toFixed(2)}">${answer(task, side.reading.answers[i])}</span>
    ${heard(`with ${formatPercent(share)}, ${isRight ? "right" : "wrong"}`)}`;
}

function column(token, i, m) {
  const {task, at, example: {targets}, sides} = m;
  return html`<button type="button" role="radio" aria-checked=${i === at} tabindex=${i === at ? 0 : -1}>
    <span class="symbol">${symbol(task, token)}</span>${heard(`place ${i + 1},`)}
    ${targets[i] < 0 ? html`<span class="asked" aria-hidden="true">·</span>${heard("nothing is asked")}` : html`${heard("asked:")}<span class="asked">${answer(task, targets[i])}</span>`}
    ${sides.map((side) => given(side, i, m))}</button>`;
}

/** The example as a row of columns; one column is chosen. */
export function strip(m, widget) {
  const press = ({target}) => {
    const chosen = target.closest("button");
    if (chosen) widget.set({at: [...chosen.parentElement.querySelectorAll("button")].indexOf(chosen)});
  };
  return html`<div class="strip"><div class="sides" aria-hidden="true"><span>row</span><span>asked</span><span>${m.sides[1] ? "answer 1" : "answer"}</span>${m.sides[1] ? html`<span>answer 2</span>` : nothing}</div>
    <div class="symbols" role="radiogroup" aria-label="The symbol that looks" @click=${press} @keydown=${(event) => moveByKey(event, (at) => widget.set({at}))}>
    ${m.example.tokens.map((token, i) => column(token, i, m))}</div></div>`;
}
