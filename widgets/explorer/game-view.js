// The game's rounds on the page: its question, the answer and the outcome in one place, which stays in view under the heads.

import {html, nothing} from "../../assets/vendor/lit.js";
import {show} from "./gallery.js";
import {openFold} from "./folded.js";
import {FULL, pointsOf, ranked, resultOf, tellsPushes} from "./game.js";
import {CHOSEN_WORD, set} from "./guide.js";
import {drawWaiting} from "./draw-later.js";
import {nameOf} from "./names.js";
import {rowOf, strongest} from "./reading.js";
import {boxed, signed} from "./token-view.js";
import {bars} from "./own-text-card.js";
import {chance} from "../lib/numbers.js";

const GAP = 8; // px

function update(widget, game) {
  widget.data.session.game = game;
  widget.data.session.drawn = null;
  widget.refresh();
  widget.root.querySelector(".game .main")?.focus({preventScroll: true}); // the button that was pressed is gone
}

/** A round: its text, and the heads in view over the question. */
function begin(widget, answers) {
  const {data} = widget;
  show(widget, {model: data.models[0].name, text: data.game[answers.length].text});
  data.session.game = {answers, isAsking: true, said: "", isNew: true};
  data.session.drawn = null;
  widget.refresh();
  widget.root.querySelector(".tiles [tabindex='0']")?.focus({preventScroll: true});
}

/** Brings the heads between the sentence, which sticks to the top, and the question. */
function showHeads({root}) {
  drawWaiting();
  const [text, stages] = [root.querySelector(".text"), root.querySelector(".stages")];
  stages.scrollIntoView({block: "start"});
  scrollBy(
    0,
    stages.getBoundingClientRect().top - Math.max(0, text.getBoundingClientRect().bottom) - GAP,
  );
}

function stop(widget) {
  update(widget, null);
  widget.root.querySelector(CHOSEN_WORD)?.focus({preventScroll: true});
}

/** After the game: the field, with its text marked, so that typing begins another. */
function ownText(widget) {
  update(widget, null);
  widget.data.session.isStill = true;
  const field = widget.root.querySelector(".own-text textarea");
  field.focus();
  field.select();
}

function findings(widget) {
  widget.data.session.unfolded.add("gallery");
  update(widget, null);
  openFold(widget, "gallery");
}

async function copy(widget, text) {
  let said = "Copied.";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = "This browser doesn’t let it be copied: mark it, and copy it yourself.";
  }
  update(widget, {...widget.data.session.game, said});
}

export function game(m, widget) {
  const {
    data: {session, game: rounds},
  } = widget;
  if (!session.game) {
    return html`<p class="intro">Three texts, three guesses. Each time: which head, switched
      off, takes most from the guess? Press heads, look at their arcs, then answer.</p>
      <p><button type="button" class="main" @click=${() => begin(widget, [])}>Begin</button></p>`;
  }
  const {answers, isAsking, said, isNew} = session.game;
  if (isNew && m.isRead) {
    session.game.isNew = false;
    requestAnimationFrame(() => showHeads(widget));
  }
  const isOver = !isAsking && answers.length === rounds.length;
  return html`<section class="game" aria-label="Find the head"><p role="status">${
    isAsking
      ? question(m, rounds[answers.length], answers.length, rounds.length)
      : outcome(m, rounds[answers.length - 1], answers)
  }</p>
    ${isAsking ? nothing : [reason(m, rounds[answers.length - 1]), bars(m, rounds[answers.length - 1], answers[answers.length - 1])]}${
      isOver
        ? html`<pre class="result">${resultText(widget, answers)}</pre><p>And
      now? Type a text of your own: the page finds the head that its guess needs most.</p>`
        : nothing
    }
    <p class="acts">${
      isAsking
        ? answering(m, widget, answers)
        : isOver
          ? html`<button type="button" class="main" @click=${() => ownText(widget)}>A text of my own</button><button
            type="button" @click=${() => findings(widget)}>Ten findings</button><button
            type="button" @click=${() => copy(widget, resultText(widget, answers))}>Copy the result</button>
            <span role="status">${said}</span>`
          : html`<button type="button" class="main" @click=${() => begin(widget, answers)}>Round ${answers.length + 1}</button>`
    }${isAsking ? nothing : showing(m, widget, rounds[answers.length - 1])}
    <button type="button" class="skip" @click=${() => stop(widget)}>${isOver ? "Close" : "Stop the game"}</button></p></section>`;
}

const question = (m, {guess, share}, round, count) =>
  html`<b>Round ${round + 1} of ${count}.</b> The model guesses ${boxed(guess, {...m, at: -1})},
    with ${chance(share)}. Which head does it need most? Press heads to see their arcs.${
      tellsPushes({number: round, isAsking: true})
        ? html` This time each has its <b>push</b> below it: what it adds itself to the
        score of that guess. +1 multiplies its odds by about 2.7; a green frame is +1 or more.`
        : ""
    }`;

function answering(m, widget, answers) {
  if (!m.round)
    return html`<button type="button" class="main" @click=${() => begin(widget, answers)}>Back to the round’s text</button>`;
  const answer = () =>
    m.isAll || update(widget, {answers: [...answers, m.head], isAsking: false, said: ""});
  return html`<button type="button" class="main" aria-disabled=${m.isAll} @click=${answer}>${m.isAll ? "First press a head above" : `My answer: head ${m.name}`}</button>`;
}

/** After an answer: the head that takes most, to be looked at. */
function showing(m, widget, round) {
  const name = names(m, ranked(round)[0]);
  return m.round && m.name !== name
    ? html`<button type="button" @click=${() => widget.set({head: name, to: null})}>Show head ${name}</button>`
    : nothing;
}

/** The last round's: points, the head that takes most, and which one misled. */
function outcome(m, round, answers) {
  const head = answers[answers.length - 1];
  const [worst] = ranked(round);
  return html`<b>Round ${answers.length}: ${pointsOf(round, head)} of ${FULL} points.</b>
    Without ${names(m, head)}, ${boxed(round.guess, {...m, at: -1})} has
    ${chance(round.without[head])}, not ${chance(round.share)}. ${
      worst === head ? "No other head takes more." : `Most is taken by ${names(m, worst)}.`
    }${m.round && !m.whole ? misled(m, round, worst) : ""}`;
}

/** Why the head that takes most does, where it was measured. */
const reason = (m, round) =>
  round.why && m.round
    ? html`<details><summary>Why head ${names(m, ranked(round)[0])}?</summary><p>${set(round.why, m)}</p></details>`
    : nothing;

/** That the head which stands out, by its push or by how it looks, isn't the one. */
function misled(m, round, worst) {
  const most = m.reading.heads.map(({weights}) =>
    rowOf({weights}, m.at, m.pieces.length).reduce((a, b) => Math.max(a, b)),
  );
  const one = m.tellsPushes ? strongest(m.pushes) : most.indexOf(Math.max(...most));
  if (one === worst) return "";
  return m.tellsPushes
    ? ` The largest push is ${names(m, one)}’s, ${signed(m.pushes.heads[one])}; yet without it the guess has ${chance(round.without[one])}.`
    : ` Head ${names(m, one)} looks hardest, with ${chance(most[one])} at one word; yet without it the guess has ${chance(round.without[one])}.`;
}

const names = ({entry}, head) =>
  nameOf({layer: Math.floor(head / entry.counts[0]), head: head % entry.counts[0]});

const resultText = (widget, answers) =>
  resultOf(widget.data.game, answers, location.origin + location.pathname);
