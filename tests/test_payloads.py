"""What a page shows before its model is fetched: rounded numbers show the digits of exact ones."""

import pytest
import torch

from course.page.numbers import rounded
from course.payloads import explorer, ground_floor, story, tracing
from models.storyteller.model import load_storyteller

TEXT = explorer.MODELS[0]["examples"][0][0]


def chance(share):
    """As `chance` of widgets/lib/numbers.js."""
    if 0.0995 <= share < 0.995:
        return f"{100 * share:.0f}"
    return f"{100 * share:.1f}" if share >= 0.001 else "< 0.1"


def floats_of(value):
    """All numbers of nested dicts, lists and tensors, in order."""
    if isinstance(value, torch.Tensor):
        return value.flatten().tolist()
    if isinstance(value, dict | list | tuple):
        items = value.values() if isinstance(value, dict) else value
        return [number for item in items for number in floats_of(item)]
    return [value] if isinstance(value, float) else []


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.mark.parametrize("page", ["explorer", "start", "index"])
def test_rounded_shares_show_the_digits_of_exact_ones(page, model):
    if page == "explorer":
        exact = tracing.storyteller_trace(TEXT)["guesses"]
        published = explorer.payload(TEXT)["opening"]["guesses"]
    elif page == "start":
        exact = [token["guesses"] for token in ground_floor.trace(model, TEXT)["places"]]
        published = [token["guesses"] for token in ground_floor.payload(TEXT)["start"]["places"]]
    else:
        with torch.no_grad():
            run = model(
                torch.tensor([ground_floor.Tokenizer(model.config.vocabulary).encode(TEXT)])
            )
        exact = (run.logits[0] / 0.8).softmax(-1).topk(story.GUESSES).values
        published = story.payload(TEXT, 0.8, "4.3")["guesses"]
    shown = [[chance(x) for x in floats_of(shares)] for shares in (exact, published)]
    assert len(shown[0]) > 20
    assert shown[0] == shown[1]


def test_the_last_row_is_that_of_the_chosen_head(model):
    data = story.payload(TEXT, 0.8, "2.4")
    ids = ground_floor.Tokenizer(model.config.vocabulary).encode(TEXT)
    with torch.no_grad():
        want = model(torch.tensor([ids])).weights[1][0, 3, -1]
    row = story.last_row(data)
    assert [share for _, share in row] == pytest.approx(
        sorted(want.tolist(), reverse=True), abs=1e-6
    )
    assert row[0][0] == data["pieces"][want.argmax()]


def test_named_vectors_take_fewer_digits():
    given = {"share": 0.1234567, "vector": torch.tensor([0.1234567]).double(), "n": (3, "a", None)}
    want = {"share": 0.123457, "vector": [0.12], "n": [3, "a", None]}
    assert rounded(given, vector=2) == want
