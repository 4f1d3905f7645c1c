// Arcs from a chosen word to those it looks at, over words that stand in lines. No page in here.

const LOOP = 12; // px from the middle of a word to where its arc to itself ends

/**
 * The path of an SVG from one word to another, boxes {x, top, bottom} with x its middle: over the
 * words of one line, at most `room` px high; else from the top of one to the foot of the other.
 */
export function arc(from, to, room) {
  const isSame = from.x === to.x && from.top === to.top;
  const start = isSame ? from.x + LOOP : from.x;
  const end = isSame ? to.x - LOOP : to.x;
  if (from.top === to.top) {
    const high = Math.min(room, 14 + Math.abs(end - start) * 0.32) * 4 / 3; // of a cubic, 3/4 is reached
    return curve([start, from.top], [start, from.top - high], [end, to.top - high], [end, to.top]);
  }
  const foot = to.top < from.top ? to.bottom : to.top;
  const middle = (from.top + foot) / 2;
  return curve([start, from.top], [start, middle], [end, middle], [end, foot]);
}

const curve = (from, ...points) => `M${at(from)}C${points.map(at).join(" ")}`;
const at = ([x, y]) => `${+x.toFixed(1)},${+y.toFixed(1)}`;
