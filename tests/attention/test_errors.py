"""Every wrong input: a TypeError or ValueError that names the argument and the values.

A case is a call and what its message must name, as "argument; value; other value".
"""

import builtins
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
WRONG_TYPES = [
    ({"mask": t(5, 7)}, "mask; bool; torch.float32; bias="),
    ({"mask": t(5, 7).long()}, "mask; bool; torch.int64; mask.bool()"),
    ({"mask": [[True]]}, "mask; bool; list"),
    ({"mask": True}, "mask; bool True"),
    ({"is_causal": "no"}, "is_causal; 'no'"),
    ({"key": jagged(8)}, "key; nested"),
    ({"bias": mask(5, 7)}, "bias; torch.float32; torch.bool; mask="),
    ({"bias": t(5, 7).double()}, "query torch.float32; bias torch.float64"),
    ({"key": K.half()}, "query torch.float32; key torch.float16"),
    ({"value": V.double()}, "query torch.float32; value torch.float64"),
    ({"key": K.bool()}, "query torch.float32; key torch.bool"),
    ({"query": Q.int(), "key": K.int(), "value": V.int()}, "query; torch.int32"),
    ({"key": K.numpy()}, "key; ndarray"),
    ({"window": 1.5}, "window; int; 1.5"),
    ({"sinks": 0.0}, "sinks; float"),
    ({"sinks": t(4).double()}, "query torch.float32; sinks torch.float64"),
]  # fmt: skip
WRONG_VALUES = [
    ({"mask": mask(4, 5, 7)}, FOR_HEADS),
    (
        {"query": t(4, 4, 5, 8), "key": t(4, 4, 7, 8), "value": t(4, 4, 7, 8)}
        | {"mask": mask(4, 5, 7)},
        FOR_HEADS,
    ),
    ({"mask": mask(2, 5, 7)}, "mask (2, 5, 7); (2, 4, 5, 7)"),
    ({"mask": mask(5, 8)}, "mask (5, 8); (2, 4, 5, 7)"),
    ({"mask": mask(1, 1, 1, 5, 7)}, "mask (1, 1, 1, 5, 7); (2, 4, 5, 7)"),
    ({"bias": t(4, 5, 6)}, "bias (4, 5, 6); (2, 4, 5, 7)"),
    ({"mask": mask(5, 7).to("meta")}, "query cpu; mask meta"),
    ({"key": t(2, 4, 7, 8, device="meta")}, "query cpu; key meta"),
    ({"key": t(2, 4, 7, 4)}, "head_dim; query (2, 4, 5, 8); key (2, 4, 7, 4)"),
    ({"query": t(2, 4, 5, 0), "key": t(2, 4, 7, 0)}, "head_dim is 0; query (2, 4, 5, 0)"),
    ({"value": t(2, 4, 6, 8)}, "length; key (2, 4, 7, 8); value (2, 4, 6, 8)"),
    ({"key": t(3, 4, 7, 8), "value": t(3, 4, 7, 8)}, "batch; query (2, 4, 5, 8); key (3, 4, 7, 8)"),
    (
        {"query": t(4, 5, 8), "key": t(2, 7, 8), "value": t(2, 7, 8)},
        "batch; query (4, 5, 8); key (2, 7, 8)",
    ),
    ({"key": t(2, 3, 7, 8), "value": t(2, 3, 7, 8)}, "heads; query (2, 4, 5, 8); key (2, 3, 7, 8)"),
    ({"key": t(2, 0, 7, 8), "value": t(2, 0, 7, 8)}, "heads; (2, 0, 7, 8)"),
    ({"key": t(7, 8), "value": t(7, 8)}, "dimensions; (2, 4, 5, 8); (7, 8)"),
    ({"query": t(8), "key": t(8), "value": t(8)}, "at least 2; query (8,)"),
    ({"window": 0}, "window; at least 1; 0"),
    ({"dropout_p": 1.0}, "dropout_p; [0, 1); 1.0"),
    ({"dropout_p": -0.1}, "dropout_p; [0, 1); -0.1"),
    ({"softcap": 0.0}, "softcap; 0.0"),
    ({"softcap": float("inf")}, "softcap; finite; inf"),
    ({"sinks": t(3)}, "sinks; (4,); (3,)"),
]  # fmt: skip


