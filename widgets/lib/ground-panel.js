// What the ground floor says of the part that is chosen, with this model's numbers on this text.

import {html, nothing} from "../../assets/vendor/lit.js";
import {choice} from "./controls.js";
import {chance, count, nats, ordinal} from "./numbers.js";
import {tokenText} from "./token-text.js";
import {weightMap} from "./weight-map.js";

const long = (x) => x.toFixed(1);
const list = (label, items) =>
  html`<ul class="facts" aria-label=${label}>${items.map(
    ([name, value]) => html`<li><span>${name}</span>
    <b>${value}</b></li>`,
  )}</ul>`;

function tokens({tokens: all, place, facts}, {data}) {
  return html`<p>This model knows ${count(data.vocabulary)} <b>tokens</b>: common words, parts
    of words, letters. <i>${tokenText(all[place])}</i> is number ${facts.id}.</p>
    <p>It has to guess each token from those before. So a token must not see the ones after it (dashed frame).</p>
    <p>Choose another token: the picture follows it down.</p>`;
}

function vector({tokens: all, place, facts: {vector: numbers, near, start}}) {
  return html`<p>The ${numbers.length} numbers of <i>${tokenText(all[place])}</i>, green above 0, grey below.</p>
    <p>The tokens whose vectors point most alike, from −1 to 1:</p>
    ${list(
      "Tokens whose vectors point most alike",
      near.map(({text, likeness}) => [tokenText(text), likeness.toFixed(2)]),
    )}
    <p>First numbers: ${Array.from(numbers.slice(0, 4), (x) => x.toFixed(2).replace("-", "−")).join(", ")}.
      Length: ${long(start)}.</p>`;
}

function attention({maps, tokens: all, place, part, head, facts}, widget) {
  const rows = maps[part.layer][head];
  const most = Array.from(rows[place], (weight, i) => [i, weight])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3);
  const names = maps[part.layer].map((_, i) => i + 1);
  const {attention: added, between} = facts.layers[part.layer];
  return html`<p>Each <b>head</b> spreads 100\u202f% over the words so far. Its strip has a cell
    for each word: the stronger the colour, the larger the weight.</p>
    <div class="heads"><span>Head</span>${choice("head", "Head", names)(widget)}</div>
    <div class="with-map"><div>${list(
      `“${tokenText(all[place])}” looks most at`,
      most.map(([i, weight]) => [tokenText(all[i]), chance(weight)]),
    )}</div>
    ${weightMap(square(rows, all.length), {row: place, choose: ({row}) => widget.set({token: row})})}</div>
    <p>The square is the head's <b>map</b>: a row for each word that looks, a column for each it
      looks at. The framed row is <i>${tokenText(all[place])}</i>.</p>
    <p>What the heads bring is added to the vector: ${long(added)} long, and the sum is ${long(between)}.</p>`;
}

const squares = new WeakMap();

/** Rows of one length, the same for the same map, so that nothing is painted twice. */
function square(rows, length) {
  if (!squares.has(rows))
    squares.set(
      rows,
      rows.map((row) => Array.from({length}, (_, i) => row[i] ?? 0)),
    );
  return squares.get(rows);
}

function mlp({tokens: all, place, part, facts}, {data}) {
  const {mlp: added, after, active} = facts.layers[part.layer];
  return html`<p>Each of ${data.units} units looks for its own pattern in this one vector; no other word has a say.</p>
    <p>For <i>${tokenText(all[place])}</i>, as it is by now, ${active} of the sums are above 0.
      The strip shows how large: each stripe is the largest of
      ${data.units / facts.layers[part.layer].units.length} neighbours.</p>
    <p>What the units add is together ${long(added)} long, and the vector is now ${long(after)}.</p>`;
}

function guess({facts: {guesses, truth}, tokens: all, place, before}, {data}) {
  return html`<p>Of all ${count(data.vocabulary)} tokens, it expects
    <i>${tokenText(guesses[0].text)}</i> most after <i>${tokenText(all[place])}</i>. Some
      guesses are only the beginning of a word.</p>
    ${
      truth
        ? html`<p>What really came, <i>${tokenText(truth.text)}</i>, got ${chance(truth.share)}:
          its ${ordinal(truth.rank)} guess.${before ? ` Before it learned: ${chance(before.truth.share)}.` : ""}</p>`
        : html`<p>What comes next is yours to type.</p>`
    }
    ${before ? html`<p>The thin lines show how likely each was before.</p>` : nothing}`;
}

function loss({facts: {truth}, losses, mean}) {
  return html`<p>The <b>loss</b> is 0 where the guess was certain and right, and the larger, the
    less it gave to what came.</p>
    ${
      truth
        ? html`<p><i>${tokenText(truth.text)}</i> had ${chance(truth.share)}. −ln of that is
      ${nats(truth.loss)}.</p>`
        : nothing
    }
    ${
      losses.length
        ? html`<p>The bars are the losses of all ${losses.length} guesses. Their
      mean, ${nats(mean)}, is the one number that training makes smaller.</p>`
        : nothing
    }`;
}

function step({lesson}, {data}) {
  return html`<p>A step changes each of the ${count(data.parameters)} <b>parameters</b> a
    little, in the direction in which the loss falls.${lesson ? ` The last one moved ${count(lesson.change.moved)} numbers, none by more than ${lesson.change.largest.toFixed(4)}.` : ""}</p>
    <p>In its <b>training</b> the model took ${count(data.steps)} steps, each on
      ${count(data.batch)} tokens of books.</p>
    ${lesson ? html`<p>Now choose <i>Guess</i>, or type another text, and see what else has changed.</p>` : nothing}`;
}

const SAYS = {tokens, vector, attention, mlp, guess, loss, step};

/** The title and the text for the chosen part. */
export const panel = (m, widget) =>
  html`<p class="title">${m.part.name}${m.part.layer === undefined ? "" : ` of layer ${m.part.layer + 1}`}</p>${SAYS[m.part.kind](m, widget)}`;
