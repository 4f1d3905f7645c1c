// Attention tile by tile: a shelf, a desk, what walks between the two, and one cell's arithmetic.

import {html, nothing} from "../assets/vendor/lit.js";
import {attentionSteps} from "./lib/attention.js";
import {capitalize} from "./lib/capitalize.js";
import {menu, reset, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format, formatEntry, formatFine, formatShort} from "./lib/numbers.js";
import {last} from "./lib/lists.js";
import {filled} from "./lib/shares.js";
import {tiledAttention} from "./lib/tiled-attention.js";

// ---- Model ---------------------------------------------------------------------------------

const SIZES = [1, 2, 4, 8];
const BYTES = 4; // of a float32
export const DESK = 40; // numbers

/** The tiled computation, and where `step` acts of it have led. */
export function stepped({tokens, query, key, value}, {step, queryTile, keyTile, causal, cell = 0}) {
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
    query,
    key,
    value,
    cell,
    queryTile,
    keyTile,
    causal,
    hidden,
    done,
    written,
    steps: tiled.acts.length,
    act: acts[done - 1] ?? null,
    moved: movedBy(acts[done - 1], query[0].length, value[0].length),
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

/** Numbers that this act carries: queries only when a group comes, outputs when it goes. */
function movedBy(act, size, width) {
  if (!act) return null;
  const {kind, rows, before, cols} = act;
  if (kind === "write") return {output: rows.length * width};
  const comes = before.every(({sum}) => sum === 0); // the first tile of the group
  return {
    query: comes ? rows.length * size : 0,
    key: cols.length * size,
    value: cols.length * width,
  };
}

/** The cell whose arithmetic is shown: the chosen one, or the last that isn't hidden; in a written group its row alone. */
export function cellOf({act, tokens, hidden, cell}) {
  if (!act) return null;
  const [row, col] = [Math.floor((cell - 1) / tokens.length), (cell - 1) % tokens.length];
  const isHere = cell > 0 && act.rows.includes(row);
  if (act.kind === "write") return {row: isHere ? row : last(act.rows), col: null};
  if (isHere && act.cols.includes(col)) return {row, col};
  const seen = act.rows.flatMap((i) => act.cols.map((j) => ({row: i, col: j})));
  return last(seen.filter(({row: i, col: j}) => !hidden(i, j)));
}

/** The numbers that the arithmetic of this cell and its row is made of; null on an empty desk. */
export function arithmetic(m) {
  const at = cellOf(m);
  if (!at) return null;
  const {act} = m;
  const r = act.rows.indexOf(at.row);
  const kept = act.kept[r];
  if (act.kind === "write") return {...at, kept, output: act.output[r]};
  const seen = act.cols.filter((j) => !m.hidden(at.row, j));
  const partOf = (j) => Math.exp(m.scores[at.row][j] - kept.top);
  return {
    ...at,
    isHidden: m.hidden(at.row, at.col),
    pairs: m.query[at.row].map((q, c) => [q, m.key[at.col][c]]),
    score: m.scores[at.row][at.col],
    part: partOf(at.col),
    parts: seen.map(partOf),
    values: seen.map((j) => m.value[j][0]),
    before: act.before[r],
    kept,
  };
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
  const fetched = capitalize(
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
  const have = rows.length > 1 ? "have" : "has";
  const met = capitalize(`${named(m, rows)} ${have} met all the keys they may.`);
  return `${met} Each mix is divided by its sum, and that output alone goes back to the shelf.`;
}

/** The chosen cell, for those who can't see its arithmetic. */
function chosenText(m) {
  const a = arithmetic(m);
  if (!a) return "";
  if (a.col === null)
    return ` The output of “${m.tokens[a.row]}” is ${a.output.map(format).join(" and ")}.`;
  const names = `“${m.tokens[a.row]}” and “${m.tokens[a.col]}”`;
  return a.isHidden
    ? ` The cell of ${names} is hidden.`
    : ` The cell of ${names}: a score of ${format(a.score)}, a part of ${format(a.part)}.`;
}

// ---- View ----------------------------------------------------------------------------------

const onDesk = (word, isThere, role) =>
  html`<span class=${isThere ? `on-desk ${role}` : ""}>${word}</span>`;
const stack = (numbers, show) => numbers.map((x) => html`<i>${show(x)}</i>`);
const entry = (x) => formatEntry(Math.round(x * 100) / 100);

/** All that is stored: a column for each word. What is framed lies on the desk too. */
function shelf({act, tokens, written, ...m}) {
  const isQuery = (i) => !!act?.rows.includes(i);
  const isKey = (j) => !!act?.cols?.includes(j);
  const row = (name, numbers, isThere, show) =>
    html`<tr class=${name}><th scope="row">${name}</th>${tokens.map(
      (_, i) =>
        html`<td><span class="number ${isThere(i) ? "there" : ""}">${numbers[i] ? stack(numbers[i], show) : nothing}</span></td>`,
    )}</tr>`;
  const isNew = (i) => act?.kind === "write" && act.rows.includes(i);
  return html`<table class="shelf"><caption><b>The shelf</b></caption>
    <thead><tr><td></td>${tokens.map((word) => html`<th scope="col">${word}</th>`)}</tr></thead>
    <tbody>${row("query", m.query, isQuery, entry)}${row("key", m.key, isKey, entry)}
    ${row("value", m.value, isKey, entry)}${row("output", written, isNew, formatShort)}</tbody></table>`;
}

/** What walks between shelf and desk at this step. */
function walkers({act, moved}) {
  if (!act) return html`<p class="walkers">Nothing has walked yet.</p>`;
  const plural = {query: "queries", key: "keys", value: "values", output: "outputs"};
  const walking = Object.keys(moved).filter((name) => moved[name] > 0);
  const stays = act.kind === "meet" && !moved.query ? "The queries lie still." : nothing;
  return html`<p class="walkers">${act.kind === "meet" ? "↓ To the desk:" : "↑ To the shelf:"} ${walking.map(
    (name) => html`<span class=${name}>${plural[name]}, ${moved[name]} numbers</span> `,
  )}${stays}</p>`;
}

/** The group of queries and what its rows keep, which stay, and the keys and values that are passing. */
function desk(m, widget) {
  const {act, tokens, done, queryTile} = m;
  const bar = html`<p class="room ${m.fits ? "" : "over"}"><b>The desk</b>
    <span class="bar"><span style=${filled(Math.min(1, m.desk / DESK))}></span></span>
    <span class="share">${`${m.desk} of ${DESK} numbers`}</span></p>`;
  return html`<div class="desk" style="--rows:${m.fits ? queryTile : 2}">${bar}${
    act && m.fits ? html`<div class="lying">${tile(m, widget)}${ledger(m)}</div>` : nothing
  }<p class="note">${m.fits ? "These tiles fit on the desk." : "These tiles don’t fit on the desk: nothing would start."} ${
    m.skipped ? `${m.skipped} are hidden altogether, and skipped.` : nothing
  }</p></div>`;

  function tile() {
    const {rows, cols = []} = act;
    const at = cellOf(m);
    return matrixTable({
      name: "tile",
      caption: cols.length ? "queries × keys" : "queries",
      shape: cols.length ? "values above their scores" : "",
      rows: rows.map(
        (i) =>
          html`<span class="group">${onDesk(tokens[i], true, "q")}${stack(m.query[i], entry)}</span>`,
      ),
      columns: cols.map(
        (j) => html`<span class="passing passing-${done % 2}">${onDesk(tokens[j], true, "k")}
          <span class="key">${stack(m.key[j], entry)}</span><span class="value">${stack(m.value[j], entry)}</span></span>`,
      ),
      cells: rows.map((i) => cols.map((j) => m.scores[i][j])),
      text: (r, c) => (m.hidden(rows[r], cols[c]) ? "" : format(m.scores[rows[r]][cols[c]])),
      fill: (r, c) => partAt(m, rows[r], cols[c]),
      hidden: (r, c) => m.hidden(rows[r], cols[c]),
      chosen: (r, c) => rows[r] === at.row && cols[c] === at.col,
      choose: (r, c) => widget.set({cell: rows[r] * tokens.length + cols[c] + 1}),
    });
  }
}

const partAt = (m, i, j) =>
  m.act.kind === "meet" && !m.hidden(i, j) ? Math.exp(m.scores[i][j] - keptBy(m, i).top) : 0;

/** What the rows on the desk keep. */
function ledger({act, tokens}) {
  const cell = (text, name = "") => html`<td><span class="number ${name}">${text}</span></td>`;
  const row = (i, r) => {
    const {top, sum, mix} = act.kept[r];
    return html`<tr><th scope="row">${tokens[i]}</th>
      ${cell(format(top))}${cell(format(sum))}${cell(stack(mix, format), "pair")}</tr>`;
  };
  return html`<table class="ledger"><caption><b>kept for each row</b></caption>
    <thead><tr><td></td><th scope="col">largest</th><th scope="col">sum</th><th scope="col">mix</th></tr></thead>
    <tbody>${act.rows.map(row)}</tbody></table>`;
}

const signed = (text) => (text.startsWith("−") ? html`(${text})` : text);
const joined = (parts, sign) => parts.map((part, i) => (i ? html` ${sign} ${part}` : part));

/** The chosen cell, and the row that it is in, to be followed with a calculator. */
function sums(m) {
  const a = arithmetic(m);
  const line = (name, text) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`;
  if (!a || !m.fits) return html`<div class="sums"></div>`;
  const row = `“${m.tokens[a.row]}”`;
  const {top, sum, mix} = a.kept;
  if (a.col === null)
    return html`<div class="sums"><p>The row of ${row}</p><dl>${mix.map((x, c) =>
      line(
        c ? "second number" : "output",
        html`${formatFine(x)} / ${formatFine(sum)} ≈ ${format(a.output[c])}`,
      ),
    )}</dl></div>`;
  const power = html`e<sup>${format(a.score)} − ${signed(format(top))}</sup>`;
  const products = joined(
    a.pairs.map(
      ([q, k], c) =>
        html`<span class="query">${c ? signed(entry(q)) : entry(q)}</span> · <span class="key">${signed(entry(k))}</span>`,
    ),
    "+",
  );
  const isFirst = a.before.sum === 0;
  const old = (x) => (isFirst ? [] : [html`${formatFine(a.kept.rate)} · ${signed(formatFine(x))}`]);
  const mixed = a.parts.map(
    (part, i) =>
      html`${formatFine(part)} · <span class="value">${signed(entry(a.values[i]))}</span>`,
  );
  return html`<div class="sums"><p>The cell of ${row} and “${m.tokens[a.col]}”</p><dl>
    ${line("score", a.isHidden ? "hidden" : html`(${products}) / √${a.pairs.length} ≈ ${format(a.score)}`)}
    ${line("part", a.isHidden ? "0" : html`${power} ≈ ${formatFine(a.part)}`)}
    ${line("sum", a.parts.length ? html`${joined([...old(a.before.sum), ...a.parts.map(formatFine)], "+")} ≈ ${format(sum)}` : "stays")}
    ${line("mix, 1st", a.parts.length ? html`${joined([...old(a.before.mix[0]), ...mixed], "+")} ≈ ${format(mix[0])}` : "stays")}</dl></div>`;
}

/** All scores, of which only a tile exists at a time. */
function map(m, widget) {
  const {act, tokens} = m;
  const at = cellOf(m);
  return matrixTable({
    name: "scores",
    caption: "the map",
    shape: `${tokens.length} × ${tokens.length}, never stored`,
    rows: tokens.map((word, i) => onDesk(word, act?.rows.includes(i), "q")),
    columns: tokens.map((word, j) => onDesk(word, act?.cols?.includes(j), "k")),
    cells: m.scores,
    text: (i, j) => (stateOf(m, i, j) === "gone" && !m.hidden(i, j) ? "·" : ""),
    fill: (i, j) => (stateOf(m, i, j) === "now" ? partAt(m, i, j) : 0),
    hidden: m.hidden,
    lit: (i, j) => stateOf(m, i, j) === "now",
    chosen: (i, j) => at !== null && i === at.row && j === at.col,
    choose: (i, j) => {
      const step = stepOf(m, i, j);
      if (step) widget.set({step, cell: i * tokens.length + j + 1});
    },
  });
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
  return html`<ul class="shares loads" aria-label="What is carried">
    ${bar("carried in tiles", m.soFar / most, m.bytes / most, `${bytesOf(m.soFar)} of ${bytesOf(m.bytes)}`)}
    ${bar("the plain way", m.plainBytes / most, 0, bytesOf(m.plainBytes), "plain")}</ul>`;
}

const view = (m, widget) =>
  html`${shelf(m)}${walkers(m)}${desk(m, widget)}${sums(m)}<div class="stage">${map(m, widget)}<div class="told">${widget.sentence()}${loads(m)}</div></div>`;

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
    cell: integer(0, {max: length * length}), // 0: the tile's last, else counted from 1, row by row
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
  sentence: (m) => html`${sentence(m)}<span class="screen-reader-only">${chosenText(m)}</span>`,
  view,
  challenges: {
    "all-written": (m) => m.isEnd,
    "least-carried": (m) => m.fits && m.bytes <= m.plainBytes / 4,
  },
});
