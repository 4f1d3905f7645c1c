"""course.page.costs: against counts by hand, PyTorch's FLOP counter, and published sizes."""

import re
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attention import KVCache, MultiHeadAttention, scaled_dot_product_attention
from course import costs
from course.page.costs import MACHINES, MODELS, Product
from tests.conftest import ROOT

GPT2, LLAMA2, LLAMA3, GEMMA = MODELS


def counted(call):
    """The FLOPs that PyTorch counts while ``call`` runs, on tensors without numbers."""
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def layer_flops(model, query_len, past, batch):
    """Counted by PyTorch while a layer of the model's sizes runs, with a cache of ``past``."""
    E, wide = model.embed_dim, (model.mlp_matrices - 1) * model.mlp_dim
    options = {"num_kv_heads": model.num_kv_heads, "head_dim": model.head_dim}

    def run():
        attention = MultiHeadAttention(E, model.num_heads, bias=model.biases, **options)
        cache = KVCache(batch, model.num_kv_heads, past + query_len, model.head_dim)
        cache.lengths[0] = past
        x = torch.empty(batch, query_len, E)
        attention(x, return_attention=True, cache=cache)
        nn.Linear(E, wide)(x)
        nn.Linear(model.mlp_dim, E)(x.new_empty(batch, query_len, model.mlp_dim))

    return counted(run)


# ---- FLOPs --------------------------------------------------------------------------------


def test_a_product_takes_two_flops_for_each_multiplication_and_moves_three_matrices():
    product = Product(2, 3, 5)
    assert product.flops == 2 * 30 == counted(lambda: torch.empty(2, 3) @ torch.empty(3, 5))
    assert product.bytes(2) == 2 * (6 + 15 + 10)
    assert product.intensity(2) == 60 / 62
    several = Product(2, 3, 5, count=7)
    assert several.flops == counted(lambda: torch.empty(7, 2, 3) @ torch.empty(7, 3, 5))
    assert several.intensity() == product.intensity()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize(("query_len", "past", "batch"), [(512, 0, 1), (1, 511, 1), (1, 99, 3)])
def test_a_whole_model_takes_the_flops_that_pytorch_counts(model, query_len, past, batch):
    E, V = model.embed_dim, model.vocab_size
    guess = counted(lambda: torch.empty(batch, E) @ torch.empty(E, V))
    want = model.layers * layer_flops(model, query_len, past, batch) + guess
    parts = costs.model_flops(model, query_len, query_len + past, batch)
    assert sum(parts.values()) == want
    both = costs.step(model, query_len, query_len + past, batch)
    assert both["matrices"]["flops"] + both["attention"]["flops"] == want
    assert both["attention"]["flops"] == parts["pairs"]


def test_the_seven_costs_of_a_layer_as_wide_as_its_heads():
    S, E = 300, 512
    bill = costs.attention_costs(S, E, 8, batch=2)
    parts = [6 * S * E * E, 2 * S * S * E, 2 * S * S * E, 2 * S * E * E]
    names = ("queries, keys, values", "scores", "mix", "output")
    assert [bill[name] for name in names] == [2 * part for part in parts]
    with torch.device("meta"):
        layer, x = MultiHeadAttention(E, 8), torch.empty(2, S, E)
    assert bill["all FLOPs"] == 2 * sum(parts) == counted(lambda: layer(x, return_attention=True))
    assert counted(lambda: layer(x)) == 2 * sum(parts), "fused: the same products"
    assert bill["map bytes"] == 2 * 8 * S * S * 2
    assert bill["cache bytes"] == 2 * 2 * S * E * 2


def test_of_the_fused_call_on_a_cpu_pytorch_counts_nothing():
    """pytorch/pytorch#195460; on the meta device the same call is counted."""
    layer, x = MultiHeadAttention(512, 8), torch.randn(1, 300, 512)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(x)
    assert counter.get_total_flops() == 8 * 300 * 512**2


