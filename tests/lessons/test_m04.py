"""m04: its claims against numbers computed here."""

import json
import math
import re
from functools import partial
from itertools import pairwise, product
from statistics import fmean

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from modules.m04_softmax_and_scale import training as script
from tests.lessons.page_text import cells, output, share, shows
from tests.numbers import numbers
from tests.scores import scores_of
from tests.widgets.truth_saturation import SIZES, draws, exact_slope

PAGE = "modules/m04_softmax_and_scale/lesson.html"
SCORES = np.array([1.3, 12.4, 6.1])  # of The, cat, sat
TRAINING = json.loads(script.SCORES.read_text(encoding="utf-8"))
KINDS = ("divided", "undivided")


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_the_variance_is_d_k(page):
    lines = output(page, "variance").splitlines()
    assert [int(numbers(line)[0]) for line in lines] == [4, 16, 64, 256, 1024]
    for line in lines:
        d_k, variance, spread = numbers(line)
        assert variance == pytest.approx(d_k, rel=0.08)  # four times its own standard error
        assert spread == pytest.approx(math.sqrt(variance), abs=0.051)


def test_the_first_scores_of_real_layers(page):
    """The variances by theory: E/(3E), 2E/(E + 3E), and 768 · 0.02²; a product's is the square."""
    pairs = [numbers(line[22:]) for line in output(page, "starts").splitlines()]
    for (variance, spread), want in zip(pairs, (1 / 3, 1 / 2, 768 * 0.02**2), strict=True):
        assert variance == pytest.approx(want, abs=0.011)
        assert spread == pytest.approx(want, rel=0.05)


def test_two_answers_and_their_gaps(page):
    bars = [float(row[1]) for row in cells(page, "sec-two-answers .screen-reader-only") if row]
    assert bars == pytest.approx([*softmax(SCORES), *softmax(SCORES / 8)], abs=6e-4)
    lead = SCORES[1] - SCORES[2]
    raw, divided = (
        (f"{gap:.{digits}f}", f"{math.exp(gap):.{places}f}")
        for gap, digits, places in ((lead, 1, 0), (lead / 8, 2, 1))
    )
    gap, power = raw
    assert shows(page, "#sec-gaps", "12.4", "6.1", gap, gap, power, divided[0], *divided)
    assert SCORES[1] - SCORES[0] == pytest.approx(128**0.5, abs=0.3), "as far apart as usual"
    assert math.sqrt((SCORES**2).mean()) == pytest.approx(8, abs=0.1), "a row as wide as usual"
    assert shows(page, "#sec-gaps", f"{2**0.5:.1f}", f"{math.exp(2**0.5):.0f}")


def test_by_pencil_the_mean_square_is_the_size(page):
    two, three = ([sum(terms) ** 2 for terms in product((1, -1), repeat=n)] for n in (2, 3))
    assert shows(page, "#sec-variance", *map(str, two), f"{fmean(two):.0f}")
    large, small = three.count(9), three.count(1)
    shown = large, 9, small, 1, len(three), sum(three), len(three), fmean(three)
    assert shows(page, "#sec-variance", *(f"{x:.0f}" for x in shown))


def test_the_size_asked_for(page):
    question = page.select_one("#predict-size")
    choices = [numbers(li.get_text())[0] for li in question.select(":scope > ol > li")]
    q, k = drawn(5, 2, 20_000, 256)
    products = (q * k).sum(-1)
    usual = products.square().mean().sqrt().item()
    assert choices[int(question["data-right"]) - 1] == round(usual) == 16
    nearer = (products.abs() < 16).double().mean().item()
    [shown] = re.findall(r"(\d+)\s%", question.get_text())
    assert int(shown) / 100 == pytest.approx(nearer, abs=0.03)
    assert (products.abs() > 64).double().mean() < 1e-3, "far more than chance gives"


def test_the_jacobian_is_autograds(page):
    lines = output(page, "jacobian").splitlines()
    for line, scores in zip(lines, ([1, 0.5, 0.5], [10, 1, 1]), strict=True):
        *shown, largest, off = numbers(line.replace("off by", ""))
        assert shown == scores
        w = torch.tensor(scores).double().softmax(-1)
        assert largest == pytest.approx((w * (1 - w)).max().item(), abs=5e-7)
        assert off < 1e-15


