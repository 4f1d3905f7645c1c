import functools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attention import MultiHeadAttention
from positions import LearnedRelativeBias, Rotary, alibi_bias, sinusoidal_positions

from .inputs import DEVICES


@pytest.mark.parametrize("embed_dim", [1, 2, 7, 8])
def test_sinusoidal_by_the_formula(embed_dim):
    got = sinusoidal_positions(5, embed_dim, dtype=torch.float64)
    for p in range(5):
        for column in range(embed_dim):
            angle = p / 10000 ** ((column - column % 2) / embed_dim)
            want = math.cos(angle) if column % 2 else math.sin(angle)
            assert got[p, column].item() == pytest.approx(want, abs=1e-12)


def test_a_shift_is_one_linear_map_for_all_positions():
    waves = sinusoidal_positions(30, 8, dtype=torch.float64)
    solution = torch.linalg.lstsq(waves[:20], waves[3:23]).solution
    torch.testing.assert_close(waves[7:27] @ solution, waves[10:30])


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 300))
def test_rotary_scores_depend_on_the_distance_alone(m, n, shift):
    rotary = Rotary(8)
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 1, 8, generator=generator, dtype=torch.float64)
    score = (rotary(q, m) * rotary(k, n)).sum()
    shifted = (rotary(q, m + shift) * rotary(k, n + shift)).sum()
    torch.testing.assert_close(score, shifted)


def test_rotary_turns_a_pair_by_its_angle():
    out = Rotary(2)(torch.tensor([[1.0, 0.0]]).double(), offset=3)
    torch.testing.assert_close(out, torch.tensor([[math.cos(3), math.sin(3)]]).double())
    slow = Rotary(4)(torch.tensor([[0.0, 0.0, 0.0, 1.0]]).double(), offset=50)
    want = [0.0, 0.0, -math.sin(0.5), math.cos(0.5)]  # 50 / 10000^(2/4)
    torch.testing.assert_close(slow, torch.tensor([want]).double())


