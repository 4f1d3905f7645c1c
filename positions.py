"""Where a token stands: four ways to tell attention, which by itself sees a set.

Positions align at the ends of query and key, as masks do in attention.py: of S keys, L queries
are the last ones. Sizes in shape comments are those of attention.py.
"""

import torch
from torch import Tensor, nn

from attention import Device, check_counts


def sinusoidal_positions(
    seq_len: int, embed_dim: int, *, base: float = 10000.0,
    dtype: torch.dtype | None = None, device: Device = None,
) -> Tensor:  # fmt: skip
    """Waves of growing length, to add to the embeddings.  Returns (L, E).

    PE(p, 2i) = sin(p / base^(2i/E)),  PE(p, 2i+1) = cos(p / base^(2i/E))
    (Vaswani et al. 2017, §3.5). An odd ``embed_dim`` ends in a sine without its cosine.
    """
    check_counts(seq_len=seq_len, embed_dim=embed_dim)
    angles = _angles(seq_len, embed_dim, base, 0, device)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (L, E or E + 1)
    return waves[:, :embed_dim].to(dtype or torch.get_default_dtype())


class Rotary(nn.Module):
    """Turn each pair of numbers of a query or key by an angle that grows with its position.

    A score then depends on the distance alone: ⟨R(m) q, R(n) k⟩ = ⟨q, R(n − m) k⟩
    (Su et al. 2021, eq. 16; pairs are neighbours, 2i and 2i+1). It has no parameters.
    """

    def __init__(self, head_dim: int, *, base: float = 10000.0) -> None:
        super().__init__()
        check_counts(head_dim=head_dim)
        if head_dim % 2:
            raise ValueError(f"head_dim must be even, to make pairs; got {head_dim}")
        self.head_dim, self.base = head_dim, base

    def forward(self, heads: Tensor, offset: int = 0) -> Tensor:
        """heads (..., L, D) -> (..., L, D); ``offset``: how many tokens stand before them."""
        if heads.ndim < 2 or heads.shape[-1] != self.head_dim:
            wanted = f"(..., length, head_dim={self.head_dim})"
            raise ValueError(f"heads must be {wanted}, got {tuple(heads.shape)}")
        # Angles are made anew in float64: a buffer would lose its digits with model.half().
        angles = _angles(heads.shape[-2], self.head_dim, self.base, offset, heads.device)
        wide = torch.promote_types(heads.dtype, torch.float32)
        cos, sin = angles.cos().to(wide), angles.sin().to(wide)  # (L, D/2)
        even, odd = heads.unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return turned.flatten(-2).to(heads.dtype)


def _angles(length: int, size: int, base: float, offset: int, device: Device) -> Tensor:
    """position / base^(2i / size), (length, ⌈size / 2⌉), float64."""
    steps = torch.arange(0, size, 2, dtype=torch.float64, device=device)
    positions = torch.arange(offset, offset + length, dtype=torch.float64, device=device)
    return positions[:, None] * base ** (-steps / size)


def alibi_bias(
    num_heads: int, query_len: int, key_len: int | None = None, *,
    dtype: torch.dtype | None = None, device: Device = None,
) -> Tensor:  # fmt: skip
    """A penalty for distance, a different one for each head, for ``bias=``.  Returns (H, L, S).

    bias(i, j) = −slope_h · |i − j|,  slope_h = 2^(−8h / H), h = 1 … H       (Press et al. 2022)

    Where H isn't a power of two, the slopes are those of the power below, then every second one
    of the power above, as in the paper's code.
    """
    check_counts(num_heads=num_heads)
    whole = 2 ** (num_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * h / whole) for h in range(1, whole + 1)]
    slopes += [2.0 ** (-4 * h / whole) for h in range(1, 2 * whole, 2)][: num_heads - whole]
    distance = _distance(query_len, key_len, device).abs()
    slope = torch.tensor(slopes, dtype=torch.float64, device=device)[:, None, None]
    return (-slope * distance).to(dtype or torch.get_default_dtype())


class LearnedRelativeBias(nn.Module):
    """A learned number for each head and distance, for ``bias=``.

    Distances beyond ``max_distance`` share its number (clipping: Shaw et al. 2018; one number a
    distance, added to the score: Raffel et al. 2020, without its buckets). It starts at 0.
    """

    def __init__(self, num_heads: int, max_distance: int) -> None:
        super().__init__()
        check_counts(num_heads=num_heads, max_distance=max_distance)
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, query_len: int, key_len: int | None = None) -> Tensor:
        """(H, L, S); column ``max_distance`` of the table is a query's own position."""
        most = self.max_distance
        distance = _distance(query_len, key_len, self.table.device)
        return self.table[:, distance.clamp(-most, most) + most]


def _distance(query_len: int, key_len: int | None, device: Device) -> Tensor:
    """Key position minus query position, (L, S), the ends aligned."""
    key_len = query_len if key_len is None else key_len
    check_counts(query_len=query_len, key_len=key_len)
    queries = torch.arange(key_len - query_len, key_len, device=device)
    return torch.arange(key_len, device=device) - queries[:, None]
