"""m06: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def split_heads(x, num_heads):
    B, L, E = x.shape
    return x.reshape(B, L, num_heads, E // num_heads).swapaxes(1, 2)


def multi_head(x, W_q, W_k, W_v, W_o, num_heads):
    B, L, E = x.shape
    D = E // num_heads
    heads = B, L, num_heads, D
    qkv = ((x @ W).reshape(heads) for W in (W_q, W_k, W_v))
    q, k, v = (part.swapaxes(1, 2) for part in qkv)  # (B, H, L, D)
    scores = q @ k.swapaxes(-2, -1) / np.sqrt(D)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return (weights @ v).swapaxes(1, 2).reshape(B, L, E) @ W_o


def project_heads(x, W):
    return np.einsum("ble,hed->bhld", x, W)


def count_parameters(embed_dim, num_heads, num_kv_heads, bias):
    kv_dim = num_kv_heads * (embed_dim // num_heads)
    rows = embed_dim + (1 if bias else 0)
    return rows * (2 * embed_dim + 2 * kv_dim)


def head_by_head(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


def by_attention_py(x, W_q, W_k, W_v, W_o, num_heads):
    import torch

    from attention import MultiHeadAttention

    layer = MultiHeadAttention(x.shape[-1], num_heads, bias=False).double()
    with torch.no_grad():
        layer.qkv_proj.weight.copy_(torch.from_numpy(np.concatenate([W_q, W_k, W_v], axis=1).T))
        layer.out_proj.weight.copy_(torch.from_numpy(W_o.T))
        return layer(torch.from_numpy(x)).numpy()


def one_matrix_a_head(x, W):
    return np.stack([x @ W_of_head for W_of_head in W], axis=1)


def counted(embed_dim, num_heads, num_kv_heads, bias):
    from attention import MultiHeadAttention

    layer = MultiHeadAttention(embed_dim, num_heads, num_kv_heads=num_kv_heads, bias=bias)
    return sum(p.numel() for p in layer.parameters())


def is_the_count(got, *sizes):
    if got.dtype.kind == "f":
        return "return a whole number: divide with //, not with /"
    number = count_parameters(*sizes)
    return None if got == number else f"it is {number}"


def attend(x, W_q, W_k, W_v, num_heads, *, split=split_heads, size=None, axis=-1):
    q, k, v = (split(x @ W, num_heads) for W in (W_q, W_k, W_v))
    scores = q @ k.swapaxes(-2, -1) / np.sqrt(size or q.shape[-1])
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)) @ v


def blind_split(x, num_heads):
    B, L, E = x.shape
    return x.reshape(B, num_heads, L, E // num_heads)


def merge_heads(heads):
    B, H, L, D = heads.shape
    return heads.swapaxes(1, 2).reshape(B, L, H * D)


def blind_merge(heads):
    B, H, L, D = heads.shape
    return heads.reshape(B, L, H * D)


def texts(rng, size):
    H = [2, 1, 2, 3, 4, 2, 4, 8][size - 1]
    return rng.normal(size=(2 - size % 2, size + 1, H * (1 + size % 3))).round(2), H


def layers(rng, size):
    """Make a text and four matrices; in every other case `exp` overflows at the largest score."""
    x, H = texts(rng, size)
    E = x.shape[-1]
    W_q, W_k, W_v, W_o = (rng.normal(size=(4, E, E)) / np.sqrt(E)).round(2)
    if size % 2 == 0:
        q, k = (split_heads(x @ W, H) for W in (W_q, W_k))
        largest = 8000 if size % 4 == 0 else 800  # some rows are then far below 0 as a whole
        W_q *= largest * np.sqrt(E // H) / (q @ k.swapaxes(-2, -1)).max()
    return x, W_q, W_k, W_v, W_o, H


def head_matrices(rng, size):
    x, H = texts(rng, size)
    return x, rng.normal(size=(H, x.shape[-1], 1 + size % 3)).round(2)


def sizes(rng, size):
    num_kv_heads, group = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    num_heads = num_kv_heads * group
    return num_heads * int(rng.integers(2, 9)), num_heads, num_kv_heads, bool(size % 2)


TASKS = [
    Task(
        split_heads,
        inputs=texts,
        truth=head_by_head,
        hints=[
            "First cut the last axis in two: (B, L, H, D). A `reshape` does it, and moves nothing.",
            "Now the heads stand behind the tokens. Swap these two axes: `swapaxes(1, 2)`.",
        ],
        why="`reshape` only cuts the last axis, so every number stays with its token. The swap "
        "then changes the order of the axes, not which numbers belong together.",
        mistakes={
            "you went to (B, H, L, D) by reshape alone: the shape is right, but each head mixes up "
            "the tokens": blind_split,
            "the swap is missing: heads come before tokens, (B, H, L, D)":
                lambda x, H: split_heads(x, H).swapaxes(1, 2),
            "you dealt the numbers out in turn; head 0 gets the first D numbers, side by side":
                lambda x, H: x.reshape(*x.shape[:2], -1, H).transpose(0, 3, 1, 2),
            "you swapped tokens and numbers as well: the last two axes are (L, D)":
                lambda x, H: split_heads(x, H).swapaxes(-2, -1),
        },
    ),
    Task(
        multi_head,
        inputs=layers,
        absolute=1e-3,  # float32 rounds large scores
        truth=by_attention_py,
        hints=[
            "Project the whole width first, `x @ W_q`, then split. The split is your first task.",
            "With (B, H, L, D), `q @ k.swapaxes(-2, -1)` makes all maps of all heads at once.",
            "Each head's keys have D = E / H numbers: divide by the root of D. After the softmax "
            "and the values, merge, and multiply with `W_o`.",
        ],
        why="B and H both stand in front, and `@` leaves what stands in front alone. So the code "
        "for one head is the code for all.",
        mistakes={
            "you divided by the root of E; a head's keys have only D = E / H numbers":
                lambda x, q, k, v, o, H:
                    merge_heads(attend(x, q, k, v, H, size=x.shape[-1])) @ o,
            "you didn't scale: divide the scores by the root of D":
                lambda x, q, k, v, o, H: merge_heads(attend(x, q, k, v, H, size=1)) @ o,
            "W_o is missing: multiply the merged heads with it":
                lambda x, q, k, v, o, H: merge_heads(attend(x, q, k, v, H)),
            "your split mixes up the tokens: reshape to (B, L, H, D), then swap":
                lambda x, q, k, v, o, H:
                    merge_heads(attend(x, q, k, v, H, split=blind_split)) @ o,
            "your merge mixes up the tokens: swap first, then reshape":
                lambda x, q, k, v, o, H: blind_merge(attend(x, q, k, v, H)) @ o,
            "your softmax runs over the queries; each row of weights must sum to 1":
                lambda x, q, k, v, o, H: merge_heads(attend(x, q, k, v, H, axis=-2)) @ o,
            "you attended with one head over the whole width: split before the scores":
                lambda x, q, k, v, o, H: merge_heads(attend(x, q, k, v, 1)) @ o,
        },
    ),
    Task(
        project_heads,
        inputs=head_matrices,
        truth=one_matrix_a_head,
        hints=[
            "Name the axes: `x` is `ble`, `W` is `hed`. What is left at the end?",
            "A letter that isn't in the result is summed over. That must be `e`, and `e` alone.",
        ],
        why="`e` is in both inputs and not in the result: the dot product over the width. `h` and "
        "`d` come from `W`, `b` and `l` from `x`; the letters after the arrow say their order.",
        mistakes={
            "the result has the axes (B, L, H, D); heads come before tokens":
                lambda x, W: np.einsum("ble,hed->blhd", x, W),
            "the result has the axes (H, B, L, D); the batch comes first":
                lambda x, W: np.einsum("ble,hed->hbld", x, W),
            "you summed over the heads as well: `h` must stay in the result":
                lambda x, W: np.einsum("ble,hed->bld", x, W),
        },
    ),
    Task(
        count_parameters,
        inputs=sizes,
        truth=counted,
        judge=is_the_count,
        hints=[
            "A head has `embed_dim // num_heads` numbers. How wide are all key heads together?",
            "The four matrices are E × E, E × kv, E × kv and E × E.",
            "A bias has as many numbers as its matrix has outputs: that is one more row.",
        ],
        why="The number of query heads counts only through the size of a head. With as many key "
        "heads as query heads it drops out: 4 E², or 4 (E² + E) with biases.",
        mistakes={
            "keys and values are narrower here: num_kv_heads · (embed_dim / num_heads)":
                lambda E, H, G, bias: 4 * E * (E + bias),
            "you left out W_o, or counted it once with the rest: there are four matrices":
                lambda E, H, G, bias: (E + bias) * (E + 2 * G * (E // H)),
            "you left the biases out": lambda E, H, G, bias: count_parameters(E, H, G, False),
            "you counted every matrix once for each head; a head has only its slice":
                lambda E, H, G, bias: H * count_parameters(E, H, G, bias),
        },
    ),
]  # fmt: skip
