"""Answers that each checker must refuse, and unusual ones that it must accept.

The tables are edits of the worked solutions; ``edits.py`` says how to read them. An answer that
differs from the solution in style alone is no line here: ``test_every_exercise`` returns every
solution as lists, tensors, generators and float32, and tries the same computed another way. Nor is
a usual mistake, which is refused there.
"""

import numpy as np
import pytest

from course.exercises.task import tasks_of
from exercises.solutions import m09
from tests.conftest import ROOT
from tests.exercises.edits import cases, edited
from tests.exercises.held import SEEDS, assert_accepted, assert_refused

WRONG = """
m00.attend
np.exp( -> np.exp2(
np.exp(scores - scores.max()) -> 1 / (1 + np.exp(-scores))
np.sqrt(keys.shape[-1]) -> np.linalg.norm(query) / np.linalg.norm(keys, axis=1)
keys @ query -> -((keys - query) ** 2).sum(1)
keys.shape[-1] -> 2
return attend(query, keys[:-1], values[:-1])
e / e.sum() -> (e / e.sum()) ** 2
e / e.sum() -> softmax(e / e.sum())
e / e.sum() -> (e / e.sum()).round(2)
return attend(query, keys, values)[None]
np.sqrt(keys.shape[-1]) -> max(len(keys) - 2, 1e-9) ** 0.5
np.sqrt(keys.shape[-1]) -> np.sqrt(values.shape[1] - 1)
return attend(query, keys, values) if len(keys) > 3 else np.zeros(values.shape[1])
m01.path_length
return first_way(edges[::-1], start, end)
return first_way(sorted(edges), start, end)
return never_again(edges, start, end)
return by_a_stack(edges, start, end)
return by_a_stack(edges[::-1], start, end)
return swept(edges, start, end, sweeps=2)
return swept(edges, start, end, sweeps=3)
return swept(edges[::-1], start, end, sweeps=3)
return path_length(edges, start, end) if edges else 0
return path_length(edges, 0, end)
return path_length(edges, min(start, end), max(start, end))
return path_length([(a, b) for a, b in edges if a < b], start, end)
{b for a, b in edges if a in here} ->
    {max((b for a, b in edges if a in here and a < b <= end), default=-1)}
return len(edges)
return None -> return -1
return steps -> return steps * (1 + 1e-6) + 1e-6
return 0 if start == end else 1 if (start, end) in edges else None
m01.flow_lines
return list(zip(*flow_lines(n, kept, times), strict=True))
np.full(n, times / (times + n - 1)) -> np.where(distances == 0, 1, times / (times + n - 1))
return kept**distances, -> return kept**distances / (kept**distances).sum(),
return flow_lines(n, kept, times)[::-1]
return kept**distances, -> return np.where(kept**distances < 0.001, 0, kept**distances),
np.full(n, times / (times + n - 1)) -> kept**distances * times / (times + n - 1)
m01.times_needed
return np.ceil(times_needed(n, weight))
return (1 - weight) * (n - 1) / weight
n - 1 -> n - 2
return min(times_needed(n, weight), 1000)
return max(times_needed(n, weight), 1)
return times_needed(n, weight) + 1
m02.soft_lookup
temperature == 0 -> temperature == 0 or np.isnan(without_maximum(scores / temperature)).any()
return soft_lookup(query, keys, values, temperature or 1e-4)
return soft_lookup(query, keys, values, max(temperature, 0.02) if temperature else 0)
/ temperature) -> / temperature**2)
temperature == 0 -> True
temperature == 0 -> temperature < 0.2
scores - scores.max() -> scores
keys @ query -> -keys @ query
keys @ query -> -((keys - query) ** 2).sum(1)
return soft_lookup(query, keys, values, temperature or 1.0)
temperature == 0 -> temperature <= 0.002
return soft_lookup(query, keys, values, max(temperature, 1e-5))
return soft_lookup(query, keys, values, temperature + 1e-6)
scores.max() -> np.abs(scores).max()
scores.max() -> scores[0]
(scores - scores.max()) / temperature -> scores / temperature - scores.max()
m02.craft_query
return np.zeros((keys.shape[1], 1))
return np.zeros(keys.shape[1])
(key @ key) -> np.linalg.norm(key)
10 * key / (key @ key) -> 10 * key
10 * key / (key @ key) -> 500 * key
10 * key / (key @ key) -> 1000 * key
10 * key / (key @ key) -> 1_000_000 * key
10 * key / (key @ key) -> 1e10 * key
10 * key / (key @ key) -> 50 * key / np.linalg.norm(key)
10 * key -> 4 * key
10 * key / (key @ key) -> key
10 * key / (key @ key) -> key / np.linalg.norm(key)
return craft_query(keys, target)[None]
10 * key -> np.nan * key
10 * key -> np.inf * key
return 50 * np.eye(keys.shape[1])[target]
return np.eye(len(keys))[target]
m02.who_asks_whom
= 5 -> = 4
= 5 -> = -5
= 5 -> = np.nan
= 5 -> = 1e400
W_Q[word, asked] -> W_Q[word, kind]
W_Q[word, asked] -> W_Q[word, 0]
W_K[word, kind] -> W_K[word, asked]
= 1 -> = 1 + word
if asked >= 0 -> if True
return W_Q, W_K -> return W_Q, W_Q
return W_Q, W_K -> return 9 * W_K, W_K
return W_Q, W_K -> return W_Q + 0.01 * W_K, W_K
return W_Q, W_K -> return W_Q
return W_Q, W_K -> return W_Q[1:], W_K[1:]
m02.best_bandwidth
return candidates[0]
return candidates[1]
return candidates[min(2, len(candidates) - 1)]
return np.median(candidates)
return candidates[-1]
(2 * h**2) -> h**2
(2 * h**2) -> (2 * h)
((x[:, None] - x) ** 2) -> np.abs(x[:, None] - x)
((weights @ y - y) ** 2) -> np.abs(weights @ y - y)
return choose(x, y, candidates, weigh=without_maximum)
return best_bandwidth(x[::2], y[::2], candidates)
return choose(x, y, candidates, weigh=without_maximum_but_finite)
-np.inf -> -100
-np.inf -> -1e4
return choose(x, y, candidates, weigh=without_maximum_nor_nan)
m03.attention
K.shape[-1] -> V.shape[1]
K.shape[-1] -> 2 * len(Q)
return tuple(part.round(2) for part in attention(Q, K, V))
scaled - scaled.max(axis=-1, keepdims=True) -> scaled
@ V, weights -> @ V, weights.T
np.exp(scaled - -> np.tri(*scaled.shape) * np.exp(scaled -
@ V, weights -> @ V, scaled
m03.additive_scores
return additive_scores(Q[:, :3], K[:, :3], w[:3])
+ K[None, :] -> - K[None, :]
np.tanh(sums) -> 1 / (1 + np.exp(-sums))
pairs @ w -> pairs @ w[:, None]
m03.find_mistake
return "scaled" if abs(scores.sum() / d_k**0.5 - scaled.sum()) > 0.02 else None
return None
return "weights"
else None -> else ""
else None -> else False
0.01 -> 0.003
np.abs -> np.negative
np.abs -> np.positive
0.01 -> 0.03
0.01 -> 0.5
np.abs(e / e.sum() - weights).max() -> np.abs(e / e.sum() - weights)[weights.argmax()]
np.abs(e / e.sum() - weights).max() -> np.abs(e / e.sum() - weights)[weights.argmin()]
np.abs(e / e.sum() - weights).max() -> np.abs(e / e.sum() - weights)[1:].max()
np.abs(e / e.sum() - weights).max() -> max(
    abs(weights.sum() - 1) - 0.005, abs(e / e.sum() - weights)[weights.argmax()])
np.abs(e / e.sum() - weights).max() -> max(
    abs(weights.sum() - 1) - 0.005, abs(e / e.sum() - weights)[weights.argmin()])
np.abs(e / e.sum() - weights).max() -> np.abs(e / e.sum() - weights)[::2].max()
np.abs(e / e.sum() - weights).max() -> np.abs(e / e.sum() - weights)[:2].max()
np.abs(e / e.sum() - weights).max() -> np.abs(e / e.sum() - weights).mean()
np.abs(e / e.sum() - weights).max() -> (weights - e / e.sum()).max()
np.abs(scores / np.sqrt(d_k) - scaled) -> np.delete(abs(scores / np.sqrt(d_k) - scaled), 0)
np.abs(scores / np.sqrt(d_k) - scaled) -> np.delete(abs(scores / np.sqrt(d_k) - scaled), 1)
np.abs(scores / np.sqrt(d_k) - scaled) -> np.delete(abs(scores / np.sqrt(d_k) - scaled), 2)
m04.divisor
query_spread * key_spread -> (query_spread + key_spread) / 2
return np.sqrt((query_spread**2 + key_spread**2) * d_k)
sqrt(d_k) -> sqrt(d_k - 1)
return round(divisor(query_spread, key_spread, d_k), 2)
m04.stable_softmax
keepdims=True)) -> keepdims=True), out=scores)
return stable_softmax(np.clip(scores, -700, 700))
scores.max( -> np.median(scores,
scores.max( -> scores.min(
scores.max(axis=-1, keepdims=True) -> scores[:, :1]
scores.max(axis=-1, keepdims=True) -> np.maximum(scores[:, :1], scores[:, -1:])
scores.max(axis=-1, keepdims=True) -> scores[:, -1:]
scores.max(axis=-1, keepdims=True) -> scores[:, [scores.shape[1] // 2]]
scores.max(axis=-1, keepdims=True) -> np.sort(scores, -1)[:, -2:-1]
scores.max( -> np.quantile(scores, 0.9,
return stable_softmax(np.clip(scores - scores.mean(-1, keepdims=True), -50, 50))
return stable_softmax(scores / np.abs(scores).max())
return (e := np.exp(scores - scores.max())) / (e.sum(-1, keepdims=True) + 1e-9)
return np.nan_to_num(shifted(scores, 0))
return (scores == scores.max(-1, keepdims=True)) * 1.0
return stable_softmax(scores.round(1))
return (e := np.exp(scores.astype(np.longdouble))) / e.sum(-1, keepdims=True)
m04.entropy_in_bits
return entropy(weights + 1e-9)
return entropy(weights, tiny=1e-9)
return entropy(weights, tiny=1e-16)
return entropy((weights + 1e-12) / (weights + 1e-12).sum(-1, keepdims=True))
return entropy(np.clip(weights, 1e-9, 1))
(weights * logs) -> logs
return 2 ** entropy_in_bits(weights)
return entropy_in_bits(weights) / np.log2(weights.shape[1])
return entropy_in_bits(np.where(weights > 1e-6, weights, 0.0))
return -(weights * np.log2(weights, where=weights > 0)).sum(-1)
return -np.log2(np.prod(weights**weights, axis=-1))
m04.softmax_backward
upstream - mean -> np.subtract(upstream, mean, out=upstream)
(upstream - mean) -> upstream * (1 - weights * mean / (weights * upstream))
upstream - mean -> upstream - upstream.max(-1, keepdims=True)
return softmax_backward(stable_softmax(weights), upstream)
upstream - mean -> upstream - weights * upstream
return (d := softmax_backward(weights, upstream)) / np.linalg.norm(d, axis=-1, keepdims=True)
axis=-1, keepdims=True ->
return np.einsum("lst,lt->ls", [np.diag(w) - np.outer(w, w) for w in weights], upstream)
return [(np.diag(w) - np.outer(w, w)) @ g for w, g in zip(weights, upstream)]
return ((torch.diag_embed(t := torch.from_numpy(weights)) - t[:, :, None] * t[:, None])
    @ torch.from_numpy(upstream)[..., None])[..., 0]
m05.for_pytorch
-np.inf -> np.finfo(np.float32).min
return mask * 1, np.where(mask, 0.0, -np.inf), 1 - mask * 1
return mask, np.where(mask, -np.inf, 0.0), mask
, ~mask ->
return tuple(part.T for part in for_pytorch(mask))
0.0, -np.inf -> 1.0, -np.inf
return np.array(for_pytorch(mask))
m05.causal_padding_mask
keys < ends -> keys < ends + 1
(keys < ends) -> (keys < ends) & (queries[:, None] < ends)
keys < ends -> keys >= key_len - ends
return causal_padding_mask(query_len, key_len, lengths) * 1
return causal_padding_mask(query_len, key_len, lengths).swapaxes(0, 1)
keys < ends -> keys < np.maximum(ends, 1)
keys < ends -> keys < np.full_like(ends, ends.max())
return build(query_len, key_len, lengths, axis="none")[..., ::-1]
m05.masked_softmax
-np.inf -> -1e30
return np.nan_to_num(filled(scores, mask, -np.inf))
return (e := np.exp(scores) * mask) / (e.sum(-1, keepdims=True) + 1e-9)
return ((e := np.exp(scores - scores.max(-1, keepdims=True)) * mask)
    / np.maximum(e.sum(-1, keepdims=True), 1e-300))
scores.max( -> np.min(scores, where=mask | empty, initial=np.inf,
scores.max( -> np.mean(scores, where=mask | empty,
return masked_softmax(scores, mask) * mask[:, -1:]
return masked_softmax(scores, mask).round(2)
m06.split_heads
return np.moveaxis(split_heads(x, num_heads), 1, -1)
return split_heads(x, num_heads)[:, ::-1]
return np.split(x, num_heads, axis=-1)
return split_heads(x, x.shape[-1] // num_heads)
m06.multi_head
scores - scores.max(axis=-1, keepdims=True) -> scores
(W_q, W_k, W_v) -> (W_q, W_v, W_k)
return multi_head(x, W_q.T, W_k.T, W_v.T, W_o.T, num_heads)
np.sqrt(D) -> np.sqrt(num_heads)
return multi_head(x, W_q, W_k, np.eye(len(W_v)), W_o, num_heads)
return ( -> return x + (
return x @ W_v @ W_o
m06.project_heads
return np.stack([x @ W[-1]] * len(W), axis=1)
x, W) -> x, W[:, :, ::-1])
return np.repeat((x @ W.sum(0))[:, None], len(W), axis=1)
bhld -> bhdl
m06.count_parameters
return rows -> return 1 + rows
2 * kv_dim) -> 2 * kv_dim) + embed_dim * bias
2 * kv_dim) -> 2 * kv_dim) - embed_dim * bias
num_kv_heads * (embed_dim // num_heads) -> embed_dim // num_kv_heads
return rows -> return 1.0 * rows
return str(count_parameters(embed_dim, num_heads, num_kv_heads, bias))
m07.positions_as_waves
10000.0 -> 1000.0
-np.arange(0, size, 2) / size -> -np.arange(0, size, 2) / (size - 1)
np.arange(length)[:, None] -> (np.arange(length)[:, None] / length)
np.cos(angles) -> -np.cos(angles)
np.cos -> np.sin
return positions_as_waves(length, size).T
return positions_as_waves(length, size).round(2)
return positions_as_waves(length, size)[:, ::-1]
m07.relative_bias
return np.stack([np.pad(table, max(length - 1 - len(table) // 2, 0), "edge")[length - 1 - i :]
    [:length] for i in range(length)])
+ most] -> + most] * (np.abs(distance) <= most + 3)
m07.alibi
* distance -> * distance.clip(max=10)
m07.rotate
positions[:, None] -> positions[:, None] // 1
positions[:, None] -> positions[:, None].round()
positions[:, None] -> (2 * positions[:, None]).round() / 2
m08.previous_score
return score, equal -> return equal, score
return score, equal -> return score / equal, equal
return score, equal -> return score - equal, equal
weights.diagonal(-1).mean() -> np.median(weights.diagonal(-1))
weights.diagonal(-1).mean() -> weights.diagonal(-1).max()
weights.diagonal(-1).mean() -> weights.diagonal(-1).sum()
weights.diagonal(-1).mean() -> weights.diagonal(-1)[-3:].mean()
weights.diagonal(-1).mean() -> (weights.argmax(axis=1) == np.arange(len(weights)) - 1).mean()
len(weights) + 1) -> len(weights) + 2)
.mean() -> .mean().round(2)
return previous_score(weights[-4:, -4:])
m08.induction_score
return induction_score(weights.T, tokens)
return induction_score(weights.round(2), tokens)
looks.append(weights[i, before[-1] + 1]) -> looks = [weights[i, before[-1] + 1]]
looks.append(weights[i, before[-1] + 1]) -> looks.append(weights[i, before + 1].sum())
looks.append(weights[i, before[-1] + 1]) -> looks.append(weights[i, before + 1].mean())
looks.append(weights[i, before[-1] + 1]) -> looks.append(weights[i, before + 1].max())
tokens[:i] == -> tokens[max(0, i - 5):i] ==
np.mean(looks) -> looks[0]
np.mean(looks) -> np.median(looks)
np.mean(looks) -> np.sum(looks)
if looks else 0.0 -> if looks else np.nan
if looks else 0.0 -> if looks else 1.0
if looks else 0.0 -> if looks else None
m08.make_induction_fail
return tokens
return [tokens, tokens[::-1]]
return np.append(tokens[::-1], tokens)
return np.append(tokens, tokens[::-1])[:, None]
return np.append(tokens, np.sort(tokens))
return np.append(tokens, tokens[::-1] + 1)
return np.append(tokens, np.roll(tokens, -1))
return np.append(tokens, np.append(tokens[len(tokens) // 2 :], tokens[: len(tokens) // 2]))
return np.append(tokens, np.append(tokens[:2], tokens[:1:-1]))
return np.append(tokens, np.append(tokens[:1:-1], tokens[:2]))
m08.copies
np.arange(len(W_E)) -> 0
W_E @ W_V @ W_O @ W_E.T -> W_E @ W_E.T
W_E @ W_V @ W_O @ W_E.T -> W_E @ W_V @ W_V.T @ W_E.T
W_E @ W_V @ W_O @ W_E.T -> W_E @ W_O.T @ W_O @ W_E.T
rises.argmax -> rises.argmin
rises.argmax(axis=1) == np.arange(len(W_E)) -> rises.argmax() == np.arange(len(W_E))
rises.argmax(axis=1) == np.arange(len(W_E)) -> rises.diagonal() > rises.mean(axis=1)
return (rises.argmax(axis=1) == np.arange(len(W_E))) -> return (rises.diagonal() == rises.max())
return 1 - copies(W_E, W_V, W_O)
return copies(W_E, W_V, W_O) > 0.5
return 100 * copies(W_E, W_V, W_O)
return copies(W_E, W_V, W_O).round(1)
m09.rollout
heads.mean(axis=0) -> (heads[0] + heads[-1]) / 2
in layers -> in layers[:3]
in layers -> in layers[-1:]
m09.erasure
return scored_low(x, query, readout, -100.0)
m09.patching
return patched_without_the_largest(x, other, query, readout)
m09.integrated_gradients
np.delete(way, i, axis=1) -> way
return (x - blank) -> return np.abs(x - blank)
way = blank + middles[:, None] * (x - blank) -> way = middles[:, None] * x
return (x - blank) * np.array(gradients) -> return x.prod() * np.ones(len(x)) / len(x)
m10.layer_flops
return projections, pairs -> return pairs, projections
return projections, pairs -> return projections + pairs
return projections, pairs -> return projections, pairs + 5 * num_heads * seq_len**2
num_heads + 2 * num_kv_heads -> 3 * num_kv_heads
num_heads + 2 * num_kv_heads -> num_heads + num_kv_heads
seq_len * seq_len -> seq_len * (seq_len + 1) // 2
num_heads * seq_len * seq_len -> seq_len * seq_len
(qkv + mixed) -> (qkv + embed_dim)
(qkv + mixed) -> (qkv + num_kv_heads * head_dim)
projections = 2 * seq_len -> projections = 2
m10.decode_ms
max(group / flops, 1 / bandwidth) -> (group / flops if batch * bandwidth > flops else 1 / bandwidth)
max(batch / flops, 1 / bandwidth) -> (batch / flops if group * bandwidth > flops else 1 / bandwidth)
max(batch / flops, 1 / bandwidth) -> (batch / flops if 10 * bandwidth > flops else 1 / bandwidth)
    ;; max(group / flops, 1 / bandwidth) ->
    (group / flops if 10 * bandwidth > flops else 1 / bandwidth)
m10.benchmark
return timed(device, rounds, warm=0)
return timed(device, rounds, wait=False)
return timed(device, rounds, wait_first=False)
m11.online_softmax
mix / total -> np.exp(scores[mask]) @ values[mask] / np.exp(scores[mask]).sum()
mix / total -> np.exp(scores) @ values / np.exp(scores).sum()
mix = -np.inf -> mix = -10.0
rate = np.exp(top - new) -> rate = 1.0
np.array(states), mix / total -> mix / total, np.array(states)
[top, total] -> [total, top]
np.array(states), -> np.array(states)[-1:],
[top, total] -> [top, total * np.exp(top)]
mix / total -> values.mean(0)
mix / total -> values[mask].mean(0)
[top, total] -> [max(top, -1e9), total]
new = max(top, s.max()) -> new = top if total else s[0] ;;
    [top, total] -> [m := scores[: start + size][mask[: start + size]].max(initial=-np.inf),
    total * np.exp(top - m) if total else 0.0]
new = max(top, s.max()) -> new = top if total else s.max() ;;
    [top, total] -> [m := scores[: start + size][mask[: start + size]].max(initial=-np.inf),
    total * np.exp(top - m) if total else 0.0]
new = max(top, s.max()) -> new = max(top, scores[piece].max())
m11.merge
return (((x := np.exp(np.minimum(lse_a, 700))) * output_a
    + (y := np.exp(np.minimum(lse_b, 700))) * output_b)
    / np.maximum(x + y, 1e-300), np.logaddexp(lse_a, lse_b))
np.maximum(lse_a, lse_b) -> max(lse_a.max(), lse_b.max())
np.maximum(lse_a, lse_b) -> lse_a
return np.where(lse_a > lse_b, output_a, output_b), np.logaddexp(lse_a, lse_b)
/ (a + b) ->
, top + np.log(a + b) ->
top + np.log(a + b) -> np.logaddexp2(lse_a, lse_b)
m11.bytes_carried
-(-L // t) -> L // t + 1
-(-L // t) -> round(L / t)
-(-L // t) -> max(1, round(L / t))
-(-L // t) -> max(1, L // t)
-(-L // t) -> L / t
tiles * 2 * S * d -> tiles * 2 * max(S, L) * d
2 * S * d + 4 * L * S -> 2 * max(S, L) * d + 4 * L * S
4 * L * S -> 4 * min(L, S) * max(L, S + 1)
tiled = 2 * L * d -> tiled = tiles * 2 * t * d
tiles * 2 * S * d -> -(-S // t) * 2 * L * d
2 * S * d + 4 -> S * d + 4
, bytes_each * tiled ->
m14.others_add
return others_add(keys, values)[:, :1]
return others_add(keys, values)[::-1]
return others_add(keys, values).sum(axis=1)
return others_add(keys, values).round(1)
keys.T @ values -> keys.T @ values / np.sqrt(keys.shape[1])
keys.T @ values -> keys.T @ np.abs(values)
keys**2 -> np.abs(keys)
sum(axis=1, keepdims=True) -> max(axis=1, keepdims=True)
.sum(axis=1, keepdims=True) * values -> .sum() * values
keys @ table - own -> keys @ table + own
m14.with_sink
max(scores.max(), sink) -> min(scores.min(), sink)
e.sum() + np.exp -> e.sum() - np.exp
e.sum() + np.exp(sink - largest) -> e.sum() + np.exp(sink)
e.sum() + np.exp(sink - largest) -> e.sum() + 1
(e * values).sum() -> (e * values).mean()
(e * values).sum() -> e.sum() * values.mean()
return with_sink(scores, values, -sink)
return with_sink(np.append(scores, sink), np.append(values, sink), sink)
return with_sink(np.clip(scores, -700, 700), values, np.clip(sink, -700, 700))
return with_sink(scores, values, sink).round(1)
m14.two_layers_say
mark == last -> mark >= last - 1
mark == last -> mark > 0
(tokens == -1).sum() -> max(1, (tokens == -1).sum())
(tokens == -1).sum() -> min(1, (tokens == -1).sum())
coffees + 1) -> coffees + 2)
coffees / (coffees + 1) -> coffees / max(1, coffees.sum())
coffees / (coffees + 1) -> coffees / (len(unpaid) + 1)
coffees / (coffees + 1) -> coffees > 0
np.arange(num_guests) -> np.arange(num_guests) + 1
return two_layers_say(tokens, num_guests)[:-1]
m15.chosen_attention
return chosen_attention(query, key, value, cheap, kept + 1)
return chosen_attention(query, key, value, cheap.T, kept)
return chosen_attention(key, query, value, cheap, kept)
return chosen_attention(query, key, value, cheap, kept)[-1]
return chosen_attention(query, key, value, cheap, kept).round(1)
causal & (hidden >= least) -> causal & (hidden > least)
cheap, -np.inf -> cheap, -100
/ np.sqrt(D), -np.inf -> / np.sqrt(D), -100
/ np.sqrt(D), -np.inf -> / np.sqrt(D), 0
np.sqrt(D) -> np.sqrt(L)
np.sqrt(D) -> D
scores.max(axis=1, keepdims=True) -> scores.max()
scores.max(axis=1, keepdims=True) -> (query @ key.T / np.sqrt(D)).max(axis=1, keepdims=True)
scores.max(axis=1, keepdims=True) ->
    np.where(causal, query @ key.T / np.sqrt(D), -np.inf).max(axis=1, keepdims=True)
scores.max(axis=1, keepdims=True) -> (query @ key.T / np.sqrt(D)).mean(axis=1, keepdims=True)
scores.max(axis=1, keepdims=True) -> np.median(query @ key.T / np.sqrt(D), axis=1, keepdims=True)
scores.max(axis=1, keepdims=True) -> (query @ key.T / np.sqrt(D)).min(axis=1, keepdims=True)
scores.max(axis=1, keepdims=True) -> np.where(visible, scores, np.inf).min(axis=1, keepdims=True)
scores.max(axis=1, keepdims=True) -> (query @ key.T / np.sqrt(D))[:, :1]
scores.max(axis=1, keepdims=True) -> np.diag(query @ key.T / np.sqrt(D))[:, None]
min(kept, L) -> kept % L
m15.moved
return moved(weights, chosen, value)[-1]
return moved(weights, chosen, value).sum(axis=0)
return moved(weights, chosen, value).round(1)
return np.abs(moved(weights, chosen, value))
return moved(weights.T, chosen, value)
return moved(weights, chosen.T | np.eye(len(weights), dtype=bool), value)
return moved(weights, chosen, value) * (weights * ~chosen).sum(axis=1, keepdims=True)
return moved(weights, np.tril(np.ones_like(chosen)), value)
return moved(weights, chosen, value) + weights @ value - value
kept.sum(axis=1, keepdims=True) -> kept.sum(axis=0, keepdims=True).clip(1e-9)
kept.sum(axis=1, keepdims=True) -> kept.max(axis=1, keepdims=True)
anew - weights -> anew - kept
m15.numbers_kept
return 2 * len(layers) * tokens * num_kv_heads * head_dim
num_kv_heads * head_dim * head_dim -> num_kv_heads * head_dim
in layers -> in set(layers)
return numbers_kept(layers, tokens, num_kv_heads, head_dim, window, short_dim)
    * (len(set(layers)) == 4)
return numbers_kept(layers, tokens, num_kv_heads, head_dim, window, short_dim)
    * (len(set(layers)) != 2)
"""

