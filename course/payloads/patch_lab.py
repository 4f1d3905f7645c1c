"""Every patch of one or two vectors between the layers of models A and B, for m09's lab."""

from __future__ import annotations

import torch

from course.page.numbers import rounded
from course.payloads.attributions import EXAMPLES, classifier
from models.sentiment.attributions import logits, margin_of_states, read
from models.sentiment.reviews import READ

# What the second run reads in place of a word of the first: both turn the answer.
REPLACED = {"quite": "not", "dull": "superb"}


@torch.no_grad()
def payload() -> dict:
    """Return for each model and second run the answers of both, and of each patch.

    y: [first run's, second run's]; off: the same with the head of layer 2 switched off; ways:
    (L, L), how far y moves from the first to the second with the vectors at two positions, or at
    one, taken from the second run; below: (L, L), layer 1's map, the mean of its heads.
    """
    words = [READ, *EXAMPLES[0].split()]
    runs = [{"name": new, "word": old, "at": words.index(old)} for new, old in REPLACED.items()]
    models = {}
    for name in "BA":
        model = classifier(name)
        first, mine = _run(model, words)
        below, top = (layer[0].mean(0) for layer in first.weights)
        models[name] = {"weights": rounded(top[0]), "below": rounded(below), "runs": {}}
        for run in runs:
            other = [run["name"] if i == run["at"] else word for i, word in enumerate(words)]
            _, theirs = _run(model, other)
            off = (model(model.encode(text), off=[(1, 0)]) for text in (words, other))
            models[name]["runs"][run["name"]] = {
                "y": rounded(
                    margin_of_states(model, torch.stack((mine, theirs)), None, start=1)[0]
                ),
                "off": [
                    rounded((good - bad).item()) for bad, good in (logits(one)[0] for one in off)
                ],
                "ways": rounded(_ways(model, mine, theirs)),
            }
    return {"words": words, "runs": runs, "models": models}


def _run(model, words):
    run = read(model, model.encode(words))
    return run, run.residual[1][0]


def _ways(model, mine, theirs):
    each = torch.eye(len(mine)).bool()
    replaced = (each[:, None] | each)[..., None]  # (L, L, L, 1)
    x = torch.where(replaced, theirs, mine).flatten(0, 1)
    y = margin_of_states(model, x, None, start=1)[0].unflatten(0, (len(mine), -1))
    first, second = margin_of_states(model, torch.stack((mine, theirs)), None, start=1)[0]
    return (y - first) / (second - first)
