"""One truth for every path of attention: explicit, one fused call, and fused chunks of queries."""

import itertools
import random

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

import attention
from attention import fused_attention, scaled_dot_product_attention

from .inputs import (
    GPU,
    TOLERANCE,
    assert_near,
    assert_same_gradients,
    half_precision,
    on_devices,
    qkv,
    reference,
)


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
FUSED = (fused_attention, chunked)
every_path = pytest.mark.parametrize("attend", PATHS.values(), ids=PATHS)
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_reference_is_pytorch_s_own_attention(is_causal):
    for L, S in ((5, 5), (1, 9), (3, 16), (130, 257)):
        q, k, v = qkv(query_len=L, key_len=S, kv_heads=2, dtype=torch.float64)
        mask = causal_lower_right(L, S) if is_causal else None
        want = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        assert_near(reference(q, k, v, is_causal=is_causal)[0], want)


@pytest.mark.parametrize("is_causal", [False, True])  # by turns: most faults show in one of them
@on_devices
@every_dtype
@pytest.mark.parametrize(
    ("L", "S", "kv_heads"),
    [(9, 9, 4), (9, 9, 2), (1, 12, 4), (1, 12, 2), (5, 12, 1), (12, 5, 2), (130, 257, 2)],
)
def test_every_path_matches_the_reference(device, dtype, L, S, kv_heads, is_causal):
    some = torch.rand(2, 1, L, S) > 0.3
    for mask, value_dim in ((None, None), (None, 6), (some, 6)):
        q, k, v = qkv(
            query_len=L, key_len=S, kv_heads=kv_heads, value_dim=value_dim,
            dtype=dtype, device=device,
        )  # fmt: skip
        output, weights, _ = reference(q, k, v, mask, is_causal=is_causal)
        options = {"mask": None if mask is None else mask.to(device), "is_causal": is_causal}
        for attend in PATHS.values():
            got = attend(q, k, v, **options)
            assert got.dtype == dtype
            assert_near(got, output)
        assert_near(scaled_dot_product_attention(q, k, v, **options)[1], weights, dtype)


# ---- What may be combined: values from loops, gradients from the explicit path ------------------

MASKS = {
    "no mask": lambda L, S: None,
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
    "no bias": lambda L, S: None,
    "learned": lambda L, S: torch.randn(4, L, S),
    "per key": lambda L, S: torch.randn(1, S),
    "transposed": lambda L, S: torch.randn(S, L).mT,
    "infinite": lambda L, S: torch.zeros(L, S).masked_fill(torch.rand(L, S) > 0.5, -torch.inf),
}
BANDS = {  # query_len, key_len, kv_heads, is_causal, window
    "everybody": (9, 9, 2, False, None),
    "square": (9, 9, 2, True, None),
    "plain": (9, 9, 4, True, None),  # PyTorch's call as it is, with no mask or bias
    "last queries": (5, 12, 2, True, None),
    "empty rows": (12, 5, 2, True, None),
    "one query in a window": (1, 12, 2, True, 3),
    "window of last queries": (5, 12, 2, False, 3),
    "window of first queries": (12, 5, 2, False, 3),
    "causal window, empty rows": (12, 5, 2, True, 3),
}
SINKS = torch.tensor([0.0, -2.0, 3.0, 1.0])
SCORES = {
    "as they are": {},
    "scale": {"scale": 0.7},
    "negative scale": {"scale": -0.5},  # for which PyTorch's flash kernel gives NaN on a CPU
    "scale of 0": {"scale": 0.0},
    "learned scale": {"scale": torch.tensor(0.3)},
    "soft cap": {"softcap": 0.5},
    "sinks": {"sinks": SINKS},
    "sinks of -inf, which are none": {"sinks": SINKS.masked_fill(SINKS > 0, -torch.inf)},
    "one sink": {"sinks": SINKS[2], "scale": -0.3},
    "all": {"softcap": 2.0, "sinks": SINKS, "scale": 0.7},
}
ALL = list(itertools.product(MASKS, BIASES, BANDS, SCORES))
# Every seventh has each mask, bias and band together, with some scores, and each pair of others.
SOME = dict.fromkeys([*itertools.product(["no mask"], ["no bias"], BANDS, SCORES), *ALL[::7]])


