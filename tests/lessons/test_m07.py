"""m07: its claims against numbers computed here."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from models.positions.task import DIGITS, LETTER_SHARE, LETTERS, examples
from models.positions.train import load
from models.storyteller.tokens import Tokenizer
from models.weights import load as load_shipped
from positions import alibi_bias, sinusoidal_positions
from tests.lessons.m07_numbers import SCORES, far, near
from tests.lessons.page_text import cells, in_order, output, shows
from tests.numbers import number, numbers

PAGE = "modules/m07_position/lesson.html"
RIGHT = SCORES["right"]


def after_colon(page, label):
    return [numbers(line.split(":")[1])[0] for line in output(page, label).splitlines()]


def test_shuffled_in_is_shuffled_out_until_the_causal_mask(page):
    without, causal = after_colon(page, "equivariance")
    assert without < 1e-12
    assert causal > 0.1


def test_one_matrix_moves_every_place(page):
    [gap] = after_colon(page, "shift")
    assert gap < 1e-12


def test_the_two_pairings_agree_after_reordering(page):
    neighbours, half, reordered = after_colon(page, "pairings")
    assert neighbours == reordered != half


def test_the_bug_hunt_s_check_fails(page):
    assert in_order(output(page, "bug-check"), "1")  # where the first word to be turned stands


def waves(length, size, base):
    """By the formula, in NumPy."""
    angles = np.arange(length)[:, None] * base ** (-np.arange(0, size, 2) / size)
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, size)


def test_the_clocks_of_five_positions(page):
    """The figure's numbers, and the pencil's: one hand of 30° a position, right and then up."""
    rows = page.select_one("#sec-clocks .screen-reader-only").select("tbody tr")
    tips = np.exp(1j * np.radians(30 * np.array([0, 1, 2, 3, 12, 6])))
    for row, tip in zip(rows, tips[:5], strict=True):
        assert numbers(row.get_text(" ")) == pytest.approx([tip.real, tip.imag], abs=0.001)
    (right, up), (left, level) = ((f"{tip.real:.0f}", f"{tip.imag:.0f}") for tip in tips[[3, 5]])
    assert shows(page, "#sec-clocks", "3", right, up)
    assert shows(page, "#sec-clocks", "6", "180°", left, level, left, level)
    assert tips[4] == pytest.approx(tips[0])


def test_similarity_of_places_isn_t_monotone(page):
    """It falls up to 4; at 6 and at 13 the fastest hands have come round, and the rest hasn't."""
    hands = np.exp(1j * np.arange(48)[:, None] * 100.0 ** (-np.arange(6) / 6))
    alike = hands.real.mean(1)
    [[_, *shown]] = cells(page, "clock-hands .fallback")
    assert [*map(number, shown)] == pytest.approx(alike[:9].tolist(), abs=0.0051)
    assert (np.diff(alike[:5]) < 0).all()
    assert alike[6] > alike[4] + 0.05
    assert alike[5] > alike[4]
    assert alike[9] == alike[:13].min() < alike[13] - 0.3
    peaks = [d for d in range(1, 20) if alike[d - 1] < alike[d] > alike[d + 1]][:2]
    assert peaks == [6, 13]
    assert shows(page, "#sec-clocks", *map(str, peaks))
    rounds = 100.0 ** (-np.arange(6) / 6) / (2 * math.pi)  # a position
    for distance, whole in ((6, [1]), (13, [2, 1])):  # nearly whole rounds, the fastest first
        turned = distance * rounds
        near_start = (hands[distance].real > 0.85) & (turned > 0.9)
        assert np.round(turned[near_start]).tolist() == whole
    assert hands[6, 0].real > 0.95
    assert hands[6, 1].real < -0.9, "it points the other way"
    assert len({hand.round(6).tobytes() for hand in hands}) == len(hands), "no two are the same"