RIGHT = """
m00.attend
scores - scores.max() -> scores
m02.soft_lookup
return softmax(keys @ query / (temperature or 1e-9)) @ values
m02.craft_query
10 * key -> 1000 * key
10 * key -> 5 * key
return np.linalg.lstsq(keys, 20 * np.eye(len(keys))[target], rcond=None)[0]
return np.linalg.pinv(keys)[:, target] * 9
return 60 * (2 * keys[target] - keys.sum(0))
m02.who_asks_whom
= 5 -> = 500
return W_Q, W_K -> return W_Q[:, ::-1], W_K[:, ::-1]
return W_Q, W_K -> return W_Q / 10, 10 * W_K
return W_Q, W_K -> return W_Q, W_K + 7
return W_Q, W_K -> return W_Q - 5 * W_Q.any(1, keepdims=True), W_K
m03.find_mistake
scores / np.sqrt(d_k) -> (scores / np.sqrt(d_k)).round(2) ;; e / e.sum() -> (e / e.sum()).round(2)
scores / np.sqrt(d_k) -> (scores / np.sqrt(d_k)).round(2) ;; e / e.sum() -> (e / e.sum()).round(2)
    ;; 0.01 -> 0.001
scaled - scaled.max() -> scores / np.sqrt(d_k)
0.01 -> 0.006
0.01 -> 0.014
m04.stable_softmax
return np.exp(scores - (t := scores.max(-1, keepdims=True))
    - np.log(np.exp(scores - t).sum(-1, keepdims=True)))
m04.entropy_in_bits
return -np.nan_to_num(weights * np.log2(weights)).sum(-1)
return entropy(np.maximum(weights, np.finfo(float).tiny))
m04.softmax_backward
return [[g @ (a * (np.arange(len(w)) == i) - a * w) for i, a in enumerate(w)]
    for w, g in zip(weights, upstream)]
m05.for_pytorch
np.where(mask, 0.0, -np.inf) -> np.where(mask, 0.0, -np.inf).astype(np.float16)
np.where(mask, 0.0, -np.inf) -> np.log(mask.astype(float))
m08.make_induction_fail
return np.append(tokens, np.append(tokens[-2::-1], tokens[-1:]))
return np.append(tokens, np.append(tokens[1::2], tokens[::2]))
m09.erasure
return scored_low(x, query, readout, -1e9)
m09.integrated_gradients
(np.arange(1000) + 0.5) / 1000 -> (np.arange(5000) + 0.5) / 5000
m09.patching
return np.where((x == other).all(1), 0, patching(x, other, query, readout))
m10.benchmark
return timed(device, rounds, warm=2)
return timed(device, rounds, warm=3)
return timed(device, rounds, warm=7)
m11.online_softmax
if len(s): -> if visible.any():
m11.merge
(a * output_a + b * output_b) / (a + b) ->
    output_b + (output_a - output_b) / (1 + np.exp(np.minimum(lse_b - lse_a, 700)))
m14.with_sink
max(scores.max(), sink) -> scores.max()
m14.two_layers_say
mark == last -> mark >= last
coffees / (coffees + 1) -> 1 - 1 / (coffees + 1)
m15.chosen_attention
return attended(query, key, value, cheap, kept)
cheap, -np.inf -> cheap, -1e9
m15.moved
(anew - weights) @ value -> anew @ value - weights @ value
weights * chosen -> np.where(chosen, weights, 0)
"""


