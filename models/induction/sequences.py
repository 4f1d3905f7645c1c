"""Generate sequences that repeat a random order, so that looking back is all there is to learn."""

import torch
from torch import Generator, Tensor

VOCABULARY = tuple("abcdefghijklmnopqrstuvwxyz .,'?!")
LENGTH = 48
PERIODS = range(6, 25)  # at least two fit into a sequence


def sequences(count: int, period: int | None = None, generator: Generator | None = None) -> Tensor:
    """Make (count, LENGTH): ``period`` different tokens in a random order, repeated to the end.

    Without ``period`` it differs by sequence, so that no fixed distance leads to the answer.
    """
    choice = torch.randint(PERIODS[0], PERIODS[-1] + 1, (count, 1), generator=generator)
    periods = choice if period is None else torch.full((count, 1), period)
    order = torch.rand(count, len(VOCABULARY), generator=generator).argsort(dim=1)
    return order.gather(1, torch.arange(LENGTH) % periods)