def test_the_speeds_are_told_as_the_code_takes_them(page):
    def speeds(base):
        row = sinusoidal_positions(2, 12, base=base, dtype=torch.float64)[1].view(6, 2)
        return torch.atan2(row[:, 0], row[:, 1])

    of_100 = speeds(100)
    assert of_100.tolist() == pytest.approx([100 ** (-2 * i / 12) for i in range(6)])
    assert numbers(output(page, "speeds")) == of_100.rad2deg().round().tolist()
    slower = speeds(500) < of_100 - 1e-9
    assert slower.tolist() == [False, *[True] * 5], "all hands but the first"
    first, factor = f"{math.degrees(of_100[0]):.0f}", f"{of_100[0] / of_100[1]:.2f}"
    around = f"{2 * math.pi / of_100[0]:.1f}"
    assert shows(page, "#sec-speeds", first, "360", first, around, factor, "100")
    for section, hands in (("#sec-speeds", 6), ("#sec-rotary-hands", 2)):
        powers = [power.get_text() for power in page.select(f"{section} > p sup")]
        assert f"1/{hands}" in powers
        pair = sinusoidal_positions(2, 2 * hands, base=100, dtype=torch.float64)[1].view(hands, 2)
        angles = torch.atan2(pair[:, 0], pair[:, 1])
        assert (angles[0] / angles[1]).item() == pytest.approx(100 ** (1 / hands))
    assert shows(page, "#sec-rotary-hands", "100", f"{100 ** (1 / 2):.0f}")
    assert shows(page, "#sec-waves", "100", "12", factor)
    slowest = 63 * math.degrees(10_000 ** (-3 / 4))
    assert shows(page, "#sec-rotary", f"{slowest:.1f}°", "63")
    assert math.cos(math.radians(slowest)) > 0.99, "nearly the same at every distance"
    lap = round(2 * math.pi * 10_000 ** (510 / 512), -4)
    assert shows(page, "#sec-clocks", "10,000", "256", f"{lap:,.0f}")
    assert shows(page, "#sec-clocks", *(f"{x:.2f}" for x in waves(4, 4, 10_000)[3]))


def test_the_waves_are_the_hands_heights(page):
    """The figure's numbers: the sines of the first three hands."""
    heights = waves(25, 12, 100)[:, 0:6:2]
    rows = cells(page, "sec-waves .screen-reader-only")
    assert [row[0] for row in rows[:2]] == ["0", "2"]
    for position, *row in rows:
        assert [*map(number, row)] == pytest.approx(heights[int(position)].tolist(), abs=0.0051)


BITES = np.array([-1.1 - 0.2j, 1.2 - 0.7j])
KEYS = {"dog": np.array([1.2, 1.4 - 0.3j]), "man": np.array([0.7 - 1j, 1.3 - 0.4j])}


def shares(key, distance):
    """What each pair of hands adds to the score of *bites* with this key so far back."""
    return (BITES * np.conj(key) * np.exp(1j * distance * np.array([1, 0.1]))).real


def test_rotary_by_complex_numbers(page):
    shown = [[*map(number, row)] for _, *row in cells(page, "rotary-hands .fallback")]
    want = pytest.approx([shares(KEYS["dog"], d).sum() for d in range(1, 6)], abs=0.0051)
    assert shown == [want, want], "wherever the query stands"
    fast, of_dog, of_man = BITES[0], *(key[0] for key in KEYS.values())
    behind, behind_man = (np.degrees(np.angle(key / fast)) for key in (of_dog, of_man))
    adds = f"{abs(fast):.2f}", f"{abs(of_dog):.2f}", f"{behind - np.degrees(1):.0f}°"
    assert shows(page, "#rotary-hands", "1", *adds, f"{shares(KEYS['dog'], 1)[0]:.2f}")
    scores, for_man = ([shares(key, d).sum() for d in range(-15, 16)] for key in KEYS.values())
    best, best_for_man = np.argmax(scores) - 15, np.argmax(for_man) - 15
    hills = [d for d in range(1, 15) if scores[d + 14] < scores[d + 15] > scores[d + 16]]
    assert sorted(hills, key=lambda d: -scores[d + 15])[:2] == [best, 9]
    assert best_for_man != best
    assert abs(behind - np.degrees(best)) < 3, "there the fast hands meet"
    assert abs(behind_man - np.degrees(best_for_man)) < 3
    turn = f"{best}", f"{np.degrees(1):.0f}°", f"{np.degrees(best):.0f}°", f"{best}"
    rest = f"{behind_man:.0f}°", f"{best_for_man}", "9"
    assert shows(page, "#sec-rotary", f"{behind:.0f}°", f"{np.degrees(1):.0f}°", *turn, *rest)
    (fast_best, slow_best), (fast_9, slow_9) = (shares(KEYS["dog"], d) for d in (best, 9))
    assert fast_9 == pytest.approx(fast_best, rel=0.05), "the fast hands meet once more"
    assert slow_9 < slow_best, "the slow hands have parted"
    assert scores[9 + 15] < scores[best + 15]


