"""What a page shows before its model is fetched: rounded numbers show the digits of exact ones."""

import pytest
import torch

from models import explorer, tracing, weights
from models.storyteller import inside, opening
from tests.conftest import ROOT

TEXT = explorer.MODELS[0]["examples"][0][0]


def chance(share):
    """As `chance` of widgets/lib/ground-words.js."""
    if 0.0995 <= share < 0.995:
        return f"{100 * share:.0f}"
    return f"{100 * share:.1f}" if share >= 0.001 else "< 0.1"


def numbers(value):
    """All numbers of nested dicts, lists and tensors, in order."""
    if isinstance(value, torch.Tensor):
        return value.flatten().tolist()
    if isinstance(value, dict | list | tuple):
        items = value.values() if isinstance(value, dict) else value
        return [number for item in items for number in numbers(item)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("page", ["explorer", "start", "index"])
def test_rounded_shares_show_the_digits_of_exact_ones(page):
    model = weights.load(ROOT / "models/storyteller/weights/storyteller.safetensors").double()
    if page == "explorer":
        exact = tracing.opening(TEXT, (3, 2))["guesses"]
        published = tracing.rounded(exact)
    elif page == "start":
        exact = [place["guesses"] for place in inside.inside(model, TEXT)["places"]]
        published = inside.rounded(exact)
    else:
        with torch.no_grad():
            exact = model(torch.tensor([[300, 400, 500, 600]])).logits[0].softmax(-1)
        published = opening.whole(exact) / opening.UNIT
    shown = [[chance(x) for x in numbers(shares)] for shares in (exact, published)]
    assert len(shown[0]) > 20
    assert shown[0] == shown[1]
