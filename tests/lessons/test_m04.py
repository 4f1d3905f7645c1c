"""m04: its sentences against numbers computed here."""

import math
import re

import numpy as np
import pytest
import torch

from analysis import entropy
from attention import scaled_dot_product_attention
from tests.lessons.reading import numbers, output

PAGE = "modules/m04_softmax_and_scale/lesson.html"


@pytest.fixture(scope="module")
def random_rows():
    """{d_k: scores (rows, 8)} of fresh draws, not those of the page."""
    rng = torch.Generator().manual_seed(99)

    def scores(d_k, rows=4000):
        q, k = (torch.randn(rows, n, d_k, generator=rng) for n in (1, 8))
        return (q @ k.mT).squeeze(1).double()

    return {d_k: scores(d_k) for d_k in (64, 512)}


def jacobian_norms(scores):
    weights = scores.softmax(-1)
    jacobians = torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
    return jacobians.flatten(-2).norm(dim=-1)


# ---- F17: variance -----------------------------------------------------------------------------


def test_the_variance_is_d_k(page):
    lines = output(page, "variance").splitlines()
    assert [int(numbers(line)[0]) for line in lines] == [8, 32, 128, 512, 2048]
    for line in lines:
        d_k, variance, divided, length = numbers(line)
        assert variance == pytest.approx(d_k, rel=0.08)  # four times its own standard error
        assert divided == pytest.approx(variance / d_k, abs=0.0051)
        assert length == pytest.approx(math.sqrt(d_k), rel=0.05)  # Gaussian, and so not unit


def test_unit_vectors_would_have_a_variance_of_one_over_d_k():
    q, k = torch.randn(2, 20_000, 64, generator=torch.Generator().manual_seed(1))
    unit = torch.nn.functional.normalize(q, dim=-1), torch.nn.functional.normalize(k, dim=-1)
    assert (unit[0] * unit[1]).sum(-1).var().item() == pytest.approx(1 / 64, rel=0.05)


def test_nothing_is_clipped_from_the_histograms(site):
    """Every column's shape ends at both ends of its axis: the bins reach the largest product."""
    source = (site.parent / "modules/m04_softmax_and_scale/lesson.qmd").read_text("utf-8")
    assert "limit = max(np.abs(s).max() for s in drawn.values())" in source
    assert "bins=np.linspace(-limit, limit, 81)" in source
    assert "set_xlim" not in source


def test_the_answer_to_the_prediction(page, random_rows):
    answers = page.select("#predict-largest .callout-tip li")
    raw = random_rows[64].softmax(-1).max(-1).values.mean().item()
    divided = (random_rows[64] / 8).softmax(-1).max(-1).values.mean().item()
    assert numbers(answers[2].get_text())[0] == 0.87 == pytest.approx(raw, abs=0.01)
    assert numbers(answers[1].get_text())[0] == 0.36 == pytest.approx(divided, abs=0.01)
    assert round(math.exp(3)) == 20


# ---- F19: the Jacobian, and what reaches the queries -------------------------------------------


def test_the_jacobian_is_autograds(page):
    lines = output(page, "jacobian").splitlines()
    for line, scores in zip(lines, ([1, 0.5, 0.5], [10, 1, 1]), strict=True):
        *shown, norm, off = numbers(line.replace("off by", ""))
        assert shown == scores
        assert norm == pytest.approx(jacobian_norms(torch.tensor(scores).double()).item(), abs=5e-7)
        assert off < 1e-15


def test_the_jacobians_norm_is_at_most_a_half():
    scores = torch.randn(100_000, 8, generator=torch.Generator().manual_seed(2)).double() * 20
    assert jacobian_norms(scores).max() <= 0.5
    assert jacobian_norms(torch.tensor([0.0, 0.0, -1e3])).item() == pytest.approx(0.5)


def test_most_queries_learn_next_to_nothing_and_a_few_in_jolts(page):
    divided, raw = (numbers(line.split("tenth", 1)[1]) for line in
                    output(page, "backward").splitlines())  # fmt: skip
    low, middle, high = 0, 1, 2
    assert raw[low] < 1e-8 < 1 < divided[low]  # "practically nothing"
    assert raw[middle] < divided[middle] / 100  # "less than a hundredth"
    assert raw[high] > 4 * divided[high]  # "far more"


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
    assert found[1.0].median() < found[512**-0.5].median() / 100
    assert found[1.0].quantile(0.9) > 4 * found[512**-0.5].quantile(0.9)


