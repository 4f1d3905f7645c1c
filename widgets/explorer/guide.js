// The guided start: five presses, each with one thing to do, and then all is open.

import {html, nothing} from "../../assets/vendor/lit.js";
import {chance} from "../lib/numbers.js";
import {toWords} from "../lib/words.js";
import {nameOf} from "./names.js";
import {strongest} from "./reading.js";
import {openFold} from "./folded.js";
import {boxed} from "./token-view.js";
import {seek} from "./seeking.js";
import {FREE} from "./steps.js";

export const [SEEK, SEEKING] = [
  "Find the head that this guess needs most",
  "Switching off each head in turn …",
];
export const BEGINS = /^ [b-hj-zB-HJ-NP-Z]$/; // a token of one letter that isn't a word
const LITTLE = 0.1; // share of a first guess of which little can be seen

/** Changes the state by a button that goes with it: the focus moves to what comes next. */
export function leave(widget, changes, selector) {
  widget.set(changes);
  widget.root.querySelector(selector)?.focus({preventScroll: true});
}

export const CHOSEN_WORD = ".tokens [tabindex='0']";

export function guide(m, widget) {
  const {guide: step} = widget.state;
  if (step >= FREE) return nothing;
  const {told, presses = []} = stepOf(m, widget, step);
  return html`<section class="guide" aria-label="Guided start"><p class="dots" aria-hidden="true">${[1, 2, 3, 4, 5].map((i) => html`<i class=${i <= step ? "on" : ""}></i>`)}</p>
    <p role="status" tabindex="-1">${told}</p>
    ${presses.map(([name, act]) => html`<button type="button" class="main" @click=${act}>${name}</button>`)}
    <button type="button" class="skip" @click=${() => leave(widget, {guide: FREE}, CHOSEN_WORD)}>${step === 5 ? "Explore freely" : "Skip the tour"}</button></section>`;
}

function stepOf(m, widget, step) {
  const {
    reading,
    pieces,
    at,
    to,
    row,
    name,
    whole,
    guesses: [first],
    entry,
  } = m;
  const count = reading.heads.length;
  const best = nameOf(reading.heads[strongest(m.pushes)]);
  const isOpening = entry.kind === "storyteller" && reading.text === entry.examples[0].text;
  const token = (i) => boxed(pieces[i], {...m, at: -1});
  if ((step === 2 || step === 3) && isWeak(m)) return weak(m, widget);
  switch (step) {
    case 1:
      return {
        told: html`The model guesses that ${boxed(first.text, m)}
          ${entry.causal ? "comes next" : "stands there"}. A <b>head</b> is a small part of the
            model that looks back at ${entry.causal ? "earlier" : "other"} words: see the arc.
            Type a text above, or go on with this one.`,
        presses: [["Go on with this text", () => leave(widget, {guide: 2}, CHOSEN_WORD)]],
      };
    case 2:
      return {
        told: html`<b>Press a word</b>, best ${boxed(wordAt(m), {...m, at: -1})}${entry.causal && at === pieces.length - 1 ? ", the last one" : ""}:
          arcs show where each of the model’s ${count} heads looks from there.`,
      };
    case 3:
      return m.isOwn
        ? ownStep(m, widget)
        : {
            told: html`<b>Press a head</b>, a square below. Rows are words that look, columns
              those looked at. Try ${name}, in the dashed frame.`,
          };
    case 4:
      return {
        told: html`Head ${name} looks from ${token(at)} at ${token(to)}, ${chance(row[to])}, and
          carries what it finds there to ${token(at)}. What will the model guess without it?`,
        presses: [
          [
            `Switch head ${name} off`,
            () => leave(widget, {off: [name], head: name, guide: 5}, ".guide [role]"),
          ],
        ],
      };
    default:
      return {
        told: whole
          ? html`Without head ${reading.off.map(nameOfPair).join(" and ")},
            ${outcomeText(m)} ${set(deedOf(m, widget), m)} ${lessonText(whole)}`
          : m.isRead
            ? html`All heads are on again: ${boxed(first.text, m)} has ${chance(first.share)}.
              <b>Press another head</b>${isOpening && name !== "2.4" ? ", 2.4 for one" : ""},
                and switch that off.`
            : "Reading the text without it …",
        presses:
          isSlight(whole) && isOpening && best !== reading.off.map(nameOfPair).join()
            ? [
                [
                  `Try head ${best}`,
                  () => leave(widget, {off: [best], head: best}, ".guide [role]"),
                ],
              ]
            : NEXT.map(([title, fold]) => [title, () => goOn(widget, fold)]),
      };
  }
}

