"""Attention, from the formula to the fast kernels, in plain PyTorch. Read it from top to bottom:
masks, explicit attention, the layer and its cache, which the lessons teach. Behind them stand the
fused kernels, helpers and checks, for those who change them. It needs none of the files beside it.

Sizes in shape comments: B batch, H heads, L queries, S keys, D head size, E embedding size.

The mask contract of every function and layer here:

- ``mask`` is bool and broadcasts to the scores, (..., L, S). ``True`` = may attend.
  Scores to *add* go into ``bias=``; a bias of -inf hides, as ``False`` does.
- Shapes line up from the right: (L, S), or (B, 1, L, S) if sequences differ; a bias for heads is
  (H, L, S). A mask of three is refused: most would be meant as (B, L, S), and pass if B == H.
- ``is_causal`` and ``window`` align the *ends* of query and key: the last query stands at the
  last key, so one new query sees the whole cache. (PyTorch's flag aligns the starts.)
- A query that may attend to nothing gets weights 0 and output 0, with finite gradients.
- Returned weights are those before dropout: each row sums to 1, or to 0 (to less with sinks).
- Hidden means weight 0, and 0 · ∞ is NaN: an infinite or NaN key or value can reach outputs even
  if it is hidden. Fill padding with finite numbers.
"""

import contextlib
import copy
import functools
import inspect
import itertools
import numbers
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypedDict, Unpack

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

Device = torch.device | str | None
Lengths = Tensor | Sequence[int]


# --- Masks: True = may attend; combine them with & ----------------------------------------------


def create_causal_mask(query_len: int, key_len: int | None = None, device: Device = None) -> Tensor:
    """Let each query see its own position and those before it.  Returns (L, S), bool.

    Fewer queries than keys are the *last* ones: ``create_causal_mask(1, 4)`` is all True.
    """
    L, S = _lengths(query_len, key_len)
    return torch.ones(L, S, dtype=torch.bool, device=device).tril(S - L)


def create_padding_mask(
    lengths: Lengths, key_len: int | None = None, *, padding_side: str = "right"
) -> Tensor:
    """Hide what pads each sequence.  lengths (B,) -> (B, 1, 1, S), bool.

    ``padding_side``: "right" if the tokens come first, "left" if the padding does.
    """
    real, key_len = _padded_lengths(lengths, key_len, padding_side)  # (B, 1, 1, 1)
    keys = torch.arange(key_len, device=real.device)  # (S,)
    return keys < real if padding_side == "right" else keys >= key_len - real  # (B, 1, 1, S)


# --- Explicit attention: every step and every weight in sight -----------------------------------


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the keys that ``mask`` shows; a row that shows none becomes 0.

    Shapes: scores (..., L, S); mask bool, broadcast to it. Returns (..., L, S).
    """
    if mask is None:
        return scores.softmax(-1)
    check_broadcast("mask", mask, scores, scores.shape)
    # softmax of a row of -inf is 0/0. Such a row is opened first and emptied afterwards, so that
    # neither pass computes a NaN.
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
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Average ``value`` with weights that say how well each query matches each key.

    O = softmax(Q Kᵀ / √D + bias) V        (Vaswani et al. 2017, eq. 1)

    Shapes: query (..., L, D), key (..., S, D), value (..., S, Dv). In four or more dimensions key
        and value may have fewer heads, at -3: each serves a group of neighbouring query heads.
        mask bool, and bias of query's dtype, broadcast to (..., L, S). A hidden key or value must
        be finite: its weight is 0, and 0 · ∞ is NaN.
    Options: ``window`` hides keys ``window`` or more positions away; ``scale`` replaces 1/√D.
        ``softcap`` c turns each scaled score s into c · tanh(s / c), before bias and mask
        (Gemma 2, 2024). ``sinks`` (H,) is a score for each head that takes part in its softmax
        and has no value, so that rows sum to less than 1 (gpt-oss, 2025; 0 is "softmax1").
        ``dropout_p`` applies whenever it isn't 0: a layer gives 0 in eval mode.
    Returns: output (..., L, Dv), weights (..., L, S), in query's dtype, computed in float32 or
        wider, under autocast too.
    Raises: TypeError or ValueError that names the argument and both values.
    """
    # As fused kernels do inside: a key head a query head, one mask, and float32 for the digits.
    dtype, hiding = query.dtype, (mask, bias, is_causal, window)
    check_attention(query, key, value, *hiding, dropout_p, softcap, sinks)
    query, key, value, mask, bias = _prepare(query, key, value, *hiding)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    with without_autocast(query.device.type):  # it would narrow the products again
        scores = query @ key.mT * scale  # (..., L, S)
        scores = scores if softcap is None else softcap * (scores / softcap).tanh()
        scores = scores if bias is None else scores + bias
        if sinks is None:
            weights = masked_softmax(scores, mask)  # (..., L, S)
        else:
            weights = _softmax_with_sinks(scores, mask, sinks)
        output = F.dropout(weights, dropout_p) @ value  # (..., L, Dv)
    return output.to(dtype), weights.to(dtype)


