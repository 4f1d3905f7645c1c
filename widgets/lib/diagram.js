// Diagrams for lessons: boxes, matrices and rows of words, joined by arrows. Where the page is too
// narrow for one that runs from left to right, the same diagram runs downwards; text keeps its size.
//
//   diagram({
//     label: "What the diagram shows, in words.",
//     nodes: {
//       words: {at: [0, 0], tokens: ["The", "cat"]},
//       Q: {at: [1, 0], cells: [[1, 2], [0, 1]], title: "Q", note: "2 × 2", role: "q", rows: ["The", "cat"]},
//       mix: {at: [2, 0.5], box: ["softmax", "and mix"]}
//     },
//     arrows: [{from: "words", to: "Q", label: ["times W_Q"]}, {from: ["Q", "words"], to: "mix"}],
//     frames: [{around: ["Q", "mix"], label: "one head"}]
//   })
//
// at      [column, row], counted from 0; a fraction lies between two. `down`, the same for the narrow
//         form, is the two swapped where it isn't given.
// cells   rows of numbers, or null for an empty cell; `rows`, `columns`: words beside them, said once
//         where matrices with the same words stand side by side; `digits` after the point, else as few as needed; `fill`: a weight darkens its cell; `mark`: a row; `cell`: a cell's width.
// role    "q", "k", "v" or "w", the colour of a query, key, value or weight.
// from    one node, or several whose arrows join before they arrive. label: a line over the arrow,
//         and one under it. `around`: how far the arrow keeps off what stands between, to skip it.

import {nothing, render, svg} from "../../assets/vendor/lit.js";
import {format} from "./numbers.js";

const CELL = {width: 29, height: 23};
const [LETTER, LINE] = [7, 17]; // px of a letter, and of a line, of 13 px text
const [GAP, FORK, HEAD] = [26, 16, 7]; // between columns or rows; where arrows join; an arrow's head

// ---- Sizes: half the body of a node, and how far it reaches from its centre ------------------------

const widest = (texts, rest = 0) =>
  Math.max(0, ...texts.map((text) => text.length * LETTER)) + rest;

function bodySize({cells, box, tokens, cell = CELL.width}) {
  if (cells) return [cells[0].length * cell, cells.length * CELL.height];
  if (tokens) return [tokens.reduce((sum, token) => sum + chipWidth(token), 0), 28];
  return [widest(box, 22), box.length * LINE + 13];
}

const chipWidth = (token) => token.length * LETTER + 18;

function measured(node) {
  const [width, height] = bodySize(node);
  const heading = widest([[node.title, node.note].filter(Boolean).join("  ")]);
  return {
    ...node,
    width,
    height,
    left: Math.max(width / 2 + widest(node.rows ?? [], node.rows ? 6 : 0), heading / 2),
    right: Math.max(width / 2, heading / 2),
    above: height / 2 + (node.columns ? LINE : 0) + (heading ? LINE + 3 : 0),
    below: height / 2,
  };
}

// ---- Places -----------------------------------------------------------------------------------

/** Centres of columns (or rows) 0, 1, …, as a function that takes fractions too. */
function centres(nodes, axis, before, after, gap) {
  const last = Math.ceil(Math.max(...nodes.map(({place}) => place[axis])));
  const reach = (k, side) =>
    Math.max(0, ...nodes.filter(({place}) => place[axis] === k).map((node) => node[side]));
  const at = [reach(0, before)];
  for (let k = 1; k <= last; k += 1)
    at.push(at[k - 1] + reach(k - 1, after) + gap(k) + reach(k, before));
  return (k) => at[Math.floor(k)] + (k % 1) * ((at[Math.ceil(k)] ?? 0) - at[Math.floor(k)]);
}

