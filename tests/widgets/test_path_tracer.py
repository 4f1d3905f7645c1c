"""The path tracer's model: its counts, its paths and its lines, for every pair of words."""

from itertools import pairwise, product

import pytest

from tests.numbers import numbers
from tests.widgets.js import module

WORDS = "the cat sat on the mat because it was tired".split()
NAMES = ["Recurrent", "Attention"]
LINES = [19, 100]  # of ten words
TRACER = module("path-tracer.js")


def steps(net, start, end):
    """How many steps there are, by the nature of each network; None: no path."""
    d = end - start
    if net == 0 and d < 0:
        return None
    return [d + 1, 1][net]


def may_go(net, a, b):
    """Whether a line leads from word a to the state or output of word b."""
    return [a == b, True][net]


def test_every_pair_of_words_in_sentences_of_two_to_ten():
    paths = TRACER.run("""m.NETS.map((net) => x.map((n) => {
      const graph = net.graph(n);
      const count = (path) => path && path.length - 1;
      return {chain: m.longestChain(graph), steps: [...Array(n * n)].map((_, i) =>
        count(m.shortestPath(graph, Math.floor(i / n), i % n)))};
    }))""", list(range(2, 11)))  # fmt: skip
    for net, lengths in enumerate(paths):
        for n, got in enumerate(lengths, 2):
            want = [steps(net, a, b) for a, b in product(range(n), repeat=2)]
            assert (got["steps"], got["chain"]) == (want, [n, 1][net]), (NAMES[net], n)


@pytest.mark.parametrize("net", range(2), ids=NAMES)
def test_each_path_follows_the_lines_of_its_network_and_is_told(net):
    for start, end in [(0, 9), (9, 0), (4, 4), (6, 3), (2, 5), (1, 7), (9, 7)]:
        traced = TRACER.run(
            "({...m.tracePath(...x), sentence: m.sentence(m.tracePath(...x))})",
            [{"words": WORDS}, {"net": net, "from": start, "to": end}],
        )
        graph, count = traced["graph"], steps(net, start, end)
        assert len(graph["edges"]) == graph["lines"].count("L") == LINES[net]
        assert len(graph["places"]) == len(graph["nodes"])
        assert traced["steps"] == [steps(other, start, end) for other in range(2)]
        want = [start + 1, end + 1, *([] if count is None else [count]), 10, [10, 1][net]]
        assert numbers(traced["sentence"]) == want
        assert ("no path" in traced["sentence"]) == (count is None)
        if count is None:
            assert traced["path"] is None
            continue
        nodes = [graph["nodes"][i] for i in traced["path"]]
        places = [(node["column"], node["word"]) for node in nodes]
        assert places[0] == (0, start)
        assert places[-1][1] == end
        for (column, word), (after, into) in pairwise(places):
            along = net == 0 and column == after == 1 and into == word + 1
            assert along or (after == column + 1 and may_go(net, word, into))
