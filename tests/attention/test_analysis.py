import math

import pytest
import torch

from analysis import entropy, rollout


def test_entropy_of_known_rows():
    rows = torch.tensor([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0.0] * 4])
    torch.testing.assert_close(entropy(rows, "bits"), torch.tensor([0.0, 2.0, 1.0, 0.0]))
    torch.testing.assert_close(entropy(rows), entropy(rows, "bits") * math.log(2))
    assert entropy(torch.rand(2, 3, 4, 5).softmax(-1)).shape == (2, 3, 4)


def test_entropy_lies_between_0_and_the_logarithm_of_the_keys():
    rows = (10 * torch.randn(100, 7)).softmax(-1)
    assert (entropy(rows) >= 0).all()
    assert (entropy(rows) <= math.log(7) + 1e-6).all()


def test_entropy_has_finite_gradients_at_0():
    scores = torch.tensor([[0.0, 200.0]], requires_grad=True)
    entropy(scores.softmax(-1)).sum().backward()
    assert not scores.grad.isnan().any()


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


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: entropy(torch.rand(2, 2), "nits"), ValueError, "'nats' or 'bits', got 'nits'"),
        (lambda: entropy(torch.ones(2, 2).int()), TypeError, "floating dtype, got torch.int32"),
        (lambda: rollout([]), ValueError, "at least one layer, got none"),
        (lambda: rollout([torch.rand(1, 2, 2)], 1.5), ValueError, r"\[0, 1\], got 1.5"),
        (lambda: rollout([torch.rand(1, 2, 3)]), ValueError, r"got \[\(1, 2, 3\)\]"),
        (
            lambda: rollout([torch.rand(1, 2, 2), torch.rand(1, 3, 3)]),
            ValueError,
            r"got \[\(1, 2, 2\), \(1, 3, 3\)\]",
        ),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()
