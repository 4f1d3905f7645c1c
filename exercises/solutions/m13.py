"""m13: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def beta_for(table, key, value, wanted):
    had = key @ table
    return (wanted - had) / (value - had)


def gated_delta(q, k, v, alpha, beta):
    table, found = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(k)):
        table = alpha[t] * table
        had = k[t] @ table
        table = table + beta[t] * np.outer(k[t], v[t] - had)
        found.append(q[t] @ table)
    return np.array(found), table


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


def by_halving(table, key, value, wanted):
    """Write with a beta, see whether that went too far, and halve what is left."""
    low, high = 0.0, 1.0
    for _ in range(60):
        beta = (low + high) / 2
        says = key @ (table + beta * key * (value - key @ table))
        too_far = (says - wanted) * (value - wanted) > 0
        low, high = (low, beta) if too_far else (beta, high)
    return beta


def by_variants(q, k, v, alpha, beta):
    import torch

    from variants import gated_delta_rule

    with np.errstate(divide="ignore"):
        tensors = [torch.from_numpy(t) for t in (q, k, v, np.log(alpha), beta)]
    return [t.numpy() for t in gated_delta_rule(*tensors)]


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


def units(rng, *shape):
    keys = rng.normal(size=shape)
    return keys / np.linalg.norm(keys, axis=-1, keepdims=True)


def notes(rng, size):
    """In the smallest, the key is a row's own; then nothing, all, little or much is to change."""
    D = size + 1
    key = np.eye(D)[0] if size == 1 else units(rng, D)
    table = rng.normal(size=D)
    had = float(key @ table)
    value = had + float(rng.uniform(1, 3) * rng.choice([-1, 1]))
    part = {2: 0.0, 3: 1.0, 4: 0.03, 5: 0.97}.get(size, float(rng.uniform(0.1, 0.9)))
    return table, key, value, had + part * (value - had)


def texts(rng, size):
    L, D, Dv = size, size % 4 + 2, size % 3 + 1
    q, k, v = rng.normal(size=(L, D)), units(rng, L, D), rng.normal(size=(L, Dv))
    alpha, beta = rng.uniform(0.2, 1, size=L), rng.uniform(0.1, 1, size=L)
    if size > 4:
        alpha[size // 2] = 0  # which wipes the table
    if size == 3:
        alpha[1], beta[1] = 0.03, 0  # nearly wiped, and nothing written
    return q, k, v, alpha, beta


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


def stepped(q, k, v, alpha, beta, *, order="fade, look, write, ask", adds=False):
    table, found = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(k)):
        if order.startswith("ask"):
            found.append(q[t] @ table)
        had = 0 if adds else k[t] @ (table if "look, fade" in order else alpha[t] * table)
        table = alpha[t] * table + beta[t] * np.outer(k[t], v[t] - had)
        if not order.startswith("ask"):
            found.append(q[t] @ table)
    return np.array(found), table


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
        beta_for,
        inputs=notes,
        truth=by_halving,
        hints=[
            "What does the table say before? `key @ table`.",
            "The whole way is `value` less that. How much of it is the way to `wanted`?",
            "A part is the way to `wanted`, divided by the whole way.",
        ],
        why="The key has length 1, so what is written under it arrives in full: the table says "
        "`had + beta * (value - had)`.",
        mistakes={
            "that is the part of the old value that stays, and beta is the other part":
                lambda table, key, value, wanted: 1 - beta_for(table, key, value, wanted),
            "ask with the key: `key @ table`, not the table's first row":
                lambda table, key, value, wanted: (wanted - table[0]) / (value - table[0]),
            "begin where the table is, not at 0":
                lambda table, key, value, wanted: wanted / value,
            "the whole way is from what the table says to the value":
                lambda table, key, value, wanted: (wanted - key @ table) / value,
            "that is the way in rooms; beta is a part of the whole way":
                lambda table, key, value, wanted: wanted - key @ table,
        },
    ),
    Task(
        gated_delta,
        inputs=texts,
        truth=by_variants,
        hints=[
            "One loop over the tokens, with a table that each of them changes.",
            "The order counts: fade, look, write the difference, ask.",
            "`table = alpha[t] * table`, then the lesson's `write`, then `q[t] @ table`.",
        ],
        why="Each token costs the same, wherever in the text it stands, and the table is all that "
        "is handed on.",
        mistakes={
            "you look before you fade: what the key had has faded, too":
                lambda *text: stepped(*text, order="look, fade, write, ask"),
            "a token asks after it has written, so it can find its own note":
                lambda *text: stepped(*text, order="ask, fade, look, write"),
            "you add each value without looking what its key had":
                lambda *text: stepped(*text, adds=True),
            "alpha is the part that stays, not the part that goes":
                lambda q, k, v, alpha, beta: stepped(q, k, v, 1 - alpha, beta),
            "the table never fades: use alpha":
                lambda q, k, v, alpha, beta: stepped(q, k, v, np.ones_like(alpha), beta),
            "ask with the query, not with the key":
                lambda q, k, v, alpha, beta: stepped(k, k, v, alpha, beta),
        },
    ),
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