@pytest.mark.parametrize(
    ("device", "dtype"),
    [("cpu", torch.float64), pytest.param("cuda", torch.float64, marks=GPU),
     pytest.param("cuda", torch.float32, marks=GPU)],  # few kernels of a GPU take float64
)  # fmt: skip
@pytest.mark.parametrize(("mask", "bias", "band", "scores"), SOME)
def test_combinations_match_in_values_and_gradients(device, dtype, mask, bias, band, scores):
    L, S, kv_heads, is_causal, window = BANDS[band]
    inputs = qkv(
        query_len=L, key_len=S, kv_heads=kv_heads, value_dim=6 if kv_heads == 2 else None,
        dtype=dtype, device=device, requires_grad=True,
    )  # fmt: skip
    options = {"mask": MASKS[mask](L, S), "bias": BIASES[bias](L, S), **SCORES[scores]}
    for name, option in options.items():
        if torch.is_tensor(option):
            option = option.to(device, torch.bool if name == "mask" else dtype)
            learns = name in ("sinks", "scale") or (name == "bias" and bias == "learned")
            options[name] = option.clone().requires_grad_() if learns else option
    leaves = inputs + [t for t in options.values() if torch.is_tensor(t) and t.requires_grad]
    options |= {"is_causal": is_causal, "window": window}
    near = (
        {"rtol": 1e-10, "atol": 1e-12} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-5}
    )

    def assert_all_near(*pairs):
        for got, want in pairs:
            torch.testing.assert_close(got.detach().double().cpu(), want, **near)

    output, weights, lse = reference(*inputs, **options)
    want, shown = scaled_dot_product_attention(*inputs, **options)
    assert_all_near((want, output), (shown, weights))
    for attend in FUSED:
        got = attend(*inputs, **options)
        with_lse, got_lse = attend(*inputs, return_lse=True, **options)
        assert_all_near((got, output), (with_lse, output), (got_lse, lse))
        assert_same_gradients(got, want, leaves, **({} if dtype == torch.float64 else near))


@pytest.mark.parametrize("seed", range(80))
def test_any_batch_shape_and_broadcast_mask(seed):
    draw = random.Random(seed)
    batch = tuple(draw.randint(1, 3) for _ in range(seed % 5))
    L, S = draw.randint(1, 9), draw.randint(1, 9)
    q, k, v = qkv(batch=batch, heads=None, query_len=L, key_len=S, dtype=torch.float64, seed=seed)
    shape = [draw.choice([1, size]) for size in (*batch, L, S)][draw.randint(0, len(batch) + 1) :]
    if len(batch) in (1, 2) and (len(shape) == 3 or shape[0] == batch[0]):
        shape = [1] * (len(batch) + 2 - len(shape)) + shape  # or it would have two readings
    mask, bias = torch.rand(shape) > 0.3, torch.randn(L, S, dtype=torch.float64)
    options = {"bias": draw.choice([None, bias]), "is_causal": draw.choice([False, True])}
    options["window"] = draw.choice([None, draw.randint(1, 10)])
    output, weights, _ = reference(q, k, v, mask, **options)
    got, shown = scaled_dot_product_attention(q, k, v, mask, **options)
    assert_near(got, output)
    assert_near(shown, weights)
    assert_near(chunked(q, k, v, mask, queries=draw.choice([1, 3, 256]), **options), output)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap calls a kernel in turn
