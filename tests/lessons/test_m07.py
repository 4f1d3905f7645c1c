"""m07: its claims against numbers computed here."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from course.payloads.moved_pair import FOUR, SEVEN, head_that_looks_back, pair_scores
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


def turned_by(degrees):
    return np.exp(1j * np.radians(degrees))


def waves(length, size, base):
    """By the formula, in NumPy."""
    angles = np.arange(length)[:, None] * base ** (-np.arange(0, size, 2) / size)
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, size)


def test_what_the_cells_print(page):
    def after_colon(label):
        return [numbers(line.split(":")[1])[0] for line in output(page, label).splitlines()]

    without, causal = after_colon("equivariance")
    assert without < 1e-12, "shuffled in is shuffled out"
    assert causal > 0.1, "until the causal mask"
    assert after_colon("shift")[0] < 1e-12, "one matrix moves every place"
    neighbours, half, reordered = after_colon("pairings")
    assert neighbours == reordered != half
    assert in_order(output(page, "bug-check"), "1"), "where the first word to be turned stands"


def test_one_hand_by_pencil(page):
    """The figure's numbers, and the pencil's: one hand of 30° a position, right and then up."""
    rows = page.select_one("#sec-clocks .screen-reader-only").select("tbody tr")
    for row, position in zip(rows, (0, 1, 2, 3, 12), strict=True):
        tip = turned_by(30 * position)
        assert numbers(row.get_text(" ")) == pytest.approx([tip.real, tip.imag], abs=0.001)
    assert turned_by(30 * 12) == pytest.approx(1), "position 12 can't be told from 0"
    assert turned_by(30 * 3) == pytest.approx(1j)
    assert turned_by(30 * 6) == pytest.approx(-1)
    assert shows(page, "#sec-clocks", "3", "0", "1")
    assert shows(page, "#sec-clocks", "6", "180°", "-1", "0", "-1", "0")


def test_similarity_of_places_isn_t_monotone(page):
    """It falls up to 4; at 6 and at 13 the fastest hands have come round, and the rest hasn't."""
    hands = np.exp(1j * np.arange(48)[:, None] * 100.0 ** (-np.arange(6) / 6))
    alike = hands.real.mean(1)
    [[_, *shown]] = cells(page, "clock-hands .fallback")
    assert [*map(number, shown)] == pytest.approx(alike[:9].tolist(), abs=0.0051)
    assert (np.diff(alike[:5]) < 0).all()
    peaks = [d for d in range(1, 20) if alike[d - 1] < alike[d] > alike[d + 1]][:2]
    assert peaks == [6, 13]
    assert shows(page, "#sec-clocks", "6", "13")
    assert (hands[6].real > 0.85)[:2].tolist() == [True, False], "the fastest has come round"
    assert (hands[13].real > 0.85)[:2].all(), "the two fastest have"
    assert len({hand.round(6).tobytes() for hand in hands}) == len(hands), "no two are the same"


def test_the_speeds_are_told_as_the_code_takes_them(page):
    def speeds(base, hands):
        row = sinusoidal_positions(2, 2 * hands, base=base, dtype=torch.float64)[1].view(hands, 2)
        return torch.atan2(row[:, 0], row[:, 1])

    six, two = speeds(100, 6), speeds(100, 2)
    assert numbers(output(page, "speeds")) == six.rad2deg().round().tolist()
    assert (speeds(500, 6) < six - 1e-9).tolist() == [False, *[True] * 5], "all but the first"
    first, factor = f"{six[0].rad2deg():.0f}", f"{six[0] / six[1]:.2f}"
    around = f"{2 * math.pi / six[0]:.1f}"
    assert shows(page, "#sec-speeds", first, "360", first, around, factor, "100")
    assert shows(page, "#sec-waves", "100", "12", factor)
    assert shows(page, "#sec-rotary-hands", "100", f"{two[0] / two[1]:.0f}")
    slowest = 63 * speeds(10_000, 4)[3].rad2deg().item()
    assert shows(page, "#sec-rotary", f"{slowest:.1f}°", "63")
    assert math.cos(math.radians(slowest)) > 0.99, "nearly the same at every distance"
    lap = round(2 * math.pi / speeds(10_000, 256)[255].item(), -4)
    assert shows(page, "#sec-clocks", "10,000", "256", f"{lap:,.0f}")
    assert shows(page, "#sec-clocks", *(f"{x:.2f}" for x in waves(4, 4, 10_000)[3]))
    heights = waves(25, 12, 100)[:, 0:6:2]  # of the figure
    for position, *row in cells(page, "sec-waves .screen-reader-only"):
        assert [*map(number, row)] == pytest.approx(heights[int(position)].tolist(), abs=0.0051)


