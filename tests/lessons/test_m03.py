"""m03: its sentences against numbers computed here."""

import numpy as np
import torch

from tests.lessons.reading import numbers, output

PAGE = "modules/m03_scaled_dot_product/lesson.html"


def test_weights_equal_pytorchs(page):
    q = torch.tensor([[1, 0.5], [0, 2], [2, 1]], dtype=torch.float64)
    k = torch.tensor([[0, 1], [2, 0.5], [0.5, 1]], dtype=torch.float64)
    want = torch.softmax(q @ k.T / 2**0.5, dim=-1).numpy()
    shown, sums = output(page, "numpy").split("rows sum to")
    np.testing.assert_allclose(np.reshape(numbers(shown), (3, 3)), want, atol=5e-4)
    assert numbers(sums) == [1, 1, 1]


def test_the_sum_of_values_is_the_output(page):
    _, by_hand, product = output(page, "weighted-sum").splitlines()
    assert numbers(by_hand) == numbers(product) == [1.595, 0.67]


def test_three_implementations_agree(page):
    differences = numbers(output(page, "same").replace("attention.py − NumPy", ""))
    assert len(differences) == 2
    assert max(differences) < 1e-15


def test_the_worked_example_is_put_right(page):
    scaled, weights, unscaled = (
        numbers(line.split(":")[1]) for line in output(page, "worked").splitlines()
    )
    assert scaled == [0.19, 0.77, 0.28]
    assert weights == [0.258, 0.460, 0.282]
    assert unscaled == [0.001, 0.995, 0.004]


def test_shapes(page):
    lines = output(page, "shapes").splitlines()
    sizes = {line.split()[0]: line.split(")")[1].split()[0].replace(",", "") for line in lines}
    assert int(sizes["x"]) == 32 * 2048 * 4096
    assert int(sizes["q"]) == int(sizes["output"]) == 32 * 2048 * 128
    assert int(sizes["weights"]) == 32 * 2048 * 2048
    # "with the 32 heads that fit into 4,096 … 16 times as many numbers as the input"
    assert 32 * int(sizes["weights"]) == 16 * int(sizes["x"])


def test_the_claims_about_additive_scores(page):
    bound, limit = numbers(output(page, "additive").splitlines()[-1])
    assert bound <= limit
    # "For 1,024 words and vectors of 64 … 67 million numbers. The scores are one million."
    assert round(1024 * 1024 * 64 / 1e6) == 67
    assert round(1024 * 1024 / 1e6) == 1


def test_a_float_mask_hides_nothing_in_pytorch_and_is_refused_here(page):
    added, masked, refused = output(page, "mask").splitlines()
    assert numbers(added.split(":")[1]) != [-1, 1]
    assert numbers(masked.split(":")[1]) == [-1, 1]
    assert refused.startswith("TypeError: mask must be bool")


def test_the_answers_of_check_it(page):
    """Equal keys: thirds. A constant added to a row: nothing. Doubled values: doubled output."""
    q, k, v = (torch.randn(3, 2, dtype=torch.float64) for _ in range(3))
    same = torch.softmax(q @ k[:1].expand(3, 2).T, dim=-1)
    torch.testing.assert_close(same, torch.full((3, 3), 1 / 3, dtype=torch.float64))
    weights = torch.softmax(q @ k.T, dim=-1)
    torch.testing.assert_close(torch.softmax(q @ k.T + 5, dim=-1), weights)
    torch.testing.assert_close(weights @ (2 * v), 2 * (weights @ v))
