// Arcs from a chosen word to those it looks at, over words that stand in lines. Their style is in widgets/arcs.css.

import {svg} from "../../assets/vendor/lit.js";

const LOOP = 12; // px from the middle of a word to where its arc to itself ends

/**
 * The path of an SVG from one word to another, boxes {x, top, bottom} with x its middle: over the
 * words of one line, at most `room` px high; else from the top of one to the foot of the other.
 * `lift`: px that an arc over the same words stands above the others.
 */
export function arc(from, to, room, lift = 0) {
  const isSame = from.x === to.x && from.top === to.top;
  const start = isSame ? from.x + LOOP : from.x;
  const end = isSame ? to.x - LOOP : to.x;
  if (from.top === to.top) {
    const high = (Math.min(room, 14 + lift + Math.abs(end - start) * 0.32) * 4) / 3; // of a cubic, 3/4 is reached
    return curve([start, from.top], [start, from.top - high], [end, to.top - high], [end, to.top]);
  }
  const foot = to.top < from.top ? to.bottom : to.top;
  const middle = (from.top + foot) / 2;
  return curve([start, from.top], [start, middle], [end, middle], [end, foot]);
}

const curve = (from, ...points) => `M${at(from)}C${points.map(at).join(" ")}`;
const at = ([x, y]) => `${+x.toFixed(1)},${+y.toFixed(1)}`;

/** Paints for arcs, from the colour of the key that answers to that of the query that asks, named by the way there. */
export const paints = svg`<defs>${[
  ["right", 0, 0, 1, 0],
  ["left", 1, 0, 0, 0],
  ["down", 0, 0, 0, 1],
  ["up", 0, 1, 0, 0],
].map(
  ([name, x1, y1, x2, y2]) => svg`<linearGradient
  id="arc-${name}" x1=${x1} y1=${y1} x2=${x2} y2=${y2}><stop class="key" offset="0" /><stop class="query" offset="1" /></linearGradient>`,
)}</defs>`;

/**
 * Of `text`, an element that holds words as radio buttons, where they now stand: {path(from, to, lift): the arc
 * between two words, paint(from, to): its stroke}. `most`: px that an arc may be high.
 */
export function arcsOver(text, most = Infinity) {
  const from = text.getBoundingClientRect();
  const boxes = [...text.querySelectorAll("[role=radio]")].map((word) => {
    const {left, width, top, bottom} = word.getBoundingClientRect();
    return {x: left - from.left + width / 2, top: top - from.top, bottom: bottom - from.top};
  });
  const room = Math.min(most, boxes[0].top - 6);
  const between = Math.max(
    12,
    (boxes.find(({top}) => top > boxes[0].top)?.top ?? Infinity) - boxes[0].bottom - 4,
  );
  const roomOver = ({top}) => (top === boxes[0].top ? room : Math.min(room, between)); // over the first line there is more
  return {
    path: (at, to, lift) => arc(boxes[at], boxes[to], roomOver(boxes[at]), lift),
    paint(at, to) {
      const [query, key] = [boxes[at], boxes[to]];
      const way =
        query.top === key.top
          ? key.x > query.x
            ? "left"
            : "right"
          : key.top < query.top
            ? "down"
            : "up";
      return `url(#arc-${way})`;
    },
  };
}
