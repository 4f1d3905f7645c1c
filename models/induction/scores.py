"""Score a model on repetition, as a whole and head by head."""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.induction.sequences import LENGTH, sequences
from models.transformer import Run, Transformer

PERIOD = LENGTH // 2  # the second half repeats the first
SEED, COUNT = 1_000_000, 256  # of the test sequences


def held_out() -> Tensor:
    return sequences(COUNT, PERIOD, torch.Generator().manual_seed(SEED))


@torch.no_grad()
def score(model: Transformer) -> dict:
    """Return losses in nats a token, and for each head its weights and the loss without it.

    ``first_loss``, ``repeated_loss``: on the tokens of the first half, which are random, and on
        those of the second, which repeat it.
    ``previous``: the weight that queries of the first half give to the token before them.
    ``induction``: the weight that queries of the second half give to the token that came after
        the same token, one period before.
    ``repeated_loss_off``: with the head switched off.
    """
    tokens = held_out()
    run = model(tokens)
    first, repeated = _losses(run, tokens)
    heads = [
        {
            "layer": layer, "head": head,
            "previous": _mean(weights[:, head, :PERIOD, :PERIOD].diagonal(-1, 1, 2)),
            "induction": _mean(weights[:, head, PERIOD:, 1 : PERIOD + 1].diagonal(0, 1, 2)),
            "repeated_loss_off": _losses(model(tokens, off=[(layer, head)]), tokens)[1],
        }
        for layer, weights in enumerate(run.weights) for head in range(weights.shape[1])
    ]  # fmt: skip
    return {"first_loss": first, "repeated_loss": repeated, "heads": heads}


def _losses(run: Run, tokens: Tensor) -> tuple[float, float]:
    losses = F.cross_entropy(run.logits[:, :-1].mT, tokens[:, 1:], reduction="none")
    # The token at PERIOD is the first to repeat. The one before it is new: induction can't tell.
    return _mean(losses[:, : PERIOD - 1]), _mean(losses[:, PERIOD:])


def _mean(numbers: Tensor) -> float:
    return round(numbers.mean().item(), 5)