# --- The layer ----------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    """Attend in ``num_heads`` subspaces at once, then mix their outputs.

    MultiHead(x) = Concat(head₁, …, head_H) W_O,  head_i = Attention(x Wᵢ_Q, x Wᵢ_K, x Wᵢ_V)
    (Vaswani et al. 2017, §3.2.2). With ``num_kv_heads`` < ``num_heads``, groups of query heads
    share a key and value head (grouped-query, Ainslie et al. 2023; with 1 multi-query).

    The weights of Q, K and V lie in one matrix, ``qkv_proj``, in this order: one large product is
    faster than three small ones. ``LayerOptions`` says what the options mean.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        qk_norm: bool = False,
        norm_eps: float = 1e-6,
        rotary: nn.Module | None = None,
        scale: float | None = None,
        softcap: float | None = None,
        sinks: bool = False,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = _layer_sizes(embed_dim, num_heads, num_kv_heads, head_dim, dropout, softcap)
        self.embed_dim, self.num_heads, self.num_kv_heads, self.head_dim = sizes
        self.query_dim = self.num_heads * self.head_dim
        self.kv_dim = self.num_kv_heads * self.head_dim
        self.dropout, self.rotary, self.scale, self.softcap = dropout, rotary, scale, softcap
        qkv_dim = self.query_dim + 2 * self.kv_dim
        self.qkv_proj = nn.Linear(self.embed_dim, qkv_dim, bias, device, dtype)
        self.out_proj = nn.Linear(self.query_dim, self.embed_dim, bias, device, dtype)
        self.query_norm, self.key_norm, self.sinks = _extras(self, qk_norm, norm_eps, sinks)

    def extra_repr(self) -> str:
        heads = f"num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}"
        return f"{self.embed_dim}, {heads}, head_dim={self.head_dim}, dropout={self.dropout}"

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
        lengths: Lengths | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Self-attention, or cross-attention if ``context`` gives the keys and values.

        Shapes: x (..., L, E), context (..., S, E); mask and bias broadcast to (..., H, L, S). x may
            be a jagged nested tensor, (B, j, E), with only ``is_causal`` and ``window``.
        Options: ``lengths`` (B,), how many tokens of each row of x are no padding, is for a
            RaggedKVCache (caching.py). ``position_ids`` (L,) or (..., L) are the positions
            for ``rotary``, by default those behind the cache.
        Returns: (..., L, E); with ``return_attention`` also weights (..., H, L, S), in more memory.
        """
        cached = (cache, lengths, position_ids)
        check_forward(self, x, mask, return_attention, context, bias, window, *cached)
        if x.is_nested:
            return _forward_jagged(self, x, is_causal=is_causal, window=window)
        query, key, value = self.project(x, context)  # (..., H, L, D), (..., Hkv, S, D) twice
        positions, options = _placement(self, query, key, mask, bias, is_causal, window, *cached)
        if self.rotary is not None:
            query, key = rotate(self.rotary, query, positions), rotate(self.rotary, key, positions)
        if cache is not None:
            key, value = cache.append(key, value, lengths)
        if not return_attention:
            return self.merge(fused_attention(query, key, value, **options), x)
        output, weights = scaled_dot_product_attention(query, key, value, **options)
        return self.merge(output, x), weights.reshape(*x.shape[:-2], *weights.shape[-3:])

    def project(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, ...]:
        """Query heads (..., H, L, D), key and value heads (..., Hkv, S, D)."""
        counts = [self.num_heads, self.num_kv_heads, self.num_kv_heads]
        query, key, value = self._heads(self.qkv_proj(x)).split_with_sizes(counts, dim=-3)
        if context is not None:  # a call, not its weight: hooks, LoRA or int8 may stand for that
            _check_context(self, x, context)
            _, key, value = self._heads(self.qkv_proj(context)).split_with_sizes(counts, dim=-3)
        if self.query_norm is not None:  # autocast would leave them wide
            query = self.query_norm(query).type_as(value)
            key = self.key_norm(key).type_as(value)
        return query, key, value

    def _heads(self, projected: Tensor) -> Tensor:
        shape = (*projected.shape[:-1], projected.shape[-1] // self.head_dim, self.head_dim)
        heads = projected.view(shape).transpose(-3, -2)  # (..., L, H, D) -> (..., H, L, D)
        # One sequence gets a batch of its own, or its heads would pass for a batch.
        return heads.unsqueeze(0) if heads.ndim == 3 else heads

    def merge(self, heads: Tensor, x: Tensor) -> Tensor:
        """Put the heads (..., H, L, D) side by side, through ``out_proj``: (..., L, E)."""
        heads = heads.transpose(-3, -2)  # (..., L, H, D)
        return self.out_proj(heads.reshape(*x.shape[:-1], self.query_dim))  # (..., L, E)


# --- The cache ----------------------------------------------------------------------------------


class KVCache:
    """Keys and values of the tokens so far, in memory that is set aside once.

    With it a decoder pays for one query a step, not for the whole text again. ``cache[i]`` is the
    cache of layer i; one of a single layer is its own. For inference: under ``torch.no_grad()``.
    All sequences have as many tokens. caching.py has caches of sequences that differ, that forget,
    and for compilers; it also makes all of them pytrees, for ``torch.export``.

    Memory: num_layers · batch_size · num_kv_heads · max_seq_len · (head_dim + value_dim) numbers.
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
        dtype: torch.dtype | None = None,
        device: Device = None,
    ) -> None:
        rows = (num_layers, batch_size, num_kv_heads, max_seq_len)
        value_dim = _value_dim(*rows, head_dim, value_dim)
        self.keys = torch.zeros(*rows, head_dim, dtype=dtype, device=device)
        self.values = torch.zeros(*rows, value_dim, dtype=dtype, device=device)
        self.lengths = [0] * num_layers
        self.max_seq_len = int(max_seq_len)
        self.layer = 0 if num_layers == 1 else None

    def __getitem__(self, layer: int) -> "KVCache":
        view = copy.copy(self)  # shares keys, values and lengths
        view.layer = known_layer(self, layer)
        return view

    @property
    def length(self) -> int:
        """How many tokens this layer holds."""
        return self.lengths[known_layer(self)]

    def append(
        self, key: Tensor, value: Tensor, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add L new tokens, (B, Hkv, L, D); return all so far, (B, Hkv, S, D), as views."""
        _check_room_for(self, key, value, lengths)
        start, end = self.length, self.length + key.shape[-2]
        keys, values = self.keys[self.layer], self.values[self.layer]
        keys[:, :, start:end], values[:, :, start:end] = key, value
        self.lengths[self.layer] = end
        return keys[:, :, :end], values[:, :, :end]

    def crop(self, length: int) -> None:
        """Forget the tokens behind the first ``length``, in all layers: after a rejected draft."""
        check_counts(0, length=length)
        self.lengths[:] = [min(count, int(length)) for count in self.lengths]

    # The rest is in no lesson: what layers ask of a cache, beams, other devices, its text.

    def placement(
        self,
        query_len: int,
        lengths: Lengths | None = None,
        *,
        is_causal: bool = False,
        window: int | None = None,
    ) -> "Placement":
        """Return the next tokens' positions, and which keys they may see."""
        refuse_lengths(lengths)
        return Placement(self.length, self.length + query_len, is_causal, window)

    def reset(self) -> None:
        """Forget all tokens; the memory stays."""
        self.crop(0)

    def reorder(self, index: Lengths) -> None:
        """Let sequence b go on with the past of sequence ``index[b]``, in all layers: for beams."""
        index = _check_order(self, index)
        for memory in (self.keys, self.values):  # in place: the layers' views share this memory
            memory.copy_(memory.index_select(1, index))

    def select(self, index: Lengths) -> "KVCache":
        """Return a cache whose sequence b is this one's ``index[b]``: [0, 0, 0] for three beams."""
        index = _check_order(self, index, same_count=False)
        return _with_memory(self, self.keys[:, index], self.values[:, index])

    def to(self, *device_or_dtype: object, **options: object) -> "KVCache":
        """Return a copy on another device or of another dtype, like ``Tensor.to``."""
        options["copy"] = True
        moved = (memory.to(*device_or_dtype, **options) for memory in (self.keys, self.values))
        return _with_memory(self, *moved)

    def __repr__(self) -> str:
        return _description(self)


# --- Fused attention: the same numbers, no attention matrix -------------------------------------


BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}
# "FA3" and "FA4" of newer versions of PyTorch: once activated, they replace flash.
FLASH_IMPLS: list[str] = getattr(nn.attention, "list_flash_attention_impls", list)()
if torch.backends.cuda.is_built():
    BACKENDS |= dict.fromkeys(FLASH_IMPLS, SDPBackend.FLASH_ATTENTION)
ONE_CALL = 1024 * 1024  # up to so many scores a head, one kernel call takes one (L, S) mask;
QUERY_CHUNK = 256  # beyond, so many queries share a small one


