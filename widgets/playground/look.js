// What the page shows of a state: numbers and words, without a page.

import {chanceOf} from "../lib/exact.js";
import {format, formatPercent} from "../lib/numbers.js";
import {cameTo, questionOf, readingKey, runFor, trainedOf} from "./session.js";
import {countOf, numbersOf, planOf, viewsOf} from "./model.js";
import {exampleOf, headsOf, learnedAt, meanAt, readingOf} from "./reading.js";
import {PARTS, rivalOf, specOf, wordsOf} from "./spec.js";
import {TASKS, askedAt} from "./tasks.js";

/** The numbers that a training begins with: the same for all models of one shape, such as those with and without a mask. */
function firstNumbers(session, spec) {
  const shape = JSON.stringify([spec.seed, planOf(spec)]);
  if (session.first?.shape !== shape)
    session.first = {shape, numbers: numbersOf(spec, chanceOf(2 * spec.seed))};
  return session.first.numbers;
}

/** What a model reads before it learns: computed here, as it takes a millisecond. */
function untrained(session, question) {
  const {untrained: known} = session;
  const key = readingKey({...question, step: 0});
  if (!known.has(key)) {
    if (known.size > 50) known.clear();
    const {spec, example, off} = question;
    const views = viewsOf(spec, firstNumbers(session, spec));
    known.set(key, readingOf(spec, views, exampleOf(spec.task, example), off));
  }
  return known.get(key);
}

function sideOf({session}, state, one, i) {
  const question = questionOf(state, one, i);
  const key = readingKey(question);
  const {losses, shares, since} = runFor(session, one.key);
  const reading = state.step ? (session.readings.get(key) ?? null) : untrained(session, question);
  const now = (some, step) => ({key: one.key, reading: some, step, example: state.example});
  const before =
    session.shown?.[i]?.key === one.key
      ? session.shown[i]
      : now(untrained(session, {...question, off: []}), 0);
  const drawn = reading ? now(reading, Math.min(state.step, losses.length)) : before; // what was drawn stays until the new is read
  const {reading: shown, step} = drawn;
  const isLate = !reading && !session.problem && !(step && drawn.example === state.example);
  const example = exampleOf(one.spec.task, state.example);
  const {targets} = example;
  const worth = session.worths.get(key) ?? null;
  const heads = headsOf(one.spec).map(([layer, head], at) => {
    return {
      name: `${layer + 1}.${head + 1}`,
      layer,
      isOff: question.off.some(([a, b]) => a === layer && b === head),
      map: shown.maps[at],
      follows: shown.follows ? shown.follows[at] : {says: ""},
      without: worth ? worth.without[at] : null,
    };
  });
  const isRight = targets.map((target, at) => target >= 0 && shown.answers[at] === target);
  return {
    drawn,
    isLate,
    spec: one.spec,
    reading: shown,
    isRead: Boolean(reading),
    worth,
    heads,
    isRight,
    right: isRight.filter(Boolean).length,
    step,
    count: countOf(one.spec),
    loss: step ? meanAt(losses, step) : null,
    share: step ? meanAt(shares, step) : null,
    learned: learnedAt(shares),
    losses,
    shares,
    begins: heads
      .map(({name}, at) => [since[at], name])
      .filter(([begun]) => begun)
      .sort(([a], [b]) => a - b),
  };
}

/** What is shown of the state. */
export function looked(data, state) {
  const {session} = data;
  const spec = specOf(state);
  const example = exampleOf(state.task, state.example);
  const sides = trainedOf(state).map((one, i) => sideOf(data, state, one, i));
  if (session.shown && session.shown[0].key !== sides[0].drawn.key)
    session.former = session.shown[0].key;
  session.shown = sides.map(({drawn}) => drawn);
  const isStepping = Boolean(session.playing?.isSingle);
  const isPlaying = Boolean(session.playing) && !isStepping;
  const isWhole = sides.every((side) => side.isRead && (side.worth || !state.step));
  return {
    task: state.task,
    spec,
    example,
    sides,
    isPlaying,
    isStepping,
    problem: session.problem,
    change: rivalOf(spec, state.versus) && state.versus,
    isWide: Math.max(spec.layers, spec.heads) > 2,
    step: state.step,
    last: Math.max(state.step, cameTo(session, state)),
    at: Math.min(state.at ?? openRow(state.task, example), example.tokens.length - 1),
    isAwaited: (isStepping || (!isPlaying && !isWhole)) && !session.problem,
    former: sides[1] ? null : formerOf(session, sides[0]),
    catching:
      session.again ??
      (session.catching && !isPlaying ? Math.min(...sides.map(({losses}) => losses.length)) : null),
  };
}

