// What the model guesses: a press appends a guess. Without a head, before and after; and how the next token is drawn.

import {html, nothing} from "../../assets/vendor/lit.js";
import {slider, unitsOf} from "../lib/controls.js";
import {chance} from "../lib/numbers.js";
import {filled} from "../lib/shares.js";
import {folded} from "./folded.js";
import {headsOf, shownOf} from "./gallery.js";
import {BEGINS, leave} from "./guide.js";
import {HEADS, next} from "./steps.js";
import {keepInPlace} from "./keep-in-place.js";
import {nameOf} from "./names.js";
import {questionOf} from "./reading.js";
import {account} from "./overview.js";
import {boxed, guess, guessed, signed} from "./token-view.js";
import {append} from "./writing.js";
import {isPart} from "../lib/token-text.js";

const MARKED = 0.06; // shares that have room for their token in the strip
const PLAIN = 0.05; // a push that is written with its sign

export const guesses = (m, widget) => html`<section class="ending">
  <p class="heading"><b>${
    m.entry.causal
      ? html`After ${boxed(m.pieces[m.at], {...m, at: -1})}
    the model guesses`
      : html`In place of ${boxed(m.pieces[m.at], {...m, at: -1})} the model
      guesses`
  }</b> <span>press one to ${m.entry.causal ? "go on with it" : "put it there"}</span></p>
  <ol class="bars" aria-label="Guesses">${m.guesses.map((one) => bar(one, m, widget))}</ol>
  ${pieces(m)}${m.whole ? html`<p class="note">The mark <i class="tick"></i> stands for all heads on.</p>` : nothing}
  ${drawn(m, widget)}
  ${folded(
    widget,
    "draw",
    "Temperature, and how the next token is drawn",
    () => html`<div class="controls">${slider("temperature", "Temperature")(widget)}${
      m.entry.causal ? slider("topk", "Top-k", {unit: unitsOf("token")})(widget) : nothing
    }</div>
    <p class="note">Temperature 0 always takes the first guess; above 1, rare ones get
      more.${m.entry.causal ? " Continue draws among the top-k likeliest tokens, as often as their shares say." : ""}</p>`,
  )}
  ${folded(
    widget,
    "account",
    html`How ${boxed(m.pushed, m)} gets its score, and the
    loss`,
    () => widget.data.session.account.show(() => account(m)),
  )}
</section>`;

/** Which guesses are pieces of words: one that goes on with the word before it, one letter that begins another. */
function pieces(m) {
  if (m.entry.kind !== "storyteller") return nothing;
  const [more, begun] = [
    m.guesses.find(({text}) => guessed(text, m).startsWith("…")),
    m.guesses.find(({text}) => BEGINS.test(text)),
  ];
  if (!more && !begun) return nothing;
  const before = m.pieces[m.at].trim();
  return html`<p class="note">Pieces of words: ${
    more
      ? html`${boxed(more.text, m)} goes on with
    ${boxed(before, {...m, at: -1})}${before + more.text === "bigg" ? ", as in bigger" : ""}`
      : nothing
  }${
    more && begun ? "; " : ""
  }${begun ? html`${boxed(begun.text, m)} begins a word` : nothing}.</p>`;
}

const bar = (one, m, widget) => {
  const {text, share, without} = one;
  const isTruth = m.entry.causal && text === m.truth?.text;
  return html`<li class=${isTruth ? "truth" : nothing}><button type="button" aria-disabled=${isPart(text)}
  title=${isTruth ? "what follows in the text" : nothing} @click=${() => isPart(text) || append(widget, one)}>
  <span class="token">${guess(text, m)}</span>
  <span class="bar" aria-hidden="true"><span style=${filled(share)}></span>${without === undefined ? nothing : html`<i style="left:${+(100 * without).toFixed(2)}%"></i>`}</span>
  <span class="share">${chance(share)}</span></button></li>`;
};

/** The last draw: a strip of the guesses, each as wide as its share, and where the drawn number fell. */
function drawn(m, {data, state}) {
  const {session} = data;
  if (!session.draw || questionOf(data, state).text !== session.written) return nothing; // another text was taken since
  const {from, at, chosen} = session.draw;
  const {text, share} = from[chosen];
  const shares = from.map(
    (one, i) =>
      html`<span class=${i === chosen ? "chosen" : nothing} style="flex-grow:${one.share.toFixed(4)}">${one.share >= MARKED ? guess(one.text, {...m, at: -1}) : ""}</span>`,
  );
  return html`<div class="draw"><p class="note" aria-hidden="true">Drawn: ${at.toFixed(2)} of 1,
    so ${boxed(text, {...m, at: -1})}, which had ${chance(share)}</p>
    <div class="strip" aria-hidden="true">${shares}<i style="left:${(100 * at).toFixed(2)}%"></i></div></div>`;
}