def test_a_row_of_the_learned_table_is_added(page):
    for position, (right, up) in (("0", (0.2, 0.1)), ("2", (-0.3, 0.4))):
        terms = "0.5", f"{abs(right)}", "-1", f"{up}"
        assert shows(page, "#sec-learned", position, *terms, f"{0.5 + right:.1f}", f"{up - 1:.1f}")


def test_a_score_with_added_positions_by_pencil(page):
    """Both words are (1, 0), and get the tips of a hand of 30° a position, three apart."""
    rows = cells(page, "sec-flaw")
    hands = [numbers(row[1]) for row in rows]
    assert [complex(*tip) for tip in hands] == pytest.approx(turned_by(30 * np.array([3, 0, 6, 3])))
    bites, dog, later_bites, later_dog = sums = [[right + 1, up] for right, up in hands]
    assert [numbers(row[2]) for row in rows] == [*sums[:3], []]
    assert numbers(rows[1][3])[-1] == np.dot(bites, dog) == 2
    assert np.dot(later_bites, later_dog) == 0
    # Word · word, word · hand, hand · word and hand · hand.
    for (q_right, q_up), (k_right, k_up) in (hands[:2], hands[2:]):
        four = 1, k_right, q_right, q_right * k_right + q_up * k_up
        assert shows(page, "#sec-flaw", *(f"{abs(x):.0f}" for x in (*four, sum(four))))
    answer = "1", "0", "0", "1", "1", "1", "0", "1", "0", "1", "0", "2", "0"
    assert shows(page, "#sec-flaw .answer", *answer)


@torch.no_grad()
def test_most_of_a_moved_pair_s_changes_come_from_hand_and_hand():
    """Multiply the score out, by hand: the norm divides word and hand by the same number."""
    model = load("sinusoidal")
    head, layer = head_that_looks_back(model), model.layers[0]
    hands = model.position(torch.arange(16))
    own = slice(8 * head, 8 * head + 8)  # the numbers of this head's queries and keys
    hand = []
    for sign, weight in zip((SEVEN, FOUR), layer.attention.qkv_proj.weight.split(32), strict=False):
        spread = (model.sign.weight[sign] + hands).std(-1, correction=0, keepdim=True)
        normed = (hands - hands.mean(-1, keepdim=True)) / spread * layer.norm.weight
        hand.append(normed @ weight[own].mT)
    part = (hand[0] @ hand[1].mT / 8**0.5).diagonal(-3)
    whole = pair_scores(model, SEVEN, FOUR, head, 16).diagonal(-3)
    both = torch.stack([part, whole]).cov(correction=0)
    assert both[0, 1] / both[1, 1] > 0.7, "of how the score varies along the row"
    assert part.max() - part.min() > 0.7 * (whole.max() - whole.min())


@torch.no_grad()
def test_added_positions_hold_together_only_where_they_were_trained(page):
    """By the head that gives most to the token three back."""
    model = load("sinusoidal")
    layer = model.layers[0]

    def three_back(length):
        """The mean weight of each head on the token three back, at each position from 3 on."""
        signs, _ = examples(200, length, torch.Generator().manual_seed(7))
        x = layer.norm(model.embed(signs))
        _, weights = layer.attention(x, return_attention=True, is_causal=True)
        return weights.mean(0).diagonal(-3, 1, 2)

    head = three_back(16).mean(1).argmax()
    trained, beyond = three_back(16)[head], three_back(64)[head, 13:]
    assert trained.min() > 0.9
    assert beyond.min() < 0.01
    told = trained.min(), beyond.min(), beyond.max()
    assert shows(page, "#sec-mixed", *(f"{x:.2f}" for x in told))


def test_three_scores_get_a_bias_and_a_penalty(page):
    """By positions.py: who leads before, with the learned numbers, and with a slope of ¼."""
    scores, added = np.array([1.2, 1.7, 1.0]), np.array([4.0, -1.0, -1.0])
    shown = np.array([[*map(number, row[1:])] for row in cells(page, "sec-relative")])
    assert shown.T.tolist() == [scores.tolist(), added.tolist(), pytest.approx(scores + added)]
    assert (scores.argmax(), (scores + added).argmax()) == (1, 0)
    penalized = scores + alibi_bias(4, 4)[0, 3, :3].numpy()
    for row, want, back in zip(cells(page, "sec-alibi"), scores, (3, 2, 1), strict=False):
        assert float(row[1]) == want
        assert in_order(row[2], f"-{back}", "¼")
    assert cells(page, "sec-alibi")[0][3] == f"{penalized[0]:.2f}"
    answer = "1.7", "0.5", f"{penalized[1]:.1f}", "1", "0.25", f"{penalized[2]:.2f}"
    assert shows(page, "#sec-alibi .answer", *answer)
    assert penalized.argsort().tolist() == [0, 2, 1], "one back has come past three back"
    slopes = -alibi_bias(4, 2)[:, 1, 0]
    assert slopes.tolist() == [1 / 4, 1 / 16, 1 / 64, 1 / 256], "of the models' four heads"


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


