// Attention tile by tile: what lies in the small memory, what each row keeps, and what was carried.

import {html, nothing} from "../assets/vendor/lit.js";
import {attentionSteps} from "./lib/attention.js";
import {menu, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format, formatShort} from "./lib/numbers.js";
import {filled} from "./lib/shares.js";
import {tiledAttention} from "./lib/tiled-attention.js";

// ---- Model ---------------------------------------------------------------------------------

const SIZES = [1, 2, 4, 8];
const BYTES = 4; // of a float32
export const DESK = 40; // numbers

/** The tiled computation, and where `step` acts of it have led. */
export function stepped({tokens, query, key, value}, {step, queryTile, keyTile, causal}) {
  const hidden = (row, col) => causal && col > row;
  const tiled = tiledAttention({query, key, value}, {queryTile, keyTile, hidden});
  const whole = attentionSteps({query, key, value}, {hidden}).output;
  const done = Math.min(step, tiled.acts.length);
  const acts = tiled.acts.slice(0, done);
  const written = acts.flatMap(({kind, rows, output}) =>
    kind === "write" ? rows.map((_, r) => output[r]) : [],
  );
  return {
    ...tiled,
    tokens,
    queryTile,
    keyTile,
    causal,
    hidden,
    done,
    written,
    steps: tiled.acts.length,
    act: acts[done - 1] ?? null,
    met: acts.filter(({kind}) => kind === "meet"),
    soFar: BYTES * (acts[done - 1]?.carried ?? 0),
    bytes: BYTES * tiled.carried,
    plainBytes: BYTES * tiled.plain,
    fits: tiled.desk <= DESK,
    isEnd: done === tiled.acts.length,
    gap: Math.max(
      ...tiled.output.flatMap((row, i) => row.map((x, c) => Math.abs(x - whole[i][c]))),
    ),
  };
}

/** What a row keeps at this point, or null where it is not on the desk. */
export function keptBy({act}, row) {
  const at = act?.kind === "meet" ? act.rows.indexOf(row) : -1;
  return at < 0 ? null : act.kept[at];
}

/** The step that meets this cell, or null where its tile is skipped. */
function stepOf({acts}, row, col) {
  const at = acts.findIndex(
    ({kind, rows, cols}) => kind === "meet" && rows.includes(row) && cols.includes(col),
  );
  return at < 0 ? null : at + 1;
}

/** How the cell stands: not met "", on the desk "now", or "gone". */
function stateOf({act, met}, row, col) {
  const meets = ({rows, cols}) => rows.includes(row) && cols.includes(col);
  if (act?.kind === "meet" && meets(act)) return "now";
  return met.some(meets) ? "gone" : "";
}

// ---- Sentence ------------------------------------------------------------------------------

const listed = (words) =>
  words.length < 2
    ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
const named = ({tokens}, indices) =>
  indices.length === tokens.length ? "all words" : listed(indices.map((i) => `“${tokens[i]}”`));
const begun = (text) => text[0].toUpperCase() + text.slice(1);
const bytesOf = (n) => `${String(n).replace(/\B(?=(\d{3})+$)/g, ",")}\u202fB`;
const tiny = (x) =>
  x === 0 ? "0: not one bit" : `${x.toExponential(0).replace("-", "\u2212")}: rounding alone`;

export function sentence(m) {
  const {act} = m;
  if (!act) return "Nothing has been fetched yet. Press Next.";
  const says = act.kind === "meet" ? meets(m, act) : writes(m, act);
  const end = m.isEnd
    ? ` All rows are done. The plain way’s output differs by at most ${tiny(m.gap)}.`
    : "";
  return says + end;
}

function meets(m, {rows, cols, before, kept}) {
  const fetched = begun(
    `${named(m, rows)} ${rows.length > 1 ? "meet" : "meets"} the keys of ${named(m, cols)}.`,
  );
  if (before.every(({sum}) => sum === 0))
    return `${fetched} They are the first keys, so there is nothing to convert.`;
  const rates = kept.map(({rate}, i) => (before[i].sum > 0 ? rate : 1));
  const r = rates.indexOf(Math.min(...rates)); // the row that has most to convert
  if (rates[r] === 1)
    return `${fetched} No largest score grows: all rates are 1, and the new parts are only added.`;
  const [old, now, rate, sum, converted] = [
    before[r].top,
    kept[r].top,
    rates[r],
    before[r].sum,
    rates[r] * before[r].sum,
  ].map(format);
  return (
    `${fetched} In the row of “${m.tokens[rows[r]]}” the largest score grows from ${old} to ${now}, so the rate is ${rate}. ` +
    `Its sum of ${sum} becomes ${converted}, its mix is converted by the same rate, and then the new parts are added.`
  );
}

function writes(m, {rows}) {
  return (
    begun(`${named(m, rows)} ${rows.length > 1 ? "have" : "has"} met all the keys they may. `) +
    "Each mix is divided by its sum, and that output alone goes back to the shelf."
  );
}

// ---- View ----------------------------------------------------------------------------------

const onDesk = (word, isThere, role) =>
  html`<span class=${isThere ? `on-desk ${role}` : ""}>${word}</span>`;