/** What became of the guess, and which one is first instead. */
export function outcomeText(m) {
  const {
    whole,
    guesses: [first],
    entry,
  } = m;
  return html`${boxed(whole.text, m)} ${changeText(whole)}${
    whole.text === first.text
      ? ""
      : html`; first is now ${boxed(first.text, m)}, with ${chance(first.share)}${
          entry.kind === "storyteller" && BEGINS.test(first.text)
            ? ", a piece that begins a word: the model reads and writes rarer words in pieces"
            : ""
        }`
  }.`;
}

const changeText = ({share, now}) =>
  chance(share) === chance(now)
    ? `keeps ${chance(now)}`
    : `${now < share ? "falls" : "rises"} from ${chance(share)} to ${chance(now)}`;

const nameOfPair = ([layer, head]) => nameOf({layer, head});

/** Whether the guess hardly needs what is off. */
const isSlight = (whole) =>
  whole && whole.now > 0.8 * whole.share && whole.now < 1.25 * whole.share;

/** What the switch has shown: a need, or none. */
const lessonText = (whole) =>
  whole.now < whole.share / 2
    ? html`<b>This is how you find out what a head does: see where it looks, take it away, and see what changes. Then try other texts.</b>`
    : isSlight(whole)
      ? "So this guess hardly needs it."
      : nothing;

/** Whether a text of the reader's shows little: a guess below 10 %, or no push of 1. */
const isWeak = ({entry, guesses, pushes, isAll, isSettled, reading}) =>
  entry.kind === "storyteller" &&
  isAll &&
  isSettled &&
  (guesses[0].share < LITTLE || pushes.heads[strongest(pushes)] < 1) &&
  entry.examples.every(({text}) => text !== reading.text);

const weak = (
  {
    entry: {
      examples: [, {text}],
    },
    guesses: [first],
  },
  widget,
) => ({
  told: html`This text shows little: ${
    first.share < LITTLE
      ? html`the first guess has only
    ${chance(first.share)}`
      : "no head adds much to the first guess"
  }. Heads show more where a
      word comes twice, as in <i>${text}</i>.`,
  presses: [
    ["Take that text", () => leave(widget, {text, at: null, to: null, guide: 2}, CHOSEN_WORD)],
  ],
});

/** The whole word that the chosen token belongs to. */
const wordAt = ({entry, pieces, at}) =>
  entry.kind === "storyteller"
    ? toWords(pieces)
        .find((word) => word.includes(at))
        .map((i) => pieces[i])
        .join("")
    : pieces[at];

/** With a text of the reader's, the head to press is looked for. */
function ownStep(m, widget) {
  const isSeeking = m.isSought && !m.needed;
  return {
    told: html`<b>Press a head</b>, a square below: its arcs will stand alone. Which one does
      this guess need? The page can try each in turn.`,
    presses: [[isSeeking ? SEEKING : SEEK, () => isSeeking || seek(widget)]],
  };
}

/** A sentence of the page's data, with its [words] set off as tokens. */
export const set = (text, m) =>
  text.split(/\[([^\]]+)\]/).map((part, i) => (i % 2 ? boxed(part, {...m, at: -1}) : part));

const NEXT = [
  ["Ten findings", "gallery"],
  ["Find the head", "game"],
]; // what the last step offers, and its fold

/** Ends the guide at a fold, open and in view. */
function goOn(widget, fold) {
  widget.data.session.unfolded.add(fold);
  widget.set({guide: FREE});
  openFold(widget, fold);
}

/** What the head that is off does, where that has been measured: on a finding's own text, at its place. */
function deedOf({reading, pieces, at}, {data}) {
  const shown = data.findings.find(
    ({does, text, model, head}) =>
      does &&
      model === reading.model &&
      text === reading.text &&
      at === pieces.length - 1 &&
      reading.off.map(nameOfPair).join() === head,
  );
  if (shown) data.session.done.add(shown.title);
  return shown?.does ?? "";
}
