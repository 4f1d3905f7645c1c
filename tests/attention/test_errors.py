"""Every wrong input: a TypeError or ValueError that names the argument and the values.

A case is a call and what its message must name, as "argument; value; other value".
"""

from functools import partial
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
from caching import KINDS, RaggedKVCache, StaticKVCache, WindowKVCache
from flex import flex_attention
from interchange import (
    from_torch,
    layer_like,
    load_deepseek,
    load_gpt2,
    load_llama,
    to_gpt2,
    to_llama,
    to_torch,
)
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


def jagged(size, most=5, layout=torch.jagged):
    return torch.nested.nested_tensor([t(3, size), t(most, size)], layout=layout)


Q, K, V = qkv(query_len=5, key_len=7)  # (2, 4, 5, 8) and (2, 4, 7, 8)
X = torch.randn(2, 5, 16)
X4, HEADS, FIVE, NEW = X[..., :4], t(2, 3, 7, 8), t(5, 4, 8), t(2, 2, 2, 4)
FIVE_ENDS = torch.tensor([0, 5])  # five tokens of one document
PLAIN, CAUSAL = MultiHeadAttention(16, 4), CausalMultiHeadAttention(16, 4, max_seq_len=6)
LINEAR, LATENT = LinearAttention(16, 4), LatentAttention(16, 4, 6, rotary=Rotary(4))
CROSS, FROZEN = (
    CrossAttention(16, 4, kdim=5, vdim=7),
    MultiHeadAttention(16, 4).requires_grad_(False),
)
ADDITIVE, NET, ROTARY = AdditiveAttention(4, 4, 8), GatedDeltaNet(16, 2), Rotary(8)
CONTEXT = CROSS.project_context(t(2, 6, 5), t(2, 6, 7))
HALF = ContextKV(*(part.half() for part in CONTEXT))


# ---- Each argument, with what isn't of its kind -------------------------------------------------


def append(kind, **new):
    return kind(2, 2, 4, 4).append(**new)


