"""m04: its claims against numbers computed here."""

import json
import math
import re
from itertools import product
from statistics import fmean

import numpy as np
import pytest
import torch

from course.payloads.playground import Measured
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from modules.m04_softmax_and_scale import training as script
from tests.lessons.page_text import cells, output, share, shows
from tests.numbers import numbers
from tests.scores import scores_of
from tests.widgets.truth_saturation import SIZES, draws

PAGE = "modules/m04_softmax_and_scale/lesson.html"
SCORES = np.array([1.3, 12.4, 6.1])  # of The, cat, sat
TRAINING = json.loads(script.SCORES.read_text(encoding="utf-8"))
KINDS = ("divided", "undivided")
GUESSING = sum((24 - n) / n for n in range(5, 13)) / sum(24 - n for n in range(5, 13))


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_the_variance_is_d_k(page):
    for line in output(page, "variance").splitlines():
        d_k, variance, spread = numbers(line)
        assert variance == pytest.approx(d_k, rel=0.08)  # four times its own standard error
        assert spread == pytest.approx(math.sqrt(variance), abs=0.051)


def test_by_pencil_the_mean_square_is_the_size(page):
    two, three = ([sum(terms) ** 2 for terms in product((1, -1), repeat=n)] for n in (2, 3))
    assert shows(page, "#sec-variance", *map(str, two), f"{fmean(two):.0f}")
    shown = three.count(9), 9, three.count(1), 1, len(three), sum(three), len(three), fmean(three)
    assert shows(page, "#sec-variance", *(f"{x:.0f}" for x in shown))


def test_a_typical_product_of_256_numbers_is_16(page):
    question = page.select_one("#predict-size")
    choices = [numbers(choice.get_text())[0] for choice in question.select(":scope > ol > li")]
    q, k = drawn(5, 2, 20_000, 256)
    products = (q * k).sum(-1)
    usual = products.square().mean().sqrt().item()
    assert choices[int(question["data-right"]) - 1] == round(usual) == 16
    [nearer] = re.findall(r"(\d+)\s%", question.get_text())
    share_of_all = (products.abs() < 16).double().mean().item()
    assert int(nearer) / 100 == pytest.approx(share_of_all, abs=0.03)


def test_the_first_scores_of_real_layers(page):
    """The variances by theory: E/(3E), 2E/(E + 3E), and 768 · 0.02²; a product's is the square."""
    pairs = [numbers(line[22:]) for line in output(page, "starts").splitlines()]
    for (variance, spread), want in zip(pairs, (1 / 3, 1 / 2, 768 * 0.02**2), strict=True):
        assert variance == pytest.approx(want, abs=0.011)
        assert spread == pytest.approx(want, rel=0.05)


@torch.no_grad()
def test_training_makes_the_storytellers_scores_grow(page):
    """The spread of q·k in rows of five words and more, from queries and keys themselves."""
    story = load_storyteller()
    text = scores_of("storyteller", "storyteller")["samples"][0]
    tokens = torch.tensor([Tokenizer(story.config.vocabulary).encode(text)[:256]])
    torch.manual_seed(0)
    means = []
    saturated = []
    for model in (Transformer(story.config), story):
        spreads, sure = [], {by: [] for by in (1, 32**0.5)}
        for layer, reads in zip(model.layers, model(tokens).residual, strict=False):
            q, k, _ = layer.attention.project(layer.norm(reads))
            products = (layer.attention.rotary(q) @ layer.attention.rotary(k).mT)[0]
            for i in range(4, len(tokens[0])):
                row = products[:, i, : i + 1]
                spreads.append(row.std(-1))
                for by, tops in sure.items():
                    tops.append((row / by).softmax(-1).amax(-1) > 0.99)
        saturated.append([torch.stack(tops).double().mean().item() for tops in sure.values()])
        means.append(torch.stack(spreads).mean().item())
    assert saturated == [[0, 0], [pytest.approx(0.254, abs=0.01), 0]], "#sec-real"
    assert shows(page, "#sec-real", f"{100 * saturated[1][0]:.0f}", "100")
    divided = [spread / 32**0.5 for spread in means]
    of_512 = 4 * means[0], divided[0]
    assert shows(page, "#real-scores", "32", *(f"{x:.1f}" for x in (*means, *divided, *of_512)))


