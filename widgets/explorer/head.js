// One head large: as arrows from word to word, or as a matrix.

import {html, nothing, svg} from "../../assets/vendor/lit.js";
import {shown} from "../lib/ground-words.js";
import {weightMap} from "../lib/weight-map.js";
import {rowsOf} from "./overview.js";

const [WIDTH, LETTER, LONGEST] = [270, 7.4, 13];
const [FAINT, LEAST] = [0.04, 0.005]; // weights that are drawn: of all words, of the chosen one
const STEPS = [0.1, 0.25, 0.5, 0.8, 1.01]; // weights that share a line's look
const LABELLED = 16; // words of a matrix that are all named

export const label = (piece) => {
  const text = shown(piece);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
};

const placed = new WeakMap();

/** Where the words stand: {width, height, left, right, y(i)} of the arrows between two columns. */
export function places(pieces) {
  if (!placed.has(pieces)) placed.set(pieces, place(pieces));
  return placed.get(pieces);
}

function place(pieces) {
  const step = pieces.length > 20 ? 16 : 22;
  const column = 10 + LETTER * Math.max(4, ...pieces.map((piece) => label(piece).length));
  return {width: WIDTH, height: step * pieces.length + 8, step, column, left: column, right: WIDTH - column, y: (i) => step * (i + 0.5) + 4};
}

export function curve({left, right, y}, from, to) {
  const middle = (left + right) / 2;
  return `M${left.toFixed(1)},${y(from)}C${middle},${y(from)} ${middle},${y(to)} ${right.toFixed(1)},${y(to)}`;
}

const drawn = new WeakMap();

/** All lines of a map but the faintest, those of like weight in one path: [{look, d}]. */
export function lines({weights}, pieces) {
  if (!drawn.has(weights)) {
    const at = places(pieces);
    const paths = STEPS.map(() => []);
    weights.forEach((weight, i) => {
      if (weight >= FAINT) paths[STEPS.findIndex((most) => weight < most)].push(curve(at, Math.floor(i / pieces.length), i % pieces.length));
    });
    drawn.set(weights, paths.map((path, i) => ({look: STEPS[i], d: path.join("")})));
  }
  return drawn.get(weights);
}

/** The lines of one word, one for each that it may look at: "" where it hardly does, so that none comes or goes. */
export const fan = (row, pieces, at) => Array.from(row, (weight, to) => ({weight, to, d: weight >= LEAST ? curve(places(pieces), at, to) : ""}));

function arrows({reading: {heads}, head, pieces, row, at, to}, choose) {
  const place = places(pieces);
  const word = (text, i, side) => svg`<g class="word ${side} ${i === (side === "from" ? at : to) ? "chosen" : ""}" @click=${() => choose(side === "from" ? {at: i, to: null} : {to: i})}>
    <rect x=${side === "from" ? 0 : place.right} y=${place.y(i) - place.step / 2 + 1} width=${place.column} height=${place.step - 2} rx="4" />
    ${side === "to" ? svg`<rect class="fill" x=${place.right} y=${place.y(i) - place.step / 2 + 1} width=${place.column} height=${place.step - 2} rx="4" style="opacity:${+row[i].toFixed(3)}" />` : nothing}
    <text x=${side === "from" ? place.left - 6 : place.right + 6} y=${place.y(i)} dy="0.36em" text-anchor=${side === "from" ? "end" : "start"}>${label(text)}</text></g>`;
  return html`<svg class="arrows" width=${place.width} height=${place.height} viewBox="0 0 ${place.width} ${place.height}" aria-hidden="true">
    ${lines(heads[head], pieces).map(({look, d}) => svg`<path class="all" d=${d} style="--weight:${Math.min(1, look)}" />`)}
    ${fan(row, pieces, at).map(({weight, d, to: end}) => svg`<path class=${end === to ? "own chosen" : "own"} d=${d} style="--weight:${+weight.toFixed(3)}" />`)}
    ${pieces.map((piece, i) => svg`${word(piece, i, "from")}${word(piece, i, "to")}`)}</svg>`;
}

function matrix({reading: {heads}, head, pieces, at, to}, choose) {
  const all = pieces.length <= LABELLED;
  const named = (chosen) => pieces.map((piece, i) => html`<span class=${i === chosen ? "chosen" : ""}>${all || i === chosen ? label(piece) : ""}</span>`);
  return html`<div class="labelled-map" aria-hidden="true" style="--size:${pieces.length};--label:${0.6 + Math.max(1.6, ...pieces.map((piece) => label(piece).length * 0.5))}rem">
    <div class="columns">${named(to)}</div><div class="rows">${named(at)}</div>
    <div class="cells">${weightMap(rowsOf(heads[head], pieces.length), {row: at, choose: ({row, column}) => choose({at: row, to: column})})}
    <i class="cell" style="width:${100 / pieces.length}%;height:${100 / pieces.length}%;left:${100 * to / pieces.length}%;top:${100 * at / pieces.length}%"></i></div></div>`;
}

export const picture = (m, widget) => {
  const choose = (changes) => widget.set(changes);
  return html`<div class="picture">${widget.state.as === "matrix" ? matrix(m, choose) : arrows(m, choose)}
    <p class="sides" aria-hidden="true"><span class="q">who looks ${widget.state.as === "matrix" ? "↓" : ""}</span><span class="k">whom it looks at</span></p></div>`;
};