class BackendError(ValueError):
    """The backend that was asked for can't run here; the message has PyTorch's reason."""


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
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout_p: float = 0.0,
    backend: str | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """``scaled_dot_product_attention`` through PyTorch's fused kernels; returns only the output.

    Memory grows linearly in length, and shared key and value heads are not copied if a kernel
    reads them as they are. What a kernel can't express without an (L, S) mask, or can't
    do at all (dropout on a CPU), is one call up to ``ONE_CALL`` scores a head; beyond that it is
    calls of ``QUERY_CHUNK`` queries, each with the keys it can see, recomputed in the backward.
    ``softcap``, ``sinks`` and ``return_lse`` are computed by explicit steps in such chunks; the
    last two on a CPU by its kernel. On a GPU flex.py is faster.

    ``backend``: "flash", "efficient", "cudnn" or "math"; None lets PyTorch choose. One that can't
        run raises BackendError, a ValueError, with PyTorch's reason. "FA3" and "FA4" are flash by
        FlashAttention-3 and 4, once ``torch.nn.attention.activate_flash_attention_impl`` has
        replaced flash by it, for all calls of the process and their backward passes.
    ``return_lse``: also return log Σ exp(score) of each query, the sink's included, (..., L), in
        float32 or wider; -inf if it sees nothing. ``merge_attention`` (variants.py) joins the
        results over parts of the keys by it. Both have gradients.

    Two neighbours. A mask that is a *function* of positions, or a change of scores that no kernel
    knows, is flex.py's. PyTorch's ``torch.nn.attention.bias.causal_lower_right(L, S)``
    aligns the ends as ``is_causal`` does here; handed over as ``attn_mask`` it keeps the fast
    kernels of a GPU, but on a CPU it makes the (L, S) mask.
    """
    explicit = softcap is not None or sinks is not None or return_lse
    bare = mask is bias is window is backend is None and not dropout_p and not explicit
    if bare and _is_plain(query, key, value, is_causal, scale):
        flag = is_causal and query.shape[2] > 1
        try:
            return F.scaled_dot_product_attention(query, key, value, is_causal=flag, scale=scale)
        except RuntimeError:  # the checks below say what is wrong (suppress() takes a microsecond)
            pass
    check_attention(query, key, value, mask, bias, is_causal, window, dropout_p, softcap, sinks)
    _check_backend(backend, explicit)
    (L, D), S = query.shape[-2:], value.shape[-2]
    is_causal = is_causal and L > 1
    window = None if window is None or window >= max(L, S) else window
    scale = D**-0.5 if scale is None else scale
    if explicit:
        options = {"scale": scale, "softcap": softcap, "sinks": sinks, "dropout_p": dropout_p}
        output, lse = _explicit(query, key, value, mask, bias, is_causal, window, options)
        return (output, lse) if return_lse else output
    if S == 0 or query.numel() == 0:  # nothing to average: kernels differ, and the matrix is empty
        return scaled_dot_product_attention(query, key, value, mask, bias=bias)[0]
    options = {"scale": scale, "dropout_p": dropout_p, "backend": backend}
    return _fused(query, key, value, mask, bias, is_causal, window, options)


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    options: dict[str, object],
) -> Tensor:
    """Bring the inputs into the form that kernels take, and choose how to call them."""
    (L, D), (S, Dv), scale = query.shape[-2:], value.shape[-2:], options["scale"]
    if isinstance(scale, Tensor) or scale <= 0:
        # PyTorch's flash kernel gives NaN on a CPU: F.scaled_dot_product_attention(*torch.ones(
        # 3, 1, 1, 2, 4), is_causal=True, scale=-0.5). No kernel takes a scale that is learned.
        query, options = query * scale, options | {"scale": 1.0}

    q, k, v = _to_4d(query), _to_4d(key), _to_4d(value)  # (B, H, L, D), (B, Hkv, S, D) twice
    mask, bias = _mask_to_4d(mask, query), _mask_to_4d(bias, query)  # broadcast to (B, H, L, S)
    if Dv != D:  # kernels want one head size: zeros alter no score or value
        q, k, v = (F.pad(t, (0, max(D, Dv) - t.shape[-1])) for t in (q, k, v))
    kernel = functools.partial(_kernel, **options)

    # PyTorch's kernels accept a mask that is the same for every query, and their causal flag if
    # L == S. On a CPU they have neither dropout nor a bias that learns.
    masks = [t for t in (mask, bias) if t is not None]
    shared = not is_causal and window is None and all(t.shape[-2] == 1 for t in masks)
    square = is_causal and window is None and L == S and not masks
    learns = bias is not None and bias.requires_grad
    if query.device.type == "cpu" and (options["dropout_p"] > 0 or learns):
        shared = square = False
    with _explain_backend_errors(options["backend"], query):
        if shared and q.shape[1] > k.shape[1] and all(t.shape[1] == 1 for t in masks):
            # Queries that share keys stand side by side: one long read of keys for all of them.
            side_by_side = q.reshape(q.shape[0], k.shape[1], -1, q.shape[-1])  # (B, Hkv, G·L, D)
            output = kernel(side_by_side, k, v, mask, bias)
        elif shared or square:
            output = kernel(q, k, v, mask, bias, is_causal=square)
        else:
            output = _in_chunks(kernel, q, k, v, mask, bias, is_causal, window, ONE_CALL)
    output = output if Dv >= D else output[..., :Dv]
    same = output.shape[:-1] == query.shape[:-1]
    return output if same else output.reshape(*query.shape[:-1], Dv)


def _explicit(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    options: dict[str, object],
) -> tuple[Tensor, Tensor]:
    """Output (..., L, Dv) and log-sum-exp (..., L) of what no kernel has, by chunks of queries."""
    q, k, v = _to_4d(query), _to_4d(key), _to_4d(value)
    mask, bias = _mask_to_4d(mask, query), _mask_to_4d(bias, query)
    if _has_flash_lse(q, k, bias, options):
        kernel = functools.partial(_flash_kernel, scale=options["scale"], sinks=options["sinks"])
        if mask is bias is window is None and (not is_causal or q.shape[-2] == k.shape[-2]):
            joined = kernel(q, k, v, None, None, is_causal=is_causal)
        else:
            joined = _in_chunks(kernel, q, k, v, mask, bias, is_causal, window, ONE_CALL)
    else:
        kernel = functools.partial(_explicit_kernel, **options)
        most = ONE_CALL // 4  # it stores scores, the others only a mask
        joined = _in_chunks(kernel, q, k, v, mask, bias, is_causal, window, most)
    joined = joined.reshape(*query.shape[:-1], value.shape[-1] + 1)
    return joined[..., :-1].to(query.dtype), joined[..., -1]


def _has_flash_lse(
    query: Tensor, key: Tensor, bias: Tensor | None, options: dict[str, object]
) -> bool:
    """True if ``_flash_kernel`` runs: on a CPU, outside compilers, autocast and torch.func."""
    scale, learns = options["scale"], bias is not None and bias.requires_grad
    if options["softcap"] is not None or options["dropout_p"] > 0 or learns:
        return False
    if type(scale) is not float or scale <= 0 or query.numel() == 0 or key.numel() == 0:
        return False
    if query.device.type != "cpu" or type(query) is not Tensor or torch.compiler.is_compiling():
        return False
    transformed = torch._C._functorch.peek_interpreter_stack() is not None
    return not transformed and not torch.is_autocast_enabled("cpu")


class _FlashWithLse(torch.autograd.Function):
    """PyTorch's CPU kernel with its log-sum-exp, and the gradient of both, which it has of one."""

    @staticmethod
    def forward(
        ctx, query: Tensor, key: Tensor, value: Tensor, added: Tensor | None, *options: object
    ) -> tuple[Tensor, Tensor]:
        is_causal, scale = options
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        output, lse = kernel(query, key, value, 0.0, is_causal, attn_mask=added, scale=scale)
        ctx.save_for_backward(query, key, value, added, output, lse)
        ctx.options = options
        return output, lse

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_output: Tensor, d_lse: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, added, output, lse = ctx.saved_tensors
        is_causal, scale = ctx.options
        # Scores get P ∘ (dO Vᵀ − rowsum(dO ∘ O) + dlse). The kernel adds the last term if V has
        # a column of ones more, whose gradient is dlse, and O a column of zeros.
        query, key, output = (F.pad(t, (0, 1)) for t in (query, key, output))
        value = F.pad(value, (0, 1), value=1.0)
        d_output = torch.cat([d_output, d_lse[..., None].to(d_output.dtype)], -1)
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        inputs = (d_output, query, key, value, output, lse, 0.0, is_causal)
        grads = kernel(*inputs, attn_mask=added, scale=scale)
        return *(grad[..., :-1] for grad in grads), None, None, None


