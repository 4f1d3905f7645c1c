"""Read the numbers out of a drawn figure, as Markdown tables for readers who can't see it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import LogFormatter, ScalarFormatter

from course.page.cell_output import table

MOST_ROWS = 16  # of a line, in a table
MOST_CELLS = 400  # of all maps of a figure; above it a table has only the largest of each row
LARGEST = 3
_STYLES = {"-": "line", "--": "dashed line", "-.": "dashed line", ":": "dotted line"}

_Rows = list[list[str]]
_Look = tuple[tuple[float, float, float], str]  # the colour and the line's style


@dataclass
class _Series:
    """The values of one look, by x. Dots and bands are the spread about a line."""

    name: str
    is_named: bool = False
    values: dict[float, list[float]] = field(default_factory=lambda: defaultdict(list))
    spread: dict[float, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def positions(self) -> set[float]:
        return {*self.values, *self.spread}

    def at(self, x: float) -> str:
        value, spread = _range(self.values.get(x, [])), _range(self.spread.get(x, []))
        if x in self.values and x in self.spread and value != spread:
            return f"{value} ({spread})"
        return value if x in self.values else spread


def numbers_of(figure: Figure) -> str:
    """Return a table for each map, each histogram, and each group of series with the same x.

    Lines have at most ``MOST_ROWS`` rows; several values at one x become a range. "" if the
    figure has none of these.
    """
    tables = [
        f"{table(rows)}\n\n: {'; '.join(filter(None, about)) or 'the numbers'}\n"
        for axes in figure.axes
        for *about, rows in _tables(axes, figure)
    ]
    return "\n".join(tables)


def number(value: float) -> str:
    """Write three digits of ``value``, or all of them if it is whole."""
    if not np.isfinite(value):
        return "none" if np.isnan(value) else "infinite"
    if float(value).is_integer():
        return f"{value + 0:.0f}".replace("-", "−")
    digits = np.format_float_positional(value, 3, unique=False, fractional=False, trim="-")
    return digits.replace("-", "−")


def _tables(axes: Axes, figure: Figure) -> Iterator[tuple[Any, ...]]:
    """Yield the parts of each table's caption, and last its rows."""
    title = _title(axes, figure)
    for image in axes.images:
        if image.get_array().ndim == 2:  # others are pictures
            yield *title, *_map(axes, figure, np.ma.filled(image.get_array().astype(float), np.nan))
    for patch in axes.patches:
        # What `hist` makes with "stepfilled": there along the tops, and back along the ground.
        if type(patch) is Polygon and len(patch.get_xy()) % 4 == 1:
            yield *title, _text(axes.get_ylabel()), _histogram(axes, patch.get_xy())
    yield from ((*title, *rest) for rest in _lines(axes, figure))


def _title(axes: Axes, figure: Figure) -> tuple[str, ...]:
    spec, grid = axes.get_subplotspec(), ""
    if spec and len(figure.axes) > 1 and (spec.get_gridspec().nrows > 1 or not axes.get_title()):
        grid = f"row {spec.rowspan.start + 1}, column {spec.colspan.start + 1}"
    return _text(figure.get_suptitle()), grid, _text(axes.get_title())


def _map(axes: Axes, figure: Figure, values: np.ndarray) -> tuple[Any, ...]:
    # No colour tells anything finer than a thousandth of the largest.
    largest = np.abs(values[np.isfinite(values)]).max(initial=1e-9)
    values = np.round(values, 3 - ceil(np.log10(largest)))
    first = figure.axes[0]  # labels at the first panel only are meant for all
    rows = _at_all(_ticks(axes.yaxis) or _ticks(first.yaxis), values.shape[0])
    columns = _at_all(_ticks(axes.xaxis) or _ticks(first.xaxis), values.shape[1])
    meant = [
        f"{part}: {_text(label)}"
        for part, label in (("rows", axes.get_ylabel()), ("columns", axes.get_xlabel()))
        if not _is_number(label)
    ]
    if sum(image.get_array().size for panel in figure.axes for image in panel.images) > MOST_CELLS:
        lines = [[name, _largest(row, columns)] for name, row in zip(rows, values, strict=True)]
        return *meant, [["row", "its largest, by column"], *lines]
    lines = [[name, *map(number, row)] for name, row in zip(rows, values, strict=True)]
    return *meant, [["row", *columns], *lines]


