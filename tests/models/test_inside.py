"""What the first page shows of the storyteller: Python and JavaScript find the same."""

import pytest
import torch

from course.page.cell_output import plain
from course.payloads.ground_floor import trace
from models.storyteller.model import ADDRESS, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.models.small import assert_all_near
from tests.widgets.js import module

TEXT = "The good old man went home to his mother"


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def js():
    inside = module("lib/inside.js")
    make = "(await import('/widgets/lib/storyteller.js')).storyteller(await loadModel(x))"
    inside.run(f"(globalThis.story = {make}, null)", ADDRESS)
    return inside


@pytest.mark.parametrize("text", [TEXT, "Hm", '"Zoë!" 🐇 said he, and ran'])
def test_javascript_finds_what_python_finds(js, model, text):
    want = plain(trace(model, text), "inside")
    code = """(() => {
      const ids = story.encode(x);
      const run = m.inside(story, story.model, ids);
      return {...run, ids, places: ids.map((_, i) => run.place(i))};
    })()"""
    got = js.run(code, text)
    del got["ids"]
    del got["tokens"]  # half a character is shown with its other half
    del want["tokens"]
    assert_all_near(got, want, 1e-4)


def test_numbers_are_those_of_the_model(model):
    got = trace(model, TEXT)
    ids = Tokenizer(model.config.vocabulary).encode(TEXT)
    with torch.no_grad():
        run = model(torch.tensor([ids]))
    position = got["places"][7]
    assert got["tokens"][7] == " his"
    assert position["truth"]["text"] == " mother"
    shares = run.logits[0, 7].softmax(-1)
    assert position["truth"]["share"] == pytest.approx(shares[ids[8]].item())
    assert position["guesses"][0]["share"] == pytest.approx(shares.max().item())
    assert position["start"] == pytest.approx(run.residual[0][0, 7].norm().item())
    assert position["layers"][3]["after"] == pytest.approx(run.residual[4][0, 7].norm().item())
    torch.testing.assert_close(got["maps"][2][1][7], run.weights[2][0, 1, 7, :8])
    assert got["places"][8]["truth"] is None
