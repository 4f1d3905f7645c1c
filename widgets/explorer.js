// A whole model, computed on the reader's own text: the sentence with the arcs of its heads first, and from
// there down to any number.

import {html, nothing, render} from "../assets/vendor/lit.js";
import {defineWidget} from "./lib/define-widget.js";
import {decimal, integer, option, position, someOf} from "./lib/fields.js";
import {follow, startAsking} from "./explorer/asking.js";
import {folded} from "./explorer/folded.js";
import {finding, findingOf, gallery} from "./explorer/gallery.js";
import {guide} from "./explorer/guide.js";
import {FREE} from "./explorer/steps.js";
import {moveBack} from "./explorer/keep-in-place.js";
import {drawnLater, emptyPlace} from "./explorer/draw-later.js";
import {PARTS} from "./explorer/names.js";
import {opened} from "./explorer/reading.js";
import {loadPart} from "./explorer/load-part.js";
import {legend} from "./explorer/legend.js";
import {explore, summarize} from "./explorer/model.js";
import {guesses, verdict} from "./explorer/next.js";
import {LENS, overview} from "./explorer/overview.js";
import {drawArcs, sentence, stick} from "./explorer/sentence.js";
import {goOn, ownText, underField} from "./explorer/text.js";

export {explore, summarize};

const LONGEST = 1500; // letters that an address keeps

// ---- View ------------------------------------------------------------------------------------

const status = ({arrived, problem}, isQuiet) =>
  html`<p class=${problem ? "status problem" : isQuiet ? "status quiet" : "status"} role="status">${
    problem ? `${problem} What stands below is the last text that was read.` : ""
  }${
    arrived === null || problem
      ? ""
      : html`Fetching the model …
    <progress max="1" .value=${arrived} aria-label="Fetched"></progress>`
  }</p>`;

/** Draws, but while a text is read, or one without a head: until it has been, nothing that is shown changes. */
function view(m, widget) {
  const {session} = widget.data;
  const chosen = JSON.stringify([{...widget.state, text: null}, [...session.unfolded]]);
  const isDrawn =
    session.drawn?.reading === m.reading && (!m.isRead || session.drawn.chosen === chosen);
  const isReading = isDrawn && m.isAwaited && m.arrived === null && !m.failure;
  if (!isReading) {
    render(whole(m, widget), session.place);
    session.drawn = {reading: m.reading, chosen};
  }
  session.place.setAttribute("aria-busy", String(isReading && !m.isWriting));
  return session.place;
}

function whole(m, widget) {
  const {session} = widget.data;
  const under = underField(m, widget);
  return html`${status(m, under !== nothing && m.arrived === null)}${under}${sentence(m, widget)}${legend(m)}${guide(m, widget)}${finding(m, widget)}${
    m.isOwn && m.isRead && !m.round && !m.isWriting && m.step === FREE
      ? loadPart(
          widget,
          "own",
          () => import("./explorer/own-text-card.js"),
          ({ownTextCard}) => ownTextCard(m, widget),
        )
      : nothing
  }
  ${reached(m, widget)}${m.round ? nothing : verdict(m, widget)}
  <div class="halves" aria-busy=${m.isAwaited && !m.isWriting}>
    ${session.machine.show(() => overview(m, widget))}
    <div class="side">${guesses(m, widget)}${m.isAll ? nothing : headOf(m, widget)}</div></div>
  ${session.game ? gameOf(m, widget) : nothing}
  <div class="more">${folded(widget, "gallery", "Ten findings, one press each", () => gallery(m, widget))}${
    session.game
      ? nothing
      : folded(widget, "game", "Find the head: a game of three rounds", () => gameOf(m, widget))
  }${passFold(m, widget)}${folded(
    widget,
    "tools",
    "Another model, examples, two texts compared",
    () =>
      loadPart(
        widget,
        "tools",
        () => import("./explorer/tools.js"),
        ({tools}) => tools(m, widget),
      ),
  )}</div>
  ${widget.sentence({hidden: true})}`;
}

const goalOf = (name) => document.querySelector(`#goal-${name}`);

/** The page's goals that what is shown meets: its list stands further down. */
const reached = (m, {state}) =>
  Object.keys(GOALS)
    .filter((name) => goalOf(name)?.classList.contains("met") && GOALS[name](m, state))
    .map((name) => html`<p class="reached"><b>Goal reached:</b> ${goalOf(name).textContent}</p>`);

function redraw(widget) {
  widget.data.session.drawn = null;
  widget.refresh();
}

const headOf = (m, widget) =>
  loadPart(
    widget,
    "detail",
    () => import("./explorer/detail.js"),
    ({detail}) => detail({...m, parts: widget.data.session.parts[m.entry.name]}, widget),
  );

const gameOf = (m, widget) =>
  loadPart(
    widget,
    "game",
    () => import("./explorer/game-view.js"),
    ({game}) => game(m, widget),
  );

/** The play of the forward pass: open wherever the state is at a stage of it. */
const passFold = (
  m,
  widget,
) => html`<details .open=${widget.state.stage > 0} @toggle=${(event) => openPass(event, widget)}>
  <summary>Watch the model compute its guess, stage by stage</summary>${
    widget.state.stage
      ? loadPart(
          widget,
          "pass",
          () => import("./explorer/pass-view.js"),
          ({pass}) => pass(m, widget),
        )
      : nothing
  }</details>`;

