// Ten texts, each with one thing to see: a press shows it, and keeps the reader's own text at hand.

import {html, nothing} from "../../assets/vendor/lit.js";
import {FREE, leave} from "./guide.js";
import {entryOf, questionOf} from "./look.js";

/** The finding that a state shows, if it does. */
export const findingOf = ({findings, models}, state) => findings.find(({model, text, head, off, at}) => model === state.model
  && (state.text ?? entryOf(models, model).examples[0].text) === text && state.head === head && String(state.off) === String(off) && (state.at ?? null) === at);

/** Whether a text is one of the page's, so that it needn't be kept. */
const isKnown = ({findings, models, game}, text) => [...findings, ...game, ...models.flatMap(({examples}) => examples)].some((one) => one.text === text);

/** Shows a text of the page's, `changes` of the state, and keeps the reader's own. */
export function show(widget, changes) {
  const {data, state} = widget;
  const {text, model} = questionOf(data, state);
  if (!isKnown(data, text)) data.bench.own = {text, model};
  widget.set({at: null, to: null, head: null, off: [], pin: null, stage: 0, guide: FREE, ...changes});
  Object.assign(data.bench, {hover: null, hoverHead: null, isStill: true});
  widget.root.querySelector(".own-text").scrollIntoView({block: "nearest"}); // the sentence may be stuck in view
}

function press(widget, {title, model, text, head, off, at}) {
  widget.data.bench.finding = title;
  show(widget, {model, text, head, off, at});
}

export const gallery = (m, widget) => {
  const {data, state} = widget;
  const shown = findingOf(data, state);
  return html`<ol class="gallery" aria-label="Findings">${data.findings.map((finding) => html`<li><button type="button" aria-pressed=${finding === shown}
    @click=${() => press(widget, finding)}><b>${finding.title}</b> <span>${finding.text.length > 60 ? `… ${finding.text.slice(-56)}` : finding.text}</span></button></li>`)}</ol>${back(widget)}`;
};

/** Back to the text that the reader had typed. */
const back = (widget) => {
  const {own} = widget.data.bench;
  return own && questionOf(widget.data, widget.state).text !== own.text
    ? html`<p><button type="button" @click=${() => leave(widget, {...own, at: null, to: null, head: null, off: []}, "textarea")}>Back to your text</button></p>` : nothing;
};

/** What is to be seen, beside the picture: of a finding that was pressed, or that the address leads to. */
export const finding = (m, widget) => {
  const shown = m.isRead && widget.state.guide === FREE && findingOf(widget.data, widget.state);
  return shown && shown.title === widget.data.bench.finding ? html`<section class="finding" aria-label="What this text shows"><p><b>${shown.title}.</b> ${shown.told}</p>${back(widget)}</section>` : nothing;
};
