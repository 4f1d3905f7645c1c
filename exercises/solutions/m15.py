"""m15: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def chosen_attention(query, key, value, cheap, kept):
    L, D = query.shape
    causal = np.tril(np.ones((L, L), dtype=bool))
    hidden = np.where(causal, cheap, -np.inf)
    least = np.sort(hidden, axis=1)[:, -min(kept, L)][:, None]
    visible = causal & (hidden >= least)
    scores = np.where(visible, query @ key.T / np.sqrt(D), -np.inf)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ value


def moved(weights, chosen, value):
    kept = weights * chosen
    anew = kept / kept.sum(axis=1, keepdims=True)
    return (anew - weights) @ value


def numbers_kept(layers, tokens, num_kv_heads, head_dim, window, short_dim):
    pair = 2 * num_kv_heads * head_dim
    each = {
        "softmax": tokens * pair,
        "window": min(tokens, window) * pair,
        "table": num_kv_heads * head_dim * head_dim,
        "choice": tokens * (pair + short_dim),
    }
    return sum(each[layer] for layer in layers)


# ---- The same, computed another way ------------------------------------------------------------


def best_by_best(query, key, value, cheap, kept):
    rows = []
    for i in range(len(query)):
        best = sorted(range(i + 1), key=lambda j: -cheap[i, j])[:kept]
        scores = key[best] @ query[i] / query.shape[1] ** 0.5
        weights = np.exp(scores - scores.max())
        rows.append(weights @ value[best] / weights.sum())
    return np.array(rows)


def missed_times_difference(weights, chosen, value):
    """Compute m · (C − M), of each query: what is missed, and how differently it speaks."""
    rows = []
    for i in range(len(weights)):
        is_in, is_out = chosen[i], ~chosen[i]
        m = weights[i, is_out].sum()
        C, M = (
            np.average(value[part], axis=0, weights=weights[i, part])
            if weights[i, part].sum() > 0
            else np.zeros(value.shape[1])
            for part in (is_in, is_out)
        )
        rows.append(m * (C - M))
    return np.array(rows)


def layer_by_layer(layers, tokens, num_kv_heads, head_dim, window, short_dim):
    count = 0
    for layer in layers:
        count += sum(short_dim for _ in range(tokens) if layer == "choice")
        for _ in range(num_kv_heads):
            rows = {"softmax": tokens, "choice": tokens, "window": min(tokens, window)}.get(layer)
            count += head_dim**2 if rows is None else 2 * rows * head_dim
    return count


# ---- Inputs ------------------------------------------------------------------------------------


def choices(rng, size):
    """Make cheap scores in eighths, which float32 has too, and none twice.

    In sizes 5 and 7 all cheap scores are far below 0, so that −1e4 hides none of them.
    """
    L = size + 2
    cheap = rng.permutation(L * L).reshape(L, L) / 8 - L * L / 16
    if size == 8:  # the last query misses the first token
        cheap[-1, 0] = cheap.min() - 1 / 8
    cheap -= {5: 1e3, 7: 1e6}.get(size, 0)
    kept = L + 3 if size == 3 else int(rng.integers(1, L - 1))  # in size 3 all are kept
    return cheap, kept if size > 1 else 2


def measured(rng, size):
    """Make a layer's weights, and what each query has chosen.

    In size 3 everything is chosen; in size 6 every query misses a token with most of the weight, if
    it has two to choose from.
    """
    cheap, kept = choices(rng, size)
    L = len(cheap)
    causal = np.tril(np.ones((L, L), dtype=bool))
    hidden = np.where(causal, cheap, -np.inf)
    chosen = causal & (hidden >= np.sort(hidden, axis=1)[:, -min(kept, L)][:, None])
    if size == 6:
        chosen[1:] &= np.arange(L) != np.argmax(chosen[1:], axis=1)[:, None]
        chosen[:, 0] |= ~chosen.any(axis=1)
    scores = rng.integers(-4, 5, size=(L, L)) / 2 + (4 * ~chosen if size == 6 else 0)
    e = np.where(causal, np.exp(scores), 0)
    value = rng.integers(-20, 21, size=(L, L + 1 if size > 1 else 2)) / 4
    return e / e.sum(axis=1, keepdims=True), chosen, value


def heads(rng, size):
    """Make one head's queries, keys and values, and what ``choices`` gives of cheap scores.

    In size 5 scaled dot products are near 800, in size 7 near −800, and in size 6 near one or the
    other, by the query. In size 8 the first token's are near 800 and all others near −800, and the
    last query misses the first token. In these sizes D is 4, so that float32 has every score.
    """
    cheap, kept = choices(rng, size)
    L, D = len(cheap), 4 if size > 4 else 4 + size % 3
    query, key = (rng.integers(-8, 9, size=(L, D)) / 4 for _ in range(2))
    if size > 4:
        query[:, 0], key[:, 0] = 40, -40 if size > 6 else 40
    if size == 6:
        query[1::2, 0] = -40
    if size == 8:  # a query that misses the first token chooses another beside itself
        key[0, 0], kept = 40, max(kept, 2)
    value = rng.integers(-20, 21, size=(L, D + 1 if size > 1 else 3)) / 4
    return query, key, value, cheap, kept


def stacks(rng, size):
    kinds = ["softmax", "window", "table", "choice"]
    layers = [kinds[i] for i in rng.integers(0, 4, size=size)] + kinds[::-1]
    if size in (2, 3, 4, 5):  # a stack of one kind, or of two
        layers = [kinds[size - 2]] * size
    elif size in (6, 7):
        layers = [kinds[size - 6], kinds[size - 4]] * size
    tokens = int(rng.integers(20, 60))  # so that no window is below 1
    window = tokens + 5 - 3 * size
    if size == 1:  # a text shorter than a table has rows
        tokens, window = 1, 3
    heads, head_dim = int(rng.integers(2, 5)), int(rng.integers(3, 8))
    return layers, tokens, heads, head_dim, window, int(rng.integers(1, 3))


# ---- Mistakes ----------------------------------------------------------------------------------


def attended(query, key, value, cheap, kept, *, shown=None, by=None, scores=None, scale=None,
             later=False, whole=False, largest=None):  # fmt: skip
    """Attend as the solution does, with one thing done otherwise.

    ``shown``: what is chosen from. ``by(scores, cheap)``: what chooses. ``later``: a row with few
    tokens sees later ones, too. ``whole``: softmax over all tokens, then the others' weights are 0.
    """
    L, D = query.shape
    causal = np.tril(np.ones((L, L), dtype=bool))
    plain = query @ key.T / (np.sqrt(D) if scale is None else scale)
    hidden = np.where(
        causal if shown is None else shown, by(plain, cheap) if by else cheap, -np.inf
    )
    visible = hidden >= np.sort(hidden, axis=1)[:, -min(kept, L)][:, None]
    visible = visible if later else visible & causal
    wide = causal if whole else visible
    scores = np.where(wide, plain if scores is None else scores, -np.inf)
    top = scores.max(axis=1, keepdims=True) if largest is None else largest
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    weights = e / e.sum(axis=1, keepdims=True)
    return np.where(visible, weights, 0) @ value


def everything(scores):
    return np.ones(scores.shape, dtype=bool)


def rescaled(weights):
    """Make each row add up to 1; one without weight stays 0."""
    total = weights.sum(axis=1, keepdims=True)
    return weights / np.where(total > 0, total, 1)


def largest_of_all(query, key):
    return (query @ key.T).max(axis=1, keepdims=True) / np.sqrt(query.shape[1])


def counted(layers, tokens, G, D, window, short_dim, *, both=2, heads=True, table=None, short=min,
            chosen=None, short_keys=1):  # fmt: skip
    G_ = G if heads else 1
    pair = both * G_ * D
    each = {
        "softmax": tokens * pair,
        "window": short(tokens, window) * pair,
        "table": G_ * D * D if table is None else table,
        "choice": (tokens if chosen is None else chosen) * pair + tokens * short_dim * short_keys,
    }
    return sum(each[kind] for kind in layers)


TASKS = [
    Task(
        chosen_attention,
        inputs=heads,
        truth=best_by_best,
        hints=[
            "First hide what comes later, then choose: set later cheap scores to −∞. "
            "`np.sort(hidden, axis=1)` puts each row's largest last, so the one at "
            "`-min(kept, L)` is the least that is chosen.",
            "A query looks at `causal & (hidden >= least)`. The first part is needed, too: an "
            "early query has fewer tokens than it may choose, and then the least is −∞.",
            "The rest is the attention that you know: the scaled dot products, −∞ where a token "
            "isn't looked at, softmax, and the mix of the values.",
        ],
        why="A choice is a mask that the tokens make themselves. Here all dot products are "
        "computed, and most of them thrown away; a fast kernel computes those of the chosen tokens "
        "only, and the result is the same.",
        mistakes={
            "hide later tokens first and choose then: you spend some of the choices on hidden ones":
                lambda *head: attended(*head, shown=everything(head[3])),
            "an early query has fewer tokens than it may choose; it still sees no later one":
                lambda *head: attended(*head, later=True),
            "choose by the cheap scores: the others are computed only after the choice":
                lambda *head: attended(*head, by=lambda plain, cheap: plain),
            "the largest cheap scores are wanted, not the smallest":
                lambda *head: attended(*head, by=lambda plain, cheap: -cheap),
            "you chose the last tokens, a window: choose by the cheap scores":
                lambda *head: attended(
                    *head, by=lambda plain, cheap: np.tile(np.arange(len(cheap)), (len(cheap), 1))),
            "the weights of the chosen tokens have to add up to 1: hide the others before softmax":
                lambda *head: attended(*head, whole=True),
            "the cheap scores only choose; the weights come from the dot products":
                lambda *head: attended(*head, scores=head[3]),
            "divide the dot products by the square root of D":
                lambda *head: attended(*head, scale=1),
            "nothing was chosen: each query looks at everything up to itself":
                lambda query, key, value, cheap, kept: attended(
                    query, key, value, cheap, len(cheap)),
            "scores of 1,000 are too large for exp, and those of −1,000 too small: take away each "
            "row's largest score first":
                lambda *head: attended(*head, largest=0),
            "take away the largest score of the chosen tokens, and hide the others before exp: one "
            "that isn't chosen may be far larger":
                lambda query, key, *rest: attended(
                    query, key, *rest, largest=largest_of_all(query, key)),
        },
    ),
    Task(
        moved,
        inputs=measured,
        truth=missed_times_difference,
        hints=[
            "`weights * chosen` leaves the weights of the chosen tokens, and 0 for all others.",
            "Divide each row of that by its sum, with `keepdims=True`: now the chosen tokens' "
            "weights add up to 1 again.",
            "Two sets of weights mix the same values. So take one from the other first, and "
            "multiply by `value` once.",
        ],
        why="Let m be the missed weight, C the mean of the chosen values by their weights, and M "
        "that of the missed ones. With all tokens the output is (1 − m) · C + m · M, and with the "
        "chosen tokens alone it is C. So they differ by m · (C − M). If m is small, hardly "
        "anything can change. If it is large, ask what the missed tokens say: many small weights "
        "for different rooms leave the best room the best, but one large weight for another room "
        "may not.",
        mistakes={
            "the weights of the chosen tokens have to add up to 1 again: divide by their sum":
                lambda weights, chosen, value: (weights * chosen - weights) @ value,
            "that is the mix of the chosen tokens; take the mix of all away from it":
                lambda weights, chosen, value: moved(weights, chosen, value) + weights @ value,
            "that is the mix of all minus the mix of the chosen tokens: the other way round":
                lambda *choice: -moved(*choice),
            "you mixed the tokens that aren't chosen":
                lambda weights, chosen, value: (rescaled(weights * ~chosen) - weights) @ value,
            "the chosen tokens keep the ratios of their weights, so they don't all get the same":
                lambda weights, chosen, value: (rescaled(1.0 * chosen) - weights) @ value,
            "the weights have been through softmax, so only divide them by their sum":
                lambda weights, chosen, value: (
                    rescaled(np.exp(weights) * chosen) - weights) @ value,
            "divide each row by its own sum":
                lambda weights, chosen, value: (
                    weights * chosen / (weights * chosen).sum() - weights) @ value,
            "that is the weight that is missed; return how far the output moves":
                lambda weights, chosen, value: (
                    (weights * ~chosen).sum(axis=1, keepdims=True) + 0 * value),
            "only the weights are compared; mix the values by them":
                lambda weights, chosen, value: rescaled(weights * chosen) - weights,
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
            "A layer that chooses keeps what softmax keeps, and `tokens * short_dim` beside it.",
        ],
        why="Only layers that may still look at every token grow with the text: those of softmax, "
        "and those that choose, which keep even more. In a long text they are nearly all of what "
        "is kept, so a stack with a quarter of them keeps about a quarter.",
        mistakes={
            "a key and a value are kept: twice as many numbers":
                lambda *stack: counted(*stack, both=1),
            "each head keeps its own": lambda *stack: counted(*stack, heads=False),
            "a table doesn't grow with the text":
                lambda layers, tokens, G, D, *rest: counted(
                    layers, tokens, G, D, *rest, table=tokens * G * D * D),
            "a window keeps the last tokens alone":
                lambda *stack: counted(*stack, short=lambda tokens, window: tokens),
            "early in a text there are fewer tokens than the window has room for":
                lambda *stack: counted(*stack, short=lambda tokens, window: window),
            "any token may be chosen later: a layer that chooses keeps every key and value":
                lambda layers, tokens, G, D, window, short_dim: counted(
                    layers, tokens, G, D, window, short_dim, chosen=min(tokens, window)),
            "a layer that chooses keeps a short key of every token, too":
                lambda *stack: counted(*stack, short_keys=0),
            "a token has one short key, whatever the heads are":
                lambda *stack: counted(*stack, short_keys=stack[2]),
            "a layer that chooses keeps keys and values as well, not only short keys":
                lambda *stack: counted(*stack, chosen=0),
        },
    ),
]  # fmt: skip