// ---- Before and after -----------------------------------------------------------------------

export const verdict = (m, widget) => {
  const {
    whole,
    guesses: [first, second],
    step,
    reading: {off},
  } = m;
  const before = whole ?? first;
  const isAsking = m.isAll && !off.length && (step === HEADS || (m.isOwn && !m.needed)); // for a head: its switch comes next, in the room that is kept for it
  const measured = !whole && m.isSought && m.needed?.without[m.head];
  const isMeasured = typeof measured === "number";
  const third = whole && whole.text === first.text && second ? second : first;
  const named = isAsking
    ? "one of them"
    : off.length > 1
      ? off.length === 2
        ? "both"
        : `these ${off.length}`
      : `head ${off.map(([layer, head]) => nameOf({layer, head})).join() || m.name}`;
  return html`<div class=${isAsking || (step === 4 && !off.length) ? "verdict asking" : "verdict"}><div class="outcome">
    ${row("all heads on", guess(before.text, m), before.share, chance(before.share))}
    ${row(`without ${named}`, guess(before.text, m), whole ? whole.now : measured || 0, whole || isMeasured ? chance(whole ? whole.now : measured) : "?", whole || isMeasured ? "now" : "unknown")}
    ${
      whole
        ? row(
            third === first ? "first is now" : "second is now",
            guess(third.text, m),
            third.share,
            chance(third.share),
            "now first",
          )
        : html`<p class="row ask"><span>${
            isMeasured
              ? "Measured with each head off in turn. The switch shows all guesses without it."
              : isAsking
                ? "Press a head: then it can be switched off here."
                : `What will the model guess if what head ${m.name} adds is left out? The switch shows it.`
          }</span></p>`
    }</div>
    ${switches(m, widget, isAsking)}</div>${moved(m)}${whole && off.length === 1 && m.tellsPushes ? itself(m) : nothing}`;
};

/** Which later head has lost its aim, where heads are off: so a head works through others. */
function moved({whole, pieces, reading: {heads, off}}) {
  if (!whole?.moved || off.length !== 1) return nothing;
  const {head, to, before, now} = whole.moved;
  return html`<p class="note itself">Without it head <b>${nameOf(heads[head])}</b> looks at
    ${boxed(pieces[to], {entry: {}})} with ${chance(now)}, not ${chance(before)}: later heads work
      with what earlier ones have left.</p>`;
}

/** What the head that is off adds itself, beside what its loss changed. */
function itself(m) {
  const {whole, reading, entry} = m;
  const {heads} = reading;
  const i = heads.findIndex(({isOff}) => isOff);
  const push = whole.heads[i];
  const later = [
    ...(reading.units ? ["its layer’s MLP"] : []),
    ...(heads[i].layer < entry.counts.length - 1 ? ["later layers"] : []),
  ];
  const isOther =
    (push >= PLAIN && whole.now > whole.share) || (push <= -PLAIN && whole.now < whole.share);
  return html`<p class="note itself">The <b>push</b> of ${nameOf(heads[i])}, what it adds itself
    to the score of ${boxed(whole.text, m)}: <b>${signed(push)}</b>. It leaves out what the head
    adds to other guesses${later.length ? ` and what ${later.join(" and ")} make${later.length > 1 || later[0] === "later layers" ? "" : "s"} of it` : ""}:
    that, only the switch shows${isOther ? "; here it counts more, and the other way" : ""}.</p>`;
}

const row = (
  label,
  token,
  share,
  told,
  className = "",
) => html`<p class="row ${className}"><span>${label}</span><b>${token}</b>
  <span class="bar"><span style=${filled(share)}></span></span><span class="share">${told}</span></p>`;

/** Of the head that is looked at; in a finding of its heads. */
function switches(m, widget, isAsking) {
  const {off} = widget.state;
  const shown = shownOf(widget.data, widget.state);
  const names = shown && headsOf(shown).includes(m.name) ? headsOf(shown) : [m.name];
  const flip = (name) => {
    const {off: now} = widget.state; // which may be ahead of what is drawn
    keepInPlace(widget, ".switches");
    widget.set({
      off: now.includes(name) ? now.filter((one) => one !== name) : [...now, name].sort(),
      head: name,
      ...next(widget, 4),
    });
  };
  return html`<div class=${isAsking ? "switches unused" : "switches"} .inert=${isAsking}>${names.map(
    (name) => html`<label class="toggle"><input type="checkbox" .checked=${off.includes(name)}
    @input=${() => flip(name)}><span>Switch off head <b>${name}</b></span></label>`,
  )}
    <button type="button" class=${off.length ? nothing : "unused"} .disabled=${!off.length} @click=${() => leave(widget, {off: []}, ".switches input")}>All heads on</button></div>`;
}
