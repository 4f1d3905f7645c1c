"""m07: its sentences against numbers computed here."""

import json
import math
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
import torch

from models.positions.task import DIGITS, LETTER_SHARE, LETTERS
from tests.lessons.reading import in_order, numbers, output, said, shows

PAGE = "modules/m07_position/lesson.html"
SCORES = json.loads(
    (Path(__file__).parents[2] / "models/positions/scores.json").read_text(encoding="utf-8")
)
NAMES = {"none": "no positions", "sinusoidal": "sinusoidal", "learned": "learned",
         "relative": "relative", "alibi": "ALiBi", "rotary": "rotary"}  # fmt: skip

WAYS = {
    "sinusoidal": SCORES["right"]["sinusoidal"],
    "learned": SCORES["right"]["learned"],
    "relative bias": SCORES["right"]["relative"],
    "ALiBi": SCORES["right"]["alibi"],
    "rotary": SCORES["right"]["rotary"],
    "no positions": SCORES["right"]["none"],
}


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
    """E14: the widget's fallback, by the formula; and how slow the slowest hand is."""
    places = waves(48, 12, 100)
    alike = places @ places[0] / 6
    shown = [numbers(td.get_text())[0] for td in page.select("#clock-hands .fallback td")[1:]]
    assert shown == pytest.approx(alike[:9].tolist(), abs=0.0051)
    assert (np.diff(alike[:5]) < 0).all()
    assert alike[5] > alike[4]
    fastest, second = (waves(7, 12, 100)[6, i : i + 2] @ (0, 1) for i in (0, 2))
    assert fastest > 0.95
    assert second < -0.9  # at a distance of 6 it points the other way
    lap = 2 * math.pi * 10000 ** (510 / 512)
    assert round(lap, -4) == 60_000
    assert "the slowest then takes some 60,000 positions" in said(page, "#sec-clocks")


def test_rotary_by_hand_and_by_complex_numbers(page):
    """The text's cosines, and the fallback's two equal rows."""
    turn, other = np.exp(0.7j), np.exp(0.2j)
    q0, k0 = 1.2 + 0.5j, -0.4 + 1j  # the equation: only the distance back is left
    assert (q0 * turn * np.conj(k0 * other)).real == pytest.approx(
        (q0 * turn / other * np.conj(k0)).real
    )
    assert 2 * math.pi == pytest.approx(6.3, abs=0.05)
    assert math.cos(math.radians(3 * 30)) == pytest.approx(0)
    q, of_man = np.array([1.2, 1.4 + 0.3j]), np.array([-0.5 - 1.1j, 1.4])
    k = np.array([-1.1 + 0.2j, 1.2 + 0.7j])
    speed = np.array([1, 0.1])

    def score(m, n, q=q):
        return (q * np.exp(1j * m * speed) * np.conj(k * np.exp(1j * n * speed))).real.sum()

    rows = page.select("#rotary-hands .fallback tbody tr")
    for row, m in zip(rows, (24, 60), strict=True):
        shown = [numbers(td.get_text().replace("−", "-"))[0] for td in row.select("td")[1:]]
        assert shown == pytest.approx([score(m, m - d) for d in range(6)], abs=0.0051)
    told, (q0, k0) = said(page, "#rotary-hands"), (q[0], k[0])
    apart = math.degrees(abs(np.angle(q0 * np.conj(k0))))
    product = f"{abs(q0):.2f} · {abs(k0):.2f} · cos {apart:.0f}°"
    assert f"{product} = −{-(q0 * np.conj(k0)).real:.2f}, for" in told
    best = max(range(24), key=lambda d: score(24, 24 - d))
    of_it = said(page, "#sec-rotary")
    assert f"highest at a distance of {best}," in of_it
    hills = [d for d in range(1, 23) if score(24, 25 - d) < score(24, 24 - d) > score(24, 23 - d)]
    assert sorted(hills, key=lambda d: -score(24, 24 - d))[:2] == [best, 9]
    assert "At 9 dog has a second hill, nearly as high, because the fast hand" in of_it
    best_for_man = max(range(24), key=lambda d: score(24, 24 - d, of_man))
    assert best_for_man != best
    assert f"For man the best distance is {best_for_man}." in of_it
    fast, slow = ((q * np.conj(k))[:, None] * np.exp(1j * np.outer(speed, (best, 9)))).real
    assert score(24, 15) > 0.85 * score(24, 24 - best)
    assert fast[1] == pytest.approx(fast[0], rel=0.05)
    assert slow[1] < slow[0]  # "the slow hand has moved on by then, and adds less"


