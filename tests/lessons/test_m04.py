"""m04: its claims against numbers computed here."""

import json
import math
import re
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch

from analysis import entropy
from attention import scaled_dot_product_attention
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from tests.lessons.reading import cells, in_order, numbers, output, share, shows
from tests.widgets.test_saturation import SIZES, draws, exact_slope

ROOT = Path(__file__).parents[2]
PAGE = "modules/m04_softmax_and_scale/lesson.html"


@pytest.fixture(scope="module")
def random_rows():
    """{d_k: scores (rows, 8)} of fresh draws, not those of the page."""
    rng = torch.Generator().manual_seed(99)

    def scores(d_k, rows=4000):
        q, k = (torch.randn(rows, n, d_k, generator=rng) for n in (1, 8))
        return (q @ k.mT).squeeze(1).double()

    return {d_k: scores(d_k) for d_k in (64, 512)}


# ---- Variance -----------------------------------------------------------------------------------


def test_the_variance_is_d_k(page):
    lines = output(page, "variance").splitlines()
    assert [int(numbers(line)[0]) for line in lines] == [8, 32, 128, 512, 2048]
    for line in lines:
        d_k, variance, spread = numbers(line)
        assert variance == pytest.approx(d_k, rel=0.08)  # four times its own standard error
        assert spread == pytest.approx(math.sqrt(variance), abs=0.051)


def test_the_first_scores_of_real_layers(page):
    """The variances by theory: E/(3E), 2E/(E + 3E), and 768 · 0.02²; a product's is the square."""
    found = [numbers(line[22:]) for line in output(page, "starts").splitlines()]
    for (variance, spread), want in zip(found, (1 / 3, 1 / 2, 768 * 0.02**2), strict=True):
        assert variance == pytest.approx(want, abs=0.011)
        assert spread == pytest.approx(want, rel=0.05)


def test_the_two_answers(page):
    scores = np.array([2.1, 8.7, 3.2])
    raw, divided = (np.exp(s) / np.exp(s).sum() for s in (scores, scores / math.sqrt(128)))
    first, second = (numbers(line) for line in output(page, "two-answers").splitlines())
    assert first == pytest.approx(raw, abs=5.1e-4)
    assert second == pytest.approx(divided, abs=5.1e-4)


def test_only_gaps_count(page):
    """A lead of 5.5, as it is and divided by √128; and without the largest score."""
    said = " ".join(page.select_one("#sec-gaps").get_text().split())
    scores = np.array([2.1, 8.7, 3.2])
    lead = scores[1] - scores[2]
    less = lead / math.sqrt(128)
    assert f"leads sat by 8.7 − 3.2 = {lead:.1f}. So its power" in said
    assert f"{math.exp(lead):.0f} times as large, and so is its weight" in said
    assert f"the lead is only {less:.2f}, and cat gets" in said
    assert f"{math.exp(less):.1f} times the weight of sat" in said
    assert (f"{lead:.1f}", f"{less:.2f}") == ("5.5", "0.49")  # the exponents in its formulas
    assert scores - scores.max() == pytest.approx([-6.6, 0, -5.5])
    assert math.log(torch.finfo(torch.float64).max) < 1000


def test_by_pencil_the_mean_square_is_the_size(page):
    two, three = ([sum(terms) ** 2 for terms in product((1, -1), repeat=n)] for n in (2, 3))
    assert shows(page, "#sec-variance", *map(str, two), f"{fmean(two):.0f}")
    large, small = three.count(9), three.count(1)
    shown = large, 9, small, 1, len(three), sum(three), len(three), fmean(three)
    assert shows(page, "#sec-variance", *(f"{x:.0f}" for x in shown))


def test_the_size_asked_for(page):
    """128 numbers mostly between −2 and 2: the product is within 11.3 in two cases of three."""
    question = page.select_one("#predict-size")
    choices = [numbers(li.get_text())[0] for li in question.select(":scope > ol > li")]
    q, k = torch.randn(2, 20_000, 128, generator=torch.Generator().manual_seed(5))
    products = (q * k).sum(-1)
    usual = products.square().mean().sqrt().item()
    assert choices[int(question["data-right"]) - 1] == round(usual) == 11
    nearer = (products.abs() < 11.3).double().mean().item()
    shown = re.search(r"that we drew, (\d+)\s% lie nearer", question.get_text())
    assert int(shown[1]) / 100 == pytest.approx(nearer, abs=0.03)
    assert (q.abs() < 2).double().mean() > 0.95
    assert (products.abs() > 64).sum() == 0  # "far more … than chance gives"


