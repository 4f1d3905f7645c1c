"""Answers that each checker must refuse, and right ones in many styles that it must accept."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from course.exercises.examine import FAILED, PASSED, examine
from course.exercises.task import tasks_of
from exercises.solutions import m00, m01, m02, m03, m04, m05, m06, m11

SEEDS = range(10)
MORE_SEEDS = range(30)  # a wrong answer must not pass now and then


def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


# ---- Wrong answers -------------------------------------------------------------------------------


def by_a_stack(edges, start, end, order=list):
    """Go along the edges as a stack gives them, and count the steps of the first way found."""
    stack, seen = [(start, 0)], set()
    while stack:
        here, steps = stack.pop()
        if here == end:
            return steps
        if here not in seen:
            seen.add(here)
            stack += [(b, steps + 1) for a, b in order(edges) if a == here]
    return None


def forward_only(edges, start, end):
    """Go from lower to higher numbers alone."""
    return m01.path_length([(a, b) for a, b in edges if a < b], start, end)


def greedy(edges, start, end):
    """Take the edge that leads to the highest number up to the end, each time."""
    steps = 0
    while start != end:
        after = [b for a, b in edges if a == start and start < b <= end]
        if not after:
            return None
        start, steps = max(after), steps + 1
    return steps


def tables(weights):
    """The S × S table of each row."""
    return np.stack([np.diag(row) - np.outer(row, row) for row in weights])


def fill_then_empty(scores, mask, number=-1e9):
    return np.where(mask.any(-1, keepdims=True), softmax(np.where(mask, scores, number)), 0.0)


def nan_made_zero(scores, mask):
    return np.nan_to_num(softmax(np.where(mask, scores, -np.inf)))


def mistake_in_one(which, scores, d_k, scaled, weights):
    """Look at one weight alone."""
    right, at = softmax(scaled), which(weights)
    right[at] = weights[at]
    return m03.first_wrong(scores, d_k, scaled, right)


def not_looked_at(place):
    def find(scores, d_k, scaled, weights):
        if np.delete(abs(scores / d_k**0.5 - scaled), place).max() > 0.01:
            return "scaled"
        return "weights" if np.abs(softmax(scaled) - weights).max() > 0.01 else None

    return find


def one_score_at_a_time(scores, values, size):
    top, total, mix, kept = -np.inf, 0.0, 0.0, []
    for j, (score, value) in enumerate(zip(scores, values, strict=True), 1):
        new = max(top, score)
        total, mix = (x * np.exp(top - new) + np.exp(score - new) * y
                      for x, y in ((total, 1), (mix, value)))  # fmt: skip
        top = new
        if j % size == 0 or j == len(scores):
            kept.append((top, total))
    return kept, mix / total


def from_minus_ten(scores, values, size):
    """The online softmax with -10 as its first largest."""
    top, total, mix, kept = -10.0, 0.0, 0.0, []
    for start in range(0, len(scores), size):
        s, v = scores[start : start + size], values[start : start + size]
        new = max(top, s.max())
        total = np.exp(top - new) * total + np.exp(s - new).sum()
        mix = np.exp(top - new) * mix + np.exp(s - new) @ v
        top = new
        kept.append([top, total])
    return np.array(kept), mix / total


def merged_less(top, a, x, b, y):
    """The merge that takes ``top`` off both logarithms."""
    x, y = np.exp(x - top), np.exp(y - top)
    return (x * a + y * b) / (x + y), top + np.log(x + y)


def bandwidth_by(**how):
    return lambda x, y, candidates: m02.choose(x, y, candidates, **how)


def lookup_less(pick, q, K, V, T):
    """The lookup that takes ``pick`` of the scores away, and not the largest."""
    scores = K @ q
    if T == 0:
        return V[scores.argmax()]
    powers = np.exp((scores - pick(scores)) / T)
    return powers / powers.sum() @ V


def less_taken_away(pick):
    """The masked softmax that takes ``pick`` of the shown scores away from each row."""

    def answer(scores, mask):
        weights = np.zeros_like(scores)
        for row, seen, out in zip(scores, mask, weights, strict=True):
            if seen.any():
                e = np.exp(row[seen] - pick(row[seen]))
                out[seen] = e / e.sum()
        return weights

    return answer


def without_abs(sign):
    def answer(scores, d_k, scaled, weights):
        if (sign * (scores / d_k**0.5 - scaled)).max() > 0.01:
            return "scaled"
        return "weights" if (sign * (softmax(scaled) - weights)).max() > 0.01 else None

    return answer


def multi_head_that_overflows(x, W_q, W_k, W_v, W_o, H):
    q, k, v = (m06.split_heads(x @ W, H) for W in (W_q, W_k, W_v))
    e = np.exp(q @ k.swapaxes(-2, -1) / np.sqrt(q.shape[-1]))
    return m06.merge_heads(e / e.sum(-1, keepdims=True) @ v) @ W_o


def softmax_in_place(scores):
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores


WRONG = {
    "m00.attend": {
        "powers of 2": lambda q, K, V: (p := 2 ** (K @ q / np.sqrt(len(q)))) / p.sum() @ V,
        "sigmoid, made to sum to 1": lambda q, K, V: (
            (p := 1 / (1 + np.exp(-K @ q / np.sqrt(len(q))))) / p.sum() @ V
        ),
        "cosine": lambda q, K, V: (
            softmax(K @ q / np.linalg.norm(q) / np.linalg.norm(K, axis=1)) @ V
        ),
        "a distance": lambda q, K, V: softmax(-((K - q) ** 2).sum(1) / np.sqrt(len(q))) @ V,
        "√2, as in the tour": lambda q, K, V: softmax(K @ q / np.sqrt(2)) @ V,
        "the last word hidden": lambda q, K, V: m00.attend(q, K[:-1], V[:-1]),
        "weights squared": lambda q, K, V: softmax(K @ q / np.sqrt(len(q))) ** 2 @ V,
        "softmax twice": lambda q, K, V: softmax(softmax(K @ q / np.sqrt(len(q)))) @ V,
        "two decimals": lambda q, K, V: softmax(K @ q / np.sqrt(len(q))).round(2) @ V,
        "a matrix of one row": lambda q, K, V: m00.attend(q, K, V)[None],
        "√ of the number of keys - 2": lambda q, K, V: (
            softmax(K @ q / max(len(K) - 2, 1e-9) ** 0.5) @ V
        ),
        "√ of a value's size - 1": lambda q, K, V: softmax(K @ q / (V.shape[1] - 1) ** 0.5) @ V,
        "nothing for fewer than four keys": lambda q, K, V: (
            m00.attend(q, K, V) if len(K) > 3 else np.zeros(V.shape[1])
        ),
    },
    "m01.path_length": {
        "the first way found": m01.first_way,
        "the first way found from the last edge on": lambda edges, *ends: m01.first_way(
            edges[::-1], *ends
        ),
        "the first way found by a stack": by_a_stack,
        "the first way found by a stack, to low numbers first": lambda *graph: by_a_stack(
            *graph, order=lambda edges: sorted(edges)[::-1]
        ),
        "no node entered twice": m01.never_again,
        "a stack for the queue": m01.by_a_stack,
        "a stack for the queue, from the last edge on": lambda edges, *ends: m01.by_a_stack(
            edges[::-1], *ends
        ),
        "two sweeps over the edges": lambda *graph: m01.swept(*graph, sweeps=2),
        "three sweeps over the edges": m01.swept,
        "three sweeps from the last edge on": lambda edges, *ends: m01.swept(edges[::-1], *ends),
        "0 without edges": lambda edges, *ends: m01.path_length(edges, *ends) if edges else 0,
        "from the first node, whatever the start": lambda edges, start, end: m01.path_length(
            edges, 0, end
        ),
        "from the lower to the higher end": lambda edges, start, end: m01.path_length(
            edges, min(start, end), max(start, end)
        ),
        "forwards only": forward_only,
        "the edge that leads farthest": greedy,
        "the number of edges": lambda edges, start, end: len(edges),
        "-1 for no way": m01.no_way_is(-1),
        "as a float, too large by a little": lambda *graph: (
            None if (n := m01.path_length(*graph)) is None else n * (1 + 1e-6) + 1e-6
        ),
        "one round at most": lambda edges, start, end: (
            0 if start == end else 1 if (start, end) in edges else None
        ),
    },
    "m01.flow_lines": {
        "a list of pairs": lambda n, decay, times: [
            (decay**k, times / (times + n - 1)) for k in range(n)
        ],
        "1 at distance 0, whatever it shares": lambda n, decay, times: (
            decay ** np.arange(n),
            np.where(np.arange(n) == 0, 1, times / (times + n - 1)),
        ),
        "a decay that sums to 1": lambda n, decay, times: (
            (w := decay ** np.arange(n)) / w.sum(),
            np.full(n, times / (times + n - 1)),
        ),
        "the lines exchanged": lambda *plot: m01.flow_lines(*plot)[::-1],
        "little taken for nothing": lambda *plot: (
            np.where((line := m01.flow_lines(*plot)[0]) < 0.001, 0, line),
            m01.flow_lines(*plot)[1],
        ),
        "attention that decays": lambda n, decay, times: (
            decay ** np.arange(n),
            times * decay ** np.arange(n) / (times + n - 1),
        ),
    },
    "m01.times_needed": {
        "rounded up": lambda n, share: math.ceil(m01.times_needed(n, share)),
        "upside down": lambda n, share: (1 - share) * (n - 1) / share,
        "two others fewer": lambda n, share: share * (n - 2) / (1 - share),
        "1,000 at most": lambda *mix: min(m01.times_needed(*mix), 1000),
        "1 at least": lambda *mix: max(m01.times_needed(*mix), 1),
        "one time too many": lambda n, share: m01.times_needed(n, share) + 1,
    },
    "m02.soft_lookup": {
        "the best where softmax is not a number": lambda q, K, V, T: (
            V[(K @ q).argmax()]
            if T == 0 or np.isnan(m02.without_maximum(K @ q / T)).any()
            else m02.soft_lookup(q, K, V, T)
        ),
        "a small temperature for 0": lambda q, K, V, T: m02.soft_lookup(q, K, V, T or 1e-4),
        "a temperature of at least 0.02": lambda q, K, V, T: m02.soft_lookup(
            q, K, V, max(T, 0.02) if T else 0
        ),
        "the temperature squared": lambda q, K, V, T: m02.soft_lookup(q, K, V, T * T),
        "hard at every temperature": lambda q, K, V, T: V[(K @ q).argmax()],
        "hard below a temperature of 0.2": lambda q, K, V, T: m02.soft_lookup(
            q, K, V, T if T >= 0.2 else 0
        ),
        "softmax without its maximum": lambda q, K, V, T: (
            m02.without_maximum(K @ q / T) @ V if T else V[(K @ q).argmax()]
        ),
        "the worst key": lambda q, K, V, T: m02.soft_lookup(-q, K, V, T),
        "the nearest key": lambda q, K, V, T: (
            V[((K - q) ** 2).sum(1).argmin()] if T == 0 else softmax(-((K - q) ** 2).sum(1) / T) @ V
        ),
        "temperature 0 taken for 1": lambda q, K, V, T: m02.soft_lookup(q, K, V, T or 1.0),
        "hard up to a temperature of 0.002": lambda q, K, V, T: m02.soft_lookup(
            q, K, V, T if T > 0.002 else 0
        ),
        "a temperature of at least 0.00001": lambda q, K, V, T: m02.soft_lookup(
            q, K, V, max(T, 1e-5)
        ),
        "a millionth added to the temperature": lambda q, K, V, T: m02.soft_lookup(
            q, K, V, T + 1e-6
        ),
        "the largest absolute score taken away": lambda q, K, V, T: lookup_less(
            lambda s: np.abs(s).max(), q, K, V, T
        ),
        "the first score taken away": lambda q, K, V, T: lookup_less(lambda s: s[0], q, K, V, T),
    },
    "m02.craft_query": {
        "zeros in a column": lambda K, target: np.zeros((K.shape[1], 1)),
        "zeros": lambda K, target: np.zeros(K.shape[1]),
        "ten times a unit along the key": lambda K, target: (
            10 * K[target] / np.linalg.norm(K[target])
        ),
        "as long as all the keys need, but the shortest": lambda K, target: 10 * K[target],
        **{
            f"{factor:,} times the key": lambda K, target, factor=factor: factor * K[target]
            for factor in (500, 1000, 1_000_000)
        },
        "fifty times a unit along the key": lambda K, target: (
            50 * K[target] / np.linalg.norm(K[target])
        ),
        "a score of 4, too low for nine keys": lambda K, target: (
            4 * K[target] / (K[target] @ K[target])
        ),
        "the key": lambda K, target: K[target],
        "a unit along the key": lambda K, target: K[target] / np.linalg.norm(K[target]),
        "a right one in a row": lambda *keys: m02.craft_query(*keys)[None],
        "NaN": lambda K, target: K[target] * np.nan,
        "infinity": lambda K, target: K[target] * np.inf,
        "a unit of the target's index": lambda K, target: 50 * np.eye(K.shape[1])[target],
        "the weights": lambda K, target: np.eye(len(K))[target],
    },
    "m02.best_bandwidth": {
        "always the first": lambda x, y, candidates: candidates[0],
        "always the second": lambda x, y, candidates: candidates[1],
        "always the third": lambda x, y, candidates: candidates[min(2, len(candidates) - 1)],
        "the middle one": lambda x, y, candidates: np.median(candidates),
        "the last": lambda x, y, candidates: candidates[-1],
        "h² without the 2": bandwidth_by(divisor=lambda h: h**2),
        "2h without the square": bandwidth_by(divisor=lambda h: 2 * h),
        "distances not squared": bandwidth_by(power=1),
        "absolute errors": bandwidth_by(loss=np.abs),
        "softmax without its maximum": bandwidth_by(weigh=m02.without_maximum),
        "half the points": lambda x, y, c: m02.best_bandwidth(x[::2], y[::2], c),
        "a small number in the sum": bandwidth_by(weigh=m02.without_maximum_but_finite),
        "itself hidden by -100": bandwidth_by(hidden=-100),
        "itself hidden by -10,000": bandwidth_by(hidden=-1e4),
        "not a number made 0": bandwidth_by(weigh=m02.without_maximum_nor_nan),
    },
    "m03.attention": {
        "√ of a value's size": lambda Q, K, V: m03.attend(Q @ K.T / np.sqrt(V.shape[1]), V),
        "√ of twice the number of queries": lambda Q, K, V: m03.attend(
            Q @ K.T / np.sqrt(2 * len(Q)), V
        ),
        "two decimals": lambda *qkv: tuple(part.round(2) for part in m03.attention(*qkv)),
        "softmax without its maximum": lambda Q, K, V: (
            (w := m02.without_maximum(Q @ K.T / np.sqrt(K.shape[1]))) @ V,
            w,
        ),
        "weights transposed": lambda *qkv: (m03.attention(*qkv)[0], m03.attention(*qkv)[1].T),
        "causal": lambda Q, K, V: m03.attend(
            np.where(np.tri(len(Q), len(K)) > 0, Q @ K.T / np.sqrt(K.shape[1]), -np.inf), V
        ),
        "the scores for weights": lambda Q, K, V: (
            m03.attention(Q, K, V)[0],
            Q @ K.T / np.sqrt(K.shape[1]),
        ),
    },
    "m03.additive_scores": {
        "two features alone": lambda Q, K, W_q, W_k, w: m03.additive_scores(
            Q[:, :2], K[:, :2], W_q[:2], W_k[:2], w
        ),
        "three hidden units alone": lambda Q, K, W_q, W_k, w: m03.additive_scores(
            Q, K, W_q[:, :3], W_k[:, :3], w[:3]
        ),
        "a difference": lambda Q, K, W_q, W_k, w: m03.additive_scores(Q, -K, W_q, W_k, w),
        "a sigmoid": lambda Q, K, W_q, W_k, w: (
            1 / (1 + np.exp(-(Q @ W_q)[:, None] - (K @ W_k)[None])) @ w
        ),
        "one column of units": lambda *net: m03.additive_scores(*net)[..., None],
    },
    "m03.find_mistake": {
        "the scores' sum": lambda scores, d_k, scaled, weights: (
            "scaled" if abs(scores.sum() / d_k**0.5 - scaled.sum()) > 0.02 else None
        ),
        "never a mistake": lambda *example: None,
        "always the weights": lambda *example: "weights",
        "an empty text for none": lambda *example: m03.find_mistake(*example) or "",
        "False for none": lambda *example: m03.find_mistake(*example) or False,
        "a tolerance of 0.003": lambda *example: m03.first_wrong(*example, tolerance=0.003),
        "too low not looked for": without_abs(-1),
        "too high not looked for": without_abs(1),
        "a tolerance of 0.03": lambda *example: m03.first_wrong(*example, tolerance=0.03),
        "a tolerance of half": lambda *example: m03.first_wrong(*example, tolerance=0.5),
        "the largest weight alone": lambda *example: mistake_in_one(np.argmax, *example),
        "the smallest weight alone": lambda *example: mistake_in_one(np.argmin, *example),
        **{
            f"number {skipped} of the scaled row not looked at": not_looked_at(skipped)
            for skipped in range(3)
        },
    },
    "m04.divisor": {
        "the mean of the spreads": lambda a, b, d_k: (a + b) / 2 * np.sqrt(d_k),
        "the sum of the variances": lambda a, b, d_k: np.sqrt((a**2 + b**2) * d_k),
        "one number too few": lambda a, b, d_k: a * b * np.sqrt(d_k - 1),
        "to two digits": lambda a, b, d_k: round(a * b * np.sqrt(d_k), 2),
    },
    "m04.stable_softmax": {
        "in place": softmax_in_place,
        "scores clipped at 700": lambda s: softmax(np.clip(s, -700, 700)),
        "the mean taken away": lambda s: m04.shifted(s, s.mean(-1, keepdims=True)),
        "the median taken away": lambda s: m04.shifted(s, np.median(s, -1, keepdims=True)),
        "the smallest taken away": lambda s: m04.shifted(s, s.min(-1, keepdims=True)),
        "the first score taken away": lambda s: m04.shifted(s, s[:, :1]),
        "the larger of the first and the last taken away": lambda s: m04.shifted(
            s, np.maximum(s[:, :1], s[:, -1:])
        ),
        "the last score taken away": lambda s: m04.shifted(s, s[:, -1:]),
        "the middle score taken away": lambda s: m04.shifted(s, s[:, [s.shape[1] // 2]]),
        "the second largest taken away": lambda s: m04.shifted(s, np.sort(s, -1)[:, -2:-1]),
        "the 0.9 quantile taken away": lambda s: m04.shifted(
            s, np.quantile(s, 0.9, axis=-1, keepdims=True)
        ),
        "clipped at 50 from the mean": lambda s: softmax(
            np.clip(s - s.mean(-1, keepdims=True), -50, 50)
        ),
        "scores divided by the largest": lambda s: softmax(s / np.abs(s).max()),
        "a small number below": lambda s: (
            (e := np.exp(s - s.max())) / (e.sum(-1, keepdims=True) + 1e-9)
        ),
        "NaN made 0": lambda s: np.nan_to_num(m04.shifted(s, 0)),
        "argmax": lambda s: (s == s.max(-1, keepdims=True)) * 1.0,
        "scores rounded": lambda s: softmax(s.round(1)),
    },
    "m04.entropy_in_bits": {
        "1e-9 added": lambda w: m04.entropy(w + 1e-9),
        "1e-9 added inside": lambda w: m04.entropy(w, tiny=1e-9),
        "1e-12 added inside": lambda w: m04.entropy(w, tiny=1e-12),
        "1e-16 added inside": lambda w: m04.entropy(w, tiny=1e-16),
        "eps added, then scaled": lambda w: m04.entropy(
            (w + 1e-12) / (w + 1e-12).sum(-1, keepdims=True)
        ),
        "clipped at 1e-9": lambda w: m04.entropy(np.clip(w, 1e-9, 1)),
        "zeros taken for ones": lambda w: -np.log2(np.where(w > 0, w, 1)).sum(-1),
        "perplexity": lambda w: 2 ** m04.entropy_in_bits(w),
        "relative to uniform": lambda w: m04.entropy_in_bits(w) / np.log2(w.shape[1]),
        "small weights left out": lambda w: m04.entropy_in_bits(np.where(w > 1e-6, w, 0.0)),
        "logarithms left unset": lambda w: -(w * np.log2(w, where=w > 0)).sum(-1),
    },
    "m04.softmax_backward": {
        "in place": lambda w, g: np.multiply(
            w, np.subtract(g, (w * g).sum(-1, keepdims=True), out=g), out=g
        ),
        "a division by the weight": lambda w, g: (
            w * g * (1 - w * (w * g).sum(-1, keepdims=True) / (w * g))
        ),
        "the largest gradient taken away": lambda w, g: w * (g - g.max(-1, keepdims=True)),
        "the softmax again": lambda w, g: (
            softmax(w) * (g - (softmax(w) * g).sum(-1, keepdims=True))
        ),
        "w² g": lambda w, g: w * (g - w * g),
        "normed": lambda w, g: (
            (d := m04.softmax_backward(w, g)) / np.linalg.norm(d, axis=-1, keepdims=True)
        ),
        "a sum over everything": lambda w, g: w * (g - (w * g).sum()),
        "a table": lambda w, g: np.einsum("lst,lt->ls", tables(w), g),
        "a table for a row": lambda w, g: [
            (np.diag(row) - np.outer(row, row)) @ up for row, up in zip(w, g, strict=True)
        ],
        "a table in PyTorch": lambda w, g: (
            (torch.diag_embed(grad(w)) - grad(w)[:, :, None] * grad(w)[:, None])
            @ torch.from_numpy(g)[..., None]
        )[..., 0],
    },
    "m05.for_pytorch": {
        "finfo.min": lambda m: (m, np.where(m, 0.0, np.finfo(np.float32).min), ~m),
        "ones and zeros": lambda m: (m * 1, np.where(m, 0.0, -np.inf), 1 - m * 1),
        "logarithm, turned round": lambda m: (m, np.where(m, -np.inf, 0.0), m),
        "two alone": lambda m: (m, np.where(m, 0.0, -np.inf)),
        "transposed": lambda m: tuple(part.T for part in m05.for_pytorch(m)),
        "1 for what is seen": lambda m: (m, np.where(m, 1.0, -np.inf), ~m),
        "all as one array": lambda m: np.array([m, np.where(m, 0.0, -np.inf), ~m]),
    },
    "m05.causal_padding_mask": {
        "one blank too many": lambda L, S, lengths: m05.build(L, S, np.minimum(lengths + 1, S)),
        "both ends hidden": lambda L, S, lengths: (
            m05.build(L, S, lengths) & m05.build(L, S, lengths, axis="queries")
        ),
        "padding on the left": lambda L, S, lengths: (
            m05.build(L, S, lengths, axis="none")
            & (np.arange(S) >= S - lengths[:, None, None, None])
        ),
        "ones and zeros": lambda *sizes: m05.build(*sizes) * 1,
        "heads first": lambda *sizes: m05.build(*sizes).swapaxes(0, 1),
        "a word in each text": lambda L, S, lengths: m05.build(L, S, np.maximum(lengths, 1)),
        "the longest for all": lambda L, S, lengths: m05.build(
            L, S, np.full_like(lengths, lengths.max())
        ),
        "padding that hides the first": lambda L, S, lengths: m05.build(L, S, lengths, axis="none")[
            ..., ::-1
        ],
    },
    "m05.masked_softmax": {
        "-1e9, rows emptied": fill_then_empty,
        "-1e30, rows emptied": lambda s, m: fill_then_empty(s, m, -1e30),
        "0/0, made 0 afterwards": nan_made_zero,
        "a small number below": lambda s, m: (
            (e := np.exp(s) * m) / (e.sum(-1, keepdims=True) + 1e-9)
        ),
        "the maximum of hidden keys too": lambda s, m: (
            (e := np.exp(s - s.max(-1, keepdims=True)) * m)
            / np.maximum(e.sum(-1, keepdims=True), 1e-300)
        ),
        "the smallest shown score taken away": less_taken_away(np.min),
        "the mean of the shown scores taken away": less_taken_away(np.mean),
        "rows of a hidden last key emptied": lambda s, m: m05.masked_softmax(s, m) * m[:, -1:],
        "two decimals": lambda s, m: m05.masked_softmax(s, m).round(2),
    },
    "m06.split_heads": {
        "heads last": lambda x, H: np.moveaxis(m06.split_heads(x, H), 1, -1),
        "heads from the end": lambda x, H: m06.split_heads(x, H)[:, ::-1],
        "a list of heads": lambda x, H: np.split(x, H, axis=-1),
        "D heads of H numbers": lambda x, H: m06.split_heads(x, x.shape[-1] // H),
        "in Fortran's order": lambda x, H: x.reshape(*x.shape[:2], H, -1, order="F").swapaxes(1, 2),
    },
    "m06.merge_heads": {
        "heads from the end": lambda heads: m06.merge_heads(heads[:, ::-1]),
        "the first head alone": lambda heads: np.tile(heads[:, 0], heads.shape[1]),
        "one list of numbers": lambda heads: m06.merge_heads(heads).reshape(len(heads), -1),
        "batch and heads joined": lambda heads: np.concatenate(list(heads), axis=-1)[None],
    },
    "m06.multi_head": {
        "softmax without its maximum": multi_head_that_overflows,
        "keys and values exchanged": lambda x, q, k, v, o, H: m06.multi_head(x, q, v, k, o, H),
        "matrices transposed": lambda x, q, k, v, o, H: m06.multi_head(x, q.T, k.T, v.T, o.T, H),
        "√ of the number of heads": lambda x, q, k, v, o, H: (
            m06.merge_heads(m06.attend(x, q, k, v, H, size=H)) @ o
        ),
        "values not projected": lambda x, q, k, v, o, H: m06.multi_head(
            x, q, k, np.eye(len(v)), o, H
        ),
        "with the input added": lambda x, *layer: x + m06.multi_head(x, *layer),
        "values without attention": lambda x, q, k, v, o, H: x @ v @ o,
    },
    "m06.project_heads": {
        "the last matrix for all": lambda x, W: np.stack([x @ W[-1]] * len(W), axis=1),
        "numbers of a head turned round": lambda x, W: np.einsum("ble,hed->bhld", x, W[:, :, ::-1]),
        "heads added": lambda x, W: np.repeat((x @ W.sum(0))[:, None], len(W), axis=1),
        "as (B, H, D, L)": lambda x, W: np.einsum("ble,hed->bhdl", x, W),
    },
    "m06.count_parameters": {
        "one too many": lambda *sizes: m06.count_parameters(*sizes) + 1,
        "a bias more": lambda E, H, G, bias: m06.count_parameters(E, H, G, bias) + E * bias,
        "no bias of the output": lambda E, H, G, bias: (
            m06.count_parameters(E, H, G, bias) - E * bias
        ),
        "a head for each key head": lambda E, H, G, bias: (E + bias) * (2 * E + 2 * (E // G)),
        "as a float": lambda *sizes: float(m06.count_parameters(*sizes)),
        "as a text": lambda *sizes: str(m06.count_parameters(*sizes)),
    },
    "m11.online_softmax": {
        "nothing taken off": lambda s, v, n: (
            m11.online_softmax(s, v, n)[0],
            np.exp(s) @ v / np.exp(s).sum(),
        ),
        "from -10 on": from_minus_ten,
        "nothing converted": lambda *row: m11.running(*row, rate_of_sum=False, rate_of_mix=False),
        "the output first": lambda *row: m11.online_softmax(*row)[::-1],
        "sum, then largest": lambda *row: (
            m11.online_softmax(*row)[0][:, ::-1],
            m11.online_softmax(*row)[1],
        ),
        "the last state alone": lambda *row: (
            m11.online_softmax(*row)[0][-1:],
            m11.online_softmax(*row)[1],
        ),
        "sums not less the largest": lambda s, v, n: (
            np.stack(
                [(kept := m11.online_softmax(s, v, n)[0])[:, 0], kept[:, 1] * np.exp(kept[:, 0])], 1
            ),
            softmax(s) @ v,
        ),
        "the mean of the values": lambda s, v, n: (m11.online_softmax(s, v, n)[0], v.mean(0)),
    },
    "m11.merge": {
        "exp of each alone": lambda a, x, b, y: (
            (np.exp(np.minimum(x, 700)) * a + np.exp(np.minimum(y, 700)) * b)
            / np.maximum(np.exp(np.minimum(x, 700)) + np.exp(np.minimum(y, 700)), 1e-300),
            np.logaddexp(x, y),
        ),
        "one largest of all rows": lambda a, x, b, y: merged_less(
            max(x.max(), y.max()), a, x, b, y
        ),
        "the first's taken off": lambda a, x, b, y: merged_less(x, a, x, b, y),
        "the one with the larger sum": lambda a, x, b, y: (
            np.where(x > y, a, b),
            np.logaddexp(x, y),
        ),
        "not divided": lambda a, x, b, y: (
            np.exp(x - np.maximum(x, y)) * a + np.exp(y - np.maximum(x, y)) * b,
            np.logaddexp(x, y),
        ),
        "the output alone": lambda *two: m11.merge(*two)[0],
        "logarithms to base 2": lambda a, x, b, y: (m11.merge(a, x, b, y)[0], np.logaddexp2(x, y)),
    },
    "m11.bytes_carried": {
        "one tile more": lambda L, S, d, t, b: (
            m11.bytes_carried(L, S, d, t, b)[0],
            b * (2 * L * d + (L // t + 1) * 2 * S * d),
        ),
        "a whole last tile of queries": lambda L, S, d, t, b: (
            m11.bytes_carried(L, S, d, t, b)[0],
            b * -(-L // t) * (2 * t * d + 2 * S * d),
        ),
        "tiles of keys": lambda L, S, d, t, b: (
            m11.bytes_carried(L, S, d, t, b)[0],
            b * (2 * L * d + -(-S // t) * 2 * L * d),
        ),
        "no values": lambda L, S, d, t, b: (
            b * (2 * L * d + S * d + 4 * L * S),
            m11.bytes_carried(L, S, d, t, b)[1],
        ),
        "the plain way alone": lambda *sizes: m11.bytes_carried(*sizes)[0],
    },
}


# ---- Right answers -------------------------------------------------------------------------------


def attention_in_loops(Q, K, V):
    out, weights = [], []
    for q in Q:
        scores = [sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)) for k in K]
        e = [math.exp(score - max(scores)) for score in scores]
        weights.append([number / sum(e) for number in e])
        out.append(
            [sum(w * v[c] for w, v in zip(weights[-1], V, strict=True)) for c in range(len(V[0]))]
        )
    return out, weights


def backward_in_loops(weights, upstream):
    """Compute one number of the table at a time."""
    return [
        [
            sum(a * ((i == j) - b) * g for j, (b, g) in enumerate(zip(row, up, strict=True)))
            for i, a in enumerate(row)
        ]
        for row, up in zip(weights.tolist(), upstream.tolist(), strict=True)
    ]


def grad(array):
    return torch.tensor(array, requires_grad=True)


def attention_in_torch(Q, K, V):
    Q, K, V = grad(Q), grad(K), grad(V)
    weights = (Q @ K.T / K.shape[-1] ** 0.5).softmax(-1)
    return weights @ V, weights


def attend_by_loops(query, keys, values):
    scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
    powers = [math.exp(score / len(query) ** 0.5) for score in scores]
    mix = [0.0] * values.shape[1]
    for power, value in zip(powers, values, strict=True):
        mix = [m + power / sum(powers) * v for m, v in zip(mix, value, strict=True)]
    return mix


def mistake_rounding_first(tolerance):
    def answer(scores, d_k, scaled, weights):
        if np.abs(np.round(scores / np.sqrt(d_k), 2) - scaled).max() > tolerance:
            return "scaled"
        off = np.abs(np.round(softmax(scaled), 2) - weights).max()
        return "weights" if off > tolerance else None

    return answer


def path_by_queue(edges, start, end):
    from collections import deque

    queue, steps = deque([start]), {start: 0}
    while queue:
        here = queue.popleft()
        for a, b in edges:
            if a == here and b not in steps:
                steps[b] = steps[here] + 1
                queue.append(b)
    return steps.get(end)


def path_by_relaxing(edges, start, end):
    steps = {start: 0.0}
    for _ in range(len(edges) + 1):
        for a, b in edges:
            steps[b] = min(steps.get(b, np.inf), steps.get(a, np.inf) + 1)
    return None if steps.get(end, np.inf) == np.inf else np.float64(steps[end])


def mistake_in_lists(scores, d_k, scaled, weights):
    mine = [score / math.sqrt(d_k) for score in scores]
    if any(abs(a - b) > 0.01 for a, b in zip(mine, scaled, strict=True)):
        return "scaled"
    e = [math.exp(score) for score in mine]  # of the exact row, not of the printed one
    if any(abs(n / sum(e) - w) > 0.01 for n, w in zip(e, weights, strict=True)):
        return "weights"
    return None


def padding_in_loops(query_len, key_len, lengths):
    first = key_len - query_len
    return [
        [[[j <= first + i and j < n for j in range(key_len)] for i in range(query_len)]]
        for n in lengths.tolist()
    ]


def masked_in_loops(scores, mask):
    weights = np.zeros_like(scores)
    for row, seen, out in zip(scores, mask, weights, strict=True):
        if seen.any():
            e = np.exp(row[seen] - row[seen].max())
            out[seen] = e / e.sum()
    return weights


def masked_with_out(scores, mask):
    top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=-np.inf)
    e = np.exp(np.subtract(scores, top, where=mask, out=np.full_like(scores, -np.inf)))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def masked_in_torch(scores, mask):
    scores, mask = grad(scores), torch.from_numpy(mask)
    empty = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~(mask | empty), -torch.inf).softmax(-1).masked_fill(empty, 0)


def heads_in_turn(x, W_q, W_k, W_v, W_o, num_heads):
    D, out = x.shape[-1] // num_heads, 0
    for h in range(num_heads):
        at = slice(h * D, (h + 1) * D)
        q, k, v = (x @ W[:, at] for W in (W_q, W_k, W_v))
        out = out + softmax(q @ k.transpose(0, 2, 1) / D**0.5) @ v @ W_o[at]
    return out


def heads_by_einsum(x, W_q, W_k, W_v, W_o, num_heads):
    q, k, v = (
        np.einsum("ble,ehd->bhld", x, W.reshape(len(W), num_heads, -1)) for W in (W_q, W_k, W_v)
    )
    weights = softmax(np.einsum("bhld,bhsd->bhls", q, k) / np.sqrt(q.shape[-1]))
    return np.einsum("bhls,bhsd,hde->ble", weights, v, W_o.reshape(num_heads, -1, len(W_o)))


def heads_in_torch(x, W_q, W_k, W_v, W_o, num_heads):
    x, W_q, W_k, W_v, W_o = map(grad, (x, W_q, W_k, W_v, W_o))
    q, k, v = ((x @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_q, W_k, W_v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).flatten(2) @ W_o


def f32(*arrays):
    return (np.asarray(array, dtype=np.float32) for array in arrays)


RIGHT = {
    "m00.attend": {
        "loops": attend_by_loops,
        "without the maximum": lambda q, K, V: (e := np.exp(K @ q / len(q) ** 0.5)) @ V / e.sum(),
        "einsum": lambda q, K, V: np.einsum(
            "s,sv->v", softmax(np.einsum("sd,d->s", K, q) / len(q) ** 0.5), V
        ),
        "average": lambda q, K, V: np.average(V, axis=0, weights=np.exp(K @ q / len(q) ** 0.5)),
        "columns": lambda q, K, V: [
            float(column @ softmax(K @ q / len(q) ** 0.5)) for column in V.T
        ],
        "torch that requires grad": lambda q, K, V: (
            (grad(K) @ grad(q) / len(q) ** 0.5).softmax(0) @ grad(V)
        ),
        "PyTorch's own": lambda *word: torch.nn.functional.scaled_dot_product_attention(
            *(torch.from_numpy(np.atleast_2d(rows)) for rows in word)
        )[0],
        "float32": lambda *word: m00.attend(*f32(*word)),
    },
    "m01.path_length": {
        "a queue": path_by_queue,
        "relaxing, as NumPy's float": path_by_relaxing,
        "powers of a matrix": m01.by_powers,
        "NumPy's integer": lambda *graph: (
            None if (n := m01.path_length(*graph)) is None else np.int64(n)
        ),
    },
    "m01.flow_lines": {
        "lists": lambda n, decay, times: (
            [decay**k for k in range(n)],
            [times / (times + n - 1)] * n,
        ),
        "one array": lambda *plot: np.stack(m01.flow_lines(*plot)),
        "a generator of two": lambda *plot: (line for line in m01.flow_lines(*plot)),
        "torch": lambda n, decay, times: (
            torch.tensor(decay) ** torch.arange(n),
            torch.full((n,), times / (times + n - 1)),
        ),
        "by nudging": m01.by_nudging,
    },
    "m01.times_needed": {
        "the odds": lambda n, share: (n - 1) / (1 / share - 1),
        "bisection": m01.by_bisection,
        "a fraction": lambda n, share: Fraction(share) * (n - 1) / (1 - Fraction(share)),
        "a tensor": lambda n, share: (
            torch.tensor(share, requires_grad=True) * (n - 1) / (1 - share)
        ),
    },
    "m02.soft_lookup": {
        "a very small temperature for 0": lambda q, K, V, T: softmax(K @ q / (T or 1e-9)) @ V,
        "torch that requires grad": lambda q, K, V, T: (
            grad(V)[int((K @ q).argmax())]
            if T == 0
            else (grad(K) @ grad(q) / T).softmax(0) @ grad(V)
        ),
        "one-hot weights": lambda q, K, V, T: (
            (np.eye(len(K))[np.argmax(K @ q)] if T == 0 else softmax(K @ q / T)) @ V
        ),
        "lists": lambda q, K, V, T: m02.soft_lookup(q, K, V, T).tolist(),
        "float32": lambda q, K, V, T: m02.soft_lookup(*f32(q, K, V), T),
    },
    "m02.craft_query": {
        "far along the key": lambda K, target: 1000 * K[target] / (K[target] @ K[target]),
        "least squares": lambda K, target: np.linalg.lstsq(
            K, 20 * np.eye(len(K))[target], rcond=None
        )[0],
        "the pseudo-inverse": lambda K, target: np.linalg.pinv(K)[:, target] * 9,
        "away from the others": lambda K, target: 60 * (2 * K[target] - K.sum(0)),
        "torch that requires grad": lambda K, target: (
            30 * grad(K)[target] / float(K[target] @ K[target])
        ),
        "a score of 5": lambda K, target: 5 * K[target] / (K[target] @ K[target]),
        "a list": lambda K, target: m02.craft_query(K, target).tolist(),
        "a generator": lambda K, target: (number for number in m02.craft_query(K, target)),
    },
    "m02.best_bandwidth": {
        "point by point": m02.point_by_point,
        "min with a key": lambda x, y, c: min(c, key=lambda h: m02.leave_one_out(x, y, h)),
        "float32": lambda x, y, c: m02.best_bandwidth(*f32(x, y, c)),
        "a tensor": lambda *points: torch.tensor(m02.best_bandwidth(*points)),
    },
    "m03.attention": {
        "loops and lists": attention_in_loops,
        "torch that requires grad": attention_in_torch,
        "float32": lambda *qkv: m03.attention(*f32(*qkv)),
        "a generator of two": lambda *qkv: (part for part in m03.attention(*qkv)),
        "einsum": lambda Q, K, V: (
            np.einsum(
                "ls,sd->ld", w := softmax(np.einsum("ld,sd->ls", Q, K) / K.shape[1] ** 0.5), V
            ),
            w,
        ),
        "queries scaled first": lambda Q, K, V: m03.attend((Q / K.shape[1] ** 0.5) @ K.T, V),
    },
    "m03.additive_scores": {
        "pair by pair": m03.pair_by_pair,
        "torch": lambda Q, K, W_q, W_k, w: (
            torch.tanh((grad(Q) @ grad(W_q)).unsqueeze(1) + grad(K) @ grad(W_k)) @ grad(w)
        ),
        "einsum": lambda Q, K, W_q, W_k, w: np.einsum(
            "lsh,h->ls", np.tanh((Q @ W_q)[:, None] + K @ W_k), w
        ),
        "float32": lambda *net: m03.additive_scores(*f32(*net)),
        "a generator of rows": lambda Q, K, W_q, W_k, w: (
            np.tanh(q @ W_q + K @ W_k) @ w for q in Q
        ),
    },
    "m03.find_mistake": {
        "rounds first": mistake_rounding_first(0.01),
        "rounds first, and wants them equal": mistake_rounding_first(0.001),
        "lists, from the exact row": mistake_in_lists,
        "a tolerance of 0.006": lambda *example: m03.first_wrong(*example, tolerance=0.006),
        "a tolerance of 0.014": lambda *example: m03.first_wrong(*example, tolerance=0.014),
        "allclose": lambda s, d_k, scaled, weights: (
            "scaled"
            if not np.allclose(s / d_k**0.5, scaled, rtol=0, atol=0.01)
            else None
            if np.allclose(softmax(scaled), weights, rtol=0, atol=0.01)
            else "weights"
        ),
        "NumPy's text": lambda *example: (
            None if (found := m03.find_mistake(*example)) is None else np.array([found])[0]
        ),
        "float32": lambda s, d_k, scaled, weights: m03.find_mistake(*f32(s, d_k, scaled, weights)),
    },
    "m04.divisor": {
        "the root of the variance": lambda a, b, d_k: (d_k * a**2 * b**2) ** 0.5,
        "torch": lambda a, b, d_k: torch.tensor(d_k).double().sqrt() * a * b,
    },
    "m04.stable_softmax": {
        "log-sum-exp": lambda s: np.exp(
            s - (t := s.max(-1, keepdims=True)) - np.log(np.exp(s - t).sum(-1, keepdims=True))
        ),
        "row by row": lambda s: [softmax(row) for row in s],
        "a generator of rows": lambda s: (softmax(row).tolist() for row in s),
        "torch that requires grad": lambda s: grad(s).softmax(-1),
        "float32": lambda s: softmax(s.astype(np.float32)),
    },
    "m04.entropy_in_bits": {
        "only positive weights": lambda w: [
            -(row[row > 0] * np.log2(row[row > 0])).sum() for row in w
        ],
        "ones for zeros": lambda w: -(w * np.log2(np.where(w > 0, w, 1))).sum(-1),
        "loops": lambda w: [-sum(a * math.log2(a) for a in row if a > 0) for row in w.tolist()],
        "nats first": lambda w: -(w * np.log(np.where(w == 0, 1, w))).sum(-1) / np.log(2),
        "torch's entr": lambda w: torch.special.entr(grad(w)).sum(-1) / math.log(2),
        "xlogy": lambda w: -torch.xlogy(t := torch.from_numpy(w), t).sum(-1) / math.log(2),
        "float32": lambda w: m04.entropy_in_bits(w.astype(np.float32)),
        "NaN made 0": lambda w: -np.nan_to_num(w * np.log2(w)).sum(-1),
        "the smallest number": lambda w: m04.entropy(np.maximum(w, np.finfo(float).tiny)),
    },
    "m04.softmax_backward": {
        "a row of the table at a time": lambda w, g: [
            [up @ (a * (np.arange(len(row)) == i) - a * row) for i, a in enumerate(row)]
            for row, up in zip(w, g, strict=True)
        ],
        "one number of the table at a time": backward_in_loops,
        "einsum": lambda w, g: w * g - w * np.einsum("ls,ls->l", w, g)[:, None],
        "autograd": m04.backward_by_autograd,
        "float32": lambda *rows: m04.softmax_backward(*f32(*rows)),
    },
    "m05.for_pytorch": {
        "lists": lambda m: [part.tolist() for part in m05.for_pytorch(m)],
        "the logarithm": lambda m: (m, np.log(m.astype(float)), np.logical_not(m)),
        "torch": lambda m: (
            t := torch.from_numpy(m),
            torch.zeros(t.shape).masked_fill(~t, -torch.inf),
            ~t,
        ),
        "exclusive or": lambda m: (m.copy(), np.where(m, 0, -np.inf).astype(np.float16), m ^ True),
    },
    "m05.causal_padding_mask": {
        "loops": padding_in_loops,
        "attention.py": m05.by_attention_py,
        "tril": lambda L, S, lengths: (
            np.tril(np.ones((L, S), bool), S - L)[None, None]
            & (np.arange(S) < lengths[:, None])[:, None, None]
        ),
        "torch": lambda L, S, lengths: (
            torch.ones(L, S).tril(S - L).bool()
            & (torch.arange(S) < torch.tensor(lengths)[:, None])[:, None, None]
        ),
    },
    "m05.masked_softmax": {
        "loops": masked_in_loops,
        "where and out": masked_with_out,
        "torch that requires grad": masked_in_torch,
        "float32": lambda s, m: m05.masked_softmax(s.astype(np.float32), m),
        "lists": lambda s, m: m05.masked_softmax(s, m).tolist(),
    },
    "m06.split_heads": {
        "pieces": m06.head_by_head,
        "reshape and transpose": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(0, 2, 1, 3),
        "torch": lambda x, H: grad(x).unflatten(-1, (H, -1)).transpose(1, 2),
        "a list of lists": lambda x, H: m06.split_heads(x, H).tolist(),
    },
    "m06.merge_heads": {
        "pieces": m06.side_by_side,
        "einsum": lambda heads: np.einsum("bhld->blhd", heads).reshape(*heads[:, 0].shape[:2], -1),
        "torch": lambda heads: grad(heads).transpose(1, 2).flatten(2),
        "token by token": lambda heads: [
            [np.concatenate(list(text[:, i])) for i in range(heads.shape[2])] for text in heads
        ],
    },
    "m06.multi_head": {
        "head by head": heads_in_turn,
        "einsum": heads_by_einsum,
        "torch that requires grad": heads_in_torch,
        "float32": lambda *layer: m06.multi_head(*f32(*layer[:5]), layer[5]),
        "text by text": lambda x, *layer: (m06.multi_head(text[None], *layer)[0] for text in x),
    },
    "m06.project_heads": {
        "head by head": m06.one_matrix_a_head,
        "broadcasting": lambda x, W: x[:, None] @ W,
        "torch": lambda x, W: torch.einsum("ble,hed->bhld", grad(x), grad(W)),
        "a generator of texts": lambda x, W: (text @ W for text in x),
    },
    "m06.count_parameters": {
        "counted": m06.counted,
        "NumPy's integer": lambda *sizes: np.int64(m06.count_parameters(*sizes)),
        "matrix by matrix": lambda E, H, G, bias: sum(
            E * out + bias * out for out in (E, E // H * G, E // H * G, E)
        ),
    },
    "m11.online_softmax": {
        "prefix by prefix": m11.prefix_by_prefix,
        "score by score": one_score_at_a_time,
        "as lists": lambda *row: tuple(part.tolist() for part in m11.online_softmax(*row)),
        "torch": lambda s, v, n: tuple(map(torch.from_numpy, m11.online_softmax(s, v, n))),
    },
    "m11.merge": {
        "attention to two keys": m11.together,
        "logaddexp": lambda a, x, b, y: (
            np.exp(x - np.logaddexp(x, y)) * a + np.exp(y - np.logaddexp(x, y)) * b,
            np.logaddexp(x, y),
        ),
        "a sigmoid": lambda a, x, b, y: (
            b + (a - b) / (1 + np.exp(np.minimum(y - x, 700))),
            np.logaddexp(x, y),
        ),
        "torch": lambda *two: tuple(map(torch.from_numpy, m11.merge(*two))),
    },
    "m11.bytes_carried": {
        "trip by trip": m11.counted,
        "as floats": lambda *sizes: tuple(map(float, m11.bytes_carried(*sizes))),
        "a list": lambda *sizes: list(m11.bytes_carried(*sizes)),
        "a generator": lambda *sizes: (n for n in m11.bytes_carried(*sizes)),
    },
}


def cases(table):
    for task, answers in table.items():
        module, name = task.split(".")
        for style, answer in answers.items():
            yield pytest.param(tasks_of(module)[name], answer, id=f"{task}: {style}")


@pytest.mark.parametrize(("task", "answer"), list(cases(WRONG)))
def test_a_wrong_answer_is_refused(task, answer):
    for seed in MORE_SEEDS:
        outcome = examine(task, answer, seed)
        assert outcome.status == FAILED, f"passes with seed {seed}"
        assert "got" in outcome.case, outcome.message  # it returns something


@pytest.mark.parametrize(("task", "answer"), list(cases(RIGHT)))
def test_a_right_answer_is_accepted(task, answer):
    for seed in SEEDS:
        outcome = examine(task, answer, seed)
        assert outcome.status == PASSED, (seed, outcome)


@pytest.mark.parametrize("table", [WRONG, RIGHT])
def test_every_task_is_in_the_table(table):
    modules = [*(f"m0{n}" for n in range(7)), "m11"]
    tasks = {f"{module}.{name}" for module in modules for name in tasks_of(module)}
    assert set(table) == tasks
