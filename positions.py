"""Where a token stands: four ways to tell attention, which by itself sees a set.

Positions align at the ends of query and key, as masks do in attention.py: of S keys, L queries
are the last ones. Sizes in shape comments are those of attention.py.
"""

import torch
from torch import Tensor, nn

from attention import Device, check_counts, check_tensor


def sinusoidal_positions(
    seq_len: int,
    embed_dim: int,
    *,
    base: float = 10000.0,
    dtype: torch.dtype | None = None,
    device: Device = None,
) -> Tensor:
    """Waves of growing length, to add to the embeddings.  Returns (L, E).

    PE(p, 2i) = sin(p / base^(2i/E)),  PE(p, 2i+1) = cos(p / base^(2i/E))
    (Vaswani et al. 2017, §3.5). An odd ``embed_dim`` ends in a sine without its cosine.
    """
    check_counts(seq_len=seq_len, embed_dim=embed_dim)
    angles = _angles(torch.arange(seq_len, device=device), embed_dim, base)  # (L, ⌈E / 2⌉)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (L, E or E + 1)
    return waves[:, :embed_dim].to(dtype or torch.get_default_dtype())


class Rotary(nn.Module):
    """Turn each pair of numbers of a query or key by an angle that grows with its position.

    A score then depends on the distance alone: ⟨R(m) q, R(n) k⟩ = ⟨q, R(n − m) k⟩
    (Su et al. 2021, eq. 16). It has no parameters.

    ``interleaved``: pairs are neighbours, 2i and 2i+1, as in the paper. Without it, pair i is i
    and i + D/2 ("rotate half"), as Llama's weights in Hugging Face's files and most models since
    expect (Meta's own files of Llama pair neighbours). Each is the other after a fixed reordering
    of a head's numbers, but weights fit only one of them.
    """

    def __init__(self, head_dim: int, *, base: float = 10000.0, interleaved: bool = True) -> None:
        super().__init__()
        check_counts(head_dim=head_dim)
        if head_dim % 2:
            raise ValueError(f"head_dim must be even, to make pairs; got {head_dim}")
        self.head_dim, self.base, self.interleaved = int(head_dim), base, interleaved

    def extra_repr(self) -> str:
        return f"{self.head_dim}, base={self.base}, interleaved={self.interleaved}"

    def forward(
        self, heads: Tensor, offset: int = 0, *, position_ids: Tensor | None = None
    ) -> Tensor:
        """heads (..., L, D) -> (..., L, D); ``offset``: how many tokens stand before them.

        ``position_ids`` (L,), or (B, L) for heads (B, H, L, D), replace the count from ``offset``.
        """
        if heads.ndim < 2 or heads.shape[-1] != self.head_dim:
            wanted = f"(..., length, head_dim={self.head_dim})"
            raise ValueError(f"heads must be {wanted}, got {tuple(heads.shape)}")
        # Angles are made anew in float64: a buffer would lose its digits with model.half().
        if position_ids is None:
            position_ids = torch.arange(offset, offset + heads.shape[-2], device=heads.device)
        angles = self._angles(position_ids, heads)  # (L, D/2) or (B, 1, L, D/2)
        wide = torch.promote_types(heads.dtype, torch.float32)
        cos, sin = angles.cos().to(wide), angles.sin().to(wide)
        if self.interleaved:
            first, second = heads.unflatten(-1, (-1, 2)).unbind(-1)  # (..., L, D/2)
        else:
            first, second = heads.chunk(2, dim=-1)
        turned = (first * cos - second * sin, first * sin + second * cos)
        if self.interleaved:
            return torch.stack(turned, dim=-1).flatten(-2).to(heads.dtype)
        return torch.cat(turned, dim=-1).to(heads.dtype)

    def _angles(self, position_ids: Tensor, heads: Tensor) -> Tensor:
        check_tensor("position_ids", position_ids)
        if position_ids.device != heads.device:
            devices = f"heads {heads.device}, position_ids {position_ids.device}"
            raise ValueError(f"device differs: {devices}")
        shape, wanted = tuple(position_ids.shape), (*heads.shape[:-3], heads.shape[-2])
        if shape not in (wanted, wanted[-1:], (1, *wanted[-1:])):
            raise ValueError(f"position_ids must be {wanted[-1:]} or {wanted}, got {shape}")
        angles = _angles(position_ids, self.head_dim, self.base)
        return angles if len(shape) == 1 else angles.unsqueeze(-3)  # the same for all heads


def _angles(positions: Tensor, size: int, base: float) -> Tensor:
    """position / base^(2i / size), (..., L) -> (..., L, ⌈size / 2⌉), in float64 where there is."""
    dtype = torch.float32 if positions.device.type == "mps" else torch.float64
    steps = torch.arange(0, size, 2, dtype=dtype, device=positions.device)
    return positions.to(dtype)[..., None] * base ** (-steps / size)


def alibi_bias(
    num_heads: int,
    query_len: int,
    key_len: int | None = None,
    *,
    position_ids: int | Tensor | None = None,
    dtype: torch.dtype | None = None,
    device: Device = None,
) -> Tensor:
    """A penalty for distance, a different one for each head, for ``bias=``.  Returns (H, L, S).

    bias(i, j) = −slope_h · |i − j|,  slope_h = 2^(−8h / H), h = 1 … H       (Press et al. 2022)

    Where H isn't a power of two, the slopes are those of the power below, then every second one
    of the power above, as in the paper's code.

    ``position_ids``: where the queries stand, if not at the end: the first one's, or (B, L), which
    gives (B, H, L, S). With a RaggedKVCache it is ``cache.place(query_len).positions``.
    """
    check_counts(num_heads=num_heads)
    num_heads = int(num_heads)  # NumPy's integers have no bit_length
    whole = 2 ** (num_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * h / whole) for h in range(1, whole + 1)]
    slopes += [2.0 ** (-4 * h / whole) for h in range(1, 2 * whole, 2)][: num_heads - whole]
    dtype = dtype or torch.get_default_dtype()
    wide = torch.promote_types(dtype, torch.float32)
    distance = _distance(query_len, key_len, device, position_ids).abs().unsqueeze(-3).to(wide)
    slope = torch.tensor(slopes, dtype=wide, device=device)[:, None, None]
    return (-slope * distance).to(dtype)


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

    def forward(
        self,
        query_len: int,
        key_len: int | None = None,
        *,
        position_ids: int | Tensor | None = None,
    ) -> Tensor:
        """(H, L, S); column ``max_distance`` of the table is a query's own position.

        ``position_ids`` as in ``alibi_bias``: (B, L) gives (B, H, L, S).
        """
        most = self.max_distance
        distance = _distance(query_len, key_len, self.table.device, position_ids)
        return self.table[:, distance.clamp(-most, most) + most].movedim(0, -3)


def _distance(
    query_len: int, key_len: int | None, device: Device, position_ids: int | Tensor | None = None
) -> Tensor:
    """Key position minus query position, (L, S) or (B, L, S); without positions the ends align."""
    key_len = query_len if key_len is None else key_len
    check_counts(query_len=query_len, key_len=key_len)
    first = key_len - query_len if position_ids is None else position_ids
    if isinstance(first, Tensor):
        if first.ndim != 2 or first.shape[-1] != query_len:
            raise ValueError(f"position_ids must be (B, {query_len}), got {tuple(first.shape)}")
        queries = first.to(device)
    else:
        queries = torch.arange(first, first + query_len, device=device)
    return torch.arange(key_len, device=queries.device) - queries[..., None]
