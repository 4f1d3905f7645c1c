"""m07: its sentences against numbers computed here."""

import json
import math
from itertools import permutations
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
import torch

from course.payloads.moved_pair import FOUR, SEVEN, head_that_looks_back, scores_by_hand
from models.positions.task import DIGITS, KINDS, LETTER_SHARE
from tests.lessons.reading import numbers, output, said

PAGE = "modules/m07_position/lesson.html"
SCORES = json.loads(
    (Path(__file__).parents[2] / "models/positions/scores.json").read_text(encoding="utf-8")
)
NAMES = {"none": "no positions", "sinusoidal": "sinusoidal", "learned": "learned",
         "relative": "relative", "alibi": "ALiBi", "rotary": "rotary"}  # fmt: skip


def table(page, label):
    rows = page.select(f"#{label} tbody tr, #cell-{label} tbody tr")
    return {row.select_one("td").get_text(): [td.get_text() for td in row.select("td")[1:]]
            for row in rows}  # fmt: skip


def far(seeds):
    """Each seed's share at places 49 to 64."""
    return [mean(shares[-4:]) for shares in seeds]


def near(seeds):
    return [mean(shares[:4]) for shares in seeds]


def is_span(text, shares):
    assert numbers(text.replace("–", " "))[0] == pytest.approx(min(shares), abs=0.0051)
    assert numbers(text.replace("–", " "))[-1] == pytest.approx(max(shares), abs=0.0051)


def test_shuffled_in_is_shuffled_out_until_the_causal_mask(page):
    without, causal = (numbers(line.split(":")[1])[0]
                       for line in output(page, "equivariance").splitlines())  # fmt: skip
    assert without < 1e-12
    assert causal > 0.1


def test_one_matrix_moves_every_place(page):
    assert numbers(output(page, "shift").split(":")[1])[0] < 1e-12


def waves(length, size, base):
    """By the formula, in NumPy."""
    angles = np.arange(length)[:, None] * base ** (-np.arange(0, size, 2) / size)
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, size)


def test_similarity_of_places_isn_t_monotone(page):
    """E14: the widget's static form, by the formula; and how slow the slowest hand is."""
    places = waves(48, 12, 100)
    alike = places @ places[0] / 6
    shown = [numbers(td.get_text())[0] for td in page.select("#clock-hands .static-form td")[1:]]
    assert shown == pytest.approx(alike[:9].tolist(), abs=0.0051)
    assert (np.diff(alike[:5]) < 0).all()
    assert alike[5] > alike[4]
    fastest, second = (waves(7, 12, 100)[6, i : i + 2] @ (0, 1) for i in (0, 2))
    assert fastest > 0.95
    assert second < -0.9  # at a distance of 6 it points the other way
    lap = 2 * math.pi * 10000 ** (510 / 512)
    assert round(lap, -4) == 60_000
    assert "60,000 positions" in page.select_one("#clock-hands").get_text()


def test_rotary_by_hand_and_by_complex_numbers(page):
    """The text's cosines, and the static form's two equal rows."""
    turn, other = np.exp(0.7j), np.exp(0.2j)
    q0, k0 = 1.2 + 0.5j, -0.4 + 1j  # the equation: only the distance back is left
    assert (q0 * turn * np.conj(k0 * other)).real == pytest.approx(
        (q0 * turn / other * np.conj(k0)).real
    )
    assert 2 * math.pi == pytest.approx(6.3, abs=0.05)
    assert math.cos(math.radians(3 * 30)) == pytest.approx(0)
    q, k = np.array([1.2, 1.4 + 0.3j]), np.array([-1.1 + 0.2j, 1.2 + 0.7j])
    speed = np.array([1, 0.1])

    def score(m, n):
        return (q * np.exp(1j * m * speed) * np.conj(k * np.exp(1j * n * speed))).real.sum()

    rows = page.select("#rotary-hands .static-form tbody tr")
    for row, m in zip(rows, (24, 60), strict=True):
        shown = [numbers(td.get_text().replace("−", "-"))[0] for td in row.select("td")[1:]]
        assert shown == pytest.approx([score(m, m - d) for d in range(6)], abs=0.0051)
    best = max(range(24), key=lambda d: score(24, 24 - d))
    assert f"highest at a distance of {best}," in page.select_one("#sec-rotary").get_text()


