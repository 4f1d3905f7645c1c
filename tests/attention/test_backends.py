"""Which kernel runs, what a chosen backend says, and the backends of a GPU."""

import pytest
import torch
from torch.nn.attention import sdpa_kernel

from attention import (
    BACKENDS,
    FLASH_IMPLS,
    BackendError,
    fused_attention,
    scaled_dot_product_attention,
    usable_backends,
)

from .inputs import TOLERANCE, qkv


def kernels(call):
    """The names of the attention kernels that ran."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        call()
    return {event.key for event in seen.key_averages() if "scaled_dot_product" in event.key}


KERNELS = {  # a part of the name of each backend's operator; the CPU's flash is _flash_..._for_cpu
    "flash": "_flash_attention",
    "efficient": "_efficient_attention",
    "cudnn": "_cudnn_attention",
    "math": "_attention_math",
}


def kernel_of(call):
    """Which backend ran: its operator's name says it."""
    ran = [name for name, part in KERNELS.items() if any(part in key for key in kernels(call))]
    assert len(ran) == 1, f"ran: {ran}"
    return ran[0]


def must_run(backend, dtype, head_dim, lengths):
    """What PyTorch promises of every GPU since Ampere; if it doesn't run, the fault is ours."""
    half = dtype in (torch.float16, torch.bfloat16)
    square = lengths[0] == lengths[1]  # otherwise a causal mask is a tensor, which flash hasn't
    return backend == "math" or (half and head_dim == 64 and square and backend == "flash")


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
    with pytest.raises(ValueError, match=f"{', '.join(BACKENDS)}, got 'fast'"):
        fused_attention(q, k, v, backend="fast")


def test_flash_attention_3_is_refused_where_it_is_not_known():
    if "FA3" in BACKENDS:
        pytest.skip("this PyTorch has it")
    with pytest.raises(ValueError, match="got 'FA3': newer versions of PyTorch have it"):
        fused_attention(*qkv(), backend="FA3")


@pytest.mark.skipif("FA3" not in FLASH_IMPLS, reason="needs a newer PyTorch")
def test_flash_attention_3_needs_flash_s_place(monkeypatch):
    q, k, v = qkv()
    monkeypatch.setitem(BACKENDS, "FA3", BACKENDS["flash"])  # as PyTorch for CUDA has it
    with pytest.raises(BackendError, match=r"activate_flash_attention_impl\('FA3'\) puts it there"):
        fused_attention(q, k, v, backend="FA3")
    assert "puts it there" in usable_backends(q, k, v)["FA3"]
    monkeypatch.setattr(torch.nn.attention, "current_flash_attention_impl", lambda: "FA3")
    assert kernel_of(lambda: fused_attention(q, k, v, backend="FA3")) == "flash"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("impl", ["FA3", "FA4"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_newer_flash_attention_on_a_gpu(impl, is_causal):
    if impl not in BACKENDS:
        pytest.skip(f"this PyTorch doesn't have {impl}")
    try:
        torch.nn.attention.activate_flash_attention_impl(impl)
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"{impl} isn't installed: {error}")
    try:
        leaves = qkv(
            query_len=257, head_dim=64, dtype=torch.bfloat16, device="cuda", requires_grad=True
        )
        got = fused_attention(*leaves, is_causal=is_causal, backend=impl)
        wide = [t.detach().double().requires_grad_() for t in leaves]
        want, _ = scaled_dot_product_attention(*wide, is_causal=is_causal)
        torch.testing.assert_close(got.double(), want, rtol=2e-2, atol=2e-2)
        up = torch.randn_like(got)
        grads = torch.autograd.grad(got, leaves, up)
        for g, w in zip(grads, torch.autograd.grad(want, wide, up.double()), strict=True):
            torch.testing.assert_close(g.double(), w, rtol=0.2, atol=0.2)
    finally:
        torch.nn.attention.restore_flash_attention_impl()


def test_usable_backends_on_a_cpu():
    q, k, v = qkv()
    usable = usable_backends(q, k, v)
    assert list(usable)[:4] == ["flash", "efficient", "cudnn", "math"]
    assert {*usable} == {*BACKENDS}
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
        assert not must_run(backend, dtype, head_dim, lengths), why
        pytest.skip(why)
    ran = kernel_of(lambda: fused_attention(q, k, v, is_causal=is_causal, backend=backend))
    assert ran == ("flash" if backend in FLASH_IMPLS else backend)
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


ON_GPU = {
    "flash": [
        ("plain", lambda q, k, v: fused_attention(q, k, v)),
        ("causal", lambda q, k, v: fused_attention(q, k, v, is_causal=True)),
        ("shared heads", lambda q, k, v: fused_attention(q, k[:, :2], v[:, :2], is_causal=True)),
        (
            "layout of a layer",
            lambda q, k, v: fused_attention(*map(as_a_layer_lays_out, (q, k, v))),
        ),
    ],
    "efficient": [
        ("bias", lambda q, k, v: fused_attention(q, k, v, bias=torch.randn_like(q @ k.mT))),
        ("mask", lambda q, k, v: fused_attention(q, k, v, torch.rand(64, device=q.device) > 0.3)),
        ("window", lambda q, k, v: fused_attention(q, k, v, is_causal=True, window=9)),
        ("ends", lambda q, k, v: fused_attention(q[..., :9, :], k, v, is_causal=True)),
    ],
}
CASES = [pytest.param(b, c, id=f"{b}, {n}") for b, cases in ON_GPU.items() for n, c in cases]


def as_a_layer_lays_out(t):
    return t.transpose(1, 2).contiguous().transpose(1, 2)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("backend", "call"), CASES)
def test_a_gpu_s_fast_kernel_can_be_asked_for_and_runs(backend, call, dtype):
    """Nothing is skipped here. Without asking, PyTorch may choose another fast one, not math."""
    q, k, v = qkv(query_len=64, head_dim=64, dtype=dtype, device="cuda")
    assert kernel_of(lambda: call(q, k, v)) != "math"
    with sdpa_kernel(BACKENDS[backend]):
        assert kernel_of(lambda: call(q, k, v)) == backend


def test_which_kernel_ran_is_told_on_a_cpu_too():
    q, k, v = qkv(query_len=9)
    assert kernel_of(lambda: fused_attention(q, k, v)) == "flash"
    assert kernel_of(lambda: fused_attention(q, k, v, backend="math")) == "math"


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", [None, torch.rand(9, 9) > 0.5])
def test_shared_heads_are_not_copied(is_causal, mask):
    q, k, v = qkv(query_len=9, kv_heads=2)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        fused_attention(q, k, v, mask, is_causal=is_causal)
    ran = {event.key for event in seen.key_averages()}
    assert "aten::repeat_interleave" not in ran
    assert any("flash" in name for name in ran)
