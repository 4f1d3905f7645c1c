"""Longer than trained: its claims against numbers computed here."""

import json
import math
from statistics import mean

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from course.payloads.moved_pair import (
    FOUR,
    SEVEN,
    head_that_looks_back,
    pair_scores,
    scores_by_hand,
)
from models.positions.further import FURTHER, Turning, larger_steps, late, of_base
from models.positions.task import KINDS, LONGEST, examples
from models.positions.train import BEYOND, SHORT, SHORT_RATE, STEPS, load, stretched
from positions import Rotary
from tests.lessons.m07_numbers import SCORES, far, near
from tests.lessons.page_text import cells, in_order, output, shows, text_of
from tests.numbers import numbers

PAGE = "longer.html"
RUNS = json.loads(FURTHER.read_text(encoding="utf-8"))
RIGHT, WINDOWED, OTHER = (SCORES[name] for name in ("right", "windowed", "other constants"))
QUESTIONS = "back", "last"
BASES = 10_000, 500_000


@pytest.fixture(scope="module")
def rotary():
    return load("rotary")


def floats(page, label):
    return {name: [float(x) for x in shown] for name, *shown in cells(page, label)}


def test_the_pair_keeps_its_score_unless_positions_are_added():
    for kind in KINDS:
        model = load(kind)
        along = pair_scores(model, SEVEN, FOUR, head_that_looks_back(model), 48).diagonal(-3)
        if kind in ("sinusoidal", "learned"):  # not steady at the places of the training either
            assert along[:13].max() - along[:13].min() > 5
        else:
            assert along.max() - along.min() < 1e-3


@torch.no_grad()
def test_hand_2_of_the_pair_is_a_penalty_and_then_a_bonus(page, rotary):
    """Query *7* at 47, key *4*, by distance; the angle from vectors that aren't turned yet."""
    layer, head = rotary.layers[0], head_that_looks_back(rotary)
    whole = pair_scores(rotary, SEVEN, FOUR, head, 48)
    by_hand = scores_by_hand(rotary, SEVEN, FOUR, head, 48)
    torch.testing.assert_close(by_hand.sum(0), whole, atol=1e-5, rtol=0)
    score = whole[47].flip(0)
    assert score.argmax() == 47
    assert score[16:].max() > score[:16].max() + 1
    assert score[:16].argmax() == 3 == whole[10, :11].flip(0).argmax()
    first, second, *slow = by_hand[:, 47].flip(1)
    assert max((part.max() - part.min()).item() for part in slow) < 0.4
    assert abs(first[:16].max() - first.max()) < 0.05, "nothing new in it"
    assert (second[:16].diff() < 0).all(), "the further back, the more it takes off"
    assert (second[16:47].diff() > 0).all()
    assert abs(second[31]) < 0.2, "the penalty is gone"
    assert second[47] > 0.95 * second.max() > 4 > -4 > second[15]

    asks, answers = (layer.norm(rotary.embed(torch.tensor([[sign]]))) for sign in (SEVEN, FOUR))
    q, k = layer.attention.project(asks)[0], layer.attention.project(answers)[1]
    q, k = (complex(*part[0, head, 0, 2:4].tolist()) for part in (q, k))
    turned = q * np.conj(k) * np.exp(0.1j * np.arange(48))
    assert second.tolist() == pytest.approx(turned.real / 8**0.5, abs=1e-4)
    turn, apart = math.degrees(0.1), math.degrees(np.angle(q * np.conj(k))) % 360
    for back, angle, near_it in ((15, 180, 1), (31, 270, 2), (46, 360, 5)):
        assert apart + back * turn == pytest.approx(angle, abs=near_it)
    values = (
        *(f"{angle:.0f}" for angle in (apart, 15 * turn, apart + 15 * turn)),
        f"{-second[15]:.1f}",
    )
    assert shows(page, "#predict-hand", f"{apart:.0f}", "15", *values)


