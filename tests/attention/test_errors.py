"""Every wrong input: a TypeError or ValueError that names the argument and the values.

A case is a call and what its message must name, as "argument; value; other value".
"""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from analysis import entropy, gradient_times_input, integrated_gradients, rollout
from attention import (
    BACKENDS,
    CausalMultiHeadAttention,
    KVCache,
    MultiHeadAttention,
    create_causal_mask,
    create_document_mask,
    create_padding_mask,
    create_window_mask,
    fused_attention,
    masked_softmax,
    scaled_dot_product_attention,
    varlen_attention,
)
from caching import RaggedKVCache, StaticKVCache, WindowKVCache
from flex import flex_attention
from interchange import (
    from_torch,
    load_deepseek,
    load_gpt2,
    load_llama,
    to_gpt2,
    to_llama,
    to_torch,
)
from interchange import layer_like as layer_of_config
from positions import LearnedRelativeBias, Rotary, alibi_bias, sinusoidal_positions
from variants import (
    AdditiveAttention,
    ContextKV,
    CrossAttention,
    DeltaState,
    GatedDeltaNet,
    LatentAttention,
    LinearAttention,
    create_block_sparse_mask,
    create_strided_mask,
    gated_delta_rule,
)

from .inputs import assert_refused, qkv


def t(*shape, **options):
    return torch.zeros(shape, **options)


def mask(*shape):
    return torch.ones(shape, dtype=torch.bool)


def jagged(*shape, layout=torch.jagged):
    return torch.nested.nested_tensor([t(3, *shape), t(5, *shape)], layout=layout)


Q, K, V = qkv(query_len=5, key_len=7)  # (2, 4, 5, 8) and (2, 4, 7, 8)
FOR_HEADS = "mask (4, 5, 7); mask[:, None]; mask[None]"

