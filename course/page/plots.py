"""Draw figures in the course's style: on a page without a ground, in a notebook on white."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager

from course.page.cell_output import is_rendering, show_markdown

from .figure_numbers import numbers_of

# The light values of the tokens in assets/course.css; a test compares the two.
COLORS = {
    "text": "#1c212b",
    "muted": "#586070",
    "line": "#dedcd2",
    "query": "#1660d6",
    "key": "#ab4700",
    "value": "#7d0f6e",
    "weight-half": "#2aa79e",
    "weight": "#004557",
}
FONTS = Path(__file__).parent / "fonts"  # the course's text face, as matplotlib reads it


def _both_ways(name: str) -> LinearSegmentedColormap:
    """Map negative to grey, 0 to white, positive to the colour, all light behind dark numbers."""
    faded = mpl.colors.to_rgb(COLORS[name])
    lighter = tuple(1 - 0.55 * (1 - channel) for channel in faded)
    return LinearSegmentedColormap.from_list(f"{name}-signed", ["#b9bec8", "#ffffff", lighter])


def ink_on(fill: Any) -> str:
    """Return black or white, which of the two is read better on the colour ``fill``."""
    channels = np.array(mpl.colors.to_rgb(fill))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"


# Weights, in even steps of lightness, as `.weighted` has them in assets/widgets.css.
WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#ffffff", COLORS["weight-half"], COLORS["weight"]]
)
QUERY, KEY, VALUE, SCORES = (_both_ways(name) for name in ("query", "key", "value", "weight-half"))

_newest: list[Figure] = []  # for show_numbers: Jupyter closes a figure when its cell ends


def use_course_style() -> None:
    """Set matplotlib's defaults; called when this module is imported."""
    for file in sorted(FONTS.glob("*.ttf")):
        fontManager.addfont(file)
    family = FontProperties(fname=FONTS / "regular.ttf").get_name()
    ground = "none" if is_rendering() else "white"
    mpl.rcParams.update(
        {
            "font.family": [family, "DejaVu Sans"],  # the second for signs that the first lacks
            "figure.dpi": 100,
            "figure.facecolor": ground,
            "axes.facecolor": ground,
            "savefig.facecolor": ground,
            "figure.hooks": [f"{__name__}:_remember"],
            "svg.hashsalt": "course",  # a fixed salt gives the same file for the same figure
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.edgecolor": COLORS["line"],
            "axes.labelcolor": COLORS["muted"],
            "text.color": COLORS["text"],
            "xtick.color": COLORS["muted"],
            "ytick.color": COLORS["muted"],
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": mpl.cycler(
                color=[COLORS[name] for name in ("query", "key", "value", "weight", "muted")]
            ),
        }
    )


def panels(count: int, *, width: float = 4.8, height: float = 1.9) -> tuple[Figure, list[Axes]]:
    """Make one row of ``count`` equal panels, ``width`` × ``height`` inches in all.

    Keep it as narrow as the text allows: on a phone a figure shrinks to about 3.5 inches.
    """
    figure, axes = plt.subplots(1, count, figsize=(width, height), layout="constrained")
    return figure, list(np.atleast_1d(axes))


def heatmap(
    axes: Axes,
    matrix: Any,
    *,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cmap: LinearSegmentedColormap = WEIGHTS,
    limit: float | None = None,
    numbers: bool = True,
) -> None:
    """Draw ``matrix`` (rows, columns), with its numbers in the cells if ``numbers``.

    Weights run from 0 to 1. Anything else is centred on 0 and runs to ``±limit``, by default
    the largest size in the matrix; give two maps the same limit to compare them. A cell that is
    NaN is hidden: it stays empty.
    """
    values = np.asarray(matrix, dtype=float)
    if values.shape != (len(rows), len(columns)):
        raise ValueError(f"matrix is {values.shape}, labels are ({len(rows)}, {len(columns)})")
    limit = limit or np.abs(values).max() or 1.0
    low = 0 if cmap is WEIGHTS else -limit
    axes.imshow(values, cmap=cmap, vmin=low, vmax=1 if cmap is WEIGHTS else limit, aspect="auto")
    for i, j in np.argwhere(~np.isnan(values)) if numbers else []:
        value = values[i, j]
        fill = axes.images[-1].cmap(axes.images[-1].norm(value))
        number = f"{value:.2f}".replace("-", "−")
        axes.text(j, i, number, ha="center", va="center", color=ink_on(fill))
    axes.set_title(title)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def show_numbers() -> None:
    """Show the numbers of the figure just drawn, as tables that only screen readers find.

    Stands in the cell after the figure's own. Does nothing in plain Jupyter.

    Raises: ValueError if no figure was drawn since the last call, or none with numbers.
    """
    if not is_rendering():
        return
    numbers = numbers_of(_newest.pop()) if _newest else ""
    if not numbers:
        raise ValueError("show_numbers stands in the cell after a figure's, which has numbers")
    before = "The numbers of the figure above."
    show_markdown(f"::: {{.screen-reader-only}}\n{before}\n\n{numbers}\n:::\n")


def _remember(figure: Figure) -> None:
    _newest[:] = [figure]


use_course_style()
