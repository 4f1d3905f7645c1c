"""Train softmax and linear attention to recall pairs, and write recall.json.

A text is n pairs, a key and a value each, drawn by lot; then every key is asked for its value.
One layer of attention reads the pairs, and a matrix turns its output into a guess. Eight minutes
of a processor: ``python -m modules.m13_beyond_softmax.recall``
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention import MultiHeadAttention
from variants import LinearAttention

SCORES = Path(__file__).with_name("recall.json")
KEYS, VALUES, WIDTH = 512, 64, 64
ASKED = 1024  # keys in a batch, whatever the length of its texts
PAIRS = (16, 64, 256)
SEEDS = range(5)
STEPS, LONGER, RATE = 800, 2400, 1e-2
LAYERS = ("softmax 4", "linear 4", "linear 1")
# What else might let a sum recall the most pairs: more training, or a larger layer.
RIVALS = {
    "linear 4, longer": ("linear 4", LONGER),
    "linear 1, longer": ("linear 1", LONGER),
    "linear 1 of 128": ("linear 1 of 128", STEPS),
}


class Recall(nn.Module):
    """Pairs as vectors, one layer of attention, a guess for each key that is asked."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        width = attention.embed_dim
        self.key, self.value = nn.Embedding(KEYS, width), nn.Embedding(VALUES, width)
        self.attention = attention
        self.guess = nn.Linear(width, VALUES)

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        """keys and values (B, n) -> logits (B, n, VALUES), one row for each key that is asked."""
        pairs = self.key(keys) + self.value(values)
        return self.guess(self.attention(self.key(keys), context=pairs))


def texts(n: int, count: int) -> tuple[Tensor, Tensor]:
    """Different keys in each text; a value may come twice."""
    keys = torch.rand(count, KEYS).argsort(-1)[:, :n]
    return keys, torch.randint(VALUES, (count, n))


def layer(name: str) -> nn.Module:
    """Make "softmax 4" or "linear 4", by its number of heads; "linear 1 of 128" is wider."""
    kind, heads, *wide = name.replace(" of", "").split()
    width = int(wide[0]) if wide else WIDTH
    return {"softmax": MultiHeadAttention, "linear": LinearAttention}[kind](width, int(heads))


def train(name: str, n: int, seed: int, steps: int = STEPS) -> float:
    """The share of values that are recalled in new texts, after training on texts of n pairs."""
    torch.manual_seed(seed)
    model = Recall(layer(name))
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.0, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(steps):
        keys, values = texts(n, ASKED // n)
        loss = F.cross_entropy(model(keys, values).flatten(0, 1), values.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        keys, values = texts(n, 8 * ASKED // n)
        return round((model(keys, values).argmax(-1) == values).float().mean().item(), 4)


def numbers_kept(name: str, n: int) -> int:
    """Count the numbers that the layer stores of n pairs: keys and values, or every head's sums."""
    mixer = layer(name)
    if isinstance(mixer, LinearAttention):
        return mixer.num_heads * mixer.head_dim * (mixer.head_dim + 1)
    return 2 * n * mixer.embed_dim


def main() -> None:
    torch.set_num_threads(1)
    record = {"steps": STEPS, "longer": LONGER, "values": VALUES, "kept": {}, "recalled": {}}
    for name in LAYERS:
        record["kept"][name] = {str(n): numbers_kept(name, n) for n in PAIRS}
        record["recalled"][name] = {str(n): [train(name, n, s) for s in SEEDS] for n in PAIRS}
        print(record, flush=True)
    most = max(PAIRS)
    for title, (name, steps) in RIVALS.items():
        record["kept"][title] = {str(most): numbers_kept(name, most)}
        record["recalled"][title] = {str(most): [train(name, most, s, steps) for s in SEEDS]}
        print(title, record["recalled"][title], flush=True)
    SCORES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
