// Choose a word of a sentence: weighted arrows show where it looks, in a trained model.

import {html, nothing, render, svg} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {choice, menu, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";
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

const changesOf = ({changes}, {sentence, causal}) => (causal ? [] : (changes[sentence] ?? []));

const FINDER = "layer 2, head 1"; // the head whose scores are taken apart

/** The scores that the bars have room for. */
export const RANGE = [-1.5, 23.5];

/** What a pronoun gives most, in the head that finds its noun; "" elsewhere, and on pages without changes. */
function foundBy({changes, models}, {head, causal}, {tokens, from, row}) {
  const finds = !causal && models.masked.heads[head] === FINDER && tokens[from] === "it";
  if (!changes.length || !finds) return "";
  const most = row.indexOf(Math.max(...row));
  return most === from ? "itself" : tokens[most];
}

/**
 * The score of one word with the pronoun as bars, and below it those of all that are taken apart:
 * {word, rows: [{name, from, to, value, kind: "bare", if it is one bar, "part", "mark" or "whole", weight}],
 * rest: the score without the mark}. folds: [{name, parts}], which parts each bar sums; told: what a
 * sentence or its change says, {scores, parts, mark}.
 */
export function bars({tokens, apart, mark}, folds, told, at) {
  const values = told.parts[at];
  const rows = [];
  let sum = 0;
  for (const {name, parts} of folds) {
    const value = parts.reduce((total, part) => total + values[part], 0);
    rows.push({
      name,
      from: sum,
      to: sum + value,
      value,
      kind: folds.length === 1 ? "bare" : "part",
    });
    sum += value;
  }
  const marked = at === 0 ? told.mark : mark; // a change is one of the first noun alone
  const score = told.scores[apart[at]];
  const weights = softmax(told.scores);
  return {
    word: tokens[apart[at]],
    rest: sum,
    rows: [
      ...rows,
      {name: `mark of ${marked}`, from: sum, to: score, value: values.at(-1), kind: "mark"},
      ...apart.map((token) => ({
        name: tokens[token],
        isSum: token === apart[at],
        from: 0,
        to: told.scores[token],
        value: told.scores[token],
        kind: "whole",
        weight: weights[token],
      })),
    ],
  };
}

/** The maps with other rows of the word `from` in the last heads. */
const withRows = (maps, rows, from) =>
  maps.map((map, head) => {
    const row = rows[head - maps.length + rows.length];
    return row ? map.map((old, word) => (word === from ? row : old)) : map;
  });

/**
 * Where the chosen word looks: {tokens, from, row: weights, hidden: which words it can't see, finds,
 * answer: what the model `masked` answers there, {word, share}, or null where a page doesn't say}.
 * sentences: [{tokens, focus, says, answer}]; models: {masked, causal}, each {heads: names, weights:
 * [sentence][head][from][to]}. Beyond the last head stands their mean. data.changes: for each
 * sentence those of the model `masked`, {field, value, label, says, mark, weights, answer, scores, parts},
 * made where the state's field has this value; empty where a page offers none. A sentence or a change
 * may be `asked`, {says, weights: rows of the focus in the last heads, answer, scores, parts}, made if the
 * state `asks`. What a sentence says and the answer are of its own focus. `bars`: null where a page has no
 * parts of scores.
 */
export function looks(data, state) {
  const {sentence, word: chosen, head, causal} = state;
  const own = data.sentences[sentence];
  const {tokens, focus, says} = own;
  const from = chosen?.sentence === sentence ? chosen.token : focus;
  const change = changesOf(data, state).find(({field, value}) => state[field] === value);
  const told = {mark: own.mark, ...(change ?? own)};
  const asked = (!causal && state.asks && told.asked) || null;
  const isChanged = Boolean(change ?? asked);
  const usual = change?.weights ?? modelOf(data, state).weights[sentence];
  const maps = asked ? withRows(usual, asked.weights, focus) : usual;
  const used = head < maps.length ? [maps[head]] : maps;
  const row = tokens.map(
    (_, to) => used.reduce((sum, map) => sum + map[from][to], 0) / used.length,
  );
  return {
    tokens,
    says: isChanged
      ? [change?.says, asked?.says].filter(Boolean).join(" ")
      : from === focus
        ? says
        : "",
    from,
    row,
    finds: foundBy(data, state, {tokens, from, row}),
    answer: causal || from !== focus ? null : ((asked ?? told).answer ?? null),
    bars:
      causal || !own.apart?.length
        ? null
        : bars(own, data.bars, {...told, ...asked}, state.apart ?? 0),
    causal,
    isChanged,
    hidden: tokens.map((_, to) => causal && to > from),
  };
}

/** One digit more, as an answer is often close to 100 %. */
const finePercent = (share) => `${(100 * share).toFixed(1)}\u202f%`;

const tenth = (x) =>
  x
    .toFixed(1)
    .replace(/^-(0\.0)$/, "$1")
    .replace("-", "\u2212");

/** A part with its sign, as it adds to a score or takes from it. */
const written = ({value, kind}) =>
  ["part", "mark"].includes(kind) && value >= 0.05 ? `+${tenth(value)}` : tenth(value);

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
    found.bars && spoken(found.bars),
  ];
  return parts.filter(Boolean).join(" ");
}