def _flash_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    *,
    scale: float,
    sinks: Tensor | None,
    is_causal: bool = False,
) -> Tensor:
    """Compute ``_explicit_kernel`` by PyTorch's CPU kernel; a sink takes its share afterwards."""
    key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    mask, bias = _hide_infinite(mask, bias)
    added, empty = None, None
    if mask is not None:
        empty = ~mask.any(-1, keepdim=True)
        hidden = ~mask & ~empty
        added = query.new_zeros(()) if bias is None else bias
        added = added.masked_fill(hidden, -torch.inf)
        added = added.expand(*added.shape[:-2], query.shape[-2], key.shape[-2])
    D, Dv = query.shape[-1], value.shape[-1]
    query, key, value = (F.pad(t, (0, max(D, Dv) - t.shape[-1])) for t in (query, key, value))
    output, lse = _FlashWithLse.apply(query, key, value, added, is_causal, scale)
    output, lse = output[..., :Dv].to(lse.dtype), lse[..., None]
    if sinks is not None:
        sinks = sinks.to(lse.dtype)[..., None, None]
        output, lse = output * (lse - sinks).sigmoid(), torch.logaddexp(lse, sinks)
    if empty is not None:  # there the sink is all, if there is one
        output = output.masked_fill(empty, 0.0)
        left = lse.new_tensor(-torch.inf) if sinks is None else sinks
        lse = torch.where(empty, left, lse)
    return torch.cat([output, lse], -1)


def _explicit_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    *,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Output with the log-sum-exp as one more column, (B, H, L, Dv + 1), in float32 or wider."""
    wide = torch.promote_types(query.dtype, torch.float32)
    key, value = _repeat_heads(query, key).to(wide), _repeat_heads(query, value).to(wide)
    with without_autocast(query.device.type):
        scores = query.to(wide) @ key.mT * scale  # (B, H, L, S)
        scores = scores if softcap is None else softcap * (scores / softcap).tanh()
        scores = scores if bias is None else scores + bias
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        if sinks is not None:
            sink = sinks.to(wide)[..., None, None].expand(*scores.shape[:-1], 1)
            scores = torch.cat([scores, sink], -1)
        empty = (scores == -torch.inf).all(-1, keepdim=True)  # opened here, and emptied below
        scores = scores.masked_fill(empty, 0.0)
        lse = scores.logsumexp(-1, keepdim=True)  # (B, H, L, 1)
        shares = (scores - lse).exp().masked_fill(empty, 0.0)[..., : key.shape[-2]]
        mixed = F.dropout(shares, dropout_p) @ value  # (B, H, L, Dv)
        return torch.cat([mixed, lse.masked_fill(empty, -torch.inf)], -1)


def _is_plain(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool, scale: float | None
) -> bool:
    """Return whether PyTorch's call reads the inputs in the same way; it may still refuse them.
    In few looks: all checks together take as long as the attention of 16 tokens."""
    if not type(query) is type(key) is type(value) is Tensor or torch.compiler.is_compiling():
        return False
    q, k = query.shape, key.shape
    if len(q) != 4 or k != value.shape:
        return False
    if q != k and (q[:2] != k[:2] or q[3] != k[3] or (is_causal and q[2] > 1)):
        return False
    return (
        (is_causal is False or is_causal is True)
        and (scale is None or (type(scale) is float and scale > 0))
        and query.numel() > 0
        and key.numel() > 0
        and (query.is_contiguous() or query.stride(3) == 1)
        and (key.is_contiguous() or key.stride(3) == 1)
        and (value.is_contiguous() or value.stride(3) == 1)
    )


def _in_chunks(
    kernel: Callable[..., Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    most: int,
) -> Tensor:
    """Call the kernel for some queries at a time, each with the keys that they can see; up to
    ``most`` scores a head in one call."""
    L, S = query.shape[-2], key.shape[-2]
    offset = S - L  # query i stands at key offset + i
    mask = None if mask is None else mask.expand(-1, -1, L, S)
    bias = None if bias is None else bias.expand(-1, -1, L, S)

    def attend(queries: slice, keys: slice, band: Tensor | None) -> Tensor:
        visible = None if mask is None else mask[..., queries, keys]  # (B, H, queries, keys)
        if band is not None:
            visible = band if visible is None else visible & band
        added = None if bias is None else bias[..., queries, keys]
        some = query[..., queries, :], key[..., keys, :], value[..., keys, :]
        return kernel(*some, visible, added)

    if most >= L * S:  # without a loop, so that a compiler can leave the lengths open
        banded = is_causal or window is not None
        band = _band(L, S, offset, is_causal, window, query.device) if banded else None
        return attend(slice(None), slice(None), band)

    # Stored for the backward pass, the chunks' masks or weights would add up to a matrix.
    learns = any(t is not None and t.requires_grad for t in (query, key, value, bias))
    # (torch.func's transforms can't recompute: there they are stored.)
    transformed = torch._C._functorch.peek_interpreter_stack() is not None
    if learns and torch.is_grad_enabled() and not transformed:
        kernel = functools.partial(checkpoint, kernel, use_reentrant=False)
    outputs = []
    for start in range(0, L, QUERY_CHUNK):
        stop = min(start + QUERY_CHUNK, L)
        first, last = 0, S  # the keys that some query of the chunk can see
        if window is not None:
            first, last = start + offset - window + 1, stop + offset + window - 1
        if is_causal:
            last = stop + offset
        last = min(max(last, 1), S)
        first = min(max(first, 0), last - 1)  # at least one key for the kernel; the band hides it
        band = None
        if is_causal or window is not None:
            at = offset + start - first
            band = _band(stop - start, last - first, at, is_causal, window, query.device)
        outputs.append(attend(slice(start, stop), slice(first, last), band))
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
    """One call of PyTorch's fused attention, (B, H, L, D) in and out; empty rows give 0."""
    mask, bias = _hide_infinite(mask, bias)
    attn_mask, empty = None, None
    if mask is not None:
        empty = ~mask.any(-1, keepdim=True)
        attn_mask = mask | empty  # an empty row is opened here, and emptied below
    if bias is not None:
        attn_mask = bias.masked_fill(~attn_mask, -torch.inf)
    if attn_mask is not None and query.device.type != "cpu":
        # A GPU's kernels read a mask by whole rows, and refuse one column for all keys.
        attn_mask = _with_whole_rows(attn_mask.expand(*attn_mask.shape[:-1], key.shape[-2]))
    # On other strides PyTorch falls back to the whole matrix.
    query, key, value = (_with_whole_rows(t) for t in (query, key, value))
    if not _reads_shared_heads(query, attn_mask, backend):
        key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    with sdpa_kernel(BACKENDS[backend]) if backend else contextlib.nullcontext():
        inputs = (query, key, value, attn_mask, dropout_p, is_causal)
        shares = query.shape[1] != key.shape[1]
        output = F.scaled_dot_product_attention(*inputs, scale=scale, enable_gqa=shares)
    return output if empty is None else output.masked_fill(empty, 0.0)


def _with_whole_rows(tensor: Tensor) -> Tensor:
    """Lay the last dimension out without gaps."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _reads_shared_heads(query: Tensor, attn_mask: Tensor | None, backend: str | None) -> bool:
    """Return whether the kernel takes fewer key heads than query heads without the whole matrix.

    On a CPU all do. On a GPU flash and cuDNN do, which want half precision, no mask, and an
    Ampere or newer; otherwise PyTorch would fall back to its math kernel.
    """
    if query.device.type == "cpu":
        return True
    half = query.dtype in (torch.float16, torch.bfloat16) and query.shape[-1] <= 256
    if query.device.type != "cuda" or not half or attn_mask is not None:
        return False
    modern = torch.cuda.get_device_properties(query.device).major >= 8
    return modern and backend in (None, "flash", "cudnn", *FLASH_IMPLS)


@contextlib.contextmanager
def _raise_with_reasons(backend: str, query: Tensor) -> Iterator[None]:
    """Turn "no available kernel" into a BackendError with the reasons from PyTorch's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except RuntimeError as error:
            if not str(error).startswith(("No available kernel", "No viable backend")):
                raise
            reasons = " ".join(str(w.message).split(" (Triggered")[0] for w in caught) or str(error)
            call = f"{query.device}, query {tuple(query.shape)}, {query.dtype}"
            raise BackendError(f"backend={backend!r} can't run on {call}: {reasons}") from error
    for warning in caught:
        warnings.warn(warning.message, stacklevel=2)


