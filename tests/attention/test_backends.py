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

from .inputs import TOLERANCE, assert_near, assert_same_gradients, half_precision, on_a_gpu, qkv

KERNELS = {  # a part of the name of each backend's operator; the CPU's flash is _flash_..._for_cpu
    "flash": "_flash_attention",
    "efficient": "_efficient_attention",
    "cudnn": "_cudnn_attention",
    "math": "_attention_math",
}
either_way = pytest.mark.parametrize("is_causal", [False, True])


def operators(call):
    """The names of all operators that ran."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        call()
    return {event.key for event in seen.key_averages()}


def kernel_of(call):
    """Which backend ran: its operator's name says it."""
    keys = [key for key in operators(call) if "scaled_dot_product" in key]
    ran = [name for name, part in KERNELS.items() if any(part in key for key in keys)]
    assert len(ran) == 1, f"ran: {ran}"
    return ran[0]


def noncontiguous(t):
    return t.mT.contiguous().mT


def as_a_layer_lays_out(t):
    return t.transpose(1, 2).contiguous().transpose(1, 2)


CALLS = {
    "plain": lambda q, k, v: fused_attention(q, k, v),
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
    assert kernel_of(lambda: CALLS[call](*qkv(query_len=9))) == "flash"


@pytest.mark.parametrize("backend", ["flash", "math"])
def test_a_backend_can_be_chosen(backend):
    q, k, v = qkv(query_len=9)
    assert kernel_of(lambda: fused_attention(q, k, v, backend=backend)) == backend


@either_way
@pytest.mark.parametrize("mask", [None, torch.rand(9, 9) > 0.5])
def test_shared_heads_are_not_copied(is_causal, mask):
    q, k, v = qkv(query_len=9, kv_heads=2)
    ran = operators(lambda: fused_attention(q, k, v, mask, is_causal=is_causal))
    assert "aten::repeat_interleave" not in ran
    assert any("flash" in name for name in ran)


def test_usable_backends_on_a_cpu():
    q, k, v = qkv()
    usable, dropping = usable_backends(q, k, v), usable_backends(q, k, v, dropout_p=0.5)
    assert {*usable} == {*BACKENDS}
    assert usable["flash"] is usable["math"] is dropping["math"] is None
    assert "cpu" in usable["cudnn"]
    assert "dropout" in dropping["flash"]
    with pytest.raises(TypeError):  # a wrong input is no backend's fault
        usable_backends(q, k, v.half())


@pytest.mark.skipif("FA3" not in FLASH_IMPLS, reason="needs a newer PyTorch")
def test_flash_attention_3_needs_flash_s_place(monkeypatch):
    q, k, v = qkv()
    monkeypatch.setitem(BACKENDS, "FA3", BACKENDS["flash"])  # as PyTorch for CUDA has it
    with pytest.raises(BackendError, match=r"activate_flash_attention_impl\('FA3'\)"):
        fused_attention(q, k, v, backend="FA3")
    monkeypatch.setattr(torch.nn.attention, "current_flash_attention_impl", lambda: "FA3")
    assert kernel_of(lambda: fused_attention(q, k, v, backend="FA3")) == "flash"


# ---- On a GPU -----------------------------------------------------------------------------------


@pytest.fixture
def _in_place(backend):
    """Put FlashAttention-3 or 4 in flash's place while a test runs, if it is installed."""
    if backend not in FLASH_IMPLS:
        yield
        return
    try:
        torch.nn.attention.activate_flash_attention_impl(backend)
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"{backend} isn't installed: {error}")
    yield
    torch.nn.attention.restore_flash_attention_impl()


@on_a_gpu
@pytest.mark.parametrize("case", ["causal", "window", "padded", "ends"])
def test_memory_on_a_gpu_is_linear_for_fused_and_quadratic_for_explicit(device, case):
    def peak(call, length):
        q, k, v = qkv(
            batch=(1,), query_len=length, head_dim=64, dtype=torch.bfloat16, device=device
        )
        options = {
            "causal": {"is_causal": True},
            "window": {"is_causal": True, "window": 256},
            "padded": {"mask": torch.arange(length, device=device) < length - 100},
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


def must_run(backend, dtype, head_dim, lengths):
    """What PyTorch promises of every GPU since Ampere; if it doesn't run, the fault is ours."""
    half = dtype in (torch.float16, torch.bfloat16)
    square = lengths[0] == lengths[1]  # otherwise a causal mask is a tensor, which flash hasn't
    flash = ("flash", *FLASH_IMPLS)
    return backend == "math" or (half and head_dim == 64 and square and backend in flash)


@on_a_gpu
@pytest.mark.usefixtures("_in_place")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("head_dim", [32, 64, 128, 256])
@either_way
@pytest.mark.parametrize("lengths", [(64, 64), (257, 257), (100, 300)], ids=str)
def test_each_backend_on_a_gpu(device, backend, dtype, head_dim, is_causal, lengths):
    L, S = lengths
    leaves = qkv(
        query_len=L, key_len=S, head_dim=head_dim, dtype=dtype, device=device, requires_grad=True
    )
    why = usable_backends(*leaves, is_causal=is_causal)[backend]
    if why is not None:
        assert not must_run(backend, dtype, head_dim, lengths), why
        pytest.skip(why)
    ran = kernel_of(lambda: fused_attention(*leaves, is_causal=is_causal, backend=backend))
    assert ran == ("flash" if backend in FLASH_IMPLS else backend)
    got = fused_attention(*leaves, is_causal=is_causal, backend=backend)
    wide = [t.detach().double().requires_grad_() for t in leaves]
    want, _ = scaled_dot_product_attention(*wide, is_causal=is_causal)
    assert_near(got, want.cpu())
    rtol, atol = TOLERANCE[dtype]
    assert_same_gradients(got, want, leaves, wide, rtol=10 * rtol, atol=10 * atol)


CALLS_ON_GPU = CALLS | {
    "causal": lambda q, k, v: fused_attention(q, k, v, is_causal=True),
    "layout of a layer": lambda q, k, v: fused_attention(*map(as_a_layer_lays_out, (q, k, v))),
    "bias": lambda q, k, v: fused_attention(q, k, v, bias=torch.randn_like(q @ k.mT)),
    "mask": lambda q, k, v: fused_attention(q, k, v, torch.rand(64, device=q.device) > 0.3),
    "window": lambda q, k, v: fused_attention(q, k, v, is_causal=True, window=9),
    "ends of 9": lambda q, k, v: fused_attention(q[..., :9, :], k, v, is_causal=True),
}
FAST_ON_GPU = [
    *(("flash", call) for call in ("plain", "causal", "shared heads", "layout of a layer")),
    *(("efficient", call) for call in ("bias", "mask", "window", "ends of 9")),
]


@on_a_gpu
@half_precision
@pytest.mark.parametrize(("backend", "call"), FAST_ON_GPU)
def test_a_gpu_s_fast_kernel_can_be_asked_for_and_runs(device, backend, call, dtype):
    """Nothing is skipped here. Without asking, PyTorch may choose another fast one, not math."""
    inputs = qkv(query_len=64, head_dim=64, dtype=dtype, device=device)
    assert kernel_of(lambda: CALLS_ON_GPU[call](*inputs)) != "math"
    with sdpa_kernel(BACKENDS[backend]):
        assert kernel_of(lambda: CALLS_ON_GPU[call](*inputs)) == backend
