import functools
import math

import numpy as np
import pytest
import torch
from torch import nn

from positions import LearnedRelativeBias, Rotary, alibi_bias, sinusoidal_positions

from .inputs import on_devices
from .rotation import rotate_half, steps_of, turned

both_pairings = pytest.mark.parametrize("interleaved", [True, False])


@pytest.mark.parametrize("embed_dim", [1, 2, 7, 8])
def test_sinusoidal_by_the_formula(embed_dim):
    got = sinusoidal_positions(5, embed_dim, dtype=torch.float64)
    for p in range(5):
        for column in range(embed_dim):
            angle = p / 10000 ** ((column - column % 2) / embed_dim)
            want = math.cos(angle) if column % 2 else math.sin(angle)
            assert got[p, column].item() == pytest.approx(want, abs=1e-12)


# ---- Rotary positions ---------------------------------------------------------------------------


@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_rotate_half_is_llama_s(base):
    heads = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    rotary, neighbours = Rotary(8, base=base, interleaved=False), Rotary(8, base=base)
    torch.testing.assert_close(rotary(heads, 7), rotate_half(heads, torch.arange(7, 12), base))
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # neighbours, laid out as halves
    torch.testing.assert_close(rotary(heads[..., order], 7), neighbours(heads, 7)[..., order])
    assert (rotary(heads, 7) - neighbours(heads, 7)).abs().max() > 0.1


@both_pairings
def test_position_ids_say_where_each_token_stands(interleaved):
    rotary = Rotary(8, interleaved=interleaved)
    heads = torch.randn(2, 3, 4, 8, dtype=torch.float64)
    rows = torch.tensor([[0, 5, 2, 9], [3, 3, 0, 1]])
    got = rotary(heads, position_ids=rows)
    for b in range(2):
        for i in range(4):
            want = rotary(heads[b, :, i : i + 1], rows[b, i].item())
            torch.testing.assert_close(got[b, :, i : i + 1], want)
    one = torch.arange(6, 10)  # row of positions, for all sequences
    for ids in (one, one[None]):
        torch.testing.assert_close(rotary(heads, position_ids=ids), rotary(heads, 6))


@on_devices
def test_rotary_keeps_its_digits_far_out(device):
    heads = torch.randn(2, 3, 4, 16, device=device)
    far, half = Rotary(16)(heads, 100_000), Rotary(16).half()(heads.half(), 100_000)
    wide = Rotary(16)(heads.double(), 100_000)
    torch.testing.assert_close(far.double(), wide, rtol=1e-5, atol=1e-5)
    assert half.dtype == torch.half
    torch.testing.assert_close(half.double(), wide, rtol=2e-3, atol=2e-3)


