// The forward pass as a play of ten stages that stops at any: its words, then its pictures.

import {html, nothing} from "../../assets/vendor/lit.js";
import {chance, count, format} from "../lib/numbers.js";
import {filled} from "../lib/shares.js";
import {written} from "../lib/words.js";
import "../lib/pixels.js";
import {label} from "./head.js";
import {STAGES, nameOf} from "./names.js";
import {boxed, guess, signed} from "./token-view.js";
import {passOf} from "./pass.js";

const [LOOK, WORD] = [1500, 130]; // ms to look at a picture, and to read a word
const LINE = 1.5; // rem: so that all stages are as high, and what stands below keeps its place
const SPEEDS = [0.5, 1, 2];

// ---- Playing ---------------------------------------------------------------------------------

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function play(widget, isOn) {
  const {session} = widget.data;
  clearTimeout(session.playing);
  session.playing = null;
  if (isOn) {
    if (widget.state.stage === STAGES.length) widget.set({stage: 1}, {silently: true});
    wait(widget);
  }
  session.drawn = null;
  widget.refresh();
}

/** The next stage, once this one can have been read. */
function wait(widget) {
  const {session} = widget.data;
  const words = widget.root.querySelector(".pass .told").textContent.split(/\s+/).length;
  session.playing = setTimeout(
    () => {
      const {stage} = widget.state;
      if (!widget.root.isConnected || !stage || stage === STAGES.length) return play(widget, false);
      widget.set({stage: stage + 1}, {silently: true});
      if (stage + 1 === STAGES.length) play(widget, false);
      else wait(widget);
    },
    (LOOK + WORD * words) / session.speed,
  );
}

/** Slower or faster, from now on. */
function pace(widget, speed) {
  widget.data.session.speed = speed;
  play(widget, Boolean(widget.data.session.playing));
}

const goTo = (widget, stage) => {
  if (widget.data.session.playing) play(widget, false);
  widget.set({stage});
};

// ---- View ------------------------------------------------------------------------------------

export function pass(m, widget) {
  const {stage} = widget.state;
  if (!m.reading.heads[0].query)
    return html`<p class="note" aria-busy="true">${m.failure || "Fetching the model …"}</p>`;
  const p = passOf(m);
  const lines = Math.max(p.rows.length + 3, p.added.length);
  return html`<div class="pass"><div class="acts">
      ${isStill() ? nothing : playButton(widget)}
      ${step(widget, "Back", stage - 1)}
      ${step(widget, "Next", stage + 1)}
      ${isStill() ? nothing : speeds(widget)}
      <span class="dots" aria-hidden="true">${STAGES.map((_, i) => html`<i class=${i < stage ? "on" : ""}></i>`)}</span></div>
    <p class="heading"><b>${stage}. ${STAGES[stage - 1]}</b></p>
    <p class="told">${TOLD[stage - 1](p, m)}</p>
    <div class="stage-picture" style="min-height:${LINE * lines}rem">${PICTURES[stage - 1](p, m)}</div>
    ${p.left && stage < 8 ? leftOut(p, m) : nothing}</div>`;
}

function playButton(widget) {
  const {playing} = widget.data.session;
  const toggle = () => play(widget, !playing);
  return html`<button type="button" class="main" @click=${toggle}>${playing ? "Pause" : "Play"}</button>`;
}

function step(widget, title, stage) {
  const isPossible = stage >= 1 && stage <= STAGES.length;
  const go = () => isPossible && goTo(widget, stage);
  return html`<button type="button" aria-disabled=${!isPossible} @click=${go}>${title}</button>`;
}

const speeds = (widget) =>
  html`<fieldset class="choice"><legend class="screen-reader-only">Speed</legend>${SPEEDS.map((speed) => speedChoice(widget, speed))}</fieldset>`;

const speedChoice = (widget, speed) =>
  html`<label><input type="radio" name="${widget.id}-speed" .checked=${speed === widget.data.session.speed}
    @input=${() => pace(widget, speed)}>${speed}×</label>`;

const leftOut = (p, m) =>
  html`<p class="note">${p.rows.length} of ${m.pieces.length} tokens are shown,
    those that ${written(m.pieces[p.at])} looks at most; … stands for the others.</p>`;

const word = ({pieces}, i) => html`<bdi>${written(pieces[i])}</bdi>`;
const own = (p, m) => html`<b class="piece q">${word(m, p.at)}</b>`;
const head = ({number}, m) => `head ${nameOf(m.reading.heads[number])}`;
const sizeOf = ({number}, m) => m.reading.heads[number].size;

