// A table into which notes are written, a key and a value each, by adding or by correcting, and which is asked.

import {html} from "../assets/vendor/lit.js";
import {button, choice, reset, slider} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {decimal, integer, option, text} from "./lib/fields.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

export const RULES = ["adds", "corrects"];
const MOST = 6; // notes and fadings in a row
const ITEM = /^(\d+)n(\d+)$|^f(\d+)$/; // guest 0 in room 5 is "0n5"; fading to 20 % is "f20"

/** "0n5 1n10 f20" → [{guest, room}, …, {fade}], or null where it isn't one. */
export function historyOf(told, guests) {
  const items = told.split(" ").filter(Boolean).map((item) => ITEM.exec(item));
  if (items.length > MOST || items.some((found) => !found || +found[1] >= guests || +found[2] < 1 || +found[2] > 12 || +found[3] > 100)) return null;
  return items.map(([, guest, room, fade]) => (fade === undefined ? {guest: +guest, room: +room} : {fade: +fade / 100}));
}

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

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
    return {name, key: keys[i], room, times: noted.length, answer, error: room === null ? null : Math.abs(answer - room)};
  });
  return {rule, steps, table, asked, guests};
}

const isRight = ({error}) => error !== null && error < 0.05;

// ---- Sentence, view ------------------------------------------------------------------------

const whole = (x) => format(x).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
const signed = (x) => (x < 0 ? whole(x) : `+${whole(x)}`);

function told(step, {guests}) {
  if ("fade" in step) return `faded to ${whole(step.fade)}`;
  return `${guests[step.guest]} in room ${step.room}`;
}

export function sentence(m) {
  const {rule, steps, table, asked} = m;
  const last = steps[steps.length - 1];
  const how = !last ? "Nothing is written yet."
    : "fade" in last ? `The table was last ${told(last, m)}.`
      : rule === "corrects" ? `Last note: ${told(last, m)}. The key had ${whole(last.had)}, so ${signed(last.written)} was written.`
        : `Last note: ${told(last, m)}. ${whole(last.written)} was added.`;
  const answers = asked.filter(({room}) => room !== null)
    .map(({name, room, answer}) => `${name}, in room ${room}, the table says ${whole(answer)}`);
  const all = steps.map((step) => told(step, m)).join(", ");
  return `The table ${rule}. ${how} ${steps.length > 1 ? `All notes: ${all}. ` : ""}It holds ${table.map(whole).join(" and ")}. ${answers.length ? `Asked for ${answers.join("; for ")}.` : ""}`.trim();
}

const noteList = (m) => html`<ol class="notes" aria-label="Notes, first to last">${m.steps.map((step) => html`<li class=${"fade" in step ? "fade" : ""}>
  <b>${told(step, m)}</b><span>${"fade" in step ? `× ${whole(step.fade)}`
    : m.rule === "corrects" ? `had ${whole(step.had)}, write ${signed(step.written)}` : `write ${signed(step.written)}`}</span>
  <span class="after">table (${step.after.map(whole).join(", ")})</span></li>`)}</ol>`;

const answerRow = ({name, key, room, answer, error}) => html`<tr><th scope="row">${name}</th>
  <td class="key"><span>(${key.map(whole).join(", ")})</span></td><td><span>${room ?? "–"}</span></td>
  <td class="answer"><span>${whole(answer)}</span></td>
  <td class="verdict"><span class=${error === null ? "" : isRight({error}) ? "right" : "wrong"}>${error === null ? "not noted" : isRight({error}) ? "right" : `off by ${whole(error)}`}</span></td></tr>`;

const view = (m, widget) => html`<div class="stage">${noteList(m)}
  <table class="asked"><caption>Asked for each guest</caption><thead><tr><th scope="col">guest</th><th scope="col">key</th><th scope="col">is in</th><th scope="col">table says</th><th scope="col">so</th></tr></thead>
    <tbody>${m.asked.map(answerRow)}</tbody></table></div>
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
    notes: {...text(start), parse: (given) => (historyOf(given, guests.length) ? given : undefined)}
  }),
  controls: ({data: {guests}, state: {guest, room, fade}}) => [
    [choice("rule", "How it writes", ["adds", "looks first, and corrects"])],
    [choice("guest", "Guest", guests), slider("room", "Room", {unit: (n) => `room ${n}`}),
      button("Write the note", (widget) => append(widget, `${guests.indexOf(guest)}n${room}`))],
    [slider("fade", "Fade to"), button("Fade the table", (widget) => append(widget, `f${Math.round(100 * fade)}`)),
      button("Undo", undo), reset]
  ],
  model: tableOf,
  sentence,
  view,
  challenges: {
    "all-right": ({asked}) => asked.every(isRight),
    forgotten: ({asked: [ann, cleo]}) => isRight(ann) && cleo.times > 0 && Math.abs(cleo.answer) < 0.05
  }
});
