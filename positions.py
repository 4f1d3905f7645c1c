"""Four ways to give attention the positions of tokens; by itself it sees a set.

Positions align at the ends of query and key, as masks do in attention.py: of S keys, L queries
are the last ones. Sizes in shape comments are those of attention.py.
"""

import functools
import math
from collections.abc import Mapping

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

    A score then depends only on the distance (except for rope_type "dynamic", whose angles depend
    on the length): ⟨R(m) q, R(n) k⟩ = ⟨q, R(n − m) k⟩
    (Su et al. 2021, eq. 16). It has no parameters.

    ``interleaved``: pairs are neighbours, 2i and 2i+1, as in the paper. Without it, pair i is i
    and i + D/2 ("rotate half"), as Llama's weights in Hugging Face's files and most models since
    expect (Meta's own files of Llama pair neighbours). Each is the other after a fixed reordering
    of a head's numbers, but weights fit only one of them.

    ``rotary_dim``: only so many numbers of a head are turned, the first ones (partial rotary:
        Phi, GPT-NeoX). ``scaling``: for texts longer than those in training, a model's own
        ``rope_parameters`` (``rope_scaling``), see ``scaled_frequencies``; its ``rope_theta`` and
        ``partial_rotary_factor``, if it has them, replace ``base`` and ``rotary_dim``.
    """

    def __init__(
        self,
        head_dim: int,
        *,
        base: float = 10000.0,
        interleaved: bool = True,
        rotary_dim: int | None = None,
        scaling: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        check_counts(head_dim=head_dim)
        scaling = {"rope_type": "default", **(scaling or {})}
        if rotary_dim is None:
            rotary_dim = int(head_dim * (scaling.get("partial_rotary_factor") or 1.0))
        name = "head_dim" if rotary_dim == head_dim else "rotary_dim"
        check_counts(**{name: rotary_dim})
        if rotary_dim % 2 or rotary_dim > head_dim:
            most = "" if name == "head_dim" else f" and at most {head_dim=}"
            raise ValueError(f"{name} must be even, to make pairs{most}; got {rotary_dim}")
        self.head_dim, self.rotary_dim, self.interleaved = (
            int(head_dim),
            int(rotary_dim),
            interleaved,
        )
        self.base, self.scaling = scaling.get("rope_theta") or base, scaling
        scaled_frequencies(self.rotary_dim, self.base, scaling)  # refuses what it doesn't know
        plain = (item for item in scaling.items() if isinstance(item[1], (str, int, float)))
        self._kind = (self.rotary_dim, self.base, interleaved, tuple(sorted(plain)))

    def extra_repr(self) -> str:
        text = f"{self.head_dim}, base={self.base}, interleaved={self.interleaved}"
        if self.rotary_dim < self.head_dim:
            text += f", rotary_dim={self.rotary_dim}"
        kind = self.scaling["rope_type"]
        return text if kind == "default" else f"{text}, scaling={kind!r}"

    def forward(
        self, heads: Tensor, offset: int = 0, *, position_ids: Tensor | None = None
    ) -> Tensor:
        """heads (..., L, D) -> (..., L, D); ``offset``: how many tokens stand before them.

        ``position_ids`` (L,), or (B, L) for heads (B, H, L, D), replace the count from ``offset``.
        """
        check_tensor("heads", heads)
        if heads.ndim < 2 or heads.shape[-1] != self.head_dim:
            wanted = f"(..., length, head_dim={self.head_dim})"
            raise ValueError(f"heads must be {wanted}, got {tuple(heads.shape)}")
        cos, sin = self._waves(heads, offset, position_ids)  # (L, R) or (B, 1, L, R)
        whole = self.rotary_dim == self.head_dim
        turned = heads if whole else heads[..., : self.rotary_dim]
        if self.interleaved:
            first, second = turned.unflatten(-1, (-1, 2)).unbind(-1)  # (..., L, R/2)
            partner = torch.stack((second, first), dim=-1).flatten(-2)
        else:
            first, second = turned.chunk(2, dim=-1)
            partner = torch.cat((second, first), dim=-1)
        turned = (turned * cos + partner * sin).to(heads.dtype)
        return turned if whole else torch.cat((turned, heads[..., self.rotary_dim :]), dim=-1)

    def _waves(
        self, heads: Tensor, offset: int, position_ids: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines, in float32 or wider: not buffers, which model.half() rounds."""
        wide = torch.promote_types(heads.dtype, torch.float32)
        if position_ids is not None:
            self._check_positions(position_ids, heads)
            shared = position_ids if position_ids.ndim == 1 else position_ids.unsqueeze(-2)
            return _waves(shared, wide, *self._kind)
        end = offset + heads.shape[-2]
        if not _may_cache(heads):
            positions = torch.arange(offset, end, device=heads.device)
            return _waves(positions, wide, *self._kind)
        cos, sin = _cached_waves(self._room(end), wide, heads.device, *self._kind)
        return cos[offset:end], sin[offset:end]

    def _room(self, end: int) -> int:
        """Return how many positions to cache: a power of two, or exactly ``end`` for "dynamic"."""
        return end if self.scaling["rope_type"] == "dynamic" else 1 << (end - 1).bit_length()

    def _check_positions(self, position_ids: Tensor, heads: Tensor) -> None:
        check_tensor("position_ids", position_ids)
        if position_ids.device != heads.device:
            devices = f"heads {heads.device}, position_ids {position_ids.device}"
            raise ValueError(f"device differs: {devices}")
        shape, expected = tuple(position_ids.shape), (*heads.shape[:-3], heads.shape[-2])
        if shape not in (expected, expected[-1:], (1, *expected[-1:])):
            raise ValueError(f"position_ids must be {expected[-1:]} or {expected}, got {shape}")


def scaled_frequencies(
    size: int, base: float, scaling: Mapping[str, object], length: int = 0
) -> tuple[list[float], float]:
    """Angles a step for each pair, (size / 2,), and a factor for cosines and sines.

    ``scaling`` names its ``rope_type``, with the keys of a model's config: "default"; "linear"
    (all angles / factor: Chen et al. 2023); "dynamic" (a larger base once ``length`` exceeds
    ``original_max_position_embeddings``: NTK-aware, 2023); "yarn" (slow pairs / factor, fast ones
    as they were: Peng et al. 2023); "llama3" (the same, by wavelength).
    Raises: ValueError for another type, or a key that is missing.
    """
    kind, plain = scaling["rope_type"], [base ** (-i / size) for i in range(0, size, 2)]
    needed = {"linear": 1, "dynamic": 2, "yarn": 2, "llama3": 4, "default": 0}
    if kind not in needed:
        raise ValueError(f"rope_type must be one of {', '.join(needed)}; got {kind!r}")
    names = ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor")
    for name in names[: needed[kind]]:
        if not isinstance(scaling.get(name), (int, float)):
            raise ValueError(f"scaling of rope_type {kind!r} needs a number {name!r}")
    factor, original, low, high = (scaling.get(name) for name in names)
    if kind == "linear":
        return [angle / factor for angle in plain], 1.0
    if kind == "dynamic":
        grown = max(factor * length / original - (factor - 1), 1.0)
        base = base * grown ** (size / (size - 2))
        return [base ** (-i / size) for i in range(0, size, 2)], 1.0
    if kind == "llama3":
        keep = [(original * angle / math.tau - low) / (high - low) for angle in plain]
    elif kind == "yarn":
        keep = _yarn_ramp(size, base, original, scaling)
    else:
        return plain, 1.0
    keep = [min(max(share, 0.0), 1.0) for share in keep]  # 1: as it was; 0: all of the factor
    angles = [angle * (k + (1 - k) / factor) for angle, k in zip(plain, keep, strict=True)]
    return angles, _yarn_factor(factor, scaling) if kind == "yarn" else 1.0


def _yarn_ramp(
    size: int, base: float, original: float, scaling: Mapping[str, object]
) -> list[float]:
    """1 for pairs that turn more than beta_fast times in ``original`` tokens, falling to 0."""
    turns = scaling.get("beta_fast") or 32, scaling.get("beta_slow") or 1
    first, last = (
        size * math.log(original / (count * math.tau)) / (2 * math.log(base)) for count in turns
    )
    if scaling.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    last = last + 0.001 if last == first else last  # as the published code does
    return [1 - (pair - first) / (last - first) for pair in range(size // 2)]


def _yarn_factor(factor: float, scaling: Mapping[str, object]) -> float:
    """Factor of cosines and sines, √(1/t) of the paper: scores grow by its square."""

    def grown(scale: float) -> float:
        return 0.1 * scale * math.log(factor) + 1.0 if factor > 1 else 1.0

    if scaling.get("attention_factor") is not None:
        return scaling["attention_factor"]
    above, below = scaling.get("mscale"), scaling.get("mscale_all_dim")
    return grown(above) / grown(below) if above and below else grown(1.0)


def _waves(
    positions: Tensor, dtype: torch.dtype, size: int, base: float, interleaved: bool, scaling: tuple
) -> tuple[Tensor, Tensor]:
    """cos and ± sin for each number of a head, (..., L) -> (..., L, size), twice."""
    scaling, length = dict(scaling), 0
    if scaling["rope_type"] == "dynamic" and positions.numel():
        length = int(positions.max()) + 1
    frequencies, factor = scaled_frequencies(size, base, scaling, length)
    exact = torch.float32 if positions.device.type == "mps" else torch.float64
    steps = torch.tensor(frequencies, dtype=exact, device=positions.device)
    angles = positions.to(exact)[..., None] * steps  # (..., L, size / 2)
    cos, sin = ((wave * factor).to(dtype) for wave in (angles.cos(), angles.sin()))
    if interleaved:
        return cos.repeat_interleave(2, -1), torch.stack((-sin, sin), dim=-1).flatten(-2)
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


@functools.lru_cache(maxsize=16)
def _cached_waves(
    length: int, dtype: torch.dtype, device: torch.device, *kind: object
) -> tuple[Tensor, Tensor]:
    """Return the waves of positions 0 ... length - 1, computed once for all layers and steps."""
    with torch.inference_mode(False), torch.no_grad():
        return _waves(torch.arange(length, device=device), dtype, *kind)


def _may_cache(heads: Tensor) -> bool:
    """Return whether tensors made now can be used later: not in a trace or a function transform."""
    traced = type(heads) is not Tensor or torch.compiler.is_compiling()
    return not traced and torch._C._functorch.peek_interpreter_stack() is None


def _angles(positions: Tensor, size: int, base: float) -> Tensor:
    """position / base^(2i / size), (..., L) -> (..., L, ⌈size / 2⌉), in float64 if there is."""
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

    If H isn't a power of two, the slopes are those of the power below, then every second one
    of the power above, as in the paper's code.

    ``position_ids``: the queries' positions, if not at the end: the first one's, or (B, L), which
    gives (B, H, L, S). With a RaggedKVCache it is ``cache.placement(query_len).positions``.
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
