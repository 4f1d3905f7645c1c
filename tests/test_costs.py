"""course.page.costs: against counts by hand, PyTorch's FLOP counter, and published sizes."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attention import MultiHeadAttention, scaled_dot_product_attention
from course import costs
from course.page.costs import MACHINES, MODELS, Product

ROOT = Path(__file__).parents[1]
GPT2, LLAMA2, LLAMA3, GEMMA = MODELS


def counted(call):
    """The FLOPs that PyTorch counts while ``call`` runs, on tensors without numbers."""
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def empty(*shape):
    return torch.empty(shape, device="meta")


class Attention(nn.Module):
    """An attention layer with nothing but the sizes of ``model``."""

    def __init__(self, model):
        super().__init__()
        E, D, bias = model.embed_dim, model.head_dim, model.biases
        self.heads, self.kv_heads, self.head_dim = model.num_heads, model.num_kv_heads, D
        self.q = nn.Linear(E, model.num_heads * D, bias)
        self.k = nn.Linear(E, model.num_kv_heads * D, bias)
        self.v = nn.Linear(E, model.num_kv_heads * D, bias)
        self.o = nn.Linear(model.num_heads * D, E, bias)

    def forward(self, x, past=0):
        q, k, v = (
            part(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        B = len(x)
        cached = empty(B, self.kv_heads, past, self.head_dim)
        k, v = torch.cat([cached, k], dim=2), torch.cat([cached, v], dim=2)
        mixed, _ = scaled_dot_product_attention(q, k, v)
        return self.o(mixed.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, model):
        super().__init__()
        E, M = model.embed_dim, model.mlp_dim
        self.up = nn.ModuleList(
            nn.Linear(E, M, model.biases) for _ in range(model.mlp_matrices - 1)
        )
        self.down = nn.Linear(M, E, model.biases)

    def forward(self, x):
        wide = self.up[0](x)
        for other in self.up[1:]:
            wide = wide * other(x)
        return self.down(wide)


class Decoder(nn.Module):
    """A model of the published sizes, made of PyTorch's parts."""

    def __init__(self, model):
        super().__init__()
        E, V = model.embed_dim, model.vocab_size
        norm = nn.LayerNorm if model.biases else nn.RMSNorm
        self.embed = nn.Embedding(V, E)
        self.positions = nn.Embedding(model.positions, E) if model.positions else None
        self.layers = nn.ModuleList(
            nn.ModuleList([norm(E), Attention(model), norm(E), MLP(model)])
            for _ in range(model.layers)
        )
        self.norm = norm(E)
        self.guess = nn.Linear(E, V, bias=False)
        if model.tied:
            self.guess.weight = self.embed.weight

    def forward(self, tokens, past=0):
        x = self.embed(tokens)
        for before, attention, between, mlp in self.layers:
            x = x + attention(before(x), past)
            x = x + mlp(between(x))
        return self.guess(self.norm(x[:, -1]))


@pytest.fixture(scope="module")
def decoders():
    with torch.device("meta"):
        return {model.name: Decoder(model) for model in MODELS}


# ---- FLOPs --------------------------------------------------------------------------------


def test_a_product_takes_two_flops_for_each_multiplication_and_moves_three_matrices():
    product = Product(2, 3, 5)
    assert product.flops == 2 * 30 == counted(lambda: empty(2, 3) @ empty(3, 5))
    assert product.bytes(2) == 2 * (6 + 15 + 10)
    assert product.intensity(2) == 60 / 62
    several = Product(2, 3, 5, count=7)
    assert several.flops == counted(lambda: empty(7, 2, 3) @ empty(7, 3, 5))
    assert several.intensity() == product.intensity()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize(("query_len", "past", "batch"), [(512, 0, 1), (1, 511, 1), (1, 99, 3)])
def test_a_whole_model_takes_the_flops_that_pytorch_counts(decoders, model, query_len, past, batch):
    tokens = torch.empty(batch, query_len, dtype=torch.long, device="meta")
    want = counted(lambda: decoders[model.name](tokens, past))
    parts = costs.model_flops(model, query_len, query_len + past, batch)
    assert sum(parts.values()) == want
    both = costs.step(model, query_len, query_len + past, batch)
    assert both["matrices"]["flops"] + both["attention"]["flops"] == want
    assert both["attention"]["flops"] == parts["pairs"]