SCORED = {"query": Q, "key": K, "value": V, "mask": mask(5, 7), "bias": t(5, 7), "sinks": t(4)}
SCORED |= {"window": 3, "dropout_p": 0.1}
PACKED = {"query": FIVE, "key": FIVE, "sinks": t(4), "window": 3, "dropout_p": 0.1}
DELTA = {"query": HEADS, "value": t(2, 3, 7, 5), "log_decay": t(2, 3, 7), "beta": t(2, 3, 7)}
DELTA |= {"state": t(2, 3, 8, 5), "chunk_size": 4}
LAYER = {"embed_dim": 16, "num_heads": 4, "head_dim": 4}
LATENTS = {"latent_dim": 6, "value_dim": 4, "query_latent_dim": 4, "dropout": 0.1}
MEMORY = {"batch_size": 2, "num_kv_heads": 2, "head_dim": 4, "value_dim": 4, "num_layers": 1}
LENGTHS = {"query_len": 3, "key_len": 4}
RIGHT = {
    "explicit": (scaled_dot_product_attention, SCORED),
    "fused": (fused_attention, SCORED),
    "flex": (flex_attention, {"query": Q, "key": K, "value": V, "sinks": t(4), "window": 3}),
    "varlen": (partial(varlen_attention, value=FIVE, cu_seq_q=FIVE_ENDS), PACKED),
    "masked softmax": (partial(masked_softmax, t(5, 7)), {"mask": mask(5, 7)}),
    "causal mask": (create_causal_mask, LENGTHS),
    "window mask": (create_window_mask, LENGTHS | {"window": 2}),
    "strided mask": (create_strided_mask, LENGTHS | {"stride": 2}),
    "block mask": (partial(create_block_sparse_mask, mask(1, 1)), LENGTHS | {"block_size": 4}),
    "MultiHeadAttention": (MultiHeadAttention, LAYER | {"num_kv_heads": 2, "dropout": 0.1}),
    "CausalMultiHeadAttention": (CausalMultiHeadAttention, LAYER | {"max_seq_len": 9}),
    "CrossAttention": (CrossAttention, LAYER | {"kdim": 5, "vdim": 7}),
    "LatentAttention": (partial(LatentAttention, rotary=Rotary(4)), LAYER | LATENTS),
    "GatedDeltaNet": (GatedDeltaNet, LAYER | {"value_dim": 4, "conv_size": 4, "chunk_size": 4}),
    "AdditiveAttention": (AdditiveAttention, {"query_dim": 4, "key_dim": 6, "hidden_dim": 8}),
    "layer": (PLAIN, {"x": X, "mask": mask(5, 5), "bias": t(5, 5), "window": 3}),
    "layer's context": (PLAIN, {"x": X, "context": X}),
    "linear layer": (LINEAR, {"x": X, "mask": mask(5)}),
    "latent layer": (LATENT, {"x": X, "mask": mask(5, 5)}),
    "context": (CROSS.project_context, {"context": t(2, 6, 5), "value": t(2, 6, 7)}),
    "additive layer": (ADDITIVE, {"query": X4, "key": X4, "value": X4, "mask": mask(5, 5)}),
    "delta layer": (NET, {"x": X}),
    "delta rule": (partial(gated_delta_rule, key=HEADS), DELTA),
    "new cache": (KVCache, MEMORY | {"max_seq_len": 4}),
    "new window": (WindowKVCache, MEMORY | {"window": 4}),
    **{kind.__name__: (partial(append, kind), {"key": NEW, "value": NEW}) for kind in KINDS},
    "Rotary": (Rotary, {"head_dim": 8, "rotary_dim": 4}),
    "sinusoidal": (sinusoidal_positions, {"seq_len": 3, "embed_dim": 4}),
    "ALiBi": (alibi_bias, LENGTHS | {"num_heads": 4}),
    "relative": (LearnedRelativeBias, {"num_heads": 4, "max_distance": 3}),
}


def wrong_in_place_of(right):
    if isinstance(right, float):
        return [(ValueError, 1.0), (ValueError, -0.1)]
    if isinstance(right, int):
        return [(ValueError, 0), (ValueError, -1), (TypeError, 1.5), (TypeError, True)]
    other = [right.float(), right.long()] if right.dtype == torch.bool else [right.double()]
    return [(ValueError, right.to("meta")), *((TypeError, t) for t in (right.numpy(), *other))]


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("name", RIGHT)
def test_each_argument_refuses_another_kind_size_or_device_by_its_name(name):
    call, arguments = RIGHT[name]
    call(**arguments)
    for argument, right in arguments.items():
        for error, wrong in wrong_in_place_of(right):
            with pytest.raises(error, match=argument):
                call(**arguments | {argument: wrong})


# ---- Attention: arguments that replace those of attention(Q, K, V) ------------------------------

