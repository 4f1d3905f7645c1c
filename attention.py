"""Attention, from the formula to the fast kernels, in PyTorch alone. Read it from top to bottom.

Sizes in shape comments: B batch, H heads, L queries, S keys, D head size, E embedding size.

The one mask contract, kept by every function and layer here:

- ``mask`` is bool and broadcasts to the scores, (..., L, S). ``True`` = may attend.
  Scores to *add* go into ``bias=``; a bias of -inf hides, as ``False`` does.
- ``is_causal`` and ``window`` align the *ends* of query and key: the last query stands at the
  last key, so one new query sees the whole cache. (PyTorch's flag aligns the starts.)
- A query that may attend to nothing gets weights 0 and output 0, with finite gradients.
- Returned weights are those before dropout: each row sums to 1, or to 0.

The files beside this one import it, and it needs none of them: variants.py (additive and linear
attention), positions.py, analysis.py, interchange.py (weights to and from other libraries).
Their names can be imported from here too.
"""

import copy
import functools
import importlib
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

Device = torch.device | str | None
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION, "math": SDPBackend.MATH,
}  # fmt: skip
BESIDE = {
    "AdditiveAttention": "variants", "LinearAttention": "variants", "Rotary": "positions",
    "sinusoidal_positions": "positions", "alibi_bias": "positions",
    "LearnedRelativeBias": "positions", "entropy": "analysis", "rollout": "analysis",
    "from_torch": "interchange", "to_torch": "interchange", "load_gpt2": "interchange",
}  # fmt: skip
# Up to so many scores a head, one call takes one mask; beyond, so many queries share a small one.
ONE_CALL, QUERY_CHUNK = 1024 * 1024, 256