def cases(**by_error):
    """A parameter for each case; its name is what the message must name."""
    pairs = ((error, case) for error, table in by_error.items() for case in table)
    return [pytest.param(getattr(builtins, error), *case, id=case[-1]) for error, case in pairs]


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
@pytest.mark.parametrize(
    ("error", "changes", "says"), cases(TypeError=WRONG_TYPES, ValueError=WRONG_VALUES)
)
def test_attention(attend, error, changes, says):
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
    new = kind(2, 2, 4, 4, **options)
    new.append(*t(2, 2, 2, tokens, 4))
    return new


def ragged():
    return cache(RaggedKVCache)


def with_lengths(kind):
    return cache(kind).append(NEW[..., :1, :], NEW[..., :1, :], [1, 0])


def elsewhere(kind, **options):
    return frozen()(X, cache=kind(2, 4, 9, 4, device="meta"), **options)


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


TYPES = [
    (lambda: MultiHeadAttention(16, 2.0), "num_heads; int; 2.0"),
    (lambda: MultiHeadAttention(16, True), "num_heads; int; True"),
    (lambda: layer()(X.double()), "layer torch.float32; x torch.float64"),
    (lambda: layer()(X, context=X.half()), "x torch.float32; context torch.float16"),
    (lambda: layer()(X, None, X), "return_attention; Tensor; context=y"),
    (lambda: layer()(X, X, X), "return_attention; bool"),
    (lambda: linear()(X, X, X), "return_attention; bool"),
    (lambda: layer()(jagged(16, layout=torch.strided)), "x; nested; (B, j, 16); torch.strided"),
    (lambda: causal()(jagged(16, layout=torch.strided)), "x; nested; jagged"),
    (lambda: linear()(jagged(16)), "x; nested"),
    (lambda: latent()(jagged(16)), "x; nested"),
    (lambda: layer()(X, context=jagged(16)), "context; nested"),
    (lambda: causal()(X, is_causal=False), "is_causal"),
    (lambda: layer()(X.numpy()), "x; ndarray"),
    (lambda: causal()(None), "x; NoneType"),
    (
        lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 6), t(5, 6).double()),
        "query torch.float32; value torch.float64",
    ),
    (lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 6), t(5, 6), t(3, 5)), "mask; bool"),
    (lambda: cross()(X), "context"),
    (
        lambda: CrossAttention(16, 4, qk_norm=True)(X, context=ContextKV(*t(2, 2, 4, 3, 4).half())),
        "layer torch.float32; context torch.float16",
    ),
    # Masks and positions
    (lambda: create_document_mask(t(3)), "documents; integers; torch.float32"),
    (lambda: create_causal_mask(X), "query_len; int; tensor"),
    (lambda: create_padding_mask([1.5]), "lengths; integers; 1.5"),
    (lambda: create_padding_mask(3), "lengths; integers; 3"),
    (lambda: create_padding_mask(mask(2)), "lengths; integers; tensor"),
    (lambda: create_padding_mask([1], 2.5), "key_len; int; 2.5"),
    (lambda: create_block_sparse_mask(t(2, 2), 4, 8), "blocks; bool; torch.float32"),
    (lambda: Rotary(8)(t(2, 8), position_ids=[0, 1]), "position_ids; list"),
    (lambda: alibi_bias(2.0, 4), "num_heads; int; 2.0"),
    # Caches
    (
        lambda: frozen()(X, cache=KVCache(2, 4, 9, 4, dtype=torch.float16)),
        "cache torch.float16; key torch.float32",
    ),
    (lambda: cache().crop(1.5), "length; int; 1.5"),
    (lambda: ragged().crop([1.5, 2.0]), "length; integers"),
    (lambda: ragged().append(NEW, NEW, torch.tensor([1.0, 0.5])), "lengths; integers; tensor"),
    (lambda: ragged().append(NEW, NEW, 1), "lengths; integers; 1"),
    (lambda: ragged().reorder([True, False]), "index; integers"),
    # Other functions
    (lambda: varlen(torch.tensor([0.0, 5.0])), "cu_seq_q; integers"),
    (lambda: varlen([0, 5]), "cu_seq_q; list"),
    (lambda: varlen(FIVE_ENDS, is_causal="no"), "is_causal; 'no'"),
    (
        lambda: gated_delta_rule(*(t(2, 1, 3, 4),) * 3, t(2, 1, 3), t(2, 1, 3).double()),
        "key torch.float32; beta torch.float64",
    ),
    (lambda: entropy(t(2, 2).int()), "weights; floating; torch.int32"),
]  # fmt: skip

