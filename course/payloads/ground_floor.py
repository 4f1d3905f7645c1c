"""What the ground floor shows before the storyteller is fetched: all that it computes of a text.

widgets/lib/inside.js finds the same of any text in the page.
"""

from __future__ import annotations

import json
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course.numbers import rounded
from course.payloads import MODELS
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from models.weights import load

GUESSES, NEAR, GROUP = 5, 3, 8


def payload(text: str) -> dict[str, Any]:
    """``inside`` of ``text`` as ``start``, the model's sizes, and how long it was trained."""
    model = load(MODELS / "storyteller/weights/storyteller.safetensors").double()
    scores = json.loads((MODELS / "storyteller/scores/storyteller.json").read_text("utf-8"))
    return {
        "start": {"text": text, **rounded(inside(model, text), vector=2, units=2)},
        "vocabulary": len(model.config.vocabulary),
        "units": model.config.mlp_dim,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": scores["seeds"]["0"]["steps"],
        "batch": scores["batch"],
    }


@torch.no_grad()
def inside(model: Transformer, text: str) -> dict[str, Any]:
    """What a model with MLPs computes for each token of ``text``, as plain numbers.

    ``maps[layer][head]``: rows of weights, each as long as its token can see. ``losses``: of each
    token but the last, in nats. ``places``: for each token its ``vector``; the tokens with the
    nearest; ``layers``, the lengths of what attention and MLP add and of the stream after each,
    and how strongly the MLP's units answer; the likeliest ``guesses``; and the ``truth``, with its
    share, rank and loss (None after the last).
    """
    tokenizer = Tokenizer(model.config.vocabulary)
    ids = tokenizer.encode(text)
    middle, units, hooks = [], [], []
    for layer in model.layers:
        mlp = layer.mlp
        hooks.append(mlp.register_forward_pre_hook(lambda _, x: middle.append(x[0][0])))
        hooks.append(mlp[2].register_forward_hook(lambda _, __, y: units.append(y[0])))
    run = model(torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    shares = run.logits[0].softmax(-1)
    losses = -shares[range(len(ids) - 1), ids[1:]].log()
    stream = [rows[0] for rows in run.residual]

    def place(i: int) -> dict[str, Any]:
        likeliest = shares[i].topk(GUESSES)
        truth = None
        if i + 1 < len(ids):
            share = shares[i, ids[i + 1]].item()
            rank = 1 + int((shares[i] > share).sum())
            truth = {"text": tokenizer.name(ids[i + 1]), "share": share, "rank": rank}
            truth["loss"] = losses[i].item()
        return {
            "id": ids[i],
            "vector": model.embedding[ids[i]],
            "near": _near(model.embedding, ids[i], tokenizer),
            "layers": [
                {
                    "attention": (middle[n][i] - stream[n][i]).norm().item(),
                    "between": middle[n][i].norm().item(),
                    "mlp": (stream[n + 1][i] - middle[n][i]).norm().item(),
                    "after": stream[n + 1][i].norm().item(),
                    "units": units[n][i].view(-1, GROUP).amax(1).relu(),
                    "active": int((units[n][i] > 0).sum()),
                }
                for n in range(len(units))
            ],
            "start": stream[0][i].norm().item(),
            "guesses": [
                {"text": tokenizer.name(token), "share": share}
                for share, token in zip(
                    likeliest.values.tolist(), likeliest.indices.tolist(), strict=True
                )
            ],
            "truth": truth,
        }

    maps = [[[row[: i + 1] for i, row in enumerate(head)] for head in w[0]] for w in run.weights]
    return {
        "tokens": [tokenizer.name(token) for token in ids],
        "maps": maps,
        "losses": losses,
        "places": [place(i) for i in range(len(ids))],
    }


def _near(embedding: Tensor, token: int, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """The tokens whose vectors point most nearly the same way, with the cosine."""
    likeness = F.cosine_similarity(embedding, embedding[token], dim=-1)
    likeness[token] = -1
    found = likeness.topk(NEAR)
    pairs = zip(found.values.tolist(), found.indices.tolist(), strict=True)
    return [{"text": tokenizer.name(other), "likeness": x} for x, other in pairs]