def pencil_rows(page, section):
    """The rows of a section's first table in the text, as numbers; a fraction as its value."""
    rows = page.select(f"{section} table:not(.screen-reader-only table)")[0].select("tbody tr")
    cells = [[td.get_text().replace("−", "-").replace("¼", "0.25") for td in row.select("td")]
             for row in rows]  # fmt: skip
    return {name: texts for name, *texts in cells}


def test_three_scores_get_a_bias_and_a_penalty(page):
    """By positions.py: who leads before, with the learned numbers, and with a slope of ¼."""
    from positions import alibi_bias

    scores = np.array([1.2, 1.7, 1.0])  # three, two and one back
    added = np.array([4.0, -1.0, -1.0])
    with_bias = pencil_rows(page, "#sec-relative")
    shown = np.array([[float(cell) for cell in cells] for cells in with_bias.values()])
    assert shown.T.tolist() == [scores.tolist(), added.tolist(), pytest.approx(scores + added)]
    assert (scores.argmax(), (scores + added).argmax()) == (1, 0)
    penalized = scores + alibi_bias(4, 4)[0, 3, :3].numpy()
    assert penalized.tolist() == pytest.approx([0.45, 1.2, 0.75])
    with_alibi = pencil_rows(page, "#sec-alibi")
    assert list(with_alibi) == list(with_bias) == ["three back", "two back", "one back"]
    for (score, off, _), number, back in zip(with_alibi.values(), scores, (3, 2, 1), strict=True):
        assert (float(score), off) == (number, f"-{back} · 0.25")
    assert with_alibi["three back"][2] == f"{penalized[0]:.2f}"
    answer = said(page, "#sec-alibi .answer")
    assert "1.7 − 0.5 = 1.2, and one back has 1 − 0.25 = 0.75" in answer
    assert penalized.argmax() == 1
    assert scores[0] > scores[2]
    assert penalized[0] < penalized[2]  # "one back has come past three back"


def test_a_row_of_the_learned_table_is_added(page):
    told, dog = said(page, "#sec-learned"), np.array([0.5, -1])
    for position, row in ((0, [0.2, 0.1]), (2, [-0.3, 0.4])):
        right, up = dog + row
        assert f"dog at position {position} is" in told
        assert f"= ({right:.1f}, {up:.1f})".replace("-", "−") in told


def test_alibi_alone_doesn_t_know_before_from_after(page):
    """Without a mask; and the third question of Check it."""
    from attention import scaled_dot_product_attention
    from positions import alibi_bias

    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 3, 4, generator=generator).double()
    bias = alibi_bias(2, 3, dtype=torch.float64)[0]

    def kept(order, **options):
        """Which words have the output that they had in *dog bites man*."""
        one, other = (scaled_dot_product_attention(q[o], k[o], v[o], bias=bias, **options)[0]
                      for o in ([0, 1, 2], order))  # fmt: skip
        return [torch.allclose(one[word], other[at]) for at, word in enumerate(order)]

    assert kept([2, 1, 0]) == [True] * 3
    assert kept([1, 0, 2]) == [False] * 3
    assert kept([2, 1, 0], is_causal=True) == [False] * 3