# Arguments that replace those of attention(Q, K, V).
WRONG_TYPES = {
    "float mask": ({"mask": t(5, 7)}, "mask; bool; torch.float32; bias="),
    "0/1 mask": ({"mask": t(5, 7).long()}, "mask; bool; torch.int64; mask.bool()"),
    "mask as a list": ({"mask": [[True]]}, "mask; bool; list"),
    "mask=True": ({"mask": True}, "mask; bool True"),
    "causal by a word": ({"is_causal": "no"}, "is_causal; 'no'"),
    "nested": ({"key": jagged(8)}, "key; nested"),
    "bool bias": ({"bias": mask(5, 7)}, "bias; torch.float32; torch.bool; mask="),
    "dtype of the bias": ({"bias": t(5, 7).double()}, "query torch.float32; bias torch.float64"),
    "dtype of the key": ({"key": K.half()}, "query torch.float32; key torch.float16"),
    "dtype of the value": ({"value": V.double()}, "query torch.float32; value torch.float64"),
    "bool key": ({"key": K.bool()}, "query torch.float32; key torch.bool"),
    "integers": ({"query": Q.int(), "key": K.int(), "value": V.int()}, "query; torch.int32"),
    "not a tensor": ({"key": K.numpy()}, "key; ndarray"),
    "half a window": ({"window": 1.5}, "window; int; 1.5"),
    "a number for sinks": ({"sinks": 0.0}, "sinks; float"),
    "dtype of sinks": ({"sinks": t(4).double()}, "query torch.float32; sinks torch.float64"),
}
WRONG_VALUES = {
    "mask for heads": ({"mask": mask(4, 5, 7)}, FOR_HEADS),
    "mask for sequences and heads alike": (
        {name: t(4, 4, n, 8) for name, n in (("query", 5), ("key", 7), ("value", 7))}
        | {"mask": mask(4, 5, 7)},
        FOR_HEADS,
    ),
    "mask per batch": ({"mask": mask(2, 5, 7)}, "mask (2, 5, 7); (2, 4, 5, 7)"),
    "mask too long": ({"mask": mask(5, 8)}, "mask (5, 8); (2, 4, 5, 7)"),
    "mask of five": ({"mask": mask(1, 1, 1, 5, 7)}, "mask (1, 1, 1, 5, 7); (2, 4, 5, 7)"),
    "bias too short": ({"bias": t(4, 5, 6)}, "bias (4, 5, 6); (2, 4, 5, 7)"),
    "mask elsewhere": ({"mask": mask(5, 7).to("meta")}, "query cpu; mask meta"),
    "key elsewhere": ({"key": t(2, 4, 7, 8, device="meta")}, "query cpu; key meta"),
    "head sizes": ({"key": t(2, 4, 7, 4)}, "head_dim; query (2, 4, 5, 8); key (2, 4, 7, 4)"),
    "no head size": (
        {"query": t(2, 4, 5, 0), "key": t(2, 4, 7, 0)}, "head_dim is 0; query (2, 4, 5, 0)",
    ),
    "lengths": ({"value": t(2, 4, 6, 8)}, "length; key (2, 4, 7, 8); value (2, 4, 6, 8)"),
    "batches": (
        {"key": t(3, 4, 7, 8), "value": t(3, 4, 7, 8)},
        "batch; query (2, 4, 5, 8); key (3, 4, 7, 8)",
    ),
    "batches of three dimensions": (
        {"query": t(4, 5, 8), "key": t(2, 7, 8), "value": t(2, 7, 8)},
        "batch; query (4, 5, 8); key (2, 7, 8)",
    ),
    "shared heads": (
        {"key": t(2, 3, 7, 8), "value": t(2, 3, 7, 8)},
        "heads; query (2, 4, 5, 8); key (2, 3, 7, 8)",
    ),
    "no shared heads": ({"key": t(2, 0, 7, 8), "value": t(2, 0, 7, 8)}, "heads; (2, 0, 7, 8)"),
    "dimensions": ({"key": t(7, 8), "value": t(7, 8)}, "dimensions; (2, 4, 5, 8); (7, 8)"),
    "one dimension": ({"query": t(8), "key": t(8), "value": t(8)}, "at least 2; query (8,)"),
    "no window": ({"window": 0}, "window; at least 1; 0"),
    "all dropped": ({"dropout_p": 1.0}, "dropout_p; [0, 1); 1.0"),
    "negative dropout": ({"dropout_p": -0.1}, "dropout_p; [0, 1); -0.1"),
    "soft cap of 0": ({"softcap": 0.0}, "softcap; 0.0"),
    "no soft cap": ({"softcap": float("inf")}, "softcap; finite; inf"),
    "sinks": ({"sinks": t(3)}, "sinks; (4,); (3,)"),
}  # fmt: skip
ATTENTION = {name: (TypeError, *case) for name, case in WRONG_TYPES.items()}
ATTENTION |= {name: (ValueError, *case) for name, case in WRONG_VALUES.items()}


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
@pytest.mark.parametrize("case", ATTENTION)
def test_attention(attend, case):
    error, changes, says = ATTENTION[case]
    assert_refused(lambda: attend(**{"query": Q, "key": K, "value": V} | changes), error, says)


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
def test_a_mask_of_sequences_that_fits_queries_warns_of_both_readings(attend, recwarn):
    query, key = t(5, 2, 5, 8), t(5, 2, 7, 8)
    keys = torch.rand(5, 7) > 0.5
    with pytest.warns(UserWarning, match=r"mask\[None, None\].*mask\[:, None, None\]"):
        attend(query, key, key, keys)
    recwarn.clear()
    attend(query, key, key, keys[None, None])
    attend(query, key, key, keys[:, None, None])
    attend(query[:1], key[:1], key[:1], keys)
    attend(query[:, :1], key[:, :1], key[:, :1], keys[None])
    attend(query[:, 0], key[:, 0], key[:, 0], keys[None])
    attend(query, key[..., :5, :], key[..., :5, :], is_causal=True)  # a mask of our own
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"mask\[None\].*mask\[:, None\]"):
        attend(query[:, 0], key[:, 0], key[:, 0], keys)


# ---- Everything else ----------------------------------------------------------------------------

X = torch.randn(2, 5, 16)
NEW = t(2, 2, 2, 4)
FIVE, FIVE_ENDS = t(5, 4, 8), torch.tensor([0, 5])  # five tokens of one document
ENDS = (torch.tensor([0, 4, 3, 5]), torch.tensor([0, 2, 5]))


def layer(**options):
    return MultiHeadAttention(16, 4, **options)


def frozen():
    return layer().requires_grad_(False)


def causal():
    return CausalMultiHeadAttention(16, 4, max_seq_len=6)


def linear():
    return LinearAttention(16, 4)


def latent(**options):
    return LatentAttention(16, 4, 6, rotary=Rotary(4), **options)


def cross():
    return CrossAttention(16, 4, kdim=5, vdim=7)


def additive(*shapes):
    return AdditiveAttention(4, 6, 8)(*(t(*shape) for shape in shapes))


def cache(kind=KVCache, tokens=3, **options):
    """Two sequences, two heads, room for four tokens of which three are taken."""
    made = kind(2, 2, 4, 4, **options)
    made.append(*t(2, 2, 2, tokens, 4))
    return made


