// A trained layer's question to 33 tokens: how many may be looked at, and who chooses them.

import {html} from "../assets/vendor/lit.js";
import {softmax} from "./lib/attention.js";
import {choice, menu, reset, slider, unitsOf} from "./lib/controls.js";
import {defineWidget} from "./lib/define-widget.js";
import {integer, option} from "./lib/fields.js";
import {dot, mean} from "./lib/lists.js";
import {count, formatPercent} from "./lib/numbers.js";
import {filled} from "./lib/shares.js";

// ---- Model ---------------------------------------------------------------------------------

export const WAYS = ["last", "cheap", "full"];

const times = ({rows, bias}, x) => rows.map((row, i) => dot(row, x) + bias[i]);

/** Mean 0 and spread 1, as layer norm has it. */
function normalized(x) {
  const centred = x.map((a) => a - mean(x));
  const spread = Math.sqrt(mean(centred.map((a) => a ** 2)) + 1e-5);
  return centred.map((a) => a / spread);
}

/** The tokens from the best on; of equal ones the earlier first. */
const ranked = (of) => of.map((_, i) => i).sort((a, b) => of[b] - of[a] || a - b);

/** The scores of the rooms if the layer looks at the tokens of `seen` only. */
export function roomScores({values, out, read}, {stream, scores, value}, seen) {
  const heads = scores.flatMap((row, h) => {
    const weights = softmax(row, (i) => !seen.has(i));
    const all = [...values[h], value[h]];
    return value[h].map((_, d) =>
      dot(
        weights,
        all.map((one) => one[d]),
      ),
    );
  });
  const added = times(out, heads);
  return times(read, normalized(stream.map((x, i) => x + added[i])));
}

/** data: course/payloads/token_choice.py; by: one of WAYS; looks: how many tokens may be looked at. */
export function chosen(data, {asked, by, looks}) {
  const question = data.questions[asked];
  const each = question.scores.map((row) => softmax(row));
  const weights = question.cheap.map((_, i) => mean(each.map((row) => row[i])));
  const order = ranked({last: weights.map((_, i) => i), cheap: question.cheap, full: weights}[by]);
  const seen = new Set(order.slice(0, looks));
  const byCheap = ranked(question.cheap);
  const tokens = [...data.notes, {who: question.who}].map((note, i) => ({
    ...note,
    rank: byCheap.indexOf(i) + 1,
    weight: weights[i],
    heads: each.map((row) => row[i]),
    isSeen: seen.has(i),
    isOwn: note.who === question.who && note.room !== undefined,
  }));
  const scores = roomScores(data, question, seen);
  const [says] = ranked(scores);
  const everything = tokens.length * data.size;
  return {
    who: question.who,
    room: question.room,
    says,
    isRight: says === question.room,
    by,
    looks,
    tokens,
    scores,
    missed: tokens.reduce((sum, {isSeen, weight}) => sum + (isSeen ? 0 : weight), 0),
    multiplied:
      {last: 0, cheap: tokens.length * data.cheapSize, full: everything}[by] +
      (by === "full" ? 0 : looks * data.size),
    everything,
  };
}

// ---- Sentence, view ------------------------------------------------------------------------

const NAMES = ["nobody: the last tokens", "the cheap score", "the full scores"];
const CHOSEN = ["the last ones", "chosen by the cheap score", "chosen by the full scores"];
const TOKENS = unitsOf("token");
const named = ({who, room}) => (room === undefined ? `${who}?` : `${who} in ${room}`);
const small = (x) => (x > 0 && x < 0.005 ? `< ${formatPercent(0.01)}` : formatPercent(x));

export function sentence({
  who,
  room,
  says,
  isRight,
  by,
  looks,
  tokens,
  missed,
  multiplied,
  everything,
}) {
  const seen = tokens.filter(({isSeen}) => isSeen);
  const own = tokens.filter(({isOwn}) => isOwn);
  return (
    `Asked for ${who}, the layer looks at ${TOKENS(looks)}, ${CHOSEN[WAYS.indexOf(by)]}: ${seen.map(named).join(", ")}. ` +
    `It misses ${small(missed)} of the weight, and says room ${says}, which is ${isRight ? "right" : `wrong: ${who} is in ${room}`}. ` +
    `Its scores take ${count(multiplied)} multiplications; to look at everything, ${count(everything)}. ` +
    `By the cheap score, ${who}'s notes come as ${own.map((note) => `number ${note.rank}, ${named(note)}, with ${note.heads.map(small).join(" and ")} of the two heads`).join(", and ")}.`
  );
}

function view(m, widget) {
  const most = Math.max(...m.tokens.flatMap(({heads}) => heads));
  const card = (
    token,
  ) => html`<li class="${token.isSeen ? "seen" : ""} ${token.isOwn ? "own" : ""}">
    <span class="note">${named(token)}</span><span class="rank">${token.rank}</span>
    <span class="bars">${token.heads.map(
      (weight) => html`<span class="bar"><span style=${filled(weight / most)}></span></span>`,
    )}</span></li>`;
  return html`<dl aria-hidden="true"><div class=${m.isRight ? "right" : "wrong"}><dt>the layer says of
      ${m.who}</dt><dd>room ${m.says}<small>${m.isRight ? "right" : `wrong: it is ${m.room}`}</small></dd></div>
      <div><dt>weight missed</dt><dd>${small(m.missed)}<small>outside the frames</small></dd></div>
      <div><dt>multiplications</dt><dd>${count(m.multiplied)}<small>of ${count(m.everything)}
        for everything</small></dd></div></dl>
    <p class="legend" aria-hidden="true"><span class="framed">looked at</span><span><b class="rank">1</b>best
      by the cheap score</span><span class="weight">weights in heads 1 and 2, longest ${formatPercent(most)}</span></p>
    <ol class="tokens" aria-hidden="true">${m.tokens.map(card)}</ol>
    ${widget.sentence({hidden: true})}`;
}

export const tokenChoice = defineWidget({
  name: "token-choice",
  label: "Which tokens a layer looks at",
  key: "choice",
  fields: ({notes, questions}) => ({
    asked: integer(0, {max: questions.length - 1}),
    by: option("last", WAYS),
    looks: integer(8, {min: 1, max: notes.length + 1}),
  }),
  controls: ({data}) => [
    [
      menu(
        "asked",
        "Somebody asks for",
        data.questions.map(({who}) => who),
      ),
      reset,
    ],
    [choice("by", "Who chooses?", NAMES, {isShown: true})],
    [slider("looks", "Tokens looked at", {unit: TOKENS})],
  ],
  model: chosen,
  sentence,
  view,
  challenges: {
    "window-is-right": ({by, isRight}, {asked}) => asked === 0 && by === "last" && isRight,
    fewest: ({by, isRight, looks}, {asked}) =>
      asked === 0 && by === "cheap" && isRight && looks === 2,
    overlooked: ({who, by, isRight, looks}) =>
      who === "Eve" && by === "cheap" && isRight && looks === 4,
  },
});
