"""Three more caches: for texts that differ in length, for texts without end, and for compilers.

They stand in for attention.py's KVCache wherever a layer takes ``cache=``. All four are pytrees
of tensors once this file is imported, so that ``torch.export`` takes them as inputs.

None is paged: PyTorch's kernels read keys in one piece, except ``varlen_attn`` with a block table
on a GPU, so that elsewhere each step would first copy all its blocks together.
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

    The model hands ``cache[i]`` and ``lengths`` to its layers. Padding is not stored: a
    sequence's tokens stand at 0 ... its length - 1, and rotary positions count the same way, so
    that batching doesn't change it. The output of a padding query is that of a query which may
    attend to nothing. tests/attention/decoder.py is a whole decoder.

    ``padding_side``: the padded side of rows of new tokens, "right" or "left".
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

    def placement(
        self,
        query_len: int,
        lengths: Lengths | None = None,
        *,
        is_causal: bool = False,
        window: int | None = None,
    ) -> Placement:
        """Return the next tokens' positions, and which keys they see; ``lengths`` (B,) are real."""
        ends = self._ends(query_len, lengths)
        starts = self.lengths[known_layer(self)]
        if min(starts) == max(starts) and min(ends) == starts[0] + query_len:  # all alike
            return Placement(starts[0], ends[0], is_causal, window)
        queries = self._positions(starts, ends, query_len)  # (B, L), -1 = padding
        positions = torch.arange(max(ends))  # (S,)
        keys = torch.where(positions < torch.tensor(ends)[:, None], positions, -1)  # (B, S)
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
        positions = self._positions(starts, ends, query_len)
        rows, columns = (positions >= 0).nonzero(as_tuple=True)
        slots = positions[rows, columns]
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
        """Return a cache whose sequence b is this one's ``index[b]``: [0, 0, 0] for three beams."""
        beams, order = super().select(index), as_list("index", index)
        beams.lengths = [[held[b] for b in order] for held in self.lengths]
        return beams

    def crop(self, length: int | Lengths) -> None:
        """Forget the tokens behind the first ``length``: one number, or one for each sequence."""
        batch = self.keys.shape[1]
        one = isinstance(length, numbers.Integral)
        most = [int(length)] * batch if one else as_list("length", length)
        if len(most) != batch or min(most) < 0:
            raise ValueError(f"length must be one number or {batch}, at least 0; got {most}")
        self.lengths[:] = [list(map(min, held, most)) for held in self.lengths]

    def _ends(self, query_len: int, lengths: Lengths | None) -> list[int]:
        """Return each sequence's length with the new tokens."""
        batch = self.keys.shape[1]
        new = [query_len] * batch if lengths is None else as_list("lengths", lengths)
        if len(new) != batch or not all(0 <= count <= query_len for count in new):
            wanted = f"{batch} numbers in 0 ... {query_len}, one for each sequence"
            raise ValueError(f"lengths must be {wanted}; got {new}")
        return [
            start + count for start, count in zip(self.lengths[known_layer(self)], new, strict=True)
        ]

    def _positions(self, starts: list[int], ends: list[int], query_len: int) -> Tensor:
        """Return each new token's position, (B, L); -1 for padding."""
        start, end = torch.tensor(starts)[:, None], torch.tensor(ends)[:, None]  # (B, 1)
        positions = start + torch.arange(query_len)
        if self.padding_side == "left":
            positions = positions - (query_len - (end - start))
        return torch.where((positions >= start) & (positions < end), positions, -1)


