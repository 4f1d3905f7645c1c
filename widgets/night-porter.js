// Nights of a few coffees and payments: what trained layers say that two guests owe, and what one
// sees inside them.

import {html} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {button, choice, reset, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {option, text} from "./lib/fields.js";
import {format} from "./lib/numbers.js";
import {filled} from "./lib/shares.js";

// ---- Model ---------------------------------------------------------------------------------

const TOKENS = "abp"; // coffee for the first guest, for the second, all pay

/** Where a night stands among all: the shorter first, in the order of TOKENS. */
export const placeOf = (night) =>
  [...night].reduce((place, token) => 3 * place + 1 + TOKENS.indexOf(token), 0);

/** How many coffees of the guest nobody has paid. */
export const owed = (night, guest) =>
  [...night.slice(night.lastIndexOf("p") + 1)].filter((token) => token === TOKENS[guest]).length;

const indices = (tokens) => [...tokens].map((token) => TOKENS.indexOf(token));

/** The weights, one list a head, that the question for a guest gives to each token and, last, to itself. */
export function weightsOf({scores, slopes}, tokens, guest) {
  const seen = [...indices(tokens), TOKENS.length];
  return scores.map((ofGuests, head) =>
    softmax(seen.map((token, i) => ofGuests[guest][token] - slopes[head] * (tokens.length - i))),
  );
}

/**
 * How much of a note of the guest's coffee stands under its key after each token. `keys`: the dot
 * products of the tokens' keys; `values`: for each guest, how much of that note each token's has.
 */
export function standsOf({alpha, beta, keys, values}, tokens, guest) {
  let stands = [0, 0, 0]; // under the key of each of TOKENS
  return indices(tokens).map((token) => {
    const missing = values[guest][token] - alpha[token] * stands[token];
    stands = stands.map((one, i) => alpha[token] * one + beta[token] * keys[i][token] * missing);
    return stands[guest];
  });
}

/** A row for each token: in a table also what it would say if it were asked then. */
function insideOf(layer, tokens, guest) {
  const at = indices(tokens);
  if (layer.scores) {
    const heads = weightsOf(layer, tokens, guest);
    return heads[0].map((_, i) => ({token: tokens[i] ?? "?", weights: heads.map((row) => row[i])}));
  }
  return standsOf(layer, tokens, guest).map((stands, i) => ({
    token: tokens[i],
    alpha: layer.alpha[at[i]],
    beta: layer.beta[at[i]],
    stands,
    answer: Number(layer.says[guest][placeOf(tokens.slice(0, i + 1))]),
  }));
}

/** data: course/payloads/night_porter.py; tokens: the night, such as "apab"; shown: a layer's kind */
export function nightOf({guests, most, layers}, {tokens, shown, asked}) {
  const right = guests.map((_, i) => owed(tokens, i));
  const place = placeOf(tokens);
  const guest = guests.indexOf(asked);
  return {
    guests,
    most,
    guest,
    shown,
    tokens: [...tokens],
    right,
    layers: layers.map(({kind, name, says}) => {
      const answers = says.map((all) => Number(all[place]));
      return {kind, name, answers, isRight: answers.map((one, i) => one === right[i])};
    }),
    inside: insideOf(
      layers.find(({kind}) => kind === shown),
      tokens,
      guest,
    ),
  };
}

const layer = ({layers}, kind) => layers.find((one) => one.kind === kind);

export const GOALS = {
  misled: (m) => !m.tokens.includes("p") && m.right[0] === 1 && !layer(m, "softmax").isRight[0],
  "softmax-again": (m) =>
    m.tokens.includes("p") &&
    layer(m, "softmax").isRight.some((isRight, i) => isRight && m.right[i] > 0),
};

// ---- Sentence, view ------------------------------------------------------------------------

const COFFEES = unitsOf("coffee");
const named = (token, {guests, guest}) =>
  ({p: "all pay", "?": `${guests[guest]} owes?`})[token] ??
  `coffee for ${guests[TOKENS.indexOf(token)]}`;
const isSoftmax = ({shown}) => shown === "softmax";

function insideSaid(m) {
  const who = m.guests[m.guest];
  if (isSoftmax(m))
    return `In softmax the question for ${who} gives these weights, in the first and in the second head: ${m.inside
      .map(({token, weights}) => `${named(token, m)} ${weights.map(format).join(" and ")}`)
      .join(", ")}.`;
  if (!m.inside.length) return "The table is empty.";
  return `In the table, token by token: ${m.inside
    .map(
      ({token, alpha, beta, stands, answer}) =>
        `${named(token, m)}, of the table ${format(alpha)} stays, ${format(beta)} is written, ${format(stands)} stands under ${who}’s key, and it would say ${answer}`,
    )
    .join("; ")}.`;
}

export function sentence(m) {
  const {guests, most, tokens, right, layers} = m;
  const night = tokens.length ? tokens.map((token) => named(token, m)).join(", ") : "nothing yet";
  const owe = right.map((one, i) => `${guests[i]} owes ${COFFEES(one)}`).join(" and ");
  const say = layers.map(
    ({name, answers, isRight}) =>
      `${name} says ${answers.map((one, i) => `${one} for ${guests[i]}, ${isRight[i] ? "right" : "wrong"}`).join(", and ")}`,
  );
  const full = tokens.length === most ? ` No more than ${most} tokens fit here.` : "";
  return `The night: ${night}. ${owe}. Of the layers ${say.join("; ")}.${full} ${insideSaid(m)}`;
}

const bar = (
  share,
) => html`<td class="amount"><div><span class="track"><span style=${filled(Math.max(share, 0))}></span></span>
  <span>${format(share)}</span></div></td>`;
const chip = (token, m) =>
  html`<th scope="row"><span class=${{p: "pay", "?": "question"}[token] ?? "coffee"}>${named(token, m)}</span></th>`;

function night(m) {
  const who = m.guests[m.guest];
  const ofSoftmax = isSoftmax(m);
  const heads = ofSoftmax
    ? ["weight, first head", "weight, second head"]
    : ["α", "β", `under ${who}’s key`, "would say"];
  const rows = m.inside.map((row) =>
    ofSoftmax
      ? html`<tr>${chip(row.token, m)}${row.weights.map(bar)}</tr>`
      : html`<tr>${chip(row.token, m)}<td>${format(row.alpha)}</td><td>${format(row.beta)}</td>${bar(row.stands)}<td>${row.answer}</td></tr>`,
  );
  const free = Array.from(
    {length: m.most + 1 - m.inside.length},
    () => html`<tr class="free"><td colspan=${heads.length + 1}></td></tr>`,
  );
  return html`<table class=${ofSoftmax ? "night weights" : "night notes"}>
    <caption>${ofSoftmax ? `At the end of the night: what ${who} owes? gives to each token` : `Token by token: what the table keeps, writes, and would say if ${who} were asked`}</caption>
    <thead><tr><th scope="col">token</th>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows}${free}</tbody></table>`;
}

const cell = (answer, isRight) => html`<td><span class=${isRight ? "right" : "wrong"}>${answer}
  <b aria-hidden="true">${isRight ? "✓" : "✗"}</b><span class="screen-reader-only">${isRight ? "right" : "wrong"}</span></span></td>`;

const view = (m, widget) => html`<div class="stage">${night(m)}
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
  fields: ({start, most, layers, guests}) => ({
    tokens: {
      ...text(start, {most}),
      parse: (given) => (given.length <= most && IS_NIGHT.test(given) ? given : undefined),
    },
    shown: option(
      layers[0].kind,
      layers.map(({kind}) => kind),
    ),
    asked: option(guests[0], guests),
  }),
  controls: ({data: {guests, layers}}) => [
    [...TOKENS].map((token) => button(named(token, {guests}), (widget) => append(widget, token))),
    [button("Undo", (widget) => widget.set({tokens: widget.state.tokens.slice(0, -1)})), reset],
    [
      choice(
        "shown",
        "Look into",
        layers.map(({name}) => name),
        {isShown: true},
      ),
      choice("asked", "Asked for", guests, {isShown: true}),
    ],
  ],
  model: nightOf,
  sentence,
  view,
  challenges: GOALS,
});