/** The training of the same task that was shown before: its numbers, and in words what it had other than this one. */
function formerOf({former, runs}, {spec}) {
  const [old, run] = [former && JSON.parse(former), runs.get(former)];
  if (!run?.losses.length || old.task !== spec.task) return null;
  const says = Object.keys(PARTS)
    .filter((name) => old[name] !== spec[name])
    .map((name) => PARTS[name].says(old[name]));
  return says.length ? {...run, says: says.join(", ")} : null;
}

/** The symbol whose looks are told at first: in the middle of those that are asked. */
function openRow(task, {tokens, targets}) {
  const asked = tokens.map((_, i) => i).filter((i) => askedAt(task, targets, i).length);
  return asked[Math.floor(asked.length / 2)];
}

// ---- In words ----------------------------------------------------------------------------------

export const symbol = (task, token) => TASKS[task].symbols[token];
export const answer = (task, target) => TASKS[task].answers[target];

/** Where a head looks from a symbol, the chosen one or another: {to, weight}. */
export function looks(map, {at, example: {tokens}}) {
  const row = map.subarray(at * tokens.length, (at + 1) * tokens.length);
  const to = row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
  return {to, weight: row[to]};
}

/** What a compared model has that the other hasn't. */
export const titleOf = ({change: {name, value}, spec}, i) =>
  PARTS[name].says(i ? value : spec[name]);

/** Which heads are off: "head 1.1", "heads 1.1 and 2.1"; nothing where none is. */
export function offInWords({heads}) {
  const names = heads.filter(({isOff}) => isOff).map(({name}) => name);
  const last = names.pop();
  return names.length ? `heads ${names.join(", ")} and ${last}` : last ? `head ${last}` : "";
}

/** What is off when a head that is on is switched off as well. */
export const offToo = ({heads}) =>
  heads.some(({isOff}) => isOff)
    ? heads.length === 2
      ? "With both off"
      : "With it off too"
    : "With it off";

function sideInWords(side, m) {
  const {task, at, example} = m;
  const heads = side.heads.map((head) => {
    const {to, weight} = looks(head.map, m);
    const worth =
      head.without === null || head.isOff
        ? ""
        : `; ${offToo(side).toLowerCase()}, ${formatPercent(head.without)} right`;
    const {share, says, even} = head.follows;
    const follows = share
      ? `gives ${formatPercent(share)} ${says} (${formatPercent(even)} if it looked at all alike), `
      : says && `${says}, `;
    return `Head ${head.name} ${head.isOff ? "is off" : `${follows}and from the chosen token gives ${formatPercent(weight)} to ${symbol(task, example.tokens[to])}, position ${to + 1}${worth}`}`;
  });
  const said =
    askedAt(task, example.targets, at)
      .map(
        (i) =>
          `answers ${answer(task, side.reading.answers[i])}, ${side.isRight[i] ? "right" : `wrong: it is ${answer(task, example.targets[i])}`}`,
      )
      .join(", and ") || "is asked for nothing";
  return (
    `${wordsOf(side.spec)}. ${scoreInWords(side)} Of the example, ${side.right} of ${example.targets.filter((target) => target >= 0).length} answers are right. ` +
    `At position ${at + 1}, ${symbol(task, example.tokens[at])}, it ${said}. ${heads.join(". ")}.`
  );
}

function scoreInWords(side) {
  const {step, isLate, loss, share, learned, worth} = side;
  const off = offInWords(side);
  if (isLate) return "Computing.";
  if (!step) return "Not trained yet.";
  if (off)
    return `After ${step} steps, with ${off} off${worth ? `, ${formatPercent(worth.share)} of the answers on other rows are right` : ""}.`;
  return `After ${step} steps, loss ${format(loss)}, ${formatPercent(share)} of the answers right.${learned && learned <= step ? ` Learned at step ${learned}.` : ""}`;
}

export function summarize(m) {
  if (m.problem) return m.problem;
  const model = `${TASKS[m.task].title}: ${m.example.tokens.map((token) => symbol(m.task, token)).join(" ")}.`;
  if (m.isPlaying) return `${model} ${wordsOf(m.spec)}. Training. Stop to hear how far it is.`;
  const [own, other] = m.sides;
  return `${model} ${sideInWords(own, m)}${other ? ` Beside it, ${PARTS[m.change.name].says(m.change.value)}: ${sideInWords(other, m)}` : ""}`;
}
