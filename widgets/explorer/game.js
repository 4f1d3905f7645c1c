// Find the head: which one, switched off, takes most from the guess? Three rounds, and a result to share. No DOM.

export const FULL = 100; // points of a round

/** Points for `head`: what the guess loses without it, against the most that it can lose. */
export function pointsOf({share, without}, head) {
  const falls = without.map((now) => share - now);
  return Math.max(0, Math.round((FULL * falls[head]) / Math.max(...falls)));
}

/** The heads of a round from the largest fall to the largest rise. */
export const ranked = ({without}) =>
  [...without.keys()].sort((a, b) => without[a] - without[b] || a - b);

const mark = (points) => (points >= 90 ? "🟩" : points >= 40 ? "🟨" : "⬛");

/** The result as a text to share. */
export function resultOf(rounds, answers, address) {
  const points = answers.map((head, i) => pointsOf(rounds[i], head));
  return `Find the head: ${points.map(mark).join("")} ${points.reduce((a, b) => a + b, 0)} of ${FULL * rounds.length}\n${address}`;
}

/** The round that is played on this very text, {number: counted from 0, isAsking}, or null. */
export function roundOf({session: {game}, game: rounds}, {text}) {
  const number = game && game.answers.length - (game.isAsking ? 0 : 1);
  return game && text === rounds[number].text ? {number, isAsking: game.isAsking} : null;
}

/** Whether pushes are told: where a reader opened them, and in the last round, in which they mislead. */
export const tellsPushes = (round, isOpen) => round?.number === 2 || (isOpen && !round?.isAsking);
