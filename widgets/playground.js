// A small transformer that learns in the page, from numbers by chance: its loss, every head's map and
// every answer, step by step, alone or beside a second one that differs in one thing.

import {html, nothing} from "../assets/vendor/lit.js";
import {answers, lessonOf} from "./lib/answers.js";
import {defineWidget} from "./lib/define-widget.js";
import {format, formatPercent} from "./lib/numbers.js";
import {backToText} from "./lib/set-up-links.js";
import {act, drawnPart, follow, sessionOf} from "./playground/session.js";
import {begins, chart} from "./playground/chart.js";
import {headMaps} from "./playground/heads.js";
import {looked, offInWords, summarize, titleOf} from "./playground/look.js";
import {controls, setUps, thousands, training} from "./playground/panel.js";
import {ENOUGH, LONGEST} from "./playground/reading.js";
import {PARTS, fieldsOf, openingOf} from "./playground/spec.js";
import {followMark, strip} from "./playground/strip.js";
import {TASKS} from "./playground/tasks.js";

// ---- View ------------------------------------------------------------------------------------

function score(one, isShort) {
  const {step, isLate, losses, loss, share, learned, worth} = one;
  const off = offInWords(one);
  if (isLate) return "computing …";
  if (!step) return losses.length ? "before its first step" : "not trained yet";
  if (off)
    return html`<b>${worth ? formatPercent(worth.share) : "…"}</b> right with ${off} off, on 16 new rows`;
  return html`${
    isShort
      ? nothing
      : html`loss <b>${format(loss)}</b> ·
    `
  }<b>${formatPercent(share)}</b> right${
    learned && learned <= step
      ? html` ·
      learned\u00a0at\u00a0step\u00a0<b>${learned}</b>`
      : nothing
  }`;
}

const title = (one, i, m) => html`${
  m.change
    ? html`<b>${titleOf(m, i)}</b>
    `
    : nothing
}<span class="score">${score(one, Boolean(m.change))}</span>
      <span class="source">${one.step ? "trained" : "random"}</span>`;

const side = (one, i, m, widget) => html`<section class=${i ? "side other" : "side"}>
  <p class="title">${drawnPart(widget.data.session, i, () => title(one, i, m))}</p>
  ${headMaps(one, m, widget, i)}</section>`;

/** Where the training stops, and how far it can go on. */
function ends({isPlaying, last, task}, {session: {playing}}) {
  const more = Math.min(TASKS[task].steps, LONGEST - last);
  if (isPlaying || !last) return `It stops at step ${thousands(playing?.to ?? more)}.`;
  return `${more ? `Train on adds ${more} steps. ` : ""}Step ${thousands(LONGEST)} is the last.`;
}

const status = (m, {data}) =>
  html`<p class=${m.problem ? "status problem" : "status"} role="status">${
    m.problem ||
    (m.catching === null
      ? ends(m, data)
      : html`Training as far as step ${m.step} … <progress max=${m.step} .value=${m.catching} aria-label="Steps done"></progress>`)
  }</p>`;

/** The question that a reader may answer before this training, until it is answered. */
function question({task, spec: {positions, mask}}, {questions = {}}) {
  const [asks, id] =
    questions[`${task} ${positions}`] ?? questions[`${task} ${mask}`] ?? questions[task] ?? [];
  return id && !answers.get(lessonOf(location), id)
    ? html` <a href="#${id}">Guess first: ${asks}</a>`
    : nothing;
}

const another = (widget) =>
  html`<button type="button" @click=${() => act(widget, "example", {example: (widget.state.example + 1) % 10, at: null})}>Another example</button>`;

function view(m, widget) {
  const {
    session,
    session: {met, waiting},
  } = widget.data;
  return html`${drawnPart(session, "bar", () => training(widget))}<div class="told">${backToText(widget)}${status(m, widget)}${
    met
      ? html`<b class="met">Goal
    met: ${met}</b>`
      : nothing
  }</div>
    <div class="example"><p class="title"><span>${TASKS[m.task].asks}${question(m, widget.data)}</span>
      ${another(widget)}</p>${drawnPart(session, "example", () => strip(m, widget))}</div>
    <div class="floor ${m.change ? "compared" : m.isWide ? "wide" : ""}" aria-busy=${m.isAwaited || (!m.isPlaying && !!waiting.length)}>
    <div class="marks">${drawnPart(session, "curves", () => [followMark(m, widget), begins(m, widget)])}</div>
    <div class=${m.change ? "models two" : "models"}>${m.sides.map((one, i) => side(one, i, m, widget))}
    <p class="note">Press a row of a map to choose the token that looks. What it looks at is
      coloured above the map; the most of it is underlined, and stands after the arrow below.</p></div>
    ${drawnPart(session, "curves", () => chart(m, widget))}</div>
    ${drawnPart(session, "curves", () => widget.sentence({hidden: true}))}`;
}

// ---- Goals -------------------------------------------------------------------------------------

const SMALL = 2000; // numbers: a model of 32 has ten thousand, and one of 16 still three
const changed = ({spec}) =>
  Object.keys(PARTS).filter((name) => name !== "seed" && spec[name] !== openingOf(spec.task)[name]);
const isSwitch = (name) => PARTS[name].options.length === 2;

/** Whether the first answer of the example is chosen, and wrong. */
const isFirstWrong = ({at, example: {targets}, sides: [{isRight}]}) =>
  !isRight[at] && at === targets.findIndex((target) => target >= 0);

const KEY = "play"; // of the fields in the address

const widgetOf = defineWidget({
  name: "playground",
  label: "A transformer that learns while you watch",
  key: KEY,
  fields: fieldsOf,
  controls,
  model: looked,
  sentence: summarize,
  view,
  started(widget) {
    const {
      data: {session},
      root,
      listen,
    } = widget;
    listen(root, "input", ({target, detail}) => target === root && (session.isReaders = detail));
    listen(answers, "change", () => widget.draw());
    setUps(widget, KEY);
    const meet = ({target}) => {
      session.met = target.textContent.split(":")[0];
      widget.draw();
    };
    if (widget.data.tasks[1]) listen(document, "met", meet, {capture: true}); // on its own page
    const heard = ({timeStamp}) => Object.assign(session, {problem: "", acted: timeStamp}); // an act tries again
    for (const touch of ["pointerdown", "keydown", "click"])
      listen(root, touch, heard, {capture: true}); // before it is answered
  },
  drawn: follow,
  challenges: {
    smallest: (m) =>
      m.task === "repeat" && m.step > 0 && m.sides[0].share >= ENOUGH && m.sides[0].count <= SMALL,
    "one-switch": (m) =>
      m.task === "repeat" &&
      m.sides[0].step >= 200 &&
      m.sides[0].share < 0.5 &&
      changed(m).length === 1 &&
      isSwitch(changed(m)[0]),
    unsorted: (m) =>
      m.task === "sort" &&
      m.sides[0].isRead &&
      m.spec.positions === "none" &&
      m.sides[0].step >= 200 &&
      isFirstWrong(m),
  },
});

/**
 * data: {tasks: those that are offered, the first of them open; parts: the settings that are offered,
 * all where there are none; questions: for each task, some with a setting, [what a prediction asks, its id]}, of course/payloads/playground.py.
 */
export const playground = ({tasks, parts, questions}) =>
  widgetOf({tasks, parts, questions, session: sessionOf()});
