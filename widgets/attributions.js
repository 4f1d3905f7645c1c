// One review, a classifier's answer, and what three methods, or five, say of its words; words can be erased.

import {html, nothing} from "../assets/vendor/lit.js";
import {choice, menu, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";
import {loadModel} from "./lib/load-model.js";
import {formatPercent} from "./lib/numbers.js";

const [READ, BLANK, BAD, GOOD] = ["[class]", "[blank]", "[bad]", "[good]"];

// ---- Model ---------------------------------------------------------------------------------

/** Shown at first; the others when the reader asks for all. */
const MAIN = ["attention", "integrated gradients", "erasure"];

/** Indices of words, written "2.5"; of whichever review is shown. */
const places = (most) => ({
  value: [],
  parse(text) {
    const found = /^\d+(\.\d+)*$/.test(text) ? [...new Set(text.split(".").map(Number))] : [];
    return found.length && Math.max(...found) < most ? found.sort((a, b) => a - b) : undefined;
  },
  format: (all) => all.join("."),
});

/** The logit of good less that of bad, for a model of lib/transformer.js. */
export function marginOf(model, words, erased) {
  const {vocabulary} = model.config;
  const seen = [READ, ...words.map((word, i) => (erased.includes(i) ? BLANK : word))];
  const [logits] = model.run(model.encode(seen)).logits;
  return logits[vocabulary.indexOf(GOOD)] - logits[vocabulary.indexOf(BAD)];
}

export const chanceOf = (margin) => 1 / (1 + Math.exp(-margin));

/**
 * What is shown. data: {reviews: [{words, decisive}], methods: names, models: {name: {file,
 * margins: [review], found: [review][method][word]}}, loaded: {name: model}}.
 * chance: of good, without the erased words; null until the model has been fetched that it takes.
 */
export function compare(data, {review, model: name, erased: asked, truth, all}) {
  const {words, decisive} = data.reviews[review];
  const {margins, found} = data.models[name];
  const erased = asked.filter((i) => i < words.length);
  const whole = chanceOf(margins[review]);
  const margin = marginWithout(data, {review, name, words, erased});
  const methods = data.methods.filter((method) => all || MAIN.includes(method));
  const rows = methods.map((method) => {
    const sizes = found[review][data.methods.indexOf(method)].map(Math.abs);
    const total = sizes.reduce((a, b) => a + b, 0) || 1;
    const shares = sizes.map((size) => size / total);
    const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]);
    const first = order.slice(0, decisive.length);
    return {method, shares, order, hits: first.filter((i) => decisive.includes(i)).length};
  });
  return {
    words,
    decisive,
    erased,
    rows,
    whole,
    truth,
    name,
    chance: margin === null ? null : chanceOf(margin),
    problem: data.loaded.problem ?? "",
  };
}

/** Without words, and without one, the page has the number; without more it asks the model. */
function marginWithout(data, {review, name, words, erased}) {
  const {margins, found} = data.models[name];
  if (!erased.length) return margins[review];
  const model = data.loaded[name];
  if (model) return marginOf(model, words, erased);
  const one = found[review][data.methods.indexOf("erasure")][erased[0]];
  return erased.length === 1 ? margins[review] - one : null;
}

const SURE = 0.75;
const sureness = (chance) => Math.max(chance, 1 - chance);
const answer = (chance) => (chance > 0.5 ? "good" : "bad");
const sure = (chance) => {
  const most = sureness(chance);
  return `${answer(chance)}, ${most > 0.99 ? "over 99\u202f%" : formatPercent(most)} sure`;
};

export function summarize({words, decisive, erased, rows, whole, chance, truth, problem}) {
  const without = erased.length
    ? ` Without ${erased.map((i) => words[i]).join(", ")}: ${
        chance === null ? problem || "the model is being fetched" : sure(chance)
      }.`
    : "";
  const told = rows.map(
    ({method, shares, order}) =>
      `${method}: ${order
        .slice(0, 2)
        .map((i) => `${words[i]} ${formatPercent(shares[i])}`)
        .join(", ")}`,
  );
  const decides = truth ? ` Decisive: ${decisive.map((i) => words[i]).join(", ")}.` : "";
  return `The whole review: ${sure(whole)}.${without}${decides} Largest shares by ${told.join("; by ")}.`;
}

const isKept = ({whole, chance}) =>
  chance !== null && answer(whole) === answer(chance) && sureness(chance) >= SURE;

