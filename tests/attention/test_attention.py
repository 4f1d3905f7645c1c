"""One truth for every path of attention: explicit, one fused call, and fused chunks of queries."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention.bias import causal_lower_right

import attention
from attention import fused_attention, scaled_dot_product_attention

from .inputs import DEVICES, TOLERANCE, assert_near, assert_same_gradients, qkv, reference


def chunked(*inputs, queries=4, **options):
    """The path of long inputs, on short ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "ONE_CALL", 4)
        patch.setattr(attention, "QUERY_CHUNK", queries)
        return fused_attention(*inputs, **options)


PATHS = {
    "explicit": lambda *inputs, **options: scaled_dot_product_attention(*inputs, **options)[0],
    "one call": fused_attention,
    "chunks": chunked,
}
FUSED = {name: PATHS[name] for name in ("one call", "chunks")}
every_path = pytest.mark.parametrize("attend", PATHS.values(), ids=PATHS)
every_fused_path = pytest.mark.parametrize("attend", FUSED.values(), ids=FUSED)
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
half_precision = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
on_devices = pytest.mark.parametrize("device", DEVICES)


@every_path
@on_devices
@every_dtype
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_matches_pytorch_in_float64(attend, device, dtype, is_causal, kv_heads):
    for L, S in ((5, 5), (1, 9), (3, 16), (130, 257)):
        q, k, v = qkv(query_len=L, key_len=S, kv_heads=kv_heads, dtype=dtype, device=device)
        got = attend(q, k, v, is_causal=is_causal)
        mask = causal_lower_right(L, S) if is_causal else None
        wide = [t.double().cpu() for t in (q, k, v)]
        want = F.scaled_dot_product_attention(*wide, attn_mask=mask, enable_gqa=True)
        assert got.dtype == dtype
        assert_near(got, want)


@on_devices
@every_dtype
@pytest.mark.parametrize("lengths", [(9, 9), (1, 12), (5, 12), (12, 5)], ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_matches_the_reference(device, dtype, lengths, is_causal, kv_heads):
    L, S = lengths
    q, k, v = qkv(
        query_len=L, key_len=S, kv_heads=kv_heads, value_dim=6, dtype=dtype, device=device
    )
    for mask in (None, torch.rand(2, 1, L, S) > 0.3):
        options = {"mask": None if mask is None else mask.to(device), "is_causal": is_causal}
        output, weights, _ = reference(q, k, v, mask, is_causal=is_causal)
        explicit, shown = scaled_dot_product_attention(q, k, v, **options)
        assert_near(shown, weights, dtype)
        for got in (explicit, *(attend(q, k, v, **options) for attend in FUSED.values())):
            assert got.dtype == dtype
            assert_near(got, output)


@given(
    st.lists(st.integers(1, 3), min_size=0, max_size=4), st.integers(1, 9), st.integers(1, 9),
    st.booleans(), st.none() | st.integers(1, 10), st.integers(0, 99), st.sampled_from([1, 3, 256]),
)  # fmt: skip
def test_any_batch_shape_and_broadcast_mask(batch, L, S, is_causal, window, seed, chunk):
    q, k, v = qkv(
        batch=tuple(batch), heads=None, query_len=L, key_len=S, dtype=torch.float64, seed=seed
    )
    generator = torch.Generator().manual_seed(seed)
    scores = (*batch, L, S)
    keep = torch.randint(0, 2, (len(scores),), generator=generator).tolist()
    shape = [size if is_full else 1 for size, is_full in zip(scores, keep, strict=True)]
    mask = torch.rand(shape[seed % len(shape) :], generator=generator) > 0.3
    if len(scores) == 4 and mask.ndim in (2, 3) and mask.shape[0] == batch[0] > 1:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)  # or it would have two readings
    bias = torch.randn(L, S, generator=generator, dtype=torch.float64) if seed % 2 else None
    options = {"bias": bias, "is_causal": is_causal, "window": window}
    output, weights, _ = reference(q, k, v, mask, **options)
    got, shown = scaled_dot_product_attention(q, k, v, mask, **options)
    assert_near(got, output)
    assert_near(shown, weights)
    totals = shown.sum(-1)
    assert (((totals - 1).abs() < 1e-9) | (totals == 0)).all()
    assert_near(chunked(q, k, v, mask, queries=chunk, **options), output)


# ---- What may be combined: values from loops, gradients from the explicit path ------------------