WRONG_TYPES = [
    ({"mask": t(5, 7)}, "mask; bool; torch.float32; bias="),
    ({"mask": t(5, 7).long()}, "mask; bool; torch.int64; mask.bool()"),
    ({"mask": [[True]]}, "mask; bool; list"),
    ({"is_causal": "no"}, "is_causal; 'no'"),
    ({"key": jagged(8)}, "key; nested"),
    ({"bias": mask(5, 7)}, "bias; torch.float32; torch.bool; mask="),
    ({"query": Q.int(), "key": K.int(), "value": V.int()}, "query; torch.int32"),
]
WRONG_VALUES = [
    ({"mask": mask(4, 5, 7)}, "mask (4, 5, 7); mask[:, None]; mask[None]"),
    ({"mask": mask(5, 8)}, "mask (5, 8); (2, 4, 5, 7)"),
    ({"bias": t(4, 5, 6)}, "bias (4, 5, 6); (2, 4, 5, 7)"),
    ({"key": t(2, 4, 7, 4)}, "head_dim; query (2, 4, 5, 8); key (2, 4, 7, 4)"),
    ({"query": t(2, 4, 5, 0), "key": t(2, 4, 7, 0)}, "head_dim is 0; query (2, 4, 5, 0)"),
    ({"value": t(2, 4, 6, 8)}, "length; key (2, 4, 7, 8); value (2, 4, 6, 8)"),
    ({"key": t(3, 4, 7, 8), "value": t(3, 4, 7, 8)}, "batch; query (2, 4, 5, 8); key (3, 4, 7, 8)"),
    ({"query": t(4, 5, 8), "key": t(2, 7, 8), "value": t(2, 7, 8)}, "batch; (4, 5, 8); (2, 7, 8)"),
    ({"key": t(2, 3, 7, 8), "value": t(2, 3, 7, 8)}, "heads; query (2, 4, 5, 8); key (2, 3, 7, 8)"),
    ({"key": t(7, 8), "value": t(7, 8)}, "dimensions; (2, 4, 5, 8); (7, 8)"),
    ({"softcap": 0.0}, "softcap; 0.0"),
    ({"softcap": float("inf")}, "softcap; finite; inf"),
    ({"sinks": t(3)}, "sinks; (4,); (3,)"),
]


def cases(types, values):
    """A parameter for each case; its name is what the message must name."""
    pairs = [(TypeError, case) for case in types] + [(ValueError, case) for case in values]
    return [pytest.param(error, *case, id=case[-1]) for error, case in pairs]


explicit_and_fused = pytest.mark.parametrize(
    "attend", [scaled_dot_product_attention, fused_attention]
)


@explicit_and_fused
@pytest.mark.parametrize(("error", "changes", "says"), cases(WRONG_TYPES, WRONG_VALUES))
def test_attention(attend, error, changes, says):
    assert_refused(lambda: attend(**{"query": Q, "key": K, "value": V} | changes), error, says)


@explicit_and_fused
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


def layer(**options):
    return MultiHeadAttention(16, 4, **options)


def cache(kind=KVCache, tokens=3):
    """Two sequences, two heads, room for four tokens of which three are taken."""
    new = kind(2, 2, 4, 4)
    new.append(*t(2, 2, 2, tokens, 4))
    return new


def ragged():
    return cache(RaggedKVCache)


def varlen(*ends, query=FIVE):
    return varlen_attention(query, FIVE, FIVE, *ends)


def delta_rule(**changed):
    return gated_delta_rule(**{"key": HEADS} | DELTA | changed)


def llama(*more, **layer_options):
    """Weights under Llama's names, loaded into a layer of other options."""
    sizes = {"q": (24, 16), "k": (12, 16), "v": (12, 16), "o": (16, 24)}
    state = {f"attn.{name}_proj.weight": t(*size) for name, size in sizes.items()}
    state |= {f"attn.{name}": t(24 if "bias" in name else 6) for name in more}
    options = {"num_kv_heads": 2, "head_dim": 6, "bias": False} | layer_options
    return load_llama(layer(**options), state, "attn")


TYPES = [
    (lambda: PLAIN(X, X, X), "return_attention; Tensor; context=y"),
    (lambda: PLAIN(jagged(16, layout=torch.strided)), "x; nested; (B, j, 16); torch.strided"),
    (lambda: LINEAR(jagged(16)), "x; nested"),
    (lambda: LATENT(jagged(16)), "x; nested"),
    (lambda: PLAIN(X, context=jagged(16)), "context; nested"),
    (lambda: CROSS(X, context=HALF), "layer torch.float32; context torch.float16"),
    # Masks and positions
    (lambda: create_document_mask(t(3)), "documents; integers; torch.float32"),
    (lambda: create_padding_mask([1.5]), "lengths; integers; 1.5"),
    (lambda: create_padding_mask(mask(2)), "lengths; integers; tensor"),
    (lambda: create_block_sparse_mask(t(2, 2), 4, 8), "blocks; bool; torch.float32"),
    (lambda: ROTARY(HEADS, position_ids=[0, 1]), "position_ids; list"),
    (lambda: ROTARY([[1.0] * 8]), "heads; list"),
    (lambda: delta_rule(key=[1.0]), "key; list"),
    # Caches and other functions
    (lambda: cache().crop(1.5), "length; int; 1.5"),
    (lambda: ragged().append(NEW, NEW, 1), "lengths; integers; 1"),
    (lambda: ragged().reorder([True, False]), "index; integers"),
    (lambda: varlen(torch.tensor([0.0, 5.0])), "cu_seq_q; integers"),
    (lambda: varlen([0, 5]), "cu_seq_q; list"),
    (lambda: entropy(t(2, 2).int()), "weights; floating; torch.int32"),
]  # fmt: skip

