// A whole small language model in one picture: from a text to a guess, to how wrong it is, to a step
// of learning; and cut-outs of it, for the places on the page that speak of one part. Before the model
// is asked for, they show the numbers of a few texts, which came with the page.

import {html, nothing} from "../assets/vendor/lit.js";
import {capitalize} from "./lib/capitalize.js";
import {reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";
import {ending, inside} from "./lib/inside.js";
import {learnOnce} from "./lib/learning.js";
import {panel} from "./lib/ground-panel.js";
import {last, mean} from "./lib/lists.js";
import {chance, count, format, nats, ordinal} from "./lib/numbers.js";
import "./lib/pixels.js";
import {loadStoryteller} from "./lib/storyteller.js";
import {tokenText} from "./lib/token-text.js";
import "./lib/weight-map.js";
import {wordGroup, written} from "./lib/words.js";

const [MOST_LETTERS, MOST_TOKENS, MOST_STEPS, RATE] = [160, 24, 10, 0.01];
const WIDTH = 1.05; // of a cut-out's bars, as a multiple of the longest
const UNIT_AT_MOST = 2; // the answer of a unit that is drawn in full colour
const MARGIN = 8; // px between what is scrolled to and the window's edge

// ---- Model ---------------------------------------------------------------------------------

/** The parts of a model of `layers` layers, in the order of the picture: [{kind, layer, name}]. */
export const partsOf = (layers) => [
  {kind: "tokens", name: "Tokens"},
  {kind: "vector", name: "Vector"},
  ...Array.from({length: layers}, (_, layer) => [
    {kind: "attention", layer, name: "Attention"},
    {kind: "mlp", layer, name: "MLP"},
  ]).flat(),
  {kind: "guess", name: "Guess"},
  {kind: "loss", name: "Loss"},
  {kind: "step", name: "Step"},
];

/** What the model has after `steps` steps on `lesson`, step by step: {model, losses, change}. */
export function learned(story, lesson, steps, rate = RATE) {
  const ids = story.encode(lesson).slice(0, MOST_TOKENS);
  const found = {model: story.model, losses: [], change: null};
  for (let step = 0; step < steps; step += 1) {
    const once = learnOnce(found.model, ids, rate);
    Object.assign(found, {
      model: once.model,
      change: once.change,
      losses: [...found.losses, once.loss],
    });
  }
  if (steps) found.losses.push(mean(inside(story, found.model, ids).losses));
  return found;
}

/** What is shown of `found`, of lib/inside.js or from the page, at the chosen token. */
export function look(found, {token, part, head}, {parts, lesson = null, before = null}) {
  const count = found.tokens.length;
  const place = Math.min(token ?? Math.max(0, count - 2), count - 1);
  const facts = found.places ? found.places[place] : found.place(place);
  const old = before && (before.places ? before.places[place] : before.place(place));
  return {
    ...found,
    place,
    facts,
    head,
    parts,
    part: parts[part],
    number: part,
    lesson,
    before: old,
    mean: found.losses.length ? mean(Array.from(found.losses)) : null,
  };
}

export function summarize(m) {
  const {tokens, place, facts, lesson, note} = m;
  const guesses = facts.guesses
    .slice(0, 3)
    .map(({text, share}) => `${tokenText(text)} ${chance(share)}`);
  const truth = facts.truth
    ? ` The next token is ${tokenText(facts.truth.text)}, which it gave ${chance(facts.truth.share)}: a loss of ${nats(facts.truth.loss)}.`
    : " Nothing follows yet.";
  const taught = lesson
    ? ` It has learned ${lesson.losses.length - 1} ${lesson.losses.length === 2 ? "step" : "steps"}: its mean loss on that text went from ${nats(lesson.losses[0])} to ${nats(last(lesson.losses))}.`
    : "";
  return (
    `${note ? `${note} ` : ""}${m.part.name}${m.part.layer === undefined ? "" : ` of layer ${m.part.layer + 1}`}. ` +
    `${looks(m)}After ${tokenText(tokens[place])}, token ${place + 1} of ${tokens.length}, the first guesses are ${guesses.join(", ")}.${truth}${taught}`
  );
}

/** Where the chosen head looks, if it is heads that are shown. */
function looks({part, maps, head, tokens, place}) {
  if (part.kind !== "attention") return "";
  const row = Array.from(maps[part.layer][head][place]);
  const most = row.indexOf(Math.max(...row));
  return `Head ${head + 1} looks most from ${tokenText(tokens[place])} at ${tokenText(tokens[most])}, ${chance(row[most])}. `;
}

/**
 * What a cut-out shows, {text, tokens, looks, answers, guesses}: with its head silent, or after the
 * lesson of `taught`, or as it is. From the page, if it came with it; else by `story`, or null.
 */
export function cutOf({cut}, text, {isOff = false, taught = null, story = null} = {}) {
  const known = taught ? null : cut.texts.find((one) => one.text === text);
  if (known) return isOff ? {...known, guesses: known.silent} : known;
  const ids = story?.encode(text).slice(0, MOST_TOKENS) ?? [];
  if (!ids.length) return null;
  const old = isOff || taught ? story.model : null;
  return {text, ...ending(story, taught?.model ?? story.model, ids, cut, {isOff, old})};
}

/** The name of a part, [layer, number] from 0, as the page counts: "head 4 of layer 3". */
const called = (kind, [layer, number]) => `${kind} ${number + 1} of layer ${layer + 1}`;

export function summarizeCut({kind, note, text, seen, isOff, cut, lesson}) {
  const quoted = `After “${text}” `;
  const row = kind === "unit" ? seen.answers : seen.looks;
  const most = row.indexOf(Math.max(...row));
  const said = {
    head: () =>
      isOff
        ? `${capitalize(called("head", cut.head))} is switched off. `
        : `${capitalize(called("head", cut.head))} looks most from ${tokenText(last(seen.tokens))} at ${tokenText(seen.tokens[most])}, ${chance(row[most])}. `,
    unit: () =>
      `In “${text}” ${called("unit", cut.unit)} answers most to ${tokenText(seen.tokens[most])}: ${format(row[most])}.`,
    step: () =>
      lesson
        ? `It has learned ${lesson.losses.length - 1} ${lesson.losses.length === 2 ? "step" : "steps"}. `
        : "It has learned nothing yet. ",
  }[kind]();
  const guesses = rowsOf({kind, seen, cut}).map(
    ({text: of, share, before}) =>
      `${tokenText(of)} ${chance(share)}${before === undefined ? "" : `, before ${chance(before)}`}`,
  );
  return `${note ? `${note} ` : ""}${said}${kind === "unit" ? "" : `${quoted}it guesses: ${guesses.join("; ")}.`}`;
}

/** The guesses to draw: the token that is watched only where it learns, and the first two of before. */
const rowsOf = ({kind, seen: {guesses}, cut: {watched}}) =>
  guesses
    .map((one, i) => ({...one, isTruth: kind === "step" && one.text === watched, isLower: i === 5}))
    .filter(({before}, i) => i < 5 || kind === "step" || before !== undefined);

// ---- The model of the page -------------------------------------------------------------------

const session = {story: null, failure: "", taught: null, last: null, waiting: new Set()};

const wants = ({start}, {text, steps}) => text !== start.text || steps > 0;

function fetchStory(widget) {
  if (session.story) return;
  session.waiting.add(widget);
  if (session.loading) return;
  session.failure = "";
  session.loading = loadStoryteller()
    .then(
      (story) => {
        session.story = story;
      },
      (error) => {
        session.failure = `${error.message}.`;
      },
    )
    .finally(() => {
      session.loading = null;
      for (const one of session.waiting) one.refresh(one.isReaders);
      session.waiting.clear();
    });
}

function teach({lesson, steps}) {
  if (!steps) return null;
  if (session.taught?.lesson !== lesson || session.taught.steps !== steps) {
    session.taught = {lesson, steps, ...learned(session.story, lesson, steps)};
  }
  return session.taught;
}

function model(data, state) {
  const parts = partsOf(data.start.maps.length);
  const still = (note) => ({
    ...(session.last ?? look(data.start, state, {parts})),
    number: state.part,
    part: parts[state.part],
    note,
  });
  if (!wants(data, state)) return look(data.start, state, {parts});
  if (!session.story) return still(session.failure || "The model is being fetched, 1 MB.");
  const all = session.story.encode(state.text);
  if (!all.length) return still("There is no text yet.");
  const ids = all.slice(0, MOST_TOKENS);
  const lesson = teach(state);
  const found = inside(session.story, lesson?.model ?? session.story.model, ids);
  const before = lesson && inside(session.story, session.story.model, ids);
  const note =
    all.length > ids.length
      ? `This picture has room for ${MOST_TOKENS} tokens: the others are left out.`
      : "";
  const seen = {
    ...look(found, state, {parts, lesson, before}),
    isOwn: state.text !== data.start.text,
    note,
  };
  session.last = seen;
  return seen;
}

/** A cut-out always learns from the text of the machine. */
const taughtTo = ({start}, kind, {steps = 0}) =>
  kind === "step" && session.story ? teach({lesson: start.text, steps}) : null;

const wantsCut = ({cut}, {text, steps = 0}) =>
  steps > 0 || !cut.texts.some((one) => one.text === text);

function cutModel(kind, data, state) {
  const {cut} = data;
  const isOff = Boolean(state.off);
  const isMissing = wantsCut(data, state) && !session.story;
  const lesson = taughtTo(data, kind, state);
  const options = {isOff, taught: lesson, story: session.story};
  const seen = isMissing ? null : cutOf(data, state.text, options);
  const texts = cut.texts.map(({text}) => cutOf(data, text, options));
  const length = session.story && !isMissing ? session.story.encode(state.text).length : 0;
  const note = isMissing
    ? session.failure || "The model is being fetched, 1 MB."
    : seen
      ? length > MOST_TOKENS
        ? `There is room for ${MOST_TOKENS} tokens: the others are left out.`
        : ""
      : "There is no text yet.";
  const shown = seen ?? texts.find(({text}) => text === state.text) ?? texts[0];
  return {kind, cut, isOff, lesson, texts, seen: shown, text: shown.text, note};
}

function learn(widget) {
  const {text, lesson, steps} = widget.state;
  if (!widget.fields.lesson) return act(widget, {steps: Math.min(MOST_STEPS, steps + 1)});
  const again = steps > 0 && lesson === text;
  act(widget, {lesson: text, steps: again ? Math.min(MOST_STEPS, steps + 1) : 1});
}

function forget(widget) {
  act(widget, widget.fields.lesson ? {lesson: "", steps: 0} : {steps: 0});
}

function act(widget, changes) {
  widget.isReaders = true;
  widget.set(changes);
}

// ---- View ----------------------------------------------------------------------------------

const textField = (widget) => html`<label class="text-field"><span>Text</span>
  <textarea rows="2" maxlength=${MOST_LETTERS} spellcheck="false" autocomplete="off" .value=${widget.state.text}
    @focus=${() => fetchStory(widget)} @input=${({target}) => act(widget, {text: target.value, ...(widget.fields.token && {token: null})})}></textarea></label>`;

const stop = (m, widget, number, content) => {
  const {kind, name, layer} = m.parts[number];
  const choose = ({currentTarget}) => {
    if (number === m.number) return;
    const {top} = currentTarget.closest(".stop").getBoundingClientRect();
    widget.set({part: number});
    showPanel(widget.root, top);
  };
  const label = layer === undefined ? name : `${name}, layer ${layer + 1}`;
  return html`<section class="stop ${kind} ${number === m.number ? "chosen" : ""}" @click=${choose}>
    <label><input type="radio" name="${widget.id}-part" aria-label=${label} .checked=${number === m.number} @input=${choose}><span>${name}</span></label>
    <div class="what">${content}</div></section>`;
};

/** Scrolls so that the pressed part stays at `top`, or higher if its explanation would end below the window. */
function showPanel(root, top) {
  const box = (selector) => root.querySelector(selector).getBoundingClientRect();
  const moved = box(".stop.chosen").top - top;
  const below = box(".panel").bottom - moved + MARGIN - innerHeight;
  scrollBy({top: moved + Math.max(0, Math.min(below, top - MARGIN)), behavior: "instant"});
}

const chips = (m, widget) =>
  wordGroup({
    words: m.tokens.map(
      (text, i) => html`<span class=${i > m.place ? "later" : ""}>${written(text)}</span>`,
    ),
    chosen: m.place,
    label: "The token that looks",
    className: "chips",
    choose: (token) => widget.set({token}),
  });

/** A head's weights as a strip for each; their names stand over the first layer's. */
const strips = (m, widget, layer, number) =>
  html`<div class="strips">${layer ? nothing : m.maps[0].map((_, head) => html`<span class="named">${head ? "" : "head "}${head + 1}</span>`)}${m.maps[
    layer
  ].map(
    (rows, head) => html`
  <button type="button" tabindex="-1" aria-hidden="true" class=${head === m.head && number === m.number ? "strip chosen" : "strip"}
    @click=${() => widget.set({head})}><weight-pixels .weights=${[padded(rows[m.place], m.tokens.length)]}></weight-pixels></button>`,
  )}</div>`;

const padded = (row, length) => Array.from({length}, (_, i) => row[i] ?? 0);

/** A guess as a bar, of which `most` is the full width. */
const bar = (
  {text, share, isTruth, isLower, before},
  most = 1,
) => html`<li class="${isTruth ? "truth" : ""} ${isLower ? "lower" : ""}">
  <span class="token">${written(text)}</span>
  <span class="bar"><span style="transform:scaleX(${+(share / most).toFixed(4)})"></span>${
    before === undefined
      ? nothing
      : html`<i style="left:${+((100 * before) / most).toFixed(2)}%"></i>`
  }</span><span class="share">${chance(share)}</span></li>`;

function guesses({facts: {guesses: found, truth}, before}) {
  const was = (text) =>
    before ? [...before.guesses, before.truth].find((one) => one?.text === text)?.share : undefined;
  const rows = found.map((one) => ({
    ...one,
    isTruth: one.text === truth?.text,
    before: was(one.text),
  }));
  const isListed = !truth || rows.some(({isTruth}) => isTruth);
  const came = () => ({...truth, isTruth: true, isLower: truth.rank > 5, before: was(truth.text)});
  const shown = isListed ? rows : [...rows.slice(0, 4), came()];
  return html`<ul class="bars" aria-label="First guesses, with their shares">${shown.map((one) => bar(one))}</ul>
    <p class="came">${
      truth
        ? html`What came: <b>${tokenText(truth.text)}</b>, its
      ${ordinal(truth.rank)} guess`
        : "Nothing follows yet."
    }</p>`;
}

const losses = (m) => {
  const most = Math.max(8, ...m.losses);
  return html`<div class="losses" aria-hidden="true">${Array.from(
    m.losses,
    (loss, i) => html`
    <i class=${i === m.place ? "chosen" : ""} style="height:${((100 * loss) / most).toFixed(1)}%"></i>`,
  )}</div>
    <p>${
      m.facts.truth
        ? html`<b>${nats(m.facts.truth.loss)}</b> for
      <i>${tokenText(m.facts.truth.text)}</i>`
        : "nothing follows"
    }${
      m.mean === null
        ? nothing
        : html`;
        a bar for each guess, ${nats(m.mean)} on average`
    }</p>`;
};

const step = (m, widget) => html`
  <button type="button" class="learn" ?disabled=${widget.state.steps >= MOST_STEPS && (!widget.fields.lesson || widget.state.lesson === widget.state.text)}
    @pointerenter=${() => fetchStory(widget)} @click=${(event) => {
      event.stopPropagation();
      learn(widget);
    }}>Let it learn one step</button>
  ${
    m.lesson
      ? html`<button type="button" class="forget" @click=${(event) => {
          event.stopPropagation();
          forget(widget);
        }}>Forget</button>`
      : nothing
  }
  <p class="history">${m.lesson ? html`loss ${m.lesson.losses.map((loss, i) => html`${i ? " → " : ""}<b>${loss.toFixed(2)}</b>`)}` : "nothing learned from it yet"}</p>`;

function view(m, widget) {
  const at = (number) => {
    const {kind, layer} = m.parts[number];
    return stop(
      m,
      widget,
      number,
      {
        tokens: () => chips(m, widget),
        vector: () =>
          html`<span class="named">green above 0, grey
            below</span><number-strip aria-hidden="true" .numbers=${m.facts.vector}></number-strip>`,
        attention: () => strips(m, widget, layer, number),
        mlp: () =>
          html`${
            layer
              ? nothing
              : html`<span class="named">${count(widget.data.units)}
            units</span>`
          }<number-strip aria-hidden="true" .numbers=${m.facts.layers[layer].units}></number-strip>`,
        guess: () => guesses(m),
        loss: () => losses(m),
        step: () => step(m, widget),
      }[kind](),
    );
  };
  const layers = m.maps.map((_, n) => [2 + 2 * n, 3 + 2 * n]);
  const rows = [[0], [1], ...layers, ...m.parts.map((_, i) => [i]).slice(2 + 2 * layers.length)];
  return html`<p class="note">${m.note || "Press a part, or a word."}</p>
    <div class="floor ${m.note && !session.story ? "waiting" : ""}" role="group" aria-label="Parts of the model">
    ${rows.map(
      (numbers) => html`
      ${
        numbers.length === 1
          ? at(numbers[0])
          : html`<div class="layer"><p class="layer-name">Layer
        ${m.parts[numbers[0]].layer + 1}</p>${numbers.map(at)}</div>`
      }
      ${numbers.includes(m.number) ? html`<div class="panel">${panel(m, widget)}</div>` : nothing}`,
    )}
    <i class="back" style="--from:${m.number ? 2 : 3}" aria-hidden="true"></i></div>
    ${widget.sentence({hidden: true})}`;
}

/** What the cut-out says of a sentence beside it: its first guess, or what its part is about. */
const answerOf = ({kind, cut}, {tokens, answers, guesses}) => {
  const one = kind === "step" ? guesses.find(({text}) => text === cut.watched) : guesses[0];
  if (kind !== "unit") return [tokenText(one.text), chance(one.share)];
  const most = answers.indexOf(Math.max(...answers));
  return [tokenText(tokens[most]), format(answers[most])];
};

const sentences = (m, widget) =>
  html`<div class="sentences" role="group" aria-label="Texts to choose">${m.texts.map((one) => {
    const [word, number] = answerOf(m, one);
    return html`<button type="button" aria-pressed=${one.text === widget.state.text} @click=${() => act(widget, {text: one.text})}>
      <span>${one.text}</span> <span class="says"><b>${word}</b> ${number}</span></button>`;
  })}</div>`;

/** The tokens, each with what its part gives it. */
const given = ({kind, cut, seen: {tokens, looks, answers}, isOff}) => {
  const numbers = kind === "unit" ? answers : looks;
  const most = kind === "unit" ? UNIT_AT_MOST : 1;
  const title =
    kind === "unit"
      ? html`What ${called("unit", cut.unit)} answers to each token`
      : isOff
        ? `${capitalize(called("head", cut.head))} is switched off`
        : html`Where ${called("head", cut.head)} looks from <b>${tokenText(last(tokens))}</b>`;
  return html`<div class="given"><p class="title">${title}</p><ul aria-label="Tokens of the text, each with its number">${tokens.map(
    (text, i) => {
      const number = isOff ? 0 : numbers[i];
      return html`<li style="--weight:${Math.max(0, Math.min(1, number / most)).toFixed(3)}"><span>${written(text)}</span>
      <small>${isOff ? "–" : format(number)}</small></li>`;
    },
  )}</ul></div>`;
};

const cutGuesses = (m) => {
  const rows = rowsOf(m);
  const most = WIDTH * Math.max(...rows.map(({share, before = 0}) => Math.max(share, before)));
  return html`<div class="next"><p class="title">After <b>${tokenText(last(m.seen.tokens))}</b> it guesses</p>
  <ul class="bars" aria-label="First guesses, with their shares">${rows.map((one) => bar(one, most))}</ul>
  <p class="came">${rows[0].before === undefined ? nothing : `Thin lines: ${m.kind === "head" ? "with the head on" : "before it learned"}.`}</p></div>`;
};

const CUT_OUT = {
  head: (m, widget) =>
    html`${given(m)}${toggle("off", `Switch ${called("head", m.cut.head)} off`)(widget)}`,
  unit: given,
  step: (m, widget) => html`<div class="step"><div class="what">${step(m, widget)}</div></div>`,
};

/** A cut-out of the machine: the same model on any text, one part of it, and what it guesses next. */
const cutOut = (kind, label, fields = {}) =>
  defineWidget({
    name: "ground-floor",
    label,
    key: `floor-${kind}`,
    fields: ({cut}) => ({
      text: {
        value: cut.texts[0].text,
        parse: (text) => (text.length <= MOST_LETTERS ? text : undefined),
        format: String,
      },
      ...fields,
    }),
    model: (data, state) => cutModel(kind, data, state),
    sentence: summarizeCut,
    view: (
      m,
      widget,
    ) => html`<div class="cut-out ${kind} ${m.note && !session.story ? "waiting" : ""}">
      <div class="from">${textField(widget)}${sentences(m, widget)}
        <div class="under"><p class="note">${m.note || "Press a text, or type your own."}</p>${reset(widget)}</div></div>
      <div class="part">${CUT_OUT[kind](m, widget)}${kind === "unit" ? nothing : cutGuesses(m)}</div></div>
      ${widget.sentence({hidden: true})}`,
    drawn: (widget) =>
      wantsCut(widget.data, widget.state) && !session.failure && fetchStory(widget),
  });

export const floorHead = cutOut("head", "One head of the model", {off: flag(false)});
export const floorUnit = cutOut("unit", "One unit of the model");
export const floorStep = cutOut("step", "Learning from one sentence", {
  steps: integer(0, {max: MOST_STEPS}),
});

export const groundFloor = defineWidget({
  name: "ground-floor",
  label: "A whole language model",
  key: "floor",
  fields: ({start}) => ({
    text: {
      value: start.text,
      parse: (text) => (text.length <= MOST_LETTERS ? text : undefined),
      format: String,
    },
    lesson: {
      value: "",
      parse: (text) => (text.length <= MOST_LETTERS ? text : undefined),
      format: String,
    },
    steps: integer(0, {max: MOST_STEPS}),
    token: {
      value: null,
      parse: (text) => (/^\d{1,2}$/.test(text) && +text < MOST_TOKENS ? +text : undefined),
      format: (at) => (at === null ? "" : String(at)),
    },
    part: integer(0, {max: partsOf(start.maps.length).length - 1}),
    head: option(
      0,
      start.maps[0].map((_, head) => head),
    ),
  }),
  controls: () => [[textField]],
  model,
  sentence: summarize,
  view,
  drawn: (widget) => wants(widget.data, widget.state) && !session.failure && fetchStory(widget),
  challenges: {
    "word-before": (m) =>
      m.part.kind === "attention" && m.maps[m.part.layer][m.head][m.place][m.place - 1] >= 0.9,
    "first-guess": (m) => !!m.isOwn && !m.lesson && m.facts.truth?.rank === 1,
  },
});