def test_two_answers_and_their_gaps(page):
    bars = [float(row[1]) for row in cells(page, "sec-two-answers .screen-reader-only") if row]
    assert bars == pytest.approx([*softmax(SCORES), *softmax(SCORES / 8)], abs=6e-4)
    lead = SCORES[1] - SCORES[2]
    raw, divided = f"{math.exp(lead):.0f}", f"{math.exp(lead / 8):.1f}"
    assert shows(page, "#sec-gaps", "12.4", "6.1", f"{lead:.1f}", raw, f"{lead / 8:.2f}", divided)
    assert SCORES[1] - SCORES[0] == pytest.approx(128**0.5, abs=0.3), "as far apart as usual"
    assert softmax(np.array([5.0, 0])).max() == pytest.approx(148 / 149, abs=1e-4)
    assert shows(page, "#sec-gaps", "5", share(148 / 149), "148", "148", "149")
    assert shows(page, "#sec-gaps", f"{2**0.5:.1f}", f"{math.exp(2**0.5):.0f}")


def test_only_the_root_leaves_the_same_spread_for_keys_of_every_size(page):
    shown = [[float(cell) for cell in row[1:]] for row in cells(page, "divisors")]
    for column, d_k in enumerate((64, 1024)):
        spread = (drawn(d_k, 4000, d_k) * drawn(1, 4000, d_k)).sum(-1).std().item()
        left = [spread / by for by in (8, d_k, math.sqrt(d_k))]
        assert [row[column] for row in shown] == pytest.approx(left, rel=0.08)


def test_many_undivided_rows_are_saturated_and_no_divided_one(page):
    tops = {d: scores.softmax(-1).amax(-1) for d, scores in zip(SIZES, draws(), strict=True)}
    at_64, at_512 = ((tops[size] > 0.99).sum().item() for size in (64, 512))
    assert at_64 == 15, "the right option's number"
    assert page.select_one("#predict-saturated")["data-right"] == "2"
    q, k = drawn(1, 20_000, 1, 64), drawn(2, 20_000, 8, 64)
    often = ((q @ k.mT).softmax(-1).amax(-1) > 0.99).float().mean().item()
    assert at_64 / 40 == pytest.approx(often, abs=0.025), "the forty are as usual"
    assert shows(page, "#predict-saturated", str(at_64), share(often), "20,000")
    best, second = draws()[SIZES.index(64)].topk(2).values.unbind(-1)
    assert (best - second)[tops[64] < 0.99].max() < 5.5, "less than about 5 apart"
    divided = [s.div(d**0.5).softmax(-1).max() for d, s in zip(SIZES, draws(), strict=True)]
    assert max(divided) < 0.99
    assert shows(page, "#sec-saturation", "512", str(at_512), share(max(divided)))


def test_a_nudge_moves_saturated_weights_little(page):
    nudge, moved = np.array([0.1, 0, 0]), []
    for by, (_, *row) in zip((1, 8), cells(page, "nudge"), strict=True):
        before, after = (softmax(scores / by)[0] for scores in (SCORES, SCORES + nudge))
        shown = [float(cell) for cell in row]
        rounding = 0.51 * 10 ** -len(row[-1].split(".")[1])
        assert shown == pytest.approx([before, after, after - before], abs=rounding)
        assert after - before == pytest.approx(0.1 / by * before * (1 - before), rel=0.06)
        moved.append(after - before)
    assert 950 < moved[1] / moved[0] < 1050, "about 1,000 times as far"
    assert page.select_one("#predict-nudge")["data-right"] == "3"


def test_the_slope_with_a_pencil(page):
    """A tenth more of a power: what that moves, and 0.1 · w(1 − w)."""
    for w in (0.1, 0.5, 0.9):
        moved = math.exp(0.1) * w / (1 + (math.exp(0.1) - 1) * w) - w
        assert moved == pytest.approx(0.1 * w * (1 - w), rel=0.06)
    assert shows(page, "#sec-nudge", f"{0.1 * 0.5 * 0.5:.3f}")
    assert shows(page, "main", "0.1", "0.8", "0.2", f"{0.1 * 0.8 * 0.2:.3f}")
    assert shows(page, "main", "0.1", "0.999", "0.001", f"{0.1 * 0.999 * 0.001:.4f}")


