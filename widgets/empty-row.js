// A row of scores of which fewer and fewer are visible: what each way of masking makes of it.
// PyTorch computed every case when the page was made.

import {menu, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {html} from "../assets/vendor/lit.js";
import {waysTable} from "./lib/ways.js";

/** cases[dtype][keys visible]: [{name, weights: [text] or null, error or gradient}] → ways to draw. */
export function emptyRowWays({cases, columns}, {dtype, hidden}) {
  const visible = columns.length - hidden;
  return Object.values(cases)[dtype][visible].map(({name, weights, error, gradient}) => {
    const givesHidden = weights?.some((text, j) => j >= visible && text !== "0.00");
    const wrong =
      error ?? (weights.includes("NaN") ? "no numbers" : givesHidden && "hidden keys get weight");
    return {
      name,
      cells: columns.map((_, j) => ({text: weights?.[j] ?? "\u2013", isOn: j < visible})),
      note: [wrong, gradient && `gradients ${gradient}`].filter(Boolean).join(", "),
      isWrong: !!wrong,
    };
  });
}

const sentence = (ways, {data: {cases, columns}, state: {dtype, hidden}}) =>
  `${Object.keys(cases)[dtype]}, ${hidden} of ${columns.length} keys hidden. ` +
  ways
    .map(({name, cells, note}) => `${name}: ${cells.map((cell) => cell.text).join(", ")}; ${note}`)
    .join(". ") +
  ".";

export const emptyRowLab = defineWidget({
  name: "empty-row",
  label: "Four ways to mask a row",
  key: "empty",
  fields: ({cases, columns}) => ({
    dtype: integer(0, {max: Object.keys(cases).length - 1}),
    hidden: integer(columns.length, {max: columns.length}), // where the ways differ
  }),
  controls: ({data}) => [
    [
      menu("dtype", "Format", Object.keys(data.cases)),
      slider("hidden", "Hidden keys", {unit: unitsOf("key")}),
    ],
  ],
  model: emptyRowWays,
  sentence,
  view: (
    ways,
    widget,
  ) => html`${waysTable({caption: "What each way gives each key", columns: widget.data.columns, ways})}
    ${widget.sentence({hidden: true})}`,
});