/** Every node with the centre of its body at x, y; and the size of it all. Pure, for tests. */
export function layout({nodes, arrows = [], frames = []}, isDown) {
  const inPlace = Object.entries(nodes).map(([name, node]) => ({
    ...node,
    name,
    place: isDown ? (node.down ?? [node.at[1], node.at[0]]) : node.at,
  }));
  const named = inPlace.map((node) =>
    measured({...node, rows: isSaid(node, inPlace) ? undefined : node.rows}),
  );
  const isFramed = frames.length > 0;
  const column = centres(
    named,
    0,
    "left",
    "right",
    (k) => GAP + (isFramed ? 14 : 0) + (isDown ? 0 : labelRoom(arrows, nodes, k)),
  );
  const rowOf = Object.fromEntries(inPlace.map(({name, place}) => [name, Math.ceil(place[1])]));
  const isJoined = (k) =>
    arrows.some(({from, to, label}) => label && Array.isArray(from) && rowOf[to] === k);
  const row = centres(
    named,
    1,
    "above",
    "below",
    (k) => GAP + (isFramed ? 22 : 0) + (isDown ? (isJoined(k) ? 24 : 10) : 0),
  );
  for (const node of named) Object.assign(node, {x: column(node.place[0]), y: row(node.place[1])});
  const byName = Object.fromEntries(named.map((node) => [node.name, node]));
  const drawn = arrows.map((arrow) => ({
    ...arrow,
    from: [arrow.from].flat().map((name) => byName[name]),
    to: byName[arrow.to],
  }));
  const boxes = frames.map((frame) => ({
    ...frame,
    ...hull(frame.around.map((name) => byName[name])),
  }));
  return {...placed(named, drawn, boxes, isDown), isDown};
}

/** Whether the matrix to the left names the same rows. */
const isSaid = ({rows, place: [column, row]}, nodes) =>
  nodes.some(
    (other) =>
      other.place[0] === column - 1 &&
      other.place[1] === row &&
      String(other.rows) === String(rows),
  );

/** What a label needs over an arrow that ends in column k. */
function labelRoom(arrows, nodes, k) {
  const ending = arrows.filter(({to}) => Math.ceil(nodes[to].at[0]) === k);
  return Math.max(
    0,
    ...ending.map(({from, to, label = [], around}) => {
      const isBent = Array.isArray(from) || nodes[from].at[1] !== nodes[to].at[1];
      const room = widest(
        label.map((line) => line.replace("_", "")),
        (isBent ? FORK + 6 : 0) + HEAD + 6,
      );
      return label.length && !around ? room - GAP : 0;
    }),
  );
}

function hull(nodes, pad = 10) {
  const [left, top] = [
    Math.min(...nodes.map((n) => n.x - n.left)),
    Math.min(...nodes.map((n) => n.y - n.above)),
  ];
  const [right, bottom] = [
    Math.max(...nodes.map((n) => n.x + n.right)),
    Math.max(...nodes.map((n) => n.y + n.below)),
  ];
  return {left: left - pad, top: top - pad - LINE, right: right + pad, bottom: bottom + pad};
}

/** Moves everything so that it starts at 1, 1. */
function placed(nodes, arrows, frames, isDown) {
  const aside = isDown
    ? Math.max(0, ...arrows.map((a) => (a.around ? a.around + widest(a.label ?? [], 8) : 0)))
    : 0;
  const over = isDown ? 0 : Math.max(0, ...arrows.map((a) => (a.around ? a.around : 0)));
  const labels = isDown
    ? arrows.map((a) => (a.around ? 0 : a.to.x + 8 + widest(a.label ?? [])))
    : [];
  const reach = {
    left: Math.min(...nodes.map((n) => n.x - n.left), ...frames.map((f) => f.left)),
    top: Math.min(...nodes.map((n) => n.y - n.above - over), ...frames.map((f) => f.top)),
    right: Math.max(
      ...nodes.map((n) => n.x + n.right + aside),
      ...frames.map((f) => f.right),
      ...labels,
    ),
    bottom: Math.max(...nodes.map((n) => n.y + n.below), ...frames.map((f) => f.bottom)),
  };
  const [dx, dy] = [2 - reach.left, 2 - reach.top];
  for (const node of nodes) Object.assign(node, {x: node.x + dx, y: node.y + dy});
  for (const frame of frames) {
    Object.assign(frame, {
      left: frame.left + dx,
      right: frame.right + dx,
      top: frame.top + dy,
      bottom: frame.bottom + dy,
    });
  }
  const [width, height] = [reach.right - reach.left + 4, reach.bottom - reach.top + 4].map(
    Math.ceil,
  );
  return {nodes, arrows, frames, width, height};
}

// ---- Drawing ------------------------------------------------------------------------------------

