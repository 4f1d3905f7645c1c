// What the explorer shows of a state, and the same in words. No DOM.

import {chance, shown} from "../lib/ground-words.js";
import {format} from "../lib/numbers.js";
import {FREE, showsHeads, strongest} from "./guide.js";
import {roundOf} from "./game.js";
import {STAGES, answers, look, questionOf} from "./look.js";
import {guessed} from "./overview.js";

const CALM = 2; // the guide's last step before a word has been pressed

/** What is shown: of the state's model and text, or, until they are read, of those before. */
export function explore(data, state) {
  const {bench} = data;
  const question = questionOf(data, state);
  const found = (asked) => [...bench.readings, data.opening].find((reading) => answers(reading, asked));
  const reading = found(question) ?? bench.last ?? data.opening;
  bench.last = reading;
  const isRead = answers(reading, question);
  const pinned = state.pin === null ? null : found(questionOf(data, state, state.pin));
  const [problem, isWhole] = [bench.asking?.problem ?? "", isRead && !needs(reading, state, bench)];
  const seen = look(data.models, reading, state, pinned ?? null);
  return {
    ...seen, arcs: arcsShown(seen, state), round: roundOf(data, reading), isRead, isSettled: isRead && !bench.typing, isWriting: Boolean(bench.left), step: state.guide, hasHeads: showsHeads(state), stage: state.stage,
    problem: isRead ? "" : problem, failure: problem, isAwaited: !isWhole && !problem,
    arrived: isWhole ? null : bench.asking?.arrived ?? null
  };
}

/**
 * Which arcs are drawn: {only: the head, null: all; isOff: whether it is off, so that they are where all heads that
 * are off had looked; isFew: the largest alone, to begin calmly}. Beside the play they are of the head that it follows.
 */
function arcsShown({isAll, head, pushes, reading}, {guide, stage}) {
  const isCalm = isAll && guide <= CALM;
  const only = isAll ? (isCalm || stage ? strongest(pushes) : null) : head;
  return {only, isOff: only !== null && reading.heads[only].isOff, isFew: isCalm && !stage};
}

/** Whether the opening, which came with the page, lacks what is shown. */
export const needs = (reading, state, {unfolded, left}) => Boolean(reading.isOpening)
  && (state.stage > 0 || state.head !== null || state.at !== null || unfolded.has("number") || unfolded.has("weight") || Boolean(left));

export function summarize(m, widget) {
  const bench = widget?.data.bench;
  // Until a text has been read, nothing is told of it: the old numbers aren't the answer.
  if (bench && !m.isRead && !m.problem && bench.said) return bench.said;
  const said = m.problem || told(m);
  if (bench) bench.said = said;
  return said;
}

function told(m) {
  const {pieces, at, row, looks, name, guesses, entry, reading, whole, arcs} = m;
  if (m.isWriting) return "The model is writing.";
  const best = looks.shown.slice(0, 3).map((i) => `${shown(pieces[i])} ${chance(row[i])}`).join(", ");
  const next = guesses.slice(0, 3).map(({text, share}) => `${guessed(text, m)} ${chance(share)}`).join(", ");
  const changed = whole ? ` With all heads on, ${guessed(whole.text, m)} had ${chance(whole.share)}; now ${chance(whole.now)}.` : "";
  const {isOff} = reading.heads[m.head];
  return `${m.step < FREE ? `Step ${m.step} of 5. ` : ""}${entry.title}. ${m.stage ? `Stage ${m.stage} of ${STAGES.length}: ${STAGES[m.stage - 1]}. ` : ""}${m.hasHeads ? "" : "Its heads come later. "}${arcs.only === null ? `The arcs of all ${reading.heads.length} heads. ` : ""}Head ${name} ${isOff ? "is switched off" : `looks from ${shown(pieces[at])} at ${best}`}. `
    + `The model guesses ${entry.causal ? "next" : "there"}: ${next}.${changed}${reading.loss === null ? "" : ` Mean loss ${format(reading.loss)}.`}`
    + `${isOff ? "" : ` Number by number: ${shown(pieces[m.to])}, ${chance(row[m.to])}.`}${m.pinned ? ` Kept beside: ${m.pinned.reading.text}` : ""}`;
}
