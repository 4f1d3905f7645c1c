"""The figures' numbers for screen readers, compared with the files that they were drawn from."""

import json
import re

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.scores import scores_of


@pytest.fixture
def tables(read):
    """``tables(page, figure)``: of each table, the numbers of its cells by column and row."""

    def tables_of(page, figure):
        path = f"modules/{page}/lesson.html" if page.startswith("m") else f"{page}.html"
        cell = read(path).select_one(f"#cell-{figure}")
        return [columns(table) for table in cell.find_next_sibling().select("table")]

    return tables_of


def columns(table):
    _, *names = [header.get_text() for header in table.select("thead th")]
    found = {name: {} for name in names}
    for row in table.select("tbody tr"):
        at, *texts = [cell.get_text().replace("−", "-") for cell in row.select("td")]
        for name, text in zip(names, texts, strict=True):
            found[name][at] = [float(x) for x in re.findall(r"[\d.-]+", text)]
    return found


def assert_shows(got, wanted):
    """A range whose ends read alike stands as one number, and a mean that is all of it alone."""
    got = got + got[-1:] * (len(wanted) - len(got))
    assert got == pytest.approx(list(wanted), rel=6e-3)


def ends(values):
    return [min(values), max(values)]


def mean_and_ends(values):
    return [np.mean(values), *ends(values)]


def test_m01_recall_is_a_mean_and_its_ends(tables):
    scores = scores_of("bottleneck", "recall")
    [table] = tables("m01_why_attention", "figure-larger")
    names = {"attention": "attention, 32 numbers", "without": "without: 32 numbers",
             "wider": "without: 64 numbers"}  # fmt: skip
    for model, name in names.items():
        right = np.array([seed["right"] for seed in scores["models"][model]["seeds"].values()])
        for length, shares in zip(scores["lengths"], right.T, strict=True):
            assert_shows(table[name][str(length)], mean_and_ends(shares))


def test_m05_a_reversal_looks_from_the_top_right_to_the_bottom_left(read):
    cell = read("modules/m05_masks/lesson.html").select_one("#cell-figure-reversal")
    rows = cell.find_next_sibling().select("tbody tr")  # its letters come again and again
    weights = np.array([[float(td.get_text()) for td in row.select("td")[1:]] for row in rows])
    assert weights.sum(1) == pytest.approx(1, abs=0.01)
    assert (np.fliplr(weights).diagonal() > 0.5).all()


def test_m06_questions_are_means_and_ends_of_the_seeds(tables):
    curves = scores_of("heads")["curves"]
    shown = tables("m06_multi_head", "figure-questions")
    shown += tables("m06_multi_head", "figure-more-questions")
    for table, lines in zip(shown, [curves["2"], *curves.values()], strict=True):
        for name, column in table.items():
            for steps, shares in lines[name].items():
                assert_shows(column[steps], mean_and_ends(shares))


def test_m07_places_are_the_range_of_the_seeds(tables):
    scores = scores_of("positions")
    right, ways = scores["right"], ["sinusoidal", "learned", "relative", "alibi", "rotary", "none"]
    others = ["none", "sinusoidal", "learned", "relative", "alibi"]
    kinds = [right[kind] for kind in (*ways, "rotary", *others)]
    kinds += [scores["other constants"]["alibi"]]
    shown = tables("m07_position", "figure-longer")
    shown += tables("longer", "figure-cliff") + tables("longer", "figure-others")
    names = {"three back": "back", "last letter": "last"}
    for i, (table, kind) in enumerate(zip(shown, kinds, strict=True)):
        assert [*table] == [*names][: 1 if i < len(ways) else 2]  # m07 draws one question
        for name, column in table.items():
            seeds = np.array(kind[names[name]])
            for got, values in zip(column.values(), seeds.T, strict=True):
                assert_shows(got, ends(values))


def test_rows_of_128_are_the_range_of_the_seeds(tables):
    scores = json.loads((ROOT / "models/positions/further.json").read_text("utf-8"))
    shown = [column for table in tables("longer", "figure-bases") for column in table.values()]
    for column, base in zip(shown, (10_000, 500_000), strict=True):
        seeds = [scores[f"base {base}, seed {seed}"]["rows of 128"] for seed in range(5)]
        for i, (position, got) in enumerate(column.items()):
            assert float(position) == pytest.approx(8 * i + 3.5, abs=0.51)  # three digits
            assert_shows(got, ends([seed[i] for seed in seeds]))


def test_m09_finds_are_the_range_of_the_trainings(tables):
    trainings = scores_of("sentiment", "ordinary")["seeds"].values()
    [table] = tables("m09_interpretation", "figure-finds")
    [column] = table.values()
    assert [*column] == ["attention", "integrated gradients", "erasure"]
    for way, got in column.items():
        assert_shows(got, ends([100 * one["finds"][way]["all"] for one in trainings]))


def test_m10_clock_has_the_milliseconds_of_the_benchmark(tables):
    results = json.loads((ROOT / "benchmarks/results/attention-cpu.json").read_text("utf-8"))
    [alone] = tables("m10_cost", "figure-clock")
    names = {"explicit": "by hand", "F.scaled_dot_product_attention": "fused"}
    timed = [
        row for row in results["rows"] if row.get("pass") == "forward" and row["name"] in names
    ]
    assert timed
    for row in timed:
        assert_shows(alone[names[row["name"]]][str(row["length"])], [row["ms"]])


def test_m13_recall_is_means_and_ends_of_the_seeds(tables):
    recall = json.loads((ROOT / "modules/m13_beyond_softmax/recall.json").read_text("utf-8"))
    [table] = tables("m13_beyond_softmax", "figure-recall")
    for pairs, shares in recall["recalled"]["softmax 4"].items():
        shown = table["softmax keeps 32,768 at 256 pairs"][pairs]
        assert_shows(shown, mean_and_ends(shares))
