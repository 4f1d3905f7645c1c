// The game's rounds on the page: look at the heads above, then answer with one.

import {html, nothing} from "../../assets/vendor/lit.js";
import {chance} from "../lib/ground-words.js";
import {filled} from "../lib/shares.js";
import {show} from "./gallery.js";
import {FULL, pointsOf, ranked, resultOf} from "./game.js";
import {CHOSEN_WORD} from "./guide.js";
import {nameOf} from "./look.js";
import {boxed} from "./overview.js";

const LISTED = 5;

function update(widget, game) {
  widget.data.bench.game = game;
  widget.data.bench.drawn = null;
  widget.refresh();
  widget.root.querySelector(".game .main")?.focus({preventScroll: true}); // the button that was pressed is gone
}

function begin(widget, answers) {
  const {data} = widget;
  data.bench.game = {answers, isAsking: true, said: ""};
  data.bench.drawn = null;
  show(widget, {model: data.models[0].name, text: data.game[answers.length].text});
  widget.root.querySelector(CHOSEN_WORD)?.focus({preventScroll: true});
}

async function copy(widget, text) {
  let said = "Copied.";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = "This browser doesn’t let it be copied: mark it, and copy it yourself.";
  }
  update(widget, {...widget.data.bench.game, said});
}

export function game(m, widget) {
  const {data: {bench, game: rounds}} = widget;
  const {answers = [], isAsking = false, said = ""} = bench.game ?? {};
  if (!bench.game) {
    return html`<div class="game"><p>Three texts, three guesses. Each time: which head, switched off, takes most from the guess? Look at the heads’ arcs and pushes as long as you like; what counts is what happens without the head.</p>
      <p><button type="button" class="main" @click=${() => begin(widget, [])}>Begin</button></p></div>`;
  }
  return html`<div class="game">${answers.map((head, i) => answered(rounds[i], head, i, m))}${
    isAsking ? asking(m, widget, answers) : answers.length < rounds.length
      ? html`<p><button type="button" class="main" @click=${() => begin(widget, answers)}>Round ${answers.length + 1}</button></p>` : result(widget, answers, said)}</div>`;
}

function asking(m, widget, answers) {
  const round = widget.data.game[answers.length];
  const isHere = m.reading.text === round.text && !m.isAll;
  const answer = () => {
    const answered = [...answers, m.head];
    update(widget, {answers: answered, isAsking: false, said: ""});
  };
  return html`<p role="status"><b>Round ${answers.length + 1} of ${widget.data.game.length}.</b> After <i>${round.text}</i> the model guesses ${boxed(round.guess, {...m, at: -1})}, with ${chance(round.share)}. Which head does it need most? Press one above to see its arcs.</p>
    <p>${m.reading.text === round.text ? html`<button type="button" class="main" aria-disabled=${!isHere} @click=${() => isHere && answer()}>${isHere ? `My answer: head ${m.name}` : "First press a head above"}</button>`
      : html`<button type="button" class="main" @click=${() => begin(widget, answers)}>Back to the round’s text</button>`}</p>`;
}

function answered(round, head, i, m) {
  const order = ranked(round);
  const listed = [...new Set([...order.slice(0, LISTED), head])];
  return html`<section class="round"><p><b>Round ${i + 1}: ${pointsOf(round, head)} of ${FULL} points.</b> Without ${names(m, head)}, ${boxed(round.guess, {...m, at: -1})} has ${chance(round.without[head])}, not ${chance(round.share)}. ${
    order[0] === head ? "No other head takes more." : `Most is taken by ${names(m, order[0])}.`}</p>
    <ul aria-label="The guess without each head">${listed.map((one) => html`<li class=${one === head ? "own" : nothing}><span>without ${names(m, one)}</span><span class="bar" aria-hidden="true"><span style=${filled(round.without[one])}></span><i style="left:${(100 * round.share).toFixed(1)}%"></i></span><span class="share">${chance(round.without[one])}</span></li>`)}</ul></section>`;
}

const names = ({entry}, head) => nameOf({layer: Math.floor(head / entry.counts[0]), head: head % entry.counts[0]});

function result(widget, answers, said) {
  const {origin, pathname} = location;
  const text = resultOf(widget.data.game, answers, origin + pathname);
  return html`<pre class="result">${text}</pre><p><button type="button" class="main" @click=${() => copy(widget, text)}>Copy the result</button>
    <button type="button" @click=${() => update(widget, null)}>Once more</button> <span role="status">${said}</span></p>`;
}