def test_two_numbers_turn_as_the_text_says(page):
    turned = (3 + 4j) * 1j
    real, imaginary = f"{turned.real:.0f}", f"{turned.imag:.0f}"
    assert shows(page, "#sec-rotary-turn", "3", "4", "90°", real, imaginary)
    assert shows(page, "#sec-rotary-turn", "9", "16", f"{abs(turned):.0f}", real, imaginary)


def test_three_back_by_the_pencil(page):
    """The table of angles, and the row that is the reader's: only the distance is left."""
    rows = cells(page, "sec-rotary-pencil")
    scores = [f"{math.cos(math.radians(30 * int(q) - 90 - 30 * int(k))):.1g}" for q, k, *_ in rows]
    for row, score in zip(rows[:-1], scores, strict=False):
        assert in_order(row[-1], score)
    assert shows(page, "#sec-rotary-pencil", f"{30 * int(rows[-1][1])}°", scores[-1])
    for distance, angle in ((2, 90), (8, 360)):  # of Check it
        score = f"{abs(math.cos(math.radians(45 * distance))):.0f}"
        assert shows(page, "main", str(distance), f"{angle}°", score)


BITES = np.array([-1.1 - 0.2j, 1.2 - 0.7j])
KEYS = {"dog": np.array([1.2, 1.4 - 0.3j]), "man": np.array([0.7 - 1j, 1.3 - 0.4j])}


def parts(word, distance):
    """What each pair of hands adds to the score of *bites* with this key so far back."""
    return (BITES * np.conj(KEYS[word]) * np.exp(1j * distance * np.array([1, 0.1]))).real


def test_rotary_by_complex_numbers(page):
    shown = [[*map(number, row)] for _, *row in cells(page, "rotary-hands .fallback")]
    want = pytest.approx([parts("dog", d).sum() for d in range(1, 6)], abs=0.0051)
    assert shown == [want, want], "wherever the query stands"
    behind, best = {}, {}
    for word, key in KEYS.items():
        behind[word] = np.degrees(np.angle(key[0] / BITES[0]))
        best[word] = max(range(-15, 16), key=lambda d, word=word: parts(word, d).sum())
        assert behind[word] == pytest.approx(np.degrees(best[word]), abs=3), "the fast hands meet"
    assert best["dog"] != best["man"]
    lengths = f"{abs(BITES[0]):.2f}", f"{abs(KEYS['dog'][0]):.2f}"
    adds = f"{behind['dog'] - np.degrees(1):.0f}°", f"{parts('dog', 1)[0]:.2f}"
    assert shows(page, "#rotary-hands", "1", *lengths, *adds)

    scores = [parts("dog", d).sum() for d in range(16)]
    hills = [d for d in range(1, 15) if scores[d - 1] < scores[d] > scores[d + 1]]
    second = max({*hills} - {best["dog"]}, key=scores.__getitem__)
    (fast, slow), (fast_again, slow_again) = (parts("dog", d) for d in (best["dog"], second))
    assert fast_again == pytest.approx(fast, rel=0.05), "the fast hands meet again"
    assert slow_again < slow, "but the slow hands have parted"
    dog, step = str(best["dog"]), f"{np.degrees(1):.0f}°"
    turn = f"{behind['dog']:.0f}°", step, dog, step, f"{np.degrees(best['dog']):.0f}°", dog
    rest = f"{behind['man']:.0f}°", str(best["man"]), str(second)
    assert shows(page, "#sec-rotary", *turn, *rest)


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
def test_a_head_of_the_storyteller_finds_the_token_before_by_the_turns(page):
    model = load_shipped("models/storyteller/weights/storyteller.safetensors")
    encode = Tokenizer(model.config.vocabulary).encode
    sentences = Path("modules/start/sentences.txt").read_text("utf-8").splitlines()
    texts = [torch.tensor([encode(sentence)]) for sentence in sentences]

    def just_before():
        return np.mean([model(text).weights[1][0, 3].diagonal(-1).mean() for text in texts])

    turned, model.layers[1].attention.rotary = just_before(), None
    not_turned = just_before()
    even = np.mean([np.mean(1 / np.arange(2, text.shape[1] + 1)) for text in texts])
    assert not_turned == pytest.approx(even, abs=0.01)
    assert shows(page, "#sec-so-far", f"{100 * turned:.0f}", f"{100 * not_turned:.0f}")