@torch.no_grad()
def test_far_keys_get_a_bonus_from_hand_2_in_all_heads_and_most_of_the_weight(page, rotary):
    """By vectors that aren't turned yet; and the figure's lowest and highest at its ends."""
    places = torch.arange(LONGEST)
    signs, _ = examples(200, LONGEST, torch.Generator().manual_seed(7))
    x = rotary.embed(signs)
    tables = page.select_one("#cell-figure-all-heads").find_next_sibling().select("table")
    for layer, shown, at_48 in zip(rotary.layers, tables, (4 / 5, 0.9), strict=True):
        q, k, v = layer.attention.project(layer.norm(x))
        hands = [torch.view_as_complex(part[..., 2:4].contiguous()) for part in (q, k)]
        brought = {
            back: ((hands[0][..., 47:] * hands[1][..., 47 - back : LONGEST - back].conj())
                   .mean((0, 2)) * np.exp(0.1j * back)).real / 8**0.5
            for back in (0, 15, 46, 47)
        }  # fmt: skip
        assert max(brought[15]) < -1.5
        assert min(brought[46]) > 1.5
        if layer is rotary.layers[1]:
            assert max(abs(brought[0])) < min(abs(brought[15])) / 4, "next to nothing at 0"
        rows = [numbers(row.get_text(" ")) for row in shown.select("tbody tr")]
        for back in (0, 47):
            [row] = [row for row in rows if row[0] == back]
            want = [back, min(brought[back]).item(), max(brought[back]).item()]
            assert row == pytest.approx(want, abs=0.06)
        turn = layer.attention.rotary
        _, weights = scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
        to_far = (weights * (places[:, None] - places > 15)).sum(-1).mean((0, 1))
        assert to_far[48] > at_48
        x = layer(x, places)


def test_only_hand_2_held_mends_the_cliff(page):
    hands, layers, beyond = (floats(page, f"held-{of}") for of in ("hands", "layers", "far"))
    whole = [far(RIGHT["rotary"][question])[0] for question in QUESTIONS]
    assert hands["no hand"] == pytest.approx(whole, abs=0.03)  # another 200 rows
    assert min(hands.pop("hand 2")) > 0.97
    assert max(max(shares) for shares in hands.values()) < 0.4
    first, second = layers.values()
    assert first[0] < 0.1 < 0.9 < first[1], "the first spoils the last letter"
    assert second[1] < 0.4 < 0.97 < second[0], "the second spoils three back"
    mended, no_bonus, nothing = beyond.values()
    assert min(mended) > 0.97
    assert max(no_bonus[0], nothing[0]) < 0.2, "three back is nearly lost all the same"
    assert mended[1] - no_bonus[1] < (no_bonus[1] - whole[1]) / 2, "mostly the bonus"
    for seed in range(1, 5):
        assert min(RUNS[f"base 10000, seed {seed}"]["hand 2 held"].values()) > 0.97


@torch.no_grad()
def test_interpolated_models_name_the_token_twelve_back(rotary):
    signs, _ = examples(300, 64, torch.Generator().manual_seed(5))
    named = stretched(rotary, BEYOND["interpolated"])(signs)["back"].argmax(-1)[:, 48:]
    shares = {d: (named == signs[:, 48 - d : 64 - d]).float().mean() for d in range(1, 20)}
    assert max(shares, key=shares.get) == 12
    assert shares[12] > 0.5 > 5 * shares[3]


@torch.no_grad()
def test_order_gets_into_no_places_by_its_second_layer():
    """Signs before the last change places: the first layer's last output stays."""
    model, places = load("none"), torch.arange(16)
    signs, _ = examples(20, 16, torch.Generator().manual_seed(3))
    other = signs[:, [*range(14, -1, -1), 15]]
    first, shuffled = (model.layers[0](model.embed(row), places) for row in (signs, other))
    torch.testing.assert_close(first[:, -1], shuffled[:, -1], atol=1e-5, rtol=0)
    gap = (model.layers[1](first, places) - model.layers[1](shuffled, places))[:, -1]
    assert gap.abs().amax(-1).min() > 0.5


def test_places_are_new_to_two_models_only():
    """The other four read rows of 16 at places 48 to 63 as at the start; a window mends them."""
    for kind in KINDS:
        for q in QUESTIONS:
            moved = SCORES["moved"][kind][q]
            whole, window, best = far(RIGHT[kind][q]), far(WINDOWED[kind][q]), near(RIGHT[kind][q])
            added = kind in ("sinusoidal", "learned")
            assert (moved["first"] != moved["last"]) == added
            if added:  # they gain, but stay far from right
                assert mean(whole) < mean(window) < 0.7
            if kind == "rotary":
                assert min(window) > 0.99
            if kind == "relative":  # it gets most of its loss back
                assert min(window) > 0.94
                for lost, mended, whole_row in zip(whole, window, best, strict=True):
                    assert lost < mended
                    assert mended - lost > 0.7 * (whole_row - lost)
            if kind == "alibi":  # it hardly changes
                assert abs(mean(window) - mean(whole)) < 0.02


