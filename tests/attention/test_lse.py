"""What no kernel has: soft cap, sinks and log-sum-exp, in functions, layers and a ring."""

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import attention
from attention import (
    CausalMultiHeadAttention,
    KVCache,
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)
from flex import flex_attention
from variants import merge_attention

from .inputs import DEVICES, TOLERANCE, qkv, visible
from .processes import context

HIDDEN = torch.ones(2, 1, 5, 7, dtype=torch.bool)
HIDDEN[0, :, 2] = False
HIDDEN[1, :, :, 3:] = False

CASES = {
    "softcap": lambda: {"softcap": 1.5},
    "sinks": lambda: {"sinks": torch.randn(4, dtype=torch.float64)},
    "one sink, scale": lambda: {"sinks": torch.tensor(0.3, dtype=torch.float64), "scale": -0.3},
    "all": lambda: {"softcap": 2.0, "sinks": torch.randn(4, dtype=torch.float64), "scale": 0.7},
}
WHO = {
    "all": {},
    "causal": {"is_causal": True},
    "window": {"is_causal": True, "window": 2},
    "mask": {"mask": HIDDEN},
    "bias": {"bias": torch.randn(4, 5, 7, dtype=torch.float64).masked_fill(HIDDEN[1], -torch.inf)},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("case", CASES)
def test_fused_matches_explicit_attention(monkeypatch, device, chunked, who, case):
    if chunked:
        monkeypatch.setattr(attention, "ONE_CALL", 4)
        monkeypatch.setattr(attention, "QUERY_CHUNK", 2)
    options = CASES[case]() | WHO[who]
    options = {n: t.to(device) if torch.is_tensor(t) else t for n, t in options.items()}
    inputs = qkv(
        query_len=5, key_len=7, kv_heads=2, value_dim=6, dtype=torch.float64, device=device,
        requires_grad=True,
    )  # fmt: skip
    learned = [*inputs, *(options[n].requires_grad_() for n in ("sinks",) if n in options)]
    got, want = (
        fused_attention(*inputs, **options),
        scaled_dot_product_attention(*inputs, **options),
    )
    torch.testing.assert_close(got, want[0])
    up = torch.randn_like(got)
    pairs = zip(*(torch.autograd.grad(o, learned, up) for o in (got, want[0])), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("with_sink", [False, True])
def test_log_sum_exp_by_its_definition(dtype, with_sink):
    q, k, v = qkv(query_len=5, key_len=7, dtype=dtype)
    sinks = torch.randn(4).to(dtype) if with_sink else None
    output, lse = fused_attention(q, k, v, HIDDEN, sinks=sinks, is_causal=True, return_lse=True)
    seen = HIDDEN & visible(5, 7, is_causal=True)
    scores = (q.double() @ k.double().mT / 8**0.5).masked_fill(~seen, -torch.inf)
    if with_sink:
        scores = torch.cat([scores, sinks.double()[:, None, None].expand(2, 4, 5, 1)], -1)
    torch.testing.assert_close(lse.double(), scores.logsumexp(-1), rtol=1e-5, atol=1e-5)
    assert output.dtype == dtype
    assert lse.dtype == torch.promote_types(dtype, torch.float32)
    assert with_sink or (lse[0, :, 2] == -torch.inf).all()


def test_inputs_without_keys_or_of_other_dimensions():
    q, k, v = qkv(query_len=3, key_len=4)
    output, lse = fused_attention(q, k[..., :0, :], v[..., :0, :], return_lse=True)
    assert not output.any()
    assert (lse == -torch.inf).all()
    want, sums = fused_attention(q, k, v, return_lse=True)
    for shape in (lambda t: t[None], lambda t: t[0], lambda t: t[0, 0]):
        got = fused_attention(*map(shape, (q, k, v)), return_lse=True)
        torch.testing.assert_close(got, (shape(want), shape(sums)))
    with pytest.raises(ValueError, match=r"backend='flash' has no softcap"):
        fused_attention(q, k, v, softcap=2.0, backend="flash")


@pytest.mark.parametrize("parts", [[7], [3, 4], [1, 5, 1]])
def test_parts_of_the_keys_merge_into_the_whole(parts):
    inputs = qkv(query_len=5, key_len=7, dtype=torch.float64, requires_grad=True)
    whole = fused_attention(*inputs, HIDDEN, return_lse=True)
    pieces = [
        fused_attention(inputs[0], k, v, mask, return_lse=True)
        for k, v, mask in zip(
            *(t.split(parts, -2) for t in inputs[1:]), HIDDEN.split(parts, -1), strict=True
        )
    ]
    merged = merge_attention(*zip(*pieces, strict=True))
    torch.testing.assert_close(merged, whole)
    up = torch.randn_like(whole[0])
    for a, b in zip(
        *(torch.autograd.grad(o, inputs, up) for o in (merged[0], whole[0])), strict=True
    ):
        torch.testing.assert_close(a, b)


def ring(query, key, value):
    """Causal attention of a sequence whose parts lie on the devices of a ring.

    Each hands its keys and values to the next, and adds what its queries find in those that come.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for step in range(size):
        owner = (rank - step) % size
        if owner <= rank:  # later parts are hidden
            found.append(
                fused_attention(query, key, value, is_causal=owner == rank, return_lse=True)
            )
        received = [torch.empty_like(key), torch.empty_like(value)]
        waiting = [
            work
            for sent, got in zip((key, value), received, strict=True)
            for work in (dist.isend(sent, (rank + 1) % size), dist.irecv(got, (rank - 1) % size))
        ]
        for work in waiting:
            work.wait()
        key, value = received
    return merge_attention(*zip(*found, strict=True))[0]


def run_on_a_ring(rank, size, address):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=size)
    inputs = qkv(query_len=12, dtype=torch.float64)
    mine = [t.chunk(size, -2)[rank].contiguous() for t in inputs]
    want = scaled_dot_product_attention(*inputs, is_causal=True)[0]
    torch.testing.assert_close(ring(*mine), want.chunk(size, -2)[rank])
    dist.destroy_process_group()


@pytest.mark.slow
@pytest.mark.skipif(not dist.is_gloo_available(), reason="this PyTorch has no Gloo")
def test_a_ring_of_two_processes_finds_what_one_does(tmp_path):
    given, method = (2, (tmp_path / "meet").as_uri()), context().get_start_method()
    mp.start_processes(run_on_a_ring, given, nprocs=2, start_method=method)


@pytest.mark.parametrize("kind", [MultiHeadAttention, CausalMultiHeadAttention])
def test_a_layer_has_scale_softcap_and_sinks(kind):
    most = {"max_seq_len": 6} if kind is CausalMultiHeadAttention else {}
    options = {"scale": 0.6, "softcap": 1.2, "sinks": True, "qk_norm": True, "norm_eps": 0.1}
    layer = kind(16, 4, num_kv_heads=2, **most, **options)
    torch.nn.init.normal_(layer.sinks)
    x = torch.randn(2, 6, 16)
    query, key, value = layer._project(x)
    plain = layer.qkv_proj(x)[..., :16].unflatten(-1, (4, 4)).transpose(1, 2)
    normed = plain / (plain.square().mean(-1, keepdim=True) + 0.1).sqrt()
    torch.testing.assert_close(query, normed)
    by_hand = {"scale": 0.6, "softcap": 1.2, "sinks": layer.sinks, "is_causal": bool(most)}
    want = scaled_dot_product_attention(query, key, value, **by_hand)[0]
    want = layer.out_proj(want.transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x), want)
    torch.testing.assert_close(layer(x, return_attention=True)[0], want)
    layer(x).sum().backward()
    assert layer.sinks.grad.abs().min() > 0
    if most:
        cache = KVCache(2, 2, 6, 4)
        with torch.no_grad():
            steps = [layer(one, cache=cache) for one in x.split([3, 1, 2], 1)]
        torch.testing.assert_close(torch.cat(steps, 1), want)


@pytest.mark.parametrize("options", [{"window": 3}, {"softcap": 2.0}, {"return_lse": True}])
def test_func_grad_over_chunked_calls(monkeypatch, options):
    inputs = qkv(query_len=8, dtype=torch.float64)

    def total(*inputs):
        output = fused_attention(*inputs, is_causal=True, **options)
        return sum(t.sum() for t in output) if options.get("return_lse") else output.sum()

    want = torch.func.grad(total, (0, 1, 2))(*inputs)
    monkeypatch.setattr(attention, "ONE_CALL", 4)
    monkeypatch.setattr(attention, "QUERY_CHUNK", 3)
    got = torch.func.grad(total, (0, 1, 2))(*inputs)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("attend", [fused_attention, flex_attention])
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@torch.no_grad()
def test_a_sink_of_minus_infinity_is_none_where_nothing_is_seen_too(attend):
    q, k, v = qkv(batch=(1,), heads=2, query_len=3)
    seen = torch.tensor([True, False, True])
    hidden = {"mask": seen[:, None]}
    if attend is flex_attention:
        hidden = {"mask_mod": lambda b, h, i, j: seen[i]}
    sinks = torch.tensor([-torch.inf, 0.3])
    got, lse = attend(q, k, v, **hidden, sinks=sinks, return_lse=True)
    want, _ = scaled_dot_product_attention(q, k, v, seen[:, None], sinks=sinks)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(lse[0, :, 1], sinks)