def test_a_nudge_moves_saturated_weights_little(page):
    """The same nudge of the score: through the root comes an eighth."""
    nudge, moved = np.array([0.1, 0, 0]), []
    for by, (_, *row) in zip((1, 8), cells(page, "nudge"), strict=True):
        before, after = (softmax(scores / by)[0] for scores in (SCORES, SCORES + nudge))
        digits = len(row[-1].split(".")[1])
        shown = [float(cell) for cell in row]
        assert shown == pytest.approx([before, after, after - before], abs=0.51 * 10**-digits)
        assert after - before == pytest.approx(0.1 / by * before * (1 - before), rel=0.06)
        moved.append(after - before)
    raw, divided = moved
    assert 950 < divided / raw < 1050
    assert page.select_one("#predict-nudge")["data-right"] == "3", "about 1,000 times as far"
    assert page.select("#predict-nudge ol li")[2].get_text().count("1,000")


def test_why_by_the_root(page):
    """The spread of dot products that each divisor leaves, by 4,000 draws."""
    shown = [[float(cell) for cell in row[1:]] for row in cells(page, "divisors")]
    for column, d_k in enumerate((64, 1024)):
        spread = (drawn(d_k, 4000, d_k) * drawn(1, 4000, d_k)).sum(-1).std().item()
        left = [spread / by for by in (8, d_k, math.sqrt(d_k))]
        assert [row[column] for row in shown] == pytest.approx(left, rel=0.08)


def test_the_slope_with_a_pencil(page):
    """A tenth more of a power: what that moves, and 0.1 · w(1 − w)."""
    for w in (0.1, 0.5, 0.9):
        moved = math.exp(0.1) * w / (1 + (math.exp(0.1) - 1) * w) - w
        assert moved == pytest.approx(0.1 * w * (1 - w), rel=0.06)
    assert shows(page, "#sec-slope", "0.1", f"{0.1 * 0.5 * 0.5:.3f}", "0.9", "0.1")
    assert shows(page, "#sec-slope", "0.1", "0.9", "0.1", f"{0.1 * 0.9 * 0.1:.3f}")


def test_the_root_is_the_best_of_the_widgets_divisors(page):
    def moved(by, word=0):
        return (softmax((SCORES + 0.1 * np.eye(3)[word]) / by) - softmax(SCORES / by))[word]

    divisors = [2**i for i in range(7)]
    assert [max(divisors, key=partial(moved, word=word)) for word in range(3)] == [8, 4, 4]
    slopes = [w * (1 - w) for w in (softmax(SCORES / by)[0] for by in divisors)]
    assert slopes == sorted(slopes), "the slope is larger still beyond"
    assert moved(64) < 0.25 * moved(8)


@pytest.mark.parametrize("d_k", [16, 64, pytest.param(1024, marks=pytest.mark.slow)])
def test_the_best_divisor_is_about_the_root_for_keys_of_every_size(d_k):
    """Of each of eight random keys: the median of the best."""
    q, k = (drawn(seed, 2000, n, d_k).double() for seed, n in ((1, 1), (2, 8)))
    divisors = d_k**0.5 * torch.linspace(0.05, 4, 400).double()
    most, best = torch.zeros(2000, 8).double(), torch.zeros(2000, 8).double()
    for by in divisors:
        w = (q @ k.mT / by).softmax(-1)[:, 0]
        moved = w * (1 - w) / by
        best, most = torch.where(moved > most, by, best), torch.maximum(moved, most)
    assert 0.7 < best.median().item() / d_k**0.5 < 1
    assert d_k != 64 or round(best.median().item()) == 6
    assert 0.2 < (best > d_k**0.5).double().mean() < 0.5