def test_the_share_of_the_best_of_eight(random_rows):
    raw = random_rows[64].softmax(-1).max(-1).values.mean().item()
    divided = (random_rows[64] / 8).softmax(-1).max(-1).values.mean().item()
    assert raw == pytest.approx(0.87, abs=0.01)  # "the more goes to the best of them"
    assert divided == pytest.approx(1 / 3, abs=0.035)  # "about a third at every size"


# ---- The Jacobian, and what reaches the queries -------------------------------------------------


def test_the_jacobian_is_autograds(page):
    lines = output(page, "jacobian").splitlines()
    for line, scores in zip(lines, ([1, 0.5, 0.5], [10, 1, 1]), strict=True):
        *shown, largest, off = numbers(line.replace("off by", ""))
        assert shown == scores
        w = torch.tensor(scores).double().softmax(-1)
        assert largest == pytest.approx((w * (1 - w)).max().item(), abs=5e-7)
        assert off < 1e-15


def test_a_nudge_moves_saturated_weights_little(page):
    """The same nudge of the score: an eleventh comes through the root, and 1/128 through 128."""
    rows = [
        [cell.get_text().strip() for cell in row.select("td")]
        for row in page.select("#nudge tbody tr, #cell-nudge tbody tr")
    ]
    assert [name for name, *_ in rows] == ["undivided", "divided by √128", "divided by 128"]
    scores = np.array([2.1, 8.7, 3.2])

    def the(s):
        return np.exp(s[0]) / np.exp(s).sum()

    root, nudge, found, moved = math.sqrt(128), np.array([0.1, 0, 0]), [], []
    for by, (_, *row) in zip((1, root, 128), rows, strict=True):
        before, after = the(scores / by), the((scores + nudge) / by)
        digits = len(row[-1].removesuffix(" points").split(".")[1])
        shown = [numbers(cell)[0] for cell in row]
        exact = [100 * before, 100 * after, 100 * (after - before)]
        assert shown == pytest.approx(exact, abs=0.51 * 10**-digits)
        moved.append(shown[-1])
        assert after - before == pytest.approx(0.1 / by * before * (1 - before), rel=0.06)
        found.append((before * (1 - before), after - before))
    (slope_raw, raw), (slope, divided), (highest, by_size) = found
    assert slope_raw < slope < highest  # "even higher on the hill"
    assert raw < by_size < 1.25 * raw  # "hardly farther than undivided"
    assert round(divided / raw) == round(moved[1] / moved[0]) == 12  # "about 12 times as far"
    assert round(root) == 11
    assert page.select_one("#predict-nudge")["data-right"] == "3"
    said = " ".join(page.select_one("#sec-nudge").get_text().split())
    assert f"the slope is about {round(slope / slope_raw, -1):.0f} times as large" in said
    assert f"where the slope is {slope_raw:.5f}." in said
    assert f"high up, at {slope:.2f}." in said
    assert f"leaves {128 / root:.0f} times as much of the nudge" in said


def test_the_slope_with_a_pencil(page):
    """Powers of 1 and 1, of 1 and 99, of 99 and 1: what 0.1 more moves, and 0.1 · w(1 − w)."""
    found = []
    for first, other in ((1, 1), (1, 99), (99, 1)):
        before = first / (first + other)
        after = 1 / (1 + math.exp(-0.1) * other / first)
        assert after - before == pytest.approx(0.1 * before * (1 - before), rel=0.06)
        found.append([share(before), share(after, 1), f"{100 * (after - before):.1f}"])
    rows = cells(page, "two-keys")
    assert all(in_order(" ".join(row), *want) for row, want in zip(rows, found[:2], strict=True))
    assert shows(page, "#sec-nudge", *found[2])


