// The tour's player: the page's own sections, one at a time. They stand in the page one after the
// other, and stay so without this module, and in print.

import {flag, integer} from "./lib/url-state.js";
import {drawShown} from "./lib/when-shown.js";

const SHOWN_FOR = 8000; // ms, while it plays
const [FAR, EDGE] = [60, 24]; // px: what counts as a swipe, and where a phone's own begins
const KEYS = {ArrowLeft: -1, ArrowRight: 1};
const PRESS = [" ", "Enter"];

// ---- Model -------------------------------------------------------------------------------------

export const tourFields = {step: integer(1, {min: 1, max: 8}), all: flag(false)};

/** Which way a finger that went from one place to another turns the page: -1, 0 or 1. */
export function swiped(from, to) {
  const [across, down] = [to.clientX - from.clientX, Math.abs(to.clientY - from.clientY)];
  return Math.abs(across) < FAR || Math.abs(across) < 2 * down ? 0 : -Math.sign(across);
}

// ---- Summary -----------------------------------------------------------------------------------

export const summarize = ({step, all}, names) =>
  all ? `All ${names.length} steps` : `Step ${step} / ${names.length}`;

// ---- View --------------------------------------------------------------------------------------

/** Brings the steps that `strip` links to under its control; returns the buttons to show with it. */
export function tour(store, {strip = document.querySelector(".tour-strip"), invalidation} = {}) {
  const links = [...strip.querySelectorAll("li a")];
  const names = links.map((link) => link.textContent);
  const steps = links.map((link) => document.getElementById(link.hash.slice(1)).closest("section"));
  const [bar, pager] = [controls(), ends()];
  const [play, back, on, all] = bar.querySelectorAll("button, input");
  const [before, next] = pager.querySelectorAll("button");
  const listening = new AbortController();
  const listen = (target, type, does) => target.addEventListener(type, does, {signal: listening.signal});
  let timer = 0;
  let touch = null;

  function draw() {
    const {step, all: whole} = store.value;
    steps.forEach((section, i) => {
      section.classList.add("tour-step");
      if (whole || i === step - 1) section.removeAttribute("hidden");
      else section.setAttribute("hidden", "until-found"); // what the browser's search finds, it shows
    });
    drawShown();
    links.forEach((link, i) => {
      if (!whole && i === step - 1) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    });
    strip.classList.toggle("playing", timer !== 0);
    play.textContent = timer ? "Pause" : "Play";
    all.checked = whole;
    [back.disabled, on.disabled, play.disabled] = [whole || step === 1, whole || step === steps.length, whole];
    bar.querySelector(".count").textContent = summarize(store.value, names);
    bar.querySelector(".name").textContent = whole ? "" : `: ${names[step - 1]}`;
    pager.hidden = whole;
    before.hidden = step === 1;
    before.textContent = `Back: ${names[step - 2]}`;
    next.hidden = step === steps.length;
    next.textContent = `Next: ${names[step]}`;
  }

  function go(step) {
    if (step < 1 || step > steps.length) return;
    const focused = links.indexOf(document.activeElement) >= 0 || pager.contains(document.activeElement);
    store.set({step});
    if (strip.getBoundingClientRect().top < 0) strip.scrollIntoView();
    if (focused) links[step - 1].focus({preventScroll: true});
  }
  const move = (by) => go(store.value.step + by);

  function stop() {
    clearInterval(timer);
    timer = 0;
    draw();
  }
  function start() {
    if (store.value.step === steps.length) go(1);
    timer = setInterval(() => {
      move(1);
      if (store.value.step === steps.length) stop();
    }, SHOWN_FOR);
    draw();
  }
  const toggle = () => (timer ? stop() : start());

  /** Shows the step that holds what `hash` names, and brings it into view. */
  function reveal(hash) {
    const id = hash.slice(1); // names of ours need no decoding
    const target = id && document.getElementById(id);
    const index = steps.findIndex((section) => target && section.contains(target));
    if (index < 0) return false;
    store.set({step: index + 1});
    if (links.some((link) => link.hash === hash) && !store.value.all) strip.scrollIntoView({block: "nearest"});
    else target.scrollIntoView();
    return true;
  }
  function revealHash() {
    if (reveal(location.hash)) history.replaceState(null, "", location.href.split("#")[0]);
  }

  const isInView = () => strip.getBoundingClientRect().top < innerHeight && pager.getBoundingClientRect().bottom > 0;
  function press(event) {
    const plain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented);
    const ours = plain && !store.value.all && isInView();
    const inControl = (which) => event.target.closest(which);
    if (ours && event.key === " " && !inControl("input, select, button, a, summary, [tabindex='0']")) toggle();
    else if (ours && KEYS[event.key] && !inControl("input, select, [tabindex='0']")) {
      if (timer) stop();
      move(KEYS[event.key]);
    } else {
      if (timer && !(event.target === play && PRESS.includes(event.key))) stop();
      return;
    }
    event.preventDefault();
  }
  const halt = () => timer && stop();

  strip.style.setProperty("--shown-for", `${SHOWN_FOR}ms`);
  steps[steps.length - 1].after(pager);
  listen(play, "click", toggle);
  listen(back, "click", () => move(-1));
  listen(on, "click", () => move(1));
  listen(before, "click", () => move(-1));
  listen(next, "click", () => move(1));
  listen(all, "change", () => store.set({all: all.checked}));
  listen(document, "keydown", press);
  listen(document, "wheel", halt);
  listen(document, "pointerdown", ({target}) => target !== play && halt());
  listen(document, "touchstart", ({touches, target}) => {
    const isOurs = touches.length === 1 && target.closest(".tour-step, .tour-strip") && !target.closest("pre, input, select");
    const x = touches[0].clientX;
    touch = isOurs && !store.value.all && x > EDGE && x < innerWidth - EDGE ? touches[0] : null;
  });
  listen(document, "touchend", ({changedTouches}) => {
    if (touch) move(swiped(touch, changedTouches[0]));
    touch = null;
  });
  listen(document, "click", (event) => {
    const link = event.target.closest("a[href*='#']");
    const isHere = link && link.pathname === location.pathname && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (isHere && reveal(link.hash)) event.preventDefault();
  });
  listen(window, "hashchange", revealHash);
  steps.forEach((section, i) => listen(section, "beforematch", () => store.set({step: i + 1})));
  listen(store, "input", draw);
  invalidation?.then(() => {
    stop();
    listening.abort();
    pager.remove();
  });
  draw();
  revealHash();
  return bar;
}

function controls() {
  const bar = document.createElement("div");
  bar.className = "tour-controls";
  bar.innerHTML = `<button type="button" class="play">Play</button>
    <span class="place"><button type="button" aria-label="Previous step">‹</button>
    <output><span class="count"></span><span class="name screen-reader-only"></span></output>
    <button type="button" aria-label="Next step">›</button></span>
    <label><input type="checkbox"> All steps at once</label>`;
  return bar;
}

function ends() {
  const pager = document.createElement("div");
  pager.className = "tour-pager";
  pager.innerHTML = `<button type="button"></button><button type="button" class="next"></button>`;
  return pager;
}
