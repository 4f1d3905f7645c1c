// How many steps information takes from one word to another, through five kinds of network.
// A network is a graph: {nodes: [{column, word}], edges: [[from, to]]}, the words first.

import {liveElement} from "./lib/live.js";
import {drawWords} from "./lib/words.js";
import {setText} from "./lib/dom.js";
import {integer} from "./lib/url-state.js";

// ---- Model ---------------------------------------------------------------------------------

const range = (n) => Array.from({length: n}, (_, i) => i);

/** Layers of n nodes; word i of a layer feeds word j of layer `to` where feeds(i, j, to). */
function layered(n, layers, feeds) {
  const nodes = range(layers + 1).flatMap((column) => range(n).map((word) => ({column, word})));
  const edges = range(layers).flatMap((l) => range(n * n)
    .filter((pair) => feeds(Math.floor(pair / n), pair % n, l + 1))
    .map((pair) => [l * n + Math.floor(pair / n), (l + 1) * n + (pair % n)]));
  return {nodes, edges};
}

/** One state for each word, which reads its word and the state before it. */
function recurrent(n) {
  const {nodes, edges} = layered(n, 1, (i, j) => i === j);
  return {nodes, edges: [...edges, ...range(n - 1).map((i) => [n + i, n + i + 1])]};
}

export const NETS = [
  {name: "Recurrent", reads: "from left to right", graph: recurrent},
  {name: "Convolution, 3 wide", graph: (n) => layered(n, n - 1, (i, j) => Math.abs(i - j) <= 1)},
  {
    name: "Convolution, gaps that double",
    graph: (n) => layered(n, Math.ceil(Math.log2(n)), (i, j, l) => [0, 2 ** (l - 1)].includes(Math.abs(i - j)))
  },
  {name: "Attention", graph: (n) => layered(n, 1, () => true)},
  {name: "Attention, causal", reads: "only what came before", graph: (n) => layered(n, 1, (i, j) => i <= j)}
];

export const pathFields = ({words, from, to}) => ({
  net: integer(0, {min: 0, max: NETS.length - 1}),
  from: integer(from, {min: 0, max: words.length - 1}),
  to: integer(to, {min: 0, max: words.length - 1})
});

/** The nodes of a shortest way from word `from` to any node of word `to`, or null: breadth first. */
export function shortestPath({nodes, edges, after = successors(nodes, edges)}, from, to) {
  const cameFrom = new Map([[from, null]]);
  for (const here of cameFrom.keys()) { // a Map's keys include those added on the way
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
  for (const [a, b] of [...edges].sort((x, y) => x[0] - y[0])) depth[b] = Math.max(depth[b], depth[a] + 1);
  return Math.max(...depth);
}

const graphs = new Map();
function graphsOf(n) {
  if (!graphs.has(n)) {
    graphs.set(n, NETS.map((net) => {
      const graph = net.graph(n);
      return {...graph, chain: longestChain(graph), after: successors(graph.nodes, graph.edges)};
    }));
  }
  return graphs.get(n);
}

/** All that is shown: the chosen net's graph and path, and every net's number of steps. */
export function tracePath({words}, {net, from, to}) {
  const all = graphsOf(words.length);
  const paths = all.map((graph) => shortestPath(graph, from, to));
  return {words, net, from, to, graph: all[net], path: paths[net], steps: paths.map((path) => path && path.length - 1)};
}

// ---- Summary -------------------------------------------------------------------------------

const count = (steps) => (steps === null ? "no path" : steps === 1 ? "1 step" : `${steps} steps`);

export function summarize({words, net, from, to, graph, steps}) {
  const {name, reads} = NETS[net];
  const way = `${words[from]} (word ${from + 1}) → ${words[to]} (word ${to + 1}): ${count(steps[net])}`;
  const why = steps[net] === null ? `, for this net reads ${reads}` : "";
  const wait = graph.chain === 1 ? "1 step, all words at once" : `${graph.chain} steps, one after another`;
  return `${name}. ${way}${why}. The whole drawing takes ${wait}.`;
}

// ---- View: a few paths in one SVG, updated in place ------------------------------------------

const WIDTH = 100;
const STEP_TIME = 220; // ms, the same for every step of every net
const PAUSE = 150; // ms: first the answer is on the screen, then it moves

/** A drawing in one element of its own: draw(traced, {still, onChoose(changes)}) returns it. */
export function pathTracerView(d3) {
  const root = d3.select(emptyView());
  return (traced, options) => {
    draw(root, traced, options);
    return root.node();
  };
}

function emptyView() {
  return liveElement("path-tracer", `<div class="nets words" role="radiogroup" aria-label="Kind of network"></div>
    <div class="stage"><b>from</b><b>to</b>
      <div class="from words" role="radiogroup" aria-label="From"></div>
      <svg aria-hidden="true" preserveAspectRatio="none"><path class="edges"/><path class="nodes"/>
        <path class="route"/><path class="stops"/><path class="runner" d="M0,0h0"/></svg>
      <div class="to words" role="radiogroup" aria-label="To"></div></div>
    <p class="says" aria-live="polite"></p>`);
}

function draw(root, traced, {still = false, onChoose}) {
  const {words, net, from, to, graph, path, steps} = traced;
  drawWords(root.select(".nets"), NETS.map(({name}) => name), net, (i) => onChoose({net: i}), (i) => count(steps[i]));
  drawWords(root.select(".from"), words, from, (i) => onChoose({from: i}));
  drawWords(root.select(".to"), words, to, (i) => onChoose({to: i}));
  const columns = graph.nodes[graph.nodes.length - 1].column;
  const place = (i) => [(WIDTH * graph.nodes[i].column) / columns, graph.nodes[i].word + 0.5];
  const dots = (ids) => ids.map((i) => `M${place(i)}h0`).join("");
  const stage = root.select("svg");
  if (!stage.attr("viewBox")) stage.attr("viewBox", `0 0 ${WIDTH} ${words.length}`);
  const set = (name, d) => stage.select(name).each(function () { if (this.getAttribute("d") !== d) this.setAttribute("d", d); });
  if (stage.property("graph") !== graph) {
    stage.property("graph", graph);
    graph.lines = graph.lines ?? graph.edges.map(([a, b]) => `M${place(a)}L${place(b)}`).join("");
    set(".edges", graph.lines);
    set(".nodes", dots(range(graph.nodes.length)));
  }
  set(".route", path ? `M${path.map(place).join("L")}` : "");
  set(".stops", path ? dots(path) : "");
  run(stage.select(".runner").node(), path && path.map(place), still);
  setText(root.select(".says"), () => summarize(traced));
}

/** A dot that takes the same time for every step; where motion isn't wanted, none. */
function run(dot, places, still) {
  const key = String(places);
  if (dot.places === key) return;
  const first = dot.places === undefined;
  dot.places = key;
  dot.running?.cancel();
  if (still || first || !places) return;
  const frames = places.map(([x, y]) => ({opacity: 1, transform: `translate(${x}px, ${y}px)`}));
  dot.running = dot.animate(frames, {delay: PAUSE, duration: STEP_TIME * (places.length - 1)});
}
