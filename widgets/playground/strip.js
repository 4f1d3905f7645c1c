// One example, symbol by symbol: what stands there, what is asked, and what each model answers; and three
// presses that show how a trained model of two layers repeats: a mark is made, found, and left out.

import {html, nothing} from "../../assets/vendor/lit.js";
import {moveByKey} from "../lib/keys.js";
import {formatPercent} from "../lib/numbers.js";
import {act} from "./session.js";
import {answer, looks, symbol, titleOf} from "./look.js";
import {TASKS, askedAt} from "./tasks.js";

function given(at, {reading, isRight}, {task}) {
  const [text, share] = [answer(task, reading.answers[at]), reading.shares[at]];
  const [name, is] = isRight[at] ? ["given right weighted", "right"] : ["given wrong", "wrong"];
  return [name, text, `answered: ${text} with ${formatPercent(share)}, ${is}`, share];
}

/** The cells of a symbol, as many where nothing is asked: [class, text, words, share]. */
function cellsOf(i, m) {
  const places = askedAt(m.task, m.example.targets, i);
  const asked = (at) => answer(m.task, m.example.targets[at]);
  if (places.length)
    return [
      ...places.map((at) => ["asked", asked(at), `asked: ${asked(at)}`]),
      ...m.sides.flatMap((side) => places.map((at) => given(at, side, m))),
    ];
  const {questions} = TASKS[m.task];
  return [
    ...questions.map((_, k) => ["asked", "·", k ? "" : "nothing is asked"]),
    ...m.sides.flatMap(() => questions.map(() => ["given none"])),
  ];
}

/** A new label, unlike a text, lays nothing out. */
const cell = ([name, text = "", says = "", share = 0]) =>
  html`<span class=${name} style="--share:${share.toFixed(2)}" role=${says ? "img" : nothing} aria-label=${says || nothing} aria-hidden=${!says}>${text}</span>`;

const column = (
  token,
  i,
  m,
) => html`<button type="button" role="radio" aria-checked=${i === m.at} tabindex=${i === m.at ? 0 : -1}>
    <span class="symbol">${symbol(m.task, token)}</span><span class="screen-reader-only">position ${i + 1},</span>
    ${cellsOf(i, m).map(cell)}</button>`;

/** What the rows of a column are, for the eye: each answer with its model's words. */
function legend(m) {
  const {questions} = TASKS[m.task];
  const answers = m.sides.map((_, i) =>
    m.change ? html`<b class=${i ? "other" : ""}>${titleOf(m, i)}</b>` : "answer",
  );
  return [
    "row",
    ...questions,
    ...answers.flatMap((name) => questions.map((_, k) => (k ? "" : name))),
  ];
}

const LINES = [1, 2, 3]; // that an example of 19 or 24 tokens may be broken into; the style shows as many

/** The example as a row of columns; one column is chosen. */
export function strip(m, widget) {
  const choose = (at) => act(widget, "example", {at});
  const press = ({target}) => {
    const chosen = target.closest("button");
    if (chosen) choose([...chosen.parentElement.querySelectorAll("button")].indexOf(chosen));
  };
  return html`<div class=${m.change ? "strip named" : "strip"}><div class="sides" aria-hidden="true">${LINES.map(() => html`<div>${legend(m).map((name) => html`<span>${name}</span>`)}</div>`)}</div>
    <div class="symbols" role="radiogroup" aria-label="The token that looks" @click=${press} @keydown=${(event) => moveByKey(event, choose)}>
    ${m.example.tokens.map((token, i) => column(token, i, m))}</div></div>`;
}

// ---- Follow the mark -----------------------------------------------------------------------------

/** Of each press: where to look, what is off, and what is told where the maps show it. */
function stepsOf({
  example,
  sides: [
    {
      heads: [first, second],
    },
  ],
}) {
  const {tokens, targets} = example;
  const round = targets.findIndex((target) => target >= 0); // letters, before they begin again
  const [mark, asks] = [round - 1, 2 * round - 2];
  const [h, b] = [mark, asks].map((at) => symbol("repeat", tokens[at]));
  const to = (head, at) => looks(head.map, {at, example}).to;
  return [
    [
      mark,
      [],
      `1 The first ${h}`,
      to(first, mark) === mark - 1,
      `Head 1.1 looks at the ${b} before it. From then on the ${h} has the mark “after ${b}”.`,
    ],
    [
      asks,
      [],
      `2 The second ${b}`,
      to(second, asks) === mark,
      `Head 2.1 looks for the mark “after ${b}”, and finds it at the ${h}.`,
    ],
    [
      asks,
      ["1.1"],
      "3 Without head 1.1",
      to(second, asks) !== mark,
      `Head 2.1 is as it was. But nothing has a mark, so it doesn’t find the ${h}.`,
    ],
  ];
}

export function followMark(m, widget) {
  const [{heads, learned, isRead}] = m.sides;
  if (
    m.task !== "repeat" ||
    m.change ||
    m.isPlaying ||
    heads.length !== 2 ||
    !heads[1].layer ||
    !learned ||
    !m.spec.mask
  )
    return nothing;
  let said = "Head 1.1 leaves a mark at a letter: which one stood before it. Press 1.";
  const press = ([at, off, name, isSeen, says]) => {
    const isNow = widget.state.at === at && String(off) === String(widget.state.off);
    if (isNow) said = isSeen && isRead ? says : "";
    return html`<button type="button" aria-pressed=${isNow} @click=${() => act(widget, "curves", {at, off, step: m.step < learned ? m.last : m.step})}>${name}</button>`;
  };
  return html`<p class="mark">Follow the mark: ${stepsOf(m).map(press)}<span>${said}</span></p>`;
}
