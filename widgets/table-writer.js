// A table into which notes are written, a key and a value each, by adding or by correcting, and which is asked.

import {scaleLinear} from "../assets/vendor/d3.js";
import {html, nothing, svg} from "../assets/vendor/lit.js";
import {button, choice, reset, slider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {decimal, integer, option, text} from "./lib/fields.js";
import {dot} from "./lib/lists.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

export const RULES = ["adds", "corrects"];
const MOST = 8; // notes and fadings in a row
const ITEM = /^(\d+)n(\d+)$|^f(\d+)$/; // guest 0 in room 5 is "0n5"; fading to 20 % is "f20"

/** "0n5 1n10 f20" → [{guest, room}, …, {fade}], or null where it isn't one. */
export function historyOf(told, guests) {
  const items = told
    .split(" ")
    .filter(Boolean)
    .map((item) => ITEM.exec(item));
  if (
    items.length > MOST ||
    items.some(
      (found) =>
        !found || +found[1] >= guests || +found[2] < 1 || +found[2] > 12 || +found[3] > 100,
    )
  )
    return null;
  return items.map(([, guest, room, fade]) =>
    fade === undefined ? {guest: +guest, room: +room} : {fade: +fade / 100},
  );
}

/** One item: the table before and after, and for a note what its key had and what was written. */
export function write(table, item, keys, rule) {
  if ("fade" in item) return {...item, after: table.map((x) => item.fade * x)};
  const key = keys[item.guest];
  const had = dot(key, table);
  const written = rule === "corrects" ? item.room - had : item.room;
  return {...item, had, written, after: table.map((x, i) => x + written * key[i])};
}

/** data: {guests: [name], keys: [two numbers each], start} */
export function tableOf({guests, keys}, {rule, notes}) {
  let table = keys[0].map(() => 0);
  const steps = historyOf(notes, guests.length).map((item) => {
    const step = write(table, item, keys, rule);
    table = step.after;
    return step;
  });
  const asked = guests.map((name, i) => {
    const noted = steps.filter(({guest}) => guest === i);
    const room = noted.length ? noted[noted.length - 1].room : null;
    const answer = dot(keys[i], table);
    return {
      name,
      key: keys[i],
      room,
      times: noted.length,
      answer,
      error: room === null ? null : Math.abs(answer - room),
    };
  });
  return {rule, steps, table, asked, guests};
}

const isRight = ({error}) => error !== null && error < 0.05;

export const GOALS = {
  "all-right": ({rule, asked}) => rule === "corrects" && asked.every(isRight),
  forgotten: ({steps, asked: [ann, cleo]}) =>
    steps.some((step) => "fade" in step) &&
    isRight(ann) &&
    cleo.times > 0 &&
    Math.abs(cleo.answer) < 0.05,
};

/** The plane of all tables (x, y): its bounds, and for each noted guest the ends of the line on which tables are right. */
export function planeOf({steps, asked, table}) {
  const path = [table.map(() => 0), ...steps.map(({after}) => after)];
  const reached = path.flat();
  const [low, high] = [Math.floor(Math.min(-3, ...reached)), Math.ceil(Math.max(12, ...reached))];
  const inside = ([x, y]) => Math.min(x, y) >= low - 1e-9 && Math.max(x, y) <= high + 1e-9;
  const lines = asked
    .filter(({room}) => room !== null)
    .map(({name, key: [a, b], room}) => {
      const atX = b ? [low, high].map((x) => [x, (room - a * x) / b]) : [];
      const atY = a ? [low, high].map((y) => [(room - b * y) / a, y]) : [];
      const ends = [...atX, ...atY].filter(inside).sort(([x, y], [u, v]) => x - u || y - v);
      return {name, room, ends: [ends[0], ends[ends.length - 1]]};
    });
  return {low, high, path, lines: lines.filter(({ends: [from]}) => from)};
}

// ---- Sentence, view ------------------------------------------------------------------------

const whole = (x) =>
  format(x)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
const signed = (x) => (x < 0 ? whole(x) : `+${whole(x)}`);

function told(step, {guests}) {
  if ("fade" in step) return `faded to ${whole(step.fade)}`;
  return `${guests[step.guest]} in room ${step.room}`;
}

export function sentence(m) {
  const {rule, steps, table, asked} = m;
  const last = steps[steps.length - 1];
  const how = !last
    ? "Nothing is written yet."
    : "fade" in last
      ? `The table was last ${told(last, m)}.`
      : rule === "corrects"
        ? `Last note: ${told(last, m)}. The key had ${whole(last.had)}, so ${signed(last.written)} was written.`
        : `Last note: ${told(last, m)}. ${whole(last.written)} was added.`;
  const answers = asked
    .filter(({room}) => room !== null)
    .map(({name, room, answer}) => `${name}, in room ${room}, the table says ${whole(answer)}`);
  const all = steps.map((step) => told(step, m)).join(", ");
  const full = steps.length === MOST ? ` That is ${MOST}, and no more fit here: undo one.` : "";
  const says = answers.length ? `Asked for ${answers.join("; for ")}.` : "";
  const notes = steps.length > 1 ? `All notes: ${all}. ` : "";
  return `The table ${rule}. ${how} ${notes}It holds ${table.map(whole).join(" and ")}. ${says}${full}`.trim();
}

const noteList = (m) =>
  html`<ol class="notes" aria-label="Notes, first to last">${m.steps.map(
    (step) => html`<li class=${"fade" in step ? "fade" : ""}>
  <b>${told(step, m)}</b><span>${
    "fade" in step
      ? `× ${whole(step.fade)}`
      : m.rule === "corrects"
        ? `had ${whole(step.had)}, write ${signed(step.written)}`
        : `write ${signed(step.written)}`
  }</span>
  <span class="after">table (${step.after.map(whole).join(", ")})</span></li>`,
  )}</ol>`;

const SIZE = 240; // of the drawing's own units; CSS sets its size on the page

/** The table as a point, its way there, and for each guest the line of all tables that say his room. */
function plane(m) {
  const {low, high, path, lines} = planeOf(m);
  const x = scaleLinear([low, high], [0, SIZE]);
  const y = scaleLinear([low, high], [SIZE, 0]);
  const last = m.steps.length ? m.guests[m.steps[m.steps.length - 1].guest] : null;
  const tick = (n) =>
    svg`<text class="tick" x=${x(n)} y=${y(0) + 12}>${n}</text><text class="tick up" x=${x(0) - 4} y=${y(n) + 3}>${n}</text>`;
  const right = ({
    name,
    room,
    ends: [[ax, ay], [bx, by]],
  }) => svg`<g class=${name === last ? "line newest" : "line"}>
    <line x1=${x(ax)} y1=${y(ay)} x2=${x(bx)} y2=${y(by)} />
    <text x=${x(bx) + (bx < high ? 0 : 4)} y=${y(by) + (by === high && bx < high ? -5 : by === low ? 12 : 4)} class=${bx < high ? "middle" : ""}>${name} in ${room}</text></g>`;
  const move = (to, i) => {
    const [[ax, ay], [bx, by]] = [path[i], to];
    const turned = (Math.atan2(y(by) - y(ay), x(bx) - x(ax)) * 180) / Math.PI;
    return svg`<g class=${"fade" in m.steps[i] ? "move faded" : "move"}><line x1=${x(ax)} y1=${y(ay)} x2=${x(bx)} y2=${y(by)} />
      ${Math.hypot(bx - ax, by - ay) > 0.6 ? svg`<path d="M-9,-4 L-1,0 L-9,4 Z" transform="translate(${x(bx)},${y(by)}) rotate(${turned})" />` : ""}</g>`;
  };
  const [px, py] = path[path.length - 1];
  return html`<figure class="plane" aria-hidden="true"><svg viewBox="-12 -14 ${SIZE + 82} ${SIZE + 30}">
    <line class="axis" x1="0" y1=${y(0)} x2=${SIZE} y2=${y(0)} /><line class="axis" x1=${x(0)} y1="0" x2=${x(0)} y2=${SIZE} />
    ${lines.map(right)}${[5, 10].map(tick)}${path.slice(1).map(move)}
    <circle class="table" r="5" cx=${x(px)} cy=${y(py)} />
    <text x=${x(px) + 9} y=${y(py) + 16}>(${whole(px)}, ${whole(py)})</text></svg>
    <figcaption>The table as a point; on a guest’s line it says that guest’s room.</figcaption></figure>`;
}

const answerRow = ({name, key, room, answer, error}) => html`<tr><th scope="row">${name}</th>
  <td class="key"><span>(${key.map(whole).join(", ")})</span></td><td><span>${room ?? "–"}</span></td>
  <td class="answer"><span>${whole(answer)}</span></td>
  <td class="verdict"><span class=${error === null ? "" : isRight({error}) ? "right" : "wrong"}>${
    error === null ? "not noted" : isRight({error}) ? "right" : `off by ${whole(error)}`
  }</span></td></tr>`;

const view = (m, widget) => html`<div class="stage">${plane(m)}
  <table class="asked"><caption>Asked for each guest</caption><thead><tr><th scope="col">guest</th><th scope="col">key</th>
    <th scope="col">is in</th><th scope="col">table says</th><th scope="col">so</th></tr></thead>
    <tbody>${m.asked.map(answerRow)}</tbody></table>${noteList(m)}
  ${m.steps.length === MOST ? html`<p class="full">No more than ${MOST} fit here: undo one.</p>` : nothing}</div>
  ${widget.sentence({hidden: true})}`;

function append(widget, item) {
  const notes = `${widget.state.notes} ${item}`.trim();
  if (historyOf(notes, widget.data.guests.length)) widget.set({notes});
}

const undo = (widget) => widget.set({notes: widget.state.notes.split(" ").slice(0, -1).join(" ")});

export const tableWriter = defineWidget({
  name: "table-writer",
  label: "A table to write into",
  key: "table",
  fields: ({guests, start}) => ({
    rule: option("adds", RULES),
    guest: option(guests[0], guests),
    room: integer(5, {min: 1, max: 12}),
    fade: decimal(0, {min: 0, max: 1, step: 0.05}),
    notes: {
      ...text(start),
      parse: (given) => (historyOf(given, guests.length) ? given : undefined),
    },
  }),
  controls: ({data: {guests}, state: {guest, room, fade}}) => [
    [
      choice("rule", "How it writes", ["adds", "looks first, and corrects"]),
      button("Empty", (widget) => widget.set({notes: ""})),
    ],
    [
      choice("guest", "Guest", guests),
      slider("room", "Room", {unit: (n) => `room ${n}`}),
      button("Write the note", (widget) => append(widget, `${guests.indexOf(guest)}n${room}`)),
    ],
    [
      slider("fade", "Fade to"),
      button("Fade the table", (widget) => append(widget, `f${Math.round(100 * fade)}`)),
      button("Undo", undo),
      reset,
    ],
  ],
  model: tableOf,
  sentence,
  view,
  challenges: GOALS,
});