VALUES = [
    (lambda: MultiHeadAttention(10, 4), "embed_dim=10; num_heads=4"),
    (lambda: layer(num_kv_heads=3), "num_heads=4; num_kv_heads=3"),
    (lambda: PLAIN(X[..., :12]), "x (2, 5, 12); embed_dim=16"),
    (lambda: PLAIN(X, context=t(3, 5, 16)), "batch; x (2, 5, 16); context (3, 5, 16)"),
    (lambda: PLAIN(X, context=X, cache=KVCache(2, 4, 5, 4)), "context; cache"),
    (lambda: PLAIN(t(4, 5, 16), mask(4, 5, 5)), "mask (4, 5, 5); mask[:, None]; mask[None]"),
    (lambda: CAUSAL(t(2, 7, 16)), "7; max_seq_len=6"),
    (lambda: CAUSAL(jagged(16, most=7)), "7; max_seq_len=6"),
    (lambda: PLAIN(jagged(16), mask(5)), "nested; is_causal; window"),
    (lambda: PLAIN(X, position_ids=torch.arange(5)), "position_ids; rotary"),
    (lambda: PLAIN(X, lengths=[1, 2]), "lengths; cache"),
    (lambda: LATENT(X, lengths=[1, 2]), "lengths; cache"),
    (lambda: LATENT(X[0]), "x; (B, L, 16); (5, 16)"),
    (lambda: LINEAR(X, None, True, return_state=True), "return_attention; state"),
    (lambda: LINEAR(X, context=X, is_causal=True), "context; is_causal"),
    (lambda: LINEAR(X, create_causal_mask(5)), "mask (5, 5); (2, 4, 1, 5)"),
    (lambda: LINEAR(X, state=t(2, 4, 4, 4)), "state; (2, 4, 4, 5); (2, 4, 4, 4)"),
    (lambda: ADDITIVE(t(3, 4), t(5, 4), t(4, 4)), "query (3, 4); key (5, 4); value (4, 4)"),
    (lambda: CROSS(X, context=t(2, 6, 5)), "context (2, 6, 5); vdim=7"),
    (lambda: CROSS.project_context(t(2, 6, 5), t(2, 4, 7)), "length; (2, 6, 5); value (2, 4, 7)"),
    (lambda: CROSS(t(3, 3, 16), context=CONTEXT), "batch; x (3,); context (2,)"),
    (lambda: CONTEXT.reorder([0, 2]), "index; 0 ... 1; [0, 2]"),
    # Masks and positions
    (lambda: create_padding_mask([1], padding_side="up"), "padding_side; 'up'"),
    (lambda: create_document_mask(torch.tensor([0, 1])), "documents; (B, L); (2,)"),
    (lambda: create_padding_mask([2, 5], 4), "lengths; key_len=4; [2, 5]"),
    (lambda: create_block_sparse_mask(mask(2, 2), 4, 9), "blocks; (..., 3, 3); (2, 2)"),
    (lambda: Rotary(7), "head_dim; even; 7"),
    (lambda: Rotary(8, rotary_dim=10), "rotary_dim; even; head_dim=8; 10"),
    (lambda: ROTARY(t(2, 6)), "heads; head_dim=8; (2, 6)"),
    (lambda: ROTARY(HEADS, position_ids=torch.arange(5)), "position_ids; (7,); (2, 7); (5,)"),
    (lambda: ROTARY(HEADS, position_ids=t(7, device="meta")), "heads cpu; position_ids meta"),
    (lambda: Rotary(8, scaling={"rope_type": "longrope"}), "rope_type; linear; 'longrope'"),
    (lambda: Rotary(8, scaling={"rope_type": "yarn", "factor": 2.0}), "'yarn'; 'original_max_pos"),
    (lambda: alibi_bias(4, 3, 9, position_ids=t(2, 2)), "position_ids; (B, 3); (2, 2)"),
    # Caches
    (lambda: FROZEN(X, cache=KVCache(3, 4, 9, 4)), "key (2, 4, 5, 4); (3, 4, 5, 4)"),
    (lambda: PLAIN(X, cache=KVCache(2, 4, 9, 4)), "key; grad; torch.no_grad()"),
    (lambda: FROZEN(X, cache=KVCache(2, 4, 9, 4, num_layers=2)), "cache; 2 layers; cache[0]"),
    (lambda: RaggedKVCache(2, 2, 4, 4, padding_side="up"), "padding_side; 'right'; 'up'"),
    (lambda: cache(KVCache, 1).append(NEW, NEW, [1, 0]), "lengths; RaggedKVCache"),
    (lambda: cache(WindowKVCache).append(NEW, NEW, [1, 0]), "lengths; RaggedKVCache"),
    (lambda: cache(StaticKVCache, 1).append(NEW, NEW, [1, 0]), "lengths; RaggedKVCache"),
    (lambda: ragged().append(NEW, NEW, [3, 1]), "lengths; 2; 0 ... 2; [3, 1]"),
    (lambda: ragged().append(NEW, NEW, [2, 0]), "3 tokens + 2 new; max_seq_len=4"),
    (lambda: cache().reorder([0]), "index; 2; 0 ... 1; [0]"),
    (lambda: cache().select([2]), "index; 0 ... 1; [2]"),
    (lambda: cache().crop(-1), "length; at least 0; -1"),
    (lambda: ragged().crop([1]), "length; 2; [1]"),
    # Other functions
    (lambda: fused_attention(Q, K, V, backend="fast"), f"backend; {', '.join(BACKENDS)}; 'fast'"),
    (lambda: fused_attention(Q, K, V, dropout_p=0.1, backend="flash"), "'flash'; cpu; dropout"),
    (lambda: fused_attention(Q, K, V, backend="cudnn"), "backend='cudnn'; cpu; query (2, 4, 5, 8)"),
    (lambda: fused_attention(Q, K, V, softcap=2.0, backend="flash"), "backend='flash'; softcap"),
    (lambda: flex_attention(Q[0], K[0], V[0]), "query; (B, H, L, D); (4, 5, 8)"),
    (lambda: varlen(torch.tensor([0, 4])), "cu_seq_q; 0 to 5; [0, 4]"),
    (lambda: varlen(FIVE_ENDS, torch.tensor([0, 4, 3, 5])), "cu_seq_k; 0 to 5; [0, 4, 3"),
    (lambda: varlen(FIVE_ENDS, torch.tensor([0, 2, 5])), "cu_seq_q 1; cu_seq_k 2"),
    (lambda: varlen(torch.tensor([0, 1]), query=FIVE[None]), "query; (T, H, D); (1, 5, 4, 8)"),
    (lambda: delta_rule(log_decay=t(2, 3, 7, 1)), "log_decay (2, 3, 7, 1); (2, 3, 7)"),
    (lambda: delta_rule(beta=t(2, 7, 3)), "beta (2, 7, 3); (2, 3, 7, 8)"),
    (lambda: delta_rule(state=t(2, 3, 5, 8)), "state; (2, 3, 8, 5); (2, 3, 5, 8)"),
    (lambda: gated_delta_rule(*t(3, 2, 3, 0, 8), *t(2, 2, 3, 0)), "key; at least one token"),
    (lambda: NET(X[0]), "x; (B, L, 16); (5, 16)"),
    (lambda: NET(X, state=DeltaState(t(1, 2, 8, 8), t(2, 48, 3))), "state.table; (2, 2, 8, 8); (1"),
    (lambda: GatedDeltaNet(16, 3), "num_heads=3; embed_dim=16"),
    (lambda: entropy(t(2, 2), "nits"), "'nats'; 'bits'; 'nits'"),
    (lambda: rollout([]), "layer; none"),
    (lambda: rollout([t(1, 2, 2)], 1.5), "residual; [0, 1]; 1.5"),
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
    (lambda: load_gpt2(layer(), {"a": t(1)}), "'c_attn.weight'; a"),
    (lambda: llama(rotary=Rotary(6)), "rotary=Rotary; interleaved=False"),
    (lambda: load_llama(layer(bias=False), {}), "'q_proj.weight'"),
    (lambda: llama(num_kv_heads=4, head_dim=4), "q_proj.weight; (16, 16); (24, 16)"),
    (lambda: llama("q_proj.bias"), "q_proj.bias'; bias=False"),
    (lambda: llama("q_norm.weight"), "q_norm.weight'; qk_norm=False"),
    (lambda: load_llama(layer(), {}, model_type="gemma3n"), "model_type; llama; 'gemma3n'"),
    (lambda: load_llama(layer(qk_norm=True), {}), "model_type; llama; None"),
    (lambda: load_llama(layer(), {}, model_type="gemma2"), "Gemma; scale"),
    (lambda: load_llama(layer(scale=0.1), {}, model_type="gemma2"), "Gemma 2; softcap"),
    (lambda: layer_like(SimpleNamespace(model_type="bert")), "model_type; gpt2; 'bert'"),
    (lambda: load_deepseek(LATENT, {"o_proj.weight": t(1)}, "a"), "'a.q_proj.weight'; a.o_proj"),
]  # fmt: skip

