"""What the first page shows of the storyteller: Python and JavaScript find the same."""

import pytest
import torch
import torch.nn.functional as F

from course.page.cell_output import plain
from course.payloads.ground_floor import ending, trace
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


PARTS = {"head": (2, 3), "unit": (1, 488), "watched": " mother"}


@pytest.mark.parametrize("text", ["The prince put on his", "Hm", '"Zoë!" 🐇 said he, and ran'])
def test_javascript_finds_of_an_ending_what_python_finds(js, model, text):
    want = plain(ending(model, text, **PARTS), "ending")
    code = """(() => {
      const ids = story.encode(x.text);
      const [end, silent] = [{}, {isOff: true, old: story.model}].map((options) =>
        m.ending(story, story.model, ids, x, options));
      return {...end, silent: silent.guesses, unseen: silent.looks};
    })()"""
    got = js.run(code, {"text": text, **PARTS})
    assert not any(got.pop("unseen"))
    for form in (got, want):
        form.pop("tokens")
        form.pop("text", None)
    assert_all_near(got, want, 1e-4)


def test_an_ending_s_numbers_are_those_of_the_model(model):
    text = "The prince put on his"
    got = ending(model, text, **PARTS)
    tokenizer = Tokenizer(model.config.vocabulary)
    ids = torch.tensor([tokenizer.encode(text)])
    with torch.no_grad():
        run, off = model(ids), model(ids, off=[(2, 3)])
        x = F.layer_norm(_middle(model, ids), (128,), *model.layers[1].mlp[0].parameters())
        first, second = model.layers[1].mlp[1:3]
        units = second(F.linear(x, first.weight, first.bias))
    torch.testing.assert_close(got["looks"], run.weights[2][0, 3, -1])
    torch.testing.assert_close(got["answers"], units[:, 488])
    on, silent = (one.logits[0, -1].softmax(-1) for one in (run, off))
    [head], [mother] = (tokenizer.encode(word) for word in (" head", " mother"))
    names = [row["text"] for row in got["silent"]]
    assert names[:5] == [tokenizer.name(i) for i in silent.topk(5).indices.tolist()]
    row = got["silent"][names.index(" head")]
    assert [row["share"], row["before"]] == pytest.approx([silent[head].item(), on[head].item()])
    assert got["guesses"][-1] == {"text": " mother", "share": pytest.approx(on[mother].item())}
    assert len(got["guesses"]) == 6


def _middle(model, ids):
    """The stream of layer 2 between its attention and its MLP, a row for each token."""
    before = model(ids).residual[1]
    layer = model.layers[1]
    return (before + layer.attention(layer.norm(before), is_causal=True))[0]


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
