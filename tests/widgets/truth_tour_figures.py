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
    "key": [[0, 1], [1, 0.5], [0.5, 1], [1, 0]],
    "value": [[-1, 1], [1, 0.5], [0.5, 1.5], [1, 0]],
}
QKV = {name: X @ torch.tensor(table, dtype=torch.float64) for name, table in TABLES.items()}
# The mat in place of the cat: a noun alone.
OF_MAT = {name: torch.stack([x[0], torch.tensor(TABLES[name][1], dtype=torch.float64), x[2]])
          for name, x in QKV.items()}  # fmt: skip
LIONS = ["the lion near the old windows [mask] tame", "the lions near the old window [mask] tame"]
GAP = 6
ALL_HEADS = [(layer, head) for layer, count in enumerate((4, 2)) for head in range(count)]
WORDS = "the cat sat on the mat because it was".split()
ENDINGS = ["tired", "warm"]
NAMES = [*(f"layer 1, head {h}" for h in range(1, 5)), "layer 2, head 1", "layer 2, head 2"]


def exact(*, is_causal, of=QKV):
    output, weights = scaled_dot_product_attention(*of.values(), is_causal=is_causal)
    scores = of["query"] @ of["key"].T
    scaled = scores / 2**0.5
    masked = scaled.masked_fill(torch.ones(3, 3).triu(1).bool() & is_causal, -torch.inf)
    return {**of, "scores": scores, "scaled": scaled, "masked": masked,
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


@cache
def fillings(sentence):
    """(maps, {word: its probability at the gap}): with all heads, then without each."""
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    runs = []
    with torch.no_grad():
        for off in [(), *((head,) for head in ALL_HEADS)]:
            run = model(model.encode(sentence.split()), off=off)
            chances = run.logits[0, GAP].softmax(-1).tolist()
            words = dict(zip(model.config.vocabulary, chances, strict=True))
            runs.append((torch.cat(run.weights, dim=1)[0].double(), words))
    return runs
