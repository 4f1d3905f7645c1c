"""The models of m08's widgets: what they show is PyTorch's, run on the shipped weights."""

import re
from functools import cache
from itertools import product

import pytest
import torch

from course.payloads.induction_lab import FOLDER, history, payload, read, signs
from models.weights import load
from tests.widgets.js import module

ZOO = module("pattern-zoo.js")
HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]
STEPS = [point["step"] for point in history()]
THREE = [0, STEPS.index(275), len(STEPS) - 1]
OFF = [[], [1], [0, 1], [2], [0, 3]]
DEFAULT = signs(12, 4)
TEXTS = [DEFAULT, "the cat sat. the cat", "aa"]


@cache
def checkpoint(index):
    return load(FOLDER / "weights" / f"two-layers-{STEPS[index]:04}.safetensors").double()


class Lab:
    """induction-lab.js with all that its page gives it, and the checkpoints of THREE."""

    def __init__(self):
        self.module = module("induction-lab.js")
        # Through lib/induction.js's own unpacking, as the page does.
        self.module.run(
            "(globalThis.data = {...x, memory: new Map(), last: null, "
            "opening: (await import('/widgets/lib/induction.js')).unpacked(x.text, x.reading), "
            "store: {models: [], asked: 0, arrived: 0, problem: ''}}, null)",
            payload(DEFAULT, 16, ticks=()),
        )  # fmt: skip
        for i in THREE:
            file = f"models/induction/weights/two-layers-{STEPS[i]:04}.safetensors"
            self.module.run(f"(data.store.models[{i}] = await loadModel(x), null)", file)

    def watched(self, **state):
        state = {"step": len(STEPS) - 1, "text": DEFAULT, "at": 16, "off": []} | state
        return self.module.run("m.watched(data, x)", state)

    def sentence(self, **state):
        state = {"step": len(STEPS) - 1, "text": DEFAULT, "at": 16, "off": []} | state
        return self.module.run("m.summarize(m.watched(data, x))", state)


@pytest.fixture(scope="module")
def lab():
    return Lab()


@pytest.mark.parametrize(("index", "off"), [*product(THREE, OFF)], ids=str)
def test_what_the_lab_shows_is_pytorch_s(lab, index, off):
    for text in TEXTS:
        want = read(checkpoint(index), text, tuple(HEADS[i] for i in off))
        got = lab.watched(step=index, text=text, off=off)
        reading = got["reading"]
        assert got["isFresh"]
        maps = torch.tensor(reading["maps"], dtype=torch.float64)
        torch.testing.assert_close(maps, want["maps"], rtol=0, atol=1e-4)
        assert reading["given"] == pytest.approx(want["given"].tolist(), abs=1e-4)
        for kind, loss in want["losses"].items():
            assert reading["losses"][kind] == (loss and pytest.approx(loss, abs=2e-3))
        for mine, theirs in zip(reading["guesses"], want["guesses"], strict=True):
            assert [share for _, share in mine] == pytest.approx([s for _, s in theirs], abs=1e-4)
            assert mine[0][0] == theirs[0][0]
        for head, score in zip(got["heads"], history()[index]["heads"], strict=True):
            assert (head["previous"], head["induction"]) == (score["previous"], score["induction"])


@pytest.mark.parametrize("index", THREE)
@pytest.mark.parametrize("off", [[], [0, 2]])
def test_the_numbers_in_words_are_pytorch_s_to_the_digit(lab, index, off):
    want = read(checkpoint(index), DEFAULT, tuple(HEADS[i] for i in off))
    said = lab.sentence(step=index, off=off)
    looks = dict(re.findall(r"head (\d\.\d) (?:\S+ → \S+ (\d+)\u202f%|is off)", said))
    for i, (layer, head) in enumerate(HEADS):
        share = looks[f"{layer + 1}.{head + 1}"]
        if i in off:
            assert share == ""
        else:
            assert abs(int(share) / 100 - want["maps"][i, 16].max().item()) < 0.00511
    guess = want["guesses"][16][0]
    assert f"guesses {guess[0]}, {guess[1]:.0%}".replace("%", "\u202f%") in said
    losses = [float(x) for x in re.findall(r"token (?:seen before )?(\d+\.\d+)", said)]
    assert losses == pytest.approx([want["losses"]["fresh"], want["losses"]["seen"]], abs=0.0055)


def test_what_stands_there_before_a_touch_is_what_the_checkpoint_gives(lab):
    shown = lab.watched()["reading"]
    fresh = lab.watched(text=DEFAULT + DEFAULT[:1])["reading"]
    for mine, theirs in zip(shown["maps"], fresh["maps"], strict=True):
        for row, longer in zip(mine, theirs, strict=False):
            assert row == pytest.approx(longer[:-1], abs=2e-4)


@pytest.mark.parametrize(
    ("text", "says"),
    [("ä<b>", "It doesn't know ä < >."), ("a", "Type two signs"), ("", "Type two signs"),
     ("a" * 49, "at most 48")],
)  # fmt: skip
def test_a_text_that_can_t_be_read_is_refused_in_words_and_the_last_one_stays(lab, text, says):
    before = lab.watched()
    after = lab.watched(text=text)
    assert says in after["problem"]
    assert not after["isFresh"]
    assert after["reading"]["text"] == before["reading"]["text"]
    assert says in lab.sentence(text=text)


def test_the_goals_are_met_where_pytorch_says_so():
    """The states of states_m08.py, and that these goals aren't met by the way."""
    losses = {
        off: read(checkpoint(-1), DEFAULT, off)["losses"]["seen"]
        for off in [(), *((head,) for head in HEADS), ((0, 0), (0, 1)), ((1, 0), (1, 1)),
                    ((0, 1), (1, 0))]
    }  # fmt: skip
    blind = torch.tensor(32.0).log().item()
    assert losses[(0, 0), (0, 1)] > blind + 1
    assert losses[(1, 0), (1, 1)] > blind + 1
    assert max(loss for off, loss in losses.items() if len(off) < 2) < blind
    assert losses[(0, 1), (1, 0)] < blind
    turned = [
        p["step"] for p in history() if all(0.3 < h["induction"] < 0.6 for h in p["heads"][2:])
    ]
    assert turned == [275]
    reverse = read(checkpoint(-1), "abcdefghijhgfedcba")
    assert reverse["losses"]["seen"] > blind + 1, "worse than a blind guess, as the page says"


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
