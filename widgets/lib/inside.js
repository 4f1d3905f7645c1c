// What a causal model with MLPs computes for each token of a text, as course/payloads/ground_floor.py.

import {shares} from "./storyteller.js";

const [GUESSES, FALLEN, NEAR, GROUP] = [5, 2, 3, 8];

const lengthOf = (x) => Math.sqrt(x.reduce((all, y) => all + y * y, 0));
const distance = (a, b) => lengthOf(a.map((x, i) => x - b[i]));

/**
 * {tokens, maps, losses, place(i)} of `ids`: the tokens' texts; maps[layer][head], rows of weights,
 * each as long as its token can see; the loss of each token but the last; and of a token
 * {id, vector, near, start, layers, guesses, truth}. `story` has the texts of `model`'s tokens.
 */
export function inside(story, model, ids) {
  const {logits, weights, residual, middle, inner} = model.run(ids);
  const chances = logits.map((row) => shares(row));
  const losses = ids.slice(1).map((next, i) => -Math.log(chances[i][next]));
  const text = (id) => story.name(id);

  function truthAt(i) {
    if (i + 1 >= ids.length) return null;
    const share = chances[i][ids[i + 1]];
    const rank = 1 + chances[i].reduce((count, other) => count + (other > share), 0);
    return {text: text(ids[i + 1]), share, rank, loss: losses[i]};
  }

  const layerAt = (n, i) => ({
    attention: distance(middle[n][i], residual[n][i]),
    between: lengthOf(middle[n][i]),
    mlp: distance(residual[n + 1][i], middle[n][i]),
    after: lengthOf(residual[n + 1][i]),
    units: strongest(inner[n][i]),
    active: inner[n][i].reduce((count, unit) => count + (unit > 0), 0),
  });

  return {
    tokens: story.pieces(ids),
    maps: weights.map((heads) => heads.map((rows) => rows.map((row, i) => row.subarray(0, i + 1)))),
    losses,
    place: (i) => ({
      id: ids[i],
      vector: vectorOf(model, ids[i]),
      near: nearest(model, ids[i]).map(([id, likeness]) => ({text: text(id), likeness})),
      start: lengthOf(residual[0][i]),
      layers: weights.map((_, n) => layerAt(n, i)),
      guesses: top(chances[i], GUESSES).map(([id, share]) => ({text: text(id), share})),
      truth: truthAt(i),
    }),
  };
}

/**
 * What a head and a unit, [layer, number], do with `ids`, and what comes after them: {tokens; looks,
 * the head's weights of the last token; answers, the unit's to each; guesses}, the likeliest by
 * `model`, then the first two that `old` had, if it is given, and, unless `isOff`, the token `watched`: each with its
 * share, and with the one `before`, old's. `isOff`: the head is silent, and `old` is the model with it.
 */
export function ending(story, model, ids, {head, unit, watched}, {isOff = false, old = null} = {}) {
  const [layer, number] = head;
  const run = model.run(ids, {off: isOff ? [head] : [], last: true});
  const now = shares(run.logits[0]);
  const was = old && shares(old.run(ids, {last: true}).logits[0]);
  const shown = new Set([
    ...top(now, GUESSES).map(([id]) => id),
    ...(was ? top(was, FALLEN).map(([id]) => id) : []),
    ...(isOff ? [] : story.encode(watched).slice(0, 1)),
  ]);
  return {
    tokens: story.pieces(ids),
    looks: run.weights[layer][number][ids.length - 1],
    answers: run.inner[unit[0]].map((units) => units[unit[1]]),
    guesses: [...shown].map((id) => ({
      text: story.name(id),
      share: now[id],
      ...(was && {before: was[id]}),
    })),
  };
}

const vectorOf = ({config: {embed_dim: E}, parameters: {embedding}}, id) =>
  embedding.subarray(id * E, (id + 1) * E);

/** Of each group of units the strongest answer. */
const strongest = (units) =>
  Array.from({length: units.length / GROUP}, (_, i) =>
    units.subarray(i * GROUP, (i + 1) * GROUP).reduce((a, b) => Math.max(a, b), 0),
  );

function nearest(model, id) {
  const own = vectorOf(model, id);
  const likeness = model.config.vocabulary.map((_, other) => {
    const vector = vectorOf(model, other);
    return other === id
      ? -1
      : vector.reduce((all, x, i) => all + x * own[i], 0) / lengthOf(vector) / lengthOf(own);
  });
  return top(likeness, NEAR);
}

const top = (numbers, count) =>
  Array.from(numbers, (x, i) => [i, x])
    .sort((a, b) => b[1] - a[1])
    .slice(0, count);