def test_three_scores_get_a_bias_and_a_penalty(page):
    """By positions.py: who leads before, with the learned numbers, and with a slope of ¼."""
    scores, added = np.array([1.2, 1.7, 1.0]), np.array([4.0, -1.0, -1.0])
    with_bias, with_alibi = cells(page, "sec-relative"), cells(page, "sec-alibi")[:3]
    shown = np.array([[*map(number, row[1:])] for row in with_bias])
    assert shown.T.tolist() == [scores.tolist(), added.tolist(), pytest.approx(scores + added)]
    assert (scores.argmax(), (scores + added).argmax()) == (1, 0)
    penalized = scores + alibi_bias(4, 4)[0, 3, :3].numpy()
    assert penalized.tolist() == pytest.approx([0.45, 1.2, 0.75])
    for (_, score, off, _), want, back in zip(with_alibi, scores, (3, 2, 1), strict=True):
        assert float(score) == want
        assert in_order(off, f"-{back}", "¼")
    assert with_alibi[0][3] == f"{penalized[0]:.2f}"
    answer = "1.7", "0.5", f"{penalized[1]:.1f}", "1", "0.25", f"{penalized[2]:.2f}"
    assert shows(page, "#sec-alibi .answer", *answer)
    assert penalized.argmax() == 1
    assert scores[0] > scores[2]
    assert penalized[0] < penalized[2], "one back has come past three back"
    of_four = alibi_bias(4, 2)  # the models have four heads
    assert (-of_four[:, 1, 0]).tolist() == [1 / 4, 1 / 16, 1 / 64, 1 / 256]


def test_a_row_of_the_learned_table_is_added(page):
    for position, (right, up) in (("0", (0.2, 0.1)), ("2", (-0.3, 0.4))):
        terms = "0.5", f"{abs(right)}", "-1", f"{up}"
        assert shows(page, "#sec-learned", position, *terms, f"{0.5 + right:.1f}", f"{up - 1:.1f}")


