// A query to move in the plane over a few keys, and the weights it gets: attention as a lookup.

import {liveElement} from "./lib/live.js";
import {format, formatPercent} from "./lib/numbers.js";
import {atTemperature} from "./lib/attention.js";
import {part, setAttr, setAttrs, setStyle, setText} from "./lib/dom.js";
import {drawShares} from "./lib/shares.js";
import {decimal} from "./lib/url-state.js";

const LIMIT = 2;
const SIZE = 300; // of the drawing's own units; CSS sets its size on the page

// ---- Model ---------------------------------------------------------------------------------

/** What a reader can choose: the query's two numbers. For urlState. */
export const queryFields = ([across, up]) => ({
  across: decimal(across, {min: -LIMIT, max: LIMIT}),
  up: decimal(up, {min: -LIMIT, max: LIMIT})
});

/** softmax(q·k / T) over keys [{token, key: [x, y]}]: T is √d, or any other; at 0 the best alone. */
export function lookup([q1, q2], keys, {temperature = Math.SQRT2} = {}) {
  const scores = keys.map(({key: [k1, k2]}) => q1 * k1 + q2 * k2);
  const weights = atTemperature(scores, temperature);
  return keys.map((key, i) => ({...key, score: scores[i], weight: weights[i]}));
}

/** What is handed over: the mix of the keys' values. */
export const retrieved = (found) => found.reduce((sum, {weight, value}) => sum + weight * value, 0);

// ---- Summary -------------------------------------------------------------------------------

export function summarize(found, [q1, q2]) {
  const shares = found.map(({token, weight}) => `${token} ${formatPercent(weight)}`).join(", ");
  return `A query at (${format(q1)}, ${format(q2)}) looks at: ${shares}.`;
}

// ---- View ----------------------------------------------------------------------------------

/** A drawing in one element of its own: draw(found, {query, onMove({across, up}), answer, note}) returns it. */
export function queryPlaneView(d3) {
  const root = d3.select(emptyView());
  return (found, options) => {
    draw(d3, root, found, options);
    return root.node();
  };
}

function draw(d3, root, found, {query, onMove, answer, note}) {
  const x = d3.scaleLinear([-LIMIT, LIMIT], [0, SIZE]);
  const y = d3.scaleLinear([-LIMIT, LIMIT], [SIZE, 0]);
  const svg = root.select("svg");
  setAttr(svg, "aria-label", summarize(found, query));
  axes(svg, x, y);
  arrows(svg, found, x, y);
  tip(svg, query, x, y);
  svg.on("pointerdown pointermove", function (event) {
    if (event.type === "pointerdown") this.setPointerCapture(event.pointerId);
    else if (!this.hasPointerCapture(event.pointerId)) return;
    const [px, py] = d3.pointer(event, this);
    onMove({across: within(x.invert(px)), up: within(y.invert(py))});
  });
  drawShares(root.select(".shares"), found.map(({token, listed = token, weight}) => ({token: listed, weight})));
  if (answer) state(root, answer, note);
}

/** One element for all answers: a screen reader says what changes in it. */
function state(root, answer, note) {
  if (root.select(".retrieved").empty()) {
    root.append("p").attr("class", "retrieved").attr("role", "status").html("Your answer: <b></b><span></span>");
  }
  setText(root.select(".retrieved b"), answer);
  setText(root.select(".retrieved span"), note);
}

const within = (value) => Math.max(-LIMIT, Math.min(LIMIT, Math.round(value * 20) / 20)) || 0;

function emptyView() {
  return liveElement("query-plane", `<svg viewBox="-8 -8 ${SIZE + 16} ${SIZE + 16}" role="img"></svg>
    <ul class="shares" aria-live="polite"></ul>`);
}

function axes(svg, x, y) {
  svg.selectAll("line.axis").data([[x(-LIMIT), y(0), x(LIMIT), y(0)], [x(0), y(-LIMIT), x(0), y(LIMIT)]])
    .join((enter) => enter.append("line").attr("class", "axis")
      .attr("x1", (d) => d[0]).attr("y1", (d) => d[1]).attr("x2", (d) => d[2]).attr("y2", (d) => d[3]));
}

function arrows(svg, found, x, y) {
  const keys = svg.selectAll("g.key").data(found, (d) => d.token).join((enter) => {
    const group = enter.append("g").attr("class", "key");
    group.append("line");
    group.append("circle").attr("r", 6);
    group.append("text");
    return group;
  });
  const [left, top] = [(d) => x(d.key[0]), (d) => y(d.key[1])];
  setAttrs(keys.select("line"), {x1: x(0), y1: y(0), x2: left, y2: top});
  setStyle(keys.select("line"), "opacity", (d) => +(0.25 + 0.75 * d.weight).toFixed(4));
  setStyle(keys.select("line"), "stroke-width", (d) => `${+(1.5 + 7 * d.weight).toFixed(3)}px`);
  setAttrs(keys.select("circle"), {cx: left, cy: top});
  setAttrs(keys.select("text"), {x: left, y: (d) => top(d) + (d.key[1] < 0 ? 26 : -14)});
  setText(keys.select("text"), (d) => d.token);
}

function tip(svg, [q1, q2], x, y) {
  const group = part(svg, "g", "query").raise();
  setAttrs(part(group, "line"), {x1: x(0), y1: y(0), x2: x(q1), y2: y(q2)});
  setAttrs(part(group, "circle"), {r: 11, cx: x(q1), cy: y(q2)});
}
