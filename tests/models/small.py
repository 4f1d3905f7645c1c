"""A model of two small layers for tests, with numbers as large as training leaves them."""

import pytest
import torch

from models import weights
from models.transformer import Config, Transformer

WORDS = ("the", "cat", "sat", "on", "naïve", "Maße", "猫")


def small(**options):
    torch.manual_seed(0)
    sizes = {"vocabulary": WORDS, "max_len": 9, "embed_dim": 12, "num_heads": [3, 1]}
    model = Transformer(Config(**sizes | {"num_layers": 2} | options))
    with torch.no_grad():  # large enough to tell wirings apart
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    return model


def saved(folder, *, bits=16, **options):
    """Write the weights of ``small(**options)``, and return their file."""
    weights.save(small(**options), folder / "small.safetensors", bits=bits)
    return folder / "small.safetensors"


def assert_near(got, want, **what):
    """What JavaScript computes, in float32, is what PyTorch does in float64."""
    got = torch.tensor(got, dtype=torch.double).view(want.shape)
    torch.testing.assert_close(got, want.double(), rtol=0, atol=1e-4, **what)


def assert_all_near(got, want, within, where=""):
    """Compare dictionaries and lists of any depth: numbers may differ by ``within``."""
    if isinstance(want, dict):
        got = {str(key): value for key, value in got.items()}  # as JSON has them
        assert set(got) == set(want), where
        for key, value in want.items():
            assert_all_near(got[key], value, within, f"{where}.{key}")
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for i, (mine, theirs) in enumerate(zip(got, want, strict=True)):
            assert_all_near(mine, theirs, within, f"{where}[{i}]")
    elif isinstance(want, float):
        assert got == pytest.approx(want, abs=within), where
    else:
        assert got == want, where
