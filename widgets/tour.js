// The tour's player: the page's own sections, one at a time. They stand in the page one after the
// other, and stay so without this module, and in print.

import {html, nothing, render} from "../assets/vendor/lit.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer} from "./lib/fields.js";
import {drawShown} from "./lib/when-shown.js";

const SHOWN_FOR = 8000; // ms, while it plays
const [FAR, EDGE] = [60, 24]; // px: what counts as a swipe, and where a phone's own begins
const KEYS = {ArrowLeft: -1, ArrowRight: 1};
const PRESS = [" ", "Enter"];

// ---- Model -------------------------------------------------------------------------------------

/** Which way a finger that went from one place to another turns the page: -1, 0 or 1. */
export function swiped(from, to) {
  const [across, down] = [to.clientX - from.clientX, Math.abs(to.clientY - from.clientY)];
  return Math.abs(across) < FAR || Math.abs(across) < 2 * down ? 0 : -Math.sign(across);
}

/** The steps by number: the one before and the one after are null where there is none. */
export function place({names}, {step, all}) {
  const isStep = (number) => !all && number >= 1 && number <= names.length;
  const stepAt = (number) => (isStep(number) ? {number, name: names[number - 1]} : null);
  return {
    count: names.length,
    all,
    now: stepAt(step),
    before: stepAt(step - 1),
    after: stepAt(step + 1),
  };
}

// ---- Sentence, view ------------------------------------------------------------------------------

const sentence = ({all, count, now}) =>
  all
    ? html`<span class="count">All ${count} steps</span>`
    : html`<span class="count">Step ${now.number} /
      ${count}</span><span class="screen-reader-only">: ${now.name}</span>`;

const view = ({all, before, after}, widget) => html`<div class="tour-controls">
  <button type="button" class="play" ?disabled=${all} @click=${() => toggle(widget)}>${widget.timer ? "Pause" : "Play"}</button>
  <div class="steps"><button type="button" aria-label="Previous step" ?disabled=${!before} @click=${() => go(widget, before)}>‹</button>
  ${widget.sentence()}
  <button type="button" aria-label="Next step" ?disabled=${!after} @click=${() => go(widget, after)}>›</button></div>
  <label><input type="checkbox" .checked=${all} @input=${({target}) => widget.set({all: target.checked})}> All steps at once</label></div>`;

/** What stands below a step: the way on. */
const pager = ({before, after}, widget) => html`
  ${before ? html`<button type="button" @click=${() => go(widget, before)}>Back: ${before.name}</button>` : nothing}
  ${after ? html`<button type="button" class="next" @click=${() => go(widget, after)}>Next: ${after.name}</button>` : nothing}`;

function showSection(section, isShown) {
  if (isShown) section.removeAttribute("hidden");
  else section.setAttribute("hidden", "until-found"); // what the browser's search finds, it shows
}

/** Shows the chosen step alone, of the page's sections; with the last, what follows the tour. */
function showStep(widget) {
  const {
    model: {all, now, after},
    data: {strip, links, sections, rest},
  } = widget;
  const isShown = (i) => all || i === now.number - 1;
  sections.forEach((section, i) => showSection(section, isShown(i)));
  rest.forEach((section) => showSection(section, !after));
  links.forEach((link, i) => {
    if (isShown(i) && !all) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  });
  strip.classList.toggle("playing", widget.timer !== 0);
  widget.pager.hidden = all;
  render(pager(widget.model, widget), widget.pager);
  drawShown();
}

// ---- Moving on -----------------------------------------------------------------------------------

/** Shows a step of the model; to move on by itself is no step for the browser's Back. */
function go(widget, step, {silently = false} = {}) {
  if (!step) return;
  const {strip, links} = widget.data;
  const focused =
    links.includes(document.activeElement) || widget.pager.contains(document.activeElement);
  widget.set({step: step.number}, {silently});
  if (strip.getBoundingClientRect().top < 0) strip.scrollIntoView();
  if (focused) links[step.number - 1].focus({preventScroll: true});
}

function move(widget, by) {
  const {before, after} = widget.model;
  if (by) go(widget, by < 0 ? before : after);
}

function stop(widget) {
  if (!widget.timer) return;
  clearInterval(widget.timer);
  widget.timer = 0;
  widget.draw();
}

function start(widget) {
  if (!widget.model.after) widget.set({step: 1});
  widget.timer = setInterval(() => {
    go(widget, widget.model.after, {silently: true});
    if (!widget.model.after) stop(widget);
  }, SHOWN_FOR);
  widget.draw();
}

const toggle = (widget) => (widget.timer ? stop(widget) : start(widget));

// ---- Keys, fingers, links ------------------------------------------------------------------------