def ragged():
    return cache(RaggedKVCache)


def varlen(*ends, query=FIVE, key=FIVE, **options):
    return varlen_attention(query, key, key, *ends, **options)


def delta_rule(change=None, shape=None, **options):
    shapes = [(2, 3, 7, 8), (2, 3, 7, 8), (2, 3, 7, 5), (2, 3, 7), (2, 3, 7), (2, 3, 8, 5)]
    given = [t(*(shape if i == change else own)) for i, own in enumerate(shapes)]
    return gated_delta_rule(*given[:5], **{"state": given[5]} | options)


def delta_layer(table=(2, 2, 8, 8), recent=(2, 48, 3)):
    return GatedDeltaNet(16, 2)(X, state=DeltaState(t(*table), t(*recent)))


def llama(*more, E=16, **layer_options):
    """Weights under Llama's names, loaded into a layer of other options."""
    sizes = {"q": (24, E), "k": (12, E), "v": (12, E), "o": (E, 24)}
    state = {f"attn.{name}_proj.weight": t(*size) for name, size in sizes.items()}
    state |= {f"attn.{name}": t(24 if "bias" in name else 6) for name in more}
    options = {"num_kv_heads": 2, "head_dim": 6, "bias": False} | layer_options
    return load_llama(layer(**options), state, "attn")


def gpt2(E=16, **options):
    shapes = {"c_attn.weight": (E, 3 * E), "c_attn.bias": (3 * E,)}
    shapes |= {"c_proj.weight": (E, E), "c_proj.bias": (E,)}
    return load_gpt2(layer(**options), {f"h.{n}": t(*shape) for n, shape in shapes.items()}, "h")


TYPES = {
    "half a head": (lambda: MultiHeadAttention(16, 2.0), "num_heads; int; 2.0"),
    "a bool of heads": (lambda: MultiHeadAttention(16, True), "num_heads; int; True"),
    "dtype of x": (lambda: layer()(X.double()), "layer torch.float32; x torch.float64"),
    "dtype of context": (
        lambda: layer()(X, context=X.half()), "x torch.float32; context torch.float16",
    ),
    "query, key, value": (lambda: layer()(X, None, X), "return_attention; Tensor; context=y"),
    "three inputs": (lambda: layer()(X, X, X), "return_attention; bool"),
    "three inputs, linear": (lambda: linear()(X, X, X), "return_attention; bool"),
    "nested, strided": (
        lambda: layer()(jagged(16, layout=torch.strided)), "x; nested; (B, j, 16); torch.strided",
    ),
    "nested, strided and causal": (
        lambda: causal()(jagged(16, layout=torch.strided)), "x; nested; jagged",
    ),
    "nested and linear": (lambda: linear()(jagged(16)), "x; nested"),
    "nested and latent": (lambda: latent()(jagged(16)), "x; nested"),
    "nested context": (lambda: layer()(X, context=jagged(16)), "context; nested"),
    "unknown argument": (lambda: causal()(X, is_causal=False), "is_causal"),
    "not a tensor": (lambda: layer()(X.numpy()), "x; ndarray"),
    "not a causal tensor": (lambda: causal()(None), "x; NoneType"),
    "additive dtype": (
        lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 6), t(5, 6).double()),
        "query torch.float32; value torch.float64",
    ),
    "additive float mask": (
        lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 6), t(5, 6), t(3, 5)), "mask; bool",
    ),
    "no context": (lambda: cross()(X), "context"),
    "context of half precision": (
        lambda: CrossAttention(16, 4, qk_norm=True)(X, context=ContextKV(*t(2, 2, 4, 3, 4).half())),
        "layer torch.float32; context torch.float16",
    ),
    # Masks and positions
    "documents": (lambda: create_document_mask(t(3)), "documents; integers; torch.float32"),
    "causal mask of a tensor": (lambda: create_causal_mask(X), "query_len; int; tensor"),
    "fractional lengths": (lambda: create_padding_mask([1.5]), "lengths; integers; 1.5"),
    "one length": (lambda: create_padding_mask(3), "lengths; integers; 3"),
    "a mask for lengths": (lambda: create_padding_mask(mask(2)), "lengths; integers; tensor"),
    "a fractional key_len": (lambda: create_padding_mask([1], 2.5), "key_len; int; 2.5"),
    "blocks": (lambda: create_block_sparse_mask(t(2, 2), 4, 8), "blocks; bool; torch.float32"),
    "listed positions": (lambda: Rotary(8)(t(2, 8), position_ids=[0, 1]), "position_ids; list"),
    "ALiBi's heads": (lambda: alibi_bias(2.0, 4), "num_heads; int; 2.0"),
    # Caches
    "dtype of a cache": (
        lambda: frozen()(X, cache=KVCache(2, 4, 9, 4, dtype=torch.float16)),
        "cache torch.float16; key torch.float32",
    ),
    "half a token": (lambda: cache().crop(1.5), "length; int; 1.5"),
    "halves of tokens": (lambda: ragged().crop([1.5, 2.0]), "length; integers"),
    "lengths of halves": (
        lambda: ragged().append(NEW, NEW, torch.tensor([1.0, 0.5])),
        "lengths; integers; tensor",
    ),
    "one length for all": (lambda: ragged().append(NEW, NEW, 1), "lengths; integers; 1"),
    "a mask of beams": (lambda: ragged().reorder([True, False]), "index; integers"),
    # Other functions
    "fractional bounds": (lambda: varlen(torch.tensor([0.0, 5.0])), "cu_seq_q; integers"),
    "listed bounds": (lambda: varlen([0, 5]), "cu_seq_q; list"),
    "causal documents by a word": (lambda: varlen(FIVE_ENDS, is_causal="no"), "is_causal; 'no'"),
    "dtype of beta": (
        lambda: gated_delta_rule(*(t(2, 1, 3, 4),) * 3, t(2, 1, 3), t(2, 1, 3).double()),
        "key torch.float32; beta torch.float64",
    ),
    "entropy of integers": (lambda: entropy(t(2, 2).int()), "weights; floating; torch.int32"),
}  # fmt: skip