const text = (x, y, words, className = "", anchor = "middle") =>
  svg`<text x=${x} y=${y} class=${className} text-anchor=${anchor} dominant-baseline="central">${subscripts(String(words))}</text>`;

/** "W_Q": what follows "_" stands lower. */
function subscripts(words) {
  const [first, ...rest] = words.split("_");
  return [
    first,
    ...rest.map(
      (part) =>
        svg`<tspan class="subscript" dy="3">${part[0]}</tspan>${
          part.length > 1 ? svg`<tspan dy="-3">${part.slice(1)}</tspan>` : nothing
        }`,
    ),
  ];
}

const trimmed = (x) =>
  format(x)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

function heading({x, y, above, title, note, role}) {
  if (!title && !note) return nothing;
  return svg`<text x=${x} y=${y - above + LINE / 2} text-anchor="middle" dominant-baseline="central"><tspan
    class="title ${role ?? ""}">${title}</tspan><tspan class="note">${title && note ? "  " : ""}${note ?? ""}</tspan></text>`;
}

function matrix(node) {
  const {cells, digits, fill, mark, role = "", rows = [], columns = [], cell = CELL.width} = node;
  const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
  const show = (x) => (digits === undefined ? trimmed(x) : format(x));
  const centre = (i, j) => [left + (j + 0.5) * cell, top + (i + 0.5) * CELL.height];
  return svg`${rows.map((word, i) => text(left - 6, centre(i, 0)[1], word, "note", "end"))}
    ${columns.map((word, j) => text(centre(0, j)[0], top - LINE / 2, word, "note"))}
    ${cells.map((row, i) =>
      row.map(
        (
          x,
          j,
        ) => svg`<g class=${fill ? "weighted" : nothing} style=${fill ? `--weight:${x}` : nothing}><rect class="cell ${role}" x=${left + j * cell + 1} y=${top + i * CELL.height + 1}
      width=${cell - 2} height=${CELL.height - 2} rx="3"/>
      ${
        fill
          ? svg`<rect class="fill" x=${left + j * cell + 1} y=${top + i * CELL.height + 1}
        width=${cell - 2} height=${CELL.height - 2} rx="3"/>`
          : nothing
      }
      ${x === null ? nothing : text(...centre(i, j), show(x), fill ? "number" : `number ${role}`)}</g>`,
      ),
    )}
    ${
      mark === undefined
        ? nothing
        : svg`<rect class="mark" x=${left} y=${top + mark * CELL.height} width=${node.width}
      height=${CELL.height} rx="4"/>`
    }`;
}

function chips({tokens, role = "", x, y, width, height}) {
  let left = x - width / 2;
  return tokens.map((token) => {
    const own = chipWidth(token);
    const chip = svg`<rect class="box ${role}" x=${left + 2} y=${y - height / 2} width=${own - 4} height=${height} rx="6"/>
      ${text(left + own / 2, y, token)}`;
    left += own;
    return chip;
  });
}

const boxed = ({
  box,
  role = "",
  x,
  y,
  width,
  height,
}) => svg`<rect class="box ${role}" x=${x - width / 2} y=${y - height / 2}
    width=${width} height=${height} rx="8"/>
  ${box.map((line, i) => text(x, y + (i - (box.length - 1) / 2) * LINE, line, i === 0 && box.length > 1 ? "title" : ""))}`;

const drawNode = (node) =>
  svg`<g>${heading(node)}${(node.cells ? matrix : node.tokens ? chips : boxed)(node)}</g>`;