def test_one_undivided_step_is_far_too_long(page):
    """A step at a rate of 3 for the query of two level keys of 512 numbers, by autograd."""
    k = drawn(3, 500, 2, 512).double()
    leads = []
    for by in (1, math.sqrt(512)):
        q = torch.zeros(500, 1, 512, dtype=torch.float64, requires_grad=True)  # both keys level
        (q @ k.mT / by).softmax(-1)[..., 0].sum().backward()
        scores = 3 * q.grad @ k.mT / by
        leads.append((scores[..., 0] - scores[..., 1]).mean().item())
    assert leads == pytest.approx([768, 1.5], rel=0.02)
    assert shows(page, "#two-cures", "3", "1,024", "768")
    assert shows(page, "#two-cures", "768", "512", "768", "512", "1.5")


def test_one_step_makes_nearly_every_row_sure(page):
    rows = {look: TRAINING["rows"][look] for look in ("at first", "one step")}
    for kind in rows.values():
        assert all(row["saturated"] == 0 for row in kind["divided"])
    before, after = ([row["saturated"] for row in kind["undivided"]] for kind in rows.values())
    assert max(before) < 0.75 < 0.85 < min(after)
    assert shows(page, "#sec-training", f"{100 * fmean(before):.0f}", f"{100 * fmean(after):.0f}")
    again = script.look(script.descend(False, 3.0, 0, steps=1)[-1], False)
    assert again["saturated"] == pytest.approx(after[0], abs=0.02)


def steps_to_90(kind, rate):
    """After how many steps 9 answers in 10 are right, in the mean of the trainings."""
    curves = np.array(TRAINING[kind][rate])
    assert (curves.max(1) >= 0.9).all()
    return round(20 * ((curves >= 0.9).argmax(1) + 1).mean().item(), -1)


def test_the_spoiled_vector_is_the_one_named(page):
    """From the figure's own numbers: half of the ninth row is that of one of the eight."""
    tables = page.select_one("#cell-figure-task").find_next_sibling().select("table")
    vectors, [spoiled] = (
        [[td.get_text() for td in row.select("td")][1:17] for row in table.select("tbody tr")]
        for table in tables
    )
    which = vectors.index(spoiled) + 1
    assert shows(page, "#sec-training .answer", str(which))
    assert (which, "sixth" in page.select_one("#figure-task img")["alt"]) == (6, True)


def test_training_makes_the_storytellers_scores_grow(page):
    """The spread of q·k in rows of five words and more, from queries and keys themselves."""
    story = load_storyteller()
    scores = scores_of("storyteller", "storyteller")
    written = Tokenizer(story.config.vocabulary).encode(scores["samples"][0])[:256]
    tokens = torch.tensor([written])
    torch.manual_seed(0)
    means = []
    for model in (Transformer(story.config), story):
        spreads, rotary = [], model.layers[0].attention.rotary

        def keep(layer, given, made, spreads=spreads, rotary=rotary):
            q, k, _ = made.unflatten(-1, (3, 4, 32)).transpose(1, 3).unbind(2)
            q, k = rotary(q), rotary(k)
            products = q @ k.mT
            rows = range(4, products.shape[-1])
            spreads.extend(products[0, :, i, : i + 1].std(-1) for i in rows)

        for layer in model.float().layers:
            layer.attention.qkv_proj.register_forward_hook(keep)
        with torch.no_grad():
            model(tokens)
        means.append(torch.stack(spreads).mean().item())
    divided = [spread / 32**0.5 for spread in means]
    larger = [means[0] * 4, divided[0]]  # 512 of them have four times the spread of 32
    shown = *means, *divided, *larger
    assert shows(page, "#real-scores", "32", *(f"{spread:.1f}" for spread in shown))


def test_undivided_draws_that_follow_have_two_keys_nearly_level():
    """Of keys of 256 numbers and more: a lead of 2 or more, and a slope of less than 0.1."""
    followed = 0
    for i, size in enumerate(SIZES):
        for row in draws()[i] if size >= 256 else ():
            first, second = row.topk(2).values.tolist()
            slope = exact_slope(row)
            assert (first - second < 2) == (slope > 0.1)
            followed += slope > 0.1
    assert followed > 10