def __getattr__(name: str) -> object:
    if name in BESIDE:
        return getattr(importlib.import_module(BESIDE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# --- Masks: True = may attend; combine them with & ---------------------------------------------

def create_causal_mask(query_len: int, key_len: int | None = None, device: Device = None) -> Tensor:
    """Let each query see its own position and those before it.  Returns (L, S), bool.

    Fewer queries than keys are the *last* ones: ``create_causal_mask(1, 4)`` is all True.
    """
    key_len = query_len if key_len is None else key_len
    check_counts(query_len=query_len, key_len=key_len)
    return _band(query_len, key_len, key_len - query_len, True, None, device)


def create_window_mask(
    query_len: int, key_len: int | None = None, device: Device = None, *, window: int
) -> Tensor:
    """Let each query see the keys less than ``window`` positions away.  Returns (L, S), bool.

    ``create_causal_mask(n) & create_window_mask(n, window=w)`` leaves the last w keys.
    """
    key_len = query_len if key_len is None else key_len
    check_counts(query_len=query_len, key_len=key_len, window=window)
    return _band(query_len, key_len, key_len - query_len, False, window, device)


def create_padding_mask(lengths: Tensor | list[int], key_len: int | None = None) -> Tensor:
    """Hide what lies behind each sequence's end.  lengths (B,) -> (B, 1, 1, S), bool."""
    lengths = torch.as_tensor(lengths)
    if lengths.ndim != 1 or lengths.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"lengths must be integers (B,), got {lengths}")
    key_len = max(lengths.tolist(), default=0) if key_len is None else key_len
    if (lengths < 0).any() or (lengths > key_len).any():
        raise ValueError(f"lengths must lie in 0 ... key_len={key_len}, got {lengths.tolist()}")
    return torch.arange(key_len, device=lengths.device) < lengths[:, None, None, None]


def _band(L: int, S: int, offset: int, is_causal: bool, window: int | None, device: Device):
    """True where query i, which stands at key ``offset + i``, may see key j."""
    visible = torch.ones(L, S, dtype=torch.bool, device=device)
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
    check_scores_like("mask", mask, scores, scores.shape)
    # softmax of a row of -inf is 0/0. Such a row is opened first and emptied afterwards, so that
    # no NaN is made on the way forward or back.
    empty = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~(mask | empty), -torch.inf).softmax(-1)
    return weights.masked_fill(empty, 0.0)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *,
    bias: Tensor | None = None, is_causal: bool = False, window: int | None = None,
    scale: float | None = None, dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Average ``value`` with weights that say how well each query matches each key.

    O = softmax(Q Kᵀ / √D + bias) V        (Vaswani et al. 2017, eq. 1)

    Shapes: query (..., L, D), key (..., S, D), value (..., S, Dv). In four or more dimensions key
        and value may have fewer heads, at -3: each serves a group of neighbouring query heads.
        mask bool, and bias of query's dtype, broadcast to (..., L, S).
    Options: ``window`` hides keys ``window`` or more positions away; ``scale`` replaces 1/√D;
        ``dropout_p`` applies whenever it isn't 0: a layer gives 0 in eval mode.
    Returns: output (..., L, Dv), weights (..., L, S), in query's dtype.
    Raises: TypeError or ValueError that names the argument and both values.
    """
    _check_attention(query, key, value, mask, bias, window, dropout_p)
    key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    L, S = query.shape[-2], key.shape[-2]
    if is_causal or window is not None:
        band = _band(L, S, S - L, is_causal, window, query.device)
        mask = band if mask is None else mask & band
    mask, bias = _hide_infinite(mask, bias)
    # Half precision is widened, as fused kernels do inside: rounded scores cost digits.
    dtype, wide = query.dtype, torch.promote_types(query.dtype, torch.float32)
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.mT * scale  # (..., L, S)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, mask)  # (..., L, S)
    output = F.dropout(weights, dropout_p) @ value  # (..., L, Dv)
    return output.to(dtype), weights.to(dtype)


def _hide_infinite(mask: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, ...]:
    """Move a bias of -inf into the mask, where empty rows are looked after."""
    if bias is None:
        return mask, None
    finite = bias != -torch.inf
    return finite if mask is None else mask & finite, bias.masked_fill(~finite, 0.0)


def _repeat_heads(query: Tensor, shared: Tensor) -> Tensor:
    """Give each query head its key or value head: of 4 query heads, 0 and 1 share head 0 of 2."""
    if query.ndim < 4 or query.shape[-3] == shared.shape[-3]:
        return shared
    return shared.repeat_interleave(query.shape[-3] // shared.shape[-3], dim=-3)


# --- Fused attention: the same numbers, no attention matrix -------------------------------------

class BackendError(ValueError):
    """The backend that was asked for can't run here; the message has PyTorch's reason."""


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *,
    bias: Tensor | None = None, is_causal: bool = False, window: int | None = None,
    scale: float | None = None, dropout_p: float = 0.0, backend: str | None = None,
) -> Tensor:  # fmt: skip
    """``scaled_dot_product_attention`` through PyTorch's fused kernels; returns the output alone.

    Memory grows linearly in length. What a kernel can't express without an (L, S) mask, or can't
    do at all (dropout on a CPU), is one call up to ``ONE_CALL`` scores a head; beyond that it is
    calls of ``QUERY_CHUNK`` queries, each with the keys it can see, recomputed in the backward.

    ``backend``: "flash", "efficient", "cudnn" or "math"; None lets PyTorch choose. One that can't
        run raises BackendError, a ValueError, with PyTorch's reason.
    """
    _check_attention(query, key, value, mask, bias, window, dropout_p)
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    (L, D), (S, Dv) = query.shape[-2:], value.shape[-2:]
    if S == 0 or query.numel() == 0:  # nothing to average: kernels differ, and the matrix is empty
        return scaled_dot_product_attention(query, key, value, mask, bias=bias)[0]
    is_causal = is_causal and L > 1
    window = None if window is None or window >= max(L, S) else window
    scale = D**-0.5 if scale is None else scale
    q, k, v = _to_4d(query), _to_4d(key), _to_4d(value)
    mask, bias = _mask_to_4d(mask, query), _mask_to_4d(bias, query)
    if k.shape[-1] != v.shape[-1]:  # kernels want one head size: zeros alter no score or value
        q, k, v = (F.pad(t, (0, max(D, Dv) - t.shape[-1])) for t in (q, k, v))
    call = functools.partial(_kernel, scale=scale, dropout_p=dropout_p, backend=backend)

    # What every query shares, the kernels take as it is; and the causal flag where starts and
    # ends are the same. On a CPU they have neither dropout nor a bias that learns.
    masks = [t for t in (mask, bias) if t is not None]
    shared = not is_causal and window is None and all(t.shape[-2] == 1 for t in masks)
    square = is_causal and window is None and L == S and not masks
    if query.device.type == "cpu" and (dropout_p > 0 or (bias is not None and bias.requires_grad)):
        shared = square = False
    if shared and q.shape[1] > k.shape[1] and all(t.shape[1] == 1 for t in masks):
        # Queries that share keys stand side by side, so that shared heads need no copy.
        q = q.reshape(q.shape[0], k.shape[1], -1, q.shape[-1])
    k, v = _repeat_heads(q, k), _repeat_heads(q, v)
    if shared or square:
        output = call(q, k, v, mask, bias, is_causal=square)
    else:
        output = _in_chunks(call, q, k, v, mask, bias, is_causal, window)
    output = output if Dv >= D else output[..., :Dv]
    same = output.shape[:-1] == query.shape[:-1]
    return output if same else output.reshape(*query.shape[:-1], Dv)


def _in_chunks(
    call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor,
    mask: Tensor | None, bias: Tensor | None, is_causal: bool, window: int | None,
) -> Tensor:  # fmt: skip
    L, S = query.shape[-2], key.shape[-2]
    offset = S - L  # query i stands at key offset + i
    step = L if L * S <= ONE_CALL else QUERY_CHUNK
    mask, bias = (None if t is None else t.expand(-1, -1, L, S) for t in (mask, bias))
    # Kept for the backward pass, the chunks' masks or weights would add up to a matrix.
    learns = any(t is not None and t.requires_grad for t in (query, key, value, bias))
    if step < L and learns and torch.is_grad_enabled():
        call = functools.partial(checkpoint, call, use_reentrant=False)
    outputs = []
    for start in range(0, L, step):
        stop = min(start + step, L)
        first, last = 0, S  # the keys that some query of the chunk can see
        if window is not None:
            first, last = start + offset - window + 1, stop + offset + window - 1
        if is_causal:
            last = stop + offset
        last = min(max(last, 1), S)
        first = min(max(first, 0), last - 1)  # at least one key for the kernel; the band hides it
        queries, keys = slice(start, stop), slice(first, last)
        visible = None if mask is None else mask[..., queries, keys]
        if is_causal or window is not None:
            at = offset + start - first
            band = _band(stop - start, last - first, at, is_causal, window, query.device)
            visible = band if visible is None else visible & band
        inputs = [query[..., queries, :], key[..., keys, :], value[..., keys, :], visible]
        inputs.append(None if bias is None else bias[..., queries, keys])
        outputs.append(call(*inputs))
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-2)


def _kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None, *,
    scale: float, dropout_p: float, backend: str | None, is_causal: bool = False,
) -> Tensor:  # fmt: skip
    """One call of PyTorch's fused attention, (B, H, L, D) in and out; empty rows give 0."""
    mask, bias = _hide_infinite(mask, bias)
    empty = None if mask is None else ~mask.any(-1, keepdim=True)  # opened, then emptied, as above
    attn_mask = None if mask is None else mask | empty
    if bias is not None:
        attn_mask = bias.masked_fill(~attn_mask, -torch.inf)
    # On other strides PyTorch falls back to the whole matrix.
    query, key, value = (t if t.stride(-1) == 1 else t.contiguous() for t in (query, key, value))
    run = functools.partial(_run_on, backend) if backend else F.scaled_dot_product_attention
    output = run(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    return output if empty is None else output.masked_fill(empty, 0.0)


def _run_on(backend: str, query: Tensor, *inputs: Tensor | float, scale: float) -> Tensor:
    run = functools.partial(F.scaled_dot_product_attention, query, *inputs, scale=scale)
    with sdpa_kernel(BACKENDS[backend]):
        if torch.compiler.is_compiling():  # the compiler can't trace the recording of warnings
            return run()
        with warnings.catch_warnings(record=True) as said:  # PyTorch warns of each reason
            warnings.simplefilter("always")
            try:
                output = run()
            except RuntimeError as error:
                if not str(error).startswith(("No available kernel", "No viable backend")):
                    raise
                why = " ".join(str(w.message).split(" (Triggered")[0] for w in said) or str(error)
                where = f"{query.device}, query {tuple(query.shape)}, {query.dtype}"
                raise BackendError(f"backend={backend!r} can't run on {where}: {why}") from error
    for warning in said:
        warnings.warn(warning.message, stacklevel=2)
    return output


def _to_4d(tensor: Tensor) -> Tensor:
    """(..., H, L, D) -> (B, H, L, D), and with no heads (..., L, D) -> (B, 1, L, D).

    PyTorch's CPU kernel takes nothing else: other shapes fall back to the whole matrix.
    """
    if tensor.ndim == 4:
        return tensor
    heads = tensor.shape[-3] if tensor.ndim > 4 else 1
    return tensor.reshape(-1, heads, *tensor.shape[-2:])


def _mask_to_4d(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """A mask for the scores of ``query``, as one for those of ``_to_4d(query)``."""
    if mask is None:
        return None
    mask = mask.reshape((1,) * (query.ndim - mask.ndim) + mask.shape)
    if query.ndim > 4 and mask.shape[:-3].numel() > 1:
        mask = mask.expand(*query.shape[:-3], *mask.shape[-3:])
    return _to_4d(mask)


def usable_backends(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **options: object
) -> dict[str, str | None]:
    """Run each backend once, with ``fused_attention``'s options: name -> None, or why it can't."""
    reasons: dict[str, str | None] = dict.fromkeys(BACKENDS)
    for name in BACKENDS:
        try:
            fused_attention(query, key, value, mask, backend=name, **options)
        except (BackendError, RuntimeError) as error:
            reasons[name] = str(error)
    return reasons


# --- Layers -------------------------------------------------------------------------------------

class MultiHeadAttention(nn.Module):
    """Attend in ``num_heads`` subspaces at once, then mix what they found.

    MultiHead(x) = Concat(head₁, …, head_H) W_O,  head_i = Attention(x Wᵢ_Q, x Wᵢ_K, x Wᵢ_V)
    (Vaswani et al. 2017, §3.2.2). With ``num_kv_heads`` < ``num_heads``, groups of query heads
    share a key and value head (grouped-query, Ainslie et al. 2023; with 1 multi-query).

    The weights of Q, K and V lie in one matrix, ``qkv_proj``, in this order: one large product is
    faster than three small ones. ``rotary`` is called as ``rotary(heads, offset)`` on queries and
    keys (positions.py has one); ``bias`` is that of the projections.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, *,
        num_kv_heads: int | None = None, bias: bool = True, rotary: nn.Module | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_counts(embed_dim=embed_dim, num_heads=num_heads, num_kv_heads=num_kv_heads)
        check_probability("dropout", dropout)
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim=} must be a multiple of {num_heads=}")
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads=} must be a multiple of {num_kv_heads=}")
        self.embed_dim, self.num_heads, self.num_kv_heads = embed_dim, num_heads, num_kv_heads
        self.head_dim = embed_dim // num_heads
        self.kv_dim = num_kv_heads * self.head_dim
        self.dropout, self.rotary = dropout, rotary
        self.qkv_proj = nn.Linear(embed_dim, embed_dim + 2 * self.kv_dim, bias=bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, return_attention: bool = False, *,
        context: Tensor | None = None, bias: Tensor | None = None, is_causal: bool = False,
        window: int | None = None, cache: "KVCache | None" = None,
    ) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
        """Self-attention, or cross-attention where ``context`` gives the keys and values.

        Shapes: x (..., L, E), context (..., S, E); mask and bias broadcast to (..., H, L, S):
            a mask that differs from sequence to sequence is (B, 1, L, S).
        Returns: (..., L, E); with ``return_attention`` also the weights (..., H, L, S), through
            the explicit path and its memory.
        """
        if context is not None and (cache is not None or self.rotary is not None):
            raise ValueError("context excludes cache and rotary: those are for self-attention")
        query, key, value = self._project(x, context)  # (..., H, L, D), (..., Hkv, S, D) twice
        if self.rotary is not None:
            offset = 0 if cache is None else cache.length
            query, key = self.rotary(query, offset), self.rotary(key, offset)
        if cache is not None:
            # What is wrong with the masks must show before the cache has taken the tokens.
            scores = (*query.shape[:-1], cache.length + key.shape[-2])
            for name, tensor in (("mask", mask), ("bias", bias)):
                check_scores_like(name, tensor, query, scores)
            key, value = cache.append(key, value)
        options = {"bias": bias, "is_causal": is_causal, "window": window}
        options["dropout_p"] = self.dropout if self.training else 0.0
        if not return_attention:
            return self._merge(fused_attention(query, key, value, mask, **options), x)
        output, weights = scaled_dot_product_attention(query, key, value, mask, **options)
        return self._merge(output, x), weights.reshape(*x.shape[:-2], *weights.shape[-3:])

    def _project(self, x: Tensor, context: Tensor | None) -> tuple[Tensor, ...]:
        for name, tensor in (("x", x), ("context", context)):
            if tensor is not None:
                check_width(name, tensor, "embed_dim", self.embed_dim)
                check_alike("layer", self.qkv_proj.weight, name, tensor)
        if context is None:
            counts = [self.num_heads, self.num_kv_heads, self.num_kv_heads]
            parts = self._heads(self.qkv_proj(x)).split(counts, dim=-3)
        else:
            if x.shape[:-2] != context.shape[:-2]:
                raise ValueError(f"batch differs: x {(*x.shape,)}, context {(*context.shape,)}")
            weight, bias, E = self.qkv_proj.weight, self.qkv_proj.bias, self.embed_dim
            b_q, b_kv = (None, None) if bias is None else (bias[:E], bias[E:])
            shared = self._heads(F.linear(context, weight[E:], b_kv)).chunk(2, dim=-3)
            parts = (self._heads(F.linear(x, weight[:E], b_q)), *shared)
        # One sequence gets a batch of its own, or its heads would pass for a batch.
        return tuple(t.unsqueeze(0) for t in parts) if x.ndim == 2 else parts

    def _heads(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2)

    def _merge(self, heads: Tensor, x: Tensor) -> Tensor:
        return self.out_proj(heads.transpose(-3, -2).reshape(*x.shape[:-1], self.embed_dim))


class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention in which no token sees a later one: a decoder's layer (GPT)."""

    def __init__(
        self, embed_dim: int, num_heads: int, max_seq_len: int, dropout: float = 0.0, *,
        num_kv_heads: int | None = None, bias: bool = True, rotary: nn.Module | None = None,
    ) -> None:  # fmt: skip
        options = {"num_kv_heads": num_kv_heads, "bias": bias, "rotary": rotary}
        super().__init__(embed_dim, num_heads, dropout, **options)
        check_counts(max_seq_len=max_seq_len)
        self.max_seq_len = max_seq_len

    def forward(
        self, x: Tensor, mask: Tensor | None = None, return_attention: bool = False, *,
        bias: Tensor | None = None, window: int | None = None, cache: "KVCache | None" = None,
    ) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
        """As ``MultiHeadAttention.forward``, causal. Cached and new tokens: at most max_seq_len."""
        check_width("x", x, "embed_dim", self.embed_dim)
        length = x.shape[-2] + (0 if cache is None else cache.length)
        if length > self.max_seq_len:
            raise ValueError(f"sequence of {length} exceeds max_seq_len={self.max_seq_len}")
        options = {"bias": bias, "window": window, "cache": cache}
        return super().forward(x, mask, return_attention, is_causal=True, **options)


# --- Decoding -----------------------------------------------------------------------------------

class KVCache:
    """Keys and values of the tokens so far, in memory that is set aside once.

    With it a decoder pays for one query a step, not for the whole text again. ``cache[i]`` is the
    cache of layer i; one of a single layer is its own. For inference: under ``torch.no_grad()``.

    Memory: 2 · num_layers · batch_size · num_kv_heads · max_seq_len · head_dim numbers.
    """

    def __init__(
        self, batch_size: int, num_kv_heads: int, max_seq_len: int, head_dim: int, *,
        num_layers: int = 1, dtype: torch.dtype | None = None, device: Device = None,
    ) -> None:  # fmt: skip
        check_counts(batch_size=batch_size, num_kv_heads=num_kv_heads, num_layers=num_layers)
        check_counts(max_seq_len=max_seq_len, head_dim=head_dim)
        shape = (2, num_layers, batch_size, num_kv_heads, max_seq_len, head_dim)
        self.keys, self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.lengths = [0] * num_layers
        self.max_seq_len = max_seq_len
        self.layer = 0 if num_layers == 1 else None

    def __getitem__(self, layer: int) -> "KVCache":
        if layer not in range(len(self.lengths)):
            raise IndexError(f"layer must lie in 0 ... {len(self.lengths) - 1}, got {layer}")
        view = copy.copy(self)  # shares keys, values and lengths
        view.layer = layer
        return view

    @property
    def length(self) -> int:
        """How many tokens this layer holds."""
        if self.layer is None:
            raise ValueError(f"cache has {len(self.lengths)} layers: choose one, as in cache[0]")
        return self.lengths[self.layer]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add L new tokens, (B, Hkv, L, D); return all so far, (B, Hkv, S, D), as views."""
        start, end = self.length, self.length + key.shape[-2]
        keys, values = self.keys[self.layer], self.values[self.layer]
        for name, new in (("key", key), ("value", value)):
            wanted = (*keys.shape[:2], key.shape[-2], keys.shape[-1])
            if new.shape != wanted:
                raise ValueError(f"{name} {tuple(new.shape)} doesn't fit the cache's {wanted}")
            check_alike("cache", keys, name, new)
            if torch.is_grad_enabled() and new.requires_grad:
                raise ValueError(f"{name} requires grad, the cache keeps none: use torch.no_grad()")
        if end > self.max_seq_len:
            asked = f"{start} tokens + {end - start} new"
            raise ValueError(f"cache is full: {asked} exceed max_seq_len={self.max_seq_len}")
        keys[:, :, start:end], values[:, :, start:end] = key, value
        self.lengths[self.layer] = end
        return keys[:, :, :end], values[:, :, :end]

    def reset(self) -> None:
        """Forget the tokens of all layers; the memory stays."""
        self.lengths[:] = [0] * len(self.lengths)


# --- Two demonstrations -------------------------------------------------------------------------

def demonstrate_attention(seq_len: int = 6, embed_dim: int = 32, num_heads: int = 4) -> None:
    """Print the shapes and weights of an untrained layer on random input."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        x = torch.randn(1, seq_len, embed_dim)
        output, weights = MultiHeadAttention(embed_dim, num_heads)(x, return_attention=True)
    print(f"{tuple(x.shape)} in, weights {tuple(weights.shape)}, {tuple(output.shape)} out")
    _print_rows("head 0, untrained; a row is a query's weights over the keys:", weights[0, 0])


def demonstrate_causal_attention(seq_len: int = 6, embed_dim: int = 32, num_heads: int = 4) -> None:
    """Print causal weights, and which outputs move when the last token changes."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        x = torch.randn(1, seq_len, embed_dim)
        layer = CausalMultiHeadAttention(embed_dim, num_heads, max_seq_len=seq_len)
        before, weights = layer(x, return_attention=True)
        x[:, -1] += 1.0
        after, _ = layer(x, return_attention=True)
    _print_rows("head 0, untrained, causal:", weights[0, 0])
    _print_rows("the last token changed; each output moved by", (after - before).abs().amax(-1))


def _print_rows(title: str, rows: Tensor) -> None:
    print(title)
    for row in rows[:6, -10:]:
        print("  " + " ".join(f"{number:.2f}" for number in row))


# --- What callers get wrong ---------------------------------------------------------------------

def _check_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None,
    window: int | None, dropout_p: float,
) -> None:  # fmt: skip
    q, k, v = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    with_heads = len(q) == len(k) >= 4  # or dimension -3 is one more batch
    rules = {
        "need as many dimensions, at least 2": not 2 <= len(q) == len(k) == len(v),
        "head_dim differs": q[-1:] != k[-1:],
        "head_dim is 0": q[-1:] == (0,),
        "key and value differ in batch, heads or length": k[:-1] != v[:-1],
        "batch differs": q[:-3] != k[:-3] if with_heads else q[:-2] != k[:-2],
        "query heads must be a multiple of key heads": with_heads
        and (q[-3] % k[-3] if k[-3] else q[-3]) > 0,
    }
    if wrong := [rule for rule in rules if rules[rule]]:
        raise ValueError(f"{wrong[0]}: query {q}, key {k}, value {v}")
    if not query.is_floating_point():
        raise TypeError(f"query must be of a floating dtype, got {query.dtype}")
    check_alike("query", query, "key", key)
    check_alike("query", query, "value", value)
    check_scores_like("mask", mask, query, (*q[:-1], k[-2]))
    check_scores_like("bias", bias, query, (*q[:-1], k[-2]))
    if window is not None:
        check_counts(window=window)
    check_probability("dropout_p", dropout_p)


def check_scores_like(
    name: str, tensor: Tensor | None, query: Tensor, scores: tuple[int, ...]
) -> None:
    if tensor is None:
        return
    dtype = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
    if name == "mask" and dtype != torch.bool:
        raise TypeError(f"mask must be bool, True = may attend; got {dtype}: add scores with bias=")
    if name == "bias" and dtype == torch.bool:
        raise TypeError(f"bias must be {query.dtype}, to be added; got {dtype}: hide with mask=")
    have, want = tuple(tensor.shape), tuple(scores)
    pairs = zip(have[::-1], want[::-1], strict=False)
    if len(have) > len(want) or any(a not in (1, b) for a, b in pairs):
        raise ValueError(f"{name} {have} doesn't broadcast to the scores {want}")
    check_alike("query", query, name, tensor)


def check_alike(like_name: str, like: Tensor, name: str, tensor: Tensor) -> None:
    # Under autocast PyTorch brings query, key and value to one dtype itself.
    # (Asked only when they differ: the meta device knows no autocast.)
    same = name == "mask" or tensor.dtype == like.dtype
    if not same and not torch.is_autocast_enabled(like.device.type):
        raise TypeError(f"dtype differs: {like_name} {like.dtype}, {name} {tensor.dtype}")
    if tensor.device != like.device:
        raise ValueError(f"device differs: {like_name} {like.device}, {name} {tensor.device}")


def check_width(name: str, tensor: Tensor, width_name: str, width: int) -> None:
    if tensor.ndim < 2 or tensor.shape[-1] != width:
        raise ValueError(f"{name} {(*tensor.shape,)} must be (..., length, {width_name}={width})")


def check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"{name} must be an int, got {count!r}")
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")


def check_probability(name: str, p: float) -> None:
    if not 0.0 <= p < 1.0:
        raise ValueError(f"{name} must lie in [0, 1), got {p}")