def test_two_keys_in_a_table_and_a_third_case(page):
    """Powers of 1 and 1, of 1 and 99, and of 99 and 1: the weight of the first, in percent."""
    rows = [
        [cell.get_text().strip() for cell in row.select("td")]
        for row in page.select("#two-keys tbody tr, #cell-two-keys tbody tr")
    ]
    assert [row[0] for row in rows] == ["1 and 1", "1 and 99"]
    assert f"{math.exp(0.1):.3f}" == "1.105"

    def moved(first, other):
        before = first / (first + other)
        after = first * math.exp(0.1) / (first * math.exp(0.1) + other)
        return [f"{100 * before:.0f}", f"{100 * after:.1f}", f"{100 * (after - before):.1f}"]

    for other, row in zip((1, 99), rows, strict=True):
        before, after, by = moved(1, other)
        assert row[1] == f"1/{1 + other} = {before}\N{NARROW NO-BREAK SPACE}%"
        assert row[2] == f"1.105/{1.105 + other:.3f} ≈ {after}\N{NARROW NO-BREAK SPACE}%"
        assert row[3] == f"{by} points"
        share = 1 / (1 + other)
        assert float(by) == pytest.approx(10 * share * (1 - share), abs=0.06)  # 0.1 · w(1 − w)
    said = " ".join(page.select_one("#sec-nudge").get_text().split())
    before, after, by = moved(99, 1)
    assert "from 99 to 99 · 1.105 ≈ 109.4, and the sum from 100 to 110.4." in said
    assert f"from {before} % to 109.4/110.4 ≈ {after} %, by only {by} percentage points" in said
    assert f"{99 * 1.105:.1f}" == "109.4"


def test_the_root_counts_when_two_keys_have_equal_scores(page):
    """Equal scores, nudged by 0.1, with the division by √512 and without."""
    said = " ".join(page.select_one("#sec-training").get_text().split())
    moved = [math.exp(n) / (math.exp(n) + 1) - 0.5 for n in (0.1, 0.1 / 512**0.5)]
    assert "would let only 1/√512 ≈ 1/23 of a nudge through." in said
    assert round(moved[0] / moved[1]) == round(512**0.5) == 23


def test_the_spoiled_vector_is_the_one_named(page):
    """From the figure's own numbers: half of the ninth row is that of one of the eight."""
    rng = torch.Generator().manual_seed(4)
    vectors, spoiled = torch.randn(8, 32, generator=rng), torch.randn(1, 32, generator=rng)
    assert not (vectors == spoiled).any()
    said = " ".join(page.select_one("#sec-training").get_text().split())
    assert "It is number 6. The left halves agree" in said
    assert "the ninth is that of the sixth row" in page.select_one("#figure-task img")["alt"]


def test_the_slopes_of_a_row_have_a_sum(page):
    """1 − Σw²: near 1 where a thousand keys share the row, near 0 where one has it all."""
    said = " ".join(page.select_one("#jacobian-of-softmax").get_text().split())
    assert "The slopes of a row have the sum" in said
    wide = torch.randn(1000, generator=torch.Generator().manual_seed(2))
    for scores, near in ((wide, 1), (torch.tensor([20.0, 1, 2, 3]), 0)):
        w = scores.double().softmax(-1)
        slopes = (w * (1 - w)).sum()
        torch.testing.assert_close(slopes, 1 - w.square().sum())
        assert slopes.item() == pytest.approx(near, abs=0.02)


def test_training_makes_the_storytellers_scores_grow(page):
    """The spread of q·k in rows of five words and more, from queries and keys themselves."""
    story = load_storyteller()
    scores = json.loads((ROOT / "models/storyteller/scores/storyteller.json").read_text())
    written = Tokenizer(story.config.vocabulary).encode(scores["samples"][0])[:256]
    tokens = torch.tensor([written])
    torch.manual_seed(0)
    found = []
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
        found.append(torch.stack(spreads).mean().item())
    said = " ".join(page.select_one("#real-scores").get_text().split())
    before, after = found
    assert "has keys of 32 numbers" in said
    assert f"a spread of {before:.1f} on average before training, and of {after:.1f}" in said
    assert f"turns that into {before / 32**0.5:.1f} and {after / 32**0.5:.1f}." in said


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
    said = " ".join(page.select_one("#sec-saturation").get_text().split())
    undivided, divided = [], []
    for size, scores in zip(SIZES, draws(), strict=True):
        undivided.append([exact_slope(row) for row in scores])
        divided += [exact_slope(row / size**0.5) for row in scores]
    means = [fmean(slopes) for slopes in undivided]
    assert all(larger > smaller for larger, smaller in pairwise(means))  # "fall as the keys grow"
    at_512 = undivided[SIZES.index(512)]
    at_128 = sum(slope < 0.01 for slope in undivided[SIZES.index(128)])
    flat, steep = sum(slope < 0.01 for slope in at_512), sum(slope > 0.1 for slope in at_512)
    others = len(at_512) - flat
    found = f"{at_128} of the forty undivided rows are saturated, and with keys of 512, {flat}."
    assert f"The was no exception. With keys of 128 numbers, {found}" in said
    assert at_128 > 20  # "no exception"
    assert f"But in the other {others} the two best keys" in said
    learning = " ".join(page.select_one("#two-cures").get_text().split())
    assert "The rows that aren’t saturated send back too much." in learning
    assert max(at_512) > 20 * max(divided) / 512**0.5  # "and there it divides the gradient"
    assert 2 < steep < 13
    assert max(at_512) > 0.24  # "up to 0.25"
    least = math.floor(100 * min(divided)) / 100
    assert least > 0.05
    assert f"at 1, none of these slopes is below {least:.2f}" in said