def _explain_backend_errors(
    backend: str | None, query: Tensor
) -> contextlib.AbstractContextManager:
    # The compiler can't trace ``catch_warnings``.
    if backend is None or torch.compiler.is_compiling():
        return contextlib.nullcontext()
    return _raise_with_reasons(backend, query)


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


def varlen_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None = None,
    *,
    is_causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout_p: float = 0.0,
) -> Tensor:
    """``fused_attention`` within documents that are laid end to end, without an (L, L) mask.

    Shapes: query (T, H, D), key (T', Hkv, D), value (T', Hkv, Dv) -> (T, H, Dv), as in
        PyTorch's ``varlen_attn``. cu_seq_q (N + 1,) integers, from 0 to T: document n's queries
        are those from cu_seq_q[n] up to cu_seq_q[n + 1]. cu_seq_k is the same for keys; by
        default cu_seq_q.
    Options: as ``fused_attention``'s. ``is_causal`` and ``window`` align the ends of each
        document's queries and keys.
    Raises: TypeError or ValueError with what differs.

    On a GPU, in half precision, one call of ``torch.nn.attention.varlen`` does it (PyTorch 2.12),
    if there is no softcap, sink or dropout; otherwise a call of ``fused_attention`` for each
    document does. Both read the lengths back from the device.
    """
    cu_seq_k = cu_seq_q if cu_seq_k is None else cu_seq_k
    lengths = [
        _document_lengths("cu_seq_q", cu_seq_q, "query", query),
        _document_lengths("cu_seq_k", cu_seq_k, "key", key),
    ]
    if len(lengths[0]) != len(lengths[1]):
        counts = f"cu_seq_q {len(lengths[0])}, cu_seq_k {len(lengths[1])}"
        raise ValueError(f"number of documents differs: {counts}")
    heads = [t.transpose(0, 1)[None] for t in (query, key, value)]  # (1, H, T, D)
    check_attention(*heads, None, None, is_causal, window, dropout_p, softcap, sinks)
    plain = softcap is sinks is None and dropout_p == 0 and query.numel() > 0 < key.numel()
    kernel = _varlen_kernel(query, value) if plain else None
    if kernel is not None:
        left, right = (-1, -1) if window is None else (window - 1, window - 1)
        return kernel(
            query,
            key,
            value,
            cu_seq_q.to(query.device, torch.int32),
            cu_seq_k.to(query.device, torch.int32),
            max(lengths[0]),
            max(lengths[1]),
            scale=scale,
            window_size=(left, 0 if is_causal else right),
            enable_gqa=query.shape[1] != key.shape[1],
        )
    sizes = (lengths[0], lengths[1], lengths[1])
    documents = zip(*(t.split(n, -2) for t, n in zip(heads, sizes, strict=True)), strict=True)
    options = {"is_causal": is_causal, "window": window, "scale": scale}
    options |= {"softcap": softcap, "sinks": sinks, "dropout_p": dropout_p}
    outputs = [fused_attention(*each, **options) for each in documents]
    empty = query.new_zeros(1, query.shape[1], 0, value.shape[-1])
    return torch.cat([empty, *outputs], -2)[0].transpose(0, 1)


def _varlen_kernel(query: Tensor, value: Tensor) -> Callable[..., Tensor] | None:
    """Return PyTorch's call for documents laid end to end, if it supports these."""
    half = query.dtype in (torch.float16, torch.bfloat16) and value.dtype == query.dtype
    size = query.shape[-1]
    if query.device.type != "cuda" or not half or size > 256 or value.shape[-1] != size:
        return None
    if torch.cuda.get_device_properties(query.device).major < 8:
        return None
    return _varlen_attn()


@functools.cache
def _varlen_attn() -> Callable[..., Tensor] | None:
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    # PyTorch 2.10's knows neither windows nor shared heads.
    return varlen_attn if "enable_gqa" in inspect.signature(varlen_attn).parameters else None


def usable_backends(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **options: object
) -> dict[str, str | None]:
    """Run each backend once, with ``fused_attention``'s options: name -> ``None``, or why not."""
    reasons: dict[str, str | None] = dict.fromkeys(BACKENDS)
    for name in BACKENDS:
        try:
            fused_attention(query, key, value, mask, backend=name, **options)
        except (BackendError, RuntimeError) as error:
            reasons[name] = str(error)
    return reasons


# --- The layer's options, and a decoder's layer -------------------------------------------------


class LayerOptions(TypedDict, total=False):
    """The keyword arguments of ``MultiHeadAttention``, for layers that hand them on.

    ``num_kv_heads``: by default as many as query heads. ``head_dim``: by default embed_dim /
        num_heads. ``bias``: of the projections.
    ``qk_norm``: scale each head's queries and keys to a root mean square of 1, times a learned
        weight, before the rotation (Henry et al. 2020; as in Qwen 3, 2025); ``norm_eps`` is added
        to their mean square.
    ``rotary`` is called as ``rotary(heads, offset)``, or ``rotary(heads, position_ids=...)``, on
        queries and keys (positions.py has one).
    ``scale``, ``softcap`` and ``sinks``, which are learned and begin at 0, are those of
        ``scaled_dot_product_attention``.
    """

    num_kv_heads: int | None
    head_dim: int | None
    bias: bool
    qk_norm: bool
    norm_eps: float
    rotary: nn.Module | None
    scale: float | None
    softcap: float | None
    sinks: bool
    device: Device
    dtype: torch.dtype | None


class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention in which no token sees a later one: a decoder's layer (GPT)."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        max_seq_len: int,
        dropout: float = 0.0,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, **options)
        check_counts(max_seq_len=max_seq_len)
        self.max_seq_len = int(max_seq_len)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, max_seq_len={self.max_seq_len}"

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        return_attention: bool = False,
        *,
        bias: Tensor | None = None,
        window: int | None = None,
        cache: "KVCache | None" = None,
        lengths: Lengths | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """As ``MultiHeadAttention.forward``, causal. Cached and new tokens: at most max_seq_len."""
        _check_length(self, x, cache, lengths)
        options = {"bias": bias, "window": window, "cache": cache, "lengths": lengths}
        options["position_ids"] = position_ids
        return super().forward(x, mask, return_attention, is_causal=True, **options)


# --- Helpers ------------------------------------------------------------------------------------


def create_window_mask(
    query_len: int, key_len: int | None = None, device: Device = None, *, window: int
) -> Tensor:
    """Let each query see the keys less than ``window`` positions away.  Returns (L, S), bool.

    ``create_causal_mask(n) & create_window_mask(n, window=w)`` leaves the last w keys.
    """
    L, S = _lengths(query_len, key_len, window=window)
    return _band(L, S, S - L, False, window, device)


def _band(L: int, S: int, offset: int, causal: bool, window: int | None, device: Device) -> Tensor:
    """True if query i, at the position of key ``offset + i``, may see key j."""
    visible = torch.ones(L, S, dtype=torch.bool, device=device)
    if window is not None:
        visible = visible.triu(offset - window + 1).tril(offset + window - 1)
    return visible.tril(offset) if causal else visible