# ---- F18: the two maps -------------------------------------------------------------------------


def test_the_unscaled_map_is_one_hot_and_the_scaled_is_not(page):
    q, k = torch.randn(2, 5, 512, generator=torch.Generator().manual_seed(1))
    raw, divided = (scaled_dot_product_attention(q, k, k, scale=s)[1] for s in (1.0, None))
    assert raw.max(-1).values.min() > 0.99  # "every row is a 1 among zeros"
    assert divided.min() > 0.005
    assert divided.max() < 0.85
    assert page.select_one("#fig-maps img")["alt"].startswith("Two 5 by 5 maps")


# ---- F21: temperature and entropy --------------------------------------------------------------


def test_the_limits():
    scores = torch.tensor([[0.3, 1.1, -0.4, 1.1]]).double()
    zero, infinite = (scores / 1e-6).softmax(-1), (scores / 1e6).softmax(-1)
    torch.testing.assert_close(zero, torch.tensor([[0, 0.5, 0, 0.5]]).double())
    torch.testing.assert_close(infinite, torch.full((1, 4), 0.25).double(), atol=1e-6, rtol=0)


def test_one_tenth_need_not_be_one_hot(page):
    row = np.array([1.0, 0.2, 0.1, 0.1, 0.9, 0.1]) / 0.1
    want = np.exp(row) / np.exp(row).sum()
    assert numbers(output(page, "not-one-hot")) == pytest.approx(want, abs=5.1e-4)
    assert want.max() < 0.75


def test_entropies_of_one_row_at_three_temperatures(page):
    lines = output(page, "temperatures").splitlines()
    scores = np.array([0, 5, 0, -2, 0, 1]) / 2  # the query of sat with each key, over √4
    for line, temperature in zip(lines, (0.5, 1, 2), strict=True):
        shown, *row, nats, bits = numbers(line)
        want = np.exp(scores / temperature) / np.exp(scores / temperature).sum()
        assert shown == temperature
        assert row == pytest.approx(want, abs=5.1e-4)
        assert nats == pytest.approx(-(want * np.log(want)).sum(), abs=5.1e-4)
        assert bits == pytest.approx(-(want * np.log2(want)).sum(), abs=5.1e-4)


def test_what_is_said_of_units(page):
    said = page.select_one("#sec-entropy").get_text()
    assert "1/ln 2" in said or "ln" in said
    assert f"{math.log(6):.2f} nats" in said
    assert f"{math.log2(6):.2f} bits" in said
    assert entropy(torch.tensor([0.5, 0.5]), unit="bits").item() == pytest.approx(1)
    assert round(1 / math.log(2), 2) == 1.44


# ---- F20: stability, and half precision --------------------------------------------------------


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
    for line, dtype in zip(lines, (torch.float16, torch.bfloat16), strict=True):
        limit, raw, divided = numbers(line.split("above")[1])
        assert limit == pytest.approx(math.log(torch.finfo(dtype).max), abs=0.0051)
        assert raw > 10 * divided > 0
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


# ---- Dropout, the bug hunt, and what is asked --------------------------------------------------


def test_rows_sum_to_1_before_dropout_only(page):
    returned, dropped = map(numbers, output(page, "dropout").splitlines())
    assert returned == [1, 1, 1, 1]
    assert max(dropped) > 1.2
    assert min(dropped) < 0.8


def test_the_bug_is_found_by_length_alone(page):
    shown, right = numbers(output(page, "bug-check"))
    assert right < shown <= 10 == math.log2(1024)
    q, k = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(5))
    scores = q @ k.mT
    assert scores.shape[-1] == k.shape[-1]  # "with 64 keys the two are equal, and hide it"


def test_the_answers_of_check_it():
    assert math.sqrt(256 / 64) == 2
    scores = torch.randn(5, generator=torch.Generator().manual_seed(6)).double()
    torch.testing.assert_close((2 * scores / 2).softmax(-1), scores.softmax(-1))
    assert math.log2(4) == 2


def test_the_citations_are_listed(page):
    listed = page.select_one("#refs").get_text()
    assert all(re.search(name, listed) for name in ("Vaswani", "Hinton", "Blanchard"))
