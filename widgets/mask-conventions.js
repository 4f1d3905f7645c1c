// One query's row of a mask, in this course's convention and in PyTorch's three.

import {html} from "../assets/vendor/lit.js";
import {menu} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {waysTable} from "./lib/ways.js";
import {paint} from "./mask-builder.js";

const word = (isTrue) => (isTrue ? "True" : "False");

const CONVENTIONS = [
  {name: "This course", code: "mask", says: word, note: "True = may attend"},
  {
    name: "F.scaled_dot_product_attention, bool",
    code: "attn_mask=mask",
    says: word,
    note: "True = may attend",
  },
  {
    name: "F.scaled_dot_product_attention, float",
    code: "attn_mask=torch.zeros(L, S).masked_fill(~mask, -torch.inf)",
    says: (isVisible) => (isVisible ? "0" : "\u2212inf"),
    note: "added to the scores",
  },
  {
    name: "nn.MultiheadAttention, bool",
    code: "attn_mask=~mask",
    says: (isVisible) => word(!isVisible),
    note: "True = hidden",
  },
];

/** What each convention writes for `row`, a query's booleans: true = may attend. */
export const translate = (row) =>
  CONVENTIONS.map(({says, ...way}) => ({
    ...way,
    cells: row.map((isOn) => ({text: says(isOn), isOn})),
  }));

const sentence = ({ways, tokens, row}) =>
  `The row of ${tokens[row]}. ${ways.map(({name, cells}) => `${name}: ${cells.map((cell) => cell.text).join(", ")}`).join(". ")}.`;

/** Follows the mask builder, whose mask and row it shows and changes. */
export const maskConventions = defineWidget({
  name: "mask-conventions",
  label: "One mask in four conventions",
  key: "mask",
  controls: ({data}) => [[menu("row", "Row of", data.tokens)]],
  model: (_data, _state, {mask, row, tokens}) => ({ways: translate(mask[row]), tokens, row}),
  sentence,
  view: ({ways, tokens, row}, widget) =>
    html`${waysTable({
      caption: "A row of the mask in four conventions",
      columns: tokens,
      ways,
      switchCell: (col, isOn) =>
        widget.set({painted: paint(widget.state, {row, col, isOn}, tokens.length)}),
    })}${widget.sentence({hidden: true})}`,
});
