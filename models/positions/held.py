"""Score a rotary model whose hands change beyond the trained distances."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from models.positions.task import HEADS, LENGTH, LONGEST, QUESTIONS, WIDTH, Reader, examples

TESTS = 200
HANDS = WIDTH // HEADS // 2
SPEEDS = tuple(10000.0 ** (-hand / HANDS) for hand in range(HANDS))  # radians a position

# A changed hand's part of the score beyond the trained distances, from its part by its angles.
FAR = {
    "held": lambda brought, at_the_furthest: at_the_furthest,
    "nothing": lambda brought, at_the_furthest: torch.zeros_like(brought),
    "no bonus": lambda brought, at_the_furthest: brought.clamp(max=0),
}


@torch.no_grad()
def right_with_held(
    model: Reader,
    hands: Sequence[int],
    layers: Sequence[int] = (0, 1),
    *,
    far: str = "held",
    speeds: Sequence[float] = SPEEDS,
    length: int = LONGEST,
) -> dict[str, float]:
    """Return the share right at the last LENGTH positions of rows of ``length`` tokens.

    In ``layers``, ``hands`` change beyond the trained distances. Hand 0 is the fastest.
    ``far``: "held", they take every such distance for the largest trained one; "nothing", they
    bring nothing; "no bonus", they bring what they bring, but nothing above 0.
    """
    signs, answers = examples(TESTS, length, torch.Generator().manual_seed(10**6))
    x, positions = model.embed(signs), torch.arange(length)
    for number, layer in enumerate(model.layers):
        if number not in layers:
            x = layer(x, positions)
            continue
        query, key, value = layer.attention.project(layer.norm(x))
        weights = _weights(query, key, hands, far, speeds)
        mixed = (weights @ value).transpose(1, 2).flatten(2)
        x = x + layer.attention.out_proj(mixed)
        x = x + layer.mlp(x)
    shares = {}
    for question, logits in zip(QUESTIONS, model.answer(x).chunk(2, -1), strict=True):
        right, asked = (part[:, -LENGTH:] for part in answers[question])
        hit = (logits.argmax(-1)[:, -LENGTH:] == right) & asked
        shares[question] = (hit.sum() / asked.sum()).item()
    return shares


def _weights(
    query: Tensor, key: Tensor, hands: Sequence[int], far: str, speeds: Sequence[float]
) -> Tensor:
    """Return causal weights (B, H, L, L), from hands as complex numbers."""
    size = query.shape[-1]
    query, key = (
        torch.view_as_complex(part.unflatten(-1, (-1, 2)).contiguous()) for part in (query, key)
    )
    at = torch.arange(query.shape[-2])
    distance = (at[:, None] - at).clamp(min=0)
    scores = torch.zeros(())
    for hand, speed in enumerate(speeds):
        pairs = query[..., hand, None] * key[..., None, :, hand].conj()
        brought, at_the_furthest = (
            (pairs * torch.polar(torch.ones(()), back * speed)).real
            for back in (distance, distance.clamp(max=LENGTH - 1))
        )
        if hand in hands:
            changed = FAR[far](brought, at_the_furthest)
            brought = torch.where(distance < LENGTH, brought, changed)
        scores = scores + brought
    hidden = at > at[:, None]
    return F.softmax((scores / size**0.5).masked_fill(hidden, -torch.inf), -1)
