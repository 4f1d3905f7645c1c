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
from models.positions.further import FURTHER
from models.positions.task import KINDS, LONGEST, examples
from models.positions.train import BEYOND, SHORT, SHORT_RATE, STEPS, load, stretched
from tests.lessons.m07_numbers import SCORES, far, near
from tests.lessons.page_text import cells, in_order, output, shows, text_of
from tests.numbers import numbers

PAGE = "longer.html"
RUNS = json.loads(FURTHER.read_text(encoding="utf-8"))
RIGHT, WINDOWED, OTHER = (SCORES[name] for name in ("right", "windowed", "other constants"))
QUESTIONS = "back", "last"


@pytest.fixture(scope="module")
def rotary():
    return load("rotary")


@pytest.mark.parametrize("kind", KINDS)
def test_the_pair_keeps_its_score_unless_positions_are_added(kind):
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
    by_hand = scores_by_hand(rotary, SEVEN, FOUR, head, 48)
    whole = pair_scores(rotary, SEVEN, FOUR, head, 48)
    torch.testing.assert_close(by_hand.sum(0), whole, atol=1e-5, rtol=0)
    score = whole[47].flip(0)
    assert (score.argmax(), score[:16].argmax()) == (47, 3)
    _, second, *slow = by_hand[:, 47].flip(1)
    assert max((part.max() - part.min()).item() for part in slow) < 0.4, "hardly changes"
    assert (second[:16].diff() < 0).all(), "the further back, the more it takes off"
    assert (second[16:47].diff() > 0).all()
    assert abs(second[31]) < 0.2, "the penalty is gone"
    assert second[46] > 4 > -4 > second[15]

    asks, answers = (layer.norm(rotary.embed(torch.tensor([[sign]]))) for sign in (SEVEN, FOUR))
    q, k = layer.attention.project(asks)[0], layer.attention.project(answers)[1]
    q, k = (complex(*part[0, head, 0, 2:4].tolist()) for part in (q, k))
    turned = q * np.conj(k) * np.exp(0.1j * np.arange(48))
    assert second.tolist() == pytest.approx(turned.real / 8**0.5, abs=1e-4)
    turn, apart = math.degrees(0.1), math.degrees(np.angle(q * np.conj(k))) % 360
    for back, angle, near_it in ((15, 180, 1), (31, 270, 2), (46, 360, 5)):
        assert apart + back * turn == pytest.approx(angle, abs=near_it)
    angles = (f"{angle:.0f}" for angle in (apart, 15 * turn, apart + 15 * turn))
    assert shows(page, "#predict-hand", "15", *angles, f"{-second[15]:.1f}")


@torch.no_grad()
def test_far_keys_get_a_bonus_from_hand_2_in_all_heads_and_most_of_the_weight(rotary):
    """By vectors that aren't turned yet."""
    places = torch.arange(LONGEST)
    signs, _ = examples(200, LONGEST, torch.Generator().manual_seed(7))
    x = rotary.embed(signs)
    for layer, at_48 in zip(rotary.layers, (4 / 5, 0.9), strict=True):
        q, k, v = layer.attention.project(layer.norm(x))
        hands = [torch.view_as_complex(part[..., 2:4].contiguous()) for part in (q, k)]
        brought = {
            back: ((hands[0][..., 47:] * hands[1][..., 47 - back : LONGEST - back].conj())
                   .mean((0, 2)) * np.exp(0.1j * back)).real / 8**0.5
            for back in (0, 15, 46)
        }  # fmt: skip
        assert max(brought[15]) < -1.5
        assert min(brought[46]) > 1.5
        turn = layer.attention.rotary
        _, weights = scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
        to_far = (weights * (places[:, None] - places > 15)).sum(-1).mean((0, 1))
        assert to_far[48] > at_48
        x = layer(x, places)
    assert max(abs(brought[0])) < min(abs(brought[15])) / 4, "little at 0, in the second layer"


def test_only_hand_2_held_mends_the_cliff(page):
    hands, layers, beyond = (
        {name: [float(x) for x in shown] for name, *shown in cells(page, f"held-{of}")}
        for of in ("hands", "layers", "far")
    )
    whole = [far(RIGHT["rotary"][question])[0] for question in QUESTIONS]
    assert hands["no hand"] == pytest.approx(whole, abs=0.03)  # another 200 rows
    assert min(hands.pop("hand 2")) > 0.97
    assert max(max(shares) for shares in hands.values()) < 0.4
    first, second = layers.values()
    assert first[0] < 0.1 < 0.9 < first[1], "the first spoils the last letter"
    assert second[1] < 0.4 < 0.97 < second[0], "the second spoils three back"
    mended, no_bonus, nothing = beyond.values()
    assert max(no_bonus[0], nothing[0]) < 0.2, "three back is nearly lost all the same"
    assert mended[1] - no_bonus[1] < (no_bonus[1] - whole[1]) / 2, "mostly the bonus"
    for seed in range(1, 5):
        assert min(RUNS[f"base 10000, seed {seed}"]["hand 2 held"].values()) > 0.97


def half_a_round(base):
    """By turning a hand position by position until it points the opposite way."""
    hand = np.exp(1j * np.arange(2 * math.pi * base**0.25) * base**-0.25)
    return int(np.argmin(abs(hand + 1)))