def test_alibi_s_slopes_as_the_text_has_them():
    """One half in the steepest of eight heads, one 256th in the flattest."""
    from positions import alibi_bias

    assert (-alibi_bias(8, 4)[0, 3]).tolist() == [1.5, 1, 0.5, 0]
    bias = alibi_bias(8, 2)
    assert (-bias[0, 1, 0], -bias[-1, 1, 0]) == (1 / 2, 1 / 256)
    of_four = alibi_bias(4, 2)  # the models have four heads
    assert (-of_four[0, 1, 0], -of_four[-1, 1, 0]) == (1 / 4, 1 / 256)
    assert [1.7 - d / 4 for d in (2, 6)] == pytest.approx([1.2, 0.2])


def test_pairs_of_trained_models_move_as_the_text_says(page):
    from course.payloads.moved_pair import head_that_looks_back, pair_scores
    from models.positions.train import load

    for kind in KINDS:
        model = load(kind)
        scores = pair_scores(model, 17, 14, head_that_looks_back(model), 48)
        along = scores.diagonal(-3)
        spread = (along.max() - along.min()).item()
        added = kind in ("sinusoidal", "learned")
        assert (spread < 1e-3) == (not added)
        if added:  # not steady at the places of the training either
            assert (along[:13].max() - along[:13].min()).item() > 5
        apart = scores[47].flip(0)
        steps = apart.diff()
        assert (steps.abs().max() < 1e-4) == (kind == "none")
        assert ((steps.max() - steps.min()).item() < 1e-4) == (kind in ("none", "alibi"))
        if kind == "alibi":
            assert steps.max() < 0
        if kind == "rotary":  # far signs that score higher than any within the training
            assert apart[16:].max() > apart[:16].max() + 1
            assert apart.argmax() == 47
            assert apart[:16].argmax() == 3 == scores[10, :11].flip(0).argmax()


def test_two_heads_of_relative_have_found_three_back():
    """Those that the figure draws in blue; the two in grey are highest at a distance of 1."""
    from models.positions.train import load

    bias = load("relative").layers[0].relative(25).detach()[:, -1].flip(-1)
    assert sorted(bias.argmax(-1).tolist()) == [1, 1, 3, 3]


def test_hands_turn_as_far_as_the_text_says(page):
    opened, boxed, pair = (
        page.select_one(part).get_text() for part in ("#sec-longer", "#other-ways", "#far-pair")
    )
    for base in (10_000, 500_000):
        near, far = (round(places * math.degrees(base**-0.25)) for places in (15, 63))
        assert f" {near}°" in boxed
        assert f" {far}°" in boxed
        assert f"{math.degrees(base**-0.25):.2f}° a position" in opened
    at_128, fallen = 127 * math.degrees(500_000**-0.25), 43 * math.degrees(10_000**-0.25)
    assert f"it had turned by {at_128:.0f}°." in pair
    assert f"in a row of 128 it is {at_128:.0f}°, about as far" in " ".join(opened.split())
    assert at_128 == pytest.approx(47 * math.degrees(10_000**-0.25), abs=5)
    assert 63 * 500_000**-0.25 <= 24 * 10_000**-0.25  # "no further than"
    assert min(seed[6] for seed in SCORES["right"]["rotary"]["back"]) > 0.97  # places 24 to 27
    assert f"had fallen when hand 2 had turned by {fallen:.0f}°, at position 43" in pair
    assert max(seed[10] for seed in SCORES["right"]["rotary"]["back"]) < 0.15  # places 40 to 43


def test_hand_2_of_the_pair_is_told_by_its_angle(page):
    """The angle between two hands, from the vectors of the model themselves."""
    from models.positions.train import load

    model = load("rotary")
    by_hand = scores_by_hand(model, SEVEN, FOUR, head_that_looks_back(model), 48)
    part = by_hand[1, 47].flip(0)
    turn = math.degrees(10_000**-0.25)
    for back in (0, 5, 15, 30, 47):  # the dials: opposite at 15
        want = -part[15] * math.cos(math.radians(180 + (back - 15) * turn))
        assert part[back].item() == pytest.approx(want.item(), abs=0.1)
    assert (part[:16].diff() < 0).all()  # "the more off the score the further back"
    assert f"adds {part[47]:.1f}" in said(page, "#sec-longer")