VALUES = [
    (lambda: MultiHeadAttention(10, 4), "embed_dim=10; num_heads=4"),
    (lambda: layer(num_kv_heads=3), "num_heads=4; num_kv_heads=3"),
    (lambda: MultiHeadAttention(16, 0), "num_heads; at least 1; 0"),
    (lambda: layer(head_dim=0), "head_dim; at least 1; 0"),
    (lambda: layer(dropout=1.5), "dropout; [0, 1); 1.5"),
    (lambda: CausalMultiHeadAttention(16, 4, 0), "max_seq_len; at least 1; 0"),
    (lambda: layer()(X[..., :12]), "x (2, 5, 12); embed_dim=16"),
    (lambda: layer()(X.to("meta")), "layer cpu; x meta"),
    (lambda: layer()(X[0, 0]), "x (16,); embed_dim=16"),
    (lambda: causal()(X[0, 0]), "x (16,); embed_dim=16"),
    (lambda: layer()(X, context=t(2, 5, 12)), "context (2, 5, 12); embed_dim=16"),
    (lambda: layer()(X, context=t(3, 5, 16)), "batch; x (2, 5, 16); context (3, 5, 16)"),
    (lambda: layer()(X, context=X, cache=KVCache(2, 4, 5, 4)), "context; cache"),
    (lambda: layer()(X, mask(2, 5, 5)), "mask (2, 5, 5); (2, 4, 5, 5)"),
    (lambda: layer()(t(4, 5, 16), mask(4, 5, 5)), "mask (4, 5, 5); mask[:, None]; mask[None]"),
    (lambda: causal()(t(2, 7, 16)), "7; max_seq_len=6"),
    (lambda: CausalMultiHeadAttention(16, 4, 4)(jagged(16)), "5; max_seq_len=4"),
    (lambda: layer()(jagged(16), mask(5)), "nested; is_causal; window"),
    (lambda: layer(rotary=Rotary(4))(jagged(16), position_ids=torch.arange(3)), "nested"),
    (lambda: layer()(X, position_ids=torch.arange(5)), "position_ids; rotary"),
    (lambda: layer()(X, lengths=[1, 2]), "lengths; cache"),
    (lambda: latent()(X, lengths=[1, 2]), "lengths; cache"),
    (lambda: latent()(X[0]), "x; (B, L, 16); (5, 16)"),
    (lambda: LatentAttention(16, 4, 0, rotary=Rotary(4)), "latent_dim; at least 1; 0"),
    (lambda: linear()(X, None, True, return_state=True), "return_attention; state"),
    (lambda: linear()(X, context=X, is_causal=True), "context; is_causal"),
    (lambda: linear()(X, create_causal_mask(5)), "mask (5, 5); (2, 4, 1, 5)"),
    (lambda: linear()(X, state=t(2, 4, 4, 4)), "state; (2, 4, 4, 5); (2, 4, 4, 4)"),
    (lambda: linear()(X, state=t(2, 4, 4, 5, device="meta")), "x cpu; state meta"),
    (lambda: additive((3, 4), (5, 4), (5, 4)), "key (5, 4); key_dim=6"),
    (lambda: additive((3, 4), (5, 6), (4, 6)), "query (3, 4); key (5, 6); value (4, 6)"),
    (lambda: cross()(X, context=t(2, 6, 16)), "context (2, 6, 16); kdim=5"),
    (lambda: cross()(X, context=t(2, 6, 5)), "context (2, 6, 5); vdim=7"),
    (
        lambda: cross().project_context(t(2, 6, 5), t(2, 4, 7)),
        "length; context (2, 6, 5); value (2, 4, 7)",
    ),
    (
        lambda: cross()(t(3, 3, 16), context=cross().project_context(t(2, 6, 5), t(2, 6, 7))),
        "batch; x (3,); context (2,)",
    ),
    (lambda: ContextKV(*t(2, 2, 4, 3, 4)).reorder([0, 2]), "index; 0 ... 1; [0, 2]"),
    # Masks and positions
    (lambda: create_padding_mask([1], padding_side="up"), "padding_side; 'up'"),
    (lambda: create_document_mask(torch.tensor([0, 1])), "documents; (B, L); (2,)"),
    (lambda: create_causal_mask(0), "query_len; at least 1; 0"),
    (lambda: create_window_mask(3, window=0), "window; at least 1; 0"),
    (lambda: create_padding_mask([2, 5], 4), "lengths; key_len=4; [2, 5]"),
    (lambda: create_padding_mask([-1, 2]), "lengths; [-1, 2]"),
    (lambda: masked_softmax(X, mask(5, 15)), "mask (5, 15); (2, 5, 16)"),
    (lambda: create_strided_mask(4, stride=0), "stride; at least 1; 0"),
    (lambda: create_block_sparse_mask(mask(2, 2), 4, 9), "blocks; (..., 3, 3); (2, 2)"),
    (lambda: Rotary(7), "head_dim; even; 7"),
    (lambda: Rotary(8, rotary_dim=10), "rotary_dim; even; head_dim=8; 10"),
    (lambda: Rotary(8)(t(2, 6)), "heads; head_dim=8; (2, 6)"),
    (
        lambda: Rotary(8)(t(2, 3, 6, 8), position_ids=torch.arange(5)),
        "position_ids; (6,); (2, 6); (5,)",
    ),
    (
        lambda: Rotary(8)(t(2, 8), position_ids=torch.arange(2, device="meta")),
        "heads cpu; position_ids meta",
    ),
    (lambda: Rotary(8, scaling={"rope_type": "longrope"}), "rope_type; linear; 'longrope'"),
    (
        lambda: Rotary(8, scaling={"rope_type": "yarn", "factor": 2.0}),
        "'yarn'; 'original_max_position_embeddings'",
    ),
    (lambda: sinusoidal_positions(0, 4), "seq_len; at least 1; 0"),
    (lambda: LearnedRelativeBias(2, 0), "max_distance; at least 1; 0"),
    (
        lambda: alibi_bias(4, 3, 9, position_ids=torch.tensor([[2, 3], [6, 7]])),
        "position_ids; (B, 3); (2, 2)",
    ),
    (
        lambda: LearnedRelativeBias(4, 3)(3, 9, position_ids=torch.tensor([[2, 3], [6, 7]])),
        "position_ids; (B, 3); (2, 2)",
    ),
    # Caches
    (lambda: frozen()(X, cache=KVCache(3, 4, 9, 4)), "key (2, 4, 5, 4); (3, 4, 5, 4)"),
    (lambda: layer()(X, cache=KVCache(2, 4, 9, 4)), "key; grad; torch.no_grad()"),
    (lambda: frozen()(X, cache=KVCache(2, 4, 9, 4, num_layers=2)), "cache; 2 layers; cache[0]"),
    (lambda: KVCache(2, 4, 0, 4), "max_seq_len; at least 1; 0"),
    (lambda: KVCache(2, 2, 4, 4, value_dim=0), "value_dim; at least 1; 0"),
    (lambda: WindowKVCache(1, 2, 6, 4, sinks=-1), "sinks; at least 0; -1"),
    (lambda: RaggedKVCache(2, 2, 4, 4, padding_side="up"), "padding_side; 'right'; 'up'"),
    (lambda: with_lengths(KVCache), "lengths; RaggedKVCache"),
    (lambda: with_lengths(WindowKVCache), "lengths; RaggedKVCache"),
    (lambda: with_lengths(StaticKVCache), "lengths; RaggedKVCache"),
    (lambda: elsewhere(KVCache), "device; meta"),
    (lambda: elsewhere(RaggedKVCache), "device; meta"),
    (lambda: elsewhere(WindowKVCache), "device; meta"),
    (lambda: elsewhere(RaggedKVCache, lengths=[5, 2]), "device; meta"),
    (lambda: ragged().append(NEW, NEW, [3, 1]), "lengths; 2; 0 ... 2; [3, 1]"),
    (lambda: ragged().append(NEW, NEW, [1]), "lengths; 2; 0 ... 2; [1]"),
    (lambda: ragged().append(NEW, NEW, [2, 0]), "3 tokens + 2 new; max_seq_len=4"),
    (lambda: ragged().reorder([0, 2]), "index; 2; 0 ... 1; [0, 2]"),
    (lambda: cache().reorder([0]), "index; 2; 0 ... 1; [0]"),
    (lambda: cache().select([2]), "index; 0 ... 1; [2]"),
    (lambda: cache().crop(-1), "length; at least 0; -1"),
    (lambda: ragged().crop([1]), "length; 2; [1]"),
    (lambda: cache(WindowKVCache, 6).crop(5), "5; of 6 tokens; 4"),
    # Other functions
    (lambda: fused_attention(Q, K, V, backend="fast"), f"backend; {', '.join(BACKENDS)}; 'fast'"),
    (
        lambda: fused_attention(Q, K, V, dropout_p=0.1, backend="flash"),
        "backend='flash'; cpu; dropout",
    ),
    (lambda: fused_attention(Q, K, V, backend="cudnn"), "backend='cudnn'; cpu; query (2, 4, 5, 8)"),
    (lambda: fused_attention(Q, K, V, softcap=2.0, backend="flash"), "backend='flash'; softcap"),
    (lambda: flex_attention(Q[0], K[0], V[0]), "query; (B, H, L, D); (4, 5, 8)"),
    (lambda: flex_attention(Q, K, V, softcap=-1), "softcap; -1"),
    (lambda: flex_attention(Q, K[..., :4], V), "head_dim"),
    (lambda: flex_attention(Q, K, V, sinks=t(3)), "sinks; (4,); (3,)"),
    (lambda: varlen(torch.tensor([0, 4])), "cu_seq_q; 0 to 5; [0, 4]"),
    (lambda: varlen(FIVE_ENDS, ENDS[0]), "cu_seq_k; 0 to 5; [0, 4, 3"),
    (lambda: varlen(FIVE_ENDS, ENDS[1]), "cu_seq_q 1; cu_seq_k 2"),
    (lambda: varlen(torch.tensor([0, 1]), query=FIVE[None]), "query; (T, H, D); (1, 5, 4, 8)"),
    (lambda: varlen(FIVE_ENDS, key=FIVE[:, :3]), "query heads"),
    (lambda: delta_rule(0, (2, 3, 7, 9)), "query (2, 3, 7, 9); (2, 3, 7, 8)"),
    (lambda: delta_rule(2, (2, 3, 6, 5)), "value (2, 3, 6, 5); (2, 3, 7, 8)"),
    (lambda: delta_rule(3, (2, 3, 7, 1)), "log_decay (2, 3, 7, 1); (2, 3, 7, 8); (2, 3, 7)"),
    (lambda: delta_rule(4, (2, 7, 3)), "beta (2, 7, 3); (2, 3, 7, 8)"),
    (lambda: delta_rule(5, (2, 3, 5, 8)), "state; (2, 3, 8, 5); (2, 3, 5, 8)"),
    (lambda: delta_rule(chunk_size=0), "chunk_size; at least 1; 0"),
    (lambda: gated_delta_rule(*t(3, 2, 3, 0, 8), *t(2, 2, 3, 0)), "key; at least one token"),
    (lambda: GatedDeltaNet(16, 2)(X[0]), "x; (B, L, 16); (5, 16)"),
    (lambda: GatedDeltaNet(16, 2)(X[..., :8]), "x (2, 5, 8); embed_dim=16"),
    (lambda: delta_layer(table=(1, 2, 8, 8)), "state.table; (2, 2, 8, 8); (1, 2, 8, 8)"),
    (lambda: delta_layer(recent=(2, 48, 2)), "state.recent; (2, 48, 3); (2, 48, 2)"),
    (lambda: GatedDeltaNet(16, 0), "num_heads; at least 1; 0"),
    (lambda: GatedDeltaNet(16, 3), "num_heads=3; embed_dim=16"),
    (lambda: entropy(t(2, 2), "nits"), "'nats'; 'bits'; 'nits'"),
    (lambda: rollout([]), "layer; none"),
    (lambda: rollout([t(1, 2, 2)], 1.5), "residual; [0, 1]; 1.5"),
    (lambda: rollout([t(1, 2, 3)]), "[(1, 2, 3)]"),
    (lambda: rollout([t(1, 2, 2), t(1, 3, 3)]), "[(1, 2, 2), (1, 3, 3)]"),
    (lambda: integrated_gradients(torch.sum, t(2, 3), t(3)), "vectors (2, 3); baseline (3,)"),
    (lambda: integrated_gradients(torch.sum, t(2, 3), t(2, 3), 0), "at least 1; 0"),
    # Weights of other models
    (lambda: from_torch(nn.MultiheadAttention(16, 4, add_bias_kv=True)), "add_bias_kv=True"),
    (lambda: from_torch(nn.MultiheadAttention(16, 4, add_zero_attn=True)), "add_zero_attn=True"),
    (lambda: to_torch(layer(num_kv_heads=2)), "num_kv_heads=2"),
    (lambda: to_torch(layer(rotary=Rotary(4))), "rotary=Rotary; None"),
    (lambda: to_torch(layer(head_dim=6)), "head_dim=6; embed_dim=16"),
    (lambda: to_gpt2(layer(qk_norm=True)), "qk_norm=True"),
    (lambda: to_gpt2(layer(bias=False)), "bias=False"),
    (lambda: to_gpt2(layer(rotary=Rotary(4))), "rotary=Rotary; None"),
    (lambda: gpt2(bias=False), "bias=False"),
    (lambda: gpt2(rotary=Rotary(4)), "rotary=Rotary; None"),
    (lambda: load_gpt2(layer(), {"a": t(1)}), "'c_attn.weight'; a"),
    (lambda: gpt2(8), "c_attn.weight; (16, 48); (8, 24)"),
    (lambda: llama(rotary=Rotary(6)), "rotary=Rotary; interleaved=False"),
    (lambda: load_llama(layer(bias=False), {}), "'q_proj.weight'"),
    (lambda: llama(num_kv_heads=4, head_dim=4), "q_proj.weight; (16, 16); (24, 16)"),
    (lambda: llama("q_proj.bias"), "q_proj.bias'; bias=False"),
    (lambda: llama("q_norm.weight"), "q_norm.weight'; qk_norm=False"),
    (lambda: load_llama(layer(), {"sinks": t(4)}), "'sinks'; sinks=False"),
    (lambda: load_llama(layer(), {}, model_type="gemma3n"), "model_type; llama; 'gemma3n'"),
    (lambda: load_llama(layer(qk_norm=True), {}), "model_type; llama; None"),
    (lambda: load_llama(layer(), {}, model_type="gemma2"), "Gemma; scale"),
    (lambda: load_llama(layer(scale=0.1), {}, model_type="gemma2"), "Gemma 2; softcap"),
    (lambda: layer_of_config(SimpleNamespace(model_type="bert")), "model_type; gpt2; 'bert'"),
    (
        lambda: load_deepseek(latent(norm_eps=1e-6), {"o_proj.weight": t(1)}, "attn"),
        "'attn.q_proj.weight'; attn.o_proj.weight",
    ),
]  # fmt: skip

OTHERS = [
    (IndexError, lambda: KVCache(2, 4, 9, 4, num_layers=2)[2], "layer; 1; 2"),
    (
        NotImplementedError, lambda: flex_attention(Q.clone().requires_grad_(), K, V),
        "gradients; CPU; fused_attention",
    ),
    (
        NotImplementedError, lambda: flex_attention(Q, K, V, sinks=torch.ones(4), compiled=True),
        "log-sum-exp; compiled=False",
    ),
    (RuntimeError, lambda: gradient_times_input(lambda x: torch.ones(2), t(2, 3, 4)), "grad"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "call", "says"), [*cases(TypeError=TYPES, ValueError=VALUES), *OTHERS]
)
def test_layers_masks_caches_and_other_functions(error, call, says):
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
