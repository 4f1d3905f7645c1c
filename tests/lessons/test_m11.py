"""m11: its claims against numbers computed here. tests/widgets/ has the steppers' arithmetic."""

import json
import re

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from tests.conftest import ROOT
from tests.lessons.page_text import in_order, output, share, shows
from tests.numbers import numbers
from tests.site.numbers import payloads
from tests.widgets.js import module

PAGE = "modules/m11_fast_and_exact/lesson.html"
FOLDER = ROOT / "modules/m11_fast_and_exact"


@pytest.fixture(scope="module")
def defined():
    """What the lesson's own cells define."""
    text = (FOLDER / "lesson.qmd").read_text(encoding="utf-8")
    names = {}
    for label in ("take-in", "tiled", "gradients"):
        exec(re.search(rf"#\| label: {label}\n(.*?)```", text, re.S)[1], names)
    return names


POWERS, VALUES = np.array([1.0, 2, 8, 4, 16]), np.array([10.0, 20, 30, 40, 50])


def test_the_steps_with_a_pencil(page):
    """In powers of 2: scores 0 and 1, then 3 and 2, in units of the largest power so far."""
    steps = [step.get_text() for step in page.select("#sec-online > ol > li")]
    first_sum, first_mix = POWERS[:2].sum() / 2, POWERS[:2] @ VALUES[:2] / 2
    rate = 2 / 8
    total, mix = POWERS[:4].sum() / 8, POWERS[:4] @ VALUES[:4] / 8
    wanted = [
        ["½", "1", first_sum, "½", "10", "1", "20", first_mix],
        [rate * first_sum, rate * first_mix, rate * first_sum, "1", "½", total],
        [mix, total, mix / total],
    ]
    for step, want in zip(steps, wanted, strict=True):
        assert in_order(step, *(x if isinstance(x, str) else f"{x:g}" for x in want)), want
    assert in_order(steps[1], f"{rate * first_mix:g}", "1", "30", "½", "40", f"{mix:g}")


def test_the_whole_row_and_a_third_piece(page):
    total, mix = POWERS[:4].sum(), POWERS[:4] @ VALUES[:4]
    row = [*POWERS[:4], total, *(POWERS[:4] * VALUES[:4]), mix]
    assert shows(page, "#sec-online", *(f"{x:g}" for x in row), f"{mix:g}/{total:g}", "30")
    sum_16, mix_16 = POWERS.sum() / 16, POWERS @ VALUES / 16
    result = f"{mix_16 / sum_16:.2f}"
    converted = ["½", "1.875", "1", f"{sum_16:g}", "½", "56.25", "50", f"{mix_16:g}", result]
    whole = [f"{POWERS.sum():g}", "450", "16", "50", f"{POWERS @ VALUES:,.0f}", result]
    assert shows(page, "#sec-online", *converted, *whole)


def test_a_weight_is_made_again_from_one_number(page):
    total = POWERS[:4].sum()
    assert POWERS[:4] @ [10, 20, 30, 41] / total - 30 == pytest.approx(4 / 15)
    assert shows(page, "#sec-back", "40", "41", "4/15")
    assert shows(page, "#sec-back", "1.875", "1.875", f"{1.875 * 2**3:g}")
    assert shows(page, "#sec-back", f"2³/{total:g}", f"8/{total:g}")


def test_the_gradient_of_a_score_takes_the_output_alone(page):
    """By PyTorch: of the last score of the pencil's row, with powers of e."""
    scores = torch.from_numpy(POWERS[:4]).log().requires_grad_()
    result = scores.softmax(0) @ torch.from_numpy(VALUES[:4])
    (3 * result).backward()
    gradient = scores.grad[-1].item()
    assert gradient == pytest.approx(3 * 4 / 15 * (40 - result.item()))
    assert shows(page, "#box-gradients", "3", "4/15", "10", f"{gradient:.3g}")
    powers = np.array([1, 2, 8, 4.04])
    total, mix = powers.sum(), powers @ VALUES[:4]
    assert shows(page, "#box-gradients", "4.04", f"{total:g}", f"{mix:g}", f"{mix / total:.3f}")
    assert shows(page, "#box-gradients", "3", "2", f"{4 / 15 * 3 + 1 / 2 * 2:.1f}")