def test_who_falls_at_once_and_who_later():
    for kind in ("relative", "rotary", "sinusoidal", "learned"):
        assert all(min(seed[:4]) > 0.97 for seeds in RIGHT[kind].values() for seed in seeds)
    for kind in ("sinusoidal", "learned"):
        assert all(seed[3] > 0.99 and seed[4] < 0.6 for seed in RIGHT[kind]["back"])
    guess = (1 - LETTER_SHARE) / DIGITS  # always the same digit
    assert guess == 0.075
    assert far(RIGHT["rotary"]["back"]) == [pytest.approx(guess, abs=0.01)] * 5
    for seed in RIGHT["rotary"]["back"]:
        assert min(seed[:7]) > 0.95, "up to position 27"
        assert seed[8] < 0.9
        assert seed[9] < 0.6


def test_only_relative_bias_finds_three_back_nine_times_in_ten(page):
    assert page.select_one("#predict-longer")["data-right"] == "3"
    assert [kind for kind, seeds in RIGHT.items() if min(far(seeds["back"])) > 0.9] == ["relative"]
    assert sum(max(far(seeds["back"])) > 0.25 for seeds in RIGHT.values()) == 1
    assert max(near(RIGHT["alibi"]["back"])) < 0.4, "hardly learned the task at all"
    rest = [share for kind in RIGHT.keys() - {"alibi"} for share in far(RIGHT[kind]["last"])]
    assert min(far(RIGHT["alibi"]["last"])) > max(rest), "the last letter is ALiBi's task"
    # With a window of the rows that were trained, rotary finds three back as well.
    for kind in ("rotary", "relative"):
        assert min(far(SCORES["windowed"][kind]["back"])) > 0.99
    assert min(far(SCORES["windowed"]["sinusoidal"]["back"])) < 0.5, "it isn't just an easier task"


@torch.no_grad()
def names_the_early_letter(place=None, before=None, count=800):
    """How often *no positions* takes the letter at 3 for the last, and not that at 10.

    With a ``place``, what layer 1 makes of the letter there in another row is put at 3: a row of
    the task, or one of digits with so many letters ``before`` it.
    """
    model, draw = load("none"), torch.Generator().manual_seed(99)

    def drawn(kinds, *shape):
        return torch.randint(kinds, shape, generator=draw)

    def layer_1(rows):
        return model.layers[0](model.embed(rows), torch.arange(16))

    rows, letters = LETTERS + drawn(DIGITS, count, 16), drawn(LETTERS, count)
    rows[:, 3], rows[:, 10] = letters, (letters + 1) % LETTERS
    vectors = layer_1(rows)
    if place is not None:
        given, _ = examples(count, 16, draw)
        if before is not None:
            given = LETTERS + drawn(DIGITS, count, 16)
            where = torch.rand(count, place, generator=draw).topk(before).indices
            given.scatter_(1, where, drawn(LETTERS, *where.shape))
        given[:, place] = letters
        vectors[:, 3] = layer_1(given)[:, place]
    out = model.answer(model.layers[1](vectors, torch.arange(16)))[:, 15]
    return (out[:, LETTERS + DIGITS :].argmax(-1) == letters).float().mean().item()


def test_no_positions_reads_from_layer_1_how_much_came_before(page):
    assert round(names_the_early_letter(), 2) == 0
    early, late = (names_the_early_letter(place) for place in (3, 14))
    assert early < 0.5 < late
    numbers_of = [names_the_early_letter(at, many) for many in (3, 0) for at in (3, 14)]
    assert numbers_of[0] + 0.3 < numbers_of[1], "its position counts"
    assert numbers_of[3] + 0.4 < numbers_of[1], "so do the letters before it"
    [box] = [p for p in page.select("details p, .box p") if "three letters before" in p.get_text()]
    *rest, a, b, c, d = (int(n) / 100 for n in re.findall(r"(\d+)\s%", box.get_text(" ")))
    assert [a, b, c, d] == pytest.approx(numbers_of, abs=0.07)
    assert min(abs(shown - early) for shown in rest) < 0.05