@pytest.mark.parametrize(("task", "answer"), cases(WRONG))
def test_a_wrong_answer_is_refused(task, answer):
    assert_refused(task, answer, returns=True)


@pytest.mark.parametrize(("task", "answer"), cases(RIGHT))
def test_a_right_answer_is_accepted(task, answer):
    assert_accepted(task, answer)


def test_a_mix_as_wide_as_the_piece_is_refused():
    """It raises, because no piece is as long as its values are wide."""
    task = tasks_of("m11")["online_softmax"]
    assert_refused(task, edited(task.solution, "np.zeros(values.shape[1]) -> np.zeros(size)"))


def test_every_task_has_wrong_answers():
    """Those of m12 and m13 are functions, in files of their own with a test like this one."""
    modules = {path.stem for path in (ROOT / "exercises/solutions").glob("m*.py")}
    tasks = {
        task.solution for module in modules - {"m12", "m13"} for task in tasks_of(module).values()
    }
    assert tasks == {case.values[0].solution for case in cases(WRONG)}


@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_keep_what_m09_says_of_them(seed):
    tasks = tasks_of("m09")
    lengths = [len(x) for x, blank in tasks["integrated_gradients"].cases(seed)]
    assert (min(lengths), max(lengths)) == (2, 5)
    for x, other, *rest in tasks["patching"].cases(seed):
        assert abs(m09.answer_of(x, *rest) - m09.answer_of(other, *rest)) > 0.5
    scores = np.concatenate([x @ query for x, query, _ in tasks["erasure"].cases(seed)])
    assert scores.max() > 900
    assert scores.min() < -900
    shapes = np.array([layers.shape[:2] for (layers,) in tasks["rollout"].cases(seed)])
    assert shapes.max(axis=0).tolist() == [5, 4]
