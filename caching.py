"""Two more caches, for texts that differ in length and for texts without end.

They stand in for attention.py's KVCache wherever a layer takes ``cache=``. All three are pytrees
of two tensors once this file is imported, so that ``torch.export`` takes them as inputs.
"""

import numbers
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.utils._pytree import GetAttrKey, register_pytree_node

from attention import (
    Device,
    KVCache,
    Lengths,
    Placement,
    as_list,
    check_counts,
    check_new_tokens,
    check_room,
    known_layer,
    refuse_lengths,
)


class RaggedKVCache(KVCache):
    """A cache that knows each sequence's length. Say at every step how many tokens are real:

        logits = model(prompts, cache, lengths=[3, 5])      # (2, 5, V): row 0 has 2 of padding
        logits = model(next_tokens, cache)                  # (2, 1, V): both go on
        logits = model(next_tokens, cache, lengths=[1, 0])  # row 1 is finished

    where the model hands ``cache[i]`` and ``lengths`` to its layers. Padding is not kept: a
    sequence's tokens stand at 0 ... its length - 1, and rotary positions count the same way, so
    that it is decoded as it would be alone. The output of a query that is padding is that of a
    query which may attend to nothing. tests/attention/decoder.py is a whole decoder.

    ``padding_side``: where rows of new tokens are padded, "right" or "left".
    """

    def __init__(
        self,
        batch_size: int,
        num_kv_heads: int,
        max_seq_len: int,
        head_dim: int,
        *,
        value_dim: int | None = None,
        num_layers: int = 1,
        padding_side: str = "right",
        dtype: torch.dtype | None = None,
        device: Device = None,
    ) -> None:
        options = {"value_dim": value_dim, "num_layers": num_layers}
        sizes = (batch_size, num_kv_heads, max_seq_len, head_dim)
        super().__init__(*sizes, dtype=dtype, device=device, **options)
        if padding_side not in ("right", "left"):
            raise ValueError(f"padding_side must be 'right' or 'left', got {padding_side!r}")
        self.padding_side = padding_side
        self.lengths = [[0] * batch_size for _ in range(num_layers)]  # by layer and sequence

    @property
    def length(self) -> int:
        """How many tokens of the longest sequence this layer holds."""
        return max(self.lengths[known_layer(self)])

    def place(
        self,
        query_len: int,
        lengths: Lengths | None = None,
        *,
        is_causal: bool = False,
        window: int | None = None,
    ) -> Placement:
        """Where the next tokens will stand, and what they may see; ``lengths`` (B,) are real."""
        ends = self._ends(query_len, lengths)
        starts = self.lengths[known_layer(self)]
        if min(starts) == max(starts) and min(ends) == starts[0] + query_len:  # all alike
            return Placement(starts[0], ends[0], is_causal, window)
        queries = self._positions(starts, ends, query_len)  # (B, L), -1 = padding
        places = torch.arange(max(ends))  # (S,)
        keys = torch.where(places < torch.tensor(ends)[:, None], places, -1)  # (B, S)
        mask = visible_by_position(queries, keys, is_causal, window)
        device = self.keys.device
        return Placement(queries.to(device), max(ends), False, None, mask.to(device))

    def append(
        self, key: Tensor, value: Tensor, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add L new tokens, (B, Hkv, L, D), without their padding; return all so far, as views."""
        check_new_tokens(self, key, value)
        query_len, starts = key.shape[-2], self.lengths[known_layer(self)]
        ends = self._ends(query_len, lengths)
        check_room(self, max(ends))
        stands = self._positions(starts, ends, query_len)
        rows, columns = (stands >= 0).nonzero(as_tuple=True)
        slots = stands[rows, columns]
        keys, values = self.keys[self.layer], self.values[self.layer]  # (B, Hkv, max_seq_len, D)
        keys[rows, :, slots] = key[rows, :, columns].to(keys.dtype)  # (tokens, Hkv, D)
        values[rows, :, slots] = value[rows, :, columns].to(values.dtype)
        self.lengths[self.layer] = ends
        return keys[:, :, : max(ends)], values[:, :, : max(ends)]

    def reorder(self, index: Lengths) -> None:
        """Let sequence b go on with the past of sequence ``index[b]``: for beams."""
        super().reorder(index)
        order = as_list("index", index)
        self.lengths[:] = [[held[b] for b in order] for held in self.lengths]

    def select(self, index: Lengths) -> "RaggedKVCache":
        """A new cache whose sequence b is this one's ``index[b]``: [0, 0, 0] begins three beams."""
        made, order = super().select(index), as_list("index", index)
        made.lengths = [[held[b] for b in order] for held in self.lengths]
        return made

    def crop(self, length: int | Lengths) -> None:
        """Forget the tokens behind the first ``length``: one number, or one for each sequence."""
        batch = self.keys.shape[1]
        one = isinstance(length, numbers.Integral)
        most = [int(length)] * batch if one else as_list("length", length)
        if len(most) != batch or min(most) < 0:
            raise ValueError(f"length must be one number or {batch}, at least 0; got {most}")
        self.lengths[:] = [list(map(min, held, most)) for held in self.lengths]

    def _ends(self, query_len: int, lengths: Lengths | None) -> list[int]:
        """Each sequence's length with the new tokens."""
        batch = self.keys.shape[1]
        new = [query_len] * batch if lengths is None else as_list("lengths", lengths)
        if len(new) != batch or not all(0 <= count <= query_len for count in new):
            wanted = f"{batch} numbers in 0 ... {query_len}, one for each sequence"
            raise ValueError(f"lengths must be {wanted}; got {new}")
        return [
            start + count for start, count in zip(self.lengths[known_layer(self)], new, strict=True)
        ]

    def _positions(self, starts: list[int], ends: list[int], query_len: int) -> Tensor:
        """Where each new token will stand, (B, L); -1 for padding."""
        start, end = torch.tensor(starts)[:, None], torch.tensor(ends)[:, None]  # (B, 1)
        places = start + torch.arange(query_len)
        if self.padding_side == "left":
            places = places - (query_len - (end - start))
        return torch.where((places >= start) & (places < end), places, -1)


class WindowKVCache(KVCache):
    """A cache of the last ``window`` tokens, whose memory never grows.

    A layer with it attends as with ``window=window``: a query sees itself and the window - 1
    tokens before it. Positions go on counting, as rotary ones must. What is forgotten is gone:
    ``crop`` can take back tokens only until the first one has been forgotten.
    """

    def __init__(
        self,
        batch_size: int,
        num_kv_heads: int,
        window: int,
        head_dim: int,
        *,
        value_dim: int | None = None,
        num_layers: int = 1,
        dtype: torch.dtype | None = None,
        device: Device = None,
    ) -> None:
        options = {"value_dim": value_dim, "num_layers": num_layers}
        sizes = (batch_size, num_kv_heads, window, head_dim)
        super().__init__(*sizes, dtype=dtype, device=device, **options)
        self.window = int(window)  # and ``lengths`` counts all tokens, those forgotten too

    @property
    def length(self) -> int:
        """How many tokens this layer holds."""
        return min(self.lengths[known_layer(self)], self.window)

    def place(
        self,
        query_len: int,
        lengths: Lengths | None = None,
        *,
        is_causal: bool = False,
        window: int | None = None,
    ) -> Placement:
        """Where the next tokens will stand, and what they may see."""
        refuse_lengths(lengths)
        window = self.window if window is None else min(window, self.window)
        before = min(self.length, self.window - 1)  # what the first new query can still see
        return Placement(self.lengths[known_layer(self)], before + query_len, is_causal, window)

    def append(
        self, key: Tensor, value: Tensor, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add L new tokens, (B, Hkv, L, D); return what they can see, the new ones included."""
        check_new_tokens(self, key, value)
        total = self.place(key.shape[-2], lengths).key_len
        held = []
        for memory, new in ((self.keys[self.layer], key), (self.values[self.layer], value)):
            # The newest token stands at the end: of the memory, and of what is returned.
            joined = torch.cat([memory, new.to(memory.dtype)], dim=-2)  # (B, Hkv, window + L, D)
            memory.copy_(joined[:, :, -self.window :])
            held.append(joined[:, :, -total:])
        self.lengths[self.layer] += key.shape[-2]
        return held[0], held[1]

    def crop(self, length: int) -> None:
        """Forget the tokens behind the first ``length``, where the first is still remembered."""
        check_counts(0, length=length)
        if length and max(self.lengths) > max(self.window, length):
            seen = f"of {max(self.lengths)} tokens the last {self.window} are left"
            raise ValueError(f"can't crop to {length}: {seen}")
        back = [max(0, held - length) for held in self.lengths]
        for layer, gone in enumerate(back):  # what stays moves to the end
            for memory in (self.keys[layer], self.values[layer]):
                memory.copy_(memory.roll(gone, dims=-2))
        super().crop(length)


def visible_by_position(
    queries: Tensor, keys: Tensor, is_causal: bool, window: int | None
) -> Tensor:
    """Who may see whom by where they stand: (B, L), (B, S) -> (B, 1, L, S). -1 is padding."""
    distance = keys[:, None, :] - queries[:, :, None]  # (B, L, S)
    visible = (keys >= 0)[:, None, :] & (queries >= 0)[:, :, None]
    if is_causal:
        visible = visible & (distance <= 0)
    if window is not None:
        visible = visible & (distance.abs() < window)
    return visible[:, None]


# --- Pytrees: two tensors, and the rest as what must stay the same ------------------------------

_TENSORS = ("keys", "values")


def _flatten(cache: KVCache) -> tuple[list[Tensor], tuple]:
    rest = {name: value for name, value in vars(cache).items() if name not in _TENSORS}
    rest["lengths"] = tuple(tuple(n) if isinstance(n, list) else n for n in cache.lengths)
    return [cache.keys, cache.values], tuple(rest.items())


def _flatten_with_keys(cache: KVCache) -> tuple[list[tuple], tuple]:
    tensors, rest = _flatten(cache)
    return [(GetAttrKey(n), t) for n, t in zip(_TENSORS, tensors, strict=True)], rest


def _register(kind: type[KVCache]) -> None:
    def unflatten(tensors: Iterable[Tensor], rest: tuple) -> KVCache:
        cache = kind.__new__(kind)
        vars(cache).update(rest, **dict(zip(_TENSORS, tensors, strict=True)))
        cache.lengths = [list(n) if isinstance(n, tuple) else n for n in cache.lengths]
        return cache

    register_pytree_node(
        kind,
        _flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__name__}",
        flatten_with_keys_fn=_flatten_with_keys,
    )


for _kind in (KVCache, RaggedKVCache, WindowKVCache):
    _register(_kind)
# So that torch.load(..., weights_only=True) reads a cache that was saved.
torch.serialization.add_safe_globals([KVCache, RaggedKVCache, WindowKVCache])