@pytest.mark.parametrize("options", [{}, {"window": 2}, {"softcap": 2.0}, {"return_lse": True}])
@every_path
def test_transforms_and_finite_differences(attend, options):
    """vmap, and gradcheck; of the explicit path also twice and forwards, which no kernel has."""
    explicit = attend is PATHS["explicit"]
    if explicit and "return_lse" in options:
        pytest.skip("the explicit path has no log-sum-exp")
    inputs = qkv(query_len=5, heads=2, head_dim=2, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(5, 5, dtype=torch.float64)

    def call(query, key, value):
        return attend(query, key, value, bias=bias, is_causal=True, **options)

    fast = {"fast_mode": True}
    assert torch.autograd.gradcheck(call, inputs, check_forward_ad=explicit, **fast)
    if explicit:
        assert torch.autograd.gradgradcheck(call, inputs, **fast)
    torch.testing.assert_close(torch.func.vmap(call)(*inputs), call(*inputs))

    def total(*inputs):
        output = call(*inputs)
        return sum(t.sum() for t in output) if "return_lse" in options else output.sum()

    slopes = torch.func.grad(total, (0, 1, 2))(*inputs)
    torch.testing.assert_close(slopes, torch.autograd.grad(total(*inputs), inputs))


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
@pytest.mark.parametrize("options", [{}, {"softcap": 2.0, "sinks": torch.zeros(4)}], ids=str)
def test_dropout_hides_once_and_leaves_the_weights_shown(attend, options):
    q, k, _ = qkv(batch=(50,), query_len=20, head_dim=20)
    value = torch.eye(20).expand(50, 4, 20, 20)  # so that the output is the dropped weights
    dropped = attend(q, k, value, dropout_p=0.25, **options)
    _, weights = scaled_dot_product_attention(q, k, value, **options)
    hidden = dropped == 0
    assert hidden.float().mean() == pytest.approx(0.25, abs=0.01)
    torch.testing.assert_close(dropped[~hidden], (weights / 0.75)[~hidden])
    _, shown = scaled_dot_product_attention(q, k, value, dropout_p=0.25, **options)
    assert torch.equal(shown, weights)


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
        assert torch.equal(out, torch.zeros(B, 4, L, 8))
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
def test_autocast_narrows_the_fused_path_alone(device, dtype):
    q, k, v = qkv(query_len=9, device=device)
    mask, bias = torch.rand(9, 9, device=device) > 0.3, torch.randn(9, 9, device=device)
    for options in ({}, {"mask": mask}, {"is_causal": True}, {"bias": bias, "mask": mask}):
        want = scaled_dot_product_attention(q, k, v, **options)
        with torch.autocast(device, dtype):
            explicit = scaled_dot_product_attention(q, k, v, **options)
            got = fused_attention(q, k, v, **options)
            mixed = fused_attention(q, k.to(dtype), v.to(dtype), **options)
        assert all(map(torch.equal, explicit, want))
        assert got.dtype == dtype
        for output in (got, mixed):
            assert_near(output, want[0].cpu())


@every_dtype
def test_log_sum_exp_is_wide(dtype):
    q, k, v = qkv(query_len=5, key_len=7, dtype=dtype)
    mask = torch.arange(5)[:, None] != torch.full((7,), 2)  # query 2 sees nothing
    for sinks in (None, torch.randn(4).to(dtype)):
        options = {"mask": mask, "is_causal": True, "sinks": sinks}
        output, lse = fused_attention(q, k, v, return_lse=True, **options)
        want, _, sums = reference(q, k, v, **options)
        assert_near(output, want)
        assert (output.dtype, lse.dtype) == (dtype, torch.promote_types(dtype, torch.float32))
        torch.testing.assert_close(lse.double(), sums, rtol=1e-5, atol=1e-5)
    whole = fused_attention(q, k, v, return_lse=True)
    for shape in (lambda t: t[None], lambda t: t[0], lambda t: t[0, 0]):
        got = fused_attention(*map(shape, (q, k, v)), return_lse=True)
        torch.testing.assert_close(got, tuple(map(shape, whole)))


@every_path
def test_a_hidden_infinity_reaches_outputs_as_the_contract_says(attend):
    q, k, v = qkv(query_len=3)
    v[..., 2, :] = torch.inf
    assert attend(q, k, v, torch.tensor([True, True, False])).isnan().any()