def test_gradients_are_a_lottery_without_the_division(page):
    divided, raw = re.split("undivided:", output(page, "backward"))
    mean, little, usual, top = (numbers(line)[-1] for line in divided.splitlines() if line)
    assert (little, usual) == (0, 50)
    raw_mean, raw_little, raw_more, raw_top = (
        numbers(line)[-1] if "tenth" not in line else numbers(line)[0] for line in raw.splitlines()
    )
    assert raw_little > 50
    assert 20 <= raw_more <= 30
    assert raw_mean > 2.5 * mean
    assert raw_top > 3 * top


def test_the_few_large_gradients_come_from_two_keys_nearly_level():
    """Undivided, on other draws: who gets next to nothing, and who gets most."""
    rng = torch.Generator().manual_seed(7)
    k, v, q, g = (torch.randn(2000, n, 512, generator=rng) for n in (8, 8, 1, 1))
    norms = {}
    for scale in (1.0, 512**-0.5):
        leaf = q.clone().requires_grad_()
        output, weights = scaled_dot_product_attention(leaf, k, v, scale=scale)
        output.backward(g)
        norms[scale] = leaf.grad.norm(dim=-1).flatten()
        if scale == 1:  # "most queries are saturated"
            assert (weights.max(-1).values > 0.99).double().mean() > 0.65
    first, second = (q @ k.mT).squeeze(1).topk(2).values.T
    order = norms[1.0].argsort(descending=True)
    lead, usual = first - second, norms[512**-0.5].median()
    assert lead[order[:200]].max() < 4 < 10 < lead[order[200:]].median()  # "nearly level"
    assert norms[1.0][order[:200]].mean() > 20 * usual  # "a huge one"
    assert lead[norms[1.0] < usual / 100].min() > 3  # "almost no gradient"


KINDS = ("divided", "undivided")


def training():
    return json.loads((ROOT / "modules/m04_softmax_and_scale/training.json").read_text())


def ends(curves):
    return [sum(curve[-5:]) / 5 for curve in curves]


def test_dividing_works_at_more_rates_than_anything_else():
    found = training()
    reached = {
        name: [ends(curves) for curves in by_rate.values()]
        for name, by_rate in {**found["rivals"], **{n: found[n] for n in KINDS}}.items()
    }
    assert list(found["divided"]) == ["0.1", "0.3", "1.0", "3.0"]
    works = {name: [min(shares) > 0.98 for shares in rates] for name, rates in reached.items()}
    assert works["divided"] == [False, True, True, True]
    assert works["small start"] == [False, True, False, False]
    assert not any(works["undivided"] + works["short steps"])
    assert max(map(max, reached["undivided"])) < 0.97
    for shorter, longer in pairwise(reached["undivided"][1:]):  # "above 0.3 it gets worse"
        assert max(longer) < min(shorter)
    assert min(reached["small start"][0]) > max(reached["divided"][0])  # "and better at 0.1"
    for slow in (2, 3):  # "they do as badly as the large ones"
        assert max(reached["small start"][slow]) < min(reached["divided"][slow]) - 0.05


def test_long_steps_are_why_the_undivided_layers_level_off():
    """With steps of queries and keys divided by √512 they don't; but flat rows still learn late."""
    found = training()
    slowed, undivided, divided = (
        {rate: ends(curves) for rate, curves in by_rate.items()}
        for by_rate in (
            found["rivals"]["slow queries and keys"],
            found["undivided"],
            found["divided"],
        )
    )
    for rate in ("1.0", "3.0"):
        assert min(slowed[rate]) > 0.95 > max(undivided[rate])
    assert max(slowed["0.3"]) < 0.5 < 0.98 < min(divided["0.3"])


