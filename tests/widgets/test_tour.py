"""The tour's player: its steps by number, and what counts as a swipe."""

from tests.widgets.js import module

TOUR = module("tour.js")


def test_the_steps_before_and_after():
    why, qkv, scores = names = ["Why", "Q, K, V", "Scores"]
    around = {
        (1, False): [None, why, qkv],
        (2, False): [why, qkv, scores],
        (3, False): [qkv, scores, None],
        (2, True): [None, None, None],
    }
    for (step, is_all), want in around.items():
        steps = TOUR.call("place", {"names": names}, {"step": step, "all": is_all})
        got = [steps[key] and steps[key]["name"] for key in ("before", "now", "after")]
        assert got == want


def test_a_swipe_goes_far_and_across():
    moves = {(-120, 10): 1, (120, -10): -1, (-120, 200): 0, (-30, 0): 0, (60, 30): -1, (59, 0): 0}
    swiped = (
        "x.map(([x, y]) => m.swiped({clientX: 9, clientY: 5}, {clientX: 9 + x, clientY: 5 + y}))"
    )
    assert TOUR.run(swiped, [*moves]) == [*moves.values()]
