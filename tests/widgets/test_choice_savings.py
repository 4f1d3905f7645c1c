"""m15's second widget: what looking at everything costs, and a choice, by products and tensors."""

import pytest
import torch

from course.page.costs import Product
from tests.lessons.page_text import in_order
from tests.widgets.js import module

JS = module("choice-savings.js")
LENGTHS = JS.run("m.LENGTHS")
DATA = {"heads": 128, "numbers": 576, "bytes": 2, "cheapHeads": 64, "short": 128,
        "shortBytes": 1, "kept": 2048}  # fmt: skip


def nbytes(tokens, size, dtype):
    return torch.empty(tokens, size, dtype=dtype, device="meta").nbytes


@pytest.mark.parametrize("length", [256, 2048, 2304, 128000, 1048576])
def test_three_costs(length):
    told = JS.told("savings", DATA, {"length": LENGTHS.index(length)})
    few, unit = min(length, 2048), Product(64, 128, 1).flops
    full, cheap = (Product(128, 576, n).flops / unit for n in (length, few))
    latents, chosen = (nbytes(n, 576, torch.bfloat16) for n in (length, few))
    keys = nbytes(length, 128, torch.uint8)
    costs = {
        "work": [full, cheap + Product(64, 128, length).flops / unit],
        "fetched": [latents, chosen + keys],
        "room": [latents, latents + keys],
    }
    assert told["costs"] == costs
    assert told["saved"] == {part: all_ / few_ for part, (all_, few_) in costs.items()}
    assert in_order(told["says"], f"{length:,}", *(f"{x:,.0f}" for x in costs["work"]))


def test_a_choice_saves_nine_times_at_most_and_no_room():
    along = JS.call("savings", DATA, {"length": 0})["along"]
    assert {*LENGTHS, *(2**n for n in range(8, 21))} <= {one["tokens"] for one in along}
    work = [one["work"] for one in along]
    assert work == [one["fetched"] for one in along]
    assert all((one["work"] > 1) == (one["tokens"] > 2304) for one in along)
    assert work == sorted(work)
    assert 8.8 < work[-1] < 9
    assert {round(one["room"], 12) for one in along} == {0.9}


def test_each_step_doubles_but_for_two_lengths_of_the_page():
    doubled = [round(2**n) for n in range(8, 21)]
    assert [n for n in LENGTHS if n not in doubled] == [2304, 128000]
    assert [n for n in doubled if n not in LENGTHS] == [2**17]
    assert sorted(LENGTHS) == LENGTHS
