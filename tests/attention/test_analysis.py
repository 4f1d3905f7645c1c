import math

import pytest
import torch

from analysis import entropy, gradient_times_input, integrated_gradients, rollout


def test_entropy_of_known_rows():
    rows = torch.tensor([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0.0] * 4])
    torch.testing.assert_close(entropy(rows, "bits"), torch.tensor([0.0, 2.0, 1.0, 0.0]))
    torch.testing.assert_close(entropy(rows), entropy(rows, "bits") * math.log(2))
    assert entropy(torch.rand(2, 3, 4, 5).softmax(-1)).shape == (2, 3, 4)


def test_entropy_has_finite_gradients_at_0():
    scores = torch.tensor([[0.0, 200.0]], requires_grad=True)
    entropy(scores.softmax(-1)).sum().backward()
    assert not scores.grad.isnan().any()


def test_entropy_in_float16_is_that_of_float32_until_weights_are_below_its_normal_numbers():
    for keys, is_exact in ((16_384, True), (32_768, False)):
        even = torch.full((1, keys), 1 / keys)
        nats = entropy(even.half()).item()
        assert (abs(nats - math.log(keys)) < 0.01) == is_exact
        assert entropy(even).item() == pytest.approx(math.log(keys), abs=1e-3)


def test_rollout_multiplies_the_layers_in_order():
    first, second = torch.rand(2, 4, 3, 5, 5, dtype=torch.float64).softmax(-1)
    eye = torch.eye(5, dtype=torch.float64)
    want = (0.5 * eye + 0.5 * second.mean(1)) @ (0.5 * eye + 0.5 * first.mean(1))
    torch.testing.assert_close(rollout([first, second]), want)
    torch.testing.assert_close(rollout([first, second]).sum(-1), torch.ones(4, 5).double())
    torch.testing.assert_close(rollout([first], residual=0.0), first.mean(1))
    assert torch.equal(rollout([first, second], residual=1.0), eye.expand(4, 5, 5))


def test_rollout_scales_rows_that_attend_to_nothing():
    weights = torch.eye(3)[None].clone()
    weights[0, 1] = 0
    torch.testing.assert_close(rollout([weights]), torch.eye(3))
    assert torch.equal(rollout([weights], residual=0.0), weights[0])


def of_squares(x):
    return (x**2).sum((-2, -1))


def test_gradient_times_input_is_the_slope_as_a_vector_gets_longer():
    x = torch.randn(3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def answer(x):
        return (x @ x.mT).softmax(-1).mul(x.sum(-1, keepdim=True)).sum((-2, -1))

    for word in range(4):
        longer, shorter = x.clone(), x.clone()
        longer[:, word] *= 1 + 1e-6
        shorter[:, word] *= 1 - 1e-6
        slope = (answer(longer) - answer(shorter)) / 2e-6
        torch.testing.assert_close(
            gradient_times_input(answer, x)[:, word], slope, rtol=1e-6, atol=1e-8
        )


def test_linear_answers_are_shared_out_exactly():
    x, w = torch.randn(2, 3, 4), torch.randn(3, 4)
    shares = gradient_times_input(lambda x: (x * w).sum((-2, -1)) + 7, x)
    torch.testing.assert_close(shares, (x * w).sum(-1))


def test_integrated_gradients_sum_to_the_way_s_difference():
    generator = torch.Generator().manual_seed(0)
    x, start = torch.randn(2, 6, 3, 4, dtype=torch.float64, generator=generator)

    def answer(x):
        return (x.exp().sum(-1).log() ** 2).sum(-1)

    shares = integrated_gradients(answer, x, start, steps=200)
    torch.testing.assert_close(shares.sum(-1), answer(x) - answer(start), rtol=1e-4, atol=1e-4)
    # Of squares, from zeros, the integral is known: the square itself. The midpoint is exact.
    zeros = torch.zeros_like(x)
    torch.testing.assert_close(integrated_gradients(of_squares, x, zeros, 1), (x**2).sum(-1))
    # A word that is where it started adds nothing, whatever the gradient there.
    start = x.clone()
    start[:, 0] = 0
    assert (integrated_gradients(answer, x, start, 5)[:, 1:] == 0).all()


def test_attributions_leave_the_caller_s_tensors_alone():
    x = torch.randn(2, 3, requires_grad=True)
    with torch.no_grad():
        gradient_times_input(of_squares, x)
    assert x.grad is None