@pytest.mark.parametrize("base", [10_000, 500_000])
def test_the_cliffs_stand_where_hand_2_comes_half_round(page, base):
    where = "#sec-base .answer" if base == 500_000 else "#half-round, #cell-half-round"
    root, half = base**0.25, half_a_round(base)
    told = f"{root:.1f}", f"{math.degrees(1 / root):.2f}", str(half)
    assert in_order(text_of(page, where), *told)
    of_base = [RUNS[f"base {base}, seed {seed}"]["rows of 128"] for seed in range(5)]
    before, after = (half - 12) // 8, (half + 16) // 8
    assert min(min(seed[:before]) for seed in of_base) > 0.9
    assert max(max(seed[after + 1 :]) for seed in of_base) < 0.5
    assert max(seed[-1] for seed in of_base) < 0.09, "blind guessing"


def test_a_base_of_10_000_is_right_until_25_and_guesses_from_44_on():
    """By bins of four positions; a larger base stays right in rows of 64."""
    back = RIGHT["rotary"]["back"]
    assert all(min(seed[:6]) > 0.98 for seeds in RIGHT["rotary"].values() for seed in seeds)
    assert min(seed[6] for seed in back) > 0.97
    assert max(seed[10] for seed in back) < 0.15, "fallen from 40 on"
    assert all(max(seed[11:]) < 0.1 for seed in back)
    assert max(far(RIGHT["rotary"]["last"])) < 0.4
    assert min(far(OTHER["rotary"]["back"])) > 0.95


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
    models = [*ours, large, *((*large, base) for base in (10_000 * 4 ** (64 / 63), 75_000))]
    assert shown == [suspected(*model) for model in models]
    assert shown[:4] == [[2], [], [2], [*range(47, 61)]]
    assert shown[-1] == [] == suspected(4, 10_000, 16, 64, 250_000)


@torch.no_grad()
def test_a_base_that_leaves_no_suspect_mends_all_five_at_once(page):
    runs = [RUNS[f"slowed to 250000, seed {seed}"] for seed in range(5)]
    least = {(rows, q): min(run[rows][q] for run in runs) for rows in runs[0] for q in QUESTIONS}
    assert min(least.values()) > 0.97
    for rows in ("longer", "near"):
        told = (f"{least[rows, q]:.2f}" for q in QUESTIONS)
        assert shows(page, "#predict-slowed", *told)
    signs, truth = examples(500, 64, torch.Generator().manual_seed(3))
    answers = stretched(load("rotary"), {"base": 250_000.0})(signs)
    for q in QUESTIONS:
        asked = truth[q].asked[:, 48:]
        found = answers[q].argmax(-1)[:, 48:] == truth[q].signs[:, 48:]
        right = found[asked].float().mean().item()
        assert right == pytest.approx(runs[0]["longer"][q], abs=0.015)


@pytest.mark.parametrize(("turn", "guesses", "gives_back"), [
    (15, True, 0.75), (20, False, 0.15), (27, False, 0), (40, False, 0.15),
])  # fmt: skip
def test_a_hand_past_half_a_round_in_training_still_does_harm(turn, guesses, gives_back):
    """Of the trainings whose hand 2 turns by so many degrees a position."""
    runs = [scores for name, scores in RUNS.items() if name.startswith(f"hand 2 of {turn},")]
    assert len(runs) > 1
    backs, cures = ([run[kind]["back"] for run in runs] for kind in ("longer", "hand 2 held"))
    assert max(backs) < 0.15 if guesses else min(backs) > 0.6
    assert min(cures) > max(backs) + gives_back or not gives_back
    assert max(run["longer"]["last"] for run in runs) < 0.6
    assert min(run["as trained"]["back"] for run in runs) > 0.99


def test_a_larger_base_and_100_steps_stretch_rotary(page):
    scores = SCORES["beyond"]
    plain, squeezed = scores["as trained"], scores["interpolated"]
    assert max(far(plain["after training"]["back"])) < 0.25, "helps much less"
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


@pytest.mark.parametrize("q", QUESTIONS)
def test_a_window_mends_those_to_whom_positions_are_not_new(q):
    for kind in KINDS:
        moved = SCORES["moved"][kind][q]
        assert (moved["first"] != moved["last"]) == (kind in ("sinusoidal", "learned"))
    for kind in ("sinusoidal", "learned"):
        assert mean(far(RIGHT[kind][q])) < mean(far(WINDOWED[kind][q])) < 0.7, "far from right"
    assert min(far(WINDOWED["rotary"][q])) > 0.99
    relative = far(RIGHT["relative"][q]), far(WINDOWED["relative"][q]), near(RIGHT["relative"][q])
    for lost, mended, whole in zip(*relative, strict=True):
        assert mended - lost > 0.7 * (whole - lost), "most of its loss"


def test_what_is_told_of_the_other_ways():
    def of(kind, question, scores=RIGHT):
        return near(scores[kind][question]), far(scores[kind][question])

    assert max(of("alibi", "back")[0]) < 0.4 < 0.6 < min(of("alibi", "back", OTHER)[0])
    assert min(of("alibi", "back", OTHER)[1]) > 0.6
    assert min(of("alibi", "last")[1]) > 0.94, "the last letter it keeps"
    assert mean(of("none", "last")[1]) > mean(of("rotary", "last")[1])
    for question in QUESTIONS:
        assert all(0 < a - b < 0.2 for a, b in zip(*of("relative", question), strict=True))
    longer, larger = (SCORES[name] for name in ("three times the steps", "a larger rate"))
    for kind in ("none", "alibi"):
        before, more, rate = (min(of(kind, "back", s)[0]) for s in (RIGHT, longer, larger))
        assert before < rate < 0.5 < more
    for scores in (longer, larger):
        for kind in ("sinusoidal", "learned", "rotary"):
            assert max(of(kind, "back", scores)[1]) < 0.25 < 0.98 < min(of(kind, "back", scores)[0])
        assert min(of("relative", "back", scores)[1]) > 0.98
