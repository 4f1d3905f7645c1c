"""models.qmd: every model is told of, and its size is that of its weights."""

from models.storyteller.model import load_storyteller
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.page_text import cells

PAGE = "models.html"
CARDS = sorted(card.parent.name for card in ROOT.glob("models/*/card.md"))
INSIDE_LESSONS = ["copying", "recall"]  # models that a lesson keeps beside its page


def test_every_model_is_there_and_says_what_it_is_no_evidence_of(page):
    assert CARDS
    for anchor in [*CARDS, *INSIDE_LESSONS]:
        section = page.select_one(f"section#{anchor}")
        assert section.select_one("table")
        what, size, why = [lead.get_text() for lead in section.select("li > strong")][:3]
        assert (what[:4], size, why[:3]) == ("What", "How large.", "Why")
        evidence = [lead.get_text() for lead in section.select("p > strong")]
        assert any(lead.startswith("No evidence") for lead in evidence), anchor


def test_sizes_are_those_of_the_weights(page):
    shown = {name: (int(size.replace(",", "")), kb) for name, _, size, kb in cells(page, "sizes")}
    assert {name.split(",")[0] for name in shown} == set(CARDS)  # "grammar, masked"
    models = {f"grammar, {name}": load(ROOT / f"models/grammar/weights/{name}.safetensors")
              for name in ("masked", "causal", "masked-standard")}  # fmt: skip
    models["storyteller"] = load_storyteller()
    for name, model in models.items():
        assert shown[name][0] == sum(p.numel() for p in model.parameters())
    assert shown["heads"][1] == "not kept"
