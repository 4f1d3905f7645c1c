"""The tour's three words by attention.py, and its sentences by the shipped model."""

from functools import cache

import torch

from attention import scaled_dot_product_attention
from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT

X = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]], dtype=torch.float64)
TABLES = {
    "query": [[1, 0.5], [-0.5, 2], [2, 1], [0.5, 0]],
    "key": [[0, 1], [1.5, 0], [0.5, 1], [0.5, 0.5]],
    "value": [[-1, 1], [1, 0.5], [0.5, 1.5], [1, 0]],
}
QKV = {name: X @ torch.tensor(table, dtype=torch.float64) for name, table in TABLES.items()}
WORDS = "the cat sat on the mat because it was".split()
ENDINGS = ["tired", "warm"]
NAMES = [*(f"layer 1, head {h}" for h in range(1, 5)), "layer 2, head 1", "layer 2, head 2"]


def exact(*, is_causal):
    output, weights = scaled_dot_product_attention(*QKV.values(), is_causal=is_causal)
    scores = QKV["query"] @ QKV["key"].T
    scaled = scores / 2**0.5
    masked = scaled.masked_fill(torch.ones(3, 3).triu(1).bool() & is_causal, -torch.inf)
    return {**QKV, "scores": scores, "scaled": scaled, "masked": masked,
            "weights": weights, "output": output}  # fmt: skip


@cache
def maps():
    """(last word, source) -> (heads, words, words), those of layer 1 first."""
    trained = load(ROOT / "models/grammar/weights/masked.safetensors")
    torch.manual_seed(0)
    models = {"trained": trained, "random": Transformer(trained.config).eval()}
    with torch.no_grad():
        return {
            (end, source): torch.cat(model(model.encode([*WORDS, end])).weights, dim=1)[0].double()
            for end in ENDINGS
            for source, model in models.items()
        }
