"""What the front page shows of the storyteller before a reader asks for more: one text, read."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from models.storyteller.scores import LOOKS
from models.storyteller.tokens import Tokenizer
from models.weights import load

HERE = Path(__file__).parent
FILE = "models/storyteller/weights/storyteller.safetensors"
GUESSES = 5
UNIT = 1_000_000  # published numbers are whole numbers of this part; widgets/story.js has it, too


@torch.no_grad()
def opening(text: str, temperature: float) -> dict:
    """The text's tokens, all weights and the likeliest next tokens, and the scores of every head.

    ``weights``: head by head, row by row, row i with its i + 1 weights. ``guesses``: for each
        token what may follow it at ``temperature``, as pairs (text, share).
    """
    file = HERE / "weights/storyteller.safetensors"
    model = load(file).double().eval()
    tokenizer = Tokenizer(model.config.vocabulary)
    tokens = tokenizer.encode(text)
    run = model(torch.tensor([tokens]))
    rows, columns = torch.tril_indices(len(tokens), len(tokens))
    weights = torch.cat([layer[0, :, rows, columns].flatten() for layer in run.weights])
    shares, likeliest = (run.logits[0] / temperature).softmax(-1).topk(GUESSES)
    return {
        "text": text,
        "temperature": temperature,
        "file": FILE,
        "size": file.stat().st_size,
        "pieces": [tokenizer.name(token) for token in tokens],
        "weights": whole(weights),
        "guesses": [
            [[tokenizer.name(token), share] for token, share in zip(*of_one, strict=True)]
            for of_one in zip(likeliest.tolist(), whole(shares).tolist(), strict=True)
        ],
        "heads": head_scores(),
    }  # fmt: skip


def whole(shares: Tensor) -> Tensor:
    return (shares * UNIT).round().int()


def head_scores() -> list[dict]:
    """Of each head its name, what its absence costs in nats, and what it gives to whom.

    ``looks`` has for each of LOOKS the mean weight on held-out books, trained and untrained.
    """
    scores = json.loads((HERE / "scores/storyteller.json").read_text("utf-8"))["seeds"]["0"]
    trained = scores["held out"]["heads"]
    untrained = scores["on the way"]["0"]["held out"]["heads"]
    return [
        {
            "name": f"{head['layer'] + 1}.{head['head'] + 1}",
            "cost": head["cost"],
            "looks": {look: [head[look], before[look]] for look in LOOKS},
        }
        for head, before in zip(trained, untrained, strict=True)
    ]