def half_a_round(base):
    """By turning a hand position by position until it points the opposite way."""
    hand = np.exp(1j * np.arange(2 * math.pi * base**0.25) * base**-0.25)
    return int(np.argmin(abs(hand + 1)))


def test_the_cliffs_stand_where_hand_2_comes_half_round(page):
    rows = [" ".join(row) for row in cells(page, "half-round")]
    for base, shown in zip(BASES, (rows[0], text_of(page, "#sec-base .answer")), strict=True):
        root, half = base**0.25, half_a_round(base)
        assert in_order(shown, f"{root:.1f}", f"{math.degrees(1 / root):.2f}", str(half))
        of_base = [RUNS[f"base {base}, seed {seed}"]["rows of 128"] for seed in range(5)]
        before, after = (half - 12) // 8, (half + 16) // 8
        assert min(min(seed[:before]) for seed in of_base) > 0.9
        assert max(max(seed[after + 1 :]) for seed in of_base) < 0.5
        assert max(seed[-1] for seed in of_base) < 0.09
    for question, seeds in RIGHT["rotary"].items():
        assert all(min(seed[:6]) > 0.98 for seed in seeds), "right at 0 to 23"
        if question == "back":
            assert min(seed[6] for seed in seeds) > 0.97, "and to 27"
            assert max(seed[10] for seed in seeds) < 0.15, "fallen from 40 on"
            assert all(max(seed[11:]) < 0.1 for seed in seeds), "guesses from 44 on"
        short = near(RIGHT["rotary"][question]) + near(OTHER["rotary"][question])
        assert min(short) > 0.98
        assert max(far(seeds)) < 0.4 < 0.9 < min(far(OTHER["rotary"][question]))
    assert min(far(OTHER["rotary"]["back"])) > 0.95
    assert max(SCORES["rotary of another base, at last"]["back"]) < 0.09, "in rows of 128"


def test_what_is_told_of_the_other_ways():
    def of(kind, question, scores=RIGHT):
        return near(scores[kind][question]), far(scores[kind][question])

    assert max(of("alibi", "back")[0]) < 0.4 < 0.6 < min(of("alibi", "back", OTHER)[0])
    assert min(of("alibi", "back", OTHER)[1]) > 0.6
    assert min(of("alibi", "last", OTHER)[1]) > 0.95
    assert min(of("alibi", "last")[1]) > 0.94, "the last letter it keeps"
    assert mean(of("alibi", "back")[0]) == pytest.approx(1 / 3, abs=0.02)
    assert mean(of("none", "back")[0]) == pytest.approx(1 / 4, abs=0.02)
    lost = [share for kind in ("sinusoidal", "learned") for share in of(kind, "last")[1]]
    assert min(of("none", "last")[1]) > max(lost)
    assert mean(of("none", "last")[1]) > mean(of("rotary", "last")[1])
    for question in QUESTIONS:
        assert all(0 < a - b < 0.2 for a, b in zip(*of("relative", question), strict=True))
    for seeds in (of("relative", "back"), of("alibi", "back", OTHER)):
        assert all(a - b < 0.1 for a, b in zip(*seeds, strict=True)), "a little"
    longer, larger = (SCORES[name] for name in ("three times the steps", "a larger rate"))
    for kind in ("none", "alibi"):
        before, more, rate = (min(of(kind, "back", s)[0]) for s in (RIGHT, longer, larger))
        assert before < rate < 0.5 < more
    for scores in (longer, larger):
        for kind in ("sinusoidal", "learned", "rotary"):
            assert max(of(kind, "back", scores)[1]) < 0.25 < 0.98 < min(of(kind, "back", scores)[0])
        assert min(of("relative", "back", scores)[1]) > 0.98


