"""The model of m09's lab, and what PyTorch says of the same patches."""

import pytest
import torch

from course.payloads.attributions import EXAMPLES, classifier
from course.payloads.patch_lab import payload
from models.sentiment.reviews import INDEX
from tests.widgets.js import module

JS = module("patch-lab.js")
WORDS = ["[class]", *EXAMPLES[0].split()]
SECOND = {"quite": "not", "dull": "superb"}


@pytest.fixture(scope="module", autouse=True)
def published():
    JS.run("(globalThis.data = x, null)", payload())


def shown(then="x", **state):
    default = {"model": "B", "run": "quite", "two": False, "off": False, "at": [], "tried": []}
    return JS.run(f"((x) => {then})(m.patch(data, x))", default | state)


@torch.no_grad()
def y(name, words, *, other=None, at=(), off=False):
    """A whole forward pass, with vectors of ``other`` between the layers by a hook."""
    model = classifier(name)
    ids = torch.tensor([[INDEX[word] for word in words]])
    if other:
        theirs = model(torch.tensor([[INDEX[word] for word in other]])).residual[1]

        def replace(layer, given):
            x = given[0].clone()
            x[:, list(at)] = theirs[:, list(at)]
            return (x, x, *given[2:])

        model.layers[-1].register_forward_pre_hook(replace)
    run = model(ids, off=[(1, 0)] if off else [])
    bad, good = run.logits[0, 0, [INDEX["[bad]"], INDEX["[good]"]]].tolist()
    return good - bad


def second(run):
    return [run if word == SECOND[run] else word for word in WORDS]


@pytest.mark.parametrize("off", [False, True])
@pytest.mark.parametrize("run", SECOND)
@pytest.mark.parametrize("name", "BA")
def test_answers_are_those_of_whole_passes(name, run, off):
    for at in ([], [0], [8], [10], [8, 0], [11, 12]):
        got = shown(model=name, run=run, off=off, at=at, two=True)
        first, last, now = (
            y(name, WORDS, off=off),
            y(name, second(run), off=off),
            y(name, WORDS, other=second(run), at=at, off=off),
        )
        assert [got["first"], got["second"], got["now"]] == pytest.approx(
            [first, last, now], abs=1e-3
        )
        assert got["share"] == pytest.approx((now - first) / (last - first), abs=2e-3)
        assert max(got["weights"]) == (0 if off else pytest.approx(1, abs=0.05))


@torch.no_grad()
def test_where_the_pressed_position_looks_below_is_the_mean_of_the_heads():
    for name in "BA":
        [below, _] = classifier(name)(torch.tensor([[INDEX[word] for word in WORDS]])).weights
        for i in (0, 8, 12):
            want = below[0, :, i].mean(0).tolist()
            assert shown(model=name, at=[i])["below"] == pytest.approx(want, abs=1e-4)
    assert shown()["below"] is None
    told = shown("m.sentence(x)", at=[8], tried=[8])
    assert told.index("“not”, with 44") < told.index("“superb”, with 36")


def test_without_two_only_the_last_is_replaced_and_counts_as_tried():
    got = shown(at=[8, 0], tried=[10, 8])
    assert got["replaced"] == [0]
    assert [one["i"] for one in got["found"]] == [10, 8, 0]
    assert shown(at=[8, 0], tried=[], two=True)["found"] == []


def test_the_sentence_tells_the_bet_and_the_shares_of_two():
    def told(**state):
        return shown("m.sentence(x)", **state)

    assert "your bet" in told()
    assert "That was your bet" in told(at=[10], tried=[10])
    later = told(at=[8], tried=[10, 8])
    assert "“not”, with 0" in later
    assert "“film”, with 59" in later
    two = told(at=[0, 8], tried=[0, 8], two=True)
    assert all(part in two for part in ("95", "88", "59"))
    assert "without the head" in told(off=True)


def test_which_states_meet_the_goals():
    def met(goal, **state):
        return shown(f"m.GOALS['{goal}'](x)", **state)

    assert met("copies", at=[8], tried=[0, 8])
    assert not met("copies", at=[8], tried=[10, 8]), "not holds none"
    assert not met("copies", at=[8, 0], tried=[8], two=True), "alone"
    assert met("headless", at=[0], off=True)
    assert not met("headless", at=[8], off=True)
    assert not met("headless", at=[0])
    assert met("lost", model="A", off=True)
    assert not met("lost", off=True)