def test_the_root_is_the_best_of_the_widgets_divisors_and_d_k_far_too_large(page):
    def moved(by, word):
        return (softmax((SCORES + 0.1 * np.eye(3)[word]) / by) - softmax(SCORES / by))[word]

    divisors = [2**i for i in range(7)]
    best = [max(divisors, key=lambda by, word=word: moved(by, word)) for word in range(3)]
    slopes = [w * (1 - w) for w in (softmax(SCORES / by)[0] for by in divisors)]
    assert slopes == sorted(slopes), "the slope is larger still beyond"
    told = "64", f"{moved(8, 0) / moved(64, 0):.0f}", "8"
    assert shows(page, "#sec-slope", str(best[0]))
    assert shows(page, "#sec-slope", *told)


def test_the_jacobian_is_autograds(page):
    for line in output(page, "jacobian").splitlines():
        *scores, largest, off = numbers(line.replace("off by", ""))
        w = torch.tensor(scores).double().softmax(-1)
        assert largest == pytest.approx((w * (1 - w)).max().item(), abs=5e-7)
        assert off < 1e-15


def ends(curves):
    """Each seed's share over the last 100 steps."""
    return np.array(curves)[:, -5:].mean(1)


def steps_to_90(kind, rate):
    """After how many steps 9 answers in 10 are right, in the mean of the trainings."""
    curves = np.array(TRAINING[kind][rate])
    assert (curves.max(1) >= 0.9).all()
    return 20 * ((curves >= 0.9).argmax(1) + 1).mean()


def test_undivided_layers_learn_late_at_small_rates_and_in_part_at_large_ones(page):
    divided, raw = (TRAINING[kind] for kind in KINDS)
    assert page.select_one("#predict-rate")["data-right"] == "2"
    slow, fast = (steps_to_90("divided", rate) for rate in ("0.3", "3.0"))
    late = steps_to_90("undivided", "0.3")
    raw_ends = {
        rate: [f"{100 * end(ends(raw[rate])):.0f}" for end in (min, max)] for rate in ("0.3", "3.0")
    }
    assert shows(page, "#sec-training", f"{round(fast, -1):.0f}", *raw_ends["3.0"], "100")
    small = 20 * ((np.array(TRAINING["rivals"]["small start"]["0.3"]) >= 0.9).argmax(1) + 1).mean()
    assert shows(page, "#sec-training", *(f"{round(steps, -1):.0f}" for steps in (slow, late)))
    assert shows(page, "#sec-training", "0.3", f"{round(small, -1):.0f}")
    assert small < late / 2, "sure rows hardly teach: open at first, it learns far sooner"
    for rate, *row in cells(page, "rates"):
        for told, kind in zip(row, (divided, raw), strict=True):
            at = ends(kind[str(float(rate))])
            want = dict.fromkeys(f"{100 * end:.0f}" for end in (at.min(), at.max()))
            assert told == " to ".join(want)
    assert late > 1.3 * slow > 5 * fast
    assert np.max(raw["3.0"]) < 0.9, "only in part"
    for rate in ("0.3", "1.0", "3.0"):
        assert ends(raw[rate]).max() < 0.97 < 0.98 < ends(divided[rate]).min()
    assert ends(divided["0.1"]).mean() < ends(raw["0.1"]).mean() < 0.9, "neither has learned yet"


def test_rows_that_are_stuck_come_free_late_or_never():
    """Saturated, and answered wrongly: hardly any with the division, most at first without it."""
    divided, raw = (
        {rate: np.array(curves) for rate, curves in TRAINING["stuck"][kind].items()}
        for kind in KINDS
    )
    for rate in ("0.3", "1.0", "3.0"):
        assert divided[rate].max() < 0.03
    saturated = TRAINING["rows"]["at first"]["undivided"][0]["saturated"]
    assert raw["0.3"][:, 0].mean() > 0.85 * saturated, "most are sure of a wrong vector"
    assert raw["0.3"][:, 5].min() > 0.5
    assert raw["0.3"][:, -5:].max() < 0.06, "nearly all come free at last"
    for_good = raw["3.0"][:, 10:]
    assert 0.28 < for_good.min() < for_good.max() < 0.45, "about a third"


def test_one_step_makes_nearly_every_undivided_row_sure(page):
    before, after = (
        {kind: [row["saturated"] for row in TRAINING["rows"][look][kind]] for kind in KINDS}
        for look in ("at first", "one step")
    )
    assert max(before["undivided"]) < 0.75 < 0.85 < min(after["undivided"])
    assert not any(before["divided"] + after["divided"])
    first, then = (f"{100 * fmean(of['undivided']):.0f}" for of in (before, after))
    assert shows(page, "#sec-training", first, "100")
    assert shows(page, "#sec-training", "768", "100", first, "3", then)


