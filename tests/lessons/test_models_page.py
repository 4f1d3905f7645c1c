"""models.qmd: every model is told of, and its size is that of its weights."""

import pytest

from models.storyteller.model import load_storyteller
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.page_text import cells

PAGE = "models.html"
CARDS = sorted(card.parent.name for card in ROOT.glob("models/*/card.md"))


@pytest.mark.parametrize("model", [*CARDS, "copying", "recall"])  # two stand beside a lesson
def test_a_model_s_section_says_what_it_is_no_evidence_of(page, model):
    section = page.select_one(f"section#{model}")
    assert section.select_one("table")
    evidence = [lead.get_text() for lead in section.select("p > strong")]
    assert any(lead.startswith("No evidence") for lead in evidence)


def test_sizes_are_those_of_the_weights(page):
    shown = {
        name.split(":")[0]: int(size.replace(",", "")) for name, _, size, _ in cells(page, "sizes")
    }
    assert {name.split(",")[0] for name in shown} == set(CARDS)  # "grammar, masked"
    models = {f"grammar, {name}": load(ROOT / f"models/grammar/weights/{name}.safetensors")
              for name in ("masked", "causal", "masked-standard")}  # fmt: skip
    models["storyteller"] = load_storyteller()
    for name, model in models.items():
        assert shown[name] == sum(p.numel() for p in model.parameters())
