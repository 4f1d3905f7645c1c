"""m01's widgets: paths by the nature of each network, and what flows by running both."""

from itertools import pairwise, product

import pytest

from tests.numbers import numbers
from tests.widgets.js import assert_near, module
from tests.widgets.truth_flow_map import DECAYS, TIMES, WORDS, N, attention, recurrent

TRACER, FLOW = module("path-tracer.js"), module("flow-map.js")
DATA = {"words": WORDS}


def steps(net, start, end):
    """How many steps there are; None: no path."""
    if net == 1:
        return 1
    return end - start + 1 if start <= end else None


@pytest.mark.parametrize(("net", "lines"), [(0, 19), (1, 100)], ids=["Recurrent", "Attention"])
def test_each_path_follows_the_lines_of_its_network_and_is_told(net, lines):
    for start, end in product(range(N), repeat=2):
        traced = TRACER.told("tracePath", DATA, {"net": net, "from": start, "to": end})
        graph, count = traced["graph"], steps(net, start, end)
        assert len(graph["edges"]) == graph["lines"].count("L") == lines
        assert traced["steps"] == [steps(other, start, end) for other in range(2)]
        told = [start + 1, end + 1, *([] if count is None else [count]), N, [N, 1][net]]
        assert numbers(traced["says"]) == told, "the last: of the longest chain"
        if count is None:
            assert traced["path"] is None
        else:
            assert all(list(line) in graph["edges"] for line in pairwise(traced["path"]))
            first, *_, last = (graph["nodes"][i] for i in traced["path"])
            assert first == {"column": 0, "word": start}
            assert last == {"column": 1, "word": end}
    for a, b in graph["edges"]:
        (column, word), (after, into) = (graph["nodes"][i].values() for i in (a, b))
        along = net == 0 and column == after == 1 and into == word + 1
        assert along or (column < after and (net == 1 or word == into))


@pytest.mark.parametrize(("decay", "source"), [*product(range(5), (0, 4, N - 2, N - 1))])
def test_what_flows_is_what_a_recurrence_and_attention_py_give(decay, source):
    """The sentence tells what attention gives every word, as a share too, and the last word's."""
    by_state = recurrent(DECAYS[decay])
    for times, strength in enumerate(TIMES):
        got = FLOW.told("flows", DATA, {"decay": decay, "times": times, "source": source})
        by_attention, readers = attention(source, strength), got["readers"]
        assert_near(got["recurrent"], by_state)
        assert_near(got["attention"], by_attention)
        assert all(one["recurrent"] is None for one in readers[:source]), "no path back"
        assert_near([one["recurrent"] for one in readers[source:]], by_state[source:, source])
        assert_near([one["attention"] for one in readers], by_attention[:, source])
        share, end = by_attention[0, source].item(), by_state[-1, source].item()
        one, decimal, part, whole, *away, left, base = numbers(got["says"])
        assert [one, decimal, part / whole] == pytest.approx([1, share, share], abs=0.0051)
        assert away == [N - 1 - source] * (source < N - 1)
        assert [left, base ** (N - 1 - source)] == pytest.approx([end, end], abs=0.0051)
