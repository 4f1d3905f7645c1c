// Nights of a few coffees and payments, and what trained layers say that two guests owe.

import {html} from "../assets/vendor/lit.js";
import {button, reset, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {text} from "./lib/fields.js";

// ---- Model ---------------------------------------------------------------------------------

const TOKENS = "abp"; // coffee for the first guest, for the second, all pay

/** Where a night stands among all: the shorter first, in the order of TOKENS. */
export const placeOf = (night) =>
  [...night].reduce((place, token) => 3 * place + 1 + TOKENS.indexOf(token), 0);

/** How many coffees of the guest nobody has paid. */
export const owed = (night, guest) =>
  [...night.slice(night.lastIndexOf("p") + 1)].filter((token) => token === TOKENS[guest]).length;

/** data: course/payloads/night_porter.py; tokens: the night, such as "apab" */
export function nightOf({guests, most, layers}, {tokens}) {
  const right = guests.map((_, i) => owed(tokens, i));
  const place = placeOf(tokens);
  return {
    guests,
    most,
    tokens: [...tokens],
    right,
    layers: layers.map(({kind, name, says}) => {
      const answers = says.map((all) => Number(all[place]));
      return {kind, name, answers, isRight: answers.map((one, i) => one === right[i])};
    }),
  };
}

const layer = ({layers}, kind) => layers.find((one) => one.kind === kind);

export const GOALS = {
  "softmax-again": (m) =>
    m.tokens.includes("p") &&
    layer(m, "softmax").isRight.some((isRight, i) => isRight && m.right[i] > 0),
  "not-the-same": (m) =>
    layer(m, "adds, fades, plain").isRight[0] !== layer(m, "corrects, fades").isRight[0],
};

// ---- Sentence, view ------------------------------------------------------------------------

const COFFEES = unitsOf("coffee");
const named = (token, guests) =>
  token === "p" ? "all pay" : `coffee for ${guests[TOKENS.indexOf(token)]}`;

export function sentence({guests, most, tokens, right, layers}) {
  const night = tokens.length
    ? tokens.map((token) => named(token, guests)).join(", ")
    : "nothing yet";
  const owe = right.map((one, i) => `${guests[i]} owes ${COFFEES(one)}`).join(" and ");
  const say = layers.map(
    ({name, answers, isRight}) =>
      `${name} says ${answers.map((one, i) => `${one} for ${guests[i]}, ${isRight[i] ? "right" : "wrong"}`).join(", and ")}`,
  );
  const full = tokens.length === most ? ` No more than ${most} tokens fit here.` : "";
  return `The night: ${night}. ${owe}. Of the layers ${say.join("; ")}.${full}`;
}

const slots = ({tokens, most, guests}) =>
  html`<ol class="night" aria-label="The night, first to last">${Array.from(
    {length: most},
    (_, i) =>
      i < tokens.length
        ? html`<li class=${tokens[i] === "p" ? "pay" : "coffee"}>${named(tokens[i], guests)}</li>`
        : html`<li class="free" aria-hidden="true"></li>`,
  )}</ol>`;

const cell = (answer, isRight) => html`<td><span class=${isRight ? "right" : "wrong"}>${answer}
  <b aria-hidden="true">${isRight ? "✓" : "✗"}</b><span class="screen-reader-only">${isRight ? "right" : "wrong"}</span></span></td>`;

const view = (m, widget) => html`<div class="stage">${slots(m)}
  <p class="full">${m.tokens.length === m.most ? `No more than ${m.most} fit here: undo one.` : ""}</p>
  <table class="said"><caption>What is owed at the end of the night</caption>
    <thead><tr><th scope="col">who says it</th>${m.guests.map((guest) => html`<th scope="col">${guest} owes</th>`)}</tr></thead>
    <tbody><tr class="truth"><th scope="row">what is right</th>${m.right.map((one) => html`<td><span>${one}</span></td>`)}</tr>
    ${m.layers.map(({name, answers, isRight}) => html`<tr><th scope="row">${name}</th>${answers.map((one, i) => cell(one, isRight[i]))}</tr>`)}</tbody></table></div>
  ${widget.sentence({hidden: true})}`;

const IS_NIGHT = new RegExp(`^[${TOKENS}]*$`);

function append(widget, token) {
  const {tokens} = widget.state;
  if (tokens.length < widget.data.most) widget.set({tokens: tokens + token});
}

export const nightPorter = defineWidget({
  name: "night-porter",
  label: "Trained layers as night porters",
  key: "night",
  fields: ({start, most}) => ({
    tokens: {
      ...text(start, {most}),
      parse: (given) => (given.length <= most && IS_NIGHT.test(given) ? given : undefined),
    },
  }),
  controls: ({data: {guests}}) => [
    [...TOKENS].map((token) => button(named(token, guests), (widget) => append(widget, token))),
    [button("Undo", (widget) => widget.set({tokens: widget.state.tokens.slice(0, -1)})), reset],
  ],
  model: nightOf,
  sentence,
  view,
  challenges: GOALS,
});
