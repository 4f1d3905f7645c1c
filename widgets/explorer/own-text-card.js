// A text of the reader's own: what it can be begun with, and the head that its guess needs most.

import {html, nothing} from "../../assets/vendor/lit.js";
import {chance} from "../lib/numbers.js";
import {filled} from "../lib/shares.js";
import {ranked} from "./game.js";
import {SEEK, SEEKING, leave, outcomeText} from "./guide.js";
import {nameOf} from "./names.js";
import {boxed} from "./token-view.js";
import {seek} from "./seeking.js";

const LISTED = 4; // heads
const MUCH = 0.25; // an average weight
const LITTLE = 0.2; // of a guess's share: whose loss hurts less isn't needed; and a share below which a guess is unsure

/** The guess without each head that takes most, and without `head`. Also of a round of the game. */
export function bars(m, {share, without}, head) {
  const listed = [...new Set([...ranked({without}).slice(0, LISTED), head])];
  return html`<p class="note"><i class="tick"></i> with all heads on</p><ul class="round" aria-label="The guess without each head">${listed.map(
    (one) => html`<li class=${one === head ? "own" : nothing}><span>without
    ${nameOf(m.reading.heads[one])}</span><span
    class="bar" aria-hidden="true"><span style=${filled(without[one])}></span><i style="left:${(100 * share).toFixed(1)}%"></i></span><span
    class="share">${chance(without[one])}</span></li>`,
  )}</ul>`;
}

/** Whether the last token has stood there before, so that a head can see what came after it. */
const repeats = (ids) => ids.indexOf(ids.at(-1)) < ids.length - 1;

/** What a head looks at on other texts, if one kind of token gets a good part of its attention. */
function habit({entry: {kind, scores}}, head) {
  const [label, mean] = scores[head].looks.reduce((most, look) =>
    look[1] > most[1] ? look : most,
  );
  return kind === "grammar" || mean < MUCH
    ? ""
    : ` On other texts ${label} gets ${chance(mean)} of its attention, on average.`;
}

export function ownTextCard(m, widget) {
  const token = boxed(m.whole?.text ?? m.guesses[0].text, m);
  const share = chance(m.whole?.share ?? m.guesses[0].share);
  const vague =
    m.entry.kind === "storyteller" && (m.whole ?? m.guesses[0]).share < LITTLE
      ? ` An unsure guess${repeats(m.reading.ids) ? "." : ": try a text that repeats something."}`
      : "";
  if (!m.isSought || !m.needed)
    return card(
      html`<b>This text.</b> ${m.whole ? "With all heads on, the" : "The"} model guesses ${token}, with ${share}.${vague}`,
      m.isSought ? SEEKING : SEEK,
      () => m.isSought || seek(widget),
    );
  const [most] = ranked(m.needed);
  const name = nameOf(m.reading.heads[most]);
  const isLittle = m.needed.share - m.needed.without[most] < LITTLE * m.needed.share;
  const {off} = m.reading;
  const told = m.whole
    ? html`<b>Without ${off.length > 1 ? `these ${off.length} heads` : `head ${nameOf(m.reading.heads.find(({isOff}) => isOff))}`}</b>
      ${outcomeText(m)}`
    : html`<b>${isLittle ? "No head alone is needed much." : `It needs head ${name} most.`}</b>
      ${isLittle ? `Most is taken by ${name}: without it` : "Without it"} ${token} has
        ${chance(m.needed.without[most])}, not ${chance(m.needed.share)}.${habit(m, most)} Its square has a star.`;
  return card(
    told,
    off.length ? "" : `Switch head ${name} off`,
    () => leave(widget, {off: [name], head: name}, ".switches input"),
    bars(m, m.needed, most),
  );
}

/** One button in all its states, so that the focus stays. */
const card = (
  told,
  name,
  act,
  more = nothing,
) => html`<section class="own-card" aria-label="Your text"><p role="status">${told}</p>${more}
  <p class="acts">${name ? html`<button type="button" class="main" @click=${act}>${name}</button>` : nothing}</p></section>`;
