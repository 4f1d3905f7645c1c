"""Answers that m12's checkers must refuse, and right ones in other styles that they must accept."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attention import KVCache
from course.exercises.examine import FAILED, examine
from course.exercises.task import tasks_of
from exercises.solutions import m12
from tests.exercises.held import assert_accepted, assert_refused, pairs

TASKS = tasks_of("m12")


def torch_step(x, W_q, W_k, W_v, keys, values):
    x, W_q, W_k, W_v, keys, values = map(torch.from_numpy, (x, W_q, W_k, W_v, keys, values))
    keys, values = torch.vstack([keys, x @ W_k]), torch.vstack([values, x @ W_v])
    output = F.scaled_dot_product_attention((x @ W_q)[None, None], keys[None], values[None])
    return output[0, 0], keys, values


def groups_by_einsum(q, k, v):
    G, (H, L, D) = len(k), q.shape
    scores = np.einsum("ghld,gsd->ghls", q.reshape(G, H // G, L, D), k) / np.sqrt(D)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = np.einsum("ghls,gsv->ghlv", e / e.sum(-1, keepdims=True), v)
    return mixed.reshape(H, L, -1)


def mask_in_loops(query_len, key_len, window, first):
    start = key_len - query_len
    return [
        [j <= start + i and (start + i - j < window or j < first) for j in range(key_len)]
        for i in range(query_len)
    ]


@torch.no_grad()
def with_kv_cache(model, tokens, count):
    heads, E = model.config.num_heads[0], model.config.embed_dim
    sizes = (1, heads, len(tokens) + count, E // heads)
    cache = KVCache(*sizes, num_layers=len(model.layers), dtype=torch.float64)
    story, new = [], list(tokens)
    while len(story) < count:
        x = model.embedding[torch.tensor([new])]
        for i, layer in enumerate(model.layers):
            x = x + layer.attention(layer.norm(x), is_causal=True, cache=cache[i])
            x = x + layer.mlp(x)
        logits = model.norm(x)[0, -1] @ model.embedding.T + model.unembedding_bias
        new = [logits.argmax().item()]
        story += new
    return story, cache.keys[-1, 0, :, : len(tokens) + count - 1]


SOFTMAXES = [  # each right for most scores
    lambda scores: m12.without_the_largest(scores.clip(-700, 700)),
    lambda scores: m12.without_the_largest(scores - np.abs(scores).max(-1, keepdims=True)),
    lambda scores: m12.without_the_largest(scores - scores.max(-1, keepdims=True).clip(0)),
]


SUBTRACTED = [  # each the largest of most rows, or near it
    lambda scores: scores[..., :1],
    lambda scores: scores[..., -1:],
    lambda scores: scores[..., [scores.shape[-1] // 2]],
    lambda scores: scores[..., :2].max(-1, keepdims=True),
    lambda scores: scores[..., :-1].max(-1, keepdims=True),  # of the words before
    lambda scores: np.sort(scores, -1)[..., -2:-1],
    lambda scores: scores.mean(-1, keepdims=True),
    lambda scores: np.median(scores, -1, keepdims=True),
]
OF_MANY_ROWS = [
    lambda scores: scores.max(),
    lambda scores: scores.max((1, 2), keepdims=True),
    lambda scores: scores.max((0, 2), keepdims=True),
    lambda scores: scores.max((0, 1), keepdims=True),
]


def without(subtracted):
    return lambda scores: m12.without_the_largest(scores - subtracted(scores))


def step_with(softmax):
    def answer(x, W_q, W_k, W_v, keys, values):
        _, keys, values = m12.cached_step(x, W_q, W_k, W_v, keys, values)
        return softmax(keys @ (x @ W_q) / np.sqrt(keys.shape[1])) @ values, keys, values

    return answer


def groups_with(softmax):
    def answer(q, k, v):
        k, v = (np.repeat(heads, len(q) // len(heads), axis=0) for heads in (k, v))
        return softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ v

    return answer


def reads_again(model, tokens, count):
    """Run the whole text for each token, as without a cache."""
    for i in range(count):
        model(torch.tensor([list(tokens) + [0] * i]))
    return m12.write_story(model, tokens, count)


def by_root(q, k, v, size):
    """Divides by the root of ``size``."""
    return m12.grouped_query(q * np.sqrt(q.shape[-1] / size), k, v)


def by_old_words(x, W_q, W_k, W_v, keys, values):
    """Divides by √S of the words before."""
    root = np.sqrt(W_q.shape[1] / max(1, len(keys)))
    return m12.cached_step(x, W_q * root, W_k, W_v, keys, values)


def by_inputs(x, W_q, W_k, W_v, keys, values):
    """Divides by √(E - 1)."""
    root = np.sqrt(W_q.shape[1] / (len(x) - 1))
    return m12.cached_step(x, W_q * root, W_k, W_v, keys, values)


@torch.no_grad()
def without_a_cache(model, tokens, count):
    """Keeps what the MLPs gave, but makes all keys and values again for every token."""
    story, rows = list(tokens), [torch.zeros(0) for _ in model.layers]
    for _ in range(count):
        x = model.embedding[torch.tensor(story)]
        for i, layer in enumerate(model.layers):
            attention = layer.attention
            heads = attention.qkv_proj(layer.norm(x)).unflatten(1, (3, attention.num_heads, -1))
            q, k, v = heads.permute(1, 2, 0, 3)
            q, k = attention.rotary(q, 0), attention.rotary(k, 0)
            x = x + attention.out_proj(m12.causal(q, k, v))
            new = layer.mlp(x[len(rows[i]) :])
            rows[i] = torch.cat([rows[i].reshape(-1, new.shape[1]).to(new), new])
            x = x + rows[i]
        story.append(int((model.norm(x[-1]) @ model.embedding.T + model.unembedding_bias).argmax()))
    return story[len(tokens) :], k


def reads_the_last(model, tokens, count):
    """Reads the last new token too."""
    story, keys = m12.write_story(model, tokens, count + 1)
    return story[:count], keys[:, :-1]


def story_alone(model, tokens, count):
    return m12.write_story(model, tokens, count)[0]


def unturned(model, tokens, count):
    story, keys = m12.write_story(model, tokens, count)
    return story, model.layers[-1].attention.rotary(keys)


def first_for_those_behind(query_len, key_len, window, first):
    """Lets only words behind all of the first words see them."""
    queries, keys = np.arange(key_len)[-query_len:, None], np.arange(key_len)
    near = (keys <= queries) & (queries - keys < window)
    return near | (keys < first) & (queries >= first)


def sees_the_last(most):
    """Reads one token after another, and each sees the last ``most`` tokens (None: all of them)."""

    @torch.no_grad()
    def answer(model, tokens, count):
        cache, story = {}, list(tokens)
        for start in range(len(tokens) + count - 1):
            x = model.embedding[torch.tensor([story[start]])]
            for layer in model.layers:
                attention = layer.attention
                heads = attention.qkv_proj(layer.norm(x)).unflatten(1, (3, attention.num_heads, -1))
                q, k, v = heads.permute(1, 2, 0, 3)
                q, k = attention.rotary(q, start), attention.rotary(k, start)
                k, v = m12.extended(cache, layer, k, v)
                first = -(most or len(story))
                x = x + attention.out_proj(m12.causal(q, k[:, first:], v[:, first:]))
                x = x + layer.mlp(x)
            scores = model.norm(x[-1]) @ model.embedding.T + model.unembedding_bias
            if start >= len(tokens) - 1:
                story.append(int(scores.argmax()))
        return story[len(tokens) :], k

    return answer


RIGHT = {
    "cached_step": [torch_step],
    "grouped_query": [groups_by_einsum],
    "local_mask": [mask_in_loops],
    "write_story": [with_kv_cache, sees_the_last(None)],
}
WRONG = {
    "cached_step": [
        lambda x, W_q, W_k, W_v, keys, values: m12.cached_step(x, W_q, W_k, W_v, values, values),
        lambda *step: m12.cached_step(*step)[0],
        lambda *step: tuple(part.round(2) for part in m12.cached_step(*step)),
        lambda *step: m12.stepped(*step, seen=slice(1, None)),
        by_old_words,
        by_inputs,
        *map(step_with, [*SOFTMAXES, *map(without, SUBTRACTED)]),
    ],
    "grouped_query": [
        lambda q, k, v: m12.grouped_query(q, k, v)[::-1],
        lambda q, k, v: m12.grouped_query(2 * q, k, v),
        lambda q, k, v: m12.grouped_query(q, k, v).swapaxes(0, 1),
        lambda q, k, v: by_root(q, k, v, k.shape[1]),
        lambda q, k, v: by_root(q, k, v, v.shape[2]),
        lambda q, k, v: by_root(q, k, v, q.shape[1]),
        *map(groups_with, [*SOFTMAXES, *map(without, [*SUBTRACTED, *OF_MANY_ROWS])]),
    ],
    "local_mask": [
        lambda *sizes: m12.by_masks(*sizes).astype(float),
        lambda L, S, window, first: m12.local_mask(L, S, window, first + 1),
        lambda L, S, window, first: m12.local_mask(S, S, window, first),
        lambda L, S, window, first: m12.local_mask(L, S, max(window, 2), first),
        lambda L, S, window, first: m12.local_mask(L, S, window, min(first, 2)),
        lambda L, S, window, first: m12.local_mask(L, S, window, max(first, 1)),
        lambda L, S, window, first: m12.local_mask(L, S, window, min(first, window)),
        first_for_those_behind,
    ],
    "write_story": [
        story_alone,
        unturned,
        without_a_cache,
        reads_the_last,
        *map(sees_the_last, (8, 10, 12, 20)),
        lambda *text: m12.decoded(*text, bias=False),
        lambda *text: m12.decoded(*text, norm=False),
        lambda *text: m12.decoded(*text, bias=False, norm=False),
    ],
}


@pytest.mark.parametrize(("name", "answer"), pairs(RIGHT))
def test_a_right_answer_is_accepted(name, answer):
    assert_accepted(TASKS[name], answer)


@pytest.mark.parametrize(("name", "answer"), pairs(WRONG))
def test_a_wrong_answer_is_refused(name, answer):
    assert_refused(TASKS[name], answer)


def test_who_computes_twice_is_told():
    outcome = examine(TASKS["write_story"], reads_again, 0)
    assert outcome.status == FAILED
    assert "layer 0 was given" in outcome.message


def test_every_task_is_in_the_tables():
    assert set(RIGHT) == set(WRONG) == set(TASKS)
