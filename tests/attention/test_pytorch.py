"""PyTorch's own tests of attention, on ours: op_db, module_db, and cases of test_transformers.py.

PyTorch aligns a causal mask at the starts and hides with True in nn.MultiheadAttention; both are
translated here.
"""

import sys
import types
import unittest

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

from attention import fused_attention, scaled_dot_product_attention
from interchange import from_torch

from .inputs import DEVICES, TOLERANCE, assert_near, qkv, reference


def explicit(*inputs, **options):
    return scaled_dot_product_attention(*inputs, **options)[0]


OURS = {"explicit": explicit, "fused": fused_attention}


@pytest.fixture(scope="module")
def torch_testing():
    """PyTorch's databases of samples. Their import wants one class of the package expecttest."""
    absent = "expecttest" not in sys.modules
    if absent:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    try:
        from torch.testing._internal import common_methods_invocations, common_modules
    except ImportError as error:  # private: it may want more one day
        pytest.skip(f"PyTorch's test databases can't be imported: {error}")
    finally:
        if absent:
            sys.modules.pop("expecttest", None)
    return common_methods_invocations.op_db, common_modules.module_db


def op_samples(torch_testing, dtype=torch.float64):
    """Inputs and options of op_db's samples, ours and PyTorch's."""
    (op,) = [
        op for op in torch_testing[0] if op.name == "nn.functional.scaled_dot_product_attention"
    ]
    for sample in op.sample_inputs("cpu", dtype, requires_grad=True):
        query, key, value = (sample.input, *sample.args)
        lead = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
        inputs = [
            t.detach().expand(*lead, *t.shape[-2:]).clone().requires_grad_()
            for t in (query, key, value)
        ]
        theirs, ours = sample.kwargs, {"dropout_p": sample.kwargs["dropout_p"]}
        if theirs["is_causal"]:
            L, S = query.shape[-2], key.shape[-2]
            ours["mask"] = torch.ones(L, S, dtype=torch.bool).tril()
            ours["mask"] = ours["mask"][(None,) * (len(lead))]
        if theirs.get("attn_mask") is not None:
            ours["bias"] = theirs["attn_mask"].detach()
        yield inputs, ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize("attend", OURS)
def test_samples_of_op_db(torch_testing, attend):
    """Values, gradients, and the same numbers dropped from the same seed."""
    seen = 0
    for inputs, ours, theirs in op_samples(torch_testing):
        torch.manual_seed(seen)
        got = OURS[attend](*inputs, **ours)
        torch.manual_seed(seen)
        with sdpa_kernel(SDPBackend.MATH):
            want = F.scaled_dot_product_attention(*inputs, **theirs)
        torch.testing.assert_close(got, want)
        up = torch.randn_like(want)
        pairs = zip(*(torch.autograd.grad(o, inputs, up) for o in (got, want)), strict=True)
        for ours_, theirs_ in pairs:
            torch.testing.assert_close(ours_, theirs_)
        seen += 1
    assert seen >= 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap calls a kernel in turn
@pytest.mark.parametrize("attend", OURS)
def test_op_db_s_checks_of_gradients_and_transforms(torch_testing, attend):
    """gradcheck, of the explicit path also twice and forwards, which no kernel has; and vmap."""
    call, kinds = OURS[attend], set()
    for inputs, ours, _ in op_samples(torch_testing):
        kind = (inputs[0].ndim, "mask" in ours, "bias" in ours)
        if ours["dropout_p"] or kind in kinds:
            continue
        kinds.add(kind)

        def run(*inputs, options=ours):
            return call(*inputs, **options)

        more = {"check_forward_ad": attend == "explicit", "fast_mode": True}
        assert torch.autograd.gradcheck(run, inputs, **more)
        if attend == "explicit":
            assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)
        alone = ours | {n: ours[n][0] for n in ("mask",) if n in ours}
        got = torch.func.vmap(lambda *one, o=alone: call(*one, **o))(*inputs)
        torch.testing.assert_close(got, run(*inputs))
    assert len(kinds) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("training", [False, True])