def test_both_cures_at_once_are_the_division():
    """With plain gradient steps, numbers √√512 times smaller and rates √512 times smaller."""
    found = training()
    for rate, curves in found["divided"].items():
        both = np.array(found["rivals"]["small start, slow"][rate])
        last = np.array(curves)[:, -both.shape[1] :]
        np.testing.assert_allclose(both, last, atol=0.004)  # but for rounding


def test_a_larger_rate_helps_the_undivided_layers_at_first_only():
    """The prediction: at a rate of 3 they are ahead of 0.3 early, and far behind at the end."""
    undivided, divided = (training()[kind] for kind in ("undivided", "divided"))
    early = {rate: [curve[4] for curve in undivided[rate]] for rate in ("0.3", "3.0")}
    assert min(early["3.0"]) > max(early["0.3"]) + 0.1
    assert max(ends(undivided["3.0"])) < 0.75 < 0.98 < min(ends(divided["3.0"]))


def test_what_a_rate_of_3_buys(page):
    """Steps until nine answers in ten are right: five times fewer, if the scores are divided."""
    said = " ".join(page.select_one("#sec-training").get_text().split())

    def needed(kind, rate):
        curves = np.array(training()[kind][rate])
        assert (curves.max(1) >= 0.9).all()
        return round(20 * ((curves >= 0.9).argmax(1) + 1).mean().item(), -1)

    slow, fast, late = needed("divided", "0.3"), needed("divided", "3.0"), needed(KINDS[1], "0.3")
    assert f"right after about {slow:.0f} steps, and at a rate of 3 after only {fast:.0f}." in said
    assert late > 1.3 * slow > 5 * fast  # "learn the puzzle later at 0.3"
    first = training()["rows"]["at first"]["undivided"]
    assert min(row["saturated"] for row in first) > 0.5  # "most rows are saturated at first"


def test_why_the_undivided_layers_come_late(page):
    """Their right key can't be pushed in most rows; and their long first steps lead nowhere."""
    first, later = (training()["rows"][look] for look in ("at first", "late"))
    said = " ".join(page.select_one("#two-cures").get_text().split())
    divided, raw = ([row["slope"] for row in first[kind]] for kind in KINDS)
    assert f"it is about {fmean(divided):.2f} in a typical row at the beginning" in said
    assert max(raw) < 1e-12
    assert "In the others it is below 10⁻¹²," in said
    for kind, least, most in (("divided", 0, 0), ("undivided", 0.7, 0.73)):
        assert all(least <= row["saturated"] <= most for row in first[kind])
    ahead, behind = (fmean(row["lead"] for row in later[kind]) for kind in KINDS)
    assert min(row["lead"] for row in later["divided"]) > 5 > 0 > behind
    assert f"its undivided score is {ahead:.0f} above the mean" in said
    assert f"In the others it is {-behind:.0f} below it" in said
    before, after = (
        [fmean(row[what] for row in rows["undivided"]) for what in ("spread", "saturated")]
        for rows in (first, later)
    )
    assert f"from {before[0]:.0f} to {after[0]:.0f}, so that {100 * after[1]:.0f} % of" in said
    assert f"where it was {100 * before[1]:.0f} %." in said
    # Beginnings without saturation aren't late, with the same long steps: saturation is the reason.
    small = training()["rivals"]["small start"]["0.3"]
    assert min(ends(small)) > 0.98 > max(ends(training()["undivided"]["0.3"]))


def test_why_the_undivided_layers_get_stuck(page):
    """At a rate of 3 their scores grow until what is wrong is saturated; divided, hardly any is."""
    first, end = (training()["rows"][look] for look in ("at first", "stuck"))
    said = " ".join(page.select_one("#two-cures").get_text().split())
    before, after = (fmean(row["spread"] for row in at["undivided"]) for at in (first, end))
    spreads = f"have a spread of {after:,.0f}, where it was {before:.0f} at first."
    assert f"in the end those of a row {spreads}" in said
    assert 20 < before < 512**0.5  # "a little below √512"
    assert min(row["saturated"] for row in end["undivided"]) > 0.99  # "nearly every row"
    stuck, still = ([row["saturated of the wrong"] for row in end[kind]] for kind in KINDS[::-1])
    assert f"answered wrongly, at least {100 * min(stuck):.0f} in 100 are saturated" in said
    assert round(100 * min(stuck)) == 99
    assert max(still) < 0.1
    assert {row["saturated"] for row in first["divided"]} == {0}  # "no row is saturated"


