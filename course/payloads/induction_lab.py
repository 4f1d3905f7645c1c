"""What the induction lab shows before a reader touches it: the scores, and the trace of a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course.page.numbers import rounded
from course.payloads import MODELS_FOLDER
from models.induction.sequences import VOCABULARY, sequences
from models.transformer import Transformer
from models.weights import load

FOLDER = MODELS_FOLDER / "induction"
GUESSES = 4


def signs(period: int, seed: int) -> str:
    """``period`` different signs, at most 23, in random order, and again. A space is no sign."""
    order = sequences(1, 24, torch.Generator().manual_seed(seed))[0].tolist()
    once = [VOCABULARY[i] for i in order if VOCABULARY[i] != " "][:period]
    return "".join(once * 2)


def history(name: str = "two-layers", seed: str = "0") -> list[dict[str, Any]]:
    """Return the scores of each checkpoint of one training."""
    path = FOLDER / "scores" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["seeds"][seed]["history"]


def payload(text: str, at: int, ticks: tuple[int, ...]) -> dict[str, Any]:
    """``trace`` of ``text`` by the trained model, and the scores of all checkpoints.

    ``files``: the checkpoints' weights, of ``size`` bytes in all. ``control``: (step, loss on what
    repeats) of the model with one layer. ``ticks``: the indices of the checkpoints that get one.
    """
    scores = history()
    files = [f"models/induction/weights/two-layers-{point['step']:04}.safetensors"
             for point in scores]  # fmt: skip
    last = FOLDER / "weights" / Path(files[-1]).name
    trace = read(load(last).double(), text)
    maps = [[row[: i + 1] for i, row in enumerate(head)] for head in trace["maps"].tolist()]
    return {
        "text": text,
        "at": at,
        "known": "".join(VOCABULARY),
        "longest": load(last).config.max_len,
        "files": files,
        "size": len(files) * last.stat().st_size,  # all alike
        "scores": [{**point, "heads": [{kind: head[kind] for kind in ("previous", "induction")}
                                       for head in point["heads"]]} for point in scores],
        "control": [[point["step"], point["repeated_loss"]] for point in history("one-layer")],
        "ticks": ticks,
        "reading": rounded({**trace, "maps": maps}),
    }  # fmt: skip


@torch.no_grad()
def read(model: Transformer, text: str, off: tuple[tuple[int, int], ...] = ()) -> dict[str, Any]:
    """Trace ``model`` on ``text``; widgets/lib/induction.js computes the same.

    ``maps``: one a head, rows of weights. ``given``: the share that the model gave each sign
    but the first. ``guesses``: after each sign the likeliest next, (sign, share). ``losses``: the
    mean loss in nats after signs that are new, and after repeated ones; None if there are none.
    """
    tokens = model.encode(list(text))
    run = model(tokens, off=off)
    shares = run.logits[0].softmax(-1)  # (L, V)
    right_shares = shares[range(len(text) - 1), tokens[0, 1:]]
    is_repeat = torch.tensor([text[i] in text[:i] for i in range(len(text) - 1)])
    best, likeliest = shares.topk(GUESSES)
    return {
        "maps": torch.cat([weights[0] for weights in run.weights]),
        "given": right_shares,
        "guesses": [
            [[VOCABULARY[i], share] for i, share in zip(*row, strict=True)]
            for row in zip(likeliest.tolist(), best.tolist(), strict=True)
        ],
        "losses": {
            "fresh": _loss(right_shares[~is_repeat]),
            "seen": _loss(right_shares[is_repeat]),
        },
    }


def _loss(shares: Tensor) -> float | None:
    return -shares.log().mean().item() if len(shares) else None