def test_undivided_nearly_every_random_row_stands_on_a_plain(page):
    """Rows of two keys of 512 numbers; on a plain a key has less than 1 % or more than 99 %."""
    q, k = drawn(8, 20_000, 1, 512), drawn(9, 20_000, 2, 512)
    lead = (q @ k.mT).squeeze(-2).double() @ torch.tensor([1.0, -1], dtype=torch.float64)
    on_plain, divided = (((lead / by).sigmoid() - 0.5).abs() > 0.49 for by in (1, 512**0.5))
    [told] = re.findall(r"(\d+) of the forty", page.select_one("#sec-training").get_text())
    assert int(told) / 40 == pytest.approx(on_plain.double().mean().item(), abs=0.08), "as usual"
    assert divided.double().mean() < 0.01
    assert 2 * math.log(99) == pytest.approx(10, abs=1), "so wide is the cliff"


def test_what_changes_a_matrix_for_one_vector_changes_its_product_with_another():
    x, other, g = drawn(1, 32), drawn(2, 32), drawn(3, 512)
    matrix = torch.zeros(32, 512, requires_grad=True)
    (x @ matrix @ g).backward()
    torch.testing.assert_close(other @ matrix.grad, (other @ x) * g, rtol=1e-4, atol=1e-4)


def test_one_undivided_step_is_far_too_long(page):
    """A step at a rate of 3 for the query of two level keys of 512 numbers, by autograd."""
    k = drawn(3, 500, 2, 512).double()
    apart = k[:, 0] - k[:, 1]
    gaps, weights = [], []
    for by in (1, math.sqrt(512)):
        q = torch.zeros(500, 1, 512, dtype=torch.float64, requires_grad=True)  # both keys level
        (1 - (q @ k.mT / by).softmax(-1)[..., 0]).sum().backward()
        torch.testing.assert_close(q.grad[:, 0], -apart / 4 / by)
        after = -3 * q.grad @ k.mT / by
        gaps.append((after[..., 0] - after[..., 1]).mean().item())
        weights.append(after.softmax(-1)[..., 0].mean().item())
    assert gaps == pytest.approx([768, 1.5], rel=0.02)
    assert weights == pytest.approx([1, softmax(np.array([1.5, 0]))[0]], abs=0.005)
    small = torch.tensor([2.0, 0, -2])
    step = 3 / 4 * small
    assert step.tolist() == [1.5, 0, -1.5]
    assert shows(page, "#sec-step", "3", "2", "0", "-2", "1.5", "0", "-1.5")
    assert float(step @ small) == 6
    assert shows(page, "#sec-step", "1.5", "2", "0", "0", "-1.5", "-2", "6")
    assert shows(page, "#sec-step", "1,024", "768", "512", "768", "512", "1.5")
    assert apart.square().mean().item() == pytest.approx(2, rel=0.02)


def test_one_undivided_step_makes_other_rows_sure_by_chance(page):
    """What a step for two keys does to the gap of two others with the same query."""
    k, others = drawn(3, 2000, 2, 512).double(), drawn(4, 2000, 2, 512).double()
    step = 3 / 4 * (k[:, 0] - k[:, 1])
    moved = (step * (others[:, 0] - others[:, 1])).sum(1)
    spread = moved.square().mean().sqrt().item()
    assert spread == pytest.approx(3 / 4 * 45, rel=0.05)
    sure = moved.abs() > 5
    assert sure.double().mean() > 0.8, "most"
    assert (moved[sure] < 0).double().mean().item() == pytest.approx(0.5, abs=0.04), "half of those"
    assert shows(page, "#sec-step", "1,024", "2", "512", "45", "2", "45", "34")
    assert shows(page, "#sec-step", "34", "512", f"{34 / 512:.2f}")
    [[_, own, drawn_spread, wrong], divided] = cells(page, "one-step-numbers")
    assert own == "768", "the draws of the picture are usual ones"
    assert float(drawn_spread) == pytest.approx(spread, rel=0.03)
    assert int(wrong) / 40 == pytest.approx((moved < -5).double().mean().item(), abs=0.03)
    assert divided[1:] == ["1.5", f"{float(drawn_spread) / 512:.2g}", "0"]


