// The storyteller writes one text twice, with its cache and without: what each token takes, counted
// from the model's sizes and measured in the reader's own browser.

import {line, scaleLinear} from "../assets/vendor/d3.js";
import {html, nothing, svg} from "../assets/vendor/lit.js";
import {askStoryteller} from "./lib/ask-storyteller.js";
import {reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {count} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/** What the token after `length` others takes: words that go through the layers, and products. */
export function workOf({layers, width, inner, vocabulary}, length) {
  const word = layers * (4 * width ** 2 + 2 * width * inner);
  const pair = layers * 2 * width; // a score and a share of a value
  const guess = width * vocabulary;
  return {
    cached: {words: 1, products: word + pair * length + guess},
    whole: {
      words: length,
      products: word * length + (pair * length * (length + 1)) / 2 + guess,
    },
  };
}

const WAYS = {cached: "with its cache", whole: "without its cache"};
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** What one way has written: {text, times: [{length, ms}], perSecond}. The first reading, of the whole beginning, is no step. */
export function laneOf({text = "", tokens = [], times = []}, most) {
  const first = tokens.length - times.length;
  const steps = times.map((ms, i) => ({length: first + i, ms})).slice(1);
  const total = steps.reduce((sum, {ms}) => sum + ms, 0);
  return {
    text,
    steps,
    isDone: tokens.length >= most,
    perSecond: steps.length && total ? (1000 * steps.length) / total : null,
  };
}

export function writing({sizes, most, race}, {length}) {
  const lanes = Object.fromEntries(
    Object.keys(WAYS).map((way) => [way, laneOf(race?.lanes[way] ?? {}, most)]),
  );
  const {cached, whole} = workOf(sizes, length);
  return {
    length,
    cached,
    whole,
    most,
    lanes,
    times: whole.products / cached.products,
    curve: Array.from({length: most}, (_, i) => workOf(sizes, i + 1)),
    now: race?.now ?? null,
    arrived: race?.asking?.arrived ?? null,
    problem: race?.asking?.problem ?? "",
    isSame:
      lanes.cached.isDone && lanes.whole.isDone ? lanes.cached.text === lanes.whole.text : null,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const million = (products) => {
  const found = products / 1e6;
  return `${found < 9.95 ? found.toFixed(1) : Math.round(found)} million`;
};

export function sentence({length, cached, whole: all, times, now, lanes, isSame, problem}) {
  if (problem) return problem;
  if (now) return `The storyteller is writing ${WAYS[now]}.`;
  const counted =
    `Counted for a text of ${length === 1 ? "1 token" : `${length} tokens`}: with the cache 1 token goes through the layers, ${million(cached.products)} multiplications. ` +
    `Without it ${all.words === 1 ? "1 goes" : `${all.words} go`} through, ${million(all.products)}: ${times.toFixed(times < 9.95 ? 1 : 0)} times as many.`;
  if (isSame === null) return counted;
  return `${counted} Measured here: ${count(Math.round(lanes.cached.perSecond))} tokens a second with the cache, ${count(
    Math.round(lanes.whole.perSecond),
  )} without; ${isSame ? "the same text both times" : "the texts differ"}.`;
}

const BOX = {left: 42, right: 300, top: 12, bottom: 140, height: 178};

function frame(m, y, ticks, marks) {
  const x = scaleLinear([0, m.most], [BOX.left, BOX.right]);
  return html`<svg viewBox="0 0 312 ${BOX.height}" aria-hidden="true">
    ${ticks.map(
      (
        tick,
      ) => svg`<line class="tick" x1=${BOX.left} x2=${BOX.right} y1=${y(tick)} y2=${y(tick)}></line>
      <text class="tick" x=${BOX.left - 6} y=${y(tick) + 4}>${tick}</text>`,
    )}
    ${[0, m.most / 2, m.most].map((at) => svg`<text class="place" x=${x(at)} y=${BOX.bottom + 17}>${at}</text>`)}
    <text class="place" x=${(BOX.left + BOX.right) / 2} y=${BOX.bottom + 34}>tokens in the text</text>
    <line class="now" x1=${x(m.length)} x2=${x(m.length)} y1=${BOX.top} y2=${BOX.bottom}></line>${marks(x, y)}</svg>`;
}

function counted(m) {
  const top = Math.ceil(m.curve[m.most - 1].whole.products / 2e7) * 20;
  const y = scaleLinear([0, top], [BOX.bottom, BOX.top]);
  const curve = (way, x) =>
    line(
      (_, i) => x(i + 1),
      (work) => y(work[way].products / 1e6),
    )(m.curve);
  const name = (way, x, at, up) =>
    svg`<text class="name ${way}" x=${x(at)} y=${y(m.curve[Math.round(at) - 1][way].products / 1e6) - up}>${WAYS[way]}</text>`;
  return frame(m, y, [0, top / 2, top], (x) => [
    ...Object.keys(WAYS).map(
      (way) => svg`<path class=${way} d=${curve(way, x)}></path>
      <circle class=${way} r="5" cx=${x(m.length)} cy=${y(m[way].products / 1e6)}></circle>`,
    ),
    name("cached", x, m.most, 8),
    name("whole", x, 0.7 * m.most, 10),
  ]);
}

const NICE = [2, 4, 10, 20, 40, 100, 200, 400, 1000, 2000, 4000, 10000];

function measured(m) {
  const all = Object.values(m.lanes).flatMap(({steps}) => steps.map(({ms}) => ms));
  const reach = Math.max(2, ...all.sort((a, b) => a - b).slice(0, Math.ceil(all.length * 0.98))); // a rare pause of the browser's own
  const top = NICE.find((nice) => nice >= reach) ?? reach;
  const y = scaleLinear([0, top], [BOX.bottom, BOX.top]).clamp(true);
  return frame(m, y, [0, top / 2, top], (x) => [
    ...Object.keys(WAYS).map(
      (way) =>
        svg`<path class="dots ${way}" d=${m.lanes[way].steps
          .map(({length, ms}) => `M${x(length).toFixed(1)},${y(ms).toFixed(1)}h0`)
          .join("")}></path>`,
    ),
    all.length
      ? nothing
      : svg`<text class="place" x=${(BOX.left + BOX.right) / 2} y=${(BOX.top + BOX.bottom) / 2}>press Write</text>`,
  ]);
}

const lane = (m, way) => {
  const {text, perSecond, steps} = m.lanes[way];
  const speed = perSecond
    ? `${count(Math.round(perSecond))} tokens/s`
    : m.now === way
      ? "…"
      : "not yet written";
  return html`<div class="lane ${way}"><p class="heading"><b>${way === "cached" ? "With the cache" : "Without it"}</b>
      <span class="speed">${speed}</span></p>
    <p class="text">${text || m.begin}</p>
    <p class="note">${steps.length ? `half of them within ${median(steps.map(({ms}) => ms)).toFixed(1)} ms` : "\u00a0"}</p></div>`;
};

const status = ({arrived, problem}) =>
  html`<p class=${problem ? "status problem" : "status"} role="status">${problem}${
    arrived === null || problem
      ? ""
      : html`Fetching the model, 1 MB … <progress max="1" .value=${arrived} aria-label="Fetched"></progress>`
  }</p>`;

function view(found, widget) {
  const m = {...found, begin: widget.data.begin};
  return html`<div class="go"><button type="button" class="write" @click=${() => press(widget)}>${m.now ? "Stop" : "Write"}</button>
      ${status(m)}<p class="verdict">${m.isSame === null ? "" : m.isSame ? "Both wrote the same text." : "The texts differ."}</p></div>
    <div class="lanes">${lane(m, "cached")}${lane(m, "whole")}</div>
    <div class="charts"><figure><figcaption>Counted: million multiplications a token</figcaption>${counted(m)}</figure>
      <figure><figcaption>Measured here: milliseconds a token</figcaption>${measured(m)}</figure></div>
    ${widget.sentence()}`;
}

// ---- What happens ----------------------------------------------------------------------------

const fresh = () => ({cached: {}, whole: {}});

function press(widget) {
  const {race} = widget.data;
  race.run += 1;
  if (race.now) race.now = null;
  else {
    Object.assign(race, {lanes: fresh(), now: "cached"});
    goOn(widget);
  }
  widget.refresh();
}

/** Where an answer is still awaited, this is asked again when it comes. */
function goOn({data: {begin, most, race}}) {
  const {tokens} = race.lanes[race.now];
  race.asking.ask({
    decode: {
      begin,
      tokens,
      isCached: race.now === "cached",
      most: most - (tokens?.length ?? 0),
      run: race.run,
    },
  });
}

function hear(widget, {tokens, text, times}, {decode: {isCached, run}}) {
  const {race, most} = widget.data;
  if (run === race.run) {
    // else it was stopped
    const way = isCached ? "cached" : "whole";
    race.lanes[way] = {tokens, text, times: [...(race.lanes[way].times ?? []), ...times]};
    if (tokens.length >= most) race.now = isCached ? "whole" : null;
  }
  if (race.now) setTimeout(() => race.now && goOn(widget)); // so that the page draws in between
}

const widgetOf = defineWidget({
  name: "cached-writing",
  label: "The storyteller writes with its cache, and without",
  key: "write",
  fields: ({most, length}) => ({length: integer(length, {min: 1, max: most})}),
  controls: () => [[slider("length", "Tokens in the text", {unit: unitsOf("token")}), reset]],
  controlsBelow: true,
  model: writing,
  sentence,
  view,
  started(widget) {
    const {race, file, size} = widget.data;
    const onChange = () => {
      if (race.asking.problem) race.now = null;
      widget.refresh();
    };
    race.asking = askStoryteller(
      {file, size},
      {onChange, onAnswer: (...answer) => hear(widget, ...answer)},
    );
  },
  challenges: {
    "spare-most": ({cached, whole: all}) => cached.products <= all.products / 50,
  },
});

/** data: {sizes: {layers, width, inner, vocabulary}, begin, most, length, file, size} */
export const cachedWriting = (data) =>
  widgetOf({...data, race: {lanes: fresh(), now: null, run: 0}});
