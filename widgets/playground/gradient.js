// The loss of the playground's model on rows of symbols, and the gradient of that loss.

import {backAttend, backLinear, backRms, crossEntropy, geluSlope} from "../lib/backward.js";
import {rotate, sum} from "../lib/layers.js";
import {forward, largest, perRow} from "./model.js";
import {TASKS} from "./tasks.js";

const backNormed = (dy, x, y, {norm, width}) => (norm ? backRms(dy, x, y, width) : dy);

/** {loss, share, run} of a batch; and, into `slopes` of viewsOf's form, the gradient of the loss. */
export function learnFrom(spec, views, {tokens, targets}, slopes) {
  const {width: E, heads} = spec;
  const {length: L} = TASKS[spec.task];
  const count = tokens.length;
  const run = forward(spec, views, tokens);
  const {losses, dLogits} = crossEntropy(run.logits, targets);
  let dx = backNormed(
    backLinear(dLogits, run.last, count, views.unembedding, slopes.unembedding),
    run.x,
    run.last,
    spec,
  );
  for (let i = spec.layers - 1; i >= 0; i -= 1) {
    const kept = run.layers[i];
    const back = (dy, x, name) =>
      backLinear(dy, x, count, views[`${i}.${name}`], slopes[`${i}.${name}`]);
    if (spec.mlp) {
      const dUnits = back(dx, kept.units, "back");
      const dWide = dUnits.map((slope, at) => slope * geluSlope(kept.wide[at]));
      const dCalm = back(dWide, kept.calm, "into");
      dx = sum(dx, backNormed(dCalm, kept.middle, kept.calm, spec));
    }
    const dOutput = back(dx, kept.output, "out");
    const turnBack = (y) => (spec.positions === "rotary" ? rotate(y, 0, E, E / heads, -1) : y);
    const {joined} = perRow(run.rows, L * E, (row, slice) => {
      const [query, key, value] = [kept.query, kept.key, kept.value].map(slice);
      const found = backAttend(
        slice(dOutput),
        {query, key, value, weights: kept.weights[row]},
        L,
        E,
        {heads, isCausal: spec.mask, isScaled: spec.scale},
      );
      return {query: turnBack(found.dQuery), key: turnBack(found.dKey), value: found.dValue};
    });
    const dRead = ["query", "key", "value"]
      .map((name) => back(joined[name], kept.read, name))
      .reduce(sum);
    dx = sum(dx, backNormed(dRead, kept.x, kept.read, spec));
  }
  tokens.forEach((token, i) => {
    for (let e = 0; e < E; e += 1) {
      slopes.embedding.weight[token * E + e] += dx[i * E + e];
      if (slopes.places) slopes.places.weight[(i % L) * E + e] += dx[i * E + e];
    }
  });
  return {...scoreOf(run.logits, targets, losses), run};
}

/** {loss, share}: the mean over the answers that are asked for, and how many of them are right. */
export function scoreOf(logits, targets, losses = crossEntropy(logits, targets).losses) {
  const width = logits.length / targets.length;
  let [asked, right, loss] = [0, 0, 0];
  targets.forEach((target, i) => {
    if (target < 0) return;
    asked += 1;
    loss += losses[i];
    if (largest(logits, i * width, width) === target) right += 1;
  });
  return {loss: loss / asked, share: right / asked};
}
