"""PyTorch's own tests of attention, on ours: op_db and module_db.

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

from attention import fused_attention, scaled_dot_product_attention
from interchange import from_torch

from .inputs import assert_same_gradients

OURS = {
    "explicit": lambda *inputs, **options: scaled_dot_product_attention(*inputs, **options)[0],
    "fused": fused_attention,
}


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


def op_samples(torch_testing):
    """Inputs and options of op_db's samples, ours and PyTorch's."""
    (op,) = [
        op for op in torch_testing[0] if op.name == "nn.functional.scaled_dot_product_attention"
    ]
    for sample in op.sample_inputs("cpu", torch.float64, requires_grad=True):
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
        assert_same_gradients(got, want, inputs)
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
        init, inputs = sample.constructor_input, sample.forward_input
        torch.manual_seed(compared)
        module = torch.nn.MultiheadAttention(*init.args, **init.kwargs).to(dtype).train(training)
        if init.kwargs.get("add_bias_kv") or init.kwargs.get("add_zero_attn"):
            with pytest.raises(ValueError, match="has no counterpart"):
                from_torch(module)
            refused += 1
            continue
        query, key, _ = inputs.args
        masks = {n: inputs.kwargs.get(n) for n in ("attn_mask", "key_padding_mask")}
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


def test_is_causal_of_pytorch_s_layer_makes_no_mask():
    layer, x = torch.nn.MultiheadAttention(8, 1, batch_first=True), torch.randn(1, 4, 8)
    with pytest.raises(RuntimeError, match="Need attn_mask"):
        layer(x, x, x, is_causal=True)
