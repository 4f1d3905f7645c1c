// What a model keeps in memory: parameters, the cache, and the maps where somebody stores them.

import {html} from "../assets/vendor/lit.js";
import {menu, reset, steps} from "./lib/controls.js";
import {amount, cacheBytes, doublings, mapBytes, stop, whole} from "./lib/costs.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer} from "./lib/fields.js";
import {filled} from "./lib/shares.js";

// ---- Model ---------------------------------------------------------------------------------

export const LENGTHS = doublings(9, 17);
export const BATCHES = doublings(0, 7);
const NUMBER = 2; // bytes
const CARD = 80e9;

/** The three parts in bytes, each with the product that gives it. */
export function memory({models}, {model: chosen, length: at, batch: which}) {
  const model = models[chosen];
  const [length, batch] = [LENGTHS[at], BATCHES[which]];
  const texts = batch === 1 ? "1 text" : `${batch} texts`;
  const parts = [
    {
      name: "parameters",
      bytes: NUMBER * model.parameters,
      of: `${amount(model.parameters, "")} numbers × ${NUMBER} bytes`,
    },
    {
      name: "cache",
      bytes: cacheBytes(model, length, batch, NUMBER),
      of: `key + value: 2 × ${model.layers} layers × ${model.num_kv_heads} heads × ${model.head_dim} numbers × ${whole(length)} tokens × ${texts} × ${NUMBER} bytes`,
    },
    {
      name: "maps of one layer",
      bytes: mapBytes(model, length, batch, NUMBER),
      of: `${model.num_heads} heads × ${whole(length)} × ${whole(length)} pairs × ${texts} × ${NUMBER} bytes`,
    },
  ];
  const together = parts.reduce((sum, part) => sum + part.bytes, 0);
  return {model, length, batch, texts, parts, together, token: cacheBytes(model, 1, 1, NUMBER)};
}

// ---- Sentence, view ------------------------------------------------------------------------

const cards = (bytes) => {
  const full = bytes / CARD;
  return full < 0.01
    ? "under 1 % of a GPU"
    : full <= 1
      ? `${Math.round(100 * full)} % of a GPU`
      : `${full < 10 ? full.toFixed(1) : whole(full)} GPUs`;
};

export const sentence = ({model, length, texts, parts, together}) =>
  `${model.name}, ${texts} of ${whole(length)} tokens: ${parts.map(({name, bytes}) => `${name} ${amount(bytes, "B")}`).join(", ")}. ` +
  `Together ${amount(together, "B")}, ${cards(together)}.`;

const view = (
  {parts, together},
  widget,
) => html`<ul class="bars" aria-label="What is kept in memory">${parts.map(
  ({name, bytes, of}) => html`
    <li><p><b>${name}</b> <span class="amount">${amount(bytes, "B")}</span>
      <span class="card">${cards(bytes)}</span></p>
      <span class=${bytes > CARD ? "bar over" : "bar"} aria-hidden="true"><span style=${filled(Math.min(1, bytes / CARD))}></span></span>
      <p class="of">${of}</p></li>`,
)}</ul>
  <p class="in-all">Together <b>${amount(together, "B")}</b>: ${cards(together)}.</p>
  ${widget.sentence({hidden: true})}`;

/** data: {models: as in course/page/costs.py, with `parameters`; chosen: name of the first} */
export const memoryBars = defineWidget({
  name: "memory-bars",
  label: "What a model keeps in memory",
  key: "memory",
  fields: ({models, chosen}) => ({
    model: integer(
      models.findIndex(({name}) => name === chosen),
      {max: models.length - 1},
    ),
    length: stop(1024, LENGTHS),
    batch: stop(1, BATCHES),
  }),
  controls: ({data}) => [
    [
      menu(
        "model",
        "Model",
        data.models.map(({name}) => name),
      ),
      reset,
    ],
    [steps("length", "Tokens", LENGTHS.map(whole), {ticks: [1, 3, 5, 7]})],
    [steps("batch", "Texts", BATCHES.map(whole))],
  ],
  model: memory,
  sentence,
  view,
});