def test_only_hand_2_held_mends_the_cliff(page):
    shown = {name: [float(x) for x in cells] for name, cells in table(page, "held-hands").items()}
    whole = [seeds[0] for seeds in (far(SCORES["right"]["rotary"][q]) for q in ("back", "last"))]
    assert shown["no hand"] == pytest.approx(whole, abs=0.03)  # another 200 rows
    mended = shown.pop("hand 2")
    assert min(mended) > 0.97
    assert max(max(shares) for shares in shown.values()) < 0.4
    three, last = (f"{share:.2f}" for share in mended)
    told = f"three back in {three} of all cases, and the last letter in {last}."
    assert told in said(page, "#sec-longer")


@torch.no_grad()
def test_interpolated_models_name_the_token_twelve_back():
    from models.positions.task import examples
    from models.positions.train import BEYOND, load, stretched

    signs, _ = examples(300, 64, torch.Generator().manual_seed(5))
    named = stretched(load("rotary"), BEYOND["interpolated"])(signs)["back"].argmax(-1)[:, 48:]
    shares = {d: (named == signs[:, 48 - d : 64 - d]).float().mean() for d in range(1, 20)}
    assert max(shares, key=shares.get) == 12
    assert shares[12] > 0.5 > 5 * shares[3]


def test_each_hand_is_slower_than_the_one_before_by_one_factor(page):
    clocks, rotary = (page.select_one(part).get_text() for part in ("#sec-clocks", "#sec-rotary"))
    first, second, third = (math.degrees(100 ** (-hand / 6)) for hand in range(3))
    assert f"{first / second:.2f} times less" in clocks
    assert f"{first:.0f}°, {second:.0f}°, {third:.0f}°" in clocks
    slowest = 63 * math.degrees(10_000 ** (-3 / 4))
    assert f"by only {slowest:.1f}° in 63 positions" in rotary
    assert math.cos(math.radians(slowest)) > 0.99  # "nearly the same at every distance"


def test_the_bias_s_numbers_have_its_peak(page):
    numbers_of_it = page.select_one("#sec-score .screen-reader-only table")
    heads = [cell.get_text() for cell in numbers_of_it.select("thead th")]
    distances = [row.select_one("td, th").get_text() for row in numbers_of_it.select("tbody tr")]
    assert heads[1:] == ["the two heads that found three back", "the two other heads"]
    assert distances == [str(distance) for distance in range(16)]


@torch.no_grad()
def test_order_gets_into_no_places_by_its_second_layer():
    """Signs before the last change places: the first layer's last output stays."""
    from models.positions.task import examples
    from models.positions.train import load

    model, places = load("none"), torch.arange(16)
    signs, _ = examples(20, 16, torch.Generator().manual_seed(3))
    other = signs[:, [*range(14, -1, -1), 15]]
    first, shuffled = (model.layers[0](model.embed(row), places) for row in (signs, other))
    torch.testing.assert_close(first[:, -1], shuffled[:, -1], atol=1e-5, rtol=0)
    gap = (model.layers[1](first, places) - model.layers[1](shuffled, places))[:, -1]
    assert gap.abs().amax(-1).min() > 0.5


@torch.no_grad()
def test_rotary_falls_where_far_signs_get_its_weight():
    from attention import scaled_dot_product_attention
    from models.positions.task import examples
    from models.positions.train import load

    model, places = load("rotary"), torch.arange(64)
    signs, _ = examples(200, 64, torch.Generator().manual_seed(7))
    x = model.embed(signs)
    for layer, at_48 in zip(model.layers, (4 / 5, 0.9), strict=True):
        q, k, v = layer.attention._project(layer.norm(x))
        turn = layer.attention.rotary
        _, weights = scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
        far = (weights * (places[:, None] - places > 15)).sum(-1).mean((0, 1))
        assert far[48] > at_48
        x = layer(x, places)


def test_who_falls_at_once_and_who_later():
    for kind in ("sinusoidal", "learned"):
        assert all(seed[3] > 0.99 and seed[4] < 0.6 for seed in SCORES["right"][kind]["back"])
    for seed in SCORES["right"]["rotary"]["back"]:
        assert min(seed[:6]) > 0.95  # places 0 to 23
        assert seed[9] < 0.6  # 36 to 39
    for kind in ("relative", "rotary", "sinusoidal", "learned"):
        assert all(
            min(seed[:4]) > 0.97 for seeds in SCORES["right"][kind].values() for seed in seeds
        )
    assert SCORES["parameters"]["rotary"] == SCORES["parameters"]["none"]


