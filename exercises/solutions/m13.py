"""m13: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def linear_attention(q, k, v):
    def phi(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    q, k = phi(q), phi(k)
    table, output = np.zeros((k.shape[1], v.shape[1])), []
    total = np.zeros(k.shape[1])
    for t in range(len(k)):
        table = table + np.outer(k[t], v[t])
        total = total + k[t]
        output.append(q[t] @ table / (q[t] @ total))
    return np.array(output), table


def beta_for(table, key, value, wanted):
    had = key @ table
    return (wanted - had) / (value - had)


def gated_delta(q, k, v, alpha, beta):
    table, outputs = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(k)):
        table = alpha[t] * table
        had = k[t] @ table
        table = table + beta[t] * np.outer(k[t], v[t] - had)
        outputs.append(q[t] @ table)
    return np.array(outputs), table


# ---- The same, computed another way ------------------------------------------------------------


def by_all_pairs(q, k, v):
    """Weigh every pair of tokens, and hide the later ones."""
    import torch
    import torch.nn.functional as F

    q, k, v = map(torch.from_numpy, (q, k, v))
    q, k = F.elu(q) + 1, F.elu(k) + 1
    weights = (q @ k.T).tril()
    weights = weights / weights.sum(1, keepdim=True)
    return (weights @ v).numpy(), torch.einsum("td,te->de", k, v).numpy()


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


# ---- Inputs ------------------------------------------------------------------------------------


def heads(rng, size):
    """Make queries, keys and values of one head.

    In size 4 half of the numbers of queries and keys are ±50, and in size 7 they are ±1,000. There
    the first key and each query have a number above 0, so that no weights sum to 0, and values are
    positive, so that a table's large numbers don't cancel, which float32 couldn't follow.
    """
    L, D, Dv = size + 1, (size - 1) % 3 + 2, (size - 1) % 4 + 1
    q, k, v = rng.normal(size=(L, D)), rng.normal(size=(L, D)), rng.normal(size=(L, Dv))
    if size in (4, 7):
        for x in (q, k):
            large = rng.permutation(x.size).reshape(x.shape) % 2 == 0
            x[large] = np.sign(x[large]) * {4: 50, 7: 1000}[size]
        k[0], v = np.abs(k[0]), np.abs(v) + 0.5
        own = np.arange(L), np.arange(L) % D
        q[own] = np.abs(q[own])
    return q, k, v


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


# ---- Mistakes ----------------------------------------------------------------------------------


def phi(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def by_product(x):
    with np.errstate(all="ignore"):
        return (x > 0) * (x + 1) + (x <= 0) * np.exp(x)


def weight_sum(q, total, t):
    return q @ total


def tabled(q, k, v, *, of_q=phi, of_k=phi, order="write, ask", divisor=weight_sum):
    q, k = of_q(q), of_k(k)
    table, total, output = np.zeros((k.shape[1], v.shape[1])), np.zeros(k.shape[1]), []
    with np.errstate(all="ignore"):
        for t in range(len(k)):
            before = table, total
            table, total = table + np.outer(k[t], v[t]), total + k[t]
            asked, keys = (table, total) if order == "write, ask" else before
            output.append(q[t] @ asked / divisor(q[t], keys, t))
    return np.array(output), table


def without_causal(q, k, v):
    q, k = phi(q), phi(k)
    table = k.T @ v
    return q @ table / (q @ k.sum(0))[:, None], table


def stepped(q, k, v, alpha, beta, *, order="fade, look, write, ask", adds=False):
    table, outputs = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(k)):
        if order.startswith("ask"):
            outputs.append(q[t] @ table)
        had = 0 if adds else k[t] @ (table if "look, fade" in order else alpha[t] * table)
        table = alpha[t] * table + beta[t] * np.outer(k[t], v[t] - had)
        if not order.startswith("ask"):
            outputs.append(q[t] @ table)
    return np.array(outputs), table


TASKS = [
    Task(
        linear_attention,
        inputs=heads,
        truth=by_all_pairs,
        hints=[
            "First φ, for all of `q` and all of `k`: `np.where(x > 0, x + 1, …)`.",
            "`np.where` computes both of its sides for every number, and `e^1000` is too large. "
            "`np.exp(np.minimum(x, 0))` never meets a number above 0.",
            "Then one loop over the tokens. `np.outer(k[t], v[t])` is what a token adds to the "
            "table, and `k[t]` is what it adds to the sum.",
            "In the same round, after that: `q[t] @ table / (q[t] @ total)`, if `total` is the "
            "sum.",
        ],
        why="The weight of an earlier token is φ(q) · φ(k), so all weights together are φ(q) · "
        "`total`. The dot product of φ(q) with each key needn't be made again for each query, "
        "because the tokens' tables have been added up: that is why nothing grows with the text.",
        mistakes={
            "make the queries positive, too: ask with φ(q)":
                lambda q, k, v: tabled(q, k, v, of_q=np.asarray),
            "make the keys positive, too: write under φ(k), and sum φ(k)":
                lambda q, k, v: tabled(q, k, v, of_k=np.asarray),
            "a token writes before it asks, so that it can find its own value":
                lambda q, k, v: tabled(q, k, v, order="ask, write"),
            "divide what the table says by φ(q) · the sum of keys, or it grows with each token":
                lambda q, k, v: tabled(q, k, v, divisor=lambda q, total, t: 1),
            "divide by φ(q) · the sum of keys, not by the number of tokens":
                lambda q, k, v: tabled(q, k, v, divisor=lambda q, total, t: t + 1),
            "no token sees a later one: ask inside the loop, before the next token writes":
                without_causal,
            "φ is never negative: that is elu, and φ is elu + 1":
                lambda q, k, v: tabled(
                    q, k, v, of_q=lambda x: phi(x) - 1, of_k=lambda x: phi(x) - 1),
            "0 times `e^1000` isn't a number: choose with `np.where`":
                lambda q, k, v: tabled(q, k, v, of_q=by_product, of_k=by_product),
        },
    ),
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
]  # fmt: skip
