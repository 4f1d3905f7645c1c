"""The numbers of figures, read back from what matplotlib drew."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from course import plots
from course.page.figure_numbers import number, numbers_of


@pytest.fixture
def axes():
    _, drawn = plt.subplots()
    yield drawn
    plt.close("all")


def tables_of(figure):
    """Return each table of the figure as (caption, rows)."""
    tables, rows = [], []
    for line in numbers_of(figure).splitlines():
        if line.startswith(": "):
            tables.append((line[2:], [rows[0], *rows[2:]]))
            rows = []
        elif line:
            rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return tables


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.123"), (-1.5, "−1.5"), (12.345, "12.3"), (8192, "8192"), (2345.6, "2350"),
     (0.0, "0"), (-0.0, "0"), (0.000123456, "0.000123"), (float("nan"), "none")],
)  # fmt: skip
def test_a_number_has_three_digits_or_is_whole(value, text):
    assert number(value) == text


def test_lines_at_the_same_places_share_a_table(axes):
    axes.plot([1, 2, 3], [0.5, 0.25, float("nan")], label="one")
    axes.plot([1, 2], [4, 5], "--", label="two")
    axes.set(xlabel="step", ylabel="loss")
    rows = [["step", "one", "two"], ["1", "0.5", "4"], ["2", "0.25", "5"], ["3", "none", "none"]]
    assert tables_of(axes.figure) == [("loss", rows)]


def test_a_long_line_keeps_some_places_and_its_end(axes):
    axes.plot(range(100), range(100, 200))
    axes.set(xlabel="step", ylabel="right")
    [(caption, (header, *rows))] = tables_of(axes.figure)
    assert (header, caption) == (["step", "right"], "right; one place in 7, and the last")
    assert rows == [[str(x), str(x + 100)] for x in (*range(0, 99, 7), 99)]


def test_dots_and_a_band_are_the_spread_about_the_line_of_their_colour(axes):
    axes.plot([1, 2], [0.5, 0.6], color="red", label="a")
    axes.fill_between([1, 2], [0.4, 0.5], [0.7, 0.8], color="red", alpha=0.2)
    axes.plot([1, 2], [3, 4], color="blue", label="b")
    axes.scatter([1, 1, 2], [2, 3.5, 4], color="blue")
    [(_, rows)] = tables_of(axes.figure)
    assert rows == [
        ["place", "a", "b"],
        ["1", "0.5 (0.4 to 0.7)", "3 (2 to 3.5)"],
        ["2", "0.6 (0.5 to 0.8)", "4"],
    ]


def test_lines_of_one_look_are_one_range_and_named_by_the_legend(axes):
    for seed in range(3):
        (drawn,) = axes.plot([1, 2], [seed, seed], color="red")
    axes.figure.legend([drawn], ["three seeds"])
    assert tables_of(axes.figure) == [
        ("the numbers", [["place", "three seeds"], ["1", "0 to 2"], ["2", "0 to 2"]])
    ]


def test_what_crosses_the_panel_is_in_the_caption(axes):
    axes.plot([1, 2], [0.5, 0.6])
    axes.axhline(0.25, label="guessing")
    axes.axvline(1.5)
    axes.axvspan(1, 2)
    [(caption, _)] = tables_of(axes.figure)
    assert caption == ("level line (guessing) at 0.25; upright line at 1.5; shaded from 1 to 2")


@pytest.mark.parametrize("lies", [False, True])
def test_bars_and_dots_stand_at_words(axes, lies):
    names, values = ["by hand", "fused"], [3, 1.25]
    if lies:
        axes.barh(names, values, label="ms")
        axes.scatter([2, 1], [0.1, 1.1], color="red", label="best")
    else:
        axes.bar(names, values, label="ms")
        axes.scatter([0.1, 1.1], [2, 1], color="red", label="best")
    [(_, rows)] = tables_of(axes.figure)
    assert rows == [["place", "best", "ms"], ["by hand", "2", "3"], ["fused", "1", "1.25"]]


def test_bars_of_panels_that_share_their_words_are_named_in_all():
    figure, panels = plt.subplots(1, 2, sharey=True)
    for panel, values in zip(panels, ([3, 1], [-2, 4]), strict=True):
        panel.barh([0, 2], values, left=[0, 3], label="score")
        panel.set_yticks([0, 2], ["trophy", "suitcase"])
    (_, first), (_, second) = tables_of(figure)
    plt.close(figure)
    assert first == [["place", "score"], ["trophy", "3"], ["suitcase", "1"]]
    assert second == [["place", "score"], ["trophy", "−2"], ["suitcase", "4"]]


def test_a_histogram_adds_up_its_bins(axes):
    values = np.random.default_rng(0).normal(size=500)
    edges = np.linspace(-4, 4, 33)
    axes.hist(values, bins=edges, histtype="stepfilled")
    [(_, (header, *rows))] = tables_of(axes.figure)
    counts, _ = np.histogram(values, edges[::2])
    assert header == ["values", "how many"]
    assert [row[1] for row in rows] == list(map(str, counts))
    assert rows[0][0] == "−4 to −3.5"


def test_a_map_has_the_names_of_its_rows_and_columns():
    figure, both = plots.panels(2)
    for panel in both:
        plots.heatmap(panel, [[0.1234, 0.8766], [0, float("nan")]], title="head 1",
                      rows=["the", "[end]"], columns=["*", "|"])  # fmt: skip
    both[1].set_yticks([])  # as where the first panel has the labels of all
    table = [["row", "\\*", "\\|"], ["the", "0.123", "0.877"], ["\\[end\\]", "0", "none"]]
    assert tables_of(figure) == [("head 1", table)] * 2


def test_of_a_large_map_each_row_has_its_largest(axes):
    weights = np.eye(25) + 0.25 * np.eye(25, k=1)
    axes.imshow(weights, cmap=plots.WEIGHTS)
    axes.set(xticks=[], yticks=[], xlabel="looked at")
    [(caption, (header, *rows))] = tables_of(axes.figure)
    assert (caption, header) == ("columns: looked at", ["row", "its largest, by column"])
    assert rows[:2] == [["1", "1: 1; 2: 0.25"], ["2", "2: 1; 3: 0.25"]]
    assert rows[24] == ["25", "25: 1"]


def test_panels_of_a_grid_say_where_they_are():
    figure, grid = plt.subplots(2, 2)
    for panel in grid.flat:
        panel.plot([1], [2])
    captions = [caption for caption, _ in tables_of(figure)]
    assert captions == [f"row {row}, column {column}" for row in (1, 2) for column in (1, 2)]


def test_a_formula_stays_a_formula(axes):
    axes.plot([1], [2])
    axes.set_title("q_k / √$d_k$")
    assert [caption for caption, _ in tables_of(axes.figure)] == ["q\\_k / √$d_k$"]


def test_empty_axes_have_no_table(axes):
    axes.text(0, 0, "a drawing")
    assert numbers_of(axes.figure) == ""


@pytest.fixture
def shown(monkeypatch):
    texts = []
    monkeypatch.setenv("COURSE_KERNEL", "x")
    monkeypatch.setattr("course.page.plots.show_markdown", texts.append)
    return texts


def test_the_figure_just_drawn_is_shown_once(shown, axes):
    axes.plot([1], [2], label="a")
    plt.close("all")  # as Jupyter does when a cell ends
    plots.show_numbers()
    [text] = shown
    assert text.startswith("::: {.screen-reader-only}\nThe numbers of the figure above.\n\n| place")
    assert text.endswith("\n:::\n")
    with pytest.raises(ValueError, match="after a figure's"):
        plots.show_numbers()


def test_a_figure_without_numbers_is_refused(shown, axes):
    axes.text(0, 0, "a drawing")
    with pytest.raises(ValueError, match="which has numbers"):
        plots.show_numbers()


def test_in_plain_jupyter_nothing_is_shown(monkeypatch, capsys, axes):
    for name in ("COURSE_KERNEL", "QUARTO_EXECUTE_INFO"):
        monkeypatch.delenv(name, raising=False)
    plots.show_numbers()
    assert capsys.readouterr().out == ""