def test_looking_again_gives_the_same_rows():
    from modules.m04_softmax_and_scale import training as script

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for kind in KINDS:
            divided = kind == "divided"
            _, weights = script.descend(divided, 0.3, 0, steps=0)
            assert script.look(weights, divided) == pytest.approx(
                training()["rows"]["at first"][kind][0], rel=0.01, abs=1e-13
            )
        _, weights = script.descend(False, 3.0, 0)
        again = script.look(weights, False)
    finally:
        torch.set_num_threads(threads)
    wanted = training()["rows"]["stuck"]["undivided"][0]
    assert again["saturated of the wrong"] > 0.98
    assert again["spread"] == pytest.approx(wanted["spread"], rel=0.1)


def test_with_small_keys_the_division_matters_at_large_rates_only():
    small = training()["keys of 64"]
    for rate in small["divided"]:
        divided, raw = (ends(small[name][rate]) for name in KINDS)
        if float(rate) < 1:
            assert sum(raw) > sum(divided) - 0.03
        else:
            assert max(raw) < min(divided) - 0.05


def test_long_keys_make_only_the_first_trouble(page):
    """At 0.3 keys of 64 cost little, and keys of 512 more; at 1 and 3 both cost the same."""
    said = " ".join(page.select_one("#two-cures").get_text().split())
    long, small = ({n: training_of[n] for n in KINDS} for training_of in sizes_of_keys())
    raw, divided = (ends(small[name]["0.3"]) for name in ("undivided", "divided"))
    assert max(raw) < min(divided) < max(divided) < 1
    assert max(ends(long["undivided"]["0.3"])) < min(raw) - 0.01
    told = [f"{100 * fmean(of):.1f}" for of in (raw, divided)]
    assert f"at 0.3, right {told[0]} times in 100 on average, against {told[1]}." in said
    for rate in ("1.0", "3.0"):
        behind = [fmean(ends(of["divided"][rate])) - fmean(ends(of["undivided"][rate]))
                  for of in (long, small)]  # fmt: skip
        assert min(behind) > 0.05
        assert behind[0] == pytest.approx(behind[1], abs=0.03)


def sizes_of_keys():
    found = training()
    return found, found["keys of 64"]


def test_at_a_tenth_the_seed_counts():
    for of in sizes_of_keys():
        for name in KINDS:
            assert max(ends(of[name]["0.1"])) > min(ends(of[name]["0.1"])) + 0.2


def test_twice_the_queries_and_keys_give_four_times_the_spread(page):
    said = " ".join(page.select_one("main").get_text().split())
    assert "Each dot product becomes 2 · 2 = 4 times as large, so the spread is 4." in said
    q, k = 2 * torch.randn(2, 20_000, 64, generator=torch.Generator().manual_seed(1))
    assert ((q * k).sum(-1) / 64**0.5).std().item() == pytest.approx(4, rel=0.03)


def test_dividing_is_right_about_99_times_in_100(page):
    divided = training()["divided"]
    shares = [share for rate in ("0.3", "1.0", "3.0") for share in ends(divided[rate])]
    assert min(round(100 * share) for share in shares) == 99


def test_some_undivided_transformers_learn_at_a_tenth_of_the_rate(page):
    runs = json.loads((ROOT / "models/playground/scores.json").read_text())["tasks"]["repeat"]
    slower = runs["no scale, rate 0.001, 2,000 steps"]
    learned = sum(run["share"] > 0.95 for run in slower)
    assert learned > 0
    assert (
        f"at a tenth of it, {learned} trainings of {len(slower)} learn it within 2,000 steps"
        in " ".join(page.select_one("main").get_text().split())
    )