def create_document_mask(documents: Tensor) -> Tensor:
    """Keep documents apart that are packed into one sequence.  (B, L) -> (B, 1, L, L), bool.

    ``documents`` numbers each token's document, as [0, 0, 0, 1, 1]; a negative number is padding,
    which sees nothing and which nothing sees. Combine it with ``is_causal=True``. Positions start
    again in each document: hand the layer's rotary positions over as ``position_ids=``.
    ``varlen_attention`` does without this mask, whose size is the square of the length.
    """
    _check_documents(documents)
    same = documents[:, :, None] == documents[:, None, :]  # (B, L, L)
    return (same & (documents >= 0)[:, None, :])[:, None]  # (B, 1, L, L)


def _hide_infinite(mask: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, ...]:
    """Move a bias of -inf into the mask, whose softmax handles empty rows."""
    if bias is None:
        return mask, None
    finite = bias != -torch.inf
    return finite if mask is None else mask & finite, bias.masked_fill(~finite, 0.0)


def without_autocast(device_type: str) -> contextlib.AbstractContextManager:
    if device_type == "meta":  # PyTorch has none for it
        return contextlib.nullcontext()
    return torch.autocast(device_type, enabled=False)


def _prepare(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Bring the arguments of explicit attention into their simplest form: a key head for each
    query head, one mask for all that is hidden, and float32 or wider."""
    L, S = query.shape[-2], key.shape[-2]
    if is_causal or window is not None:
        band = _band(L, S, S - L, is_causal, window, query.device)
        mask = band if mask is None else mask & band
    key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    # Half precision is widened, as fused kernels do inside: rounded scores cost digits.
    wide = torch.promote_types(query.dtype, torch.float32)
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    return query, key, value, *_hide_infinite(mask, bias)


def _softmax_with_sinks(scores: Tensor, mask: Tensor | None, sinks: Tensor) -> Tensor:
    """Softmax over the keys and a sink, which takes its share and is left out."""
    sinks = sinks.to(scores.dtype)[..., None, None].expand(*scores.shape[:-1], 1)  # (..., L, 1)
    is_there = sinks != -torch.inf
    visible = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
    # The mask hides a sink of -inf, and its score becomes finite: masked_softmax opens empty rows,
    # and a row of -inf would get NaN as its gradient.
    scores = torch.cat([scores, sinks.masked_fill(~is_there, 0.0)], -1)  # (..., L, S + 1)
    return masked_softmax(scores, torch.cat([visible, is_there], -1))[..., :-1]


def _repeat_heads(query: Tensor, shared: Tensor) -> Tensor:
    """Give each query head its key or value head: of 4 query heads, 0 and 1 share head 0 of 2."""
    if query.ndim < 4 or query.shape[-3] == shared.shape[-3]:
        return shared
    return shared.repeat_interleave(query.shape[-3] // shared.shape[-3], dim=-3)


class Placement(NamedTuple):
    """Positions of a layer's new tokens, and the keys they may see, besides the caller's mask."""

    positions: int | Tensor  # the first one's; or (B, L), each one's, if sequences differ
    key_len: int  # keys that the queries will meet, cached ones and new ones
    is_causal: bool
    window: int | None
    mask: Tensor | None = None  # (B, 1, L, S), if aligned ends don't imply it


def _placement(
    layer: MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    cache: KVCache | None,
    lengths: Lengths | None,
    position_ids: Tensor | None,
) -> tuple[int | Tensor, dict[str, object]]:
    """Return the tokens' positions, for ``rotate``, and the options of the attention between them.
    Checks masks before a cache takes the tokens."""
    if cache is None:
        placement = Placement(0, key.shape[-2], is_causal, window)
    else:
        placement = cache.placement(query.shape[-2], lengths, is_causal=is_causal, window=window)
        scores = (*query.shape[:-1], placement.key_len)
        check_scores_like("mask", mask, query, scores)
        check_scores_like("bias", bias, query, scores)
        _check_ragged_bias(bias, placement)
    positions = placement.positions if position_ids is None else position_ids
    if placement.mask is not None:
        mask = placement.mask if mask is None else mask & placement.mask
    hiding = {"bias": bias, "is_causal": placement.is_causal, "window": placement.window}
    return positions, {"mask": mask, **hiding, **_scoring(layer)}


def _scoring(layer: MultiHeadAttention) -> dict[str, object]:
    """Return a layer's options of ``scaled_dot_product_attention``."""
    dropout_p = layer.dropout if layer.training else 0.0
    options = {"scale": layer.scale, "softcap": layer.softcap, "sinks": layer.sinks}
    return {"dropout_p": dropout_p, **options}


def _extras(
    layer: MultiHeadAttention, qk_norm: bool, norm_eps: float, sinks: bool
) -> tuple[nn.RMSNorm | None, nn.RMSNorm | None, nn.Parameter | None]:
    """Make the parts that few layers have: norms of queries and keys, and a sink for each head."""
    options = {"device": layer.out_proj.weight.device, "dtype": layer.out_proj.weight.dtype}
    norms = [nn.RMSNorm(layer.head_dim, eps=norm_eps, **options) if qk_norm else None for _ in "qk"]
    return *norms, nn.Parameter(torch.zeros(layer.num_heads, **options)) if sinks else None


def _with_memory(cache: KVCache, keys: Tensor, values: Tensor) -> KVCache:
    """Copy ``cache`` with other memory; the copy shares nothing with it."""
    new = copy.copy(cache)
    new.keys, new.values, new.lengths = keys, values, copy.deepcopy(cache.lengths)
    return new


def _description(cache: KVCache) -> str:
    layers, batch, heads, most, size = cache.keys.shape
    sizes = f"{batch}, {heads}, {most}, {size}"
    if cache.values.shape[-1] != size:
        sizes += f", value_dim={cache.values.shape[-1]}"
    kind = f"dtype={cache.keys.dtype}, device='{cache.keys.device}'"
    name = type(cache).__name__
    return f"{name}({sizes}, num_layers={layers}, {kind}) with lengths {cache.lengths}"


def rotate(rotary: nn.Module, heads: Tensor, positions: int | Tensor) -> Tensor:
    """Turn heads by their positions: the first token's, or each one's."""
    if isinstance(positions, Tensor):
        return rotary(heads, position_ids=positions)
    return rotary(heads, positions)


def _forward_jagged(layer: MultiHeadAttention, x: Tensor, **options: object) -> Tensor:
    """(B, j, E): one product for the tokens of all sequences, and varlen_attention for them.

    PyTorch's own call for jagged tensors has no backward and no causal mask on a CPU.
    """
    x = x.contiguous()  # a view may have holes
    tokens, offsets = x.values(), x.offsets()  # (T, E), (B + 1,)
    query, key, value = layer.project(tokens)  # (1, H, T, D)
    if layer.rotary is not None:  # from 0 in each sequence
        lengths = offsets.diff().tolist()
        query = torch.cat([layer.rotary(part) for part in query.split(lengths, dim=-2)], dim=-2)
        key = torch.cat([layer.rotary(part) for part in key.split(lengths, dim=-2)], dim=-2)
    documents = (t[0].transpose(0, 1) for t in (query, key, value))  # (T, H, D)
    output = varlen_attention(*documents, offsets, **options, **_scoring(layer))
    merged = layer.merge(output.transpose(0, 1)[None], tokens)
    return torch.nested.nested_tensor_from_jagged(merged, offsets)


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


def _lengths(query_len: int, key_len: int | None, **others: int) -> tuple[int, int]:
    key_len = query_len if key_len is None else key_len
    check_counts(query_len=query_len, key_len=key_len, **others)
    return query_len, key_len


def _padded_lengths(lengths: Lengths, key_len: int | None, padding_side: str) -> tuple[Tensor, int]:
    """Lengths (B, 1, 1, 1), on the device that they came from, and the number of keys."""
    counts = as_list("lengths", lengths)
    if padding_side not in ("right", "left"):
        raise ValueError(f"padding_side must be 'right' or 'left', got {padding_side!r}")
    key_len = max(counts, default=0) if key_len is None else key_len
    check_counts(0, key_len=key_len)
    if not all(0 <= count <= key_len for count in counts):
        raise ValueError(f"lengths must lie in 0 ... key_len={key_len}, got {counts}")
    device = lengths.device if isinstance(lengths, Tensor) else None
    real = torch.tensor(counts, dtype=torch.int64, device=device)
    return real[:, None, None, None], key_len


def _check_documents(documents: Tensor) -> None:
    if not isinstance(documents, Tensor) or documents.dtype not in (torch.int64, torch.int32):
        kind = documents.dtype if isinstance(documents, Tensor) else type(documents).__name__
        raise TypeError(f"documents must be a tensor of integers (B, L), got {kind}")
    if documents.ndim != 2:
        raise ValueError(f"documents must be (B, L), got {tuple(documents.shape)}")


def _document_lengths(name: str, cu_seq: Tensor, tokens_name: str, tokens: Tensor) -> list[int]:
    """Count the tokens (T, H, D) of each document."""
    check_tensor(name, cu_seq)
    check_tensor(tokens_name, tokens)
    if tokens.ndim != 3:
        raise ValueError(f"{tokens_name} must be (T, H, D), got {tuple(tokens.shape)}")
    if cu_seq.ndim != 1 or cu_seq.is_floating_point():
        got = f"{tuple(cu_seq.shape)}, {cu_seq.dtype}"
        raise TypeError(f"{name} must be integers (N + 1,), got {got}")
    bounds = as_list(name, cu_seq)
    lengths = [b - a for a, b in itertools.pairwise(bounds)]
    if bounds[:1] != [0] or bounds[-1] != tokens.shape[0] or min(lengths, default=0) < 0:
        raise ValueError(f"{name} must rise from 0 to {tokens.shape[0]} tokens, got {bounds}")
    return lengths


def _layer_sizes(
    embed_dim: int,
    num_heads: int,
    num_kv_heads: int | None,
    head_dim: int | None,
    dropout: float,
    softcap: float | None,
) -> tuple[int, int, int, int]:
    check_probability("dropout", dropout)
    check_softcap(softcap)
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    check_counts(embed_dim=embed_dim, num_heads=num_heads, num_kv_heads=num_kv_heads)
    # int(): NumPy's integers are taken, and none of them goes further.
    embed_dim, num_heads, num_kv_heads = int(embed_dim), int(num_heads), int(num_kv_heads)
    if head_dim is None:
        if embed_dim % num_heads:
            hint = "or head_dim= be given"
            raise ValueError(f"{embed_dim=} must be a multiple of {num_heads=}, {hint}")
        head_dim = embed_dim // num_heads
    if num_heads % num_kv_heads:
        raise ValueError(f"{num_heads=} must be a multiple of {num_kv_heads=}")
    check_counts(head_dim=head_dim)
    return embed_dim, num_heads, num_kv_heads, int(head_dim)


def check_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    dropout_p: float,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
        if tensor.is_nested:
            raise TypeError(
                f"{name} must not be nested: MultiHeadAttention takes jagged tensors; "
                "here call once for each of query.unbind(), or pad and hide the padding"
            )
    _check_shapes(tuple(query.shape), tuple(key.shape), tuple(value.shape))
    if not query.is_floating_point():
        raise TypeError(f"query must be of a floating dtype, got {query.dtype}")
    check_alike("query", query, "key", key)
    check_alike("query", query, "value", value)
    scores = (*query.shape[:-1], key.shape[-2])
    check_scores_like("mask", mask, query, scores)
    check_scores_like("bias", bias, query, scores)
    if is_causal not in (True, False):
        raise TypeError(f"is_causal must be a bool, got {is_causal!r}")
    if window is not None:
        check_counts(window=window)
    check_probability("dropout_p", dropout_p)
    check_softcap(softcap)
    if sinks is not None:
        check_tensor("sinks", sinks)
        heads, shape = tuple(query.shape[-3:-2]), tuple(sinks.shape)
        if shape not in (heads, ()) or (shape and query.ndim < 4):
            raise ValueError(f"sinks must be one number, or (num_heads,) = {heads}; got {shape}")
        check_alike("query", query, "sinks", sinks)


def check_forward(
    layer: MultiHeadAttention,
    x: Tensor,
    mask: Tensor | None,
    return_attention: bool,
    context: Tensor | None = None,
    bias: Tensor | None = None,
    window: int | None = None,
    cache: KVCache | None = None,
    lengths: Lengths | None = None,
    position_ids: Tensor | None = None,
) -> None:
    _check_input(layer, x)
    if not isinstance(return_attention, bool):
        kind = type(return_attention).__name__
        other = "keys and values from elsewhere are layer(x, context=y)"
        raise TypeError(f"return_attention must be a bool, got {kind}: {other}")
    if isinstance(context, Tensor) and context.is_nested:
        raise TypeError("context must not be nested: pad it, and hide the padding with mask=")
    if context is not None and (cache is not None or layer.rotary is not None):
        raise ValueError("context excludes cache and rotary: those are for self-attention")
    if lengths is not None and cache is None:
        raise ValueError("lengths need a cache; without it, mask=create_padding_mask(lengths)")
    if position_ids is not None:
        check_tensor("position_ids", position_ids)
        if layer.rotary is None:
            raise ValueError("position_ids are for rotary, and this layer has none")
    if window is not None:
        check_counts(window=window)
    more = (mask, bias, context, cache, position_ids)
    if x.is_nested and (return_attention or any(other is not None for other in more)):
        raise ValueError("a nested x goes with is_causal and window alone: pad it for more")


def _check_input(layer: MultiHeadAttention, x: Tensor) -> None:
    check_tensor("x", x)
    if x.is_nested and (x.layout != torch.jagged or x.ndim != 3):
        layout = f"{x.ndim} dimensions, {x.layout}"
        raise TypeError(f"x is nested: it must be jagged, (B, j, {layer.embed_dim}); got {layout}")
    check_width("x", x, "embed_dim", layer.embed_dim)
    if type(layer.out_proj) is nn.Linear:  # one that is wrapped or quantised has its own dtypes
        check_alike("layer", layer.out_proj.weight, "x", x)


def _value_dim(
    num_layers: int,
    batch_size: int,
    num_kv_heads: int,
    max_seq_len: int,
    head_dim: int,
    value_dim: int | None,
) -> int:
    value_dim = head_dim if value_dim is None else value_dim
    check_counts(batch_size=batch_size, num_kv_heads=num_kv_heads, num_layers=num_layers)
    check_counts(max_seq_len=max_seq_len, head_dim=head_dim, value_dim=value_dim)
    return value_dim


def check_new_tokens(cache: KVCache, key: Tensor, value: Tensor) -> None:
    for name, new, memory in (("key", key, cache.keys), ("value", value, cache.values)):
        shape = (*memory.shape[1:3], key.shape[-2], memory.shape[-1])
        if new.shape != shape:
            raise ValueError(f"{name} {tuple(new.shape)} doesn't fit the cache's {shape}")
        check_alike("cache", memory, name, new)
        if torch.is_grad_enabled() and new.requires_grad:
            raise ValueError(f"{name} requires grad, the cache keeps none: use torch.no_grad()")


def known_layer(cache: KVCache, layer: int | None = None) -> int:
    """Return the number of a layer of the cache, by default its own."""
    if layer is None and cache.layer is None:
        raise ValueError(f"cache has {len(cache.lengths)} layers: choose one, as in cache[0]")
    if layer is not None and layer not in range(len(cache.lengths)):
        raise IndexError(f"layer must lie in 0 ... {len(cache.lengths) - 1}, got {layer}")
    return cache.layer if layer is None else layer


def refuse_lengths(lengths: Lengths | None) -> None:
    if lengths is not None:
        raise ValueError("lengths are for a RaggedKVCache (caching.py): this has one for all")


def check_room(cache: KVCache, end: int) -> None:
    if end > cache.max_seq_len:
        asked = f"{cache.length} tokens + {end - cache.length} new"
        raise ValueError(f"cache is full: {asked} exceed max_seq_len={cache.max_seq_len}")


def _check_room_for(cache: KVCache, key: Tensor, value: Tensor, lengths: Lengths | None) -> None:
    check_new_tokens(cache, key, value)
    refuse_lengths(lengths)
    check_room(cache, cache.length + key.shape[-2])


def _check_length(
    layer: CausalMultiHeadAttention, x: Tensor, cache: KVCache | None, lengths: Lengths | None
) -> None:
    _check_input(layer, x)
    new = int(x.contiguous().offsets().diff().max()) if x.is_nested else x.shape[-2]
    length = new if cache is None else cache.placement(new, lengths).key_len
    if length > layer.max_seq_len:
        raise ValueError(f"sequence of {length} exceeds max_seq_len={layer.max_seq_len}")


def _check_context(layer: MultiHeadAttention, x: Tensor, context: Tensor) -> None:
    check_width("context", context, "embed_dim", layer.embed_dim)
    check_alike("x", x, "context", context)
    if x.shape[:-2] != context.shape[:-2]:
        raise ValueError(f"batch differs: x {(*x.shape,)}, context {(*context.shape,)}")


def _check_order(cache: KVCache, index: Lengths, same_count: bool = True) -> Tensor:
    """Return the numbers of sequences, on the cache's device."""
    order, batch = as_list("index", index), cache.keys.shape[1]
    if not order or not all(0 <= b < batch for b in order) or (same_count and len(order) != batch):
        count = f"{batch} " if same_count else ""
        raise ValueError(f"index must be {count}numbers in 0 ... {batch - 1}, got {order}")
    return torch.tensor(order, device=cache.keys.device)


def _check_ragged_bias(bias: Tensor | None, placement: Placement) -> None:
    """Refuse a bias that aligns the ends if queries don't stand at the end of the keys: in the
    shorter sequences of a RaggedKVCache, or before the empty end of a StaticKVCache."""
    if bias is None or placement.mask is None:
        return
    if bias.ndim < 4 or bias.shape[0] < placement.mask.shape[0]:
        raise ValueError(
            f"bias {tuple(bias.shape)} is one for all sequences, with aligned ends, which this "
            "cache hasn't: make it (B, H, L, S), with position_ids=cache.placement(...).positions"
        )


def _check_shapes(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> None:
    wrong = None
    if not 2 <= len(q) == len(k) == len(v):
        wrong = "need as many dimensions, at least 2"
    elif q[-1] != k[-1]:
        wrong = "head_dim differs"
    elif q[-1] == 0:
        wrong = "head_dim is 0"
    elif k[:-1] != v[:-1]:
        wrong = "key and value differ in batch, heads or length"
    elif q[:-3] != k[:-3] or (len(q) < 4 and q[:-2] != k[:-2]):  # no heads: one more batch
        wrong = "batch differs"
    elif len(q) > 3 and (q[-3] % k[-3] if k[-3] else q[-3]) > 0:
        wrong = "query heads must be a multiple of key heads"
    if wrong:
        raise ValueError(f"{wrong}: query {q}, key {k}, value {v}")


def _check_backend(backend: str | None, explicit: bool) -> None:
    if backend is None:
        return
    if backend not in BACKENDS:
        more = ": newer versions of PyTorch have it, for CUDA" if backend in ("FA3", "FA4") else ""
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}{more}")
    if backend in FLASH_IMPLS and nn.attention.current_flash_attention_impl() != backend:
        how = f"torch.nn.attention.activate_flash_attention_impl({backend!r})"
        raise BackendError(f"{backend=} isn't in flash's place: {how} puts it there")
    if explicit:
        raise BackendError(f"{backend=} has no softcap, sinks or return_lse: leave backend out")


def check_scores_like(
    name: str, tensor: Tensor | None, query: Tensor, scores: Sequence[int]
) -> None:
    """Refuse a mask or bias that doesn't broadcast to the scores, or that can be read in two ways.

    Few masks are for heads, so that one of three dimensions is refused if scores have heads. One
    of two may be (B, S) if B == L: that warns, and is read as (L, S).
    """
    check_broadcast(name, tensor, query, scores)
    if tensor is None or name != "mask":
        return
    have, want = tuple(tensor.shape), tuple(scores)
    if len(have) == 3 and len(want) == 4 and have[0] != 1:
        raise ValueError(f"mask {have}: for sequences mask[:, None], for heads mask[None]")
    two_ways = len(have) == 2 and len(want) in (3, 4) and have[0] == want[0] > 1
    if two_ways and not torch.compiler.is_compiling():
        none = ", None" * (len(want) - 3)
        read = f"is read as (queries, keys), which mask[None{none}] says without this warning"
        other = f"as (sequences, keys) of the scores {want} it would be mask[:, None{none}]"
        warnings.warn(f"mask {have} {read}; {other}", stacklevel=4)  # the caller of our function


def check_broadcast(name: str, tensor: Tensor | None, query: Tensor, scores: Sequence[int]) -> None:
    """Refuse a mask or bias that isn't what it is called, or doesn't broadcast to the scores."""
    if tensor is None:
        return
    if not isinstance(tensor, Tensor):
        wanted = "bool" if name == "mask" else str(query.dtype)
        raise TypeError(
            f"{name} must be {wanted}, a tensor; got {type(tensor).__name__} {tensor!r}"
        )
    if name == "mask" and tensor.dtype != torch.bool:
        integers = not (tensor.is_floating_point() or tensor.is_complex())
        hint = "mask.bool() makes it one, " if integers else ""
        got = f"got {tensor.dtype}: {hint}add scores with bias="
        raise TypeError(f"mask must be bool, True = may attend; {got}")
    if name == "bias" and tensor.dtype == torch.bool:
        raise TypeError(f"bias must be {query.dtype}, to be added; got torch.bool: hide with mask=")
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


def check_tensor(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(tensor).__name__}")


def check_width(name: str, tensor: Tensor, width_name: str, width: int) -> None:
    check_tensor(name, tensor)
    if tensor.ndim < 2 or tensor.shape[-1] != width:
        raise ValueError(f"{name} {(*tensor.shape,)} must be (..., length, {width_name}={width})")


def check_counts(least: int = 1, /, **counts: int) -> None:
    for name, count in counts.items():
        if not _is_int(count):
            raise TypeError(f"{name} must be an int, got {count!r}")
        if count < least:
            raise ValueError(f"{name} must be at least {least}, got {count}")


def as_list(name: str, integers: Lengths) -> list[int]:
    """The numbers of a tensor, an array or a sequence, one for each sequence of the batch."""
    listed = integers.tolist() if hasattr(integers, "tolist") else integers
    if not isinstance(listed, Sequence) or not all(map(_is_int, listed)):
        raise TypeError(f"{name} must be integers (B,), got {integers!r}")
    return [int(number) for number in listed]


def _is_int(number: object) -> bool:
    """NumPy's integers too, and those that a compiler leaves open; not True and False."""
    return isinstance(number, (numbers.Integral, torch.SymInt)) and not isinstance(number, bool)


def check_softcap(softcap: float | None) -> None:
    if softcap is not None and not 0 < softcap < torch.inf:
        raise ValueError(f"softcap must be above 0 and finite, got {softcap}")


def check_probability(name: str, p: float) -> None:
    if not 0.0 <= p < 1.0:
        raise ValueError(f"{name} must lie in [0, 1), got {p}")
