"""A weights file gives back the model that was saved, and says what is wrong with itself."""

import json
from dataclasses import asdict

import pytest
import torch
from safetensors.torch import save_file

from models import weights
from models.transformer import Config
from tests.attention.inputs import assert_refused
from tests.models.small import WORDS, saved, small


@pytest.fixture
def file(tmp_path):
    return saved(tmp_path / "models", raw_values=[False, True])


def test_a_model_comes_back_rounded_to_float16(file):
    model = weights.load(file)
    again = weights.load(file)
    assert model.config == Config(WORDS, 9, 12, (3, 1), 2, raw_values=(False, True))
    tokens = model.encode(["cat", "sat", "cat"])
    assert torch.equal(model(tokens).logits, again(tokens).logits)
    assert all(torch.equal(p, p.half().float()) for p in model.parameters())
    assert not list(file.parent.glob("*.new"))


def test_8_bits_keep_each_row_to_a_127th_of_its_largest(tmp_path):
    model = small(mlp_dim=16, norm=True)
    with torch.no_grad():
        model.embedding[1] = 0
        model.embedding[2] *= 100
    weights.save(model, tmp_path / "small.safetensors", bits=8)
    again = weights.load(tmp_path / "small.safetensors")
    for (name, a), b in zip(model.named_parameters(), again.parameters(), strict=True):
        if a.ndim == 2:  # half a step, and the rounding of the scale to float16
            assert ((a - b).abs() <= a.abs().amax(1, keepdim=True) * (0.5 / 127 + 1e-3)).all(), name
        else:
            assert torch.equal(a.half().float(), b)
    assert again.embedding[1].count_nonzero() == 0
    four = tmp_path / "four.safetensors"
    assert_refused(lambda: weights.save(model, four, bits=4), ValueError, "bits; 8 or 16; 4")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_a_cut_file_is_named(file, share):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    assert_refused(lambda: weights.load(file), ValueError, "small.safetensors; cut")


def test_a_missing_file_and_one_of_something_else_are_named(tmp_path):
    none, other = tmp_path / "none.safetensors", tmp_path / "other.safetensors"
    assert_refused(lambda: weights.load(none), FileNotFoundError, "none.safetensors; course train")
    save_file({"x": torch.ones(2)}, other)
    assert_refused(lambda: weights.load(other), ValueError, "config; metadata")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"embed_dim": 24}, "size mismatch"),
        ({"num_layers": 3, "num_heads": 1, "raw_values": []}, "Missing key"),
        ({"positions": "wild"}, "positions must be one of"),
        ({"colour": 1}, "unexpected keyword argument"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(tmp_path, changes, says):
    model, path = small(), tmp_path / "odd.safetensors"
    config = asdict(model.config) | changes
    save_file(model.state_dict(), path, metadata={"config": json.dumps(config)})
    assert_refused(lambda: weights.load(path), ValueError, f"config and weights; {says}")


def test_weights_that_are_not_finite_are_refused(file):
    model = weights.load(file)
    with torch.no_grad():
        model.embedding[0, 0] = torch.nan
    weights.save(model, file)
    assert_refused(lambda: weights.load(file), ValueError, "not finite; embedding")