def test_alibi_s_slopes_as_the_text_has_them():
    """One half in the steepest of eight heads, one 256th in the flattest."""
    from positions import alibi_bias

    assert (-alibi_bias(8, 4)[0, 3]).tolist() == [1.5, 1, 0.5, 0]
    bias = alibi_bias(8, 2)
    assert (-bias[0, 1, 0], -bias[-1, 1, 0]) == (1 / 2, 1 / 256)
    assert -bias[1, 1, 0] == 1 / 4
    of_four = alibi_bias(4, 2)  # the models have four heads
    assert (-of_four[:, 1, 0]).tolist() == [1 / 4, 1 / 16, 1 / 64, 1 / 256]


def test_two_heads_of_relative_have_found_three_back():
    """Those that the figure draws in blue; the two in grey are highest at a distance of 1."""
    from models.positions.train import load

    bias = load("relative").layers[0].relative(25).detach()[:, -1].flip(-1)
    assert sorted(bias.argmax(-1).tolist()) == [1, 1, 3, 3]


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


def test_the_table_of_ways_has_what_was_measured(page):
    shown = {name: [float(cell) for cell in cells]
             for name, cells in table(page, "methods").items()}  # fmt: skip
    guesses = [*[(1 - LETTER_SHARE) / DIGITS] * 2, *[1 / LETTERS] * 2]
    assert shown.pop("blind guessing") == guesses
    assert list(shown) == list(WAYS)
    for name, seeds in WAYS.items():
        want = [mean(shares(seeds[task])) for task in ("back", "last") for shares in (near, far)]
        assert shown[name] == pytest.approx(want, abs=0.0051)


def test_the_five_seeds_are_the_committed_scores(page):
    shown = table(page, "seeds")
    assert list(shown) == list(WAYS)
    for name, cells in shown.items():
        for cell, task in zip(cells, ("back", "last"), strict=True):
            is_span(cell, far(WAYS[name][task]))


def test_only_relative_bias_finds_three_back_nine_times_in_ten():
    """The prediction, and what is said of the others below it."""
    holds = [name for name, seeds in WAYS.items() if min(far(seeds["back"])) > 0.9]
    assert holds == ["relative bias"]
    assert sum(max(far(seeds["back"])) > 0.25 for seeds in WAYS.values()) == 1
    assert max(near(WAYS["ALiBi"]["back"])) < 0.4  # "hardly learned the task at all"
    for seed in WAYS["rotary"]["back"]:
        assert seed[6] > 0.95 > 0.9 > seed[8]  # positions 24 to 27, and 32 to 35
    alibi, *rest = (far(WAYS[name]["last"]) for name in ("ALiBi", *(WAYS.keys() - {"ALiBi"})))
    assert min(alibi) > max(map(max, rest)), "the last letter is ALiBi's task"


def test_hands_come_round_at_6_and_at_13(page):
    """By complex hands: which is nearly where it began, and that the rest is elsewhere."""
    hands = np.exp(1j * np.arange(48)[:, None] * 100.0 ** (-np.arange(6) / 6))
    alike = hands.real.mean(1)
    told = said(page, "#sec-clocks")
    peaks = [d for d in range(1, 20) if alike[d - 1] < alike[d] > alike[d + 1]]
    assert peaks[:2] == [6, 13]
    assert (np.diff(alike[:5]) < 0).all(), "it falls up to 4"
    assert "Did you stop at 6? There the fastest hand has come round, nearly." in told
    assert "Or at 13? There the two fastest have." in told
    assert len({hand.round(6).tobytes() for hand in hands}) == len(hands), "no two are the same"
    assert alike[6] > alike[4] + 0.05
    assert alike[9] == alike[:13].min() < alike[13] - 0.3
    rounds = 100.0 ** (-np.arange(6) / 6) / (2 * math.pi)  # a position
    for distance, whole in ((6, [1]), (13, [2, 1])):  # nearly whole rounds, the fastest first
        turned = distance * rounds
        near_start = (hands[distance].real > 0.85) & (turned > 0.9)
        assert np.round(turned[near_start]).tolist() == whole