function press(event, widget) {
  const {
    data: {strip},
    state,
    pager: below,
    timer,
  } = widget;
  const inControl = (which) => event.target.closest(which);
  const isPlain = !(
    event.altKey ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.defaultPrevented
  );
  const isInView =
    strip.getBoundingClientRect().top < innerHeight && below.getBoundingClientRect().bottom > 0;
  const isOurs = isPlain && !state.all && isInView;
  if (
    isOurs &&
    event.key === " " &&
    !inControl("input, select, button, a, summary, [tabindex='0']")
  ) {
    toggle(widget);
  } else if (isOurs && KEYS[event.key] && !inControl("input, select, [tabindex='0']")) {
    stop(widget);
    move(widget, KEYS[event.key]);
  } else {
    if (timer && !(inControl(".play") && PRESS.includes(event.key))) stop(widget);
    return;
  }
  event.preventDefault();
}

function listenToSwipes(widget) {
  let touch = null;
  widget.listen(document, "touchstart", ({touches, target}) => {
    const isOurs =
      touches.length === 1 &&
      target.closest(".tour-step, .tour-strip") &&
      !target.closest("pre, input, select");
    const x = touches[0].clientX;
    touch = isOurs && !widget.state.all && x > EDGE && x < innerWidth - EDGE ? touches[0] : null;
  });
  widget.listen(document, "touchend", ({changedTouches}) => {
    if (touch) move(widget, swiped(touch, changedTouches[0]));
    touch = null;
  });
}

/** Shows the step that holds what `hash` names, and brings it into view. */
function reveal(hash, widget) {
  const {strip, links, sections, rest} = widget.data;
  const id = hash.slice(1); // names of ours need no decoding
  const target = id && document.getElementById(id);
  const index = [...sections, ...rest].findIndex((section) => target && section.contains(target));
  if (index < 0) return false;
  widget.set({step: Math.min(index + 1, sections.length)});
  if (links.some((link) => link.hash === hash) && !widget.state.all)
    strip.scrollIntoView({block: "nearest"});
  else target.scrollIntoView();
  return true;
}

function listenToLinks(widget) {
  const revealHash = () => {
    if (reveal(location.hash, widget)) history.replaceState(null, "", location.href.split("#")[0]);
  };
  widget.listen(document, "click", (event) => {
    const link = event.target.closest("a[href*='#']");
    const isHere =
      link &&
      link.pathname === location.pathname &&
      !event.ctrlKey &&
      !event.metaKey &&
      !event.shiftKey;
    if (isHere && reveal(link.hash, widget)) event.preventDefault();
  });
  widget.listen(window, "hashchange", revealHash);
  const {sections, rest} = widget.data;
  const showWhenFound = (section, step) =>
    widget.listen(section, "beforematch", () => widget.set({step}));
  sections.forEach((section, i) => showWhenFound(section, i + 1));
  rest.forEach((section) => showWhenFound(section, sections.length));
  revealHash();
}

function started(widget) {
  const {strip, sections, rest} = widget.data;
  sections.forEach((section) => section.classList.add("tour-step"));
  rest.forEach((section) => section.classList.add("tour-rest"));
  widget.timer = 0;
  widget.pager = Object.assign(document.createElement("div"), {className: "tour-pager"});
  sections[sections.length - 1].after(widget.pager);
  strip.style.setProperty("--shown-for", `${SHOWN_FOR}ms`);
  widget.listen(document, "keydown", (event) => press(event, widget));
  widget.listen(document, "wheel", () => stop(widget));
  widget.listen(document, "pointerdown", ({target}) => target.closest(".play") || stop(widget));
  listenToSwipes(widget);
  listenToLinks(widget);
}

const player = defineWidget({
  name: "tour",
  label: "Tour",
  fields: ({names}) => ({step: integer(1, {min: 1, max: names.length}), all: flag(false)}),
  model: place,
  sentence,
  view,
  started,
  drawn: showStep,
});

/** The sections that follow `last` in the lesson: exercises, recap. */
function sectionsAfter(last) {
  const next = last.nextElementSibling;
  if (!next) return [];
  return next.matches("section.level2") ? [next, ...sectionsAfter(next)] : sectionsAfter(next);
}

/** The player of the sections that the page's list of steps links to. The references come last. */
export function tour() {
  const strip = document.querySelector(".tour-strip");
  const links = [...strip.querySelectorAll("li a")];
  const sections = links.map((link) =>
    document.getElementById(link.hash.slice(1)).closest("section"),
  );
  const references = document.querySelectorAll("#quarto-bibliography");
  const rest = [...sectionsAfter(sections[sections.length - 1]), ...references];
  return player({strip, links, sections, rest, names: links.map((link) => link.textContent)});
}