UNSUPPORTED = [
    (lambda: flex_attention(Q.clone().requires_grad_(), K, V), "gradients; CPU; fused_attention"),
    (lambda: flex_attention(Q, K, V, sinks=t(4), compiled=True), "log-sum-exp; compiled=False"),
]
OTHERS = [
    (IndexError, lambda: KVCache(2, 4, 9, 4, num_layers=2)[2], "layer; 1; 2"),
    (RuntimeError, lambda: gradient_times_input(lambda x: torch.ones(2), t(2, 3, 4)), "grad"),
    *((NotImplementedError, *case) for case in UNSUPPORTED),
]


@pytest.mark.parametrize(("error", "call", "says"), [*cases(TYPES, VALUES), *OTHERS])
def test_layers_masks_caches_and_other_functions(error, call, says):
    assert_refused(call, error, says)


@pytest.mark.parametrize("to", [to_torch, to_gpt2, to_llama, lambda layer: load_gpt2(layer, {})])
@pytest.mark.parametrize("other", [LINEAR, LATENT, CROSS, nn.Linear(16, 16)])
def test_layers_that_compute_something_else_are_refused(to, other):
    kind = type(other).__name__
    assert_refused(lambda: from_torch(other), TypeError, f"MultiheadAttention; {kind}")
    if (to, other) != (to_torch, CROSS):  # PyTorch has a counterpart
        assert_refused(lambda: to(other), TypeError, f"MultiHeadAttention; {kind}")


def test_flash_attention_3_is_refused_where_it_is_not_known():
    if "FA3" in BACKENDS:
        pytest.skip("this PyTorch has it")
    assert_refused(lambda: fused_attention(Q, K, V, backend="FA3"), ValueError, "'FA3'; newer")
