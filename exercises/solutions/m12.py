"""m12: worked solutions, inputs, hints and usual mistakes."""

import copy
import functools

import numpy as np
import torch
from torch import nn

from attention import KVCache, fused_attention
from course.exercises import Task


def cached_step(x, W_q, W_k, W_v, keys, values):
    keys = np.concatenate([keys, [x @ W_k]])  # (S + 1, D)
    values = np.concatenate([values, [x @ W_v]])
    scores = keys @ (x @ W_q) / np.sqrt(keys.shape[1])  # (S + 1,)
    e = np.exp(scores - scores.max())
    return e / e.sum() @ values, keys, values


def grouped_query(q, k, v):
    group = len(q) // len(k)
    k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def local_mask(query_len, key_len, window, first):
    queries = np.arange(key_len - query_len, key_len)[:, None]
    keys = np.arange(key_len)
    visible = (queries - keys < window) | (keys < first)
    return visible & (keys <= queries)


def write_story(model, tokens, count):
    story, cache = [*tokens], new_cache(model, len(tokens) + count)
    for _ in range(count):
        x = model.embedding[story[cache[0].length :]][None]
        for i, layer in enumerate(model.layers):
            attn, start = layer.attention, cache[i].length
            q, k, v = attn.project(layer.norm(x))  # (1, H, L, D)
            q, k = attn.rotary(q, start), attn.rotary(k, start)
            keys, values = cache[i].append(k, v)
            y = fused_attention(q, keys, values, is_causal=True)
            x = x + attn.out_proj(y.transpose(1, 2).flatten(2))
            x = x + layer.mlp(x)
        logits = model.norm(x[0, -1]) @ model.embedding.T
        story += [int((logits + model.unembedding_bias).argmax())]
    return story[len(tokens) :], keys[0]


def new_cache(model, most):
    """The lesson's."""
    heads, width = model.layers[0].attention.num_heads, model.config.embed_dim
    return KVCache(
        batch_size=1,
        num_kv_heads=heads,
        max_seq_len=most,
        head_dim=width // heads,
        num_layers=len(model.layers),
        dtype=model.embedding.dtype,
    )


# ---- The same, computed another way ------------------------------------------------------------


def all_at_once(x, W_q, W_k, W_v, keys, values):
    k, v = (torch.from_numpy(np.vstack(pair)) for pair in ((keys, x @ W_k), (values, x @ W_v)))
    weights = (torch.from_numpy(x @ W_q) @ k.T / k.shape[1] ** 0.5).softmax(0)
    return (weights @ v).numpy(), k.numpy(), v.numpy()


def by_attention_py(q, k, v):
    from attention import scaled_dot_product_attention

    q, k, v = (torch.from_numpy(t)[None] for t in (q, k, v))
    return scaled_dot_product_attention(q, k, v)[0][0].numpy()


def by_masks(query_len, key_len, window, first):
    from attention import create_causal_mask, create_window_mask

    sizes = query_len, key_len
    near = create_window_mask(*sizes, window=window) | (torch.arange(key_len) < first)
    return (create_causal_mask(*sizes) & near).numpy()


@torch.no_grad()
def by_full_runs(model, tokens, count):
    model, story = copy.deepcopy(model), list(tokens)
    for layer in model.layers:
        layer.mlp = layer.mlp.inner  # which takes a token as often as it likes
        layer.attention.qkv_proj = layer.attention.qkv_proj.inner
    for _ in range(count):
        run = model(torch.tensor([story]))
        story.append(int(run.logits[0, -1].argmax()))
    last = model.layers[-1]
    _, key, _ = last.attention.project(last.norm(run.residual[-2]))
    return story[len(tokens) :], last.attention.rotary(key[0])


# ---- Inputs ------------------------------------------------------------------------------------


def steps(rng, size):
    """Four different sizes, so that none passes for another.

    Scores of ±1,000 catch a softmax that subtracts one certain score instead of the largest:
    in size 3 the first is −1,000 and the new word's 1,000; in size 5 the first is −1,000 and one in
    the middle 1,000; in size 7 all are below −800, the new word's too.
    """
    E, D, Dv, S = size + 3, size + 1, size + 2, size + 4
    shapes = (E,), (E, D), (E, D), (E, Dv), (S, D), (S, Dv)
    x, W_q, W_k, W_v, keys, values = (rng.normal(size=shape) for shape in shapes)
    query = x @ W_q
    one = np.sqrt(D) * query / (query @ query)  # a key whose score is 1
    if size == 3:
        keys[0], W_k = -1000 * one, np.outer(x, 1000 * one) / (x @ x)
    if size == 5:
        keys[0], keys[rng.integers(1, S - 1)] = -1000 * one, 1000 * one
    if size == 7:
        keys = np.linspace(-1000, -900, S)[:, None] * one
        W_k = np.outer(x, -800 * one) / (x @ x)
    return x, W_q, W_k, W_v, keys, values


