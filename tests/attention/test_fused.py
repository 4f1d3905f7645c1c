import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

import attention
from attention import fused_attention, scaled_dot_product_attention

from .inputs import DEVICES, TOLERANCE, assert_near, qkv, reference

LENGTHS = [(9, 9), (1, 12), (5, 12), (12, 5)]


@pytest.fixture
def small_chunks(monkeypatch):
    """Take the path of long inputs on short ones."""
    monkeypatch.setattr(attention, "ONE_CALL", 1)
    monkeypatch.setattr(attention, "QUERY_CHUNK", 4)


@pytest.fixture(params=["one call", "chunks"])
def path(request):
    if request.param == "chunks":
        request.getfixturevalue("small_chunks")
    return request.param


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.usefixtures("path")
def test_matches_the_reference(device, dtype, lengths, is_causal, kv_heads):
    L, S = lengths
    q, k, v = qkv(query_len=L, key_len=S, kv_heads=kv_heads, dtype=dtype, device=device)
    got = fused_attention(q, k, v, is_causal=is_causal)
    assert got.dtype == dtype
    assert_near(got, reference(q, k, v, is_causal=is_causal)[0], dtype)


MASKS = {
    "none": lambda L, S: None,
    "per key": lambda L, S: torch.rand(2, 1, 1, S) > 0.4,
    "per head and key": lambda L, S: torch.rand(2, 4, 1, S) > 0.4,
    "per pair": lambda L, S: torch.rand(L, S) > 0.4,
    "full": lambda L, S: torch.rand(2, 4, L, S) > 0.4,
    "one column": lambda L, S: torch.rand(2, 1, L, 1) > 0.4,
    "transposed": lambda L, S: (torch.rand(S, L) > 0.4).mT,
    "nothing": lambda L, S: torch.zeros(1, S, dtype=torch.bool),
}
BIASES = {
    "none": lambda L, S: None,
    "learned": lambda L, S: torch.randn(4, L, S).requires_grad_(),
    "per key": lambda L, S: torch.randn(1, S),
    "transposed": lambda L, S: torch.randn(S, L).mT,
    "infinite": lambda L, S: torch.zeros(L, S).masked_fill(torch.rand(L, S) > 0.5, -torch.inf),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("band", [(False, None), (True, None), (False, 3), (True, 3)], ids=str)
@pytest.mark.usefixtures("path")
def test_output_and_gradients_match_explicit_attention(device, mask, bias, band):
    is_causal, window = band
    for L, S in LENGTHS:
        inputs = qkv(
            query_len=L, key_len=S, kv_heads=2, value_dim=6, device=device, requires_grad=True
        )
        made, added = MASKS[mask](L, S), BIASES[bias](L, S)
        made = None if made is None else made.to(device)
        added = None if added is None else added.detach().to(device)
        if bias == "learned":
            added.requires_grad_()
            inputs.append(added)
        options = {"bias": added, "is_causal": is_causal, "window": window}
        got = fused_attention(*inputs[:3], made, **options)
        want, _ = scaled_dot_product_attention(*inputs[:3], made, **options)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        up = torch.randn_like(got)
        for g, w in zip(
            torch.autograd.grad(got, inputs, up), torch.autograd.grad(want, inputs, up), strict=True
        ):
            assert g.isfinite().all()
            torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.usefixtures("path")
def test_a_hidden_row_gives_zeros_and_finite_gradients(device, dtype):
    q, k, v = qkv(query_len=9, dtype=dtype, device=device, requires_grad=True)
    for mask in (torch.ones(9, 9, dtype=torch.bool), torch.ones(2, 1, 1, 9, dtype=torch.bool)):
        mask[1] = False
        out = fused_attention(q, k, v, mask.to(device))
        hidden = out[1] if mask.ndim == 4 else out[..., 1, :]
        assert (hidden == 0).all()
        grads = torch.autograd.grad((out * torch.randn_like(out)).sum(), (q, k, v))
        assert all(g.isfinite().all() for g in grads)
        row = grads[0][1] if mask.ndim == 4 else grads[0][..., 1, :]
        assert (row == 0).all()


batches = st.lists(st.integers(1, 3), min_size=0, max_size=4)


@given(
    batches, st.integers(1, 9), st.integers(1, 9), st.booleans(), st.none() | st.integers(1, 10),
    st.integers(0, 99), st.sampled_from([1, 3, 256]),
)  # fmt: skip
def test_any_batch_shape_and_broadcast_mask(batch, L, S, is_causal, window, seed, chunk):
    q, k, v = qkv(
        batch=tuple(batch), heads=None, query_len=L, key_len=S, dtype=torch.float64, seed=seed
    )
    generator = torch.Generator().manual_seed(seed)
    scores = (*batch, L, S)
    keep = torch.randint(0, 2, (len(scores),), generator=generator).tolist()
    shape = [size if kept else 1 for size, kept in zip(scores, keep, strict=True)]
    mask = torch.rand(shape[seed % len(shape) :], generator=generator) > 0.3
    if len(scores) == 4 and mask.ndim in (2, 3) and mask.shape[0] == batch[0] > 1:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)  # or it would have two readings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "ONE_CALL", 1)
        patch.setattr(attention, "QUERY_CHUNK", chunk)
        got = fused_attention(q, k, v, mask, is_causal=is_causal, window=window)
    assert_near(got, reference(q, k, v, mask, is_causal=is_causal, window=window)[0])


