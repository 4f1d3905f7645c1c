"""Rotary positions once more, by the formula of Llama's published code."""

import torch


def turned(heads, positions, steps, factor=1.0):
    """Rotate half, as Llama's published code has it, in float64, by ``steps`` (D/2,) a position."""
    D = heads.shape[-1]
    angles = positions.double()[..., None] * steps
    angles = torch.cat([angles, angles], -1)
    partner = torch.cat([-heads[..., D // 2 :], heads[..., : D // 2]], -1)
    return factor * (heads * angles.cos() + partner * angles.sin())


def steps_of(size, base=10000.0):
    return 1.0 / base ** (torch.arange(0, size, 2).double() / size)


def rotate_half(heads, positions, base):
    return turned(heads, positions, steps_of(heads.shape[-1], base))
