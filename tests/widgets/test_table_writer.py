"""m13's table: its two rules against variants.gated_delta_rule, and what its text says."""

import pytest
import torch

from tests.lessons.page_text import in_order
from tests.widgets.js import module
from variants import gated_delta_rule

JS = module("table-writer.js")
DATA = {"guests": ["Ann", "Cleo", "Ben"], "keys": [[1, 0], [0, 1], [0.6, 0.8]], "start": ""}
NOTES = ["0n5", "0n5 1n10 0n2", "0n5 2n4 0n2 1n7 2n9", "0n5 1n10 f20 0n2", "2n3 f0 1n12 f50 2n1"]


def by_the_rule(notes, rule):
    """The table after all notes; a fading is the decay of a token that writes nothing."""
    keys, values, decay, beta = [], [], [], []
    for item in notes.split():
        fades = item.startswith("f")
        guest, room = (0, 0) if fades else map(int, item.split("n"))
        keys.append(DATA["keys"][guest])
        values.append([float(room)])
        decay.append(int(item[1:]) / 100 if fades else 1.0)
        beta.append(float(not fades))
    key, value, decay, beta = (
        torch.tensor(t, dtype=torch.float64) for t in (keys, values, decay, beta)
    )
    decay = decay.clamp(min=1e-30).log()
    _, table = gated_delta_rule(
        key, key, value, decay, beta, delta=rule == "corrects", chunk_size=None
    )
    return table[:, 0]


@pytest.mark.parametrize("rule", ["adds", "corrects"])
@pytest.mark.parametrize("notes", NOTES)
def test_the_table_is_the_rule_s(notes, rule):
    model, want = JS.call("tableOf", DATA, {"rule": rule, "notes": notes}), by_the_rule(notes, rule)
    torch.testing.assert_close(torch.tensor(model["table"], dtype=torch.float64), want)
    answers = torch.tensor(DATA["keys"]).double() @ want
    assert [one["answer"] for one in model["asked"]] == pytest.approx(answers.tolist())


@pytest.mark.parametrize("notes", [*NOTES, "0n5 1n10 0n2 2n4", ""])
def test_a_table_on_a_guest_s_line_says_his_room(notes):
    model = JS.call("tableOf", DATA, {"rule": "corrects", "notes": notes})
    plane = JS.call("planeOf", model)
    assert plane["path"][-1] == model["table"]
    rooms = {one["name"]: (one["room"], one["key"]) for one in model["asked"] if one["times"]}
    assert {line["name"] for line in plane["lines"]} == set(rooms)
    for line in plane["lines"]:
        room, key = rooms[line["name"]]
        for end in line["ends"]:
            assert sum(k * x for k, x in zip(key, end, strict=True)) == pytest.approx(room)
            assert plane["low"] <= min(end) <= max(end) <= plane["high"]
        assert line["ends"][0] != line["ends"][1]


def test_what_the_lesson_says_of_it():
    for rule, says, numbers in (("adds", 7, ["2"]), ("corrects", 2, ["5", "-3"])):
        model = JS.call("tableOf", DATA, {"rule": rule, "notes": "0n5 1n10 0n2"})
        assert [one["answer"] for one in model["asked"][:2]] == [says, 10]
        assert [one["room"] for one in model["asked"]] == [2, 10, None]
        assert in_order(JS.call("sentence", model), *numbers, "Ann", "2", str(says), "Cleo", "10")


def test_all_rooms_right_counts_only_for_a_table_that_corrects():
    adds, corrects = (
        JS.call("tableOf", DATA, {"rule": rule, "notes": notes})
        for rule, notes in (("adds", "0n3 1n4 2n5 f50"), ("corrects", "0n5 1n10 0n2 1n6 2n6"))
    )
    for model in (adds, corrects):
        for one in model["asked"]:
            assert one["answer"] == pytest.approx(one["room"])
    met = [JS.run("m.GOALS['all-right'](x)", model) for model in (adds, corrects)]
    assert met == [False, True]


@pytest.mark.parametrize(
    "notes", ["3n1", "0n13", "0n0", "f101", "0n5,1n2", "x", " ".join(["0n1"] * 9)]
)
def test_what_is_no_history(notes):
    assert JS.call("historyOf", notes, 3) is None