def test_what_check_it_says(page):
    """A row of powers of 2 that ends with 5, 2 and 40: two scores of 5, with values 10 and 30."""
    powers = np.array([2.0**5, 2.0**5])
    weights = powers / powers.sum()
    assert [powers.sum() / 2**5, powers @ [10, 30] / 2**5] == [2, 40]
    assert shows(page, "main", "40/2", f"{weights @ [10, 30]:g}", f"{np.log2(powers.sum()):g}")
    assert weights[0] == 0.5


def test_the_bug_counts_each_piece_in_its_own_currency(page):
    """Both pieces have the same sum, so that the mean of their outputs comes out."""
    weights = np.exp([0.0, 1]) / np.exp([0.0, 1]).sum()
    own = [weights @ VALUES[:2], weights @ VALUES[2:4]]
    assert shows(page, "#bug-rate", *(f"{x:.2f}" for x in own))
    assert in_order(page.select_one("#bug-rate").get_text(), f"{np.mean(own):.2f}")


L, D, TILE = 1024, 64, 128
ROW, MAP = L * D, L * L
PLAIN_THERE = 4 * MAP + 4 * ROW
TILED_THERE = sum(TILE * D + 2 * ROW + TILE * D for _ in range(0, L, TILE))
DESK, RIDGE = 192e3, 312 / 1.5


def test_what_the_plain_way_carries(page):
    assert numbers(output(page, "plain")) == [PLAIN_THERE, round(400 * MAP / PLAIN_THERE)]
    assert 4 * MAP > 0.9 * PLAIN_THERE
    traffic = [  # where two things are fetched, as a sum of two
        [sum(numbers(cell.get_text())) for cell in row.select("td")[2:]]
        for row in page.select("#plain tbody tr, #cell-plain tbody tr")
    ]
    assert traffic == [[2 * ROW, MAP], [MAP, MAP], [MAP + ROW, ROW]]
    flops, carried = 2 * 2 * MAP * D, 2 * PLAIN_THERE
    assert flops / carried < RIDGE / 5
    intensity = f"{flops / carried:.0f}", f"{RIDGE:.0f}"
    assert shows(page, "#sec-desk", f"{flops / 1e6:.0f}", f"{carried / 1e6:.1f}", *intensity)


def test_what_fits_on_a_desk(page):
    """Rows of a long text at 4 bytes a score, and all of another at 2; a tile of 128 by 128."""
    assert 5 * 4 * 8192 < DESK < 192 * 1024 <= 6 * 4 * 8192, "six rows fill it, of either KB"
    assert shows(page, "#sec-tile", "six", "8,192")
    assert 2 * MAP > DESK
    assert shows(page, "#sec-desk", "1,024", f"{2 * MAP / 1e6:.1f}", "192")
    stored = f"{2 * 8192**2 / 1e6:.0f}", f"{2 * 8192 * D / 1e6:.1f}"
    assert shows(page, "#sec-tile", "8,192", *stored)
    sizes = [*3 * [2 * TILE * D], 4 * TILE * TILE, 4 * TILE * (D + 2)]
    free = DESK - sum(sizes)
    assert free > 0
    drawn = page.select_one("#cell-figure-desk, #figure-desk").find_next("tbody")
    want = [size / 1e3 for size in [*sizes, free]]
    assert numbers(drawn.get_text(" ")) == pytest.approx(want, abs=0.051)


def test_the_toy_desk_is_counted_as_the_stepper_counts_it(page):
    """Two queries by two keys, of two numbers each; a largest score and a sum for each row."""

    def stepped(queries=2, keys=2, step=1):
        sizes = {"queryTile": queries, "keyTile": keys, "causal": False, "step": step}
        return module("flash-stepper.js").call("stepped", payloads(page)["eight"], sizes)

    model, fetched = stepped(), 3 * 2 * 2
    assert model["desk"] == fetched + 2 * 2 + 2 * 4
    assert model["soFar"] == 4 * fetched
    want = "40", f"{model['desk']}", f"{fetched}", "4", "8", f"{fetched}", f"{4 * fetched}"
    assert shows(page, "#sec-tiles", *want)
    before, after = (stepped(step=step)["act"]["kept"][1]["top"] for step in (1, 2))
    assert before < after, "cat meets a larger score in the second step"
    assert shows(page, "#sec-tiles", f"{before:.2f}", f"{after:.1f}")
    usual, queries, keys = (stepped(*sizes, 0)["bytes"] for sizes in ((2, 2), (4, 2), (2, 4)))
    assert keys == usual > queries, "the bet beside the stepper"
    assert shows(page, "#predict-taller", f"{usual}")
    assert shows(page, "#predict-taller", f"{queries}", f"{keys}")