ORIGINAL = {"factor": 4.0, "original_max_position_embeddings": 16}
SCALINGS = {
    "linear": {"factor": 4.0},
    "dynamic": ORIGINAL,
    "llama3": ORIGINAL | {"low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "yarn": ORIGINAL | {"beta_fast": 2, "beta_slow": 0.5, "truncate": False},
}


def published(kind, steps, length):
    """Scaled angles a step as the papers and Meta's code have them; the factor of cos and sin."""
    wavelength = 2 * math.pi / steps
    if kind == "linear":
        return steps / 4, 1.0
    if kind == "dynamic":
        return steps_of(8, 10000 * (4 * max(length, 16) / 16 - 3) ** (8 / 6)), 1.0
    if kind == "llama3":
        smooth = (16 / wavelength - 1.0) / (4.0 - 1.0)
        middle = (1 - smooth) * steps / 4 + smooth * steps
        out = torch.where(wavelength > 16 / 1.0, steps / 4, middle)
        return torch.where(wavelength < 16 / 4.0, steps, out), 1.0
    edge = [8 * math.log(16 / (n * 2 * math.pi)) / (2 * math.log(10000)) for n in (2, 0.5)]
    low, high = max(edge[0], 0), min(edge[1], 7)
    ramp = ((torch.arange(4).double() - low) / (high - low)).clamp(0, 1)
    return steps / 4 * ramp + steps * (1 - ramp), 0.1 * math.log(4) + 1


@pytest.mark.parametrize("length", [16, 30])
@pytest.mark.parametrize("by_ids", [False, True])
@pytest.mark.parametrize("kind", SCALINGS)
def test_scalings_by_their_published_formulas(kind, by_ids, length):
    heads = torch.randn(2, 3, length, 8, dtype=torch.float64)
    rotary = Rotary(8, interleaved=False, scaling={"rope_type": kind, **SCALINGS[kind]})
    got = rotary(heads, position_ids=torch.arange(length)) if by_ids else rotary(heads)
    steps, factor = published(kind, steps_of(8), length)
    torch.testing.assert_close(got, turned(heads, torch.arange(length), steps, factor))


@both_pairings
def test_a_part_is_turned_and_the_rest_is_left(interleaved):
    heads = torch.randn(2, 3, 5, 8)
    want = Rotary(4, base=100.0, interleaved=interleaved)(heads[..., :4], 7)
    config = {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}
    for options in ({"rotary_dim": 4, "base": 100.0}, {"scaling": config}):
        got = Rotary(8, interleaved=interleaved, **options)(heads, 7)
        assert torch.equal(got, torch.cat([want, heads[..., 4:]], -1))


def test_angles_are_kept_by_all_that_they_depend_on():
    heads = torch.randn(1, 2, 4, 8, dtype=torch.float64)
    yarn = {"rope_type": "yarn", **SCALINGS["yarn"]}
    kinds = [{}, {"base": 100.0}, {"interleaved": False}, {"scaling": yarn}, {"rotary_dim": 4}]
    dtypes = (torch.float64, torch.float32, torch.float16)
    for _ in range(2):  # made, then found again
        outputs = [Rotary(8, **kind)(heads.to(d), 3) for kind in kinds for d in dtypes]
        for i, one in enumerate(outputs):
            assert not any(torch.equal(one.double(), other.double()) for other in outputs[:i])


MODES = {  # by bases that no other test has
    11.0: lambda rotary, heads: torch.inference_mode()(rotary)(heads),
    12.0: lambda rotary, heads: torch.func.grad(lambda h: rotary(h).sum())(heads),
    13.0: lambda rotary, heads: torch.func.vmap(rotary)(heads),
}


@pytest.mark.parametrize("base", MODES)
def test_kept_angles_serve_every_mode(base):
    """Made under inference mode or a transform, they must serve training, and the other way."""
    heads, rotary = torch.randn(2, 3, 8), Rotary(8, base=base)
    MODES[base](rotary, heads)
    learns = heads.clone().requires_grad_()
    rotary(learns).sum().backward()
    assert learns.grad.isfinite().all()
    torch.testing.assert_close(torch.func.vmap(rotary)(heads), rotary(heads))


# ---- Biases -------------------------------------------------------------------------------------


def test_alibi_slopes_of_the_paper():
    bias = alibi_bias(8, 4)
    assert [-b.item() for b in bias[:, 1, 0]] == [2.0**-h for h in range(1, 9)]
    assert torch.equal(bias[0], -0.5 * (torch.arange(4) - torch.arange(4)[:, None]).abs())
    twelve = -alibi_bias(np.int64(12), 2)[:, 1, 0]
    want = [2.0**-h for h in range(1, 9)] + [2.0 ** -(h / 2) for h in (1, 3, 5, 7)]
    torch.testing.assert_close(twelve, torch.tensor(want))


def learned(heads, most):
    relative = LearnedRelativeBias(heads, most)
    nn.init.normal_(relative.table)
    return relative


def test_learned_bias_by_the_table():
    relative = learned(3, 2)
    bias = relative(6)
    for i in range(6):
        for j in range(6):
            column = max(-2, min(2, j - i)) + 2
            assert torch.equal(bias[:, i, j], relative.table[:, column])


@pytest.mark.parametrize("kind", ["alibi", "relative"])
def test_a_bias_aligns_the_ends_unless_queries_stand_elsewhere(kind):
    make = learned(4, 3) if kind == "relative" else functools.partial(alibi_bias, 4)
    whole = make(9)  # (H, 9, 9): each query at its own key
    assert torch.equal(make(2, 9), whole[:, -2:])
    stands = torch.tensor([[2, 3], [6, 7]])
    got = make(2, 9, position_ids=stands)  # (B, H, L, S)
    assert torch.equal(got, torch.stack([whole[:, row] for row in stands]))
    assert torch.equal(make(2, 9, position_ids=3), whole[:, 3:5])
