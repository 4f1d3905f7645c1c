"""course.page.plots: the course's colours, and the numbers in heatmaps."""

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from course import plots

CSS = (Path(__file__).parents[1] / "assets/course.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", plots.COLORS)
def test_colours_are_the_tokens_of_the_stylesheet(name):
    light = re.search(rf"--color-{name}: light-dark\((#\w+),", CSS)[1]
    assert plots.COLORS[name] == light


def test_a_heatmap_writes_every_number(tmp_path):
    figure, (axes,) = plots.panels(1)
    plots.heatmap(
        axes, [[0.126, 1], [0, -0.5]], title="t", rows="ab", columns="cd", cmap=plots.QUERY
    )
    assert [text.get_text() for text in axes.texts] == ["0.13", "1.00", "0.00", "−0.50"]
    figure.savefig(tmp_path / "figure.svg")


def test_a_hidden_cell_stays_empty():
    _, (axes,) = plots.panels(1)
    plots.heatmap(axes, [[1, float("nan")], [0.4, 0.6]], title="", rows="ab", columns="ab")
    assert [text.get_text() for text in axes.texts] == ["1.00", "0.40", "0.60"]


def test_weights_run_from_0_to_1_and_scores_share_a_limit():
    _, axes = plots.panels(2)
    plots.heatmap(axes[0], [[0.2]], title="", rows="a", columns="b")
    plots.heatmap(axes[1], [[0.2]], title="", rows="a", columns="b", cmap=plots.SCORES, limit=4)
    assert [axis.images[0].get_clim() for axis in axes] == [(0, 1), (-4, 4)]


def test_labels_that_dont_fit_are_refused():
    _, (axes,) = plots.panels(1)
    with pytest.raises(ValueError, match=r"matrix is \(2, 2\), labels are \(2, 3\)"):
        plots.heatmap(axes, np.eye(2), title="", rows="ab", columns="cde")


@pytest.mark.parametrize("cmap", [plots.WEIGHTS, plots.QUERY, plots.KEY, plots.VALUE, plots.SCORES])
def test_numbers_are_readable_on_every_cell(cmap):
    """Compute the contrast of a number on each fill by WCAG's formula: at least 4.5:1."""
    for level in np.linspace(0, 1, 33):
        assert contrast(cmap(level)[:3], mpl.colors.to_rgb(plots.ink_on(cmap(level)))) >= 4.5


def test_weights_are_told_apart_in_even_steps():
    """The lightness of CIELAB falls evenly, and a full cell stands out from an empty one."""
    light = np.cbrt([luminance(plots.WEIGHTS(level)[:3]) for level in np.linspace(0, 1, 11)])
    steps = -np.diff(light)
    assert steps.min() > 0.6 * steps.max()
    assert contrast(plots.WEIGHTS(0.0)[:3], plots.WEIGHTS(1.0)[:3]) >= 3


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
