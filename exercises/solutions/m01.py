"""m01: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def path_length(edges, start, end):
    here, seen, steps = {start}, {start}, 0
    while here:
        if end in here:
            return steps
        here = {b for a, b in edges if a in here} - seen
        seen |= here
        steps += 1
    return None


def flow_lines(n, kept, times):
    distances = np.arange(n)
    return kept**distances, np.full(n, times / (times + n - 1))


def times_needed(n, weight):
    return weight * (n - 1) / (1 - weight)


# ---- Inputs --------------------------------------------------------------------------------------


def graphs(rng, size):
    """Make a chain, with shortcuts from size 4 on; at every third size no path reaches the end.

    Nodes are named at random, so that neither their order nor that of the edges tells the way. At
    three sizes another search finds longer ways alone, in whatever order it looks. Size 2 is a long
    chain, size 3 has no edges, at size 4 a way leads back to the start, which is the end, and at
    size 6 one goes round in a circle for ever.
    """
    if size == 3:
        return [], *rng.permutation(2).tolist()
    others = {5: (first_way, never_again), 7: (by_a_stack,), 8: (swept,)}.get(size, ())
    while True:
        edges, start, end = network(rng, size)
        shortest = path_length(edges, start, end)
        if shortest not in found_by(others, edges, start, end):
            return edges, start, end


def network(rng, size):
    length = {2: 40}.get(size, size)
    edges = [(i, i + 1) for i in range(length)] + {4: [(4, 0)], 6: [(1, 0)]}.get(size, [])
    edges += [(int(a), int(b)) for a, b in rng.integers(0, size + 1, (size, 2)) if size > 3]
    if size % 3 == 0:
        edges = [(a, b) for a, b in edges if b != size]
    name = rng.permutation(length + 1).tolist()
    edges = [(name[a], name[b]) for a, b in rng.permutation(edges).tolist()]
    return edges, name[0], name[0 if size == 4 else length]


def plots(rng, size):
    """Make a text, whose last one is so long that little is left of its first word."""
    n, most = (40, 0.75) if size == 8 else (size + 1, 0.95)
    return n, round(rng.uniform(0.5, most), 2), int(rng.choice([1, 3, 10, 100]))


def weights(rng, size):
    """Make a number below 1 necessary at size 1, above 1,000 at size 7, above 100,000 at 8."""
    n, low, high = {1: (2, 0.2, 0.45), 7: (500, 0.8, 0.95), 8: (20_000, 0.85, 0.95)}.get(
        size, (size + 1, 0.2, 0.95)
    )
    return n, round(rng.uniform(low, high), 2)


# ---- The same, computed another way --------------------------------------------------------------


def by_powers(edges, start, end):
    """Find the first power of the matrix of edges that has a path: powers count paths."""
    nodes = 1 + max([start, end, *(node for edge in edges for node in edge)])
    matrix = np.zeros((nodes, nodes))
    for a, b in edges:
        matrix[a, b] = 1
    ways = (np.linalg.matrix_power(matrix, steps)[start, end] > 0 for steps in range(nodes))
    return next((steps for steps, found in enumerate(ways) if found), None)


def by_nudging(n, kept, times):
    """Raise one word by 1, and measure the change in the last state and the last mix."""
    recurrent, attention = [], []
    for position in range(n):
        x = np.zeros(n)
        x[n - 1 - position] = 1
        state = 0.0
        for word in x:
            state = kept * state + word
        counts = np.where(x == 1, times, 1)
        recurrent.append(state)
        attention.append(counts @ x / counts.sum())
    return np.array(recurrent), np.array(attention)


def by_bisection(n, weight):
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle / (middle + n - 1) < weight else (low, middle)
    return low


def both_ways(edges, start, end):
    return path_length([*edges, *((b, a) for a, b in edges)], start, end)


def first_way(edges, start, end, seen=()):
    """Go on from the first edge as far as it leads; take the next only if it led nowhere."""
    if start == end:
        return 0
    seen = {*seen, start}
    for a, b in edges:
        if a == start and b not in seen:
            steps = first_way(edges, b, end, seen)
            if steps is not None:
                return 1 + steps
    return None


def never_again(edges, start, end, seen=None):
    """Try every first edge, but enter no node twice, though the second way to it may be shorter."""
    if start == end:
        return 0
    seen = set() if seen is None else seen
    seen.add(start)
    ways = [never_again(edges, b, end, seen) for a, b in edges if a == start and b not in seen]
    return min((1 + steps for steps in ways if steps is not None), default=None)


def by_a_stack(edges, start, end):
    """Search with a stack instead of the queue: a node keeps the steps of the first way to it."""
    stack, steps = [start], {start: 0}
    while stack:
        here = stack.pop()
        for a, b in edges:
            if a == here and b not in steps:
                steps[b] = steps[here] + 1
                stack.append(b)
    return steps.get(end)


def swept(edges, start, end, sweeps=3):
    """Go over all edges a few times, which finds a way only if they stand in a lucky order."""
    steps = {start: 0}
    for _ in range(sweeps):
        for a, b in edges:
            if a in steps:
                steps[b] = min(steps.get(b, len(edges)), steps[a] + 1)
    return steps.get(end)


def found_by(searches, edges, start, end):
    """Yield what each search finds, by the order of the edges and by that of the nodes."""
    orders = edges, edges[::-1], sorted(edges), sorted(edges)[::-1]
    return (search(order, start, end) for search in searches for order in orders)


def nodes_on_the_way(edges, start, end):
    steps = path_length(edges, start, end)
    return None if steps is None else steps + 1


def no_way_is(value):
    def answer(edges, start, end):
        steps = path_length(edges, start, end)
        return value if steps is None else steps

    return answer


TASKS = [
    Task(
        path_length,
        inputs=graphs,
        truth=by_powers,
        hints=[
            "Go in rounds. At first you are at `start`; after a round, wherever an edge leads.",
            "`{b for a, b in edges if a in here}` is a round. Count the rounds until `end` is in.",
            "Take away what you have seen before. When nothing is left, there is no path.",
        ],
        why="Each round goes one edge on along all ways at once, so the first round that holds "
        "`end` is the shortest. This is breadth-first search; the lesson's drawing uses it.",
        mistakes={
            "you counted the nodes on the way; count the edges between them": nodes_on_the_way,
            "you went along edges backwards; (a, b) leads from a to b only": both_ways,
            "where there is no path, return None, not 0": no_way_is(0),
            "where there is no path, return None, not infinity": no_way_is(float("inf")),
            "you took the first way that leads there; another may be shorter: go along all at once":
                first_way,
            "you measured the distance of the numbers; follow the edges":
                lambda edges, start, end: abs(end - start),
        },
    ),
    Task(
        flow_lines,
        inputs=plots,
        truth=by_nudging,
        hints=[
            "The distance of the last word from itself is 0, and nothing is lost yet.",
            "In the mix, the raised word counts `times`, and each of the other n - 1 counts 1.",
            "Its weight is `times / (times + n - 1)`, at every distance: `np.full(n, ...)`.",
        ],
        why="Both lines now answer one question on one scale: raise that word by 1, how much does "
        "the last one get? Attention's line is level, but its height is a weight.",
        mistakes={
            "attention is still at 1: the weight of one word in a mix of n is less":
                lambda n, kept, times: (kept ** np.arange(n), np.ones(n)),
            "you divided attention evenly; the raised word counts `times` as much as another":
                lambda n, kept, times: (kept ** np.arange(n), np.full(n, 1 / n)),
            "the first line starts one step too far: at distance 0 nothing is lost":
                lambda n, kept, times:
                    (kept ** np.arange(1, n + 1), np.full(n, times / (times + n - 1))),
            "you counted n other words; one of the n is the word itself":
                lambda n, kept, times: (kept ** np.arange(n), np.full(n, times / (times + n))),
            "your first line runs from far to near; it starts at the last word itself":
                lambda n, kept, times:
                    (kept ** np.arange(n)[::-1], np.full(n, times / (times + n - 1))),
        },
    ),
    Task(
        times_needed,
        inputs=weights,
        truth=by_bisection,
        hints=[
            "If it counts t and each other word counts 1, what do they all count together?",
            "Its weight is t / (t + n - 1). Set that equal to `weight`, and solve for t.",
            "weight · (t + n - 1) = t, so weight · (n - 1) = t · (1 - weight).",
        ],
        why="To keep its weight among twice as many others, a word must count twice as much. "
        "Softmax makes such ratios out of scores: a score that is larger by ln t counts t times.",
        mistakes={
            "you counted n other words; one of the n is the word itself":
                lambda n, weight: weight * n / (1 - weight),
            "that is the ratio to all the others together; each of them counts 1":
                lambda n, weight: weight / (1 - weight),
            "that is how many times an even weight it gets; the others have what is left":
                lambda n, weight: weight * n,
            "you took the logarithm: that is the lead in scores; return the ratio":
                lambda n, weight: np.log(weight * (n - 1) / (1 - weight)),
        },
    ),
]  # fmt: skip