def test_undivided_slopes_fall_and_scatter_and_divided_ones_stay(page):
    """Of the widget's draws; divided, no slope is small at any size."""
    undivided, divided = {}, []
    for size, scores in zip(SIZES, draws(), strict=True):
        undivided[size] = [exact_slope(row) for row in scores]
        divided += [exact_slope(row / size**0.5) for row in scores]
    means = [fmean(slopes) for slopes in undivided.values()]
    assert all(larger > smaller for larger, smaller in pairwise(means)), "they fall"
    largest = max(undivided[512])
    tops = {d: row.softmax(-1).amax(-1) for d, row in zip(SIZES, draws(), strict=True)}
    at_64, at_512 = ((tops[size] > 0.99).sum().item() for size in (64, 512))
    roots = (size**0.5 for size in SIZES)
    most = max((row / by).softmax(-1).max().item() for row, by in zip(draws(), roots, strict=True))
    assert shows(page, "#predict-saturated", str(at_64))
    assert page.select_one("#predict-saturated")["data-right"] == "2", "in about half"
    assert shows(page, "#sec-saturation", "99", "512", str(at_512), share(most))
    assert 15 < at_64 < 25
    assert 2 < sum(slope > 0.1 for slope in undivided[512]) < 13
    assert largest > 0.24
    assert largest > 20 * max(divided) / 512**0.5, "too much is sent back"
    assert min(divided) > 0.05


def ends(curves):
    return [sum(curve[-5:]) / 5 for curve in curves]


def reached(by_rate):
    """{rate: each seed's share over the last 100 steps}."""
    return {rate: ends(curves) for rate, curves in by_rate.items()}


def test_dividing_works_at_more_rates_than_anything_else():
    kinds = TRAINING["rivals"] | {kind: TRAINING[kind] for kind in KINDS}
    by_kind = {name: [*reached(by_rate).values()] for name, by_rate in kinds.items()}
    divided, small, raw = (by_kind[name] for name in ("divided", "small start", "undivided"))
    assert list(TRAINING["divided"]) == ["0.1", "0.3", "1.0", "3.0"]
    works = {name: [min(shares) > 0.98 for shares in rates] for name, rates in by_kind.items()}
    assert works["divided"] == [False, True, True, True]
    assert min(round(100 * end) for rate in divided[1:] for end in rate) == 99
    assert works["small start"] == [False, True, False, False]
    assert not any(works["undivided"])
    assert max(map(max, raw)) < 0.97
    assert min(small[0]) > max(divided[0]), "better at 0.1"
    assert min(small[1]) > min(divided[1]) - 0.01, "enough for a small rate"
    for slow in (2, 3):
        assert max(small[slow]) < min(divided[slow]) - 0.05
    for shorter, longer in pairwise(raw[1:]):
        assert max(longer) < min(shorter), "above 0.3 it gets worse"
    assert max(small[3] + raw[3]) < 0.75


def test_long_steps_are_why_the_undivided_layers_level_off():
    """With steps of queries and keys divided by √512 they don't; but flat rows still learn late."""
    slowed, undivided, divided = map(
        reached,
        (TRAINING["rivals"]["slow queries and keys"], *(TRAINING[kind] for kind in KINDS[::-1])),
    )
    for rate in ("1.0", "3.0"):
        assert min(slowed[rate]) > 0.95 > max(undivided[rate])
    assert max(slowed["0.3"]) < 0.5 < 0.98 < min(divided["0.3"])


def test_rows_that_are_stuck_come_free_late_or_never(page):
    """Saturated, and answered wrongly: hardly any with the division, most at first without it."""
    stuck = {kind: TRAINING["stuck"][kind] for kind in KINDS}
    for rate in ("0.3", "1.0", "3.0"):
        assert np.max(stuck["divided"][rate]) < 0.03
        assert np.min(np.array(stuck["undivided"][rate])[:, 0]) > 0.5
    at_first = np.array(stuck["undivided"]["0.3"])[:, 0].mean()
    assert page.select_one("#predict-rate")["data-right"] == "2"
    assert at_first > 0.85 * TRAINING["rows"]["at first"]["undivided"][0]["saturated"], "most"
    late = np.array(stuck["undivided"]["0.3"])
    assert late[:, 5].min() > 0.5
    assert late[:, -5:].max() < 0.06
    for_good = np.array(stuck["undivided"]["3.0"])[:, 10:]
    assert 0.28 < for_good.min() < for_good.max() < 0.45, "about a third"