export const GOALS = {
  open: (m) => m.erased.length === 1 && m.chance !== null && sureness(m.chance) < SURE,
  unmoved: (m) => m.erased.length === 1 && m.erased[0] === m.rows[0].order[0] && isKept(m),
  "three-left": (m) => m.words.length - m.erased.length <= 3 && isKept(m),
};

// ---- View ----------------------------------------------------------------------------------

/** A mark on the way from bad to good. */
const bar = (label, chance) => html`<div class="answer"><span class="which">${label}</span>
  <span class="bar" aria-hidden="true"><i style="left:${+(100 * (chance ?? 0.5)).toFixed(2)}%"></i></span>
  <span class="share">${chance === null ? "…" : sure(chance)}</span></div>`;

function view(m, widget) {
  const {words, decisive, erased, rows, whole, chance, truth, problem} = m;
  const flip = (i) =>
    widget.set({
      erased: erased.includes(i)
        ? erased.filter((one) => one !== i)
        : [...erased, i].sort((a, b) => a - b),
    });
  const mark = (i) => (truth && decisive.includes(i) ? "decisive" : "");
  const word = (
    text,
    i,
  ) => html`<button type="button" class=${mark(i)} aria-pressed=${erased.includes(i)}
    aria-label=${`${text}, word ${i + 1}: erase`} @click=${() => flip(i)}>${text}</button>`;
  const cell = (share, i, most) =>
    html`<i class="${mark(i)} weighted" style="--weight:${+(share / most).toFixed(4)}"></i>`;
  return html`<div class="review" role="group" aria-label="The review: press a word to erase it">${words.map(word)}</div>
    <div class="answers"><div class="scale" aria-hidden="true"><span>bad</span><span>unsure</span><span>good</span></div>
      ${bar("the whole review", whole)}${bar("with the blanks", chance)}</div>
    <p class="status" role="status">${problem && chance === null ? problem : nothing}</p>
    <div class="methods" aria-hidden="true" style="--words:${words.length}">
      <span></span>${words.map((text, i) => html`<span class="name ${mark(i)}">${text}</span>`)}<span></span>
      ${rows.map(
        ({
          method,
          shares,
          hits,
        }) => html`<b>${method}</b>${shares.map((share, i) => cell(share, i, Math.max(...shares)))}
        <span class="hits">${truth ? `${hits}/${decisive.length}` : ""}</span>`,
      )}</div>
    ${widget.sentence({hidden: true})}`;
}

/** Fetches the classifiers, once; what they then say replaces the dots. */
async function fetchModels(widget) {
  const {data} = widget;
  if (data.loaded.asked) return;
  data.loaded.asked = true;
  try {
    for (const [name, {file}] of Object.entries(data.models))
      data.loaded[name] = await loadModel(file);
    delete data.loaded.problem;
  } catch (error) {
    Object.assign(data.loaded, {problem: error.message, asked: false});
  }
  widget.refresh(true);
}

const widgetOf = defineWidget({
  name: "attributions",
  label: "What several methods say of a review's words",
  key: "review",
  fields: ({reviews, models}) => ({
    review: integer(0, {max: reviews.length - 1}),
    model: option(Object.keys(models)[0], Object.keys(models)),
    erased: places(Math.max(...reviews.map(({words}) => words.length))),
    truth: flag(false),
    all: flag(false),
  }),
  controls: ({data}) => [
    [menuThatRestores(data)],
    [
      choice(
        "model",
        "Model",
        Object.keys(data.models).map((name) => `model ${name}`),
      ),
      toggle("truth", "Show the decisive words"),
      toggle("all", "All five ways"),
      reset,
    ],
  ],
  model: compare,
  sentence: summarize,
  view,
  started(widget) {
    for (const touch of ["pointerdown", "keydown"])
      widget.listen(widget.root, touch, () => fetchModels(widget));
  },
  drawn(widget) {
    if (widget.model.chance === null && !widget.model.problem) fetchModels(widget);
  },
  challenges: GOALS,
});

/** The menu of reviews; another review comes whole. */
const menuThatRestores =
  ({reviews}) =>
  (widget) =>
    menu(
      "review",
      "Review",
      reviews.map(({words}) => words.join(" ")),
    )({
      ...widget,
      state: widget.state,
      fields: widget.fields,
      set: (changes) => widget.set({...changes, erased: []}),
    });

/** data: as in compare, without `loaded`. */
export const attributions = (data) => widgetOf({...data, loaded: {}});
