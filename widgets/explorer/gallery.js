// Ten texts, each with one thing to see: a press shows it, and keeps the reader's own text at hand.

import {html, nothing} from "../../assets/vendor/lit.js";
import {openFold} from "./folded.js";
import {leave, set} from "./guide.js";
import {FREE} from "./steps.js";
import {keepInPlace} from "./keep-in-place.js";
import {entryOf, isKnown, questionOf} from "./reading.js";

const textOf = (models, {model, text}) => text ?? entryOf(models, model).examples[0].text;

/** The finding that an address leads to, if it does: its text, and its head, on or off. */
export const findingOf = ({findings, models}, state) =>
  findings.find(
    ({model, text, head, at}) =>
      model === state.model &&
      textOf(models, state) === text &&
      state.head === head &&
      (state.at ?? null) === at,
  );

/** The finding that was pressed, or led to, as long as its text stands. */
export const shownOf = ({findings, models, session}, state) =>
  findings.find(
    ({title, model, text}) =>
      title === session.finding && model === state.model && text === textOf(models, state),
  );

/** Shows a text of the page's, `changes` of the state, and keeps the reader's own. */
export function show(widget, changes) {
  const {data, state} = widget;
  const {text, model} = questionOf(data, state);
  if (!isKnown(data, text)) data.session.own = {text, model};
  data.session.unfolded.delete("layers"); // which would push what is to be seen out of view
  widget.set({
    at: null,
    to: null,
    head: null,
    off: [],
    pin: null,
    stage: 0,
    guide: FREE,
    ...changes,
  });
  Object.assign(data.session, {hover: null, hoverHead: null, isStill: true});
  widget.root.querySelector(".own-text").scrollIntoView({block: "nearest"}); // the sentence may be stuck in view
}

function press(widget, {title, model, text, head, at}) {
  Object.assign(widget.data.session, {finding: title, game: null});
  show(widget, {model, text, head, at});
}

/** The next one that hasn't been tried, after the last from the first on. */
function nextTo({data: {findings, session}}, shown) {
  const i = findings.indexOf(shown);
  return [...findings.slice(i + 1), ...findings.slice(0, i)].find(
    ({title}) => !session.done.has(title),
  );
}

/** The heads that a finding is about. */
export const headsOf = ({tries}) => [...new Set(tries.flatMap(({off}) => off))];

function goOn(widget, following) {
  if (following) {
    keepInPlace(widget, ".finding .following");
    return press(widget, following);
  }
  widget.data.session.unfolded.add("game");
  widget.data.session.finding = "";
  widget.refresh();
  openFold(widget, "game");
}

export const gallery = (_m, widget) => {
  const {data, state} = widget;
  const shown = shownOf(data, state);
  return html`<ol class="gallery" aria-label="Findings">${data.findings.map(
    (finding) => html`<li><button type="button" aria-pressed=${finding === shown}
    @click=${() => press(widget, finding)}><b>${finding.title}</b>${
      data.session.done.has(finding.title)
        ? html`
      <i class="done"><em class="screen-reader-only">tried</em></i>`
        : nothing
    } <span>${finding.text.length > 60 ? `… ${finding.text.slice(-56)}` : finding.text}</span></button></li>`,
  )}</ol>${back(widget)}`;
};

/** Back to the text that the reader had typed. */
const back = (widget) => {
  const {own} = widget.data.session;
  return own && questionOf(widget.data, widget.state).text !== own.text
    ? html`<button type="button" @click=${() => leave(widget, {...own, at: null, to: null, head: null, off: []}, "textarea")}>Back to your text</button>`
    : nothing;
};

/** Switches the head of a finding off, or on again. */
function flip(widget, {head}) {
  keepInPlace(widget, ".finding .main");
  widget.set({head, off: widget.state.off.length ? [] : [head]});
}

/** What is to be seen, beside the picture: of a finding that was pressed, or that the address leads to. */
export const finding = (m, widget) => {
  const {data, state} = widget;
  const shown = m.isRead && state.guide === FREE && shownOf(data, state);
  if (!shown) return nothing;
  const {tries} = shown;
  const heads = headsOf(shown);
  const isAside =
    m.isAll || !heads.includes(m.name) || state.off.some((name) => !heads.includes(name));
  const tried = tries.find(({off}) => String(off) === String(state.off));
  if (tried) data.session.done.add(shown.title);
  const following = nextTo(widget, shown);
  const about = `head${heads.length > 1 ? "s" : ""} ${heads.join(" and ")}`;
  return html`<section class="finding" aria-label="What this text shows"><p role="status"><b>${shown.title}.</b> ${
    isAside
      ? `This is about ${about}; you are looking at ${m.isAll ? "all heads" : `head ${m.name}`}.`
      : [
          set(shown.told, m),
          " ",
          tried
            ? set(tried.then, m)
            : tries.length > 1
              ? "Switch one of them off below, then the other, then both."
              : "What will become of the guess without the head?",
        ]
  }</p>
    <p class="acts">${
      isAside || tries.length > 1
        ? nothing
        : html`<button type="button" class="main" @click=${() => flip(widget, shown)}>Switch head ${shown.head} ${state.off.length ? "on" : "off"}</button>`
    }<button type="button" class="following" @click=${() => goOn(widget, following)}>${following ? "Next finding" : "All ten tried: now find the head"}</button>${
      isAside
        ? html`<button type="button" @click=${() => widget.set({head: shown.head, to: null, off: []})}>Back to ${about}</button>`
        : nothing
    }${back(widget)}</p></section>`;
};
