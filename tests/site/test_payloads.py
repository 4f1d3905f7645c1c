"""What pages publish to widgets, and what their text says without JavaScript, on every page."""

import math

import pytest
from bs4 import BeautifulSoup

from tests.site.conftest import PAGES
from tests.site.numbers import impossible, payloads, unexplained, written

PATHS = [path.split("?")[0] for path in PAGES]
SHARES = {"share", "shares", "weight", "weights", "probability", "map", "maps", "given"}
ROWS = {"weights", "map", "maps", "trained", "random", "masked", "causal"}
# m05's fused calls: a row that may attend to nothing sums to 0, and a fill of it to 1 or to NaN.
PARTIAL = {"cases"}


def leaves(value, path=()):
    """Yield (path, value) of whatever isn't a dict or a list."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def named(path):
    """The last key of a path, leaving out places in lists."""
    return next((key for key in reversed(path) if isinstance(key, str)), "")


def rows_of(value, count, path=()):
    """Yield (path, row) of the weights below one of ROWS, for texts of ``count`` tokens."""
    if isinstance(value, dict):
        texts = [value.get(key) for key in ("tokens", "pieces", "text")]
        count = next((len(text) for text in texts if isinstance(text, list | str)), count)
        for key, item in value.items():
            yield from rows_of(item, count, (*path, key))
    elif isinstance(value, list):
        is_row = value and all(isinstance(item, int | float) for item in value)
        if is_row and named(path) in ROWS:
            for row in split(value, count):
                yield path, row
        else:
            for i, item in enumerate(value):
                yield from rows_of(item, count, (*path, i))


def split(flat, count):
    """The rows of weights that are published in one piece: squares, or triangles under a mask."""
    if len(flat) <= count or not count:
        return [flat]
    if len(flat) == count * count:
        return [flat[i : i + count] for i in range(0, len(flat), count)]
    assert len(flat) % (count * (count + 1) // 2) == 0
    rows, start = [], 0
    while start < len(flat):
        length = len(rows) % count + 1
        rows.append(flat[start : start + length])
        start += length
    return rows


@pytest.fixture(scope="module", params=PATHS)
def page(request, read):
    return read(request.param)


def test_published_numbers_are_finite_and_shares_lie_between_0_and_1(page):
    for path, value in leaves(payloads(page)):
        if isinstance(value, float):
            assert math.isfinite(value), path
        if isinstance(value, int | float) and named(path) in SHARES:
            assert 0 <= value <= 1, (path, value)


def test_rows_of_weights_sum_to_1(page):
    for path, row in rows_of(payloads(page), 0):
        if path[0] not in PARTIAL:
            assert sum(row) == pytest.approx(1, abs=1e-4), path


def test_no_page_says_what_cannot_be(page):
    assert not impossible(written(page))


def test_what_pages_publish_is_found(read):
    published = {path: payloads(read(path)) for path in PATHS}
    story = published["index.html"]["story"]
    assert len([*rows_of(story, 0)]) == 16 * len(story["pieces"])
    for path in ("explorer.html", "modules/start/lesson.html", "modules/m08_patterns/lesson.html"):
        assert len([*rows_of(published[path], 0)]) > 90, path


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ("Rabbit 8666%", ["8666%"]), ("<b>1,024</b> %", ["1,024 %"]),
        ("a loss of nan", ["nan"]), ("head None", ["None"]),
        ("up to inf or undefined", ["inf", "undefined"]),
        ("and {‘small’: [4.6, -0.7999999999999989]} words", ["{‘small", "0.7999999999999989"]),
        ("at most 100 %, 64 % here. None of it in 2026", []),
        ("<pre>nan 101 %</pre><code>None</code><p data-meant='why'>250 %</p>", []),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named_where_it_is_no_code(html, names):
    page = BeautifulSoup(f"<body><p>{html}</p></body>", "html.parser")
    assert [line.partition(" in “")[0] for line in impossible(written(page))] == names


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("87 %, 8.0 % and 0.87; −1.50, 1,024 and head 4.3", []),
        ("8666 %", ["8666 %"]), ("86 %", ["86 %"]), ("0.86, 1.50", ["0.86", "1.50"]),
        ("1,025", ["1,025"]),
    ],
)  # fmt: skip
def test_a_number_that_rounds_none_of_the_widget_s_is_named(text, missing):
    form = {
        "text": text,
        "drawn": "Head 4.3",
        "known": [0.866618, 0.08, -1.504],
        "computed": [1024],
    }
    assert unexplained(form) == missing
