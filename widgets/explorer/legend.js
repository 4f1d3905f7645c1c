// What the arcs are, what stands after the text, and what went where a text is too long.

import {html} from "../../assets/vendor/lit.js";
import {nameOf} from "./names.js";
import {isInPieces} from "./sentence.js";

export const legend = (m) =>
  html`<p class="legend"><span class="peeked"></span>${m.arcs.only === null ? ofAll(m) : html`<span>${ofOne(m)}</span>`}${
    m.entry.causal
      ? html`<span>In grey: ${m.at === m.pieces.length - 1 ? "the model’s first guess" : "what comes later, which it doesn’t see"}.</span>`
      : ""
  }${isInPieces(m) ? html`<span>Ticks: where a word is cut into pieces.</span>` : ""}${
    m.reading.dropped
      ? html`<b>The model reads ${m.entry.most} tokens at most: the oldest ${m.reading.dropped} went.</b>`
      : ""
  }</p>`;

const ofAll = ({reading, entry}) =>
  html`<span>The arcs of all ${reading.heads.length} heads, by
    layer:</span>${entry.counts.map((_, i) => html`<span class="layer-${i + 1}"><i></i>${i + 1}</span>`)}`;

function ofOne({reading: {heads}, arcs: {only, isOff, isFew}}) {
  const name = nameOf(heads[only]);
  const off = heads.filter((head) => head.isOff);
  if (isOff && off.length > 1)
    return html`Off, and dashed where they had looked:${off.map(
      (head) => html`
      <span class="layer-${head.layer + 1}"><i></i>${nameOf(head)}</span>`,
    )}`;
  if (isOff) return `Head ${name} is off. Dashed: where it had looked.`;
  if (isFew)
    return `Where head ${name} looks most: head ${heads[only].head + 1} of layer ${heads[only].layer + 1}.`;
  return `The arcs of head ${name}: the thicker, the more it looks there.`;
}
