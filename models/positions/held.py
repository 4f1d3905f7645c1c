"""What a rotary model answers if some of its hands stop turning beyond the trained distances."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from models.positions.task import LENGTH, LONGEST, QUESTIONS, Reader, examples

TESTS = 200


@torch.no_grad()
def right_with_held(
    model: Reader, hands: Sequence[int], layers: Sequence[int] = (0, 1)
) -> dict[str, float]:
    """Return the share right at the last LENGTH positions of rows of LONGEST tokens.

    In the given layers, the given hands take every distance beyond the trained ones for the
    largest of these. Hand 0 is the fastest.
    """
    signs, answers = examples(TESTS, LONGEST, torch.Generator().manual_seed(10**6))
    x, positions = model.embed(signs), torch.arange(LONGEST)
    for number, layer in enumerate(model.layers):
        if number not in layers:
            x = layer(x, positions)
            continue
        query, key, value = layer.attention._project(layer.norm(x))
        weights = _weights(query, key, hands)
        mixed = (weights @ value).transpose(1, 2).flatten(2)
        x = x + layer.attention.out_proj(mixed)
        x = x + layer.mlp(x)
    shares = {}
    for question, logits in zip(QUESTIONS, model.answer(x).chunk(2, -1), strict=True):
        wanted, asked = (part[:, -LENGTH:] for part in answers[question])
        hit = (logits.argmax(-1)[:, -LENGTH:] == wanted) & asked
        shares[question] = (hit.sum() / asked.sum()).item()
    return shares


def _weights(query: Tensor, key: Tensor, hands: Sequence[int]) -> Tensor:
    """Causal weights (B, H, L, L), from hands as complex numbers."""
    size = query.shape[-1]
    query, key = (
        torch.view_as_complex(part.unflatten(-1, (-1, 2)).contiguous()) for part in (query, key)
    )
    at = torch.arange(LONGEST)
    distance = (at[:, None] - at).clamp(min=0)
    scores = torch.zeros(())
    for hand in range(size // 2):
        far = distance.clamp(max=LENGTH - 1) if hand in hands else distance
        turn = torch.polar(torch.ones(()), far * 10000.0 ** (-2 * hand / size))
        pairs = query[..., hand, None] * key[..., None, :, hand].conj()
        scores = scores + (pairs * turn).real
    hidden = at > at[:, None]
    return F.softmax((scores / size**0.5).masked_fill(hidden, -torch.inf), -1)
