"""The wirings, against PyTorch's own layers where it has them, and by what they must not know."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.attention.inputs import assert_refused
from tests.models.small import small

TOKENS = torch.tensor([[0, 3, 3, 6, 1], [2, 2, 4, 0, 5]])


def model_with(**options):
    return small(**{"max_len": 6, "num_heads": 3} | options).double()


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_ordinary_wiring_is_pytorchs(is_causal):
    model = model_with(mlp_dim=20, norm=True, is_causal=is_causal)
    x = model.embedding[TOKENS] + model.positions[:5]
    hidden = nn.Transformer.generate_square_subsequent_mask(5).double() if is_causal else None
    for mine in model.layers:
        theirs = nn.TransformerEncoderLayer(
            12, 3, 20, 0.0, lambda z: F.gelu(z, approximate="tanh"), batch_first=True,
            norm_first=True, dtype=torch.double,
        )  # fmt: skip
        theirs.load_state_dict({
            "self_attn.in_proj_weight": mine.attention.qkv_proj.weight,
            "self_attn.in_proj_bias": mine.attention.qkv_proj.bias,
            "self_attn.out_proj.weight": mine.attention.out_proj.weight,
            "self_attn.out_proj.bias": mine.attention.out_proj.bias,
            "norm1.weight": mine.norm.weight, "norm1.bias": mine.norm.bias,
            "norm2.weight": mine.mlp[0].weight, "norm2.bias": mine.mlp[0].bias,
            "linear1.weight": mine.mlp[1].weight, "linear1.bias": mine.mlp[1].bias,
            "linear2.weight": mine.mlp[3].weight, "linear2.bias": mine.mlp[3].bias,
        })  # fmt: skip
        x = theirs(x, src_mask=hidden)
    want = F.layer_norm(x, (12,), model.norm.weight, model.norm.bias) @ model.embedding.T
    run = model(TOKENS)
    torch.testing.assert_close(run.residual[-1], x)
    torch.testing.assert_close(run.logits, want + model.unembedding_bias)


@pytest.mark.parametrize("positions", ["query-key", "relative", "rotary"])
def test_other_positions_reach_scores_alone(positions):
    """Where all words are one word, attention may differ by place, but what it carries can't."""
    run = model_with(positions=positions)
    model = run.double()
    same = model(torch.full((1, 5), 3))
    assert same.weights[0].std(-1).min() > 1e-3
    torch.testing.assert_close(same.logits, same.logits[:, :1].expand_as(same.logits))


@pytest.mark.parametrize("positions", ["relative", "rotary"])
def test_relative_positions_depend_on_distance_alone(positions):
    model = model_with(positions=positions)
    scores = model(torch.full((1, 5), 3)).weights[0].log()
    steps = (scores[..., 1:] - scores[..., :-1])[0]  # what a row's softmax divides by is gone
    torch.testing.assert_close(steps[:, 0, :3], steps[:, 1, 1:])


def test_raw_values_read_the_word_and_not_its_context():
    """Layer 1 of a raw model: its output is the weights times projected plain embeddings."""
    model = model_with(raw_values=[False, True], positions="learned")
    run = model(TOKENS)
    layer = model.layers[1].attention
    value = F.linear(model.embedding[TOKENS], layer.qkv_proj.weight[24:], layer.qkv_proj.bias[24:])
    mixed = [run.weights[1][:, h] @ value[..., 4 * h : 4 * h + 4] for h in range(3)]
    want = run.residual[1] + layer.out_proj(torch.cat(mixed, -1))
    torch.testing.assert_close(run.residual[2], want)
    ordinary = model_with(positions="learned")
    ordinary.load_state_dict(model.state_dict())
    torch.testing.assert_close(ordinary(TOKENS).weights[1], run.weights[1])
    assert not torch.allclose(ordinary(TOKENS).residual[2], run.residual[2])


