"""torch.compile(fullgraph=True): one graph, the same numbers, on every path."""

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import attention
from attention import (
    CausalMultiHeadAttention,
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)
from positions import Rotary
from variants import CrossAttention, LatentAttention, LinearAttention

from .inputs import assert_same_gradients, on_devices, qkv

pytestmark = pytest.mark.slow
MASK = torch.tensor([[True] * 12, [False] * 12]).reshape(2, 1, 1, 12)
CALLS = {
    "fused": lambda q, k, v: fused_attention(q, k, v),
    "causal": lambda q, k, v: fused_attention(q, k, v, is_causal=True),
    "ends": lambda q, k, v: fused_attention(q[..., :5, :], k, v, is_causal=True),
    "padded": lambda q, k, v: fused_attention(q, k, v, MASK.to(q.device)),
    "window": lambda q, k, v: fused_attention(q, k, v, is_causal=True, window=3),
    "bias": lambda q, k, v: fused_attention(q, k, v, bias=q[..., :1] * k[..., 0].unsqueeze(-2)),
    "shared heads": lambda q, k, v: fused_attention(q, k[:, :2], v[:, :2], is_causal=True),
    "backend": lambda q, k, v: fused_attention(q, k, v, is_causal=True, backend="math"),
    "explicit": lambda q, k, v: scaled_dot_product_attention(q, k, v, MASK.to(q.device))[0],
}
CHUNKED = ("ends", "window", "bias")  # the others are one call at every length


@pytest.fixture(autouse=True)
def _nothing_compiled():
    torch.compiler.reset()


@on_devices
@pytest.mark.parametrize(
    ("call", "chunk"), [*((call, 256) for call in CALLS), *((call, 4) for call in CHUNKED)]
)
def test_functions(monkeypatch, device, call, chunk):
    monkeypatch.setattr(attention, "ONE_CALL", 16 if chunk == 4 else 1024)
    monkeypatch.setattr(attention, "QUERY_CHUNK", chunk)
    inputs = qkv(query_len=12, device=device, requires_grad=True)
    compiled = torch.compile(CALLS[call], fullgraph=True, backend="aot_eager")
    want, got = CALLS[call](*inputs), compiled(*inputs)
    torch.testing.assert_close(got, want)
    assert_same_gradients(got, want, inputs)


class Crossing(CrossAttention):
    """Cross-attention of x to itself, so that it is called as the others are."""

    def forward(self, x, mask=None):
        return super().forward(x, mask, context=x)


LAYERS = {
    "multi-head": lambda: MultiHeadAttention(16, 4),
    "grouped, rotary": lambda: MultiHeadAttention(16, 4, num_kv_heads=2, rotary=Rotary(4)),
    "causal": lambda: CausalMultiHeadAttention(16, 4, max_seq_len=12),
    "linear": lambda: LinearAttention(16, 4),
    "normed, halves": lambda: MultiHeadAttention(
        16, 4, head_dim=6, qk_norm=True, rotary=Rotary(6, interleaved=False)
    ),
    "latent": lambda: LatentAttention(16, 4, 6, rotary=Rotary(4)),
    "cross": lambda: Crossing(16, 4),
}


@on_devices
@pytest.mark.parametrize("kind", LAYERS)
def test_layers(device, kind):
    layer = LAYERS[kind]().to(device)
    x, mask = torch.randn(2, 12, 16, device=device), MASK.to(device)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, mask), layer(x, mask))
    with torch.autocast(device, torch.bfloat16):
        torch.testing.assert_close(compiled(x, mask), layer(x, mask))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("strict", [False, True])
def test_layers_can_be_exported_for_any_batch_and_length(kind, strict):
    layer, lengths = LAYERS[kind]().eval(), {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    if kind == "linear":  # its chunks are counted while exporting
        del lengths[1]
    x, other = torch.randn(2, 12, 16), torch.randn(3, 12 if kind == "linear" else 7, 16)
    exported = torch.export.export(layer, (x,), dynamic_shapes={"x": lengths}, strict=strict)
    torch.testing.assert_close(exported.module()(other), layer(other))


OPTIONS = {  # for each length
    "window": lambda length: {"window": 3},
    "mask": lambda length: {"mask": torch.ones(2, 1, 1, length, dtype=torch.bool)},
    "bias": lambda length: {"bias": torch.randn(4, length, length)},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_one_graph_serves_every_length(options):
    counter = CompileCounterWithBackend("aot_eager")
    layer = CausalMultiHeadAttention(16, 4, 64).eval()
    compiled = torch.compile(layer, dynamic=True, backend=counter)
    for length in range(8, 14):
        given, x = OPTIONS[options](length), torch.randn(2, length, 16)
        torch.testing.assert_close(compiled(x, **given), layer(x, **given))
    assert counter.frame_count == 1
