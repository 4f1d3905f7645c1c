// A hidden mask with one cell too many: change words one by one, see whose outputs move, name the cell.
// attention.py computed how far each output moves, when the page was made.

import {html} from "../assets/vendor/lit.js";
import {choice, reset} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, option} from "./lib/fields.js";
import {matrixTable} from "./lib/matrix.js";
import {format} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

/** Different words, in the order in which they were changed, written "5.1". */
const inOrder = (value, size) => ({
  value,
  parse(text) {
    const words = text.split(".").map((word) => (/^\d$/.test(word) ? +word : size));
    const fits = words.every((word) => word < size) && new Set(words).size === words.length;
    return fits ? words : undefined;
  },
  format: (words) => words.join("."),
});

/** A cell [row, column], written "1.3", or null. */
const oneCell = (size) => ({
  value: null,
  parse(text) {
    const parts = /^(\d)\.(\d)$/.exec(text)?.slice(1).map(Number);
    return parts?.every((part) => part < size) ? parts : undefined;
  },
  format: (cell) => cell?.join(".") ?? "",
});

const quoted = (word) => `\u201c${word}\u201d`;

const looking = (tokens, [row, col]) => `${quoted(tokens[row])} looks at ${quoted(tokens[col])}`;

const isSame = (a, b) => a[0] === b[0] && a[1] === b[1];

/**
 * data: {tokens, masks: [{rule, should: rows of booleans as they ought to be, leak: the one cell that is
 * open besides, moved: how far each output (row) moves when a word (column) is changed}], opening: the
 * word that is changed at first}.
 * `shown`: the words whose column the reader sees, of all once the leak is found, and then `hidden`, the
 * cells that the mask hides.
 */
export function huntLeak({tokens, masks}, {mask, changed, cell, isNamed}) {
  const {rule, should, leak, moved} = masks[mask - 1];
  const isFound = isNamed && cell !== null && isSame(cell, leak) && changed.includes(leak[1]);
  return {
    tokens,
    mask,
    rule,
    moved,
    changed,
    cell,
    isFound,
    shown: tokens.map((_, word) => isFound || changed.includes(word)),
    hidden: isFound
      ? should.map((cells, i) => cells.map((may, j) => !may && !isSame([i, j], leak)))
      : null,
    verdict:
      isNamed && cell !== null ? verdict({tokens, should, leak, changed, isFound}, cell) : null,
  };
}

/** What the widget says of the cell that was named: right, or why not, and where to look. */
function verdict({tokens, should, leak, changed, isFound}, [row, col]) {
  const [who, whom] = [quoted(tokens[row]), quoted(tokens[col])];
  if (isFound)
    return (
      `Yes: ${who} looks at ${whom}, which comes later, and you found it with ${changed.length} of ` +
      `${tokens.length} words. Here is the whole mask: what is hatched is hidden.`
    );
  if (!changed.includes(col))
    return `No, you can’t know that yet: ${whom} isn’t changed. Change it, and watch ${who}.`;
  const reason =
    row === col
      ? `${whom} itself was changed, so its output may move under any mask`
      : !should[row][col]
        ? `${whom} was changed, and ${who} didn’t move, so ${who} can’t see it`
        : col < row
          ? `${who} comes after ${whom}, so it may look back`
          : `${who} and ${whom} belong to the question, so they may see each other`;
  const where = changed.includes(leak[1])
    ? "Look again: in one of your columns an output moved that must not."
    : "Your columns show no leak yet, so change another word.";
  return `No: ${reason}. ${where}`;
}

// ---- Sentence, view ------------------------------------------------------------------------

function sentence({tokens, mask, rule, moved, changed, cell, verdict}) {
  const word = changed[changed.length - 1];
  const names = tokens.filter((_, i) => moved[i][word] !== 0);
  const chosen = cell ? ` You chose: ${looking(tokens, cell)}.` : "";
  return html`<span class="screen-reader-only">Mask ${mask}, ${changed.length} of ${tokens.length}
    words changed. </span>${
      verdict ??
      `This mask should be ${rule}. ${quoted(tokens[word])} is changed. ${
        names.length < tokens.length
          ? `What moved: ${names.join(", ")}. Nothing else, not by one bit.`
          : "All outputs moved."
      }${chosen}`
    }`;
}

function view(m, widget) {
  const {tokens, moved, changed, cell, shown, hidden, isFound, verdict} = m;
  const change = (word) =>
    widget.set({changed: [...changed.filter((other) => other !== word), word], isNamed: false});
  const word = (token, i) =>
    html`<button type="button" class=${changed.includes(i) ? "changed" : ""} ?disabled=${isFound} aria-label="Change ${token}" @click=${() => change(i)}>${token}</button>`;
  const last = changed[changed.length - 1];
  return html`<div class=${isFound ? "stage found" : "stage"}>
    ${matrixTable({
      name: "moves",
      caption: "how far each output moved",
      shape: "",
      rows: tokens,
      columns: tokens.map(word),
      cells: moved,
      text: (i, j) => (shown[j] ? (moved[i][j] === 0 ? "0" : format(moved[i][j])) : "?"),
      hidden: (i, j) => !!hidden?.[i][j],
      lit: (_, j) => j === last && !isFound,
      moved: (i, j) => shown[j] && moved[i][j] !== 0,
      chosen: (i, j) => cell !== null && isSame(cell, [i, j]),
      choose: (row, col) => !isFound && widget.set({cell: [row, col], isNamed: false}),
    })}
    <div class="says"><div class=${verdict ? (isFound ? "verdict right" : "verdict wrong") : "verdict"}>${widget.sentence()}</div>
      <button type="button" ?disabled=${cell === null} @click=${() => widget.set({isNamed: true})}>${
        cell ? `The leak: ${looking(tokens, cell)}` : "Name the leak"
      }</button></div></div>`;
}

/** A hunt begins with one word changed, and nothing chosen. */
const fresh = ({opening}) => ({changed: [opening], cell: null, isNamed: false});

/** Another mask is another hunt. */
const masks = (widget) =>
  choice("mask", "Hidden mask", widget.fields.mask.options, {isShown: true})(
    Object.create(widget, {
      set: {value: (mask) => widget.set({...fresh(widget.data), ...mask})},
    }),
  );

export const leakTester = defineWidget({
  name: "leak-test",
  label: "Leak hunt",
  key: "leak",
  fields: ({tokens: {length}, masks, opening}) => ({
    mask: option(
      1,
      masks.map((_, i) => i + 1),
    ),
    changed: inOrder([opening], length),
    cell: oneCell(length),
    isNamed: flag(false),
  }),
  controls: () => [[masks, reset]],
  model: huntLeak,
  sentence,
  view,
  challenges: {
    leak: ({mask, isFound}) => mask === 1 && isFound,
    "leak-one-column": ({mask, isFound}) => mask === 2 && isFound,
    "leak-window": ({mask, isFound}) => mask === 3 && isFound,
    "leak-prefix": ({mask, isFound}) => mask === 4 && isFound,
  },
});
