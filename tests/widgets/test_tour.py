"""The tour's player: its steps by number, and what counts as a swipe."""

import pytest

from tests.widgets.js import module

NAMES = ["Why", "Q, K, V", "Scores"]
TOUR = module("tour.js")


def place(step, *, is_all=False):
    found = TOUR.call("place", {"names": NAMES}, {"step": step, "all": is_all})
    return [found[key] and found[key]["name"] for key in ("before", "now", "after")]


def test_the_steps_before_and_after():
    assert place(1) == [None, "Why", "Q, K, V"]
    assert place(2) == ["Why", "Q, K, V", "Scores"]
    assert place(3) == ["Q, K, V", "Scores", None]
    assert place(2, is_all=True) == [None, None, None]


@pytest.mark.parametrize(
    ("across", "down", "turns"),
    [(-120, 10, 1), (120, -10, -1), (-120, 200, 0), (-30, 0, 0), (60, 30, -1), (59, 0, 0)],
)
def test_a_swipe_goes_far_and_across(across, down, turns):
    start, end = ({"clientX": x, "clientY": y} for x, y in [(200, 400), (200 + across, 400 + down)])
    assert TOUR.call("swiped", start, end) == turns