def test_alibi_alone_doesn_t_know_before_from_after():
    """Without a mask; and the second question of Check it."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 3, 4, generator=generator).double()
    bias = alibi_bias(2, 3, dtype=torch.float64)[0]

    def is_same(order, **options):
        """Which words have the output that they had in *dog bites man*."""
        one, other = (scaled_dot_product_attention(q[o], k[o], v[o], bias=bias, **options)[0]
                      for o in ([0, 1, 2], order))  # fmt: skip
        return [torch.allclose(one[word], other[at]) for at, word in enumerate(order)]

    assert is_same([2, 1, 0]) == [True] * 3
    assert is_same([1, 0, 2]) == [False] * 3
    assert is_same([2, 1, 0], is_causal=True) == [False] * 3


def test_two_heads_of_relative_have_found_three_back():
    """Those that the figure draws in blue; the two in grey are highest at a distance of 1."""
    bias = load("relative").layers[0].bias(25).detach()[:, -1].flip(-1)
    assert sorted(bias.argmax(-1).tolist()) == [1, 1, 3, 3]


def test_who_falls_at_once_and_who_later():
    for kind in ("sinusoidal", "learned"):
        assert all(seed[3] > 0.99 and seed[4] < 0.6 for seed in RIGHT[kind]["back"])
    guess = (1 - LETTER_SHARE) / DIGITS  # always the same digit
    assert guess == 0.075
    assert far(RIGHT["rotary"]["back"]) == [pytest.approx(guess, abs=0.01)] * 5
    for seed in RIGHT["rotary"]["back"]:
        assert min(seed[:6]) > 0.95  # places 0 to 23
        assert seed[6] > 0.95 > 0.9 > seed[8]  # 24 to 27, and 32 to 35
        assert seed[9] < 0.6  # 36 to 39
    for kind in ("relative", "rotary", "sinusoidal", "learned"):
        assert all(min(seed[:4]) > 0.97 for seeds in RIGHT[kind].values() for seed in seeds)
    assert SCORES["parameters"]["rotary"] == SCORES["parameters"]["none"]


def test_only_relative_bias_finds_three_back_nine_times_in_ten(page):
    """The prediction, and what is said of the others below it."""
    assert page.select_one("#predict-longer")["data-right"] == "3"
    assert [kind for kind, seeds in RIGHT.items() if min(far(seeds["back"])) > 0.9] == ["relative"]
    assert sum(max(far(seeds["back"])) > 0.25 for seeds in RIGHT.values()) == 1
    assert max(near(RIGHT["alibi"]["back"])) < 0.4, "hardly learned the task at all"
    rest = [share for kind in RIGHT.keys() - {"alibi"} for share in far(RIGHT[kind]["last"])]
    assert min(far(RIGHT["alibi"]["last"])) > max(rest), "the last letter is ALiBi's task"


def test_with_the_far_tokens_hidden_both_find_three_back_again(page):
    """With a window of the rows that were trained, each of the five models does."""
    for kind in ("rotary", "relative"):
        hidden = far(SCORES["windowed"][kind]["back"])
        assert min(hidden) > 0.99
        assert shows(page, "#sec-longer", f"{np.mean(hidden):.2f}")
    assert min(far(SCORES["windowed"]["sinusoidal"]["back"])) < 0.5, "it isn't just an easier task"


@torch.no_grad()
def test_a_head_of_the_storyteller_finds_the_token_before_by_the_turns(page):
    """In NumPy, from what layer 2 reads: its queries and keys turned, and not turned."""
    model = load_shipped("models/storyteller/weights/storyteller.safetensors")
    tokenizer = Tokenizer(model.config.vocabulary)
    second, size = model.layers[1], 32
    angles = np.arange(256)[:, None] * 10_000.0 ** (-np.arange(size // 2) / (size // 2))
    weights = {}
    for sentence in Path("modules/start/sentences.txt").read_text("utf-8").splitlines():
        tokens = torch.tensor([tokenizer.encode(sentence)])
        length = tokens.shape[1]
        reads = second.norm(model(tokens).residual[1])
        q, k, _ = (rows[0, 3] for rows in second.attention.project(reads))
        for name, speed in (("turned", 1), ("not turned", 0)):
            turned = [pairs(x) * np.exp(1j * speed * angles[:length]) for x in (q, k)]
            scores = torch.tensor((turned[0] @ turned[1].conj().T).real / size**0.5)
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
            weights.setdefault(name, []).append(scores.softmax(-1).diagonal(-1).mean().item())
        weights.setdefault("even", []).append(np.mean(1 / np.arange(2, length + 1)))
    turned, not_turned, even = (np.mean(found) for found in weights.values())
    assert shows(page, "#sec-so-far", f"{100 * turned:.0f}", f"{100 * not_turned:.0f}")
    assert not_turned == pytest.approx(even, abs=0.01)


def pairs(rows):
    return rows.double().numpy().reshape(len(rows), -1, 2) @ (1, 1j)


def test_the_answers_of_check_it(page):
    turns = [(2, 90), (8, 360)]
    assert [45 * distance for distance, _ in turns] == [angle for _, angle in turns]
    scores = [f"{abs(math.cos(math.radians(angle))):.0f}" for _, angle in turns]
    assert shows(page, "main", "2", "90°", "90°", scores[0], "8", "360°", scores[1])


def test_two_numbers_turn_as_the_text_says(page):
    turned = (3 + 4j) * 1j
    real, imaginary = f"{turned.real:.0f}", f"{turned.imag:.0f}"
    assert shows(page, "#sec-rotary-turn", "3", "4", "90°", real, imaginary)
    assert shows(page, "#sec-rotary-turn", "9", "16", f"{abs(turned):.0f}", real, imaginary)


def test_hands_by_the_pencil(page):
    """The table of angles, and the row that is the reader's: only the distance is left."""
    rows = cells(page, "sec-rotary-pencil")
    scores = [f"{math.cos(math.radians(30 * int(q) - 90 - 30 * int(k))):.1g}" for q, k, *_ in rows]
    for row, score in zip(rows[:-1], scores, strict=False):
        assert in_order(row[-1], score)
    assert shows(page, "#sec-rotary-pencil", f"{30 * int(rows[-1][1])}°", scores[-1])
    assert math.cos(math.radians(15 * 30 - 90)) == pytest.approx(1), "a round after three back"


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

    (one, dog_first), (other, dog_last), (unturned, _), (backwards, _) = (
        outputs(rows, turn) for turn in (1, 0) for rows in (x, x[::-1])
    )
    assert abs(one[1] - other[1]).max() > 0.1
    assert unturned[1] == pytest.approx(backwards[1])
    shown = [numbers(text) for _, text in cells(page, "rotary-order .fallback")]
    assert shown == [pytest.approx(want, abs=0.0051) for want in one.tolist()]
    gets = dog_first[1, 0], dog_first[1, 2], dog_last[1, 0], dog_last[1, 2]
    assert shows(page, "#sec-rotary-headline", *(f"{number:.2f}" for number in gets))
    assert gets[0] < gets[1], "one back gets less than one ahead"
    assert gets[2] < gets[3]