def test_the_base_is_told_as_the_code_takes_it(page):
    """Six speeds from the vectors themselves; and the exercises' formula is the same."""
    from positions import sinusoidal_positions

    told = said(page, "#sec-speeds")
    row = sinusoidal_positions(2, 12, base=100, dtype=torch.float64)[1].view(6, 2)
    speeds = torch.atan2(row[:, 0], row[:, 1])
    factors = speeds[:-1] / speeds[1:]
    assert factors.tolist() == pytest.approx([100 ** (1 / 6)] * 5)
    assert f"Each of the others turns {factors[0]:.2f} times less than the one" in told
    first = math.degrees(speeds[0])
    assert "turns by one radian a position" in told
    assert f"That is {first:.0f}°, so it is round once after 360 / {first:.0f} ≈" in told
    assert f"≈ {2 * math.pi / speeds[0].item():.1f} positions" in told
    assert f"Where does the {factors[0]:.2f} come from?" in told
    assert speeds.tolist() == pytest.approx([100 ** (-2 * i / 12) for i in range(6)])
    larger = sinusoidal_positions(2, 12, base=500, dtype=torch.float64)[1].view(6, 2)
    slower = torch.atan2(larger[:, 0], larger[:, 1]) < speeds - 1e-9
    assert slower.tolist() == [False, *[True] * 5]  # "all hands but the first"
    assert "so the second turns √100 = 10 times less than the first" in said(page, "#sec-rotary")
    shown = numbers(output(page, "speeds"))
    assert shown == [round(math.degrees(speed)) for speed in speeds.tolist()]


def test_the_waves_are_the_hands_heights(page):
    """The figure's numbers: the sines of the first three hands."""
    shown = [numbers(row.get_text(" ").replace("−", "-"))
             for row in page.select("#sec-waves .screen-reader-only tbody tr")]  # fmt: skip
    heights = waves(25, 12, 100)[:, 0:6:2]
    assert [row[0] for row in shown[:2]] == [0, 2]
    for position, *row in shown:
        assert row == pytest.approx(heights[int(position)].tolist(), abs=0.0051)


def test_learned_has_as_many_rows_as_the_text_says(page):
    from models.positions.train import load

    assert f"The learned table has {load('learned').place.num_embeddings} rows," in said(
        page, "#sec-longer"
    )


def test_a_far_key_may_outweigh_a_near_one_in_spite_of_alibi():
    """Check it: the first of eight heads has a slope of one half."""
    from positions import alibi_bias

    bias = alibi_bias(8, 5)[0, 4]
    assert (3 + bias[0]).item() == 1
    assert (1.2 + bias[3]).item() == pytest.approx(0.7)


def test_rotary_falls_to_blind_guessing():
    guess = (1 - LETTER_SHARE) / DIGITS  # always the same digit
    assert guess == 0.075
    assert all(
        share == pytest.approx(guess, abs=0.01) for share in far(SCORES["right"]["rotary"]["back"])
    )


def test_two_numbers_turn_as_the_text_says(page):
    """By complex numbers: a right angle, and the formula at any angle."""
    assert (3 + 4j) * 1j == -4 + 3j
    told = said(page, "#sec-rotary-turn")
    assert "So the hand is 3 up and 4 to the left: (−4, 3)." in told
    angle = 0.7
    (a, b), (c, s) = (3, 4), (math.cos(angle), math.sin(angle))
    turned = complex(a, b) * np.exp(1j * angle)
    assert (a * c - b * s, a * s + b * c) == pytest.approx((turned.real, turned.imag))
    assert abs(turned) == pytest.approx(5)