def of_100(curves):
    """The least and the most of the shares at the end."""
    last = ends(curves)
    return [f"{100 * share:.0f}" for share in (min(last), max(last))]


def test_both_cures_at_once_are_the_division():
    """With plain gradient steps, numbers √√512 times smaller and rates √512 times smaller."""
    for rate, curves in TRAINING["divided"].items():
        both = np.array(TRAINING["rivals"]["small start, slow"][rate])
        last = np.array(curves)[:, -both.shape[1] :]
        np.testing.assert_allclose(both, last, atol=0.004)  # but for rounding


def test_a_larger_rate_helps_the_undivided_layers_at_first_only(page):
    """At a rate of 3 they are ahead of 0.3 early, and far behind at the end."""
    early = {rate: [curve[4] for curve in TRAINING["undivided"][rate]] for rate in ("0.3", "3.0")}
    assert min(early["3.0"]) > max(early["0.3"]) + 0.1
    slow, fast = (steps_to_90("divided", rate) for rate in ("0.3", "3.0"))
    late = steps_to_90("undivided", "0.3")
    assert late > 1.3 * slow > 5 * fast
    steps = (f"{count:.0f}" for count in (slow, fast, late))
    assert shows(page, "#sec-training", *steps, *of_100(TRAINING["undivided"]["3.0"]))
    assert fast < 100
    assert np.array(TRAINING["undivided"]["3.0"]).max() < 0.9, "only in part"
    # "Because most rows are saturated": without the division, but begun smaller, it isn't late.
    small = {rate: np.array(TRAINING["rivals"]["small start"][rate]) for rate in ("0.3", "3.0")}
    first = 20 * ((small["0.3"] >= 0.9).argmax(1) + 1)
    assert first.mean() < slow
    good, poor = (small[rate][:, -5:].mean(1) for rate in ("0.3", "3.0"))
    assert good.min() > 0.98 > 0.75 > poor.max()
    assert np.array(TRAINING["divided"]["3.0"])[:, -5:].min() > 0.98
    for rate in ("0.3", "1.0", "3.0"):
        divided, raw = (np.array(TRAINING[kind][rate])[:, -5:].mean(1) for kind in KINDS)
        assert raw.max() < divided.min(), "at each of these rates the divided ones end higher"
    divided, raw = (np.array(TRAINING[kind]["0.1"])[:, -5:].mean(1) for kind in KINDS)
    assert divided.mean() < raw.mean() < 0.9, "at 0.1 the undivided ones are ahead"


def test_why_the_undivided_layers_get_stuck():
    """At a rate of 3 their scores grow until what is wrong is saturated; divided, hardly any is."""
    first, end = (TRAINING["rows"][look] for look in ("at first", "stuck"))
    before, after = (fmean(row["spread"] for row in at["undivided"]) for at in (first, end))
    assert 20 < before < 512**0.5 < after
    assert min(row["saturated"] for row in end["undivided"]) > 0.99, "nearly every row"
    still, stuck = ([row["saturated of the wrong"] for row in end[kind]] for kind in KINDS)
    assert min(stuck) > 0.985
    assert max(still) < 0.1


@pytest.mark.slow
def test_training_and_looking_again_give_the_same(one_thread):
    short = script.train(True, 1.0, 0, steps=100)
    assert short == pytest.approx(TRAINING["divided"]["1.0"][0][:5], abs=0.02)
    for kind in KINDS:
        divided = kind == "divided"
        *_, weights = script.descend(divided, 0.3, 0, steps=0)
        wanted = TRAINING["rows"]["at first"][kind][0]
        assert script.look(weights, divided) == pytest.approx(wanted, rel=0.01, abs=1e-13)
    again = script.look(script.descend(False, 3.0, 0)[-1], False)
    wanted = TRAINING["rows"]["stuck"]["undivided"][0]
    assert again["saturated of the wrong"] > 0.98
    assert again["spread"] == pytest.approx(wanted["spread"], rel=0.1)