@torch.no_grad()
def test_added_positions_move_the_score_of_one_pair(page):
    """A 7 and a 4 three back, in NumPy, by the head that gives most to the token three back."""
    model = load("sinusoidal")
    layer, length, size = model.layers[0], 16, 8
    places = waves(length, 32, 10_000)

    def rows(sign):
        x = model.sign.weight[sign].double().numpy() + places
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + layer.norm.eps)
        return torch.tensor(x * layer.norm.weight.numpy() + layer.norm.bias.numpy()).float()[None]

    queries, keys = (layer.attention.project(rows(LETTERS + digit)) for digit in (7, 4))
    signs, _ = examples(200, length, torch.Generator().manual_seed(7))
    _, weights = layer.attention(
        layer.norm(model.embed(signs)), return_attention=True, is_causal=True
    )
    head = weights.mean(0).diagonal(-3, 1, 2).mean(1).argmax()
    q, k = queries[0][0, head].numpy(), keys[1][0, head].numpy()
    along = [float(q[m] @ k[m - 3]) / size**0.5 for m in range(3, length)]
    at_first = weights.mean(0).diagonal(-3, 1, 2)[head]
    signs, _ = examples(200, 64, torch.Generator().manual_seed(7))
    x = layer.norm(model.embed(signs))
    _, weights = layer.attention(x, return_attention=True, is_causal=True)
    beyond = weights.mean(0).diagonal(-3, 1, 2)[head, 13:]
    lows_and_highs = (*(f(along) for f in (min, max)), at_first.min(), beyond.min(), beyond.max())
    said = [f"{x:.{digits}f}" for x, digits in zip(lows_and_highs, (1, 1, 2, 2, 2), strict=True)]
    assert shows(page, "#sec-flaw", *said)
    assert at_first.min() > 0.9
    assert beyond.min() < 0.01


def names_the_early_letter(others=None, place=3, count=800):
    """How often *no positions* takes the letter at 3 for the last, and not that at 10.

    ``others(letters)``: rows, from whose ``place`` comes what layer 1 made of the letter.
    """
    model, draw = load("none"), torch.Generator().manual_seed(99)
    rows = torch.randint(LETTERS, LETTERS + DIGITS, (count, 16), generator=draw)
    letters = torch.randint(LETTERS, (count,), generator=draw)
    rows[:, 3], rows[:, 10] = letters, (letters + 1) % LETTERS
    vectors = model.layers[0](model.embed(rows), torch.arange(16))
    if others is not None:
        given = others(count, draw)
        given[:, place] = letters
        vectors[:, 3] = model.layers[0](model.embed(given), torch.arange(16))[:, place]
    out = model.answer(model.layers[1](vectors, torch.arange(16)))[:, 15]
    return (out[:, LETTERS + DIGITS :].argmax(-1) == letters).float().mean().item()


@torch.no_grad()
def test_no_positions_reads_from_layer_1_how_much_came_before(page):
    def of_the_task(count, draw):
        return examples(count, 16, draw)[0]

    def with_letters(many, before):
        def rows(count, draw):
            given = torch.randint(LETTERS, LETTERS + DIGITS, (count, 16), generator=draw)
            where = torch.rand(count, before, generator=draw).topk(many).indices
            return given.scatter(1, where, torch.randint(LETTERS, where.shape, generator=draw))

        return rows

    right = np.mean(near(RIGHT["none"]["last"]))
    shown = next(p for p in page.select("#sec-ways p") if "Haviv" in p.get_text())
    said, late, as_it_is = re.search(
        r"in (0\.\d\d) of .* in (\d+)\s%.* in (\d+)\s%", shown.get_text(" "), re.DOTALL
    ).groups()
    assert said == f"{right:.2f}"
    assert int(as_it_is) == round(100 * names_the_early_letter()) == 0
    assert int(late) / 100 == pytest.approx(names_the_early_letter(of_the_task, 14), abs=0.07)
    assert int(late) > 50
    [box] = [p for p in page.select(".box p, details p") if "from position 3" in p.get_text(" ")]
    early, *others = (int(n) / 100 for n in re.findall(r"(\d+)\s%", box.get_text(" ")))
    assert early == pytest.approx(names_the_early_letter(of_the_task, 3), abs=0.05)
    want = [names_the_early_letter(with_letters(many, at), at) for many in (3, 0) for at in (3, 14)]
    assert others == pytest.approx(want, abs=0.07)
    assert others[0] + 0.3 < others[1], "its position counts"
    assert others[3] + 0.4 < others[1], "so do the letters before it"