/** What has been added to the stream before this layer. */
function before({layer}) {
  if (!layer) return "";
  const [those, have] = layer > 1 ? [`the ${layer} layers`, "have"] : ["the layer", "has"];
  return ` (layer ${layer + 1}: ${those} before it ${have} added to the stream by then)`;
}

function lost({at}, {pieces}) {
  const later = pieces.length - 1 - at;
  return later ? `loses ${later}` : "is the last, so it loses nothing";
}

const TOLD = [
  (p, m) =>
    html`The text is cut into ${m.pieces.length} tokens, each with its number among the
      ${count(m.entry.words)} that the model knows. We follow ${own(p, m)}.`,
  (_p, m) =>
    html`Each token becomes a vector of ${m.entry.width} numbers, which training has set.
      It begins the token’s <b>stream</b>: the line of numbers that it carries through the model,
      and to which every layer adds.`,
  (p, m) =>
    html`In each head, the stream makes a <b class="q">query</b>, a <b class="k">key</b> and
      a <b class="v">value</b> of each token, here of ${sizeOf(p, m)} numbers
      in ${head(p, m)}${before(p)}. Only ${own(p, m)} asks here, so the queries of the others
      are left blank.`,
  (p, m) =>
    html`The query of ${own(p, m)} times each key, number by number, added up and divided by
      √${sizeOf(p, m)}: its scores in ${head(p, m)}. Below each column: how ${own(p, m)} scores
      that token. (Guesses have scores, too, in stage 10: other numbers.)`,
  (p, m) =>
    m.entry.causal
      ? html`What comes later is hidden, for every token: the model is to guess it.
          ${own(p, m)} ${lost(p, m)}.`
      : html`This model reads both ways: it hides nothing.`,
  (p, m) =>
    p.isOff
      ? html`${head(p, m)} is off: all its weights are 0.`
      : html`Softmax makes weights of the scores: none below 0, and each row together 1.
          Below each column: what ${own(p, m)} gives to that token.`,
  (p, m) =>
    html`Each value is multiplied by its weight, and all are added up:
      what ${head(p, m)} has found for ${own(p, m)}.`,
  (p, m) =>
    p.units
      ? html`After the heads of layer ${p.layer + 1} its MLP looks at each token alone,
          with ${m.entry.units} units: each answers strongly where it finds what it has learned
          to find, else with about 0. Shown are the answers for ${own(p, m)},
          of every eight the strongest.${after(p, m)}`
      : html`This model has no MLPs: its layers are heads alone.`,
  (p, m) =>
    html`Heads and MLPs of all layers add to the stream of ${own(p, m)}. How much each adds itself
      to the score of ${boxed(m.pushed, m)}, its push; biases are the same in any text.
      Together they make ${signed(p.total)}.`,
  (p, m) =>
    html`At the end the stream of ${own(p, m)} is compared with the vector of every token:
      the better one fits, the higher its score. Softmax makes shares of the scores,
      100 % together.`,
];

const strip = (numbers, tone) =>
  html`<number-strip aria-hidden="true" .tone=${tone} .numbers=${numbers}></number-strip>`;
/** Whether tokens are left out before the nth that is shown. */
const isAfterGap = ({rows}, n) => rows[n] > (rows[n - 1] ?? -1) + 1;
const gap = (p, n) =>
  isAfterGap(p, n) ? html`<div class="line gap"><span class="name">…</span></div>` : nothing;
const gapAcross = (p, n) => (isAfterGap(p, n) ? html`<b class="gap">…</b>` : nothing);
const numbered = (number) => html`<span class="number">${number}</span>`;
const row = (p, m, i, content, number) =>
  html`<div class=${i === p.at ? "line own" : "line"}><span class="name">${word(m, i)}</span>${content}${
    number === undefined ? nothing : numbered(number)
  }</div>`;
/** What stands over the columns. */
const headed = (name, content) =>
  html`<div class="line over" aria-hidden="true"><span>${name}</span>${content}<span></span></div>`;
const each = (p, m, content, number) =>
  p.rows.map((i, n) => [gap(p, n), row(p, m, i, content(i, n), number?.(i, n))]);

/** A cell for each token shown, with a gap where some are left out. */
const columns = (p, cell, className = "") =>
  html`<span class="squares ${className}">${p.rows.map((j, n) => [gapAcross(p, n), cell(j)])}</span>`;

/**
 * All rows of a map, cut to the tokens shown; what is hidden is left out. Under each column what
 * the own token gives it.
 */
