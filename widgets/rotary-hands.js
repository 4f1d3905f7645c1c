// Two words on a line, whose positions turn the hands of a query and a key. Where both stand doesn't
// matter: only the angle between their hands is left in the score, and it goes by the distance.

import {line, pointer, scaleLinear} from "../assets/vendor/d3.js";
import {html, nothing, svg} from "../assets/vendor/lit.js";
import {hand, speeds} from "./clock-hands.js";
import {button, choice, numbered, reset, slider, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {holdBy} from "./lib/drag.js";
import {flag, integer, option} from "./lib/fields.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/** An angle as that between two hands: from −π to π. */
const within = (angle) => Math.atan2(Math.sin(angle), Math.cos(angle));

/**
 * The pairs of hands of a query and a key, before and after their positions turn them, and the score:
 * now, and with the key at each position. `best` is the distance back with the highest score of all.
 */
export function rotary({query, keys, base, places, start}, state) {
  const hands = (vector, i) => ({
    long: Math.hypot(vector[2 * i], vector[2 * i + 1]),
    angle: Math.atan2(vector[2 * i + 1], vector[2 * i]),
  });
  const pairs = (word) =>
    speeds(query.length, base).map((turn, i) => {
      const [q, k] = [hands(query, i), hands(keys[word], i)];
      const apart = (d) => within(q.angle - k.angle + d * turn);
      return {turn, q, k, apart, adds: (d) => q.long * k.long * Math.cos(apart(d))};
    });
  const scoreOf = (clocks) => (d) => clocks.reduce((sum, {adds}) => sum + adds(d), 0);
  const now = pairs(state.word);
  const score = scoreOf(now);
  const distance = state.query - state.key;
  const clocks = now.map(({turn, q, k, apart, adds}) => ({
    turn,
    lengths: [q.long, k.long],
    before: {first: q.angle, second: k.angle, apart: apart(0)},
    after: {
      first: q.angle + state.query * turn,
      second: k.angle + state.key * turn,
      apart: apart(distance),
    },
    adds: adds(distance),
  }));
  const curve = Array.from({length: places}, (_, key) => score(state.query - key));
  const distances = Array.from({length: 2 * places - 1}, (_, i) => i - places + 1);
  const scores = distances.map(score);
  const [first] = Object.keys(keys);
  const everywhere = Object.keys(keys).flatMap((word) => distances.map(scoreOf(pairs(word))));
  return {
    ...state,
    distance,
    clocks,
    curve,
    now: score(distance),
    best: distances[scores.indexOf(Math.max(...scores))],
    atFirst: scoreOf(pairs(first))(start.query - start.key),
    isFirst: state.word === first,
    hasMoved: state.query !== start.query || state.key !== start.key,
    range: [Math.min(0, Math.floor(Math.min(...everywhere))), Math.ceil(Math.max(...everywhere))],
  };
}

/** The positions after one word, or both, have been dragged to `to`, from where the pointer was at `from`. */
export function dragged({query, key}, what, {from, to, places}) {
  const last = places - 1;
  const put = (at) => Math.max(0, Math.min(last, Math.round(at)));
  if (what === "both") {
    const by = Math.max(
      -Math.min(query, key),
      Math.min(last - Math.max(query, key), Math.round(to - from)),
    );
    return {query: query + by, key: key + by};
  }
  const moved = {query, key, [what]: put(to)};
  return moved.query === moved.key ? {query, key} : moved; // one position, one word
}

// ---- Sentence ------------------------------------------------------------------------------

const degrees = (angle) => `${Math.round(Math.abs(angle) * (180 / Math.PI))}°`;
const away = (d) =>
  d === 0 ? "at the same position" : `${Math.abs(d)} ${d > 0 ? "back" : "ahead"}`;

function sentence({word, query, key, distance, now, clocks, all, best}) {
  const sum = clocks
    .map(({adds}) => format(adds))
    .join(" + ")
    .replaceAll("+ −", "− ");
  const [fast] = clocks;
  return (
    `bites stands at position ${query}, ${word} at ${key}: ${away(distance)}. Their fast hands were ` +
    `${degrees(fast.before.apart)} apart before the turn, and are ${degrees(fast.after.apart)} apart after it. ` +
    `Score: ${sum} ≈ ${format(now)}.${all ? ` Of all distances, ${word} scores highest ${away(best)}.` : ""}`
  );
}

// ---- View ----------------------------------------------------------------------------------

/** The angle between two hands, as a slice. */
function slice({second, apart}) {
  const at = (angle) =>
    `${(17 * Math.cos(angle)).toFixed(2)},${(-17 * Math.sin(angle)).toFixed(2)}`;
  return svg`<path class="apart" d="M0,0 L${at(second)} A17,17 0 0 ${apart > 0 ? 0 : 1} ${at(second + apart)} Z"></path>`;
}

const dial = (
  hands,
  [q, k],
  name,
) => html`<figure><svg viewBox="-42 -42 84 84" aria-hidden="true"><circle r="38"></circle>
    ${slice(hands)}${hand(hands.second, k, "second")}${hand(hands.first, q, "first")}<circle class="axle" r="2.5"></circle></svg>
  <figcaption>${name}<b>${degrees(hands.apart)} apart</b></figcaption></figure>`;

function pair({turn, lengths, before, after, adds}, i, longest) {
  const long = lengths.map((length) => length / longest);
  const step = (turn * 180) / Math.PI;
  return html`<section class="pair"><p class="name">${["Fast", "Slow"][i]} hands <span>turn by
      ${step < 10 ? step.toFixed(1) : Math.round(step)}° a position</span></p>
    <div class="dials">${dial(before, long, "before the turn")}<span class="arrow" aria-hidden="true">→</span>${dial(after, long, "after it")}</div>
    <p class="adds">adds <b>${format(adds)}</b></p></section>`;
}

const LEFT = 30;
const RIGHT = 326;
const AXIS = 172; // the line on which the words stand
let grip = null; // what is being dragged, and from where
let isOnWord = false; // whether the last press was on a word: the click after it moves none

function street(m, {data: {places}, set, refresh}) {
  const x = scaleLinear([0, places - 1], [LEFT, RIGHT]);
  const y = scaleLinear(m.range, [112, 16]);
  const at = (event) => x.invert(pointer(event, event.currentTarget)[0]);
  const hold = holdBy("[data-drag]");
  const take = (event) => {
    const what = event.target.closest("[data-drag]")?.dataset.drag;
    isOnWord = Boolean(what);
    if (!what) return;
    event.preventDefault(); // no text is marked
    event.currentTarget.setPointerCapture(event.pointerId);
    grip = {what, from: at(event), state: {query: m.query, key: m.key}};
  };
  const move = (event) => {
    if (!grip || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const {query, key} = dragged(grip.what === "both" ? grip.state : m, grip.what, {
      from: grip.from,
      to: at(event),
      places,
    });
    if (query !== m.query || key !== m.key) set({query, key});
  };
  const drop = () => {
    if (!grip) return;
    grip = null;
    refresh(true); // a goal is met where a word is put down, not on the way
  };
  const put = (event) => {
    if (!isOnWord) set(dragged(m, "key", {to: at(event), places}));
  };
  // A word's sign stands beside its pin, the key's above the line and the query's below it.
  const sign = (what, token, place, top) => {
    const wide = 16 + 8.2 * token.length;
    const middle = Math.max(LEFT - 26 + wide / 2, Math.min(RIGHT + 10 - wide / 2, x(place)));
    return svg`<g class=${what} data-drag=${what}><rect class="hit" x=${middle - Math.max(wide, 44) / 2} y=${Math.min(top, AXIS) - 9}
        width=${Math.max(wide, 44)} height="46"></rect>
      <line x1=${x(place)} x2=${x(place)} y1=${AXIS} y2=${top + 12}></line><circle cx=${x(place)} cy=${AXIS} r="6"></circle>
      <rect class="sign" x=${middle - wide / 2} y=${top} width=${wide} height="24" rx="6"></rect><text x=${middle} y=${top + 17}>${token}</text></g>`;
  };
  const ticks = [...new Set([m.range[0], 0, m.range[1]])].map(
    (tick) => svg`<line class="tick" x1=${LEFT} x2=${RIGHT} y1=${y(tick)} y2=${y(tick)}></line>
      <text class="tick" x=${LEFT - 6} y=${y(tick) + 4}>${format(tick).replace(/\.?0+$/, "")}</text>`,
  );
  const others = svg`<path class="all" d=${line((_, key) => x(key), y)(m.curve)}></path>
    ${m.curve.map((score, key) => svg`<circle class="all" cx=${x(key)} cy=${y(score)} r="2.5"></circle>`)}`;
  return html`<figure class="street"><figcaption>Score, by the position of <i>${m.word}</i></figcaption>
    <svg viewBox="0 0 340 236" aria-hidden="true" @touchstart=${hold} @pointerdown=${take} @pointermove=${move} @pointerup=${drop} @pointercancel=${drop} @click=${put}>
    ${ticks}${m.all ? others : nothing}
    <line class="down" x1=${x(m.key)} x2=${x(m.key)} y1=${y(m.now)} y2=${AXIS}></line>
    <circle class="now" cx=${x(m.key)} cy=${y(m.now)} r="6"></circle>
    <line class="axis" x1=${LEFT} x2=${RIGHT} y1=${AXIS} y2=${AXIS}></line>
    ${m.curve.map((_, place) => svg`<line class="notch" x1=${x(place)} x2=${x(place)} y1=${AXIS - 4} y2=${AXIS + 4}></line>`)}
    ${[0, 5, 10, 15].filter((place) => place < places).map((place) => svg`<text class="below" x=${x(place)} y="232">${place}</text>`)}
    <g data-drag="both"><rect class="hit" x=${x(Math.min(m.query, m.key))} y=${AXIS - 14} width=${Math.abs(x(m.query) - x(m.key))} height="28"></rect>
      <line class="between" x1=${x(m.key)} x2=${x(m.query)} y1=${AXIS} y2=${AXIS}></line></g>
    ${sign("key", m.word, m.key, 128)}${sign("query", "bites", m.query, 192)}</svg></figure>`;
}

function view(m, widget) {
  const longest = Math.max(...m.clocks.flatMap(({lengths}) => lengths));
  return html`<div class="stage">${street(m, widget)}
    <div class="pairs">${m.clocks.map((one, i) => pair(one, i, longest))}</div></div>
  ${widget.sentence()}`;
}

/** A button that moves both words along the line by `by`, as far as it goes. */
const both = (text, by) =>
  button(text, ({data: {places}, state, set}) =>
    set(dragged(state, "both", {from: 0, to: by, places})),
  );

/** data: {query: numbers of bites, keys: {word: as many}, two of them, base, places, start: {query, key}} */
export const rotaryHands = defineWidget({
  name: "rotary-hands",
  label: "A query and a key, turned by their positions",
  key: "rotary",
  fields: ({keys, places, start}) => ({
    word: option(Object.keys(keys)[0], Object.keys(keys)),
    query: integer(start.query, {max: places - 1}),
    key: integer(start.key, {max: places - 1}),
    all: flag(false),
  }),
  controls: ({data, state}) => [
    [
      choice(
        "word",
        "Whose key",
        Object.keys(data.keys).map((word) => `Key of ${word}`),
      ),
      toggle("all", "All scores"),
    ],
    [
      slider("key", `Position of ${state.word}`, {unit: numbered("position")}),
      slider("query", "Position of bites", {unit: numbered("position")}),
    ],
    [both("← Both", -1), both("Both →", 1), reset],
  ],
  model: rotary,
  sentence,
  view,
  challenges: {
    "same-score": (m) => !grip && m.isFirst && m.hasMoved && Math.abs(m.now - m.atFirst) < 0.005,
    "highest-of-dog": (m) => !grip && m.isFirst && m.distance === m.best,
    "highest-of-man": (m) => !grip && !m.isFirst && m.distance === m.best,
  },
});