HIDDEN = torch.ones(2, 1, 5, 7, dtype=torch.bool)
HIDDEN[0, :, 2] = False
HIDDEN[1, :, :, 3:] = False
SINKS = torch.tensor([0.0, -2.0, 3.0, 1.0], dtype=torch.float64)
SCORES = {
    "scale": {"scale": 0.7},
    "negative scale": {"scale": -0.5},
    "scale of 0": {"scale": 0.0},
    "learned scale": {"scale": torch.tensor(0.3, dtype=torch.float64)},
    "soft cap": {"softcap": 0.5},
    "a wide cap": {"softcap": 30.0},
    "sinks": {"sinks": SINKS},
    "sinks of -inf, which are none": {"sinks": torch.where(SINKS > 0, -torch.inf, SINKS)},
    "one sink": {"sinks": SINKS[2], "scale": -0.3},
    "all": {"softcap": 2.0, "sinks": SINKS, "scale": 0.7},
}
WHO = {
    "everybody": {},
    "plain and causal": {"is_causal": True},  # as many keys and heads: PyTorch's call as it is
    "causal": {"is_causal": True},
    "window": {"is_causal": True, "window": 2},
    "mask": {"mask": HIDDEN},
    "bias": {"bias": torch.randn(4, 5, 7, dtype=torch.float64).masked_fill(HIDDEN[1], -torch.inf)},
}


@on_devices
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("scores", SCORES)
def test_scores_by_the_reference_and_gradients_alike(device, who, scores):
    """PyTorch's own flash kernel gives NaN for a causal scale of 0 or less on a CPU."""
    options = WHO[who] | SCORES[scores]
    sizes = {} if "plain" in who else {"key_len": 7, "kv_heads": 2, "value_dim": 6}
    inputs = qkv(query_len=5, dtype=torch.float64, **sizes)
    output, weights, lse = reference(*inputs, **options)
    inputs = [t.to(device).requires_grad_() for t in inputs]
    options = {n: t.to(device) if torch.is_tensor(t) else t for n, t in options.items()}
    for name in ("sinks", "scale"):
        if torch.is_tensor(options.get(name)):
            inputs.append(options[name].clone().requires_grad_())
            options[name] = inputs[-1]
    want, shown = scaled_dot_product_attention(*inputs[:3], **options)
    assert_near(want, output)
    assert_near(shown, weights)
    for attend in FUSED.values():
        got = attend(*inputs[:3], **options)
        assert_near(got, output)
        assert_same_gradients(got, want, inputs)
        got, got_lse = attend(*inputs[:3], return_lse=True, **options)
        assert_near(got, output)
        assert_near(got_lse, lse)


MASKS = {
    "none": lambda L, S: None,
    "per key": lambda L, S: torch.rand(2, 1, 1, S) > 0.4,
    "per head and key": lambda L, S: torch.rand(2, 4, 1, S) > 0.4,
    "per pair": lambda L, S: torch.rand(L, S) > 0.4,
    "full": lambda L, S: torch.rand(2, 4, L, S) > 0.4,
    "one column": lambda L, S: torch.rand(2, 1, L, 1) > 0.4,
    "transposed": lambda L, S: (torch.rand(S, L) > 0.4).mT,
    "every second": lambda L, S: (torch.rand(2, 4, L, 2 * S) > 0.4)[..., ::2],
    "expanded": lambda L, S: (torch.rand(1, 4, 1, S) > 0.4).expand(2, 4, L, S),
    "nothing": lambda L, S: torch.zeros(1, S, dtype=torch.bool),
}
BIASES = {
    "none": lambda L, S: None,
    "learned": lambda L, S: torch.randn(4, L, S),
    "per key": lambda L, S: torch.randn(1, S),
    "transposed": lambda L, S: torch.randn(S, L).mT,
    "infinite": lambda L, S: torch.zeros(L, S).masked_fill(torch.rand(L, S) > 0.5, -torch.inf),
}


BANDS = [  # query_len, key_len, is_causal, window
    (9, 9, False, None), (9, 9, True, None), (5, 12, True, None), (12, 5, True, None),
    (1, 12, True, 3), (5, 12, False, 3), (12, 5, False, 3), (12, 5, True, 3),
]  # fmt: skip


