import math

import pytest
import torch

from analysis import entropy, gradient_times_input, integrated_gradients, rollout


def test_entropy_of_known_rows():
    rows = torch.tensor([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0.0] * 4])
    torch.testing.assert_close(entropy(rows, "bits"), torch.tensor([0.0, 2.0, 1.0, 0.0]))
    torch.testing.assert_close(entropy(rows), entropy(rows, "bits") * math.log(2))


def test_entropy_has_finite_gradients_at_0():
    scores = torch.tensor([[0.0, 200.0]], requires_grad=True)
    entropy(scores.softmax(-1)).sum().backward()
    assert not scores.grad.isnan().any()


@pytest.mark.parametrize(("keys", "is_exact"), [(16_384, True), (32_768, False)])
def test_entropy_in_float16_is_exact_until_weights_are_below_its_normal_numbers(keys, is_exact):
    even = torch.full((1, keys), 1 / keys)
    assert (abs(entropy(even.half()).item() - math.log(keys)) < 0.01) == is_exact
    assert entropy(even).item() == pytest.approx(math.log(keys), abs=1e-3)


def test_rollout_multiplies_the_layers_in_order():
    first, second = torch.rand(2, 4, 3, 5, 5, dtype=torch.float64).softmax(-1)
    eye = torch.eye(5, dtype=torch.float64)
    for residual in (0.0, 0.5, 1.0):
        one, two = (residual * eye + (1 - residual) * w.mean(1) for w in (first, second))
        torch.testing.assert_close(rollout([first, second], residual), two @ one)


def test_rollout_scales_rows_that_attend_to_nothing():
    weights = torch.eye(3)[None].clone()
    weights[0, 1] = 0
    torch.testing.assert_close(rollout([weights]), torch.eye(3))
    assert torch.equal(rollout([weights], residual=0.0), weights[0])


def test_gradient_times_input_is_the_slope_as_a_vector_gets_longer():
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)

    def answer(x):
        return (x @ x.mT).softmax(-1).mul(x.sum(-1, keepdim=True)).sum((-2, -1))

    with torch.no_grad():
        shares = gradient_times_input(answer, x)
        for word in range(4):
            longer, shorter = x.clone(), x.clone()
            longer[:, word] *= 1 + 1e-6
            shorter[:, word] *= 1 - 1e-6
            slope = (answer(longer) - answer(shorter)) / 2e-6
            torch.testing.assert_close(shares[:, word], slope, rtol=1e-6, atol=1e-8)
    assert x.grad is None, "the caller's tensors are left alone"


def test_integrated_gradients_sum_to_the_way_s_difference():
    x, start = torch.randn(2, 6, 3, 4, dtype=torch.float64)

    def answer(x):
        return (x.exp().sum(-1).log() ** 2).sum(-1)

    shares = integrated_gradients(answer, x, start, steps=200)
    torch.testing.assert_close(shares.sum(-1), answer(x) - answer(start), rtol=1e-4, atol=1e-4)
    # Of squares, from zeros, the integral is known: the square itself. The midpoint is exact.
    shares = integrated_gradients(lambda x: (x**2).sum((-2, -1)), x, torch.zeros_like(x), 1)
    torch.testing.assert_close(shares, (x**2).sum(-1))
    # A word that is where it started adds nothing, whatever the gradient there.
    start[:, 1:] = x[:, 1:]
    assert (integrated_gradients(answer, x, start, 5)[:, 1:] == 0).all()