def test_with_small_keys_the_division_matters_at_large_rates_only():
    """At 0.3 keys of 64 cost little, and keys of 512 more; at 1 and 3 both fall far behind."""
    long, small = ({n: reached(of[n]) for n in KINDS} for of in (TRAINING, TRAINING["keys of 64"]))
    for rate in ("0.1", "0.3"):
        divided, raw = (sum(small[name][rate]) for name in KINDS)
        assert raw > divided - 0.03
    divided, raw = (small[name]["0.3"] for name in KINDS)
    assert max(raw) < min(divided) < max(divided) < 1
    assert max(long["undivided"]["0.3"]) < min(raw) - 0.01
    for rate in ("1.0", "3.0"):
        assert max(small["undivided"][rate]) < min(small["divided"][rate]) - 0.05
        behind = [fmean(of["divided"][rate]) - fmean(of["undivided"][rate]) for of in (long, small)]
        assert min(behind) > 0.05
    for of in (long, small):
        for name in KINDS:
            assert max(of[name]["0.1"]) > min(of[name]["0.1"]) + 0.2, "there the seed counts"


def test_the_answers_of_check_it(page):
    assert shows(page, "main", "0.1", "0.8", "0.2", f"{0.1 * 0.8 * 0.2:.3f}")
    assert shows(page, "main", "0.999", "0.1", "0.999", "0.001", f"{0.1 * 0.999 * 0.001:.4f}")
    q, k = 2 * drawn(1, 2, 20_000, 64)
    spread = ((q * k).sum(-1) / 64**0.5).std().item()
    assert spread == pytest.approx(4, rel=0.03)
    assert shows(page, "main", "2", "2", "4", f"{spread:.0f}")


def test_some_undivided_transformers_learn_at_a_tenth_of_the_rate(page):
    runs = scores_of("playground")
    slower = runs["tasks"]["repeat"]["no scale, rate 0.001, 2,000 steps"]
    learned = sum(run["share"] > 0.95 for run in slower)
    assert learned > 0
    assert shows(page, "#try-without", str(learned), str(len(slower)), "2,000")


def test_the_small_start_is_that_of_the_divided_layers(page):
    """Numbers smaller by the fourth root of 512: the same scores, undivided."""
    assert script.RIVALS["small start"]["spread"] ** 2 == pytest.approx(script.KEY_SIZE**-0.5)
    smaller, times = (f"{script.KEY_SIZE**power:.{n}f}" for power, n in ((0.25, 1), (0.5, 0)))
    assert shows(page, "#two-cures", smaller, smaller, smaller, times, times)
    assert shows(page, "#two-cures", *[smaller] * 7, times, smaller)


def test_with_the_root_a_step_moves_the_score_as_far_for_keys_of_any_size():
    """A step of 0.1 times the gradient of the divided score, for query and key."""

    def moved(d_k, by):
        q, k = torch.randn(2, 2000, d_k, generator=torch.Generator().manual_seed(0))
        q_after, k_after = q + 0.1 * k / by, k + 0.1 * q / by
        return ((q_after * k_after - q * k).sum(-1) / by).mean().item()

    for d_k in (64, 512, 2048):
        assert moved(d_k, d_k**0.5) == pytest.approx(0.2, rel=0.02)
        assert moved(d_k, d_k) == pytest.approx(0.2 / d_k, rel=0.02)  # a rate must grow with d_k


def test_with_adam_a_first_step_moves_the_score_alike_where_d_k_divides():
    """Adam's first step is the gradient's sign times the rate."""

    def moved(d_k, by):
        q, k = torch.randn(2, 2000, d_k, generator=torch.Generator().manual_seed(0))
        q_after = (q + torch.zeros_like(q)).requires_grad_()
        ((q_after * k).sum() / by).backward()
        step = torch.optim.Adam([q_after], lr=0.1)
        step.step()
        return ((q_after.detach() - q) * k).sum(-1).mean().item() / by

    small, large = (moved(d_k, d_k) for d_k in (64, 2048))
    assert large == pytest.approx(small, rel=0.02)
    small, large = (moved(d_k, d_k**0.5) for d_k in (64, 2048))
    assert large / small == pytest.approx((2048 / 64) ** 0.5, rel=0.02)


