"""models.qmd: every model is told of, and its figures are those of the committed scores."""

import json

import pytest

from models.storyteller.model import load_storyteller
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.reading import numbers

PAGE = "models.html"
ANCHORS = [
    "grammar", "induction", "bottleneck", "alignment", "heads", "positions", "sentiment",
    "playground", "storyteller", "beyond",
]  # fmt: skip


def scores(path):
    return json.loads((ROOT / "models" / path).read_text())


def rows(page, label):
    cell = page.select_one(f"#{label}, #cell-{label}")
    return [[td.get_text() for td in tr.select("td")] for tr in cell.select("tbody tr")]


def test_every_model_is_there_and_says_what_it_is_no_evidence_of(page):
    assert {card.parent.name for card in ROOT.glob("models/*/card.md")} == set(ANCHORS)
    for anchor in ANCHORS:
        section = page.select_one(f"section#{anchor}")
        assert "No evidence" in section.get_text()
        assert section.select_one("table")


def test_parameters_are_those_of_the_weights(page):
    shown = {name: int(count.replace(",", "")) for name, _, count, _ in rows(page, "sizes")}
    for name in ("masked", "causal", "masked-standard"):
        model = load(ROOT / f"models/grammar/weights/{name}.safetensors")
        assert shown[f"grammar, {name}"] == sum(p.numel() for p in model.parameters())
    model = load_storyteller()
    assert shown["storyteller"] == sum(p.numel() for p in model.parameters())
    assert len(shown) == 14


def test_files_are_as_large_as_said(page):
    shown = {name: kb for name, _, _, kb in rows(page, "sizes")}
    for name, path in {
        "grammar, causal": "grammar/weights/causal",
        "alignment, phrases": "alignment/weights/phrases",
        "storyteller": "storyteller/weights/storyteller",
    }.items():
        size = (ROOT / f"models/{path}.safetensors").stat().st_size
        assert int(shown[name]) == pytest.approx(size / 1000, abs=0.51)
    assert shown["heads"] == "not kept"


def span(shares):
    return pytest.approx(sorted({round(min(shares), 2), round(max(shares), 2)}), abs=0.0051)


def test_scores_are_the_committed_ones(page):
    causal = scores("grammar/scores/causal.json")["seeds"].values()
    table = rows(page, "grammar-scores")
    right = [min(s["accuracy"][k]["1 distractors"] for k in ("pairs", "words")) for s in causal]
    assert numbers(table[0][2]) == span(right)
    assert numbers(table[3][2]) == span([s["attention"]["verb, guessed"]["weight"] for s in causal])
    two, one = rows(page, "induction-scores")[1][1:]
    assert max(numbers(two)) < 0.02 < 1.5 < min(numbers(one))
    curves = scores("heads/scores.json")["curves"]["2"]
    one, later, mlp, two = (numbers(row[1]) for row in rows(page, "heads-scores"))
    assert one == span(curves["1 head"]["500"])
    assert later == mlp == two == [1]
    story = scores("storyteller/scores/storyteller.json")["seeds"]["0"]
    table = rows(page, "storyteller-scores")
    bits, counted = numbers(table[1][1])[0], numbers(table[2][1])[0]
    assert bits == pytest.approx(story["bits per byte"]["all"], abs=0.0051)
    assert bits < counted


def test_scores_of_the_porters_are_the_committed_ones(page):
    found = scores("beyond/scores.json")
    kinds = ("softmax", "corrects, fades", "corrects", "adds, fades", "adds")
    for kind, (_, *shown) in zip(kinds, rows(page, "beyond-scores"), strict=True):
        for task, cell in zip(("moves", "tab"), shown, strict=True):
            assert numbers(cell) == span([seed[-1] for seed in found[task][kind]["right"]])


def test_scores_of_what_two_lessons_trained_are_theirs(page):
    copying = json.loads((ROOT / "modules/m05_masks/copying.json").read_text())
    table = rows(page, "copying-scores")
    kinds = [(data, what) for data in ("sentences", "drawn by lot") for what in ("right", "hidden")]
    for (data, what), (_, *shown) in zip(kinds, table, strict=True):
        for sees, cell in zip(("everything", "only back"), shown, strict=True):
            assert numbers(cell) == span([s[what] for s in copying[f"{data}, {sees}"].values()])
    recalled = json.loads((ROOT / "modules/m13_beyond_softmax/recall.json").read_text())["recalled"]
    table = rows(page, "recall-scores")
    for kind, (_, *shown) in zip(("softmax 4", "linear 4", "linear 1"), table, strict=True):
        for count, cell in zip(("16", "64", "256"), shown, strict=True):
            assert len(recalled[kind][count]) == 5
            assert numbers(cell) == span(recalled[kind][count])


def test_each_card_says_what_a_model_reads_how_large_it_is_and_why_it_is_used(page):
    for anchor in [*ANCHORS, "copying", "recall"]:
        leads = [b.get_text() for b in page.select(f"section#{anchor} li > strong")]
        assert leads[0].startswith("What ")
        assert leads[1] == "How large."
        assert leads[2].startswith("Why the course uses")