def _largest(row: np.ndarray, names: Sequence[str]) -> str:
    order = [i for i in np.argsort(-row, kind="stable")[:LARGEST] if row[i] > 0]
    return "; ".join(f"{names[i]}: {number(row[i])}" for i in order) or "none"


def _histogram(axes: Axes, outline: np.ndarray) -> _Rows:
    bins = outline[1 : len(outline) // 2]
    starts = range(0, len(bins) // 2, ceil(len(bins) / 2 / MOST_ROWS))
    edges = [*bins[::2, 0][starts], bins[-1, 0]]
    counts = np.add.reduceat(bins[::2, 1], starts)
    header = [_text(axes.get_xlabel()) or "values", "how many"]
    spans = (f"{number(a)} to {number(b)}" for a, b in pairwise(edges))
    return [header, *([span, number(count)] for span, count in zip(spans, counts, strict=True))]


def _lines(axes: Axes, figure: Figure) -> Iterator[tuple[Any, ...]]:
    words = _words(axes.yaxis) or _words_of_first(axes, figure)
    is_horizontal = bool(words) and not axes.images  # the positions are on the y axis
    words = words or _words(axes.xaxis)
    xlabel = axes.get_xlabel() or next(
        (panel.get_xlabel() for panel in figure.axes if panel.get_xlabel()), ""
    )
    across, up = (axes.get_ylabel(), xlabel) if is_horizontal else (xlabel, axes.get_ylabel())
    marks = list(_marks(axes))
    for group in _groups(_series(axes, figure, is_horizontal, bool(words))):
        positions = sorted(set.union(*(series.positions for series in group)))
        step = ceil(len(positions) / MOST_ROWS)
        thinned = f"one place in {step}, and the last" if step > 1 else ""
        names = [series.name for series in group]
        if len(group) == 1 and not group[0].is_named:
            names = [up or names[0]]
        header = [_text(name) for name in (across or "place", *names)]
        rows = [
            [_text(words.get(x, "")) or number(x), *(series.at(x) for series in group)]
            for x in sorted({*positions[::step], positions[-1]})
        ]
        yield _text(up), thinned, *marks, [header, *rows]


def _series(axes: Axes, figure: Figure, is_horizontal: bool, has_words: bool) -> list[_Series]:
    by_look: dict[_Look, _Series] = {}
    named = dict(_legends(axes, figure))
    for artist, look, kind, points in _artists(axes):
        label = str(artist.get_label())
        label = "" if label.startswith("_") else label
        is_spread = kind in ("points", "band")
        if is_spread and not label:  # it belongs to the line of its colour
            look = next((other for other in by_look if other[0] == look[0]), look)
        series = by_look.setdefault(look, _Series(named.get(look, kind), look in named))
        if label:
            series.name, series.is_named = label, True
        target = series.spread if is_spread else series.values
        for x, y in np.ma.filled(points.astype(float), np.nan):
            x, value = (y, x) if is_horizontal else (x, y)
            if not np.isnan(x):
                target[round(x) if has_words else float(x)].append(value)
    return [series for series in by_look.values() if series.positions]


def _artists(axes: Axes) -> Iterator[tuple[Any, _Look, str, np.ndarray]]:
    """Yield each artist with points on both axes, with its look, its kind and the points."""
    for line in axes.lines:
        if all(line.get_transform().contains_branch_seperately(axes.transData)):
            look = _look(line)
            yield line, look, _STYLES.get(look[1], "dots"), line.get_xydata()
    for artist in axes.collections:
        if isinstance(artist, PathCollection):
            yield artist, _look(artist), "points", artist.get_offsets()
        elif isinstance(artist, PolyCollection):
            corners = [path.vertices for path in artist.get_paths()]
            yield artist, _look(artist), "band", np.concatenate(corners or [np.empty((0, 2))])
    for bars in axes.containers:
        if isinstance(bars, BarContainer) and len(bars):
            centres = np.array([bar.get_bbox().intervalx.mean() for bar in bars])
            values = bars.datavalues
            points = (centres, values)
            if bars.orientation == "horizontal":
                points = values, np.array([bar.get_bbox().intervaly.mean() for bar in bars])
            yield bars, _look(bars[0]), "bars", np.column_stack(points)


def _look(artist: Any) -> _Look:
    if isinstance(artist, Line2D):
        return to_rgb(artist.get_color()), str(artist.get_linestyle())
    colors = np.atleast_2d(artist.get_facecolor())
    return to_rgb(colors[0] if colors.size else artist.get_edgecolor()[0]), ""


def _legends(axes: Axes, figure: Figure) -> Iterator[tuple[_Look, str]]:
    for legend in filter(None, [*figure.legends, axes.get_legend()]):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            yield _look(handle), text.get_text()


def _marks(axes: Axes) -> Iterator[str]:
    """Yield what crosses the whole panel: level and upright lines, and shades."""
    crossing: dict[str, list[str]] = {}
    for line in axes.lines:
        in_data = line.get_transform().contains_branch_seperately(axes.transData)
        name = "" if line.get_label().startswith("_") else f" ({_text(line.get_label())})"
        if in_data == (False, True):
            crossing.setdefault(f"level line{name}", []).append(number(line.get_ydata()[0]))
        elif in_data == (True, False):
            crossing.setdefault(f"upright line{name}", []).append(number(line.get_xdata()[0]))
    for name, positions in crossing.items():
        yield f"{name} at {' and '.join(positions)}"
    for patch in axes.patches:
        in_data = patch.get_transform().contains_branch_seperately(axes.transData)
        if isinstance(patch, Rectangle) and in_data == (True, False):
            low, high = sorted(patch.get_bbox().intervalx)
            yield f"shaded from {number(low)} to {number(high)}"


def _groups(all_series: Iterable[_Series]) -> list[list[_Series]]:
    """Group series for a table each: a group shares the positions of its longest."""
    groups: list[list[_Series]] = []
    for series in sorted(all_series, key=lambda series: -len(series.positions)):
        fitting = (group for group in groups if series.positions <= group[0].positions)
        group = next(fitting, None)
        if group:
            group.append(series)
        else:
            groups.append([series])
    return groups


def _ticks(axis: Axis) -> dict[float, str]:
    """Return the labels that the cell set on an axis, by position."""
    if isinstance(axis.get_major_formatter(), ScalarFormatter | LogFormatter):
        return {}
    labels = (label.get_text() for label in axis.get_ticklabels())
    return dict(zip(map(float, axis.get_ticklocs()), labels, strict=False))


def _words(axis: Axis) -> dict[float, str]:
    return {x: text for x, text in _ticks(axis).items() if not _is_number(text)}


def _words_of_first(axes: Axes, figure: Figure) -> dict[float, str]:
    """Return the words at the y axis of the first panel, if this one shares it: it has none."""
    is_shared = axes.get_shared_y_axes().joined(axes, figure.axes[0])
    return _words(figure.axes[0].yaxis) if is_shared else {}


def _at_all(ticks: dict[float, str], count: int) -> list[str]:
    return [_text(ticks.get(i, "")) or str(i + 1) for i in range(count)]


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-−]?[\d.,]+", text)) or not text


def _range(values: Sequence[float]) -> str:
    finite = [value for value in values if not np.isnan(value)]
    ends = dict.fromkeys(number(end) for end in (min(finite), max(finite))) if finite else ["none"]
    return " to ".join(ends)


def _text(label: Any) -> str:
    """Escape what Markdown would read as markup, outside of formulas."""
    line = " ".join(str(label).split())
    return re.sub(
        r"\$[^$]*\$|([\\`*_\[\]<>#^~@'\"])", lambda m: f"\\{m[1]}" if m[1] else m[0], line
    )