def test_at_a_rate_that_leaves_open_rows_open_a_sure_row_hardly_moves(page):
    slope = softmax(SCORES)[0] * (1 - softmax(SCORES)[0])
    assert round(3 / 512, 3) == 0.006
    assert shows(page, "#sec-step", "0.006", "3", "512", "0.006")
    told = f"{slope:.6f}", "0.006", f"{slope:.6f}", "1,024", f"{0.006 * slope * 1024:.4f}"
    assert shows(page, "#sec-step", *told)


def test_how_harsh_our_case_is(page):
    """Spreads in a row of undivided scores, and a small transformer without the division."""
    ours = fmean(row["spread"] for row in TRAINING["rows"]["at first"]["undivided"])
    q, k = drawn(6, 4000, 1, 512), drawn(7, 4000, 8, 512)
    by_rule = (q @ k.mT)[:, 0].std(-1).mean().item()
    assert ours == pytest.approx(by_rule, rel=0.05), "as of random numbers"
    runs = Measured().runs["repeat"]["no scale"]
    without = [run["share"] for run in runs]
    assert max(without) < 0.2
    assert 5 < 32**0.5 < 6 < ours, "between them stand keys of 32 numbers of spread 1"
    best = fmean(run["share"] for run in Measured().runs["repeat"]["opening"])
    assert shows(page, "#sec-real", f"{100 * best:.1f}", share(fmean(without)), share(GUESSING))
    slower = Measured().runs["repeat"]["no scale, rate 0.001, 2,000 steps"]
    learned = sum(run["learned"] is not None for run in slower)
    assert learned > len(slower) / 2, "long steps are a part of the trouble"
    assert shows(page, "#sec-own-scale", str(learned), str(len(slower)), "2,000")
    assert min(run["share"] for run in Measured().runs["repeat"]["opening"]) > 0.99, "nearly all"


def test_each_cure_helps_at_one_rate_and_both_are_the_division(page):
    small, slowed, both = TRAINING["rivals"].values()
    assert ends(small["0.3"]).min() > 0.98 > 0.75 > ends(small["3.0"]).max()
    assert ends(slowed["0.3"]).max() < 0.5 < 0.95 < ends(slowed["3.0"]).min()
    [told] = [row[1:] for row in cells(page, "halves") if "smaller" in row[0]]
    for shown, rate in zip(told, ("0.3", "3.0"), strict=True):
        low, *_, high = (f"{100 * x:.0f}" for x in sorted(ends(small[rate])))
        assert shown == " to ".join(dict.fromkeys((low, high)))
    for rate, curves in TRAINING["divided"].items():
        last = np.array(curves)[:, -np.shape(both[rate])[1] :]
        np.testing.assert_allclose(both[rate], last, atol=0.004)  # but for rounding
    assert script.RIVALS["small start"]["spread"] == pytest.approx(512**-0.25)
    smaller, times = f"{512**0.25:.1f}", f"{512**0.5:.0f}"
    assert shows(page, "#two-cures", smaller, smaller, smaller, times, times)
    assert shows(page, "#two-cures", *[smaller] * 7, times, smaller)


def test_with_keys_of_64_the_division_matters_at_large_rates_only(page):
    divided, raw = (
        {rate: ends(curves) for rate, curves in TRAINING["keys of 64"][kind].items()}
        for kind in KINDS
    )
    assert raw["0.3"].max() < divided["0.3"].min()
    assert raw["0.3"].mean() > divided["0.3"].mean() - 0.01, "nearly as good"
    for rate in ("1.0", "3.0"):
        assert raw[rate].max() < divided[rate].min() - 0.05


@pytest.mark.slow
def test_training_again_gives_the_same():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    short = script.train(True, 1.0, 0, steps=100)
    assert short == pytest.approx(TRAINING["divided"]["1.0"][0][:5], abs=0.02)
    for look, (rate, steps) in script.LOOKS.items():
        again = script.look(script.descend(False, rate, 0, steps=steps)[-1], False)
        wanted = TRAINING["rows"][look]["undivided"][0]
        assert again["saturated"] == pytest.approx(wanted["saturated"], abs=0.02)
        assert again["spread"] == pytest.approx(wanted["spread"], rel=0.1 if steps > 1 else 0.01)
    torch.set_num_threads(threads)


def moved_by_a_step(d_k, by, adam=False):
    """How far the divided score moves with a step of the query, at a rate of 0.1."""
    q, k = torch.randn(2, 2000, d_k, generator=torch.Generator().manual_seed(0))
    after = q.clone().requires_grad_()
    ((after * k).sum() / by).backward()
    optimizer = torch.optim.Adam if adam else torch.optim.SGD
    optimizer([after], lr=0.1).step()
    return ((q - after.detach()) * k).sum(-1).mean().item() / by