def test_the_course_s_layer_takes_what_a_layer_as_wide_as_its_heads_does():
    with torch.device("meta"):
        layer = MultiHeadAttention(512, 8)
    x = empty(2, 300, 512)
    want = 2 * (8 * 300 * 512**2 + 4 * 300**2 * 512)
    assert counted(lambda: layer(x, return_attention=True)) == want
    assert counted(lambda: layer(x)) == want  # fused: the same products
    assert costs.attention_costs(300, 512, 8, batch=2)["all FLOPs"] == want


@pytest.mark.parametrize(
    ("seq_len", "gflop", "cache_mb", "map_mb"),
    [(256, 35.4, 4.2, 4.2), (2048, 343.6, 33.6, 268.4), (8192, 2199.0, 134.2, 4295.0),
     (32768, 21990.2, 536.9, 68719.5)],
)  # fmt: skip
def test_the_seven_costs_of_a_layer_of_width_4096(seq_len, gflop, cache_mb, map_mb):
    bill = costs.attention_costs(seq_len, 4096, 32)
    S, E = seq_len, 4096
    assert [bill[name] for name in ("queries, keys, values", "scores", "mix", "output")] == [
        6 * S * E * E, 2 * S * S * E, 2 * S * S * E, 2 * S * E * E,
    ]  # fmt: skip
    assert bill["all FLOPs"] == 8 * S * E**2 + 4 * S**2 * E
    assert round(bill["all FLOPs"] / 1e9, 1) == gflop
    assert round(bill["cache bytes"] / 1e6, 1) == cache_mb
    assert round(bill["map bytes"] / 1e6, 1) == map_mb


def test_of_the_fused_call_on_a_cpu_pytorch_counts_nothing():
    """pytorch/pytorch#195460; on the meta device the same call is counted."""
    layer, x = MultiHeadAttention(512, 8), torch.randn(1, 300, 512)
    for kwargs, want in (({"return_attention": True}, 813_465_600), ({}, 8 * 300 * 512**2)):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            layer(x, **kwargs)
        assert counter.get_total_flops() == want


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: costs.layer_flops(LLAMA2, 0), "query_len", 0),
        (lambda: costs.layer_flops(LLAMA2, 1, key_len=0), "key_len", 0),
        (lambda: costs.layer_flops(LLAMA2, 1, batch=0), "batch", 0),
        (lambda: costs.model_flops(LLAMA2, 1, key_len=0), "key_len", 0),
        (lambda: costs.step(LLAMA2, 1, 0), "key_len", 0),
        (lambda: costs.map_bytes(LLAMA2, 4, 0), "key_len", 0),
        (lambda: costs.map_bytes(LLAMA2, -4), "query_len", -4),
        (lambda: costs.cache_bytes(LLAMA2, -1), "tokens", -1),
        (lambda: costs.cache_bytes(LLAMA2, 9, window=0), "window", 0),
        (lambda: costs.attention_costs(10, 100, 3), "num_heads", 3),
        (lambda: costs.attention_costs(0, 100, 4), "query_len", 0),
        (lambda: replace(LLAMA3, num_kv_heads=5), "num_kv_heads", 5),
        (lambda: replace(LLAMA3, num_kv_heads=0), "num_kv_heads", 0),
    ],
    ids=range(13),
)
def test_what_can_t_be_counted_is_refused_with_its_value(call, name, value):
    with pytest.raises(ValueError, match=rf"^{name} must .*got {value}\b"):
        call()


def test_pairs_overtake_the_projections_at_twice_the_width():
    assert costs.crossover(LLAMA2) == 2 * 4096 == 8192
    assert costs.crossover(GPT2) == 2 * 768
    assert costs.crossover(GEMMA) == 2 * 3072, "heads wider than the model change both sides alike"
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
def test_parameters_are_those_of_the_published_weights(decoders, model, published):
    assert sum(costs.parameters(model).values()) == published
    assert sum(p.numel() for p in decoders[model.name].parameters()) == published