def test_a_larger_base_and_100_steps_stretch_rotary(page):
    scores = SCORES["beyond"]
    plain, squeezed = scores["as trained"], scores["interpolated"]
    assert max(far(plain["at once"]["back"])) < 0.08
    assert max(far(plain["after training"]["back"])) < 0.25, "helps little"
    assert max(far(plain["after training"]["last"])) < 0.55
    assert min(far(squeezed["at once"]["last"])) > 0.9
    assert max(far(squeezed["at once"]["back"]) + far(squeezed["after training"]["back"])) < 0.1
    for q in QUESTIONS:
        assert min(far(scores["NTK-aware"]["after training"][q])) > 0.9
    factor = 4 ** (1 / 3)  # its slowest hand is four times as slow as before
    root, base = f"{10 * factor:.3f}", f"{(10 * factor) ** 4:,.0f}"
    assert shows(page, "#in-practice", f"{factor:.4f}", root, root, base)
    small, usual = (
        rate * max(min(1, s / 100) * (1 + math.cos(math.pi * (s - 1) / n)) / 2 for s in range(1, n))
        for rate, n in ((SHORT_RATE, SHORT), (SCORES["rate"]["rotary"], STEPS))
    )
    assert shows(page, "#in-practice", f"{small:.5f}", f"{usual:.4f}")
    assert 9 < usual / small < 11, "about a tenth"
    larger = {name: RUNS[f"larger steps, {name}"] for name in BEYOND}
    assert min(larger["NTK-aware"].values()) > 0.99, "it learns all"
    assert larger["interpolated"]["back"] < 0.2 < 0.9 < min(larger["as trained"].values())


@pytest.mark.slow
def test_larger_steps_teach_one_model_without_slowing(rotary):
    """The first of the five, as trained: 100 steps on rows of 64 at ten times the small rate."""
    shares = late(larger_steps(rotary, "as trained", 0))
    assert shares["back"] > 0.98
    assert shares["last"] > 0.85
    assert shares == pytest.approx(RUNS["larger steps, as trained"], abs=0.05)


def of_turn(turn):
    """The trainings whose hand 2 turns by so many degrees a position."""
    return [scores for name, scores in RUNS.items() if name.startswith(f"hand 2 of {turn},")]


def test_the_table_of_ways_has_the_row_of_each(page):
    ways = ["sinusoidal", "learned", "relative", "alibi", "rotary"]
    pairs = [(RIGHT[kind], WINDOWED[kind]) for kind in ways]
    pairs += [(OTHER["rotary"], None), (RIGHT["none"], WINDOWED["none"])]
    for (_, *shown, _), pair in zip(cells(page, "ways-open"), pairs, strict=True):
        want = [
            f"{mean(far(shares[q])):.2f}" if shares else "–" for q in QUESTIONS for shares in pair
        ]
        assert shown == want


def test_a_hand_past_half_a_round_in_training_still_does_harm():
    for turn, count in ((15, 3), (20, 2), (27, 2), (40, 2)):
        runs = of_turn(turn)
        assert len(runs) == count
        backs, cures = ([f[kind]["back"] for f in runs] for kind in ("longer", "hand 2 held"))
        if turn == 15:  # they guess, and are right again
            assert max(backs) < 0.15
            assert min(cures) > 0.9
        else:
            assert min(backs) > 0.6
        if turn in (20, 40):
            assert min(cures) > max(backs) + 0.15, "by the same hand"
        assert max(f["longer"]["last"] for f in runs) < 0.6
        assert min(f["as trained"]["back"] for f in runs) > 0.99


def suspected(hands, base, trained, yours, new_base=None):
    """Less than a round in training; in these texts further than that, and over half a round."""
    met, come = (
        length * b ** (-np.arange(hands) / hands) / (2 * np.pi)
        for length, b in ((trained, base), (yours, new_base or base))
    )
    return (np.flatnonzero((met < 1) & (come > 0.5) & (come > met)) + 1).tolist()


def test_the_suspects_were_not_round_and_come_half_round(page):
    shown = [[int(n) for n in numbers(line.split("[")[1])]
             for label in ("suspects", "large-suspects", "large-mended")
             for line in output(page, label).splitlines()]  # fmt: skip
    ours = [(4, 10_000, 16, 64), (4, 500_000, 16, 64), (4, 500_000, 16, 128)]
    large = 64, 10_000, 4096, 16_384
    models = [*ours, large, (*large, 10_000 * 4 ** (64 / 63))]
    assert shown == [suspected(*model) for model in models]
    assert shown[:4] == [[2], [], [2], [*range(47, 61)]]


def test_hands_of_any_speed_turn_as_rotary_does():
    heads = torch.randn(3, 20, 8, generator=torch.Generator().manual_seed(0))
    for base in map(float, BASES):
        turned = Turning(of_base(base))(heads, position_ids=torch.arange(20))
        torch.testing.assert_close(turned, Rotary(8, base=base)(heads))
