"""Trace what a model computes for a text, by hooks on PyTorch's own modules.

widgets/explorer/reader.js computes the same in the page.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Layer, Transformer

GUESSES, GROUP = 5, 8
PARTS = ("query", "key", "value", "mixed")
COARSE = {"weights": 5, "stream": 3, "units": 3}  # digits for the page


@torch.no_grad()
def storyteller_trace(text: str) -> dict[str, Any]:
    """Return the storyteller's trace in the form of widgets/explorer/reader.js, with all heads on.

    It has no queries, keys, values and outputs of heads, which come with the model, and the stream
    and the MLPs' units only of the last token. Its temperature is 1.
    """
    model = load_storyteller().double()
    tokenizer = Tokenizer(model.config.vocabulary)
    ids = tokenizer.encode(text)
    values = trace(model, ids)
    run, stages = values["run"], values["lens"]

    def guess(share: Tensor) -> list[dict[str, Any]]:
        return [
            {"text": tokenizer.name(i), "share": s}
            for s, i in zip(*(x.tolist() for x in share.topk(GUESSES)), strict=True)
        ]

    heads = [
        {
            "layer": layer, "head": number, "size": values["size"], "isOff": False,
            "weights": weights.flatten(), "bias": None,
        }
        for layer, one in enumerate(run.weights) for number, weights in enumerate(one[0])
    ]  # fmt: skip
    truth = [_truth(run.logits[0, i], ids, i, tokenizer) for i in range(len(ids))]
    losses = [one["loss"] for one in truth if one]
    return {
        "model": "storyteller", "text": text, "off": [], "temperature": 1, "causal": True,
        "pieces": [tokenizer.name(i) for i in ids],
        "heads": heads,
        "stream": [rows[0, -1] for rows in run.residual],
        "units": [rows[-1].unflatten(0, (-1, GROUP)).amax(-1) for rows in values["units"]],
        "guesses": [[guess(row.softmax(-1)) for row in rows] for rows in stages],
        "truth": truth,
        "loss": sum(losses) / len(losses),
        "pushes": [pushes(model, values, i) for i in range(len(ids))],
    }  # fmt: skip


@torch.no_grad()
def trace(model: Transformer, ids: list[int], off: tuple = ()) -> dict[str, Any]:
    """Return a run and its intermediate values.

    query, key (as compared, so turned), value, mixed: [layer] of (heads, L, size); units: [layer]
    of (L, mlp_dim); middle: [layer], the stream before the MLP; lens: [stage] of (L, V) logits.
    """
    middle, units, mixed, hooks = [], [], [], []
    for layer in model.layers:
        out = layer.attention.out_proj
        hooks.append(out.register_forward_pre_hook(lambda _, x: mixed.append(x[0][0])))
        if layer.mlp is not None:
            hooks += [
                layer.mlp.register_forward_pre_hook(lambda _, x: middle.append(x[0][0])),
                layer.mlp[2].register_forward_hook(lambda _, __, y: units.append(y[0])),
            ]
    run = model(torch.tensor([ids]), off=off)
    for hook in hooks:
        hook.remove()
    values = {"run": run, "middle": middle, "units": units, "query": [], "key": [], "value": []}
    for n, layer in enumerate(model.layers):
        for name, part in zip(PARTS, _project(model, layer, run.residual[n][0], ids), strict=False):
            values[name].append(part)
    values["size"] = values["query"][0].shape[-1]
    values["mixed"] = [
        rows.unflatten(-1, (heads, -1)).transpose(0, 1)
        for rows, heads in zip(mixed, model.config.num_heads, strict=True)
    ]
    values["lens"] = [
        F.linear(model.norm(rows[0]), model.embedding, model.unembedding_bias)
        for rows in run.residual
    ]
    return values


def _project(model: Transformer, layer: Layer, x: Tensor, ids: list[int]) -> tuple[Tensor, ...]:
    """Return a layer's query, key and value for the stream ``x``, each (heads, L, size)."""
    reads = layer.norm(x)
    placed = reads
    if model.config.positions == "query-key":
        placed = reads + model.positions[: len(ids)]
    values = model.embedding[ids] if layer.raw_values else reads
    project = layer.attention.qkv_proj
    query, key = project(placed).chunk(3, -1)[:2]
    value = project(values).chunk(3, -1)[2]
    split = (
        part.unflatten(-1, (layer.attention.num_heads, -1)).transpose(0, 1)
        for part in (query, key, value)
    )
    query, key, value = split
    rotary = layer.attention.rotary
    return (query, key, value) if rotary is None else (rotary(query), rotary(key), value)


def _truth(logits: Tensor, ids: list[int], i: int, tokenizer: Tokenizer) -> dict | None:
    if i + 1 == len(ids):
        return None
    shares = logits.softmax(-1)
    share = shares[ids[i + 1]]
    return {
        "text": tokenizer.name(ids[i + 1]), "share": share.item(),
        "rank": 1 + int((shares > share).sum()), "loss": -share.log().item(),
    }  # fmt: skip


def pushes(
    model: Transformer, values: dict[str, Any], i: int, guess: int | None = None
) -> dict[str, Any]:
    """Return how far each part moves ``guess``, or the likeliest, above the mean at token ``i``.

    The final norm divides the whole stream by one number; with that number held, the logit is a
    sum with one term for each part.
    """
    run = values["run"]
    guess = run.logits[0, i].argmax() if guess is None else guess
    way = model.embedding[guess] - model.embedding.mean(0)  # (E,)
    total = run.logits[0, i, guess] - run.logits[0, i].mean()
    if model.config.norm:
        scale = (run.residual[-1][0, i].var(unbiased=False) + model.norm.eps).sqrt()
        way = way * model.norm.weight / scale
        way = way - way.mean()
    heads, mlps = [], []
    for n, layer in enumerate(model.layers):
        weight = layer.attention.out_proj.weight.unflatten(-1, (model.config.num_heads[n], -1))
        heads += torch.einsum("e,ehd,hd->h", way, weight, values["mixed"][n][:, i]).tolist()
        if layer.mlp is not None:
            mlps.append((way @ (run.residual[n + 1][0, i] - values["middle"][n][i])).item())
    start = (way @ run.residual[0][0, i]).item()
    rest = total.item() - start - sum(heads) - sum(mlps)
    return {"start": start, "heads": heads, "mlps": mlps, "rest": rest}