def test_one_tenth_need_not_be_one_hot(page):
    want = softmax(np.array([1.0, 0.2, 0.1, 0.1, 0.9, 0.1]) / 0.1)
    assert numbers(output(page, "not-one-hot")) == pytest.approx(want, abs=5.1e-4)
    assert want.max() < 0.75


def test_entropies_of_one_row_at_three_temperatures(page):
    lines = output(page, "temperatures").splitlines()
    scores = np.array([0, 5, 0, -2, 0, 1]) / 2  # the query of sat with each key, over √4
    for line, units, temperature in zip(lines[::2], lines[1::2], (0.5, 1, 2), strict=True):
        shown, *row = numbers(line)
        nats, bits = numbers(units)
        want = softmax(scores / temperature)
        assert shown == temperature
        assert row == pytest.approx(want, abs=5.1e-4)
        assert nats == pytest.approx(-(want * np.log(want)).sum(), abs=5.1e-4)
        assert bits == pytest.approx(-(want * np.log2(want)).sum(), abs=5.1e-4)
        if temperature == 1:
            assert 2 < math.exp(nats) < 3, "so the knob has to be turned"


def test_naive_softmax_overflows_and_the_shift_changes_nothing(page):
    exp, naive, stable = output(page, "overflow").splitlines()
    assert exp.count("inf") == 3
    assert naive.count("nan") == 3
    powers = np.exp([-2.0, -1, 0])
    weights = powers / powers.sum()
    assert numbers(stable) == pytest.approx(weights, abs=5.1e-4)
    shown = *(f"{x:.3f}" for x in powers[:2]), "1", f"{powers.sum():.3f}"
    assert shows(page, "#sec-stable", *shown, *(f"{x:.3f}" for x in weights))
    largest = torch.finfo(torch.float32).max
    digits = (str(len(f"{x:.0f}")) for x in (math.exp(100), largest))
    assert shows(page, "#sec-stable", *digits, f"{math.log(largest):.2f}")
    q, k = drawn(3, 2, 5_000, 2048)
    assert (q * k).sum(-1).abs().max() > math.log(largest), "undivided scores get there"


def test_what_rounding_the_scores_costs(page):
    lines = output(page, "half").splitlines()
    for dtype, (limit, raw, divided) in zip(
        (torch.float16, torch.bfloat16), (lines[:3], lines[3:]), strict=True
    ):
        exact = math.log(torch.finfo(dtype).max)
        assert numbers(limit)[-1] == pytest.approx(exact, abs=0.0051)
        assert numbers(raw)[-1] > 10 * numbers(divided)[-1] > 0
    assert torch.tensor(12.0, dtype=torch.float16).exp().isinf()
    near = torch.tensor([40.0, 40.12, 40.25], dtype=torch.bfloat16)
    assert near.tolist() == [40, 40, 40.25]
    assert torch.finfo(torch.bfloat16).max > 0.99 * torch.finfo(torch.float32).max


def test_attention_py_computes_scores_in_32_bits():
    """The weights of 16-bit inputs are the 32-bit ones, rounded once."""
    q, k = drawn(4, 2, 4, 64).bfloat16() * 6
    _, weights = scaled_dot_product_attention(q, k, k)
    _, wide = scaled_dot_product_attention(q.float(), k.float(), k.float())
    assert torch.equal(weights, wide.bfloat16())


def test_the_bug_is_found_by_length_alone(page):
    shown, wanted = numbers(output(page, "bug-check"))[-2:]
    q, k = drawn(4, 2, 1024, 64)
    right, flat = ((q @ k.T / size**0.5).softmax(-1).max(-1).values for size in (64, 1024))
    assert shown == pytest.approx(flat.mean().item(), abs=6e-4)
    assert wanted == pytest.approx(right.mean().item(), rel=0.05)
    assert wanted > 3 * shown