def test_smaller_queries_and_keys_mend_one_trouble_of_two(page):
    """Of the small start: no worse than a hundredth at 0.3, and as stuck as the undivided at 3."""
    small, divided, raw = (
        {rate: ends(of[rate]) for rate in ("0.3", "3.0")}
        for of in (training()["rivals"]["small start"], *(training()[kind] for kind in KINDS))
    )
    assert min(small["0.3"]) > min(divided["0.3"]) - 0.01
    assert max(small["3.0"]) < max(raw["3.0"]) < min(divided["3.0"])
    rows = [
        [cell.get_text().strip() for cell in row.select("td")]
        for row in page.select("#outcomes tbody tr, #cell-outcomes tbody tr")
    ]
    names = ["divided", "undivided", "undivided, smaller queries and keys"]
    assert [name for name, *_ in rows] == names
    for (_, *spans), of in zip(rows, (divided, raw, small), strict=True):
        for cell, shares in zip(spans, of.values(), strict=True):
            least, most = (f"{100 * end(shares):.0f}" for end in (min, max))
            assert cell == (least if least == most else f"{least} to {most}")
    said = " ".join(page.select_one("#two-cures").get_text().split())
    assert "so its gradient is 4.8 times as large as with the division;" in said
    assert "4.8 · 4.8 ≈ 23 times smaller, as small as with the division." in said


def test_undivided_gradients_begin_eight_to_nine_times_as_large():
    """Those of W_Q and W_K over 50 batches at the start, for each of the seeds."""
    from modules.m04_softmax_and_scale import training as script

    def first_steps(seed, scale, spread=1.0):
        torch.manual_seed(seed)
        w_q, w_k = torch.randn(2, script.SIZE, script.KEY_SIZE) / script.SIZE**0.5 * spread
        w_q.requires_grad_(), w_k.requires_grad_()
        w_v, norms, best = torch.randn(script.LABELS, script.LABELS), torch.zeros(2), 0
        for _ in range(50):
            question, words, labels, answer = script.ask()
            out, weights = scaled_dot_product_attention(
                question @ w_q, words @ w_k, labels @ w_v, scale=scale
            )
            loss = torch.nn.functional.cross_entropy(out[:, 0], answer)
            norms += torch.stack([g.norm() for g in torch.autograd.grad(loss, (w_q, w_k))])
            best += weights.max(-1).values.mean().item() / 50
        assert best > 0.9 if scale == spread else best < 0.4  # saturated from the start, or not
        return norms

    for seed in script.SEEDS:
        divided = first_steps(seed, script.KEY_SIZE**-0.5)
        ratios = (first_steps(seed, 1.0) / divided).tolist()
        assert all(7.5 <= ratio <= 9.5 for ratio in ratios), ratios
        small = first_steps(seed, 1.0, **script.RIVALS["small start"]) / divided
        assert small.tolist() == pytest.approx([script.KEY_SIZE**0.25] * 2, rel=1e-3)
    assert f"{script.KEY_SIZE**0.25:.1f}" == "4.8"


def test_the_small_start_is_that_of_the_divided_layers():
    """Numbers smaller by the fourth root of 512: the same scores, undivided."""
    from modules.m04_softmax_and_scale import training as script

    assert script.RIVALS["small start"]["spread"] ** 2 == pytest.approx(script.KEY_SIZE**-0.5)
    assert script.RIVALS["short steps"]["longest"] == 0.3


def test_training_again_gives_the_same_curve():
    from modules.m04_softmax_and_scale import training as script

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        short = script.train(True, 1.0, 0, steps=100)
    finally:
        torch.set_num_threads(threads)
    assert short == pytest.approx(training()["divided"]["1.0"][0][:5], abs=0.02)


def test_the_same_by_hand(random_rows):
    """The gradient of q without autograd, on other draws: Kᵀ J Vᵀ g, times the scale."""
    rng = torch.Generator().manual_seed(7)
    k, v, q, g = (torch.randn(500, n, 512, generator=rng).double() for n in (8, 8, 1, 1))
    found = {}
    for scale in (1.0, 512**-0.5):
        w = (q @ k.mT * scale).softmax(-1)  # (500, 1, 8)
        upstream = g @ v.mT
        on_scores = w * (upstream - (w * upstream).sum(-1, keepdim=True))
        found[scale] = (on_scores @ k * scale).norm(dim=-1).flatten()
        leaf = q.clone().requires_grad_()
        scaled_dot_product_attention(leaf, k, v, scale=scale)[0].backward(g)
        torch.testing.assert_close(leaf.grad.norm(dim=-1).flatten(), found[scale])
    usual = found[512**-0.5].median()
    assert (found[1.0] < usual / 100).double().mean() > 0.5
    assert 0.19 < (found[1.0] > usual).double().mean() < 0.3
    assert found[1.0].mean() > 2 * found[512**-0.5].mean()


# ---- The two maps -------------------------------------------------------------------------------


