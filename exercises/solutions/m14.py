"""m14: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def chosen_mask(index, kept):
    L = len(index)
    causal = np.tril(np.ones((L, L), dtype=bool))
    scores = np.where(causal, index, -np.inf)
    least = np.sort(scores, axis=1)[:, -min(kept, L)][:, None]
    return (scores >= least) & causal


def numbers_kept(layers, tokens, num_kv_heads, head_dim, window):
    pair = 2 * num_kv_heads * head_dim
    each = {
        "softmax": tokens * pair,
        "window": min(tokens, window) * pair,
        "table": num_kv_heads * head_dim * head_dim,
    }
    return sum(each[layer] for layer in layers)


# ---- The same, computed another way ------------------------------------------------------------


def row_by_row(index, kept):
    mask = np.zeros(index.shape, dtype=bool)
    for i, row in enumerate(index):
        best = sorted(range(i + 1), key=lambda j: -row[j])[:kept]
        mask[i, best] = True
    return mask


def layer_by_layer(layers, tokens, num_kv_heads, head_dim, window):
    count = 0
    for layer in layers:
        for _ in range(num_kv_heads):
            rows = {"softmax": tokens, "window": min(tokens, window)}.get(layer)
            count += head_dim**2 if rows is None else 2 * rows * head_dim
    return count


# ---- Inputs ------------------------------------------------------------------------------------


def scores(rng, size):
    """In sizes 5 and 7 all scores are far below 0, so that −1e4 hides none of them."""
    L = size + 2
    index = rng.permutation(L * L).reshape(L, L) / 8 - {5: 1e3, 7: 1e6}.get(size, L * L / 16)
    kept = L + 3 if size == 3 else int(rng.integers(1, L))  # in size 3 all are kept
    return index, kept if size > 1 else 2


def stacks(rng, size):
    kinds = ["softmax", "window", "table"]
    layers = [kinds[i] for i in rng.integers(0, 3, size=size)] + ["table", "window", "softmax"]
    if size in (2, 3, 4):  # a stack of one kind, or of two
        layers = [kinds[size - 2]] * size
    elif size in (5, 6, 7):
        layers = [kinds[size - 5], kinds[size - 6]] * size
    tokens = int(rng.integers(20, 60))  # so that no window is below 1
    window = tokens + 5 - 3 * size
    if size == 1:  # a text shorter than a table has rows
        tokens, window = 1, 3
    return layers, tokens, int(rng.integers(2, 5)), int(rng.integers(3, 8)), window


# ---- Mistakes ----------------------------------------------------------------------------------


def without_causal(index, kept):
    least = np.sort(index, axis=1)[:, -min(kept, len(index))][:, None]
    return index >= least


def chosen_then_hidden(index, kept):
    return without_causal(index, kept) & np.tril(np.ones(index.shape, dtype=bool))


def counted(layers, tokens, G, D, window, *, both=2, heads=True, table=None, short=min):
    G_ = G if heads else 1
    rows = {"softmax": tokens, "window": short(tokens, window)}
    square = G_ * D * D if table is None else table
    return sum(rows[kind] * both * G_ * D if kind in rows else square for kind in layers)


TASKS = [
    Task(
        chosen_mask,
        inputs=scores,
        truth=row_by_row,
        hints=[
            "First hide what comes later, then choose: set later scores to −∞.",
            "`np.sort(scores, axis=1)` puts each row's largest last. The one at `-kept` is the "
            "least that is chosen.",
            "In the first rows there are fewer than `kept` tokens, and so −∞ is chosen, too: "
            "combine with the causal mask once more.",
        ],
        why="Choosing before hiding would waste places on tokens that nobody may see.",
        mistakes={
            "no query may see a later token": without_causal,
            "hide later tokens first and choose then: you spend some of the choices on hidden ones":
                chosen_then_hidden,
            "the largest scores are wanted, not the smallest":
                lambda index, kept: row_by_row(-index, kept),
            "these are the last tokens, a window: choose by the scores":
                lambda index, kept: row_by_row(
                    np.tile(np.arange(len(index)), (len(index), 1)), kept),
        },
    ),
    Task(
        numbers_kept,
        inputs=stacks,
        truth=layer_by_layer,
        hints=[
            "A key and a value of one token: 2 · num_kv_heads · head_dim numbers a layer.",
            "A window keeps no more tokens than there are: `min(tokens, window)`.",
            "A table has num_kv_heads · head_dim · head_dim numbers for any text.",
        ],
        why="Only the layers with softmax grow with the text. In a long one they are nearly all of "
        "what is kept, so a stack with a quarter of them keeps about a quarter.",
        mistakes={
            "a key and a value are kept: twice as many numbers":
                lambda *stack: counted(*stack, both=1),
            "each head keeps its own": lambda *stack: counted(*stack, heads=False),
            "a table doesn't grow with the text":
                lambda layers, tokens, G, D, window: counted(
                    layers, tokens, G, D, window, table=tokens * G * D * D),
            "a window keeps the last tokens alone":
                lambda *stack: counted(*stack, short=lambda tokens, window: tokens),
            "early in a text there are fewer tokens than the window has room for":
                lambda *stack: counted(*stack, short=lambda tokens, window: window),
        },
    ),
]  # fmt: skip
