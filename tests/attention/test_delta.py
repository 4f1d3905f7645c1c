"""The gated delta rule, by token, by chunks and by the paper's matrices; and gated attention."""

import pytest
import torch
import torch.nn.functional as F

from attention import MultiHeadAttention
from variants import GatedAttention, GatedDeltaNet, gated_delta_rule

from .inputs import half_precision

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def inputs(length, dtype=torch.float32, *, gated=True):
    """Query, key, value, log α, β and a state, for 2 sequences and 3 heads; keys have length 1."""
    draw = torch.Generator().manual_seed(0)
    shape = 2, 3, length
    query, key = (
        F.normalize(torch.randn(*shape, 8, generator=draw, dtype=dtype), dim=-1) for _ in range(2)
    )
    value, state = (
        0.3 * torch.randn(*s, 5, generator=draw, dtype=dtype) for s in (shape, (2, 3, 8))
    )
    log_decay, beta = (torch.rand(shape, generator=draw, dtype=dtype) for _ in range(2))
    return [query, key, value, -log_decay * gated, beta, state]


def by_the_formula(query, key, value, log_decay, beta, state, delta):
    """Yang et al. 2025, with whole matrices, one head and token after another."""
    rows, tables = [], torch.zeros_like(state)
    for b in range(len(key)):
        for h in range(key.shape[1]):
            S = state[b, h]
            for t in range(key.shape[2]):
                k, v, strength = key[b, h, t], value[b, h, t], beta[b, h, t]
                eye = torch.eye(len(k), dtype=k.dtype)
                keep = eye - strength * torch.outer(k, k) if delta else eye
                S = log_decay[b, h, t].exp() * keep @ S + strength * torch.outer(k, v)
                rows.append(S.T @ query[b, h, t])
            tables[b, h] = S
    return torch.stack(rows).reshape(value.shape), tables


def results(rule, given):
    """What a rule gives, forward and backward."""
    leaves = [t.clone().requires_grad_() for t in given]
    output, state = rule(*leaves)
    loss = output.sin().sum() + state.cos().sum()
    return output, state, *torch.autograd.grad(loss, leaves)


def by_chunks(size, **options):
    return lambda *t: gated_delta_rule(*t[:5], state=t[5], chunk_size=size, **options)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("delta", [True, False])
@pytest.mark.parametrize("length", [1, 7, 16, 37])
def test_chunks_equal_steps_equal_the_formula(length, gated, delta, dtype):
    given = inputs(length, dtype, gated=gated)
    want = results(lambda *t: by_the_formula(*t, delta), given)
    for size in (None, 1, 5, 16, 64):
        got = results(by_chunks(size, delta=delta), given)
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_strong_decay_gives_finite_gradients():
    given = inputs(40)
    given[3] *= 200
    for a, b in zip(*(results(by_chunks(size), given) for size in (64, None)), strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wiped", [-1e4, -torch.inf])
def test_a_token_may_wipe_the_table(wiped):
    given = inputs(40)
    given[3][..., [0, 9, 30]] = wiped
    torch.testing.assert_close(by_chunks(64)(*given), by_chunks(None)(*given), rtol=1e-4, atol=1e-5)


def test_small_falls_are_kept_after_many_tokens_that_wipe():
    given = inputs(40, torch.float64)
    given[3][:] = -torch.inf
    given[3][..., -8:] = -0.01
    want, _ = by_chunks(None)(*given)
    got, _ = by_chunks(64)(*(t.float() for t in given))
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"gated": False}, {"delta": False}, {"conv_size": 1}])
@pytest.mark.parametrize("steps", [[1] * 11, [4, 1, 6], [10, 1]], ids=str)
@torch.no_grad()
def test_a_state_handed_on_equals_one_pass(steps, options):
    layer = GatedDeltaNet(16, 2, chunk_size=4, **options).double()
    x = torch.randn(2, 11, 16, dtype=torch.float64)
    want, final = layer(x, return_state=True)
    state, outputs = None, []
    for part in x.split(steps, dim=1):
        out, state = layer(part, state=state, return_state=True)
        outputs.append(out)
    torch.testing.assert_close(torch.cat(outputs, 1), want, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(tuple(state), tuple(final), rtol=1e-10, atol=1e-10)


def test_the_layer_by_hand():
    """Every step of the layer with loops over heads and tokens."""
    layer = GatedDeltaNet(12, 2, head_dim=4, value_dim=3, conv_size=3).double()
    x = torch.randn(1, 6, 12, dtype=torch.float64)
    channels = F.pad(layer.qkv_proj(x)[0].T, (2, 0))  # channels, 2 + 6
    mixed = torch.stack([(channels[:, t : t + 3] * layer.conv_weight).sum(1) for t in range(6)])
    mixed = mixed * mixed.sigmoid()
    heads = []
    for h in range(2):
        q, k, v = mixed[:, 11 * h : 11 * h + 11].split([4, 4, 3], dim=1)
        S, rows = torch.zeros(4, 3, dtype=torch.float64), []
        for t in range(6):
            key, query = k[t] / k[t].norm(), q[t] / q[t].norm()
            rate = layer.log_rate[h].exp()
            step = F.softplus(layer.decay_proj.weight[h] @ x[0, t] + layer.decay_bias[h])
            beta = (layer.beta_proj.weight[h] @ x[0, t]).sigmoid()
            S = (-rate * step).exp() * S
            S = S + beta * torch.outer(key, v[t] - S.T @ key)
            row = S.T @ query
            gate = layer.gate_proj.weight[3 * h : 3 * h + 3] @ x[0, t]
            rows.append(row / (row.square().mean() + 1e-6).sqrt() * gate * gate.sigmoid())
        heads.append(torch.stack(rows))
    got, want = layer(x)[0], layer.out_proj(torch.cat(heads, 1))
    torch.testing.assert_close(got, want, atol=1e-3, rtol=1e-3)
    got.square().sum().backward()
    assert all(p.grad.abs().max() > 0 for p in layer.parameters())


@half_precision
def test_half_precision_and_autocast_keep_a_wide_table(dtype):
    layer, x = GatedDeltaNet(16, 2), torch.randn(1, 300, 16)
    want = layer(x)
    got, state = layer.to(dtype)(x.to(dtype), return_state=True)
    assert got.dtype == dtype
    assert state.table.dtype == torch.float32
    torch.testing.assert_close(got.float(), want, rtol=5e-2, atol=5e-2)
    with torch.autocast("cpu", dtype):
        _, same = layer(x.to(dtype), return_state=True)
    assert torch.equal(same.table, state.table)


@pytest.mark.parametrize(
    "options", [{}, {"num_kv_heads": 2, "head_dim": 6, "sinks": True}], ids=str
)
def test_a_gated_layer_multiplies_each_head_s_numbers(options):
    layer, plain = GatedAttention(16, 4, **options), MultiHeadAttention(16, 4, **options)
    plain.load_state_dict({n: t for n, t in layer.state_dict().items() if "gate" not in n})
    x, mixed = torch.randn(2, 5, 16), {}
    plain.out_proj.register_forward_pre_hook(lambda _, given: mixed.update(heads=given[0]))
    _, weights = plain(x, None, True, is_causal=True)
    gate = torch.sigmoid(x @ layer.gate_proj.weight.T + layer.gate_proj.bias)
    got, got_weights = layer(x, None, True, is_causal=True)
    torch.testing.assert_close(got, layer.out_proj(mixed["heads"] * gate))
    torch.testing.assert_close(got_weights, weights)