@pytest.mark.parametrize("positions", ["learned", "relative", "query-key", "rotary"])
def test_a_causal_model_does_not_see_what_comes(positions):
    model = model_with(positions=positions, is_causal=True, mlp_dim=8, norm=True)
    changed = TOKENS.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 7
    before, after = model(TOKENS).logits, model(changed).logits
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.equal(before[:, -1], after[:, -1])


@pytest.mark.parametrize("raw", [False, True])
def test_a_head_that_is_off_writes_nothing(raw):
    """The same as its columns of the output projection being 0."""
    model = model_with(num_heads=[3, 2], raw_values=[raw, False])
    run = model(TOKENS, off=[(0, 1), (1, 0)])
    assert run.weights[0][:, 1].eq(0).all()
    assert run.weights[1][:, 0].eq(0).all()
    with torch.no_grad():
        model.layers[0].attention.out_proj.weight[:, 4:8] = 0
        model.layers[1].attention.out_proj.weight[:, :6] = 0
    torch.testing.assert_close(run.logits, model(TOKENS).logits)


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("off", [(), [(0, 1), (1, 0)]], ids=["on", "off"])
def test_without_weights_the_rest_is_the_same(raw, off):
    model = model_with(positions="rotary", is_causal=True, mlp_dim=8, raw_values=[raw, False])
    run, again = model(TOKENS, off=off), model(TOKENS, off=off, need_weights=False)
    torch.testing.assert_close(run.logits, again.logits)
    assert again.weights[1] is None


def test_padding_changes_nothing():
    model = model_with(positions="relative")
    padded = torch.cat((TOKENS[:, :3], torch.zeros(2, 2, dtype=torch.int64)), 1)
    mask = (torch.arange(5) < 3)[None, None, None].expand(2, 1, 1, 5)
    torch.testing.assert_close(model(padded, mask).logits[:, :3], model(TOKENS[:, :3]).logits)


WRONG = [
    (TypeError, lambda model: model(TOKENS[0]), "tokens; int64; (B, L)"),
    (TypeError, lambda model: model(TOKENS.float()), "tokens; int64"),
    (ValueError, lambda model: model(TOKENS[:, :0]), "1 to 6 tokens; 0"),
    (ValueError, lambda model: model(model.encode([])), "1 to 6 tokens; 0"),
    (ValueError, lambda model: model(TOKENS.repeat(1, 2)), "1 to 6 tokens; 10"),
    (ValueError, lambda model: model(TOKENS + 1), "tokens; 0 ... 6; 1 ... 7"),
    (ValueError, lambda model: model(TOKENS - 1), "tokens; 0 ... 6; -1 ... 5"),
    (ValueError, lambda model: model(TOKENS, off=[(2, 0)]), "head (2, 0)"),
    (ValueError, lambda model: model(TOKENS, off=[(0, 3)]), "head (0, 3)"),
    (ValueError, lambda model: model.encode(["the", "zebra", "zebra", "x"]), "'zebra', 'x'"),
]
CONFIGS = [
    ({"num_heads": 5}, "num_heads=5"),
    ({"num_heads": [3]}, "num_heads; 2 layers"),
    ({"raw_values": [True]}, "raw_values; 2 layers"),
    ({"positions": "rotary", "num_heads": 4}, "head_dim; even"),
    ({"positions": "none"}, "positions"),
    ({"vocabulary": ("a", "a")}, "vocabulary; once"),
    ({"vocabulary": ()}, "vocabulary"),
    ({"max_len": 0}, "max_len; at least 1"),
]


@pytest.mark.parametrize(("error", "wrong", "says"), WRONG)
def test_wrong_input_is_named(error, wrong, says):
    assert_refused(lambda: wrong(model_with()), error, says)


@pytest.mark.parametrize(("options", "says"), CONFIGS, ids=str)
def test_a_wrong_config_is_named(options, says):
    assert_refused(lambda: model_with(**options), ValueError, says)
