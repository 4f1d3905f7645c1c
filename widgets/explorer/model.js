// What the explorer shows of a state, and the same in words. No DOM.

import {chance, format} from "../lib/numbers.js";
import {CALM, FREE} from "./steps.js";
import {ranked, roundOf, tellsPushes} from "./game.js";
import {STAGES, nameOf} from "./names.js";
import {answers, isKnown, isStudy, look, questionOf} from "./reading.js";
import {seekingOf} from "./seeking.js";
import {guessed} from "./token-view.js";
import {tokenText} from "../lib/token-text.js";

/** What is shown: of the state's model and text, or, until they are read, of those before. */
export function explore(data, state) {
  const {session} = data;
  const question = questionOf(data, state);
  const found = (asked) =>
    [...session.readings, data.opening].find((reading) => answers(reading, asked));
  const reading = found(question) ?? session.last ?? data.opening;
  session.last = reading;
  const isRead = answers(reading, question);
  const pinned = state.pin === null ? null : found(questionOf(data, state, state.pin));
  const [problem, isWhole] = [
    session.asking?.problem ?? "",
    isRead && !needs(reading, state, session),
  ];
  const seen = look(data.models, reading, state, pinned ?? null);
  const round = roundOf(data, reading);
  const [isOpen, isFree] = [session.unfolded.has("pushes"), state.guide === FREE];
  const study = (name, off) =>
    session.studies.find((one) => isStudy(one, {...question, off, study: name, at: seen.at})) ??
    null;
  const [isSought, needed] = [
    session.sought === seekingOf({...question, at: seen.at}),
    study("needed", []),
  ];
  return {
    ...seen,
    question,
    round,
    arcs: arcsShown(seen, state),
    isRead,
    isSettled: isRead && !session.typing,
    isWriting: Boolean(session.left),
    step: state.guide,
    stage: state.stage,
    isOwn: !isKnown(data, reading.text),
    isTyped: !isKnown(data, reading.text) && !data.beginnings.includes(reading.text),
    isSought,
    needed,
    tellsPushes: tellsPushes(round, isOpen && isFree),
    tellsTops:
      isFree &&
      !seen.isAll &&
      (!round || tellsPushes(round, isOpen)) &&
      !reading.heads[seen.head].isOff,
    tops: study("pushed", question.off),
    problem: isRead ? "" : problem,
    failure: problem,
    isAwaited: (!isWhole || (isSought && !needed)) && !problem,
    arrived: isWhole ? null : (session.asking?.arrived ?? null),
  };
}

/**
 * Which arcs are drawn: {only: the head, null: all; isOff: whether it is off, so that they are where all heads that
 * are off had looked; isFew: the largest alone, to begin calmly}. The head is the one that all other parts name.
 */
function arcsShown({isAll, head, reading}, {guide}) {
  const isCalm = isAll && guide <= CALM;
  const only = isAll && !isCalm ? null : head;
  return {only, isOff: only !== null && reading.heads[only].isOff, isFew: isCalm};
}

/** Whether the opening, which came with the page, lacks what is shown. */
export const needs = (reading, state, {unfolded, left}) =>
  Boolean(reading.isOpening) &&
  (state.stage > 0 ||
    state.head !== null ||
    state.at !== null ||
    unfolded.has("number") ||
    unfolded.has("weight") ||
    Boolean(left));

export function summarize(m, widget) {
  const session = widget?.data.session;
  // Until a text has been read, nothing is told of it: the old numbers aren't the answer.
  if (session && !m.isRead && !m.problem && session.said) return session.said;
  const said = m.problem || told(m);
  if (session) session.said = said;
  return said;
}

function told(m) {
  const {pieces, at, row, looks, name, guesses, entry, reading, whole, arcs} = m;
  if (m.isWriting) return "The model is writing.";
  const best = looks.shown
    .slice(0, 3)
    .map((i) => `${tokenText(pieces[i])} ${chance(row[i])}`)
    .join(", ");
  const next = guesses
    .slice(0, 3)
    .map(({text, share}) => `${guessed(text, m)} ${chance(share)}`)
    .join(", ");
  const {isOff} = reading.heads[m.head];
  return [
    m.step < FREE && `Step ${m.step} of 5.`,
    `${entry.title}.`,
    m.stage && `Stage ${m.stage} of ${STAGES.length}: ${STAGES[m.stage - 1]}.`,
    arcs.only === null && `The arcs of all ${reading.heads.length} heads.`,
    `Head ${name} ${isOff ? "is switched off" : `looks from ${tokenText(pieces[at])} at ${best}`}.`,
    `The model guesses ${entry.causal ? "next" : "there"}: ${next}.`,
    whole &&
      `With all heads on, ${guessed(whole.text, m)} had ${chance(whole.share)}; now ${chance(whole.now)}.`,
    reading.loss !== null && `Mean loss ${format(reading.loss)}.`,
    !isOff && `Number by number: ${tokenText(pieces[m.to])}, ${chance(row[m.to])}.`,
    m.isSought && !m.needed && "Each head is switched off in turn.",
    m.needed && `The guess needs head ${nameOf(reading.heads[ranked(m.needed)[0]])} most.`,
    m.pinned && `Kept beside: ${m.pinned.reading.text}`,
  ]
    .filter(Boolean)
    .join(" ");
}