def test_tables_and_caches_have_the_sizes_of_their_papers():
    assert costs.parameters(GEMMA)["embeddings"] == 786_825_216
    assert costs.cache_bytes(LLAMA3, 1) == 128 * 1024
    assert costs.cache_bytes(LLAMA2, 1) == 512 * 1024
    assert costs.cache_bytes(LLAMA2, 0) == 0
    assert costs.cache_bytes(LLAMA3, 1000, batch=4, number_bytes=1) == 4 * 1000 * 64 * 1024
    for tokens, of_cache in ((5000, 4096), (50, 50)):
        assert costs.cache_bytes(LLAMA3, tokens, window=4096) == costs.cache_bytes(LLAMA3, of_cache)


def test_the_cache_holds_what_the_course_s_own_cache_allocates():
    from attention import KVCache

    cache = KVCache(3, LLAMA3.num_kv_heads, 100, LLAMA3.head_dim, dtype=torch.bfloat16)
    size = sum(t.nbytes for t in vars(cache).values() if isinstance(t, torch.Tensor))
    assert LLAMA3.layers * size == costs.cache_bytes(LLAMA3, 100, batch=3)


def test_maps_hold_a_number_for_each_pair_and_head():
    _, weights = scaled_dot_product_attention(*(torch.zeros(2, 12, 40, 64) for _ in "qkv"))
    assert costs.map_bytes(GPT2, 40, batch=2, number_bytes=4) == weights.nbytes


# ---- Intensity and roofline -----------------------------------------------------------------


def test_a_decoding_step_has_an_intensity_of_99_hundredths_at_4096_keys_in_any_batch():
    for product in costs.pairs(LLAMA2, 1, 4096):
        assert round(product.intensity(2), 2) == 0.99
    for batch in (1, 8, 256):
        part = costs.step(LLAMA2, 1, 4096, batch)["attention"]
        assert round(part["flops"] / part["bytes"], 2) == 0.99, "each text has a cache of its own"
    one_key = Product(1, 128, 1)
    assert round(one_key.intensity(2), 2) == 0.50


def test_texts_share_the_matrices_so_their_intensity_grows_with_the_batch():
    def intensity(batch):
        part = costs.step(LLAMA2, 1, 4096, batch)["matrices"]
        return part["flops"] / part["bytes"]

    assert intensity(1) == pytest.approx(1, rel=1e-3)
    assert intensity(64) == pytest.approx(64, rel=0.05)


def test_shared_keys_multiply_the_intensity_by_the_queries_that_share_them():
    part = costs.step(LLAMA3, 1, 4096)["attention"]
    assert part["flops"] / part["bytes"] == pytest.approx(4, rel=0.05)


def test_a_step_moves_every_parameter_of_a_product_and_the_cache_once():
    step = costs.step(LLAMA3, 1, 4096)
    counts = costs.parameters(LLAMA3)
    used = 2 * (counts["attention"] + counts["mlp"] + counts["embeddings"] / 2)
    assert step["matrices"]["bytes"] == pytest.approx(used, rel=1e-3)
    # The rest are queries and maps.
    assert step["attention"]["bytes"] == pytest.approx(costs.cache_bytes(LLAMA3, 4096), rel=0.05)


def test_the_ridge_is_where_arithmetic_takes_as_long_as_memory():
    for machine in MACHINES:
        moved = 1e9
        work = machine.ridge * moved
        seconds = moved / machine.bandwidth
        assert costs.least_seconds(machine, work, moved) == pytest.approx(seconds)
        assert costs.least_seconds(machine, 2 * work, moved) == pytest.approx(2 * seconds)
        assert costs.least_seconds(machine, work / 2, moved) == pytest.approx(seconds)
    assert [round(machine.ridge) for machine in MACHINES] == [153, 295, 164]


def test_every_preset_has_a_source():
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "references.bib").read_text("utf-8"), re.MULTILINE)
    assert {preset.source for preset in [*MODELS, *MACHINES]} <= set(known)