VALUES = {
    "embed_dim": (lambda: MultiHeadAttention(10, 4), "embed_dim=10; num_heads=4"),
    "num_kv_heads": (lambda: layer(num_kv_heads=3), "num_heads=4; num_kv_heads=3"),
    "no heads": (lambda: MultiHeadAttention(16, 0), "num_heads; at least 1; 0"),
    "no head_dim": (lambda: layer(head_dim=0), "head_dim; at least 1; 0"),
    "dropout": (lambda: layer(dropout=1.5), "dropout; [0, 1); 1.5"),
    "no max_seq_len": (lambda: CausalMultiHeadAttention(16, 4, 0), "max_seq_len; at least 1; 0"),
    "width of x": (lambda: layer()(X[..., :12]), "x (2, 5, 12); embed_dim=16"),
    "device of x": (lambda: layer()(X.to("meta")), "layer cpu; x meta"),
    "one token": (lambda: layer()(X[0, 0]), "x (16,); embed_dim=16"),
    "one causal token": (lambda: causal()(X[0, 0]), "x (16,); embed_dim=16"),
    "width of context": (
        lambda: layer()(X, context=t(2, 5, 12)), "context (2, 5, 12); embed_dim=16",
    ),
    "batch of context": (
        lambda: layer()(X, context=t(3, 5, 16)), "batch; x (2, 5, 16); context (3, 5, 16)",
    ),
    "context and cache": (
        lambda: layer()(X, context=X, cache=KVCache(2, 4, 5, 4)), "context; cache",
    ),
    "mask of a layer": (lambda: layer()(X, mask(2, 5, 5)), "mask (2, 5, 5); (2, 4, 5, 5)"),
    "mask of as many sequences as heads": (
        lambda: layer()(t(4, 5, 16), mask(4, 5, 5)), "mask (4, 5, 5); mask[:, None]; mask[None]",
    ),
    "past max_seq_len": (lambda: causal()(t(2, 7, 16)), "7; max_seq_len=6"),
    "nested past max_seq_len": (
        lambda: CausalMultiHeadAttention(16, 4, 4)(jagged(16)), "5; max_seq_len=4",
    ),
    "nested with a mask": (lambda: layer()(jagged(16), mask(5)), "nested; is_causal; window"),
    "nested with positions": (
        lambda: layer(rotary=Rotary(4))(jagged(16), position_ids=torch.arange(3)), "nested",
    ),
    "positions without rotary": (
        lambda: layer()(X, position_ids=torch.arange(5)), "position_ids; rotary",
    ),
    "lengths without a cache": (lambda: layer()(X, lengths=[1, 2]), "lengths; cache"),
    "latent lengths without a cache": (lambda: latent()(X, lengths=[1, 2]), "lengths; cache"),
    "latent, one sequence": (lambda: latent()(X[0]), "x; (B, L, 16); (5, 16)"),
    "no latents": (
        lambda: LatentAttention(16, 4, 0, rotary=Rotary(4)), "latent_dim; at least 1; 0",
    ),
    "linear, weights of a state": (
        lambda: linear()(X, None, True, return_state=True), "return_attention; state",
    ),
    "linear, causal and crossed": (
        lambda: linear()(X, context=X, is_causal=True), "context; is_causal",
    ),
    "linear mask for each query": (
        lambda: linear()(X, create_causal_mask(5)), "mask (5, 5); (2, 4, 1, 5)",
    ),
    "linear state": (
        lambda: linear()(X, state=t(2, 4, 4, 4)), "state; (2, 4, 4, 5); (2, 4, 4, 4)",
    ),
    "linear state elsewhere": (
        lambda: linear()(X, state=t(2, 4, 4, 5, device="meta")), "x cpu; state meta",
    ),
    "additive width": (lambda: additive((3, 4), (5, 4), (5, 4)), "key (5, 4); key_dim=6"),
    "additive lengths": (
        lambda: additive((3, 4), (5, 6), (4, 6)), "query (3, 4); key (5, 6); value (4, 6)",
    ),
    "width of crossed keys": (
        lambda: cross()(X, context=t(2, 6, 16)), "context (2, 6, 16); kdim=5",
    ),
    "width of crossed values": (
        lambda: cross()(X, context=t(2, 6, 5)), "context (2, 6, 5); vdim=7",
    ),
    "lengths of crossed keys": (
        lambda: cross().project_context(t(2, 6, 5), t(2, 4, 7)),
        "length; context (2, 6, 5); value (2, 4, 7)",
    ),
    "batch of crossed keys": (
        lambda: cross()(t(3, 3, 16), context=cross().project_context(t(2, 6, 5), t(2, 6, 7))),
        "batch; x (3,); context (2,)",
    ),
    "context for beams": (
        lambda: ContextKV(*t(2, 2, 4, 3, 4)).reorder([0, 2]), "index; 0 ... 1; [0, 2]",
    ),
    # Masks and positions
    "padding side": (lambda: create_padding_mask([1], padding_side="up"), "padding_side; 'up'"),
    "documents of one sequence": (
        lambda: create_document_mask(torch.tensor([0, 1])), "documents; (B, L); (2,)",
    ),
    "no queries": (lambda: create_causal_mask(0), "query_len; at least 1; 0"),
    "no window": (lambda: create_window_mask(3, window=0), "window; at least 1; 0"),
    "lengths past the end": (lambda: create_padding_mask([2, 5], 4), "lengths; key_len=4; [2, 5]"),
    "negative lengths": (lambda: create_padding_mask([-1, 2]), "lengths; [-1, 2]"),
    "softmax mask": (lambda: masked_softmax(X, mask(5, 15)), "mask (5, 15); (2, 5, 16)"),
    "no stride": (lambda: create_strided_mask(4, stride=0), "stride; at least 1; 0"),
    "too few blocks": (
        lambda: create_block_sparse_mask(mask(2, 2), 4, 9), "blocks; (..., 3, 3); (2, 2)",
    ),
    "odd heads": (lambda: Rotary(7), "head_dim; even; 7"),
    "rotary_dim": (lambda: Rotary(8, rotary_dim=10), "rotary_dim; even; head_dim=8; 10"),
    "width of heads": (lambda: Rotary(8)(t(2, 6)), "heads; head_dim=8; (2, 6)"),
    "too few positions": (
        lambda: Rotary(8)(t(2, 3, 6, 8), position_ids=torch.arange(5)),
        "position_ids; (6,); (2, 6); (5,)",
    ),
    "positions elsewhere": (
        lambda: Rotary(8)(t(2, 8), position_ids=torch.arange(2, device="meta")),
        "heads cpu; position_ids meta",
    ),
    "unknown scaling": (
        lambda: Rotary(8, scaling={"rope_type": "longrope"}), "rope_type; linear; 'longrope'",
    ),
    "scaling without a key": (
        lambda: Rotary(8, scaling={"rope_type": "yarn", "factor": 2.0}),
        "'yarn'; 'original_max_position_embeddings'",
    ),
    "no waves": (lambda: sinusoidal_positions(0, 4), "seq_len; at least 1; 0"),
    "no distance": (lambda: LearnedRelativeBias(2, 0), "max_distance; at least 1; 0"),
    "ALiBi's positions": (
        lambda: alibi_bias(4, 3, 9, position_ids=torch.tensor([[2, 3], [6, 7]])),
        "position_ids; (B, 3); (2, 2)",
    ),
    "learned positions": (
        lambda: LearnedRelativeBias(4, 3)(3, 9, position_ids=torch.tensor([[2, 3], [6, 7]])),
        "position_ids; (B, 3); (2, 2)",
    ),
    # Caches
    "batch of a cache": (
        lambda: frozen()(X, cache=KVCache(3, 4, 9, 4)), "key (2, 4, 5, 4); (3, 4, 5, 4)",
    ),
    "gradients into a cache": (
        lambda: layer()(X, cache=KVCache(2, 4, 9, 4)), "key; grad; torch.no_grad()",
    ),
    "cache without a layer": (
        lambda: frozen()(X, cache=KVCache(2, 4, 9, 4, num_layers=2)), "cache; 2 layers; cache[0]",
    ),
    "size of a cache": (lambda: KVCache(2, 4, 0, 4), "max_seq_len; at least 1; 0"),
    "value_dim of a cache": (lambda: KVCache(2, 2, 4, 4, value_dim=0), "value_dim; at least 1; 0"),
    "sinks of a cache": (lambda: WindowKVCache(1, 2, 6, 4, sinks=-1), "sinks; at least 0; -1"),
    "side of a cache": (
        lambda: RaggedKVCache(2, 2, 4, 4, padding_side="up"), "padding_side; 'right'; 'up'",
    ),
    **{
        f"lengths for a {kind.__name__}": (
            lambda kind=kind: cache(kind).append(NEW[..., :1, :], NEW[..., :1, :], [1, 0]),
            "lengths; RaggedKVCache",
        )
        for kind in (KVCache, WindowKVCache, StaticKVCache)
    },
    **{
        f"a {kind.__name__} elsewhere": (
            lambda kind=kind: frozen()(X, cache=kind(2, 4, 9, 4, device="meta")), "device; meta",
        )
        for kind in (KVCache, RaggedKVCache, WindowKVCache)
    },
    "lengths in a cache elsewhere": (
        lambda: frozen()(X, cache=RaggedKVCache(2, 4, 9, 4, device="meta"), lengths=[5, 2]),
        "device; meta",
    ),
    "lengths that are too long": (
        lambda: ragged().append(NEW, NEW, [3, 1]), "lengths; 2; 0 ... 2; [3, 1]",
    ),
    "lengths that are too few": (
        lambda: ragged().append(NEW, NEW, [1]), "lengths; 2; 0 ... 2; [1]",
    ),
    "full for one sequence": (
        lambda: ragged().append(NEW, NEW, [2, 0]), "3 tokens + 2 new; max_seq_len=4",
    ),
    "order": (lambda: ragged().reorder([0, 2]), "index; 2; 0 ... 1; [0, 2]"),
    "short order": (lambda: cache().reorder([0]), "index; 2; 0 ... 1; [0]"),
    "beams of nobody": (lambda: cache().select([2]), "index; 0 ... 1; [2]"),
    "crop": (lambda: cache().crop(-1), "length; at least 0; -1"),
    "ragged crop": (lambda: ragged().crop([1]), "length; 2; [1]"),
    "forgotten": (lambda: cache(WindowKVCache, 6).crop(5), "5; of 6 tokens; 4"),
    # Other functions
    "backend": (
        lambda: fused_attention(Q, K, V, backend="fast"), f"backend; {', '.join(BACKENDS)}; 'fast'",
    ),
    "backend without dropout": (
        lambda: fused_attention(Q, K, V, dropout_p=0.1, backend="flash"),
        "backend='flash'; cpu; dropout",
    ),
    "backend of a GPU": (
        lambda: fused_attention(Q, K, V, backend="cudnn"),
        "backend='cudnn'; cpu; query (2, 4, 5, 8)",
    ),
    "backend without a soft cap": (
        lambda: fused_attention(Q, K, V, softcap=2.0, backend="flash"), "backend='flash'; softcap",
    ),
    "flex of three dimensions": (
        lambda: flex_attention(Q[0], K[0], V[0]), "query; (B, H, L, D); (4, 5, 8)",
    ),
    "flex soft cap": (lambda: flex_attention(Q, K, V, softcap=-1), "softcap; -1"),
    "flex head sizes": (lambda: flex_attention(Q, K[..., :4], V), "head_dim"),
    "flex sinks": (lambda: flex_attention(Q, K, V, sinks=t(3)), "sinks; (4,); (3,)"),
    "bounds that end early": (lambda: varlen(torch.tensor([0, 4])), "cu_seq_q; 0 to 5; [0, 4]"),
    "bounds that fall": (lambda: varlen(FIVE_ENDS, ENDS[0]), "cu_seq_k; 0 to 5; [0, 4, 3"),
    "number of documents": (lambda: varlen(FIVE_ENDS, ENDS[1]), "cu_seq_q 1; cu_seq_k 2"),
    "a batch of documents": (
        lambda: varlen(torch.tensor([0, 1]), query=FIVE[None]), "query; (T, H, D); (1, 5, 4, 8)",
    ),
    "shared heads of documents": (lambda: varlen(FIVE_ENDS, key=FIVE[:, :3]), "query heads"),
    "query of the rule": (lambda: delta_rule(0, (2, 3, 7, 9)), "query (2, 3, 7, 9); (2, 3, 7, 8)"),
    "value of the rule": (lambda: delta_rule(2, (2, 3, 6, 5)), "value (2, 3, 6, 5); (2, 3, 7, 8)"),
    "decay of the rule": (
        lambda: delta_rule(3, (2, 3, 7, 1)), "log_decay (2, 3, 7, 1); (2, 3, 7, 8); (2, 3, 7)",
    ),
    "beta of the rule": (lambda: delta_rule(4, (2, 7, 3)), "beta (2, 7, 3); (2, 3, 7, 8)"),
    "state of the rule": (lambda: delta_rule(5, (2, 3, 5, 8)), "state; (2, 3, 8, 5); (2, 3, 5, 8)"),
    "chunks of the rule": (lambda: delta_rule(chunk_size=0), "chunk_size; at least 1; 0"),
    "no token for the rule": (
        lambda: gated_delta_rule(*t(3, 2, 3, 0, 8), *t(2, 2, 3, 0)), "key; at least one token",
    ),
    "one sequence of a delta net": (lambda: GatedDeltaNet(16, 2)(X[0]), "x; (B, L, 16); (5, 16)"),
    "width of a delta net": (
        lambda: GatedDeltaNet(16, 2)(X[..., :8]), "x (2, 5, 8); embed_dim=16",
    ),
    "table of a delta net": (
        lambda: delta_layer(table=(1, 2, 8, 8)), "state.table; (2, 2, 8, 8); (1, 2, 8, 8)",
    ),
    "recent tokens of a delta net": (
        lambda: delta_layer(recent=(2, 48, 2)), "state.recent; (2, 48, 3); (2, 48, 2)",
    ),
    "no heads of a delta net": (lambda: GatedDeltaNet(16, 0), "num_heads; at least 1; 0"),
    "heads of a delta net": (lambda: GatedDeltaNet(16, 3), "num_heads=3; embed_dim=16"),
    "unit of entropy": (lambda: entropy(t(2, 2), "nits"), "'nats'; 'bits'; 'nits'"),
    "rollout of nothing": (lambda: rollout([]), "layer; none"),
    "share of the residual": (lambda: rollout([t(1, 2, 2)], 1.5), "residual; [0, 1]; 1.5"),
    "rollout of a rectangle": (lambda: rollout([t(1, 2, 3)]), "[(1, 2, 3)]"),
    "rollout of two sizes": (
        lambda: rollout([t(1, 2, 2), t(1, 3, 3)]), "[(1, 2, 2), (1, 3, 3)]",
    ),
    "baseline": (
        lambda: integrated_gradients(torch.sum, t(2, 3), t(3)), "vectors (2, 3); baseline (3,)",
    ),
    "no steps": (lambda: integrated_gradients(torch.sum, t(2, 3), t(2, 3), 0), "at least 1; 0"),
    # Weights of other models
    "add_bias_kv": (
        lambda: from_torch(nn.MultiheadAttention(16, 4, add_bias_kv=True)), "add_bias_kv=True",
    ),
    "add_zero_attn": (
        lambda: from_torch(nn.MultiheadAttention(16, 4, add_zero_attn=True)), "add_zero_attn=True",
    ),
    "shared heads to torch": (lambda: to_torch(layer(num_kv_heads=2)), "num_kv_heads=2"),
    "rotary to torch": (lambda: to_torch(layer(rotary=Rotary(4))), "rotary=Rotary; None"),
    "wide heads to torch": (lambda: to_torch(layer(head_dim=6)), "head_dim=6; embed_dim=16"),
    "norms to GPT-2": (lambda: to_gpt2(layer(qk_norm=True)), "qk_norm=True"),
    "no bias to GPT-2": (lambda: to_gpt2(layer(bias=False)), "bias=False"),
    "rotary to GPT-2": (lambda: to_gpt2(layer(rotary=Rotary(4))), "rotary=Rotary; None"),
    "no bias for GPT-2's": (lambda: gpt2(bias=False), "bias=False"),
    "rotary for GPT-2's": (lambda: gpt2(rotary=Rotary(4)), "rotary=Rotary; None"),
    "no GPT-2": (lambda: load_gpt2(layer(), {"a": t(1)}), "'c_attn.weight'; a"),
    "a smaller GPT-2": (lambda: gpt2(8), "c_attn.weight; (16, 48); (8, 24)"),
    "neighbours for Llama's": (
        lambda: llama(rotary=Rotary(6)), "rotary=Rotary; interleaved=False",
    ),
    "no Llama": (lambda: load_llama(layer(bias=False), {}), "'q_proj.weight'"),
    "another Llama": (
        lambda: llama(num_kv_heads=4, head_dim=4), "q_proj.weight; (16, 16); (24, 16)",
    ),
    "Llama's biases": (lambda: llama("q_proj.bias"), "q_proj.bias'; bias=False"),
    "Llama's norms": (lambda: llama("q_norm.weight"), "q_norm.weight'; qk_norm=False"),
    "Llama's sinks": (lambda: load_llama(layer(), {"sinks": t(4)}), "'sinks'; sinks=False"),
    "model_type": (
        lambda: load_llama(layer(), {}, model_type="gemma3n"), "model_type; llama; 'gemma3n'",
    ),
    "no model_type for norms": (
        lambda: load_llama(layer(qk_norm=True), {}), "model_type; llama; None",
    ),
    "Gemma without a scale": (lambda: load_llama(layer(), {}, model_type="gemma2"), "Gemma; scale"),
    "Gemma without a cap": (
        lambda: load_llama(layer(scale=0.1), {}, model_type="gemma2"), "Gemma 2; softcap",
    ),
    "config": (
        lambda: layer_of_config(SimpleNamespace(model_type="bert")), "model_type; gpt2; 'bert'",
    ),
    "no DeepSeek": (
        lambda: load_deepseek(latent(norm_eps=1e-6), {"o_proj.weight": t(1)}, "attn"),
        "'attn.q_proj.weight'; attn.o_proj.weight",
    ),
}  # fmt: skip