def test_a_changed_future_leaves_the_past_bit_identical(path):
    q, k, v = qkv(query_len=6, key_len=9)
    mask = torch.ones(2, 1, 1, 9, dtype=torch.bool) if path == "chunks" else None
    before = fused_attention(q, k, v, mask, is_causal=True)
    k[..., -1, :], v[..., -1, :] = 9.0, -9.0
    after = fused_attention(q, k, v, mask, is_causal=True)
    assert torch.equal(before[..., :-1, :], after[..., :-1, :])
    assert not torch.allclose(before[..., -1, :], after[..., -1, :])


def test_one_query_sees_the_whole_cache_where_pytorch_shows_the_first_key():
    q, k, v = qkv(query_len=1, key_len=4)
    got = fused_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(got, F.scaled_dot_product_attention(q, k, v))
    first_key_alone = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(first_key_alone, v[..., :1, :])


@pytest.mark.parametrize("device", DEVICES)
def test_noncontiguous_inputs_give_the_same(device):
    q, k, v = qkv(device=device)
    for change in (lambda t: t.mT.contiguous().mT, lambda t: torch.cat([t, t], -1)[..., ::2]):
        changed = [change(t) for t in (q, k, v)]
        assert not changed[0].is_contiguous()
        want, _ = scaled_dot_product_attention(*changed)
        torch.testing.assert_close(fused_attention(*changed), want, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("path")
def test_dropout_hides_once_and_keeps_the_mean():
    q, k, _ = qkv(batch=(50,), query_len=20, head_dim=20)
    value = torch.eye(20).expand(50, 4, 20, 20)
    dropped = fused_attention(q, k, value, dropout_p=0.25)
    _, weights = scaled_dot_product_attention(q, k, value)
    hidden = dropped == 0
    assert hidden.float().mean() == pytest.approx(0.25, abs=0.01)
    torch.testing.assert_close(dropped[~hidden], (weights / 0.75)[~hidden])


@pytest.mark.usefixtures("small_chunks")
def test_recomputed_chunks_drop_the_same_weights():
    q, k, v = qkv(query_len=12, requires_grad=True)
    out = fused_attention(q, k, v, dropout_p=0.5, is_causal=True)
    up = torch.randn_like(out)
    (grad,) = torch.autograd.grad(out, v, up)
    # The output is linear in the values, so the gradient gives it back if the drops agree.
    torch.testing.assert_close((grad * v).sum(), (out * up).sum())


@pytest.mark.parametrize("value_dim", [1, 5, 12])
def test_values_of_another_size(value_dim):
    q, k, v = qkv(value_dim=value_dim)
    got = fused_attention(q, k, v, is_causal=True)
    assert_near(got, reference(q, k, v, is_causal=True)[0])


@pytest.mark.parametrize(("L", "S", "B"), [(0, 3, 2), (3, 0, 2), (3, 3, 0)])
def test_empty_sizes(L, S, B):
    q, k, v = qkv(batch=(B,), query_len=L, key_len=S, kv_heads=2, requires_grad=True)
    out = fused_attention(q, k, v, is_causal=True)
    assert all((g == 0).all() for g in torch.autograd.grad(out.sum(), (q, k, v)))
    assert out.shape == (B, 4, L, 8)
    assert (out == 0).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast(device, dtype):
    q, k, v = qkv(query_len=9, device=device)
    mask = torch.rand(9, 9, device=device) > 0.3
    bias = torch.randn(9, 9, device=device)
    for options in ({}, {"mask": mask}, {"is_causal": True}, {"bias": bias, "mask": mask}):
        with torch.autocast(device, dtype):
            got = fused_attention(q, k, v, **options)
            mixed = fused_attention(q, k.to(dtype), v.to(dtype), **options)
        assert got.dtype == dtype
        want, _ = scaled_dot_product_attention(q, k, v, **options)
        rtol, atol = TOLERANCE[dtype]
        torch.testing.assert_close(got.float(), want, rtol=rtol, atol=atol)
        torch.testing.assert_close(mixed.float(), want, rtol=rtol, atol=atol)


@pytest.mark.parametrize("scale", [-0.5, 0.0, torch.tensor(0.3, requires_grad=True)])
def test_any_scale(scale):
    """PyTorch's own flash kernel gives NaN for a causal scale of 0 or less on a CPU."""
    query, key, value = qkv(requires_grad=True)
    options = {"is_causal": True, "scale": scale}
    got = fused_attention(query, key, value, **options)
    want, _ = scaled_dot_product_attention(query, key, value, **options)
    torch.testing.assert_close(got, want)
    learned = [query, key, scale] if isinstance(scale, torch.Tensor) else [query, key]
    gradients = (torch.autograd.grad(out.square().sum(), learned) for out in (got, want))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)