class WindowKVCache(KVCache):
    """A cache of the last ``window`` tokens, whose memory never grows.

    A layer with it attends as with ``window=window``: a query sees itself and the window - 1
    tokens before it. With ``sinks`` it also sees so many of the text's first tokens: most models
    attend to these whatever they say, and fail without them (StreamingLLM, Xiao et al. 2023,
    with 4).

    Positions go on counting, as rotary ones must; StreamingLLM counts them within the cache. What
    is forgotten is gone: ``crop`` can take back tokens only until the first has left the window.
    """

    def __init__(
        self,
        batch_size: int,
        num_kv_heads: int,
        window: int,
        head_dim: int,
        *,
        sinks: int = 0,
        value_dim: int | None = None,
        num_layers: int = 1,
        dtype: torch.dtype | None = None,
        device: Device = None,
    ) -> None:
        check_counts(window=window)
        check_counts(0, sinks=sinks)
        options = {"value_dim": value_dim, "num_layers": num_layers}
        sizes = (batch_size, num_kv_heads, sinks + window, head_dim)
        super().__init__(*sizes, dtype=dtype, device=device, **options)
        # ``lengths`` counts all tokens, those forgotten too.
        self.window, self.sinks = int(window), int(sinks)

    @property
    def length(self) -> int:
        """How many tokens this layer holds."""
        return min(self.lengths[known_layer(self)], self.sinks + self.window)

    def placement(
        self,
        query_len: int,
        lengths: Lengths | None = None,
        *,
        is_causal: bool = False,
        window: int | None = None,
    ) -> Placement:
        """Return the next tokens' positions, and which keys they may see."""
        refuse_lengths(lengths)
        window = self.window if window is None else min(window, self.window)
        count, before = self.lengths[known_layer(self)], self._before()
        first = min(self.sinks, count - before)  # that stand before the window
        key_len = first + before + query_len
        if not self.sinks or count + query_len <= window:  # they see only the window, or all
            return Placement(count, key_len, is_causal, window)
        positions = torch.arange(count + query_len, device=self.keys.device)
        keys = torch.cat([positions[:first], positions[count - before :]])  # (S,)
        mask = visible_by_position(positions[None, count:], keys[None], is_causal, window)
        sinks = keys < self.sinks
        if is_causal:
            sinks = sinks & (keys <= positions[count:, None])  # (L, S)
        return Placement(count, key_len, False, None, mask | sinks)

    def append(
        self, key: Tensor, value: Tensor, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add L new tokens, (B, Hkv, L, D); return what they can see, the new ones included."""
        check_new_tokens(self, key, value)
        refuse_lengths(lengths)
        layer, count, before = self.layer, self.lengths[known_layer(self)], self._before()
        first, missing = min(self.sinks, count - before), max(0, self.sinks - count)
        held = []
        for memory, new in ((self.keys[layer], key), (self.values[layer], value)):
            # The newest token comes last, in the memory and in the result.
            new, sinks, recent = (
                new.to(memory.dtype),
                memory[:, :, : self.sinks],
                self._recent(memory),
            )
            joined = torch.cat([recent, new], dim=-2)  # (B, Hkv, window + L, D)
            some = joined[:, :, self.window - before :]
            held.append(torch.cat([sinks[:, :, :first], some], dim=-2) if first else some)
            recent.copy_(joined[:, :, -self.window :])
            begins = new[:, :, :missing]  # the text's first tokens, if sinks are still free
            sinks[:, :, count : count + begins.shape[-2]] = begins
        self.lengths[layer] += key.shape[-2]
        return held[0], held[1]

    def crop(self, length: int) -> None:
        """Forget the tokens behind the first ``length``, if the first is still in memory."""
        check_counts(0, length=length)
        if length and max(self.lengths) > max(self.window, length):
            remaining = f"of {max(self.lengths)} tokens the last {self.window} are left"
            raise ValueError(f"can't crop to {length}: {remaining}")
        back = [max(0, held - length) for held in self.lengths]
        for layer, gone in enumerate(back):  # what stays moves to the end
            for memory in map(self._recent, (self.keys[layer], self.values[layer])):
                memory.copy_(memory.roll(gone, dims=-2))
        super().crop(length)

    def _before(self) -> int:
        """How many tokens of the window the next query can still see."""
        return min(self.lengths[known_layer(self)], self.window - 1)

    def _recent(self, memory: Tensor) -> Tensor:
        return memory[:, :, self.sinks :]  # (B, Hkv, window, D)


class StaticKVCache(KVCache):
    """A KVCache all of whose shapes stay, so that one compiled graph serves a whole generation.

        step = torch.compile(model, fullgraph=True)
        step(token, cache)  # the same graph at every length

    The count of tokens is a tensor, too: no step reads it back from the device. Each query gets
    all max_seq_len keys, and a mask hides those that aren't there yet, so that a step costs
    as much as the last one. A CausalMultiHeadAttention's max_seq_len has to be as large.

    With PyTorch before 2.13 the compiler can't trace ``cache[layer]``: hand it the layers'
    views from outside.

    Only on a CPU, and outside a compiler, is a cache that is full refused by name: otherwise the
    caller counts. ``length`` waits for the device.
    """

    def __init__(self, *sizes: int, **options: object) -> None:
        super().__init__(*sizes, **options)
        self.lengths = torch.zeros(len(self.lengths), dtype=torch.int64, device=self.keys.device)

    @property
    def length(self) -> int:
        """How many tokens this layer holds."""
        return int(self.lengths[known_layer(self)])

    def placement(
        self,
        query_len: int,
        lengths: Lengths | None = None,
        *,
        is_causal: bool = False,
        window: int | None = None,
    ) -> Placement:
        """Return the next tokens' positions, and which keys they may see."""
        refuse_lengths(lengths)
        queries = self._positions(query_len)  # (L,)
        positions = torch.arange(self.max_seq_len, device=queries.device)
        keys = torch.where(positions < queries[0] + query_len, positions, -1)  # (S,)
        mask = visible_by_position(queries[None], keys[None], is_causal, window)
        return Placement(queries, self.max_seq_len, False, None, mask)

    def append(
        self, key: Tensor, value: Tensor, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add L new tokens, (B, Hkv, L, D); return all that there is room for, as views."""
        check_new_tokens(self, key, value)
        refuse_lengths(lengths)
        positions = self._positions(key.shape[-2])
        if self.keys.device.type == "cpu" and not torch.compiler.is_compiling():
            check_room(self, self.length + key.shape[-2])
        keys, values = self.keys[self.layer], self.values[self.layer]  # (B, Hkv, S, D)
        keys.index_copy_(2, positions, key.to(keys.dtype))
        values.index_copy_(2, positions, value.to(values.dtype))
        self.lengths[self.layer] += key.shape[-2]
        return keys, values

    def crop(self, length: int) -> None:
        """Forget the tokens behind the first ``length``."""
        check_counts(0, length=length)
        self.lengths.clamp_(max=int(length))

    def to(self, *device_or_dtype: object, **options: object) -> "StaticKVCache":
        """Return a copy on another device or of another dtype, like ``Tensor.to``."""
        moved = super().to(*device_or_dtype, **options)
        moved.lengths = moved.lengths.to(moved.keys.device)
        return moved

    def _positions(self, query_len: int) -> Tensor:
        start = self.lengths[known_layer(self)]
        return start + torch.arange(query_len, device=self.keys.device)  # (L,)


def visible_by_position(
    queries: Tensor, keys: Tensor, is_causal: bool, window: int | None
) -> Tensor:
    """Mask by positions: (B, L), (B, S) -> (B, 1, L, S). -1 is padding."""
    distance = keys[:, None, :] - queries[:, :, None]  # (B, L, S)
    visible = (keys >= 0)[:, None, :] & (queries >= 0)[:, :, None]
    if is_causal:
        visible = visible & (distance <= 0)
    if window is not None:
        visible = visible & (distance.abs() < window)
    return visible[:, None]


# --- Pytrees: the tensors, and the rest as what must stay the same ------------------------------


def _flatten(cache: KVCache) -> tuple[list[Tensor], tuple]:
    tensors = {name: held for name, held in vars(cache).items() if isinstance(held, Tensor)}
    rest = {name: value for name, value in vars(cache).items() if name not in tensors}
    if "lengths" in rest:
        rest["lengths"] = tuple(tuple(n) if isinstance(n, list) else n for n in cache.lengths)
    return list(tensors.values()), (tuple(tensors), tuple(rest.items()))


def _flatten_with_keys(cache: KVCache) -> tuple[list[tuple], tuple]:
    tensors, (names, rest) = _flatten(cache)
    return [(GetAttrKey(n), t) for n, t in zip(names, tensors, strict=True)], (names, rest)


def _register(kind: type[KVCache]) -> None:
    def unflatten(tensors: Iterable[Tensor], context: tuple) -> KVCache:
        cache, (names, rest) = kind.__new__(kind), context
        vars(cache).update(rest, **dict(zip(names, tensors, strict=True)))
        if "lengths" not in names:
            cache.lengths = [list(n) if isinstance(n, tuple) else n for n in cache.lengths]
        return cache

    register_pytree_node(
        kind,
        _flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__name__}",
        flatten_with_keys_fn=_flatten_with_keys,
    )


KINDS = (KVCache, RaggedKVCache, WindowKVCache, StaticKVCache)
for _kind in KINDS:
    _register(_kind)
# So that torch.load(..., weights_only=True) reads a cache that was saved.
torch.serialization.add_safe_globals(list(KINDS))