OTHERS = {
    "a layer too many": (IndexError, lambda: KVCache(2, 4, 9, 4, num_layers=2)[2], "layer; 1; 2"),
    "flex with gradients": (
        NotImplementedError,
        lambda: flex_attention(Q.clone().requires_grad_(), K, V),
        "gradients; CPU; fused_attention",
    ),
    "flex with sinks, compiled": (
        NotImplementedError,
        lambda: flex_attention(Q, K, V, sinks=torch.ones(4), compiled=True),
        "log-sum-exp; compiled=False",
    ),
    "an answer of nothing": (
        RuntimeError, lambda: gradient_times_input(lambda x: torch.ones(2), t(2, 3, 4)), "grad",
    ),
}  # fmt: skip
CASES = {name: (TypeError, *case) for name, case in TYPES.items()}
CASES |= {name: (ValueError, *case) for name, case in VALUES.items()} | OTHERS


@pytest.mark.parametrize("case", CASES)
def test_layers_masks_caches_and_other_functions(case):
    error, call, says = CASES[case]
    assert_refused(call, error, says)


FILLED = {
    "LinearAttention": linear,
    "LatentAttention": latent,
    "CrossAttention": cross,
    "Linear": lambda: nn.Linear(16, 16),
}


@pytest.mark.parametrize("to", [to_torch, to_gpt2, to_llama, lambda layer: load_gpt2(layer, {})])
@pytest.mark.parametrize("kind", FILLED)
def test_layers_that_compute_something_else_are_refused(to, kind):
    assert_refused(lambda: from_torch(FILLED[kind]()), TypeError, f"MultiheadAttention; {kind}")
    if (to, kind) != (to_torch, "CrossAttention"):  # PyTorch has a counterpart
        assert_refused(lambda: to(FILLED[kind]()), TypeError, f"MultiHeadAttention; {kind}")


def test_flash_attention_3_is_refused_where_it_is_not_known():
    if "FA3" in BACKENDS:
        pytest.skip("this PyTorch has it")
    assert_refused(lambda: fused_attention(Q, K, V, backend="FA3"), ValueError, "'FA3'; newer")