/** Opened by a press, it comes to the top, so that its pictures have room. */
function openPass({target: {open, firstElementChild: summary}}, widget) {
  if (open === widget.state.stage > 0) return;
  widget.set({
    stage: open ? 1 : 0,
    ...(open && {head: widget.model.name}),
  }); // the head that the stages follow
  if (open && summary.matches(":hover, :focus")) summary.scrollIntoView({block: "start"});
}

// ---- Fields ----------------------------------------------------------------------------------

const aText = {
  value: null,
  parse: (text) => (text.length <= LONGEST ? text : undefined),
  format: (text) => (text === null || text.length > LONGEST ? "" : text || " "),
};
const HEADS = [1, 2, 3, 4].flatMap((layer) => [1, 2, 3, 4].map((head) => `${layer}.${head}`));

const GOALS = {
  "one-head-off": (m) =>
    m.isSettled && m.isTyped && m.reading.off.length === 1 && m.whole.text !== m.guesses[0].text,
  copied: (m) =>
    m.isSettled &&
    m.entry.kind === "induction" &&
    m.isTyped &&
    !m.isAll &&
    m.to > 0 &&
    m.to < m.at - 1 &&
    m.row[m.to] >= 0.9 &&
    m.pieces[m.to - 1] === m.pieces[m.at],
  late: (m) =>
    m.isSettled &&
    (m.isTyped || !m.isOwn) && // not a beginning, which a press brings
    !m.isWriting &&
    m.entry.kind === "storyteller" &&
    m.reading.temperature === 1 &&
    m.stages[m.stages.length - 1][0].share >= 0.5 &&
    !m.reading.off.length &&
    m.stages[m.stages.length - 2].slice(0, LENS).every(({text}) => text !== m.guesses[0].text),
};

const widgetOf = defineWidget({
  name: "explorer",
  label: "A whole model on your text",
  key: "explorer",
  fields: ({models: all}) => ({
    model: option(
      all[0].name,
      all.map(({name}) => name),
    ),
    text: aText,
    at: position,
    to: position,
    head: option(null, HEADS),
    off: someOf(HEADS),
    temperature: decimal(1, {min: 0, max: 2, step: 0.05}),
    topk: integer(5, {min: 1, max: 40}),
    pin: aText,
    part: option("query", PARTS),
    no: integer(1, {min: 1, max: 32}),
    guide: integer(1, {min: 1, max: 6}),
    stage: integer(0, {max: 10}),
  }),
  controls: () => [[ownText, goOn]],
  model: explore,
  sentence: summarize,
  view,
  saving: {name: "Share", isAbove: true},
  started(widget) {
    Object.assign(widget.data.session, {
      drawArcs,
      finding: findingOf(widget.data, widget.state)?.title ?? "",
    });
    startAsking(widget);
    widget.listen(window, "scroll", () => stick(widget), {passive: true});
    // A page that scrolls under a pointer at rest brings words under it that nobody points at.
    for (const touch of ["pointermove", "keydown"]) {
      widget.listen(
        widget.root,
        touch,
        ({target, movementX = 1, movementY = 1}) => {
          if (!movementX && !movementY) return;
          if (widget.data.session.isStill)
            requestAnimationFrame(() =>
              target.dispatchEvent(new PointerEvent("pointerover", {bubbles: true})),
            );
          widget.data.session.isStill = false;
        },
        {passive: true},
      );
    }
    new ResizeObserver(() => drawArcs(widget)).observe(widget.root);
    for (const name of Object.keys(GOALS)) {
      const goal = goalOf(name);
      if (goal) widget.listen(goal, "met", () => setTimeout(() => redraw(widget))); // once it is marked
    }
  },
  drawn(widget) {
    follow(widget);
    drawArcs(widget);
    moveBack(widget);
  },
  pictures: {Sentence: async (widget) => (await import("./explorer/picture.js")).pictureOf(widget)},
  challenges: GOALS,
});

/** What the widget keeps beside its state: the places that are drawn apart, and what was read. */
const sessionOf = (models) => ({
  place: emptyPlace(),
  machine: drawnLater(),
  large: drawnLater(),
  sums: drawnLater(),
  account: drawnLater(),
  layers: Array.from({length: Math.max(...models.map(({counts}) => counts.length))}, drawnLater),
  readings: [],
  parts: {},
  unfolded: new Set(),
  drawn: null,
  last: null,
  failed: "",
  said: "",
  typing: null, // the timer of what is being typed
  hover: null, // the token that the pointer is on
  hoverHead: null, // the head that it is on
  isStill: false,
  done: new Set(), // findings that were tried
  own: null, // the reader's text
  finding: "", // the one that was pressed
  game: null, // the game's answers
  studies: [], // what the worker was asked beside
  sought: "", // the guess whose head is sought
  held: null, // what was pressed, and where it was
  playing: null, // the play's timer
  speed: 1, // of the play
  loaded: {}, // the code of parts that were opened
  left: 0, // tokens still to be written
  written: "", // the text so far
  before: null, // the text before it was written on
  draw: null, // the last draw
});

/** data: {models, opening, findings, game, beginnings} of course/payloads/explorer.py. */
export const explorer = ({opening, ...given}) =>
  widgetOf({...given, opening: opened(opening), session: sessionOf(given.models)});