function spoken({word, rows}) {
  const named = (row) => `${row.name} ${written(row)}`;
  const wholes = rows.filter(({kind}) => kind === "whole");
  const parts = rows.filter(({kind}) => kind !== "whole");
  return (
    `In ${FINDER}, the scores with the pronoun are: ${wholes.map(named).join(", ")}. ` +
    `The pronoun gives ${wholes.map(({name, weight}) => `${name} ${formatPercent(weight)}`).join(", ")}. ` +
    `The score of ${word}, part by part: ${parts.map(named).join(", ")}.`
  );
}

const looksMost = (found, from, to) =>
  found.tokens[found.from] === from && found.tokens[mostOf(found)[0]] === to;

// ---- View ----------------------------------------------------------------------------------

/** From the colour of the query that asks to that of the key that answers, as arcs have it; in the drawing's own units, as a level line has no height. */
const way = (id) =>
  svg`<defs><linearGradient id=${id} gradientUnits="userSpaceOnUse" x1="0" x2="100"><stop class="query" offset="0" /><stop class="key" offset="1" /></linearGradient></defs>`;

const along = (score) => (score - RANGE[0]) / (RANGE[1] - RANGE[0]);

function bar(row, rest) {
  const {name, isSum, from, to, kind, weight} = row;
  const [low, high] = [Math.min(from, to), Math.max(from, to)].map(along);
  // Bootstrap, which Quarto brings along, colours what has the class "mark".
  return html`<li class=${kind === "mark" ? "of-mark" : kind}><span class="name">${isSum ? `${name}, in all` : name}</span>
    <span class="track" style="--low:${low};--high:${high};--rest:${along(rest)}"><i></i><b>${written(row)}</b></span>
    ${weight === undefined ? nothing : html`<span class="share weighted" style="--weight:${weight}">${formatPercent(weight)}</span>`}</li>`;
}

const scoreBars = ({rows, rest}, {tokens, apart}, widget) => html`<div class="parts">
    ${choice(
      "apart",
      "The score of",
      apart.map((token) => tokens[token]),
      {isShown: true},
    )(widget)}
    <ol class="bars" aria-hidden="true">${rows.map((row) => bar(row, rest))}</ol></div>`;

function view({tokens, says, from, row, finds, answer, hidden, bars}, widget) {
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
  return html`<div class=${bars ? "pictures" : nothing}><div class="arrows">
    ${wordGroup({words: tokens, chosen: from, label: "The word that looks", className: "from", choose})}
    <svg aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 ${tokens.length}">${way(id)}${row.map(arrow)}</svg>
    <ol class="to" aria-hidden="true">${row.map(target)}</ol></div>
    ${bars ? scoreBars(bars, widget.data.sentences[widget.state.sentence], widget) : nothing}</div>
    <p class="says">${finds ? html`The pronoun finds: <em>${finds}</em><br />` : nothing}
      ${answer ? html`The model answers: <em>${answer.word}</em>, ${finePercent(answer.share)}<br />` : nothing}${says}</p>
    <p class=${total === 100 ? "rounding" : "rounding needed"}>
      Rounded as shown, the weights may not seem to sum to 100 %. They do.</p>
    ${widget.sentence({hidden: true})}`;
}

/** As a closed menu has room for it on a phone; the words themselves stand in the picture. */
const abbreviated = (tokens) =>
  (tokens.length < 9 ? tokens : [...tokens.slice(0, 4), "…", ...tokens.slice(-2)]).join(" ");

/** Rows of controls, if any: one change to tick, or several to choose from; and another query. */
function offered({data, state}) {
  const changes = changesOf(data, state);
  if (changes.length < 2) return changes.map(({field, label}) => [toggle(field, label)]);
  const labels = ["as it is", ...changes.map(({label}) => label)];
  const {tokens, asks} = data.sentences[state.sentence];
  return [
    [choice(changes[0].field, `At “${tokens[1]}”`, labels, {isShown: true})],
    [toggle("asks", asks)],
  ];
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
      taken: option("own", ["own", "other", "off", "hidden"]),
      lent: flag(false),
      asks: flag(false),
      apart: option(0, [0, 1, 2]),
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
        ...(data.changes.length ? [reset] : []),
      ],
      ...offered({data, state}),
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
