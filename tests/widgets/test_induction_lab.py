"""The models of m08's widgets: what they show is PyTorch's, run on the shipped weights."""

from itertools import product

import pytest
import torch

from course.payloads.induction_lab import history, payload, read
from tests.lessons.page_text import in_order, share
from tests.widgets.js import assert_near, module
from tests.widgets.truth_induction_lab import DEFAULT, HEADS, STEPS, THREE, checkpoint

LAB, ZOO = module("induction-lab.js"), module("pattern-zoo.js")
OFF = [[], [1], [0, 1], [2], [0, 3]]


@pytest.fixture(scope="module", autouse=True)
def published():
    """All that the page gives the lab, and the checkpoints of THREE."""
    # Through lib/induction.js's own unpacking, as the page does.
    LAB.run(
        "(globalThis.data = {...x, memory: new Map(), last: null, "
        "opening: (await import('/widgets/lib/induction.js')).unpacked(x.text, x.reading), "
        "store: {models: [], asked: 0, arrived: 0, problem: ''}}, null)",
        payload(DEFAULT, 16, ticks=()),
    )
    for i in THREE:
        file = f"models/induction/weights/two-layers-{STEPS[i]:04}.safetensors"
        LAB.run(f"(data.store.models[{i}] = await loadModel(x), null)", file)


def watched(index=THREE[-1], text=DEFAULT, off=()):
    state = {"step": index, "text": text, "at": 16, "off": off}
    return LAB.run("((lab) => ({...lab, sentence: m.summarize(lab)}))(m.watched(data, x))", state)


@pytest.mark.parametrize(("index", "off"), [*product(THREE, OFF)], ids=str)
def test_what_the_lab_shows_is_pytorch_s(index, off):
    for text in (DEFAULT, "the cat sat. the cat", "aa"):
        want = read(checkpoint(index), text, tuple(HEADS[i] for i in off))
        got = watched(index, text, off)
        reading, guess = got["reading"], got["guesses"][0]
        assert got["isFresh"]
        assert_near(reading["maps"], want["maps"], 1e-4)
        assert_near(reading["given"], want["given"], 1e-4)
        for kind, loss in want["losses"].items():
            assert reading["losses"][kind] == (loss and pytest.approx(loss, abs=2e-3))
        for mine, theirs in zip(reading["guesses"], want["guesses"], strict=True):
            assert_near([share for _, share in mine], [share for _, share in theirs], 1e-4)
            assert mine[0][0] == theirs[0][0]
        looks = [share(max(head["map"][got["at"]])) for head in got["heads"] if not head["isOff"]]
        assert in_order(got["sentence"], str(STEPS[index]), *looks, share(guess[1]))
        for head, score in zip(got["heads"], history()[index]["heads"], strict=True):
            assert (head["previous"], head["induction"]) == (score["previous"], score["induction"])


def test_what_stands_there_before_a_touch_is_what_the_checkpoint_gives():
    shown, fresh = (torch.tensor(watched(text=text)["reading"]["maps"], dtype=torch.float64)
                    for text in (DEFAULT, DEFAULT + DEFAULT[:1]))  # fmt: skip
    assert_near(shown, fresh[:, :-1, :-1], 2e-4)


@pytest.mark.parametrize(
    ("text", "says"), [("ä<b>", ["ä", "<", ">"]), ("a", ["two"]), ("", ["two"]), ("a" * 49, ["48"])]
)
def test_a_text_that_can_t_be_read_is_refused_in_words_and_the_last_one_stays(text, says):
    before, after = watched(), watched(text=text)
    assert in_order(after["problem"], *says)
    assert after["sentence"] == after["problem"]
    assert not after["isFresh"]
    assert after["reading"]["text"] == before["reading"]["text"]


def test_it_takes_two_heads_off_to_make_it_worse_than_blind():
    """And a mirrored text does, as Check it says."""
    blind = torch.tensor(32.0).log().item()
    one_off = [read(checkpoint(-1), DEFAULT, (head,)) for head in HEADS]
    assert all(reading["losses"]["seen"] < blind for reading in one_off)
    assert read(checkpoint(-1), DEFAULT, ((0, 0), (0, 1)))["losses"]["seen"] > blind + 1
    assert read(checkpoint(-1), "abcdefghijhgfedcba")["losses"]["seen"] > blind + 1


def test_the_goal_of_two_heads_off_is_met_by_no_text_alone():
    def met(text=DEFAULT, off=()):
        return LAB.run("m.GOALS.blind(m.watched(data, x))",
                       {"step": THREE[-1], "text": text, "at": 5, "off": off})  # fmt: skip

    assert met(off=[0, 1])
    assert not met(off=[0])
    assert not met("abcabd"), "its loss is high with all heads on"
    assert not met("aabb", off=[0, 3]), "nor one that is hard for two heads of two layers"


def test_a_look_s_score_is_the_mean_weight_on_it():
    torch.manual_seed(0)
    weights = torch.rand(7, 7).double().tril() ** 3
    weights /= weights.sum(-1, keepdim=True)
    marks = [False, True, False, False, True, False, False]
    got = {s["name"]: s["share"] for s in ZOO.call("scoresOf", weights, marks)}
    back = torch.arange(7)[:, None] - torch.arange(7)
    places = {
        "itself": back == 0, "previous": back == 1, "first": torch.arange(7) == 0,
        "near": (back >= 0) & (back < 4), "punctuation": torch.tensor(marks).expand(7, 7),
    }  # fmt: skip
    want = {name: (weights * on)[1:].sum(-1).mean().item() for name, on in places.items()}
    assert got == pytest.approx(want, abs=1e-12)