/** An arrow along one axis, bent where its ends lie apart on the other; `isDown` turns it all by 90°. */
function drawArrow({from, to, label = [], around = 0, role = ""}, isDown) {
  const [along, across, half, other] = isDown
    ? ["y", "x", "height", "width"]
    : ["x", "y", "width", "height"];
  const point = (a, c) => (isDown ? `${c},${a}` : `${a},${c}`);
  if (around)
    return drawAround(from[0], to, {label, around, role, point, along, across, other, isDown});
  // Only a title stands over a matrix that an arrow comes to from above.
  const end =
    to[along] -
    to[half] / 2 -
    (isDown
      ? to.above - to.height / 2
      : to.left > to.width / 2 && to.rows
        ? to.left - to.width / 2
        : 0) -
    3;
  const isJoined = from.length > 1;
  const trunk = isDown ? LINE : widest(label, 2); // where arrows have joined, over which the label stands
  const join = isJoined ? end - HEAD - trunk : end - HEAD;
  const c = to[across];
  const lines = from.map((node) => {
    const start = node[along] + node[half] / 2 + 3;
    if (Math.abs(node[across] - c) < 1) return `M${point(start, c)} L${point(join, c)}`;
    const bend = isJoined ? Math.max(start, join - FORK) : start; // one that comes alone bends as it leaves
    const bent = isJoined ? join : start + FORK;
    const halfway = (bend + bent) / 2;
    return `M${point(start, node[across])} L${point(bend, node[across])} C${point(halfway, node[across])} ${point(
      halfway,
      c,
    )} ${point(bent, c)} L${point(join, c)}`;
  });
  const tip = `M${point(join, c)} L${point(end - HEAD, c)}`;
  const isBent = !isJoined && Math.abs(from[0][across] - c) >= 1;
  const begin = isJoined ? join : from[0][along] + from[0][half] / 2 + (isBent ? FORK : 0);
  const middle = (begin + end) / 2;
  const texts = isDown ? [label.join(" ")] : label;
  const lineAt = (i) =>
    isDown
      ? text(c + 9, middle - 2, texts[i], "step", "start")
      : text(middle - 2, c + (i === 0 ? -10 : 11), texts[i], "step");
  return svg`<g class="arrow ${role}"><path d="${lines.join(" ")} ${tip}"/>${headAt(point, end, c)}</g>
    ${label.length ? texts.map((_, i) => lineAt(i)) : nothing}`;
}

/** An arrow that leaves and arrives at the sides, `around` px off, past what stands between. */
function drawAround(a, b, {label, around, role, point, along, across, other, isDown}) {
  const side = isDown ? 1 : -1; // to the right of what runs down, over what runs across
  const edge = (node) => node[across] + side * (isDown ? node[other] / 2 : node.above);
  const far = isDown ? Math.max(edge(a), edge(b)) + around : Math.min(edge(a), edge(b)) - around;
  const path = `M${point(a[along], edge(a) + side * 3)} L${point(a[along], far)} L${point(b[along], far)} L${point(b[along], edge(b) + side * (HEAD + 3))}`;
  const tip = edge(b) + side * 3;
  const [x, y] = isDown ? [far + 7, (a.y + b.y) / 2] : [(a.x + b.x) / 2, far + 9];
  const corner = (c) => point(b[along] + c, tip + side * HEAD);
  return svg`<g class="arrow ${role}"><path d=${path}/><path class="head" d="M${corner(-4)} L${point(b[along], tip)} L${corner(4)} Z"/></g>
    ${label.map((line, i) => text(x, y + i * LINE, line, "step", isDown ? "start" : "middle"))}`;
}

const headAt = (point, end, c) =>
  svg`<path class="head" d="M${point(end - HEAD, c - 4)} L${point(end, c)} L${point(end - HEAD, c + 4)} Z"/>`;

const drawFrame = ({
  left,
  top,
  right,
  bottom,
  label = "",
}) => svg`<rect class="frame" x=${left} y=${top} width=${right - left}
    height=${bottom - top} rx="10"/>${text(left + 9, top + LINE / 2 + 2, label, "note", "start")}`;

const drawing = (
  {nodes, arrows, frames, width, height, isDown},
  label,
) => svg`<svg role="img" aria-label=${label}
  width=${width} height=${height} viewBox="0 0 ${width} ${height}">
  ${frames.map(drawFrame)}${arrows.map((arrow) => drawArrow(arrow, isDown))}${nodes.map(drawNode)}</svg>`;

/** An element that draws `spec` as wide as its place lets it, and again where that changes. */
export function diagram(spec) {
  const root = document.createElement("div");
  root.className = "diagram-live";
  const forms = [layout(spec, false), layout(spec, true)];
  let shown = null;
  const draw = (width) => {
    const form = forms[0].width <= width ? forms[0] : forms[1];
    if (width && form !== shown) render(drawing((shown = form), spec.label), root);
  };
  // In the next frame: a size that changes while sizes are told is an error ("ResizeObserver loop").
  new ResizeObserver(
    ([
      {
        contentRect: {width},
      },
    ]) => requestAnimationFrame(() => draw(width)),
  ).observe(root);
  return root;
}