def test_hands_by_the_pencil(page):
    """The table of angles, and the row that is the reader's: only the distance is left."""
    *rows, last = page.select("#sec-rotary-pencil tbody tr")
    shown = [[int(cell.get_text()) for cell in row.select("td")[:2]] for row in [*rows, last]]
    scores = [math.cos(math.radians(30 * query - 90 - 30 * key)) for query, key in shown]
    for row, score in zip(rows, scores, strict=False):
        assert in_order(row.select("td")[-1].get_text(), f"{score:.1g}")
    assert shows(page, "#sec-rotary-pencil", f"{30 * shown[-1][1]}°", f"{scores[-1]:.1f}")
    assert math.cos(math.radians(15 * 30 - 90)) == pytest.approx(1)  # a round after three back


def test_the_clocks_of_five_positions(page):
    """The figure's numbers, and the pencil's: one hand of 30° a position, right and then up."""
    tips = [(math.cos(math.radians(30 * p)), math.sin(math.radians(30 * p))) for p in range(13)]
    of_the_figure = page.select_one("#sec-clocks .screen-reader-only")
    shown = [numbers(row.get_text(" ").replace("−", "-"))
             for row in of_the_figure.select("tbody tr")]  # fmt: skip
    for tip, place in zip(shown, (0, 1, 2, 3, 12), strict=True):
        assert tip == pytest.approx(tips[place], abs=0.001)
    told = said(page, "#sec-clocks")
    assert tips[3] == pytest.approx((0, 1))
    assert "straight up, so its numbers are (0, 1)." in told
    assert tips[6] == pytest.approx((-1, 0))
    assert "The two numbers are (−1, 0)." in told
    assert tips[12] == pytest.approx(tips[0])


def test_with_rotary_it_matters_who_bites(page):
    """The first widget's layer in NumPy, its queries and keys turned as complex numbers."""
    x = np.array([[1, 0, 0.5], [0, 1, 0], [1, 0, -0.5]])
    w_q, w_k, w_v = (np.array(m) for m in (
        [[1, 0.5], [0.5, 2], [2, -1]], [[1.5, 0.5], [0, 1], [1, 2]], [[1, 0.5], [-1, 1], [2, 1]]
    ))  # fmt: skip

    def outputs(rows, turn):
        q, k = (rows @ w @ (1, 1j) * np.exp(1j * turn * np.arange(3)) for w in (w_q, w_k))
        scores = np.exp(np.outer(q, k.conj()).real / 2**0.5)
        weights = scores / scores.sum(1, keepdims=True)
        return weights @ rows @ w_v, weights

    def bites(rows, turn):
        return outputs(rows, turn)[0][1]

    means = [outputs(rows, 1)[0].mean(0) for rows in (x, x[::-1])]
    assert abs(means[0] - means[1]).max() > 0.1, "the average changes, too"

    rows = page.select("#rotary-order .fallback tbody tr")
    for row, want in zip(rows, outputs(x, 1)[0], strict=True):
        [shown] = [numbers(td.get_text().replace("−", "-")) for td in row.select("td")[1:]]
        assert shown == pytest.approx(want.tolist(), abs=0.0051)
    told = said(page, "#sec-rotary").replace("−", "-")
    one, other = bites(x, 1), bites(x[::-1], 1)
    unturned = bites(x, 0)
    assert unturned == pytest.approx(bites(x[::-1], 0))
    one, other, unturned = ("({:.2f}, {:.2f})".format(*out) for out in (one, other, unturned))
    assert f"comes out as {one}, in man bites dog as {other}." in told
    assert f"Without rotary bites comes out as {unturned} in both." in told
    to_dog = outputs(x, 1)[1][1, 0], outputs(x[::-1], 1)[1][1, 2]
    weight = "bites gives dog a weight of {:.2f} in the first order, and of {:.2f} in the second."
    assert weight.format(*to_dog) in told


def test_a_product_of_two_sums_is_four_products(page):
    assert "(2 + 1) · (3 + 4) = 2 · 3 + 2 · 4 + 1 · 3 + 1 · 4" in said(page, "#sec-flaw")
    assert (2 + 1) * (3 + 4) == 2 * 3 + 2 * 4 + 1 * 3 + 1 * 4


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