def rotate_half(heads, positions, base):
    """Rotary positions as Llama's published code has them, in float64."""
    D = heads.shape[-1]
    frequencies = 1.0 / base ** (torch.arange(0, D, 2).double() / D)
    angles = positions.double()[..., None] * frequencies
    angles = torch.cat([angles, angles], -1)
    turned = torch.cat([-heads[..., D // 2 :], heads[..., : D // 2]], -1)
    return heads * angles.cos() + turned * angles.sin()


@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_rotate_half_is_llama_s(base):
    heads = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    rotary, neighbours = Rotary(8, base=base, interleaved=False), Rotary(8, base=base)
    torch.testing.assert_close(rotary(heads, 7), rotate_half(heads, torch.arange(7, 12), base))
    assert (rotary(heads, 7) - neighbours(heads, 7)).abs().max() > 0.1
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # neighbours, laid out as halves
    torch.testing.assert_close(rotary(heads[..., order], 7), neighbours(heads, 7)[..., order])
    assert "interleaved=False" in repr(rotary)


@pytest.mark.parametrize("interleaved", [True, False])
def test_position_ids_say_where_each_token_stands(interleaved):
    rotary = Rotary(8, interleaved=interleaved)
    heads = torch.randn(2, 3, 4, 8, dtype=torch.float64)
    rows = torch.tensor([[0, 5, 2, 9], [3, 3, 0, 1]])
    got = rotary(heads, position_ids=rows)
    for b in range(2):
        for i in range(4):
            want = rotary(heads[b, :, i : i + 1], rows[b, i].item())
            torch.testing.assert_close(got[b, :, i : i + 1], want)
    torch.testing.assert_close(rotary(heads, position_ids=torch.arange(6, 10)), rotary(heads, 6))


@pytest.mark.parametrize("device", DEVICES)
def test_rotary_keeps_lengths_and_digits_far_out(device):
    heads = torch.randn(2, 3, 4, 16, device=device)
    far = Rotary(16)(heads, offset=100_000)
    torch.testing.assert_close(far.norm(dim=-1), heads.norm(dim=-1))
    wide = Rotary(16)(heads.double(), offset=100_000)
    torch.testing.assert_close(far.double(), wide, rtol=1e-5, atol=1e-5)
    assert Rotary(16).half()(heads.half(), 100_000).dtype == torch.half


def test_alibi_slopes_of_the_paper():
    bias = alibi_bias(8, 4)
    assert [-b.item() for b in bias[:, 1, 0]] == [2.0**-h for h in range(1, 9)]
    assert (bias.diagonal(dim1=-2, dim2=-1) == 0).all()
    twelve = -alibi_bias(np.int64(12), 2)[:, 1, 0]
    want = [2.0**-h for h in range(1, 9)] + [2.0 ** -(h / 2) for h in (1, 3, 5, 7)]
    torch.testing.assert_close(twelve, torch.tensor(want))


def test_relative_positions_align_the_ends():
    assert torch.equal(alibi_bias(2, 1, 5), alibi_bias(2, 5)[:, -1:])
    relative = LearnedRelativeBias(2, 3)
    torch.nn.init.normal_(relative.table)
    assert torch.equal(relative(2, 5), relative(5)[:, -2:])


def test_learned_bias_by_the_table():
    relative = LearnedRelativeBias(3, 2)
    torch.nn.init.normal_(relative.table)
    bias = relative(6)
    for i in range(6):
        for j in range(6):
            column = max(-2, min(2, j - i)) + 2
            assert torch.equal(bias[:, i, j], relative.table[:, column])


def test_each_breaks_equivariance_and_trains():
    x = torch.randn(1, 6, 16)
    order = torch.tensor([5, 3, 1, 0, 2, 4])
    plain = MultiHeadAttention(16, 4)
    torch.testing.assert_close(plain(x)[:, order], plain(x[:, order]), rtol=1e-4, atol=1e-5)
    turned = MultiHeadAttention(16, 4, rotary=Rotary(4))
    assert not torch.allclose(turned(x)[:, order], turned(x[:, order]), atol=1e-3)
    bias = alibi_bias(4, 6)
    assert not torch.allclose(
        plain(x, bias=bias)[:, order], plain(x[:, order], bias=bias), atol=1e-3
    )
    relative = LearnedRelativeBias(4, 3)
    plain(x, bias=relative(6)).square().sum().backward()
    assert relative.table.grad.abs().max() > 0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Rotary(7), ValueError, "head_dim must be even, to make pairs; got 7"),
        (lambda: Rotary(8)(torch.randn(2, 6)), ValueError, r"head_dim=8\), got \(2, 6\)"),
        (
            lambda: Rotary(8)(torch.randn(2, 3, 6, 8), position_ids=torch.arange(5)),
            ValueError,
            r"position_ids must be \(6,\) or \(2, 6\), got \(5,\)",
        ),
        (
            lambda: Rotary(8)(torch.randn(2, 8), position_ids=torch.arange(2, device="meta")),
            ValueError,
            "device differs: heads cpu, position_ids meta",
        ),
        (
            lambda: Rotary(8)(torch.randn(2, 8), position_ids=[0, 1]),
            TypeError,
            "position_ids must be a tensor, got list",
        ),
        (lambda: sinusoidal_positions(0, 4), ValueError, "seq_len must be at least 1, got 0"),
        (lambda: alibi_bias(2.0, 4), TypeError, "num_heads must be an int, got 2.0"),
        (lambda: LearnedRelativeBias(2, 0), ValueError, "max_distance must be at least 1, got 0"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("kind", ["alibi", "relative"])
def test_a_bias_for_queries_that_stand_apart(kind):
    relative = LearnedRelativeBias(4, 3)
    nn.init.normal_(relative.table)
    make = relative if kind == "relative" else functools.partial(alibi_bias, 4)
    whole = make(9)  # (H, 9, 9): each query at its own key
    stands = torch.tensor([[2, 3], [6, 7]])
    got = make(2, 9, position_ids=stands)  # (B, H, L, S)
    assert torch.equal(got, torch.stack([whole[:, row] for row in stands]))
    assert torch.equal(make(2, 9, position_ids=3), whole[:, 3:5])
    with pytest.raises(ValueError, match=r"position_ids must be \(B, 3\), got \(2, 2\)"):
        make(3, 9, position_ids=stands)


def test_one_row_of_positions_serves_all_sequences():
    heads, stands = torch.randn(3, 2, 4, 8), torch.tensor([[5, 6, 9, 1]])
    rotary = Rotary(8)
    assert torch.equal(rotary(heads, position_ids=stands), rotary(heads, position_ids=stands[0]))