def test_one_rate_does_for_keys_of_every_size_with_the_root_and_for_adam_with_d_k():
    """Adam's first step is the gradient's sign times the rate."""
    for d_k in (64, 512, 2048):
        assert moved_by_a_step(d_k, d_k**0.5) == pytest.approx(0.1, rel=0.02)
        assert moved_by_a_step(d_k, d_k) == pytest.approx(0.1 / d_k, rel=0.02), "it must grow"
    short, long = (moved_by_a_step(d_k, d_k, adam=True) for d_k in (64, 2048))
    assert long == pytest.approx(short, rel=0.02)
    short, long = (moved_by_a_step(d_k, d_k**0.5, adam=True) for d_k in (64, 2048))
    assert long / short == pytest.approx((2048 / 64) ** 0.5, rel=0.02)


def test_queries_and_keys_twice_as_large_have_scores_four_times_as_wide(page):
    q, k = 2 * drawn(1, 2, 20_000, 64)
    spread = ((q * k).sum(-1) / 64**0.5).std().item()
    assert spread == pytest.approx(4, rel=0.03)
    assert shows(page, "main", "2", "2", "4", f"{spread:.0f}")


def test_a_low_temperature_need_not_be_one_hot(page):
    want = softmax(np.array([1.0, 0.2, 0.1, 0.1, 0.9, 0.1]) / 0.1)
    assert numbers(output(page, "not-one-hot")) == pytest.approx(want, abs=5.1e-4)
    assert want.max() < 0.75


def test_entropies_of_one_row_at_three_temperatures(page):
    lines = output(page, "temperatures").splitlines()
    scores = np.array([0, 5, 0, -2, 0, 1]) / 2  # the query of sat with each key, over √4
    for line, units, temperature in zip(lines[::2], lines[1::2], (0.5, 1, 2), strict=True):
        want = softmax(scores / temperature)
        entropies = [-(want * log(want)).sum() for log in (np.log, np.log2)]
        assert numbers(line) == pytest.approx([temperature, *want], abs=5.1e-4)
        assert numbers(units) == pytest.approx(entropies, abs=5.1e-4)


def test_naive_softmax_overflows_and_the_shift_changes_nothing(page):
    exp, naive, stable = output(page, "overflow").splitlines()
    assert exp.count("inf") == naive.count("nan") == 3
    powers, weights = np.exp([-2.0, -1, 0]), softmax([-2, -1, 0])
    assert numbers(stable) == pytest.approx(weights, abs=5.1e-4)
    told = *(f"{x:.3f}" for x in powers[:2]), "1", f"{powers.sum():.3f}"
    assert shows(page, "#sec-stable", *told, *(f"{x:.3f}" for x in weights))
    largest = torch.finfo(torch.float32).max
    digits = (str(len(f"{x:.0f}")) for x in (math.exp(100), largest))
    assert shows(page, "#sec-stable", *digits, f"{math.log(largest):.2f}")
    q, k = drawn(3, 2, 5_000, 2048)
    assert (q * k).sum(-1).abs().max() > math.log(largest), "undivided scores get there"


def test_what_rounding_the_scores_costs(page):
    lines = output(page, "half").splitlines()
    for dtype, start in ((torch.float16, 0), (torch.bfloat16, 3)):
        limit, raw, divided = (numbers(line)[-1] for line in lines[start : start + 3])
        assert limit == pytest.approx(math.log(torch.finfo(dtype).max), abs=0.0051)
        assert raw > 10 * divided > 0
    assert torch.tensor(12.0, dtype=torch.float16).exp().isinf()
    near = torch.tensor([40.12, 40.13], dtype=torch.bfloat16)
    assert near.tolist() == [40, 40.25], "and nothing between"


def test_the_bug_is_found_by_length_alone(page):
    shown, wanted = numbers(output(page, "bug-check"))[-2:]
    q, k = drawn(4, 2, 1024, 64)
    right, flat = ((q @ k.T / size**0.5).softmax(-1).max(-1).values for size in (64, 1024))
    assert shown == pytest.approx(flat.mean().item(), abs=6e-4)
    assert wanted == pytest.approx(right.mean().item(), rel=0.05)
    assert wanted > 3 * shown