def test_the_count_with_128_queries_in_a_tile(page):
    want = f"{ROW:,}", "8", "2", f"{ROW:,}", f"{TILED_THERE:,}", f"{PLAIN_THERE:,}"
    assert shows(page, "#sec-carried", *want, f"{PLAIN_THERE / TILED_THERE:.1f}")
    once, twice = (2 * n * D + n / TILE * 2 * n * D for n in (8192, 2 * 8192))
    assert 3.9 < twice / once < 4, "four times as much is carried, nearly"


def test_there_and_back_by_our_count(page):
    """Program by program and tile by tile: each what it fetches and what it puts back."""
    groups, to_gb = L // TILE, 64 * 16 * 2 / 1e9
    maps_and_rows = [  # of each program
        (1, 2), (2, 0), (1, 2),  # there: scores, softmax, output
        (1, 2), (1, 2), (3, 0), (1, 2), (1, 2),  # back: dV, dW, softmax's, dQ, dK
    ]  # fmt: skip
    plain = to_gb * sum(maps * MAP + rows * ROW for maps, rows in maps_and_rows)
    back = 2 * ROW  # outputs and their gradients, for one number a row
    for _ in range(groups):  # keys and values stay, with their gradients
        back += 4 * ROW // groups + 4 * ROW  # q, dO, and dQ there and back
    tiled = to_gb * (TILED_THERE + back)
    both = f"{plain:.1f}", f"{tiled:.1f}", f"{plain / tiled:.1f}"
    assert shows(page, "#box-bill", *both, f"{PLAIN_THERE / TILED_THERE:.1f}")
    there = f"{2 * PLAIN_THERE / 1e6:.1f}", f"{to_gb * PLAIN_THERE:.1f}", f"{7 * to_gb * MAP:.0f}"
    assert shows(page, "#box-bill", *there)
    assert plain < 35.3, "the authors' plain way carried more"
    assert tiled > 4.4, "and their tiled way less"


def test_the_bill_of_the_opening_question(page):
    """What the paper carried, over what an A100 carries and computes in a second."""
    assert shows(page, "main", "35.1", "11.7")
    usual, flash = 35.3 / 1.5, 4.4 / 1.5  # GB over TB/s: ms
    assert shows(page, "#sec-bill", f"{usual:.1f}", "35.1", f"{flash:.1f}", "11.7")
    assert usual / 35.1 == pytest.approx(2 / 3, abs=0.01)
    assert flash / 11.7 == pytest.approx(1 / 4, abs=0.01)
    assert shows(page, "#sec-bill", f"{usual - flash:.1f}", f"{35.1 - 11.7:.1f}")
    assert usual - flash > 0.85 * (35.1 - 11.7), "nearly all that was saved is the walk"


def test_seven_products_take_a_quarter_of_the_time_and_have_the_ridge_s_intensity(page):
    gap, plain, tiled = output(page, "products").splitlines()
    assert numbers(gap)[0] < 1e-12
    assert (numbers(plain), numbers(tiled)) == ([6], [7])
    assert shows(page, "#sec-back", share(7 / 6 - 1), "66.6", "75.2", share(75.2 / 66.6 - 1))
    one = 2 * MAP * D
    flops = 7 * one * 64 * 16
    at_full_speed, rest = flops / 312e9, 11.7 - 4.4 / 1.5
    arithmetic = f"{one / 1e6:.0f}", f"{flops / 1e9:.0f}", "312", f"{at_full_speed:.1f}"
    assert shows(page, "#box-bill", *arithmetic, f"{rest:.1f}", "4.4", f"{flops / 4.4e9:.0f}")
    assert at_full_speed / 11.7 == pytest.approx(1 / 4, abs=0.02)
    assert flops / 4.4e9 == pytest.approx(RIDGE, rel=0.06)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 2), (4, 9), (50, 50)])