def test_tables_are_the_committed_scores(page):
    shown = table(page, "window")
    assert list(shown) == list(NAMES.values())
    for kind, name in NAMES.items():
        for q, (whole, window) in zip(
            ("back", "last"), (shown[name][:2], shown[name][2:]), strict=True
        ):
            is_span(whole, far(SCORES["right"][kind][q]))
            is_span(window, far(SCORES["windowed"][kind][q]))
    for name, cells in table(page, "beyond").items():
        found = SCORES["beyond"][name]
        for q, (at_once, later) in {"back": cells[:2], "last": cells[2:]}.items():
            is_span(at_once, far(found["at once"][q]))
            is_span(later, far(found["after training"][q]))
    for kind, cells in table(page, "places-met").items():
        for q, (there, met) in {"back": cells[:2], "last": cells[2:]}.items():
            is_span(there, SCORES["moved"][kind][q]["last"])
            is_span(met, far(SCORES["trained anywhere"][kind][q]))


def test_each_way_s_score_of_three_back_is_the_committed_one(page):
    right, other = SCORES["right"], SCORES["other constants"]
    ways = {"sinusoidal": right["sinusoidal"], "learned": right["learned"],
            "relative bias": right["relative"], "ALiBi": right["alibi"],
            "rotary, base 10,000": right["rotary"],
            "rotary, base 500,000": other["rotary"],
            "no positions": right["none"]}  # fmt: skip
    shown = table(page, "ways-open")
    assert list(shown) == list(ways)
    for name, seeds in ways.items():
        back, last = seeds["back"], seeds["last"]
        want = [mean(shares) for shares in (near(back), far(back), far(last))]
        assert [float(share) for share in shown[name][:3]] == pytest.approx(want, abs=0.006)
    assert min(far(right["alibi"]["last"])) > 0.94  # "the last letter it keeps"
    lost = far(right["sinusoidal"]["last"]) + far(right["learned"]["last"])
    assert min(far(right["none"]["last"])) > max(lost)
    assert mean(near(right["alibi"]["back"])) == pytest.approx(1 / 3, abs=0.02)
    assert mean(near(right["none"]["back"])) == pytest.approx(1 / 4, abs=0.02)
    for seeds in (right["relative"]["back"], other["alibi"]["back"]):
        assert all(a - b < 0.1 for a, b in zip(near(seeds), far(seeds), strict=True)), "a little"


def test_the_second_hand_holds_far_keys_down_and_then_pushes_them_up():
    """Against the turned vectors themselves: query *7* at 47, key *4*, by distance."""
    from course.payloads.moved_pair import (
        FOUR,
        SEVEN,
        head_that_looks_back,
        pair_scores,
        scores_by_hand,
    )
    from models.positions.train import load

    model = load("rotary")
    head = head_that_looks_back(model)
    by_hand = scores_by_hand(model, SEVEN, FOUR, head, 48)
    whole = pair_scores(model, SEVEN, FOUR, head, 48)
    torch.testing.assert_close(by_hand.sum(0), whole, atol=1e-5, rtol=0)
    first, second, *slow = by_hand[:, 47].flip(1)
    assert second[:16].argmin() == 15
    assert second[47] > 0.95 * second.max() > 4 > -4 > second[15]
    assert max((part.max() - part.min()).item() for part in slow) < 0.4
    assert abs(first[:16].max() - first.max()) < 0.05  # nothing new in it
    assert 15 > 2 * 2 * math.pi > 12  # radians: more than two rounds in training


def test_rivals_are_the_committed_scores(page):
    shown = table(page, "rivals")
    assert list(shown) == list(NAMES.values())
    for kind, name in NAMES.items():
        longer, larger = (
            SCORES[k][kind]["back"] for k in ("three times the steps", "a larger rate")
        )
        shares = (near(longer), far(longer), near(larger), far(larger))
        for cell, of_seeds in zip(shown[name], shares, strict=True):
            is_span(cell, of_seeds)


