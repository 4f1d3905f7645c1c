// How many steps information takes from one word to another, through two kinds of network.
// A network is a graph: {nodes: [{column, word}], edges: [[from, to]]}, the words first.

import {html, svg} from "../assets/vendor/lit.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {range} from "./lib/lists.js";
import {wordGroup} from "./lib/words.js";

// ---- Model ---------------------------------------------------------------------------------

/** Two columns of n nodes; word i of the first feeds word j of the second where feeds(i, j). */
function layer(n, feeds) {
  const nodes = [0, 1].flatMap((column) => range(0, n).map((word) => ({column, word})));
  const edges = range(0, n).flatMap((i) =>
    range(0, n)
      .filter((j) => feeds(i, j))
      .map((j) => [i, n + j]),
  );
  return {nodes, edges};
}

/** One state for each word, which reads its word and the state before it. */
function recurrent(n) {
  const {nodes, edges} = layer(n, (i, j) => i === j);
  return {nodes, edges: [...edges, ...range(0, n - 1).map((i) => [n + i, n + i + 1])]};
}

export const NETS = [
  {name: "Recurrent", reads: "from left to right", graph: recurrent},
  {name: "Attention", graph: (n) => layer(n, () => true)},
];

/** The nodes of a shortest way from word `from` to any node of word `to`, or null: breadth first. */
export function shortestPath({nodes, edges, after = successors(nodes, edges)}, from, to) {
  const cameFrom = new Map([[from, null]]);
  for (const here of cameFrom.keys()) {
    // a Map's keys include those added on the way
    if (nodes[here].column > 0 && nodes[here].word === to) return trace(cameFrom, here);
    for (const next of after[here]) if (!cameFrom.has(next)) cameFrom.set(next, here);
  }
  return null;
}

function successors(nodes, edges) {
  const after = nodes.map(() => []);
  for (const [a, b] of edges) after[a].push(b);
  return after;
}

const trace = (cameFrom, end) => (end === null ? [] : [...trace(cameFrom, cameFrom.get(end)), end]);

/** The longest chain in which each step waits for the one before. Edges go from lower to higher. */
export function longestChain({nodes, edges}) {
  const depth = nodes.map(() => 0);
  for (const [a, b] of [...edges].sort((x, y) => x[0] - y[0]))
    depth[b] = Math.max(depth[b], depth[a] + 1);
  return Math.max(...depth);
}

const WIDTH = 100; // of the drawing; a word is 1 high

/** Where a node stands, [x, y]: a column for each layer, a row for each word. */
const placeIn =
  ({nodes}) =>
  (i) => [(WIDTH * nodes[i].column) / nodes[nodes.length - 1].column, nodes[i].word + 0.5];

/** All lines and nodes of a network, which are many, and stay. */
function drawing(graph) {
  const place = placeIn(graph);
  const lines = graph.edges.map(([a, b]) => `M${place(a)}L${place(b)}`).join("");
  return {lines, places: graph.nodes.map((_, i) => place(i))};
}

const graphs = new Map();
function graphsOf(n) {
  if (!graphs.has(n)) {
    graphs.set(
      n,
      NETS.map((net) => {
        const graph = net.graph(n);
        return {
          ...graph,
          ...drawing(graph),
          chain: longestChain(graph),
          after: successors(graph.nodes, graph.edges),
        };
      }),
    );
  }
  return graphs.get(n);
}

/** All that is shown: the chosen net's graph and path, and every net's number of steps. */
export function tracePath({words}, {net, from, to}) {
  const all = graphsOf(words.length);
  const paths = all.map((graph) => shortestPath(graph, from, to));
  return {
    words,
    net,
    from,
    to,
    graph: all[net],
    path: paths[net],
    steps: paths.map((path) => path && path.length - 1),
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const count = (steps) => (steps === null ? "no path" : steps === 1 ? "1 step" : `${steps} steps`);

export function sentence({words, net, from, to, graph, steps}) {
  const {name, reads} = NETS[net];
  const way = `${words[from]} (word ${from + 1}) → ${words[to]} (word ${to + 1}): ${count(steps[net])}`;
  const why = steps[net] === null ? `, for this net reads ${reads}` : "";
  const wait =
    graph.chain === 1 ? "1 step, all words at once" : `${graph.chain} steps, one after another`;
  return `${name}. ${way}${why}. To read all ${words.length} words takes ${wait}.`;
}

/** A place in percent of the drawing: what isn't to be stretched stands outside the view box. */
const percent = ([x, y], words) => ({
  cx: `${(100 * x) / WIDTH}%`,
  cy: `${(100 * y) / words.length}%`,
});

const dots = (places, words, className, radius) =>
  places.map((place) => {
    const {cx, cy} = percent(place, words);
    return svg`<circle class=${className} cx=${cx} cy=${cy} r=${radius} />`;
  });

function view(m, widget) {
  const {words, net, graph} = m;
  const route = (m.path ?? []).map(placeIn(graph));
  const group = (name, label) =>
    wordGroup({
      words,
      chosen: m[name],
      label,
      className: name,
      choose: (i) => widget.set({[name]: i}),
    });
  return html`${wordGroup({
    words: NETS.map(({name}) => name),
    chosen: net,
    label: "Kind of network",
    className: "nets",
    choose: (i) => widget.set({net: i}),
  })}
    <div class="stage"><b>from</b><b>to</b>${group("from", "From")}
      <svg aria-hidden="true">
        <svg preserveAspectRatio="none" viewBox="0 0 ${WIDTH} ${words.length}">
          <path class="edges" d=${graph.lines}/><path class="route" d=${route.length ? `M${route.join("L")}` : ""}/></svg>
        ${dots(graph.places, words, "node", 3)}${dots(route, words, "stop", 4.5)}
        <circle class="runner" r="7.5"/></svg>
      ${group("to", "To")}</div>
    ${widget.sentence()}`;
}

const STEP_TIME = 220; // ms, the same for every step of every net
const PAUSE = 150; // ms: first the answer is on the screen, then it moves

/** A dot that takes the same time for every step; where motion isn't wanted, none. */
function run(widget) {
  const {words, net, graph, path} = widget.model;
  const key = `${net}: ${path}`;
  const isNew = widget.ran !== undefined && widget.ran !== key; // nothing moves by itself
  widget.ran = key;
  if (!isNew) return;
  widget.running?.cancel();
  if (!path || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const frames = path.map(placeIn(graph)).map((place) => ({opacity: 1, ...percent(place, words)}));
  const dot = widget.root.querySelector(".runner");
  widget.running = dot.animate(frames, {delay: PAUSE, duration: STEP_TIME * (path.length - 1)});
}

const RECURRENT = 0; // in NETS

export const pathTracer = defineWidget({
  name: "path-tracer",
  label: "Path tracer",
  key: "path",
  fields: ({words: {length}, from, to}) => ({
    net: integer(0, {max: NETS.length - 1}),
    from: integer(from, {max: length - 1}),
    to: integer(to, {max: length - 1}),
  }),
  model: tracePath,
  sentence,
  view,
  drawn: run,
  challenges: {
    "no-path": ({path}) => path === null,
    "ten-steps": ({net, steps}) => net === RECURRENT && steps[net] === 10,
  },
});
