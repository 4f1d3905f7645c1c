"""Attention, from the formula to the fast kernels, in PyTorch alone. Read it from top to bottom.

Sizes in shape comments: B batch, H heads, L queries, S keys, D head size, E embedding size.
Names: ``query`` asks, ``key`` answers whether it fits, ``value`` is what a good fit hands over.

The one mask contract, kept by every function and layer here:

- ``mask`` is bool and broadcasts to the scores, (..., L, S). ``True`` = may attend.
  Scores to *add* go into ``bias=``.
- ``is_causal`` and ``window`` align the *ends* of query and key: the last query stands at the
  last key, so one new query sees the whole cache. (PyTorch's flag aligns the starts.)
- A query that may attend to nothing gets weights 0 and output 0, with finite gradients.
- Returned weights are those before dropout: each row sums to 1, or to 0.
"""

import copy
import functools
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}

QUERY_CHUNK = 256  # queries that share one small mask: its size, not L, bounds the memory

# --- Masks: True = may attend; combine them with & ---------------------------------------------


def create_causal_mask(
    query_len: int, key_len: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    """Let each query see its own position and those before it.  Returns (L, S), bool.

    With fewer queries than keys the queries are the *last* ones:
    ``create_causal_mask(1, 4)`` is [[True, True, True, True]].
    """
    key_len = query_len if key_len is None else key_len
    _check_sizes(query_len=query_len, key_len=key_len)
    return _band(query_len, key_len, key_len - query_len, True, None, device)


def create_window_mask(
    query_len: int,
    key_len: int | None = None,
    *,
    window: int,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each query see the keys less than ``window`` positions away.  Returns (L, S), bool.

    ``create_causal_mask(n) & create_window_mask(n, window=w)`` leaves the last w keys.
    """
    key_len = query_len if key_len is None else key_len
    _check_sizes(query_len=query_len, key_len=key_len)
    _check_window(window)
    return _band(query_len, key_len, key_len - query_len, False, window, device)


def create_padding_mask(lengths: Tensor | list[int], key_len: int | None = None) -> Tensor:
    """Hide what lies behind each sequence's end.  lengths (B,) -> (B, 1, 1, S), bool."""
    lengths = torch.as_tensor(lengths)
    if lengths.ndim != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths must be 1-D integers, got {lengths.dtype} of shape {tuple(lengths.shape)}"
        )
    longest = int(lengths.max()) if lengths.numel() else 0
    key_len = longest if key_len is None else key_len
    if longest > key_len or (lengths < 0).any():
        raise ValueError(f"lengths must lie in 0 ... key_len={key_len}, got {lengths.tolist()}")
    return torch.arange(key_len, device=lengths.device) < lengths[:, None, None, None]


def _band(
    query_len: int,
    key_len: int,
    offset: int,
    is_causal: bool,
    window: int | None,
    device: torch.device | str | None,
) -> Tensor:
    """True where query i, which stands at key ``offset + i``, may see key j."""
    visible = torch.ones(query_len, key_len, dtype=torch.bool, device=device)
    if window is not None:
        visible = visible.triu(offset - window + 1).tril(offset + window - 1)
    return visible.tril(offset) if is_causal else visible


# --- Explicit attention: every step and every weight in sight -----------------------------------


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the keys that ``mask`` shows; a row that shows none becomes 0.

    Shapes: scores (..., L, S); mask bool, broadcast to it. Returns (..., L, S).
    """
    if mask is None:
        return scores.softmax(-1)
    # softmax of a row of -inf is 0/0. Such a row is opened first and emptied afterwards, so that
    # no NaN is made on the way forward or back.
    empty = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~(mask | empty), -torch.inf).softmax(-1)
    return weights.masked_fill(empty, 0.0)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    is_causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Average ``value`` with weights that say how well each query matches each key.

    O = softmax(Q Kᵀ / √D + bias) V        (Vaswani et al. 2017, eq. 1)

    Shapes: query (..., L, D), key (..., S, D), value (..., S, Dv). Key and value may have fewer
        heads, at dimension -3 of four or more, each shared by a group of query heads in order.
        mask bool and bias like query, each broadcast to (..., L, S).
    Options: ``window`` hides keys ``window`` or more positions away; ``scale`` replaces 1/√D;
        ``dropout_p`` is applied whenever it isn't 0.
    Returns: output (..., L, Dv), weights (..., L, S).
    Raises: TypeError or ValueError that names the argument and both values.
    """
    _check_attention(query, key, value, mask, bias, window, dropout_p)
    key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    L, S, dtype = query.shape[-2], key.shape[-2], query.dtype
    if is_causal or window is not None:
        band = _band(L, S, S - L, is_causal, window, query.device)
        mask = band if mask is None else mask & band
    mask, bias = _hide_infinite(mask, bias)

    # Half precision is widened, as the fused kernels do inside: rounded scores cost digits.
    wide = torch.promote_types(dtype, torch.float32)
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.mT * scale  # (..., L, S)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, mask)  # (..., L, S)
    output = F.dropout(weights, dropout_p) @ value  # (..., L, Dv)
    return output.to(dtype), weights.to(dtype)


def _hide_infinite(mask: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Move a bias of -inf into the mask, where empty rows are looked after."""
    if bias is None:
        return mask, None
    finite = bias != -torch.inf
    return finite if mask is None else mask & finite, bias.masked_fill(~finite, 0.0)


def _repeat_heads(query: Tensor, shared: Tensor) -> Tensor:
    """Give each query head its key or value head: heads 0, 1 of 4 share head 0 of 2."""
    if query.ndim < 4 or query.shape[-3] == shared.shape[-3]:
        return shared
    return shared.repeat_interleave(query.shape[-3] // shared.shape[-3], dim=-3)


# --- Fused attention: the same numbers, no attention matrix -------------------------------------


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    is_causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    dropout_p: float = 0.0,
    backend: str | None = None,
) -> Tensor:
    """``scaled_dot_product_attention`` through PyTorch's fused kernels. Returns the output alone.

    Memory grows linearly in length: what the kernels can't express without an (L, S) mask runs
    in chunks of queries, each with its own small mask and only the keys it can see. Chunks are
    recomputed in the backward pass.

    ``backend``: "flash", "efficient", "cudnn" or "math"; None lets PyTorch choose. One that can't
        run raises ValueError with PyTorch's reason.
    """
    _check_attention(query, key, value, mask, bias, window, dropout_p)
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    L, S, Dv = query.shape[-2], key.shape[-2], value.shape[-1]
    if 0 in (L, S) or query.numel() == 0:  # nothing to average: kernels differ, the sum is 0
        return (query @ key.mT) @ value
    is_causal = is_causal and L > 1
    if window is not None and window >= max(L, S):
        window = None
    if scale is None:
        scale = query.shape[-1] ** -0.5
    out_shape = (*query.shape[:-1], Dv)
    q, k, v = (_to_4d(t) for t in (query, key, value))
    mask, bias = (None if t is None else _mask_to_4d(t, query) for t in (mask, bias))
    if k.shape[-1] != Dv:  # kernels want one head size; zeros change neither scores nor values
        size = max(k.shape[-1], Dv)
        q, k, v = (F.pad(t, (0, size - t.shape[-1])) for t in (q, k, v))
    call = functools.partial(_kernel, scale=scale, dropout_p=dropout_p, backend=backend)

    square = is_causal and L == S and window is None and mask is None and bias is None
    per_key = not is_causal and window is None and all(
        t is None or t.shape[-2] == 1 for t in (mask, bias)
    )
    # PyTorch's CPU kernel has no dropout: it would fall back to the whole matrix.
    drops_on_cpu = dropout_p > 0 and query.device.type == "cpu"
    if (square or per_key) and not drops_on_cpu:
        fold = per_key and all(t is None or t.shape[1] == 1 for t in (mask, bias))
        if fold:  # queries that share keys stand side by side: nothing is copied
            q = q.reshape(q.shape[0], k.shape[1], -1, q.shape[-1])
        else:
            k, v = _repeat_heads(q, k), _repeat_heads(q, v)
        output = call(q, k, v, mask, bias, is_causal=square)
    else:
        k, v = _repeat_heads(q, k), _repeat_heads(q, v)
        output = _in_chunks(call, q, k, v, mask, bias, is_causal, window)
    return output[..., :Dv].reshape(out_shape)


def _in_chunks(
    call: Callable[..., Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
) -> Tensor:
    L, S = query.shape[-2], key.shape[-2]
    offset = S - L  # query i stands at key offset + i
    outputs = []
    for start in range(0, L, QUERY_CHUNK):
        stop = min(start + QUERY_CHUNK, L)
        first, last = 0, S  # the keys that some query of the chunk can see
        if window is not None:
            first, last = start + offset - window + 1, stop + offset + window - 1
        if is_causal:
            last = stop + offset
        last = min(max(last, 1), S)  # at least one, so that the kernel has work; the band hides it
        first = min(max(first, 0), last - 1)
        rows, keys = slice(start, stop), slice(first, last)

        visible = _block(mask, rows, keys)
        if is_causal or window is not None:
            at = offset + start - first
            band = _band(stop - start, last - first, at, is_causal, window, query.device)
            visible = band if visible is None else visible & band
        inputs = query[..., rows, :], key[..., keys, :], value[..., keys, :]
        inputs = (*inputs, visible, _block(bias, rows, keys))
        # Without this each chunk would keep its mask, or worse its weights, for the backward pass.
        if L > QUERY_CHUNK and torch.is_grad_enabled():
            outputs.append(checkpoint(call, *inputs, use_reentrant=False))
        else:
            outputs.append(call(*inputs))
    return torch.cat(outputs, dim=-2)


def _kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    *,
    scale: float,
    dropout_p: float,
    backend: str | None,
    is_causal: bool = False,
) -> Tensor:
    """One call of PyTorch's fused attention: (B, H, L, D) in and out, empty rows looked after."""
    mask, bias = _hide_infinite(mask, bias)
    empty = None
    if mask is not None:
        empty = ~mask.any(-1, keepdim=True)
        mask = mask | empty
    scores_mask = mask
    if bias is not None:
        scores_mask = bias.masked_fill(~mask, -torch.inf)
    # A kernel reads rows of D neighbours; on others PyTorch falls back to the whole matrix.
    query, key, value = (t if t.stride(-1) == 1 else t.contiguous() for t in (query, key, value))
    run = functools.partial(
        F.scaled_dot_product_attention,
        query, key, value, scores_mask, dropout_p, is_causal, scale=scale,
    )  # fmt: skip
    output = run() if backend is None else _run_on(backend, run, query)
    return output if empty is None else output.masked_fill(empty, 0.0)


def _run_on(backend: str, run: Callable[[], Tensor], query: Tensor) -> Tensor:
    if torch.compiler.is_compiling():  # the compiler can't trace the recording of warnings
        with sdpa_kernel(BACKENDS[backend]):
            return run()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with sdpa_kernel(BACKENDS[backend]):
                output = run()
        except RuntimeError as error:
            if "No available kernel" not in str(error) and "No viable backend" not in str(error):
                raise
            why = " ".join(str(w.message).split(" (Triggered")[0] for w in said) or str(error)
            raise ValueError(
                f"backend={backend!r} can't run on {query.device.type} "
                f"for query {tuple(query.shape)}, {query.dtype}: {why}"
            ) from error
    for warning in said:
        warnings.warn_explicit(
            warning.message, warning.category, warning.filename, warning.lineno
        )
    return output


def _to_4d(tensor: Tensor) -> Tensor:
    """(..., H, L, D) -> (B, H, L, D), and (..., L, D) of fewer dimensions -> (B, 1, L, D).

    PyTorch's CPU kernel takes 4-D input alone; others fall back to the whole matrix.
    """
    heads = tensor.shape[-3] if tensor.ndim >= 4 else 1
    return tensor.reshape(-1, heads, *tensor.shape[-2:])


def _mask_to_4d(mask: Tensor, query: Tensor) -> Tensor:
    """A mask for scores (..., L, S), as it broadcasts to those of ``_to_4d(query)``."""
    mask = mask.reshape((1,) * (query.ndim - mask.ndim) + mask.shape)
    if query.ndim < 4:
        return mask.reshape(-1, 1, *mask.shape[-2:])
    if query.ndim > 4 and any(size != 1 for size in mask.shape[:-3]):
        mask = mask.expand(*query.shape[:-3], *mask.shape[-3:])
    return mask.reshape(-1, *mask.shape[-3:])


def _block(mask: Tensor | None, rows: slice, keys: slice) -> Tensor | None:
    if mask is None:
        return None
    mask = mask if mask.shape[-2] == 1 else mask[..., rows, :]
    return mask if mask.shape[-1] == 1 else mask[..., keys]


def usable_backends(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **options: object
) -> dict[str, str | None]:
    """Try each backend on these inputs: name -> None where it runs, or the reason why not."""
    reasons: dict[str, str | None] = {}
    for name in BACKENDS:
        try:
            fused_attention(query, key, value, mask, backend=name, **options)
            reasons[name] = None
        except (ValueError, RuntimeError) as error:
            reasons[name] = str(error)
    return reasons


# --- Layers -------------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    """Attend in ``num_heads`` subspaces at once, then mix what they found.

    MultiHead(x) = Concat(head₁, …, head_H) W_O,  head_i = Attention(x Wᵢ_Q, x Wᵢ_K, x Wᵢ_V)
    (Vaswani et al. 2017, §3.2.2). With ``num_kv_heads`` < ``num_heads``, groups of query heads
    share a key and value head (grouped-query; with 1, multi-query: Ainslie et al. 2023).

    The weights of Q, K and V lie in one matrix, ``qkv_proj``, in this order: one large product is
    faster than three small ones. The number of parameters doesn't depend on ``num_heads``.

    ``rotary``: a module called as ``rotary(heads, offset)``, applied to queries and keys.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        *,
        num_kv_heads: int | None = None,
        bias: bool = True,
        rotary: nn.Module | None = None,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        _check_heads(embed_dim, num_heads, num_kv_heads)
        _check_dropout(dropout=dropout)
        self.embed_dim, self.num_heads, self.num_kv_heads = embed_dim, num_heads, num_kv_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.rotary = rotary
        kv_dim = num_kv_heads * self.head_dim
        self.qkv_proj = nn.Linear(embed_dim, embed_dim + 2 * kv_dim, bias=bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        return_attention: bool = False,
        *,
        context: Tensor | None = None,
        bias: Tensor | None = None,
        is_causal: bool = False,
        window: int | None = None,
        cache: "KVCache | None" = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Self-attention, or cross-attention where ``context`` gives the keys and values.

        Shapes: x (..., L, E), context (..., S, E); mask and bias broadcast to (..., H, L, S),
            so a mask for each sequence is (B, 1, L, S).
        Returns: (..., L, E); with ``return_attention`` also the weights (..., H, L, S), which
            takes the explicit path and memory for L·S weights a head.
        """
        self._check_inputs(x, context, cache)
        query, key, value = self._project(x, context)  # (..., H, L, D), (..., Hkv, S, D) twice
        if self.rotary is not None:
            offset = 0 if cache is None else cache.length
            query, key = self.rotary(query, offset), self.rotary(key, offset)
        if cache is not None:
            key, value = cache.append(key, value)
        options = {"bias": bias, "is_causal": is_causal, "window": window}
        options["dropout_p"] = self.dropout if self.training else 0.0
        weights = None
        if return_attention:
            output, weights = scaled_dot_product_attention(query, key, value, mask, **options)
        else:
            output = fused_attention(query, key, value, mask, **options)
        output = self.out_proj(output.transpose(-3, -2).flatten(-2))  # (..., L, E)
        return output if weights is None else (output, weights)

    def _project(self, x: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        kv_dim = self.num_kv_heads * self.head_dim
        if context is None:
            projected = self.qkv_proj(x).split([self.embed_dim, kv_dim, kv_dim], dim=-1)
        else:
            sizes = [self.embed_dim, 2 * kv_dim]
            w_q, w_kv = self.qkv_proj.weight.split(sizes)
            bias = self.qkv_proj.bias
            b_q, b_kv = (None, None) if bias is None else bias.split(sizes)
            projected = (F.linear(x, w_q, b_q), *F.linear(context, w_kv, b_kv).chunk(2, dim=-1))
        return tuple(t.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2) for t in projected)

    def _check_inputs(self, x: Tensor, context: Tensor | None, cache: "KVCache | None") -> None:
        for name, tensor in (("x", x), ("context", context)):
            if tensor is not None and (tensor.ndim < 2 or tensor.shape[-1] != self.embed_dim):
                raise ValueError(
                    f"{name} must end in (length, embed_dim={self.embed_dim}), "
                    f"got {tuple(tensor.shape)}"
                )
        if context is not None and context.shape[:-2] != x.shape[:-2]:
            raise ValueError(
                f"batch differs: x {tuple(x.shape)}, context {tuple(context.shape)}"
            )
        if context is not None and (cache is not None or self.rotary is not None):
            other = "cache" if cache is not None else "rotary"
            raise ValueError(f"context and {other} exclude each other")


class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention in which no token sees a later one: a decoder's layer (GPT)."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        max_seq_len: int,
        dropout: float = 0.0,
        *,
        num_kv_heads: int | None = None,
        bias: bool = True,
        rotary: nn.Module | None = None,
    ) -> None:
        super().__init__(
            embed_dim, num_heads, dropout, num_kv_heads=num_kv_heads, bias=bias, rotary=rotary
        )
        _check_sizes(max_seq_len=max_seq_len)
        self.max_seq_len = max_seq_len

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        return_attention: bool = False,
        *,
        bias: Tensor | None = None,
        window: int | None = None,
        cache: "KVCache | None" = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """As ``MultiHeadAttention.forward``, causal. Cached and new tokens: at most max_seq_len."""
        self._check_inputs(x, None, cache)
        length = x.shape[-2] + (0 if cache is None else cache.length)
        if length > self.max_seq_len:
            raise ValueError(f"sequence of {length} exceeds max_seq_len={self.max_seq_len}")
        return super().forward(
            x, mask, return_attention, bias=bias, is_causal=True, window=window, cache=cache
        )


# --- Decoding -----------------------------------------------------------------------------------


class KVCache:
    """Keys and values of the tokens so far, in memory that is set aside once.

    A decoder that keeps them pays for one query a step instead of for the whole text again.
    ``cache[i]`` is the cache of layer i; a cache of one layer is its own. It is for inference:
    append under ``torch.no_grad()``.

    Memory: 2 · num_layers · batch_size · num_kv_heads · max_seq_len · head_dim numbers.
    """

    def __init__(
        self,
        batch_size: int,
        num_kv_heads: int,
        max_seq_len: int,
        head_dim: int,
        *,
        num_layers: int = 1,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        _check_sizes(
            batch_size=batch_size, num_kv_heads=num_kv_heads, max_seq_len=max_seq_len,
            head_dim=head_dim, num_layers=num_layers,
        )  # fmt: skip
        shape = (2, num_layers, batch_size, num_kv_heads, max_seq_len, head_dim)
        self.keys, self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.lengths = [0] * num_layers
        self.max_seq_len = max_seq_len
        self.layer = 0 if num_layers == 1 else None

    def __getitem__(self, layer: int) -> "KVCache":
        if not 0 <= layer < len(self.lengths):
            raise IndexError(f"layer must lie in 0 ... {len(self.lengths) - 1}, got {layer}")
        view = copy.copy(self)  # shares keys, values and lengths
        view.layer = layer
        return view

    @property
    def length(self) -> int:
        """How many tokens this layer holds."""
        return self.lengths[self._own_layer()]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add (B, Hkv, L, D) of new tokens; return all so far, (B, Hkv, S, D), without a copy."""
        layer, start = self._own_layer(), self.length
        end = start + key.shape[-2]
        keys, values = self.keys[layer], self.values[layer]
        for name, new in (("key", key), ("value", value)):
            want = (*keys.shape[:2], key.shape[-2], keys.shape[-1])
            if tuple(new.shape) != want:
                raise ValueError(f"{name} {tuple(new.shape)} doesn't fit the cache's {want}")
            if new.dtype != keys.dtype or new.device != keys.device:
                raise TypeError(
                    f"{name} is {new.dtype} on {new.device}, "
                    f"the cache {keys.dtype} on {keys.device}"
                )
            if torch.is_grad_enabled() and new.requires_grad:
                raise ValueError(f"{name} requires grad, the cache keeps none: use torch.no_grad()")
        if end > self.max_seq_len:
            raise ValueError(
                f"cache is full: {start} tokens + {end - start} new > {self.max_seq_len}"
            )
        keys[:, :, start:end], values[:, :, start:end] = key, value
        self.lengths[layer] = end
        return keys[:, :, :end], values[:, :, :end]

    def reset(self) -> None:
        """Forget all tokens of all layers; the memory stays."""
        self.lengths[:] = [0] * len(self.lengths)

    def _own_layer(self) -> int:
        if self.layer is None:
            raise ValueError(f"cache has {len(self.lengths)} layers: choose one, cache[0] …")
        return self.layer


# --- Two demonstrations -------------------------------------------------------------------------


def demonstrate_attention(seq_len: int = 6, embed_dim: int = 32, num_heads: int = 4) -> None:
    """Print shapes and weights of an untrained layer on random input."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        layer = MultiHeadAttention(embed_dim, num_heads).eval()
        x = torch.randn(1, seq_len, embed_dim)
        output, weights = layer(x, return_attention=True)
    print(f"input   {tuple(x.shape)}   (batch, tokens, embed_dim)")
    print(f"weights {tuple(weights.shape)}   (batch, heads, query, key)")
    print(f"output  {tuple(output.shape)}   same shape as the input")
    print("weights of head 0, random: each row sums to 1")
    _print_rows(weights[0, 0])


def demonstrate_causal_attention(seq_len: int = 6, embed_dim: int = 32, num_heads: int = 4) -> None:
    """Print causal weights, and what a changed last token does to the outputs before it."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        layer = CausalMultiHeadAttention(embed_dim, num_heads, max_seq_len=seq_len).eval()
        x = torch.randn(1, seq_len, embed_dim)
        output, weights = layer(x, return_attention=True)
        x[:, -1] += 1.0
        change = (layer(x, return_attention=True)[0] - output).abs().amax(-1)[0]
    print("causal weights of head 0, random: no row looks right of its own token")
    _print_rows(weights[0, 0])
    print("change in each output after the last token was changed:")
    print("  " + " ".join(f"{c:.2f}" for c in change[:12]))


def _print_rows(weights: Tensor, most: int = 6) -> None:
    for row in weights[:most, :12]:
        print("  " + " ".join(f"{w:.2f}" for w in row))


# --- What callers get wrong ---------------------------------------------------------------------


def _check_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    window: int | None,
    dropout_p: float,
) -> None:
    q, k, v = (tuple(t.shape) for t in (query, key, value))
    for name, shape in (("query", q), ("key", k), ("value", v)):
        if len(shape) < 2 or len(shape) != len(q):
            raise ValueError(f"{name} must be (..., length, size) like query {q}, got {shape}")
    for name, tensor in (("key", key), ("value", value)):
        _check_like(query, name, tensor)
    if q[-1] != k[-1]:
        raise ValueError(f"head_dim differs: query {q}, key {k}")
    if k[:-1] != v[:-1]:
        raise ValueError(f"key and value must agree in all but the last size: key {k}, value {v}")
    heads_at = -3 if len(q) >= 4 else -2
    if q[:heads_at] != k[:heads_at]:
        raise ValueError(f"batch differs: query {q}, key {k}")
    if len(q) >= 4 and (k[-3] == 0 or q[-3] % k[-3]):
        raise ValueError(f"query heads must be a multiple of key heads: query {q}, key {k}")
    scores = (*q[:-1], k[-2])
    if mask is not None:
        if mask.dtype != torch.bool:
            raise TypeError(
                f"mask must be bool, True = may attend, got {mask.dtype}: "
                "compare it (mask != 0), or give scores to add as bias="
            )
        _check_broadcast("mask", mask, scores)
        _check_device(query, "mask", mask)
    if bias is not None:
        if not bias.is_floating_point():
            raise TypeError(f"bias must be {query.dtype}, got {bias.dtype}: bool goes to mask=")
        _check_broadcast("bias", bias, scores)
        _check_like(query, "bias", bias)
    if window is not None:
        _check_window(window)
    _check_dropout(dropout_p=dropout_p)


def _check_like(query: Tensor, name: str, tensor: Tensor) -> None:
    # Under autocast PyTorch brings both to one dtype itself.
    if tensor.dtype != query.dtype and not torch.is_autocast_enabled(query.device.type):
        raise TypeError(f"dtype differs: query {query.dtype}, {name} {tensor.dtype}")
    _check_device(query, name, tensor)


def _check_device(query: Tensor, name: str, tensor: Tensor) -> None:
    if tensor.device != query.device:
        raise ValueError(f"device differs: query {query.device}, {name} {tensor.device}")


def _check_broadcast(name: str, tensor: Tensor, scores: tuple[int, ...]) -> None:
    shape = tuple(tensor.shape)
    sizes = zip(reversed(shape), reversed(scores), strict=False)
    if len(shape) > len(scores) or any(have not in (1, want) for have, want in sizes):
        raise ValueError(f"{name} {shape} doesn't broadcast to the scores {scores}")


def _check_heads(embed_dim: int, num_heads: int, num_kv_heads: int) -> None:
    _check_sizes(embed_dim=embed_dim, num_heads=num_heads, num_kv_heads=num_kv_heads)
    if embed_dim % num_heads:
        raise ValueError(f"embed_dim={embed_dim} must be a multiple of num_heads={num_heads}")
    if num_heads % num_kv_heads:
        raise ValueError(
            f"num_heads={num_heads} must be a multiple of num_kv_heads={num_kv_heads}"
        )


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")


def _check_window(window: int) -> None:
    if window < 1:
        raise ValueError(f"window must be at least 1 (the token itself), got {window}")


def _check_dropout(**dropout: float) -> None:
    for name, p in dropout.items():
        if not 0.0 <= p < 1.0:
            raise ValueError(f"{name} must lie in [0, 1), got {p}")
