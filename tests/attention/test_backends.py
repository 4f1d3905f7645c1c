"""Which kernel runs, what a chosen backend says, and the backends of a GPU."""

import pytest
import torch

from attention import BACKENDS, fused_attention, scaled_dot_product_attention, usable_backends

from .inputs import TOLERANCE, qkv


def kernels(call):
    """The names of the attention kernels that ran."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        call()
    return {event.key for event in seen.key_averages() if "scaled_dot_product" in event.key}


def noncontiguous(t):
    return t.mT.contiguous().mT


CALLS = {
    "three dimensions": lambda q, k, v: fused_attention(q[:, 0], k[:, 0], v[:, 0]),
    "two dimensions": lambda q, k, v: fused_attention(q[0, 0], k[0, 0], v[0, 0], is_causal=True),
    "five dimensions": lambda q, k, v: fused_attention(q[None], k[None], v[None]),
    "transposed": lambda q, k, v: fused_attention(*map(noncontiguous, (q, k, v))),
    "shared heads": lambda q, k, v: fused_attention(q, k[:, :2], v[:, :2], is_causal=True),
    "value size": lambda q, k, v: fused_attention(q, k, v[..., :4]),
    "ends": lambda q, k, v: fused_attention(q[..., :3, :], k, v, is_causal=True),
    "padding": lambda q, k, v: fused_attention(q, k, v, torch.ones(9, dtype=torch.bool)),
    "float16": lambda q, k, v: fused_attention(q.half(), k.half(), v.half()),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_fast_kernel_runs(call):
    q, k, v = qkv(query_len=9)
    assert any("flash" in name for name in kernels(lambda: CALLS[call](q, k, v)))
    assert not any("math" in name for name in kernels(lambda: CALLS[call](q, k, v)))


def test_a_backend_can_be_chosen():
    q, k, v = qkv(query_len=9)
    assert any("flash" in n for n in kernels(lambda: fused_attention(q, k, v, backend="flash")))
    assert any("math" in n for n in kernels(lambda: fused_attention(q, k, v, backend="math")))


def test_a_backend_that_cannot_run_raises_with_pytorchs_reason():
    q, k, v = qkv()
    with pytest.raises(ValueError, match=r"backend='flash' can't run on cpu.*dropout"):
        fused_attention(q, k, v, dropout_p=0.1, backend="flash")
    with pytest.raises(ValueError, match=r"backend='cudnn' can't run on cpu, query \(2, 4, 5, 8\)"):
        fused_attention(q, k, v, backend="cudnn")


def test_an_unknown_backend_is_named_with_the_known_ones():
    q, k, v = qkv()
    with pytest.raises(ValueError, match="flash, efficient, cudnn, math, got 'fast'"):
        fused_attention(q, k, v, backend="fast")


def test_usable_backends_on_a_cpu():
    q, k, v = qkv()
    usable = usable_backends(q, k, v)
    assert list(usable) == ["flash", "efficient", "cudnn", "math"]
    assert usable["flash"] is None
    assert usable["math"] is None
    assert "can't run on cpu" in usable["cudnn"]
    dropping = usable_backends(q, k, v, dropout_p=0.5)
    assert "dropout" in dropping["flash"]
    assert dropping["math"] is None


def test_a_wrong_input_is_not_a_backends_fault():
    q, k, v = qkv()
    with pytest.raises(TypeError):
        usable_backends(q, k, v.half())
    with pytest.raises(ValueError, match="head_dim differs"):
        usable_backends(q, k[..., :4], v)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("case", ["causal", "window", "padded", "ends"])
def test_memory_on_a_gpu_is_linear_for_fused_and_quadratic_for_explicit(case):
    def peak(call, length):
        q, k, v = qkv(
            batch=(1,), query_len=length, head_dim=64, dtype=torch.bfloat16, device="cuda"
        )
        options = {
            "causal": {"is_causal": True},
            "window": {"is_causal": True, "window": 256},
            "padded": {"mask": torch.arange(length, device="cuda") < length - 100},
            "ends": {"is_causal": True},
        }[case]
        q = q[..., : length // 2, :] if case == "ends" else q
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        out = call(q, k, v, **options)
        torch.cuda.synchronize()
        del out
        return torch.cuda.max_memory_allocated() - before

    assert peak(fused_attention, 8192) < 2.5 * peak(fused_attention, 4096)
    assert peak(scaled_dot_product_attention, 4096) > 3 * peak(scaled_dot_product_attention, 2048)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("head_dim", [32, 64, 128, 256])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", [(64, 64), (257, 257), (100, 300)], ids=str)
def test_each_backend_on_a_gpu(backend, dtype, head_dim, is_causal, lengths):
    L, S = lengths
    q, k, v = qkv(
        query_len=L, key_len=S, head_dim=head_dim, dtype=dtype, device="cuda", requires_grad=True
    )
    why = usable_backends(q, k, v, is_causal=is_causal)[backend]
    if why is not None:
        pytest.skip(why)
    got = fused_attention(q, k, v, is_causal=is_causal, backend=backend)
    wide = [t.detach().double().requires_grad_() for t in (q, k, v)]
    want, _ = scaled_dot_product_attention(*wide, is_causal=is_causal)
    rtol, atol = TOLERANCE[dtype]
    torch.testing.assert_close(got.double(), want, rtol=rtol, atol=atol)
    up = torch.randn_like(got)
    got_grads = torch.autograd.grad(got, (q, k, v), up)
    want_grads = torch.autograd.grad(want, wide, up.double())
    for g, w in zip(got_grads, want_grads, strict=True):
        torch.testing.assert_close(g.double(), w, rtol=10 * rtol, atol=10 * atol)
