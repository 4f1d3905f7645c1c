"""widgets/lib/diagram.js: where it puts things, running across and downwards."""

import itertools

import pytest

from tests.widgets.js import module

JS = module("lib/diagram.js")
CELLS = [[1, 2], [3, 4], [5, 6]]
SQUARE = [[1, 2, 3]] * 3
WORDS = ["The", "cat", "sat"]
SPEC = {
    "nodes": {
        "Q": {"at": [0, 0], "cells": CELLS, "title": "Q", "note": "3 × 2", "rows": WORDS},
        "K": {"at": [0, 1], "cells": CELLS, "title": "K", "note": "3 × 2", "rows": WORDS},
        "scores": {"at": [1, 0.5], "cells": SQUARE, "title": "scores", "note": "3 × 3"},
        "words": {"at": [2, 0], "tokens": WORDS},
        "mix": {"at": [2, 1], "down": [1, 3], "box": ["softmax", "and mix"]},
    },
    "arrows": [
        {"from": ["Q", "K"], "to": "scores", "label": ["1", "QKᵀ"]},
        {"from": "scores", "to": "mix", "label": ["2"]},
        {"from": "Q", "to": "words", "around": 20},
    ],
    "frames": [{"around": ["Q", "K"], "label": "one head"}],
}


def laid_out(is_down, spec=SPEC):
    return JS.run("m.layout(x[0], x[1])", [spec, is_down])


def reach(node):
    return (
        node["x"] - node["left"], node["y"] - node["above"],
        node["x"] + node["right"], node["y"] + node["below"],
    )  # fmt: skip


@pytest.mark.parametrize("is_down", [False, True], ids=["across", "down"])
def test_nothing_overlaps_and_all_is_inside(is_down):
    layout = laid_out(is_down)
    boxes = {node["name"]: reach(node) for node in layout["nodes"]}
    for (a, one), (b, other) in itertools.combinations(boxes.items(), 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, f"{a} overlaps {b}"
    for left, top, right, bottom in boxes.values():
        assert left >= 0
        assert top >= 0
        assert right <= layout["width"]
        assert bottom <= layout["height"]
    (frame,) = layout["frames"]
    assert frame["left"] <= min(boxes["Q"][0], boxes["K"][0])
    assert frame["bottom"] >= max(boxes["Q"][3], boxes["K"][3])


def test_downwards_a_joined_label_has_its_room_above_the_node_where_it_ends():
    box = {"box": ["one"]}
    nodes = {
        "a": {"at": [0, 0], **box},
        "b": {"at": [0, 1], **box},
        "between": {"at": [1, 0], "down": [0, 1], **box},
        "end": {"at": [1, 1], "down": [0, 2], **box},
    }
    arrows = [{"from": ["a", "b"], "to": "end", "label": ["joined"]}]
    at = {n["name"]: n["y"] for n in laid_out(True, {"nodes": nodes, "arrows": arrows})["nodes"]}
    assert at["end"] - at["between"] > at["between"] - at["a"] + 10


def test_downwards_columns_become_rows_or_what_down_says():
    across, down = laid_out(False), laid_out(True)
    assert down["width"] < across["width"]
    assert down["height"] > across["height"]
    places = {node["name"]: node["place"] for node in down["nodes"]}
    assert places == {"Q": [0, 0], "K": [1, 0], "scores": [0.5, 1], "words": [0, 2], "mix": [1, 3]}
    at = {node["name"]: node["y"] for node in across["nodes"]}
    assert at["scores"] == pytest.approx((at["Q"] + at["K"]) / 2), "half a row lies between two"


def test_a_label_has_room_over_its_arrow():
    def gap(label):
        arrows = [{"from": "a", "to": "b", "label": [label]}]
        nodes = {"a": {"at": [0, 0], "box": ["a"]}, "b": {"at": [1, 0], "box": ["b"]}}
        a, b = laid_out(False, {"nodes": nodes, "arrows": arrows})["nodes"]
        return reach(b)[0] - reach(a)[2]

    assert gap("softmax of rows") >= 7 * len("softmax of rows")
    assert gap("+") < 40
