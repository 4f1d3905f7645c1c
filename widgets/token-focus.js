// Choose a word of a sentence: weighted arrows show where it looks, in a trained model.

import {html, nothing, render, svg} from "../assets/vendor/lit.js";
import {menu, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {formatPercent} from "./lib/numbers.js";
import {wordGroup} from "./lib/words.js";

// ---- Model ---------------------------------------------------------------------------------

/** A word of one sentence, written "3.2"; null is the sentence's own focus. */
const word = (sentences) => ({
  value: null,
  parse(text) {
    const [at, token] = /^\d\.\d+$/.test(text) ? text.split(".").map(Number) : [];
    return token < sentences[at]?.tokens.length ? {sentence: at, token} : undefined;
  },
  format: (chosen) => (chosen ? `${chosen.sentence}.${chosen.token}` : ""),
});

const modelOf = ({models}, {causal}) => (causal ? models.causal : models.masked);

const changeOf = ({changes}, {sentence, causal}) => (causal ? null : (changes[sentence] ?? null));

/** What a pronoun gives most, in the head that finds its noun; "" elsewhere, and on pages without changes. */
function foundBy({changes, models}, {head, causal}, {tokens, from, row}) {
  const finds = !causal && models.masked.heads[head] === "layer 2, head 1" && tokens[from] === "it";
  if (!changes.length || !finds) return "";
  const most = row.indexOf(Math.max(...row));
  return most === from ? "itself" : tokens[most];
}

/**
 * Where the chosen word looks: {tokens, from, row: weights, hidden: which words it can't see, finds,
 * answer: what the model `masked` answers there, {word, share}, or null where a page doesn't say}.
 * sentences: [{tokens, focus, says, answer}]; models: {masked, causal}, each {heads: names, weights:
 * [sentence][head][from][to]}. Beyond the last head stands their mean. data.changes: for a
 * sentence a change to the model `masked`, {field, label, says, weights, answer}, or null; empty where
 * a page offers none. What a sentence says and the answer are of its own focus.
 */
export function looks(data, state) {
  const {sentence, word: chosen, head, causal} = state;
  const {tokens, focus, says, answer} = data.sentences[sentence];
  const from = chosen?.sentence === sentence ? chosen.token : focus;
  const change = changeOf(data, state);
  const isChanged = change !== null && state[change.field] === true;
  const maps = isChanged ? change.weights : modelOf(data, state).weights[sentence];
  const used = head < maps.length ? [maps[head]] : maps;
  const row = tokens.map(
    (_, to) => used.reduce((sum, map) => sum + map[from][to], 0) / used.length,
  );
  return {
    tokens,
    says: isChanged ? change.says : from === focus ? says : "",
    from,
    row,
    finds: foundBy(data, state, {tokens, from, row}),
    answer: causal || from !== focus ? null : ((isChanged ? change.answer : answer) ?? null),
    causal,
    isChanged,
    hidden: tokens.map((_, to) => causal && to > from),
  };
}

/** One digit more, as an answer is often close to 100 %. */
const finePercent = (share) => `${(100 * share).toFixed(1)}\u202f%`;

const mostOf = ({row, hidden}) =>
  row
    .map((_, to) => to)
    .filter((to) => !hidden[to])
    .sort((a, b) => row[b] - row[a]);

export function summarize(found) {
  const {tokens, from, row, finds, answer, says, isChanged} = found;
  const most = mostOf(found)
    .slice(0, 3)
    .map((to) => `${tokens[to]}, word ${to + 1}, ${formatPercent(row[to])}`);
  const parts = [
    `${tokens[from]}, word ${from + 1}, looks most at: ${most.join("; ")}.`,
    finds && `The pronoun finds: ${finds}.`,
    answer && `The model answers: ${answer.word}, ${finePercent(answer.share)}.`,
    isChanged && says,
  ];
  return parts.filter(Boolean).join(" ");
}

const looksMost = (found, from, to) =>
  found.tokens[found.from] === from && found.tokens[mostOf(found)[0]] === to;

// ---- View ----------------------------------------------------------------------------------

/** From the colour of the query that asks to that of the key that answers, as arcs have it; in the drawing's own units, as a level line has no height. */
const way = (id) =>
  svg`<defs><linearGradient id=${id} gradientUnits="userSpaceOnUse" x1="0" x2="100"><stop class="query" offset="0" /><stop class="key" offset="1" /></linearGradient></defs>`;

function view({tokens, says, from, row, finds, answer, hidden}, widget) {
  const id = `${widget.id}-way`;
  const choose = (token) => widget.set({word: {sentence: widget.state.sentence, token}});
  const arrow = (
    weight,
    to,
  ) => svg`<path d="M0,${from + 0.5}C50,${from + 0.5} 50,${to + 0.5} 100,${to + 0.5}" stroke="url(#${id})" style="--weight:${weight}"
    visibility=${hidden[to] ? "hidden" : nothing} />`;
  const target = (
    weight,
    to,
  ) => html`<li class=${hidden[to] ? "hidden-word" : ""} style="--weight:${weight}">
    <span class="token">${tokens[to]}</span>
    <span class="share weighted">${hidden[to] ? "hidden" : formatPercent(weight)}</span></li>`;
  const total = row.reduce((sum, weight) => sum + Math.round(weight * 100), 0);
  return html`<div class="arrows">
    ${wordGroup({words: tokens, chosen: from, label: "The word that looks", className: "from", choose})}
    <svg aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 ${tokens.length}">${way(id)}${row.map(arrow)}</svg>
    <ol class="to" aria-hidden="true">${row.map(target)}</ol></div>
    <p class="says">${finds ? html`The pronoun finds: <em>${finds}</em><br />` : nothing}
      ${answer ? html`The model answers: <em>${answer.word}</em>, ${finePercent(answer.share)}<br />` : nothing}${says}</p>
    <p class=${total === 100 ? "rounding" : "rounding needed"}>
      Rounded as shown, the weights may not seem to sum to 100 %. They do.</p>
    ${widget.sentence({hidden: true})}`;
}

/** As a closed menu has room for it on a phone; the words themselves stand in the picture. */
const abbreviated = (tokens) =>
  (tokens.length < 9 ? tokens : [...tokens.slice(0, 4), "…", ...tokens.slice(-3)]).join(" ");

function offered({data, state}) {
  const change = changeOf(data, state);
  return change ? [toggle(change.field, change.label)] : [];
}

/** The widget, whose fields stand under `key` in the address. */
const focusAt = (key) =>
  defineWidget({
    name: "token-focus",
    label: "Where a word looks",
    key,
    fields: ({sentences, models, start}) => ({
      sentence: integer(start.sentence, {max: sentences.length - 1}),
      word: word(sentences),
      head: integer(start.head, {
        max: Math.max(models.masked.heads.length, models.causal.heads.length),
      }),
      causal: flag(false),
      handed: flag(false),
      lent: flag(false),
    }),
    controls: ({data, state}) => [
      [
        menu(
          "sentence",
          "Sentence",
          data.sentences.map(({tokens}) => abbreviated(tokens)),
        ),
      ],
      [
        menu("head", state.causal ? "Head of the causal model" : "Head", [
          ...modelOf(data, state).heads,
          "mean of all heads",
        ]),
        ...offered({data, state}),
      ],
    ],
    model: looks,
    sentence: summarize,
    view,
    challenges: {
      "causal-noun": (found) => found.causal && looksMost(found, "it", "trophy"),
    },
  });

export const tokenFocus = focusAt("focus");
export const swappedFocus = focusAt("swap");
export const fitFocus = focusAt("fit");

/** A tick box that stands elsewhere on the page, and shows the causal model in the widget `focus`. */
export function causalSwitch(focus) {
  const root = document.createElement("p");
  root.className = "causal-switch";
  const draw = () => render(toggle("causal", "Show the causal model")(focus), root);
  focus.addEventListener("input", draw);
  root.addEventListener("input", (event) => event.stopPropagation());
  draw();
  return root;
}
