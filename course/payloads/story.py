"""What the front page's widget shows before the storyteller is fetched: a trace of one text."""

from __future__ import annotations

import json

import torch

from course.page.numbers import rounded
from course.payloads import MODELS_FOLDER
from models.storyteller.model import ADDRESS, FILE, load_storyteller
from models.storyteller.scores import LOOKS
from models.storyteller.tokens import Tokenizer

GUESSES = 5


@torch.no_grad()
def payload(
    text: str, temperature: float, head: str, off: tuple[tuple[int, int], ...] = ()
) -> dict:
    """Return the text's tokens, all weights, the likeliest next tokens, and every head's scores.

    ``weights``: head by head, row by row, row i with its i + 1 weights. ``guesses``: for each
        token what may follow it at ``temperature``, as pairs (text, share). ``head``: the name
        of the head that is chosen first. ``off``: heads that are silent, from 0.
    """
    model = load_storyteller().double()
    tokenizer = Tokenizer(model.config.vocabulary)
    tokens = tokenizer.encode(text)
    run = model(torch.tensor([tokens]), off=off)
    rows, columns = torch.tril_indices(len(tokens), len(tokens))
    weights = torch.cat([layer[0, :, rows, columns].flatten() for layer in run.weights])
    shares, likeliest = (run.logits[0] / temperature).softmax(-1).topk(GUESSES)
    return {
        "text": text,
        "temperature": temperature,
        "file": ADDRESS,
        "size": FILE.stat().st_size,
        "pieces": [tokenizer.name(token) for token in tokens],
        "weights": rounded(weights),
        "guesses": [
            [[tokenizer.name(token), share] for token, share in zip(*pair, strict=True)]
            for pair in zip(likeliest.tolist(), rounded(shares), strict=True)
        ],
        "heads": head_scores(),
        "head": head,
    }  # fmt: skip


def last_row(story: dict) -> list[tuple[str, float]]:
    """Return the last token's weights in the chosen head: (token, weight), largest first.

    ``story`` is what ``payload`` returned.
    """
    pieces, count = story["pieces"], len(story["pieces"])
    head = [head["name"] for head in story["heads"]].index(story["head"])
    end = (head + 1) * count * (count + 1) // 2
    row = story["weights"][end - count : end]
    return sorted(zip(pieces, row, strict=True), key=lambda pair: -pair[1])


def head_scores() -> list[dict]:
    """Return each head's name, the loss that its absence adds (in nats), and its looks.

    ``looks`` has the mean weight on held-out books for each of LOOKS, trained and untrained.
    """
    scores = json.loads((MODELS_FOLDER / "storyteller/scores/storyteller.json").read_text("utf-8"))[
        "seeds"
    ]["0"]
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