@pytest.mark.parametrize(
    ("call", "says"),
    [(lambda: costs.model_flops(LLAMA2, 0), "query_len must .*got 0"),
     (lambda: costs.step(LLAMA2, 1, 0), "key_len must .*got 0"),
     (lambda: costs.map_bytes(LLAMA2, 4, batch=-4), "batch must .*got -4"),
     (lambda: costs.cache_bytes(LLAMA2, -1), "tokens must .*got -1"),
     (lambda: costs.cache_bytes(LLAMA2, 9, window=0), "window must .*got 0"),
     (lambda: costs.attention_costs(10, 100, 3), "num_heads must .*got 3"),
     (lambda: replace(LLAMA3, num_kv_heads=5), "num_kv_heads must .*got 5")],
    ids=range(7),
)  # fmt: skip
def test_what_can_t_be_counted_is_refused_with_its_value(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_pairs_overtake_the_projections_at_twice_the_width():
    assert [costs.crossover(m) for m in (GPT2, LLAMA2, GEMMA)] == [2 * 768, 2 * 4096, 2 * 3072]
    assert costs.crossover(LLAMA3) == 5120, "shared keys make the projections smaller"
    for model in MODELS:
        for with_mlp in (False, True):
            flops = costs.layer_flops(model, int(costs.crossover(model, with_mlp=with_mlp)))
            rest = flops["projections"] + with_mlp * flops["mlp"]
            assert flops["pairs"] == pytest.approx(rest, rel=1e-3)


# ---- Parameters and memory ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "published"),
    [(GPT2, 124_439_808), (LLAMA2, 6_738_415_616), (LLAMA3, 8_030_261_248),
     (GEMMA, 786_825_216 + 7_751_248_896)],
    ids=lambda value: getattr(value, "name", None),
)  # fmt: skip
def test_parameters_are_those_of_the_published_weights(model, published):
    assert sum(costs.parameters(model).values()) == published
    assert costs.parameters(GEMMA)["embeddings"] == 786_825_216


def test_caches_have_the_sizes_of_their_papers_and_of_the_course_s_own():
    assert costs.cache_bytes(LLAMA3, 1) == 128 * 1024
    assert costs.cache_bytes(LLAMA2, 1) == 512 * 1024
    assert costs.cache_bytes(LLAMA2, 0) == 0
    cache = KVCache(3, LLAMA3.num_kv_heads, 100, LLAMA3.head_dim, dtype=torch.float32)
    size = cache.keys.nbytes + cache.values.nbytes
    assert LLAMA3.layers * size == costs.cache_bytes(LLAMA3, 100, batch=3, number_bytes=4)
    for tokens, of_cache in ((5000, 4096), (50, 50)):
        assert costs.cache_bytes(LLAMA3, tokens, window=4096) == costs.cache_bytes(LLAMA3, of_cache)


def test_maps_hold_a_number_for_each_pair_and_head():
    _, weights = scaled_dot_product_attention(*(torch.zeros(2, 12, 40, 64) for _ in "qkv"))
    assert costs.map_bytes(GPT2, 40, batch=2, number_bytes=4) == weights.nbytes


# ---- Intensity and roofline -----------------------------------------------------------------


def intensity(model, part, batch=1):
    """FLOPs for each byte of a decoding step with 4,096 keys."""
    part = costs.step(model, 1, 4096, batch)[part]
    return part["flops"] / part["bytes"]


def test_a_batch_shares_the_matrices_and_queries_share_keys_but_each_text_has_its_cache():
    assert [round(product.intensity(2), 2) for product in costs.pairs(LLAMA2, 1, 4096)] == [
        0.99
    ] * 2
    for batch in (1, 8, 256):
        assert round(intensity(LLAMA2, "attention", batch), 2) == 0.99
    assert intensity(LLAMA2, "matrices") == pytest.approx(1, rel=1e-3)
    assert intensity(LLAMA2, "matrices", 64) == pytest.approx(64, rel=0.05)
    assert intensity(LLAMA3, "attention") == pytest.approx(4, rel=0.05)


def test_a_step_moves_every_parameter_of_a_product_and_the_cache_once():
    step, counts = costs.step(LLAMA3, 1, 4096), costs.parameters(LLAMA3)
    used = 2 * (counts["attention"] + counts["mlp"] + counts["embeddings"] / 2)
    assert step["matrices"]["bytes"] == pytest.approx(used, rel=1e-3)
    # The rest are queries and maps.
    assert step["attention"]["bytes"] == pytest.approx(costs.cache_bytes(LLAMA3, 4096), rel=0.05)


def test_the_ridge_is_where_arithmetic_takes_as_long_as_memory():
    for machine in MACHINES:
        moved = 1e9
        work, seconds = machine.ridge * moved, moved / machine.bandwidth
        for times, longer in ((1, 1), (2, 2), (0.5, 1)):
            least = costs.least_seconds(machine, times * work, moved)
            assert least == pytest.approx(longer * seconds)
    assert [round(machine.ridge) for machine in MACHINES] == [153, 295, 164]


def test_every_preset_has_a_source():
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "references.bib").read_text("utf-8"), re.MULTILINE)
    assert {preset.source for preset in [*MODELS, *MACHINES]} <= set(known)