def groups(rng, size):
    """Make heads in groups.

    In size 5 two keys, one in the middle and the last, score 1,000 with the first and the second
    query, and −1,000 with all others of their group; so no row's largest score serves another row.
    In size 7 all queries of the first group are alike, and their scores are −800 or less.
    """
    H, G = [(4, 2), (2, 1), (3, 3), (6, 2), (6, 3), (4, 1), (8, 4), (8, 2)][size - 1]
    L, S, D, Dv = size, size + 3, size + 1, size + 2
    shapes = (H, L, D), (G, S, D), (G, S, Dv)
    q, k, v = (rng.normal(size=shape) for shape in shapes)
    if size == 5:
        two = np.linalg.qr(rng.normal(size=(D, 2)))[0].T  # at right angles
        q[: H // G] -= (q[: H // G] @ two.T + 1) @ two
        q[0, 0], q[0, 1] = two[0] - two[1], two[1] - two[0]
        k[0, rng.integers(2, S - 1)], k[0, -1] = 1000 * np.sqrt(D) * two
    if size == 7:
        q[: H // G] = q[0, 0]
        one = np.sqrt(D) * q[0, 0] / (q[0, 0] @ q[0, 0])
        k[0] = np.linspace(-1000, -800, S)[:, None] * one
    return q, k, v


def windows(rng, size):
    """Even sizes have as many queries as keys, and first words that some query comes before.

    In size 6 only ``first`` lets the first words see one another.
    """
    key_len, is_even = 2 * size + 2, size % 2 == 0
    query_len = key_len if is_even else int(rng.integers(1, key_len))
    first = {1: 0, 3: 2, 6: 3}.get(size, 2 if is_even else int(rng.integers(0, 3)))
    window = {3: 1, 6: 2}.get(size) or int(rng.integers(2, size + 3))
    return query_len, key_len, window, first


class Once(nn.Module):
    """A part of a layer that takes each token of a text once."""

    def __init__(self, inner, number, tokens):
        super().__init__()
        self.inner, self.number, self.tokens, self.taken = inner, number, tokens, 0

    def forward(self, x):
        self.taken += x.shape[:-1].numel()
        if self.taken > self.tokens:
            text = f"of {self.tokens} to read: keep the keys and values of those that it has read"
            raise RuntimeError(f"layer {self.number} was given {self.taken} tokens {text}")
        return self.inner(x)


@functools.cache
def storyteller():
    from models.storyteller.model import load_storyteller

    return load_storyteller().double()


def texts(rng, size):
    """Small random models, with a bias and uneven norms, and at last the storyteller.

    In size 7 the text is long, so that a decoder that forgets its beginning fails.
    """
    from models.transformer import Config, Transformer

    length = 24 if size == 7 else size + 1
    tokens, count = rng.integers(0, 11, size=length).tolist(), 2 + size % 3
    if size == 8:
        tokens, model = rng.integers(256, 1024, size=6).tolist(), storyteller()
    else:
        options = {"mlp_dim": 8, "norm": True, "positions": "rotary", "is_causal": True}
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            config = Config(tuple("abcdefghijk"), 32, 8, 2, 1 + size % 3, **options)
            model = Transformer(config).double().eval()
            for name, numbers in model.named_parameters():
                if "norm" in name or name == "unembedding_bias":
                    nn.init.normal_(numbers)
    model = copy.deepcopy(model).requires_grad_(False)  # it only writes
    for number, layer in enumerate(model.layers):
        most = len(tokens) + count - 1  # the last new token is never read
        layer.mlp = Once(layer.mlp, number, most)
        layer.attention.qkv_proj = Once(layer.attention.qkv_proj, number, most)
    return model, tokens, count


# ---- Mistakes ----------------------------------------------------------------------------------


def stepped(x, W_q, W_k, W_v, keys, values, *, seen=slice(None), scale=True):
    _, keys, values = cached_step(x, W_q, W_k, W_v, keys, values)
    scores = (keys @ (x @ W_q))[seen] / (np.sqrt(keys.shape[1]) if scale else 1)
    e = np.exp(scores - scores.max())
    return e / e.sum() @ values[seen], keys, values


def without_the_largest(scores):
    """Take softmax of the scores as they are: e^1000 is too large."""
    with np.errstate(all="ignore"):
        e = np.exp(scores)
        return e / e.sum(axis=-1, keepdims=True)


def stepped_without_the_largest(x, W_q, W_k, W_v, keys, values):
    _, keys, values = cached_step(x, W_q, W_k, W_v, keys, values)
    scores = keys @ (x @ W_q) / np.sqrt(keys.shape[1])
    return without_the_largest(scores) @ values, keys, values


def grouped_without_the_largest(q, k, v):
    k, v = (np.repeat(heads, len(q) // len(k), axis=0) for heads in (k, v))
    return without_the_largest(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ v


def by_words(x, W_q, W_k, W_v, keys, values):
    """Divides by √S, with the new word counted."""
    root = np.sqrt(W_q.shape[1] / (len(keys) + 1))
    return cached_step(x, W_q * root, W_k, W_v, keys, values)


def shared(q, k, v, spread):
    return grouped_query(q, *(spread(t, len(q) // len(t)) for t in (k, v)))


def banded(query_len, key_len, window, first, *, shift=0, near=0, both=False, early=False):
    queries = np.arange(query_len)[:, None] + key_len - query_len - shift
    keys = np.arange(key_len)
    distance = np.abs(queries - keys) if both else queries - keys
    causal = (keys <= queries) | both
    mask = causal & (distance < window + near)
    return mask | (keys < first) if early else mask | (causal & (keys < first))


def extended(kept, layer, k, v):
    """The keys and values of all tokens so far, (H, S, D)."""
    if layer in kept:
        k, v = torch.cat([kept[layer][0], k], 1), torch.cat([kept[layer][1], v], 1)
    kept[layer] = k, v
    return k, v


def causal(q, k, v, is_causal=True):
    """Attention of the last queries, the heads side by side, (L, E)."""
    from attention import scaled_dot_product_attention

    output, _ = scaled_dot_product_attention(q[None], k[None], v[None], is_causal=is_causal)
    return output[0].transpose(0, 1).flatten(1)


@torch.no_grad()
def decoded(model, tokens, count, *, moves=True, keeps=True, hides=True, norm=True, bias=True):
    kept, story, new = {}, [], list(tokens)
    while len(story) < count:
        x = model.embedding[torch.tensor(new)]
        start = len(tokens) + len(story) - len(new) if moves else 0
        for layer in model.layers:
            attention = layer.attention
            heads = attention.qkv_proj(layer.norm(x)).unflatten(1, (3, attention.num_heads, -1))
            q, k, v = heads.permute(1, 2, 0, 3)
            q, k = attention.rotary(q, start), attention.rotary(k, start)
            k, v = extended(kept if keeps else {}, layer, k, v)
            x = x + attention.out_proj(causal(q, k, v, hides))
            x = x + layer.mlp(x)
        logits = (model.norm(x[-1]) if norm else x[-1]) @ model.embedding.T
        new = [int((logits + model.unembedding_bias if bias else logits).argmax())]
        story += new
    return story, k


def with_beginning(model, tokens, count):
    story, keys = write_story(model, tokens, count)
    return tokens + story, keys


TASKS = [
    Task(
        cached_step,
        inputs=steps,
        truth=all_at_once,
        hints=[
            "Three products make the new word's query, key and value: `x @ W_q`, and so on.",
            "`np.concatenate([keys, [x @ W_k]])` puts the new key behind the others.",
            "The new word's scores are one row: `keys @ (x @ W_q)`. No mask: nothing comes later.",
        ],
        why="One query, all keys. The words before made their keys and values when they came; "
        "nothing of them is computed again.",
        mistakes={
            "the new word must see itself too: keep its key and value first, then attend":
                lambda *step: stepped(*step, seen=slice(None, -1)),
            "your word sees the first key alone: that is PyTorch's is_causal with one query":
                lambda *step: stepped(*step, seen=slice(0, 1)),
            "divide the scores by √D": lambda *step: stepped(*step, scale=False),
            "scores of 1,000 are too large for exp: take away the largest score first":
                stepped_without_the_largest,
            "divide by √D, where D is how many numbers a key has, not how many words there are":
                by_words,
            "return the keys and values with the new word's, for the next step":
                lambda x, W_q, W_k, W_v, keys, values:
                    (cached_step(x, W_q, W_k, W_v, keys, values)[0], keys, values),
            "the new key and value belong behind those of the words before":
                lambda x, W_q, W_k, W_v, keys, values: (
                    cached_step(x, W_q, W_k, W_v, keys, values)[0],
                    np.concatenate([[x @ W_k], keys]), np.concatenate([[x @ W_v], values]),
                ),
        },
    ),
    Task(
        grouped_query,
        inputs=groups,
        truth=by_attention_py,
        hints=[
            "Each key head serves `len(q) // len(k)` query heads, neighbours of one another.",
            "`np.repeat(k, group, axis=0)` gives 0, 0, 1, 1; `np.tile` would give 0, 1, 0, 1.",
            "Then it is attention in every head: `q @ k.swapaxes(1, 2)`, softmax, `@ v`.",
        ],
        why="The cache holds G heads, not H. Fast kernels don't repeat them in memory: they read a "
        "key once for all query heads of its group.",
        mistakes={
            "neighbours share: query heads 0 and 1 read key head 0, so repeat, don't tile":
                lambda q, k, v: shared(q, k, v, lambda t, n: np.tile(t, (n, 1, 1))),
            "all query heads read the first key head: each group has its own":
                lambda q, k, v: grouped_query(q, k[:1], v[:1]),
            "don't average the key heads: each group reads its own":
                lambda q, k, v: grouped_query(q, k.mean(0)[None], v.mean(0)[None]),
            "scores of 1,000 are too large for exp: take away each row's largest score first":
                grouped_without_the_largest,
            "values are shared in the same way as keys":
                lambda q, k, v: grouped_query(
                    q, np.repeat(k, len(q) // len(k), 0), np.tile(v, (len(q) // len(k), 1, 1))),
            "you left out a group: the groups are in the order of the heads":
                lambda q, k, v: grouped_query(q, k[::-1], v[::-1]),
        },
    ),
    Task(
        local_mask,
        inputs=windows,
        truth=by_masks,
        hints=[
            "Query *i* stands at position `key_len - query_len + i`.",
            "Three rules: not later than the query; less than `window` places back; or among the "
            "`first`.",
            "`(keys <= queries) & ((queries - keys < window) | (keys < first))`, where `queries` "
            "is a column and `keys` a row.",
        ],
        why="A cache with this mask needs `window` + `first` places, the new word's among them. "
        "Without the first words, models trained to look there come apart (Xiao et al. 2024).",
        mistakes={
            "you aligned the starts; the last query stands at the last key":
                lambda L, S, window, first: banded(L, S, window, first, shift=S - L),
            "the window is one too wide: it counts the word itself":
                lambda *sizes: banded(*sizes, near=1),
            "the window is one too narrow: it counts the word itself":
                lambda *sizes: banded(*sizes, near=-1),
            "nothing that comes later may be seen, in the window neither":
                lambda *sizes: banded(*sizes, both=True),
            "you left out the first words":
                lambda L, S, window, first: banded(L, S, window, 0),
            "the first words too are hidden from those before them":
                lambda *sizes: banded(*sizes, early=True),
            "True means *may attend*; yours says *hidden*":
                lambda *sizes: ~local_mask(*sizes),
        },
    ),
    Task(
        write_story,
        inputs=texts,
        truth=by_full_runs,
        hints=[
            "Two loops: over the tokens to write, and in it over the layers. The first round reads "
            "all of `tokens`, each later one a single token.",
            "`.unflatten(1, (3, H, -1)).permute(1, 2, 0, 3)` makes three (H, L, D) of (L, 3 · E).",
            "Turn the new queries and keys by `rotary(heads, start)`, where `start` is how many "
            "tokens are kept already. Keys are kept turned.",
            "Put the new keys and values behind the kept ones, with `torch.cat([kept, k], 1)` or "
            "a cache's `append`, as in the lesson. Then attend with "
            "`fused_attention(…, is_causal=True)` of `attention.py`, which takes (1, H, L, D), "
            "and puts the last query beside the last key. PyTorch's "
            "`scaled_dot_product_attention` puts the first beside the first.",
        ],
        why="`new_cache` stands in the lesson's first box, and the rest is the `read` of that box, "
        "with the layer's attention written out: `project` (its `qkv_proj`, cut into heads), turn, "
        "`append`, attend by `fused_attention` of `attention.py`, and "
        "lay the heads side by side. It equals running the whole text again "
        "for each token, by test, on the storyteller too.",
        mistakes={
            "positions must go on: turn new queries and keys by how many tokens are kept":
                lambda *text: decoded(*text, moves=False),
            "a new token sees itself alone: attend to the keys that are kept, too":
                lambda *text: decoded(*text, keeps=False),
            "while the beginning is read, words see those that come after them: it is causal":
                lambda *text: decoded(*text, hides=False),
            "return the new tokens alone, without the beginning": with_beginning,
            "you left out `model.unembedding_bias`: some tokens are likelier after anything":
                lambda *text: decoded(*text, bias=False),
            "you left out the last norm: the next token is scored by `model.norm(x)`":
                lambda *text: decoded(*text, norm=False),
        },
    ),
]  # fmt: skip
