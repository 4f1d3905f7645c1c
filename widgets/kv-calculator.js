// What a language model keeps to go on writing: bytes of keys and values, by its sizes and by what it leaves out.

import {html, nothing} from "../assets/vendor/lit.js";
import {menu, reset, steps, toggle} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {flag, integer, option} from "./lib/fields.js";
import {count} from "./lib/numbers.js";

// ---- Model ---------------------------------------------------------------------------------

export const LENGTHS = [1, 256, 1024, 4096, 16384, 32768, 65536, 131072, 1048576];
export const TEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
export const KEEPS = ["published", "all", "groups", "one", "latent"];
const SHORT = 4096; // tokens that a window leaves
const GROUP = 4; // heads that share
const LATENT = 4.5; // numbers of a latent, in sizes of a head: DeepSeek-V2's 512 + 64 for heads of 128
const HALF = 2; // bytes of a number in 16 bits

/** Numbers that a layer keeps of a token, and how they come about. */
export function perLayer({heads, kvHeads, size, latent}, keeps) {
  const kept = {
    all: heads,
    groups: Math.max(1, Math.round(heads / GROUP)),
    one: 1,
    published: kvHeads,
  }[keeps];
  if (keeps === "latent" || (keeps === "published" && latent))
    return {numbers: latent ?? LATENT * size, latent: true};
  return {numbers: 2 * kept * size, kvHeads: kept};
}

/** data: {models: [{name, layers, heads, kvHeads or latent, size, parameters, window?}], memory, bandwidth}, in bytes. */
export function cacheOf(
  {models, memory, bandwidth},
  {model, keeps, length, texts, window, narrow},
) {
  const chosen = models[model];
  const {numbers, ...kind} = perLayer(chosen, keeps);
  const each = narrow ? 1 : HALF;
  const token = chosen.layers * numbers * each;
  const short = Math.min(
    window ? SHORT : Infinity,
    (keeps === "published" && chosen.window) || Infinity,
  );
  const tokens = Math.min(LENGTHS[length], short);
  const cache = token * tokens * TEXTS[texts];
  const parameters = chosen.parameters * HALF;
  return {
    chosen,
    numbers,
    each,
    token,
    tokens,
    asked: LENGTHS[length],
    texts: TEXTS[texts],
    cache,
    parameters,
    memory,
    ...kind,
    devices: Math.ceil((cache + parameters) / memory),
    seconds: (cache + parameters) / bandwidth,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

/** Bytes in three digits, by powers of 1,000. */
export function bytes(n) {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(n) / 3 + 1e-12)));
  const value = n / 1000 ** power;
  const digits = power === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)}\u202f${["bytes", "KB", "MB", "GB", "TB"][power]}`;
}

const duration = (s) =>
  s < 0.001
    ? `${(1e6 * s).toFixed(s < 1e-5 ? 1 : 0)} µs`
    : s < 1
      ? `${(1000 * s).toFixed(s < 0.01 ? 1 : 0)} ms`
      : `${s.toFixed(1)} s`;

export function sentence({
  chosen,
  token,
  tokens,
  asked,
  texts,
  cache,
  parameters,
  devices,
  seconds,
}) {
  const left = tokens < asked ? ` of ${count(asked)}` : "";
  return (
    `${chosen.name} keeps ${count(token)} bytes of a token. For ${count(tokens)} token${tokens > 1 ? "s" : ""}${left} ` +
    `and ${texts} text${texts > 1 ? "s" : ""} the cache is ${bytes(cache)}, beside parameters of ${bytes(parameters)}: ` +
    `${devices === 1 ? "one GPU holds both" : `it takes ${devices} GPUs to hold both`}. ` +
    `For one new token of each text both have to be fetched, which takes one GPU ${duration(seconds)}` +
    (devices === 1
      ? "."
      : `, and ${devices} GPUs ${duration(seconds / devices)}, if each fetches an equal part.`)
  );
}

const factor = (value, what, role = "") =>
  html`<span class="factor ${role}"><b>${count(value)}</b><span>${what}</span></span>`;

const product = ({
  chosen,
  numbers,
  latent,
  kvHeads,
  each,
  tokens,
  texts,
}) => html`<p class="product" aria-hidden="true">
  ${
    latent
      ? factor(numbers, "a latent", "k")
      : [
          factor(2, "key and value", "k"),
          "×",
          factor(kvHeads, kvHeads > 1 ? "heads" : "head", "k"),
          "×",
          factor(chosen.size, "numbers each", "k"),
        ]
  }
  × ${factor(chosen.layers, "layers")} × ${factor(each, each > 1 ? "bytes" : "byte")} ×
    ${factor(tokens, "tokens")} × ${factor(texts, texts > 1 ? "texts" : "text")}</p>`;

function bar({cache, parameters, memory}) {
  const whole = Math.max(memory, cache + parameters);
  const width = (part) => `width:${((100 * part) / whole).toFixed(3)}%`;
  return html`<div class="bar" aria-hidden="true"><span class="parameters" style=${width(parameters)}></span><span
    class="cache" style=${width(cache)}></span><i class="limit" style="left:${((100 * memory) / whole).toFixed(3)}%"></i></div>`;
}

const view = (m, widget) => html`${product(m)}
  <p class="result"><span>${m.cache < 1000 ? "=" : "≈"} <b>${bytes(m.cache)}</b> of keys and values</span></p>
  ${bar(m)}<p class="legend" aria-hidden="true"><span class="parameters">parameters ${bytes(m.parameters)}</span>
    <span class="cache">cache ${bytes(m.cache)}</span><span class="limit">one GPU,
      ${bytes(m.memory)}${m.devices > 1 ? html`: <b>too small</b>` : nothing}</span></p>
  ${widget.sentence()}`;

const NAMES = [
  "as published",
  "own keys of every head",
  `share: one key for ${GROUP} heads`,
  "share: one key for all heads",
  "compress: a latent",
];
const tick = (n) => (n >= 1048576 ? "1M" : n >= 1024 ? `${n / 1024}k` : String(n));

export const kvCalculator = defineWidget({
  name: "kv-calculator",
  label: "What the cache takes",
  key: "kv",
  fields: ({models, start}) => ({
    model: integer(start, {max: models.length - 1}),
    keeps: option("published", KEEPS),
    length: integer(LENGTHS.indexOf(32768), {max: LENGTHS.length - 1}),
    texts: integer(TEXTS.indexOf(64), {max: TEXTS.length - 1}),
    window: flag(false),
    narrow: flag(false),
  }),
  controls: ({data: {models}}) => [
    [
      menu(
        "model",
        "Model",
        models.map(({name}) => name),
      ),
      menu("keeps", "Keys and values", NAMES),
    ],
    [steps("length", "Tokens", LENGTHS.map(tick))],
    [steps("texts", "Texts", TEXTS.map(tick))],
    [
      toggle("narrow", "Round: to 8 bits"),
      toggle("window", `Look at fewer: the last ${count(SHORT)}`),
      reset,
    ],
  ],
  model: cacheOf,
  sentence,
  view,
  challenges: {
    "room-for-64": ({chosen, asked, texts, devices}) =>
      chosen.name === "Llama 3 8B" && asked === 32768 && texts === 64 && devices === 1,
  },
});