def test_the_unscaled_map_is_one_hot_and_the_scaled_is_not(page):
    q, k = torch.randn(2, 5, 512, generator=torch.Generator().manual_seed(1))
    raw, divided = (scaled_dot_product_attention(q, k, k, scale=s)[1] for s in (1.0, None))
    assert raw.max(-1).values.min() > 0.99  # "every row is a 1 among zeros"
    assert divided.min() > 0.005
    assert divided.max() < 0.85
    assert page.select_one("#figure-maps img")["alt"].startswith("Two 5 by 5 maps")


# ---- Temperature and entropy --------------------------------------------------------------------


def test_one_tenth_need_not_be_one_hot(page):
    row = np.array([1.0, 0.2, 0.1, 0.1, 0.9, 0.1]) / 0.1
    want = np.exp(row) / np.exp(row).sum()
    assert numbers(output(page, "not-one-hot")) == pytest.approx(want, abs=5.1e-4)
    assert want.max() < 0.75


def test_entropies_of_one_row_at_three_temperatures(page):
    lines = output(page, "temperatures").splitlines()
    scores = np.array([0, 5, 0, -2, 0, 1]) / 2  # the query of sat with each key, over √4
    for line, units, temperature in zip(lines[::2], lines[1::2], (0.5, 1, 2), strict=True):
        shown, *row = numbers(line)
        nats, bits = numbers(units)
        want = np.exp(scores / temperature) / np.exp(scores / temperature).sum()
        assert shown == temperature
        assert row == pytest.approx(want, abs=5.1e-4)
        assert nats == pytest.approx(-(want * np.log(want)).sum(), abs=5.1e-4)
        assert bits == pytest.approx(-(want * np.log2(want)).sum(), abs=5.1e-4)


def test_e_to_the_entropy_counts_the_keys():
    row = (torch.tensor([0, 5, 0, -2, 0, 1]).double() / 2).softmax(-1)  # of sat, as in the widget
    assert 2 < entropy(row).exp() < 3
    for n in (1, 2, 6):
        assert entropy(torch.full((n,), 1 / n)).exp().item() == pytest.approx(n, rel=1e-5)
    assert entropy(torch.tensor([0.5, 0.5]), unit="bits").item() == pytest.approx(1)


# ---- Stability, and half precision --------------------------------------------------------------


def test_naive_softmax_overflows_and_the_shift_changes_nothing(page):
    exp, naive, stable = output(page, "overflow").splitlines()
    assert exp.count("inf") == 3
    assert naive.count("nan") == 3
    assert numbers(stable) == [0.09, 0.245, 0.665]
    assert round(math.log(torch.finfo(torch.float32).max), 2) == 88.72
    rng = torch.Generator().manual_seed(3)
    q, k = torch.randn(2, 5_000, 2048, generator=rng)
    assert (q * k).sum(-1).abs().max() > 88.72  # "undivided scores of large keys get there"
    scores = torch.randn(1000, 8, generator=rng).double()
    for c in (-3.0, 2.0, scores.max(-1, keepdim=True).values):
        e = (scores - c).exp()
        torch.testing.assert_close(e / e.sum(-1, keepdim=True), scores.softmax(-1))


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
    q, k = torch.randn(2, 4, 64, generator=torch.Generator().manual_seed(4)).bfloat16() * 6
    _, weights = scaled_dot_product_attention(q, k, k)
    _, wide = scaled_dot_product_attention(q.float(), k.float(), k.float())
    assert torch.equal(weights, wide.bfloat16())


# ---- Dropout, the bug hunt, and what is asked ---------------------------------------------------


def test_the_bug_is_found_by_length_alone(page):
    shown, wanted = numbers(output(page, "bug-check"))[-2:]
    q, k = torch.randn(2, 1024, 64, generator=torch.Generator().manual_seed(4))
    right, flat = ((q @ k.T / size**0.5).softmax(-1).max(-1).values for size in (64, 1024))
    assert shown == pytest.approx(flat.mean().item(), abs=6e-4)
    assert wanted == pytest.approx(right.mean().item(), rel=0.05)
    assert wanted > 3 * shown
    q, k = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(5))
    scores = q @ k.mT
    assert scores.shape[-1] == k.shape[-1]  # "with 64 keys the two are equal, and hide it"


def test_the_citations_are_listed(page):
    listed = page.select_one("#refs").get_text()
    assert all(re.search(name, listed) for name in ("Vaswani", "Hinton", "Blanchard"))
