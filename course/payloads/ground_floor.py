"""What the ground floor shows before the storyteller is fetched: a trace of one text.

widgets/lib/inside.js computes the same for any text in the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course.page.numbers import rounded
from course.payloads import MODELS_FOLDER
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer

GUESSES, FALLEN, NEAR, GROUP = 5, 2, 3, 8


def payload(text: str, endings: Sequence[str] = (), **parts: Any) -> dict[str, Any]:
    """``trace`` of ``text`` as ``start``, the model's sizes, and how long it was trained.

    With ``endings``: what the cut-outs of the page show of them, as ``cut``; ``parts`` are those
    of ``ending``.
    """
    model = load_storyteller().double()
    scores = json.loads((MODELS_FOLDER / "storyteller/scores/storyteller.json").read_text("utf-8"))
    return {
        "start": {"text": text, **rounded(trace(model, text), vector=2, units=2)},
        "vocabulary": len(model.config.vocabulary),
        "units": model.config.mlp_dim,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": scores["seeds"]["0"]["steps"],
        "batch": scores["batch"],
        "cut": {**parts, "texts": [rounded(ending(model, one, **parts)) for one in endings]},
    }


@torch.no_grad()
def trace(model: Transformer, text: str) -> dict[str, Any]:
    """Return what a model with MLPs computes for each token of ``text``, as plain numbers.

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

    def truth(i: int) -> dict[str, Any]:
        share = shares[i, ids[i + 1]].item()
        rank = 1 + int((shares[i] > share).sum())
        name = tokenizer.name(ids[i + 1])
        return {"text": name, "share": share, "rank": rank, "loss": losses[i].item()}

    def at(i: int) -> dict[str, Any]:
        layers = zip(stream[:-1], middle, stream[1:], units, strict=True)
        return {
            "id": ids[i],
            "vector": model.embedding[ids[i]],
            "near": _near(model.embedding, ids[i], tokenizer),
            "layers": [_layer(*(rows[i] for rows in layer)) for layer in layers],
            "start": stream[0][i].norm().item(),
            "guesses": _most(shares[i], GUESSES, "share", tokenizer),
            "truth": truth(i) if i + 1 < len(ids) else None,
        }

    maps = [[[row[: i + 1] for i, row in enumerate(head)] for head in w[0]] for w in run.weights]
    return {
        "tokens": [tokenizer.name(token) for token in ids],
        "maps": maps,
        "losses": losses,
        "places": [at(i) for i in range(len(ids))],
    }


@torch.no_grad()
def ending(
    model: Transformer, text: str, head: tuple[int, int], unit: tuple[int, int], watched: str
) -> dict[str, Any]:
    """Return what a head and a unit, (layer, number), do with a text, and what comes after it.

    ``looks``: the head's weights of the last token. ``answers``: the unit's, to each token.
    ``guesses``: the likeliest, and the token ``watched``, each with its share. ``silent``, without
    the head: the likeliest, and those that were the first two with it, also with the share
    ``before``.
    """
    tokenizer = Tokenizer(model.config.vocabulary)
    ids = tokenizer.encode(text)
    answered: list[Tensor] = []
    hook = (
        model.layers[unit[0]].mlp[2].register_forward_hook(lambda _, __, y: answered.append(y[0]))
    )
    on, off = (model(torch.tensor([ids]), off=heads) for heads in ((), (head,)))
    hook.remove()
    before, after = (run.logits[0, -1].softmax(-1) for run in (on, off))
    [watched_id] = tokenizer.encode(watched)

    def rows(now: Tensor, others: list[int]) -> list[dict[str, Any]]:
        shown = dict.fromkeys([*now.topk(GUESSES).indices.tolist(), *others])
        return [{"text": tokenizer.name(i), "share": now[i].item()} for i in shown]

    silent = rows(after, before.topk(FALLEN).indices.tolist())
    shares = dict(zip(map(tokenizer.name, range(len(before))), before.tolist(), strict=True))
    return {
        "text": text,
        "tokens": [tokenizer.name(token) for token in ids],
        "looks": on.weights[head[0]][0, head[1], -1],
        "answers": answered[0][:, unit[1]],
        "guesses": rows(before, [watched_id]),
        "silent": [{**row, "before": shares[row["text"]]} for row in silent],
    }


def _layer(before: Tensor, between: Tensor, after: Tensor, units: Tensor) -> dict[str, Any]:
    """Describe what a layer does to one token's vector."""
    return {
        "attention": (between - before).norm().item(),
        "between": between.norm().item(),
        "mlp": (after - between).norm().item(),
        "after": after.norm().item(),
        "units": units.view(-1, GROUP).amax(1).relu(),
        "active": int((units > 0).sum()),
    }


def _near(embedding: Tensor, token: int, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Return the tokens whose vectors have the largest cosine with this one's."""
    likeness = F.cosine_similarity(embedding, embedding[token], dim=-1)
    likeness[token] = -1
    return _most(likeness, NEAR, "likeness", tokenizer)


def _most(amounts: Tensor, count: int, name: str, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Name the tokens with the largest of these amounts (V,), and say how large they are."""
    largest = amounts.topk(count)
    pairs = zip(largest.values.tolist(), largest.indices.tolist(), strict=True)
    return [{"text": tokenizer.name(token), name: amount} for amount, token in pairs]


@torch.no_grad()
def answers(model: Transformer, beginning: str) -> list[Tensor]:
    """Let all units answer to each token of the vocabulary after ``beginning``.

    Returns: for each layer (V, units), after GELU.
    """
    size = len(model.config.vocabulary)
    ids = torch.tensor(Tokenizer(model.config.vocabulary).encode(beginning))
    rows = torch.cat((ids.expand(size, -1), torch.arange(size)[:, None]), dim=1)
    outputs: list[Tensor] = []
    hooks = [
        layer.mlp[2].register_forward_hook(lambda _, __, y: outputs.append(y[:, -1]))
        for layer in model.layers
    ]
    model(rows)
    for hook in hooks:
        hook.remove()
    return outputs


@torch.no_grad()
def fits(model: Transformer, layer: int, unit: int) -> Tensor:
    """Compare what a unit adds to the stream with each token's vector, as the guess does: (V,)."""
    added = model.layers[layer].mlp[3].weight[:, unit]
    return model.embedding @ ((added - added.mean()) * model.norm.weight)


@torch.no_grad()
def next_shares(
    model: Transformer, text: str, off: tuple[int, int] | None = None
) -> dict[str, float]:
    """Guess what follows ``text``: a share for each token; ``off`` is a silent (layer, unit)."""
    tokenizer = Tokenizer(model.config.vocabulary)
    layer, unit = off or (0, None)
    hook = (
        model.layers[layer]
        .mlp[2]
        .register_forward_hook(
            lambda _, __, y: None if unit is None else y.index_fill(-1, torch.tensor(unit), 0)
        )
    )
    shares = model(torch.tensor([tokenizer.encode(text)])).logits[0, -1].softmax(-1)
    hook.remove()
    return {tokenizer.name(i): share for i, share in enumerate(shares.tolist())}


def learned(text: str, steps: int, rate: float = 0.01) -> Transformer:
    """Let the storyteller take plain steps of gradient descent on one text, as the widget does."""
    model = load_storyteller().double()
    tokens = torch.tensor([Tokenizer(model.config.vocabulary).encode(text)])
    parameters = list(model.parameters())
    for _ in range(steps):
        loss = F.cross_entropy(model(tokens[:, :-1]).logits[0], tokens[0, 1:])
        slopes = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, slope in zip(parameters, slopes, strict=True):
                parameter -= rate * slope
    return model
