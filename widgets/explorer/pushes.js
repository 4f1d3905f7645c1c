// How far each part of a model moves a guess.

import {dot, mean} from "../lib/lists.js";

/** What each part adds to the logit of `guess`, less what it adds to all on average. */
export function pushesOf(
  run,
  i,
  {
    config: {embed_dim: E, num_heads: counts, vocabulary},
    parameters: {embedding, unembedding, norm, layers},
  },
  guess,
) {
  const way = new Float64Array(E);
  for (let id = 0; id < vocabulary.length; id += 1) {
    for (let e = 0; e < E; e += 1) way[e] -= embedding[id * E + e] / vocabulary.length;
  }
  for (let e = 0; e < E; e += 1) way[e] += embedding[guess * E + e];
  let rest = unembedding.bias[guess] - mean([...unembedding.bias]);
  const end = run.residual[run.residual.length - 1][i];
  if (norm) {
    const middle = mean([...end]);
    const scale = 1 / Math.sqrt(mean(Array.from(end, (x) => (x - middle) ** 2)) + 1e-5);
    rest += dot(way, norm.bias);
    for (let e = 0; e < E; e += 1) way[e] *= norm.weight[e] * scale;
    const level = mean([...way]); // the norm takes the mean away first
    for (let e = 0; e < E; e += 1) way[e] -= level;
  }
  const heads = counts.flatMap((count, n) => {
    const {weight, bias} = layers[n].out;
    rest += dot(way, bias);
    const size = E / count;
    return Array.from({length: count}, (_, head) => {
      let push = 0;
      for (let e = 0; e < E; e += 1) {
        for (let d = head * size; d < (head + 1) * size; d += 1)
          push += way[e] * weight[e * E + d] * run.mixed[n][i][d];
      }
      return push;
    });
  });
  const mlps = run.inner.map(
    (_, n) => dot(way, run.residual[n + 1][i]) - dot(way, run.middle[n][i]),
  );
  return {start: dot(way, run.residual[0][i]), heads, mlps, rest};
}

/** Of each head the `most` tokens that it pushes hardest at token `i`: [head] of [id, push], by the arithmetic above. */
export function pushedMost(
  run,
  i,
  {config: {embed_dim: E, num_heads: counts, vocabulary}, parameters: {embedding, norm, layers}},
  most,
) {
  const end = run.residual[run.residual.length - 1][i];
  const middle = mean([...end]);
  const scale = norm ? 1 / Math.sqrt(mean(Array.from(end, (x) => (x - middle) ** 2)) + 1e-5) : 1;
  return counts.flatMap((count, n) =>
    Array.from({length: count}, (_, head) => {
      const added = addedBy(layers[n].out.weight, run.mixed[n][i], head, E / count, E);
      const level = norm ? mean([...added]) : 0;
      const way = added.map((x, e) => (norm ? (x - level) * norm.weight[e] * scale : x));
      const all = Float64Array.from(vocabulary, (__, id) =>
        dot(way, embedding.subarray(id * E, (id + 1) * E)),
      );
      const average = mean([...all]);
      return top(all, most).map((id) => [id, all[id] - average]);
    }),
  );
}

/** What a head adds to the stream. */
const addedBy = (weight, mixed, head, size, E) =>
  Float64Array.from({length: E}, (_, e) =>
    dot(
      weight.subarray(e * E + head * size, e * E + (head + 1) * size),
      mixed.subarray(head * size, (head + 1) * size),
    ),
  );

export const meanOrNull = (numbers) => (numbers.length ? mean(numbers) : null);

/** The indices of the largest, of equals the first: in one pass, as there may be a thousand. */
export function top(numbers, count) {
  const best = [];
  for (let i = 0; i < numbers.length; i += 1) {
    if (best.length === count && numbers[i] <= numbers[best[count - 1]]) continue;
    let at = Math.min(best.length, count - 1);
    while (at > 0 && numbers[best[at - 1]] < numbers[i]) {
      best[at] = best[at - 1];
      at -= 1;
    }
    best[at] = i;
  }
  return best;
}