def test_samples_of_module_db(torch_testing, dtype, training):
    (info,) = [info for info in torch_testing[1] if info.name == "nn.MultiheadAttention"]
    compared = refused = 0
    for sample in info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=training
    ):
        made, given = sample.constructor_input, sample.forward_input
        torch.manual_seed(compared)
        module = torch.nn.MultiheadAttention(*made.args, **made.kwargs).to(dtype).train(training)
        if made.kwargs.get("add_bias_kv") or made.kwargs.get("add_zero_attn"):
            with pytest.raises(ValueError, match="has no counterpart"):
                from_torch(module)
            refused += 1
            continue
        query, key, _ = given.args
        masks = {n: given.kwargs.get(n) for n in ("attn_mask", "key_padding_mask")}
        want, weights = module(query, key, key, average_attn_weights=False, **masks)
        first = query.ndim == 3 and not module.batch_first
        x, context = (t.transpose(0, 1) if first else t for t in (query, key))
        mask = our_mask(x, context, module.num_heads, **masks)
        got = from_torch(module)(x, mask, return_attention=True, context=context)
        torch.testing.assert_close(got[0].transpose(0, 1) if first else got[0], want)
        torch.testing.assert_close(got[1], weights)
        compared += 1
    assert compared >= 8
    assert refused >= 8


def our_mask(x, context, heads, attn_mask, key_padding_mask):
    """True = may attend, (B, H, L, S), of masks in which True hides."""
    B = 1 if x.ndim == 2 else x.shape[0]
    mask = torch.ones(B, heads, x.shape[-2], context.shape[-2], dtype=torch.bool)
    if attn_mask is not None:
        mask = mask & ~(attn_mask if attn_mask.ndim == 2 else attn_mask.view(mask.shape))
    if key_padding_mask is not None:
        mask = mask & ~key_padding_mask.reshape(B, 1, 1, -1)
    return mask


# --- Cases of test_transformers.py, which isn't installed with PyTorch --------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("lengths", [(16, 16), (3, 16), (1, 9), (130, 257)], ids=str)
def test_causal_is_pytorchs_lower_right(device, dtype, lengths):
    q, k, v = qkv(query_len=lengths[0], key_len=lengths[1], dtype=dtype, device=device)
    wide = [t.double() for t in (q, k, v)]
    want = F.scaled_dot_product_attention(*wide, attn_mask=causal_lower_right(*lengths))
    assert_near(fused_attention(q, k, v, is_causal=True), want.cpu())


@pytest.mark.parametrize("attend", OURS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scale", [-0.5, -1e-4, 0.0])
def test_negative_scale(attend, is_causal, scale):
    inputs = qkv(query_len=9, dtype=torch.float64)
    want, _ = reference(*inputs, is_causal=is_causal, scale=scale)
    assert_near(OURS[attend](*inputs, is_causal=is_causal, scale=scale), want)


@pytest.mark.parametrize("attend", OURS)
def test_half_precision_overflows_nowhere(attend):
    """Scores beyond 65,504 are no infinity on the way."""
    x = 60 * torch.rand(1, 2, 23, 80, generator=torch.Generator().manual_seed(0)).half()
    assert (x.double() @ x.double().mT).max() > 65_504
    want = F.scaled_dot_product_attention(*[x.double()] * 3)
    assert_near(OURS[attend](x, x, x), want)


LAYOUTS = {
    "expanded": lambda mask: mask[:1, :, :1].expand(2, 4, 9, 9),
    "transposed": lambda mask: mask.mT,
    "every second": lambda mask: mask.repeat_interleave(2, -1)[..., ::2],
    "a column": lambda mask: mask[..., :1],
}


@pytest.mark.parametrize("attend", OURS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("hidden_rows", [False, True])
def test_masks_of_any_layout_and_rows_that_are_hidden(attend, layout, hidden_rows):
    inputs = qkv(query_len=9, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(2, 4, 9, 9, generator=torch.Generator().manual_seed(1)) > 0.4
    mask[..., 0] = True
    mask = LAYOUTS[layout](mask).clone() if hidden_rows else LAYOUTS[layout](mask)
    if hidden_rows:
        mask[:, :, 4] = False
    got = OURS[attend](*inputs, mask)
    assert_near(got, reference(*inputs, mask)[0])
    got.sum().backward()
    assert all(t.grad.isfinite().all() for t in inputs)
    assert not hidden_rows or not inputs[0].grad[:, :, 4].any()


@pytest.mark.parametrize("attend", OURS)
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("is_causal", [False, True])
def test_shared_heads_are_those_of_pytorch(attend, kv_heads, is_causal):
    inputs = qkv(kv_heads=kv_heads, query_len=9, dtype=torch.float64, requires_grad=True)
    with sdpa_kernel(SDPBackend.MATH):
        want = F.scaled_dot_product_attention(*inputs, is_causal=is_causal, enable_gqa=True)
    got = OURS[attend](*inputs, is_causal=is_causal)
    torch.testing.assert_close(got, want)
    up = torch.randn_like(want)
    pairs = zip(*(torch.autograd.grad(o, inputs, up) for o in (got, want)), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)
