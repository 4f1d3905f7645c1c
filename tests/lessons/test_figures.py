"""The figures' numbers for screen readers, compared with the files that they were drawn from."""

import json
import re

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.lessons.contents import FURTHER
from tests.scores import scores_of


@pytest.fixture
def tables(read):
    """``tables(lesson, figure)``: of each table, the numbers of its cells by column and row."""

    def table_of(lesson, figure):
        page = read(FURTHER.get(lesson) or f"modules/{lesson}/lesson.html")
        cell = page.select_one(f"#cell-{figure}")
        return [cells(table) for table in cell.find_next_sibling().select("table")]

    return table_of


def cells(table):
    _, *columns = [header.get_text() for header in table.select("thead th")]
    rows = {}
    for row in table.select("tbody tr"):
        name, *texts = [cell.get_text() for cell in row.select("td")]
        rows[name] = [
            [float(x.replace("−", "-")) for x in re.findall(r"[\d.−]+", t)] for t in texts
        ]
    return {
        column: {name: row[i] for name, row in rows.items()} for i, column in enumerate(columns)
    }


def load(path):
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def ends(values):
    return [min(values), max(values)]


def assert_shows(got, wanted):
    """A range whose ends read alike stands as one number, and a mean that is all of it alone."""
    for _ in range(len(wanted) - len(got)):
        got = [*got, got[-1]]
    assert got == pytest.approx(list(wanted), rel=6e-3)


def test_m01_recall_is_a_mean_and_its_ends(tables):
    scores = scores_of("bottleneck", "recall")
    [table] = tables("m01_why_attention", "figure-larger")
    names = {"attention": "attention, 32 numbers", "without": "without: 32 numbers",
             "wider": "without: 64 numbers"}  # fmt: skip
    for model, name in names.items():
        right = np.array([seed["right"] for seed in scores["models"][model]["seeds"].values()])
        for length, column in zip(scores["lengths"], right.T, strict=True):
            assert_shows(table[name][str(length)], [column.mean(), *ends(column)])


def test_m06_questions_are_means_and_ends_of_the_seeds(tables):
    curves = scores_of("heads")["curves"]
    shown = tables("m06_multi_head", "figure-questions")
    shown += tables("m06_multi_head", "figure-more-questions")
    for table, lines in zip(shown, [curves["2"], *curves.values()], strict=True):
        for name, column in table.items():
            for steps, shares in lines[name].items():
                assert_shows(column[steps], [sum(shares) / len(shares), *ends(shares)])


def test_m07_places_are_the_range_of_the_seeds(tables):
    scores = scores_of("positions")
    right, other = scores["right"], scores["other constants"]
    ways = ["sinusoidal", "learned", "relative", "alibi", "rotary", "none"]
    kinds = [right[kind] for kind in (*ways, "rotary")]
    kinds += [right[kind] for kind in ("none", "sinusoidal", "learned", "relative", "alibi")]
    kinds += [other["alibi"]]
    shown = tables("m07_position", "figure-longer")
    shown += tables("longer", "figure-cliff") + tables("longer", "figure-others")
    for index, (table, kind) in enumerate(zip(shown, kinds, strict=True)):
        columns = {"back": "three back", "last": "last letter"}
        if index < len(ways):  # m07 draws one question
            del columns["last"]
        assert set(table) == set(columns.values())
        for question, column in columns.items():
            seeds = np.array(kind[question])
            for got, values in zip(table[column].values(), seeds.T, strict=True):
                assert_shows(got, ends(values))


def test_rows_of_128_are_the_range_of_the_seeds(tables):
    scores = load("models/positions/further.json")
    for [table], base in zip(
        (figure.values() for figure in tables("longer", "figure-bases")),
        (10_000, 500_000),
        strict=True,
    ):
        seeds = [scores[f"base {base}, seed {seed}"]["rows of 128"] for seed in range(5)]
        for i, (position, got) in enumerate(table.items()):
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
    rows = load("benchmarks/results/attention-cpu.json")["rows"]
    [alone] = tables("m10_cost", "figure-clock")
    names = {"explicit": "by hand", "F.scaled_dot_product_attention": "fused"}
    timed = [row for row in rows if row.get("pass") == "forward" and row["name"] in names]
    assert timed
    for row in timed:
        assert_shows(alone[names[row["name"]]][str(row["length"])], [row["ms"]])


def test_m13_recall_is_means_and_ends_of_the_seeds(tables):
    recalled = load("modules/m13_beyond_softmax/recall.json")["recalled"]
    [table] = tables("m13_beyond_softmax", "figure-recall")
    for pairs, shares in recalled["softmax 4"].items():
        assert_shows(
            table["softmax keeps 32,768 at 256 pairs"][pairs],
            [sum(shares) / len(shares), *ends(shares)],
        )


def test_m05_a_reversal_looks_from_the_top_right_to_the_bottom_left(read):
    cell = read("modules/m05_masks/lesson.html").select_one("#cell-figure-reversal")
    rows = cell.find_next_sibling().select("tbody tr")
    weights = np.array([[float(td.get_text()) for td in row.select("td")[1:]] for row in rows])
    assert weights.sum(1) == pytest.approx(1, abs=0.01)
    assert (np.fliplr(weights).diagonal() > 0.5).all()