function map(p, m, of, number) {
  const isLong = p.rows.some((j) => label(m.pieces[j]).length > 5);
  const name = (j) => html`<bdi class=${j === p.at ? "q" : nothing}>${label(m.pieces[j])}</bdi>`;
  const cell = (i, j) => {
    const kind = p.isHidden(i, j) && of !== p.scores ? "masked" : "weighted";
    return html`<i class=${kind} style="--weight:${shade(of[i][j], of, p)}"></i>`;
  };
  return html`<div class="map">${headed("looks ↓ at →", columns(p, name, isLong ? "long" : ""))}
    ${each(p, m, (i) => columns(p, (j) => cell(i, j)))}
    ${number ? foot(p, m, of === p.scores ? "scores" : "gives", number) : nothing}</div>`;
}

function foot(p, m, does, number) {
  const cell = (j) => html`<span class=${j === p.at ? "number q" : "number"}>${number(j)}</span>`;
  return html`<div class="line foot"><span class="name">${word(m, p.at)} ${does}</span>${columns(p, cell)}</div>`;
}

/** How dark a cell is: a weight as it is; a score, against the largest in size. */
function shade(x, of, p) {
  if (of === p.weights) return +x.toFixed(3);
  const most = Math.max(
    ...p.rows.map((i) => Math.max(...p.rows.map((j) => Math.abs(p.scores[i][j])))),
  );
  return +Math.max(0, x / most).toFixed(3);
}
const ofOwn = (p) => p.scores[p.at];

/** What comes between this layer and the guess. */
function after({layer}, {entry: {counts}}) {
  const left = counts.length - 1 - layer;
  if (!left) return "";
  if (left === 1)
    return ` Then layer ${counts.length} does the same again, with its own heads and MLP.`;
  const these = `layers ${layer + 2} ${left > 2 ? "to" : "and"} ${counts.length}`;
  return ` Then ${these} do the same again, with their own heads and MLPs.`;
}

/** A bar from zero, to the right, or below it to the left; all on one scale. */
function fromZero(push, all) {
  const [least, most] = [Math.min(0, ...all), Math.max(0, ...all)];
  const percent = (x) => `${((100 * x) / (most - least || 1)).toFixed(2)}%`;
  return `margin-left:${percent(Math.min(0, push) - least)};width:${percent(Math.abs(push))}`;
}

const numberedToken = (p, m, i, n) =>
  html`<span class=${i === p.at ? "own" : ""}><bdi>${written(m.pieces[i])}</bdi> <small>${p.ids[n]}</small></span>`;

function unitBars(units) {
  const most = Math.max(...units);
  return units.map(
    (x) => html`<i style="height:${Math.max(0, (100 * x) / most).toFixed(1)}%"></i>`,
  );
}

const barLine = (name, className, style, number) =>
  html`<div class="line"><span class="name">${name}</span><span class="bar ${className}"><span
    style=${style}></span></span>${numbered(number)}</div>`;

const PICTURES = [
  (p, m) =>
    html`<div class="tokens-row">${p.rows.map((i, n) => [gapAcross(p, n), numberedToken(p, m, i, n)])}</div>`,
  (p, m) => each(p, m, (_, n) => strip(p.vectors[n])),
  (p, m) => [
    headed(
      "",
      html`<span class="three"><b class="q">query</b><b class="k">key</b><b class="v">value</b></span>`,
    ),
    each(
      p,
      m,
      (i, n) =>
        html`<span class="three"><span>${i === p.at ? strip(p.query, "query") : nothing}</span>${strip(p.keys[n], "key")}${strip(p.values[n], "value")}</span>`,
    ),
  ],
  (p, m) => map(p, m, p.scores, (j) => format(ofOwn(p)[j])),
  (p, m) => map(p, m, {...p.scores, length: p.scores.length}),
  (p, m) => map(p, m, p.weights, (j) => chance(p.weights[p.at][j])),
  (p, m) => [
    each(
      p,
      m,
      (i, n) =>
        html`<span class="faded" style="opacity:${Math.max(0.06, p.weights[p.at][i]).toFixed(3)}">${strip(p.values[n], "value")}</span>`,
      (i) => `× ${format(p.weights[p.at][i])}`,
    ),
    html`<div class="line sum"><span class="name">together</span>${strip(p.mixed, "value")}<span class="number"></span></div>`,
  ],
  (p) =>
    p.units
      ? html`<div class="units" aria-hidden="true">${unitBars(Array.from(p.units))}</div>
          <p class="note">${p.units.filter((x) => x > 0.5).length} of the ${p.units.length} are above 0.5.</p>`
      : nothing,
  (p) => {
    const all = p.added.map(({push}) => push);
    return p.added.map(({name, push}) =>
      barLine(name, push < 0 ? "lowers" : "", fromZero(push, all), signed(push)),
    );
  },
  (p, m) =>
    p.guesses.map(({text, share}) => barLine(guess(text, m), "", filled(share), chance(share))),
];