@every_fused_path
@on_devices
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bias", BIASES)
def test_output_and_gradients_match_explicit_attention(attend, device, mask, bias):
    for L, S, is_causal, window in BANDS:
        inputs = qkv(query_len=L, key_len=S, kv_heads=2, value_dim=6, device=device)
        inputs = [t.requires_grad_() for t in inputs]
        made, added = (of(L, S) for of in (MASKS[mask], BIASES[bias]))
        made, added = (None if t is None else t.to(device) for t in (made, added))
        if bias == "learned":
            inputs.append(added.requires_grad_())
        options = {"mask": made, "bias": added, "is_causal": is_causal, "window": window}
        got = attend(*inputs[:3], **options)
        want, _ = scaled_dot_product_attention(*inputs[:3], **options)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        assert_same_gradients(got, want, inputs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [{"bias": torch.randn(3, 3, dtype=torch.float64)},
     {"softcap": 2.0, "sinks": torch.randn(2, dtype=torch.float64)}],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_autograd_agrees_with_finite_differences(options):
    inputs = qkv(batch=(1,), heads=2, kv_heads=1, query_len=3, head_dim=2, dtype=torch.float64)
    learned = {n: t for n, t in options.items() if torch.is_tensor(t)}
    leaves = [t.clone().requires_grad_() for t in (*inputs, *learned.values())]

    def call(q, k, v, *more):
        given = options | dict(zip(learned, more, strict=True))
        return scaled_dot_product_attention(q, k, v, is_causal=True, **given)

    assert torch.autograd.gradcheck(call, leaves)


@pytest.mark.parametrize("options", [{"window": 3}, {"softcap": 2.0}, {"return_lse": True}])
def test_func_grad_over_chunked_calls(options):
    def total(attend):
        def of(*inputs):
            output = attend(*inputs, is_causal=True, **options)
            return sum(t.sum() for t in output) if options.get("return_lse") else output.sum()

        return torch.func.grad(of, (0, 1, 2))(*qkv(query_len=8, dtype=torch.float64))

    torch.testing.assert_close(total(chunked), total(fused_attention))


# ---- Edges of the contract ----------------------------------------------------------------------


@every_path
@on_devices
@every_dtype
@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_a_hidden_row_gives_zeros_and_finite_gradients(attend, device, dtype):
    q, k, v = qkv(query_len=9, dtype=dtype, device=device, requires_grad=True)
    for mask in (torch.ones(9, 9, dtype=torch.bool), torch.ones(2, 1, 1, 9, dtype=torch.bool)):
        mask[1] = False
        with torch.autograd.detect_anomaly(check_nan=True):
            out = attend(q, k, v, mask.to(device))
            grads = torch.autograd.grad((out * torch.randn_like(out)).sum(), (q, k, v))
        assert all(g.isfinite().all() for g in grads)
        for tensor in (out, grads[0]):
            hidden = tensor[1] if mask.ndim == 4 else tensor[..., 1, :]
            assert (hidden == 0).all()


@every_path
def test_a_changed_future_leaves_the_past_bit_identical(attend):
    q, k, v = qkv(query_len=6, key_len=9)
    mask = torch.ones(2, 1, 1, 9, dtype=torch.bool) if attend is chunked else None
    before = attend(q, k, v, mask, is_causal=True)
    k[..., -1, :], v[..., -1, :] = 9.0, -9.0
    after = attend(q, k, v, mask, is_causal=True)
    assert torch.equal(before[..., :-1, :], after[..., :-1, :])
    assert not torch.allclose(before[..., -1, :], after[..., -1, :])


@every_path
def test_dropout_hides_once_and_keeps_the_mean(attend):
    q, k, _ = qkv(batch=(50,), query_len=20, head_dim=20)
    value = torch.eye(20).expand(50, 4, 20, 20)  # so that the output is the dropped weights
    dropped = attend(q, k, value, dropout_p=0.25)
    _, weights = scaled_dot_product_attention(q, k, value)
    hidden = dropped == 0
    assert hidden.float().mean() == pytest.approx(0.25, abs=0.01)
    torch.testing.assert_close(dropped[~hidden], (weights / 0.75)[~hidden])


def test_returned_weights_are_those_before_dropout():
    q, k, v = qkv(query_len=40)
    _, plain = scaled_dot_product_attention(q, k, v)
    output, weights = scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    assert torch.equal(weights, plain)
    assert not torch.allclose(output, weights @ v)


def test_recomputed_chunks_drop_the_same_weights(monkeypatch):
    monkeypatch.setattr(attention, "ONE_CALL", 1)
    monkeypatch.setattr(attention, "QUERY_CHUNK", 4)
    q, k, v = qkv(query_len=12, requires_grad=True)
    out = fused_attention(q, k, v, dropout_p=0.5, is_causal=True)
    up = torch.randn_like(out)
    (grad,) = torch.autograd.grad(out, v, up)
    # The output is linear in the values, so the gradient gives it back if the drops agree.
    torch.testing.assert_close((grad * v).sum(), (out * up).sum())


@every_path
@pytest.mark.parametrize(("L", "S", "B"), [(0, 3, 2), (3, 0, 2), (0, 0, 2), (3, 3, 0)])
def test_empty_sizes(attend, L, S, B):
    q, k, v = qkv(batch=(B,), query_len=L, key_len=S, kv_heads=2, requires_grad=True)
    for options in ({"is_causal": True}, {"mask": torch.ones(L, S, dtype=torch.bool)}):
        out = attend(q, k, v, **options)
        assert out.shape == (B, 4, L, 8)
        assert (out == 0).all()
        assert all((g == 0).all() for g in torch.autograd.grad(out.sum(), (q, k, v)))
    assert scaled_dot_product_attention(q, k, v)[1].shape == (B, 4, L, S)
    _, lse = fused_attention(q, k, v, return_lse=True)
    assert lse.shape == (B, 4, L)
    assert S or (lse == -torch.inf).all()


@every_path
@on_devices
def test_any_layout_and_size_of_values(attend, device):
    q, k, v = qkv(device=device)
    for change in (lambda t: t.mT.contiguous().mT, lambda t: torch.cat([t, t], -1)[..., ::2]):
        changed = [change(t) for t in (q, k, v)]
        assert not changed[0].is_contiguous()
        assert_near(attend(*changed), reference(*changed)[0])
    for value_dim in (1, 5, 12):
        q, k, v = qkv(value_dim=value_dim, device=device)
        assert_near(attend(q, k, v, is_causal=True), reference(q, k, v, is_causal=True)[0])


@every_path
@on_devices
def test_scores_beyond_half_precision(attend, device):
    """Scores beyond 65,504, where float16 ends, are no infinity on the way."""
    q, k, v = qkv(head_dim=64, dtype=torch.float16, device=device)
    pairs = [(q * 0 + 100, k.sign() * 100)]
    if device == "cpu":  # by chance nearly alike, where a GPU's products may differ more
        pairs.append((60 * q.abs(), 60 * q.abs()))
    for query, key in pairs:
        assert (query.double() @ key.double().mT).max() > 65_504
        assert_near(attend(query, key, v), reference(query, key, v)[0])


@on_devices
@half_precision
def test_autocast_narrows_nothing_of_the_explicit_path(device, dtype):
    q, k, v = qkv(query_len=64, head_dim=64, device=device)
    for inputs in ((q, k, v), [t.to(dtype) for t in (q, k, v)]):
        with torch.autocast(device, dtype):
            got = scaled_dot_product_attention(*inputs)
        for g, w in zip(got, scaled_dot_product_attention(*inputs), strict=True):
            assert torch.equal(g, w)


@on_devices
@half_precision
def test_autocast_narrows_the_fused_path(device, dtype):
    q, k, v = qkv(query_len=9, device=device)
    mask, bias = torch.rand(9, 9, device=device) > 0.3, torch.randn(9, 9, device=device)
    for options in ({}, {"mask": mask}, {"is_causal": True}, {"bias": bias, "mask": mask}):
        with torch.autocast(device, dtype):
            got = fused_attention(q, k, v, **options)
            mixed = fused_attention(q, k.to(dtype), v.to(dtype), **options)
        assert got.dtype == dtype
        want, _ = scaled_dot_product_attention(q, k, v, **options)
        for output in (got, mixed):
            assert_near(output, want.cpu())


@every_dtype
def test_log_sum_exp_is_wide(dtype):
    q, k, v = qkv(query_len=5, key_len=7, dtype=dtype)
    for sinks in (None, torch.randn(4).to(dtype)):
        options = {"is_causal": True, "sinks": sinks}
        output, lse = fused_attention(q, k, v, HIDDEN, return_lse=True, **options)
        want, _, sums = reference(q, k, v, HIDDEN, **options)
        assert_near(output, want)
        assert (output.dtype, lse.dtype) == (dtype, torch.promote_types(dtype, torch.float32))
        torch.testing.assert_close(lse.double(), sums, rtol=1e-5, atol=1e-5)
    for shape in (lambda t: t[None], lambda t: t[0], lambda t: t[0, 0]):
        got = fused_attention(*map(shape, (q, k, v)), return_lse=True)
        torch.testing.assert_close(
            got, tuple(map(shape, fused_attention(q, k, v, return_lse=True)))
        )


@every_path
def test_a_hidden_infinity_reaches_outputs_as_the_contract_says(attend):
    q, k, v = qkv(query_len=3)
    v[..., 2, :] = torch.inf
    assert attend(q, k, v, torch.tensor([True, True, False])).isnan().any()