function map(m, widget) {
  const {act, tokens} = m;
  const last =
    act?.kind === "meet" ? [act.rows[act.rows.length - 1], act.cols[act.cols.length - 1]] : null;
  return matrixTable({
    name: "scores",
    caption: "scores",
    shape: `${tokens.length} × ${tokens.length}, never stored`,
    rows: tokens.map((word, i) => onDesk(word, act?.rows.includes(i), "q")),
    columns: tokens.map((word, j) => onDesk(word, act?.cols?.includes(j), "k")),
    cells: m.scores,
    text: (i, j) =>
      ({now: m.hidden(i, j) ? "" : formatShort(m.scores[i][j]), gone: m.hidden(i, j) ? "" : "·"})[
        stateOf(m, i, j)
      ] ?? "",
    fill: (i, j) =>
      stateOf(m, i, j) === "now" && !m.hidden(i, j)
        ? Math.exp(m.scores[i][j] - keptBy(m, i).top)
        : 0,
    hidden: m.hidden,
    lit: (i, j) => stateOf(m, i, j) === "now",
    chosen: (i, j) => last !== null && i === last[0] && j === last[1],
    choose: (i, j) => widget.set({step: stepOf(m, i, j) ?? m.done}),
  });
}

/** What the rows on the desk keep, and the outputs that were written. */
function ledger(m) {
  const cell = (text, className = "") =>
    html`<td><span class="number ${className}">${text}</span></td>`;
  const pair = (numbers) => numbers.map((x) => html`<i>${format(x)}</i>`);
  const row = (word, i) => {
    const kept = keptBy(m, i);
    const output = m.written[i];
    return html`<tr class=${kept ? "here" : ""}><th scope="row">${onDesk(word, m.act?.rows.includes(i), "q")}</th>
      ${cell(kept ? format(kept.top) : "")}${cell(kept ? format(kept.sum) : "")}${cell(kept ? pair(kept.mix) : "", "pair")}
      ${cell(output ? pair(output) : "", "pair written")}</tr>`;
  };
  return html`<table class="ledger"><caption><b>kept for each row</b></caption>
    <thead><tr><td></td><th scope="col">largest</th><th scope="col">sum</th><th scope="col">mix</th><th scope="col">output</th></tr></thead>
    <tbody>${m.tokens.map(row)}</tbody></table>`;
}

function loads(m) {
  const most = Math.max(m.plainBytes, m.bytes);
  const bar = (
    name,
    now,
    all,
    text,
    className = "",
  ) => html`<li class=${className}><span class="token">${name}</span>
    <span class="bar"><i style=${filled(all)}></i><span style=${filled(now)}></span></span><span class="share">${text}</span></li>`;
  return html`<ul class="shares loads" aria-label="What is carried, and what lies on the desk">
    ${bar("carried in tiles", m.soFar / most, m.bytes / most, `${bytesOf(m.soFar)} of ${bytesOf(m.bytes)}`)}
    ${bar("the plain way", m.plainBytes / most, 0, bytesOf(m.plainBytes), "plain")}
    ${bar("on the desk", Math.min(1, m.desk / DESK), 0, `${m.desk} of ${DESK} numbers`, m.fits ? "desk" : "desk over")}</ul>
    <p class="note">${m.fits ? "These tiles fit on the desk." : "These tiles don’t fit on the desk: nothing would start."} ${
      m.skipped ? `${m.skipped} are hidden altogether, and skipped.` : nothing
    }</p>`;
}

const view = (m, widget) =>
  html`<div class="stage">${map(m, widget)}${ledger(m)}</div>${widget.sentence()}${loads(m)}`;

// ---- Controls --------------------------------------------------------------------------------

/** Back, a slider as long as these tiles need, and Next. */
const walk = (widget) => {
  const {done, steps} = widget.model;
  const go = (step) => widget.set({step: Math.max(0, Math.min(steps, step))});
  const id = `${widget.id}-step`;
  return html`<div class="walk"><button type="button" @click=${() => go(done - 1)}>Back</button>
    <label for=${id}>Step <span aria-hidden="true"><b>${done}</b> of ${steps}</span></label>
    <input id=${id} type="range" min="0" max=${steps} step="1" aria-valuetext=${`${done} of ${steps}`}
      .value=${String(done)} @input=${(event) => go(event.target.valueAsNumber)}>
    <button type="button" class="next" @click=${() => go(done + 1)}>Next</button></div>`;
};

/** data: {tokens, query, key, value, step} */
export const flashStepper = defineWidget({
  name: "flash-stepper",
  label: "Attention in tiles, step by step",
  key: "flash",
  fields: ({tokens: {length}, step}) => ({
    step: integer(step, {max: length * (length + 1)}),
    queryTile: option(2, SIZES),
    keyTile: option(2, SIZES),
    causal: flag(false),
  }),
  controls: () => [
    [walk],
    [
      menu("queryTile", "Queries in a tile", SIZES),
      menu("keyTile", "Keys in a tile", SIZES),
      toggle("causal", "Causal"),
      reset,
    ],
  ],
  model: stepped,
  sentence,
  view,
  challenges: {
    "all-written": (m) => m.isEnd,
    "least-carried": (m) => m.fits && m.bytes <= m.plainBytes / 4,
  },
});