def test_places_are_new_to_two_models_only():
    """The other four read rows of 16 at places 49 to 64 as at the start; a window mends them."""
    for kind in KINDS:
        for q in ("back", "last"):
            moved, whole, window = (
                SCORES["moved"][kind][q], SCORES["right"][kind][q], SCORES["windowed"][kind][q]
            )  # fmt: skip
            added = kind in ("sinusoidal", "learned")
            assert (moved["first"] != moved["last"]) == added
            if added:  # they gain, but stay far from right
                assert mean(far(whole)) < mean(far(window)) < 0.7
            if kind in ("relative", "rotary"):
                assert min(far(window)) > 0.94
            if kind == "alibi":  # it hardly changes
                assert abs(mean(far(window)) - mean(far(whole))) < 0.02


def test_rotary_goes_from_guessing_to_right():
    guess = (1 - LETTER_SHARE) / DIGITS  # always the same digit
    assert guess == 0.075
    assert all(
        share == pytest.approx(guess, abs=0.01) for share in far(SCORES["right"]["rotary"]["back"])
    )
    assert min(far(SCORES["windowed"]["rotary"]["back"])) > 0.99


def test_the_base_decides_and_the_trained_length_does_not_tell():
    published, llama = SCORES["right"]["rotary"], SCORES["other constants"]["rotary"]
    for question in ("back", "last"):
        assert min(near(published[question]) + near(llama[question])) > 0.98
        assert max(far(published[question])) < 0.4 < 0.9 < min(far(llama[question]))
    at_last = SCORES["rotary of another base, at last"]["back"]
    assert max(at_last) < 0.09  # on rows of 128 it guesses, too
    slow, fast = (math.degrees(base**-0.25) for base in (500_000, 10_000))
    assert 63 * fast > 360 > 63 * slow


def test_steeper_slopes_tell_two_back_from_three():
    published, steeper = SCORES["right"]["alibi"], SCORES["other constants"]["alibi"]
    assert max(near(published["back"])) < 0.4 < 0.6 < min(near(steeper["back"]))
    assert min(far(steeper["back"])) > 0.6
    assert min(far(steeper["last"])) > 0.95


def test_hands_by_the_pencil():
    """The tables of angles: who is three back, and that only the distance is left."""
    hand = {position: 30 * position for position in range(4, 8)}
    cosines = [math.cos(math.radians(hand[p] - (hand[7] - 90))) for p in hand]
    assert [round(c, 2) for c in cosines] == [1, 0.87, 0.5, 0]
    for query, key, score in ((5, 2, 1), (5, 4, 0.5), (105, 102, 1), (105, 104, 0.5)):
        between = 30 * query - 90 - 30 * key
        assert math.cos(math.radians(between)) == pytest.approx(score)


def test_a_larger_base_and_100_steps_stretch_rotary():
    assert max(far(SCORES["beyond"]["as trained"]["at once"]["back"])) < 0.08
    for q in ("back", "last"):
        assert min(far(SCORES["beyond"]["NTK-aware"]["after training"][q])) > 0.9


def test_the_window_gives_relative_most_of_its_loss_back():
    for q in ("back", "last"):
        whole, window, best = (
            shares(SCORES[table]["relative"][q])
            for table, shares in (("right", far), ("windowed", far), ("right", near))
        )
        for lost, mended, whole_row in zip(whole, window, best, strict=True):
            assert lost < mended
            assert mended - lost > 0.7 * (whole_row - lost)


def test_one_word_keeps_its_output_in_two_orders():
    """With the causal mask, of the five other orders of the headline."""
    words = range(3)
    seen = {order: [set(order[: i + 1]) for i in words] for order in permutations(words)}
    kept = [
        sum(seen[order][order.index(word)] == set(range(word + 1)) for word in words)
        for order in seen
        if order != tuple(words)
    ]
    assert kept.count(1) == 2


def test_the_two_pairings_agree_after_reordering(page):
    neighbours, half, reordered = (
        numbers(line.split(":")[1])[0] for line in output(page, "pairings").splitlines()
    )
    assert neighbours == reordered != half


def test_the_bug_hunt_s_check_fails(page):
    assert "at position 1: off by up to" in output(page, "bug-check")


def test_a_bag_of_words_can_t_tell_the_headlines_apart():
    from attention import MultiHeadAttention

    torch.manual_seed(0)
    layers = [MultiHeadAttention(16, 2).double() for _ in range(3)]
    x = torch.randn(3, 16).double()

    def average(x):
        for layer in layers:
            x = x + layer(x)
        return x.mean(0)

    torch.testing.assert_close(average(x), average(x.flip(0)))