def test_the_lesson_s_tiles_are_attention_py_s_backwards_too(defined, sizes):
    torch.manual_seed(0)
    q, k, v = (torch.randn(n, d).double().requires_grad_() for n, d in ((7, 4), (9, 4), (9, 3)))
    want, weights = scaled_dot_product_attention(q, k, v)
    with torch.no_grad():
        out = defined["tiled_attention"](q, k, v, *sizes)
        largest, total, _ = defined["pass_by"](q, k, v, sizes[1])
        lse = largest + total.log()
        torch.testing.assert_close(out, want, rtol=1e-12, atol=1e-14)
        again = (q @ k.T / 2 - lse).exp()
        torch.testing.assert_close(again, weights, rtol=1e-12, atol=1e-14)
    given = torch.randn(want.shape).double()
    wanted = torch.autograd.grad(want, (q, k, v), given)
    with torch.no_grad():
        got = defined["tiled_gradients"](q, k, v, out, lse, given, *sizes)
    torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-12)


def test_a_hidden_key_has_no_part_but_a_hidden_first_piece_loses_the_row(defined):
    state = torch.full((1, 1), -torch.inf), 0.0, 0.0
    values = torch.tensor([[1.0], [2.0]])
    _, total, mix = defined["take_in"](state, torch.tensor([[3.0, -torch.inf]]), values)
    assert (float(total), float(mix)) == (1, 1)
    _, total, _ = defined["take_in"](state, torch.full((1, 2), -torch.inf), values)
    assert total.isnan()


def test_in_16_bits_fused_attention_rounds_the_parts_alone(page, defined):
    """Made by hand in 32 bits, and once with e^(s - m) in 16: the page has both errors."""
    off = [numbers(line)[-1] for line in output(page, "accuracy").splitlines()]
    assert max(off[:3]) < 1.1 * min(off[:3]), "in 32 bits alike"
    three, *better = off[3:]
    assert max(better) < three
    torch.manual_seed(0)
    torch.randn(3, 1, 8, 1024, 64)  # the cell's first three are of 32 bits
    q, k, v = torch.randn(3, 1, 8, 1024, 64).bfloat16().float()
    parts = (q @ k.mT / 8).softmax(-1)
    parts = parts / parts.amax(-1, keepdim=True)  # e^(s - m)
    truth = (q.double() @ k.double().mT / 8).softmax(-1) @ v.double()
    total = parts.sum(-1, keepdim=True)
    outputs = [(p @ v / total).bfloat16() for p in (parts, parts.bfloat16().float())]
    by_hand = [(output - truth).abs().mean().item() for output in outputs]
    assert better == pytest.approx(by_hand, rel=0.03)
    heads = zip(*(part.bfloat16()[0] for part in (q, k, v)), strict=True)
    tiled = torch.stack([defined["tiled_attention"](*head, TILE, TILE) for head in heads])
    assert (tiled - truth).abs().mean() > 1.5 * three, "it rounds every sum"


def test_in_every_round_tiles_were_faster_than_the_whole_map_and_the_one_call_fastest():
    measured = json.loads((FOLDER / "measured.json").read_text(encoding="utf-8"))
    for n in (1024, 4096):
        rows = {row["way"]: row for row in measured["rows"] if row["length"] == n}
        fused, tiles, whole = (rows[way]["to_three"] for way in ("fused", "tiles", "whole"))
        assert max(fused) < min(tiles) <= max(tiles) < min(1, *whole)
        two_maps = 2 * 8 * n * n * 4 / 1e6
        assert two_maps <= rows["three"]["peak_mb"] < two_maps + 2
        result = 8 * n * D * 4 / 1e6
        assert max(rows[way]["peak_mb"] for way in ("tiles", "fused")) < result + 2


def test_the_function_s_mask_hides_most_tiles(page):
    text = torch.tensor([0] * 300 + [1] * 412 + [2] * 312)
    mask = (text[:, None] == text) & torch.ones(1024, 1024).bool().tril()
    hidden = ~mask.view(8, 128, 8, 128).any(3).any(1)
    assert numbers(output(page, "flex"))[-1] == round(100 * hidden.float().mean().item())
    assert numbers(output(page, "flex-equal"))[0] < 1e-6
