"""Attribute the margin (good's logit minus bad's) to the words of a review, by several methods.

Each takes a model and tokens (B, L), padded at the end, and returns (B, L). READ and padding get
0: neither is a word of the review. All but the first two may be negative, for words that speak
for bad, whichever the answer is.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from analysis import gradient_times_input, integrated_gradients, rollout
from models.sentiment.reviews import ANSWERS, BLANK, INDEX, PAD, READ
from models.transformer import Run, Transformer

ANSWER_IDS = [INDEX[answer] for answer in ANSWERS]


def visible(tokens: Tensor) -> Tensor:
    """The padding mask (B, 1, 1, L)."""
    return (tokens != INDEX[PAD])[:, None, None, :]


def read(model: Transformer, tokens: Tensor) -> Run:
    return model(tokens, visible(tokens))


def logits(run: Run) -> Tensor:
    """(B, 2): for bad, and for good."""
    return run.logits[:, 0, ANSWER_IDS]


def margin(model: Transformer, tokens: Tensor) -> Tensor:
    """The logit of good less that of bad, (B,): above 0, the answer is good."""
    bad, good = logits(read(model, tokens)).unbind(-1)
    return good - bad


def margin_of_states(
    model: Transformer, x: Tensor, mask: Tensor, *, start: int = 0
) -> tuple[Tensor, list[Tensor]]:
    """Run the layers from ``start`` on over x (B, L, E); return the margin and all states."""
    states = [x]
    for layer in model.layers[start:]:
        x, _ = layer(x, x, None, mask)
        states.append(x)
    bad, good = ANSWER_IDS
    direction = model.embedding[good] - model.embedding[bad]
    bias = model.unembedding_bias[good] - model.unembedding_bias[bad]
    return F.linear(model.norm(x[:, 0]), direction[None], bias[None])[:, 0], states


def words_only(attributions: Tensor, tokens: Tensor) -> Tensor:
    return attributions.masked_fill((tokens == INDEX[PAD]) | (tokens == INDEX[READ]), 0.0)


@torch.no_grad()
def by_attention(model: Transformer, tokens: Tensor) -> Tensor:
    """Return READ's weights in the last layer, the mean over heads."""
    return words_only(read(model, tokens).weights[-1][:, :, 0].mean(1), tokens)


@torch.no_grad()
def by_rollout(model: Transformer, tokens: Tensor) -> Tensor:
    return words_only(rollout(read(model, tokens).weights)[:, 0], tokens)


def _over_words(model: Transformer, tokens: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the margin as a function of the words' vectors, with fixed positions."""
    mask, positions = visible(tokens), model.positions[: tokens.shape[1]]
    return lambda vectors: margin_of_states(model, vectors + positions, mask)[0]


def by_gradient(model: Transformer, tokens: Tensor) -> Tensor:
    """Gradient × input."""
    vectors = model.embedding[tokens]
    return words_only(gradient_times_input(_over_words(model, tokens), vectors), tokens)


def by_integrated_gradients(
    model: Transformer, tokens: Tensor, *, from_zero: bool = False, steps: int = 64
) -> Tensor:
    """On the way from blanks, or from vectors of zeros, to the words."""
    vectors = model.embedding[tokens]
    baseline = torch.zeros_like(vectors) if from_zero else model.embedding[_all_blank(tokens)]
    gradients = integrated_gradients(_over_words(model, tokens), vectors, baseline, steps)
    return words_only(gradients, tokens)


def _all_blank(tokens: Tensor) -> Tensor:
    fixed = (tokens == INDEX[PAD]) | (tokens == INDEX[READ])
    return torch.where(fixed, tokens, INDEX[BLANK])


@torch.no_grad()
def by_erasure(model: Transformer, tokens: Tensor) -> Tensor:
    """Return how far the margin falls if the word becomes a blank."""
    whole = margin(model, tokens)
    falls = torch.zeros(tokens.shape)
    for position in range(1, tokens.shape[1]):
        without = tokens.clone()
        without[:, position] = INDEX[BLANK]
        falls[:, position] = whole - margin(model, without)
    return words_only(falls, tokens)


@torch.no_grad()
def by_deletion(model: Transformer, tokens: Tensor) -> Tensor:
    """Return how far the margin falls if the word is left out, and those after it move up."""
    whole = margin(model, tokens)
    falls = torch.zeros(tokens.shape)
    pad = torch.full((len(tokens), 1), INDEX[PAD])
    for position in range(1, tokens.shape[1]):
        without = torch.cat((tokens[:, :position], tokens[:, position + 1 :], pad), 1)
        falls[:, position] = whole - margin(model, without)
    return words_only(falls, tokens)


METHODS = {
    "attention": by_attention,
    "rollout": by_rollout,
    "gradient × input": by_gradient,
    "integrated gradients": by_integrated_gradients,
    "erasure": by_erasure,
}


def finds(attributions: Tensor, decides: Tensor) -> Tensor:
    """Return whether every decisive word has a larger size than all other words, (B,).

    A tie with another word counts as no.
    """
    sizes = attributions.abs()
    least = sizes.masked_fill(~decides, torch.inf).amin(1)
    return least > sizes.masked_fill(decides, -torch.inf).amax(1)


@torch.no_grad()
def patched(model: Transformer, tokens: Tensor, other: Tensor) -> Tensor:
    """Return how far the answer moves to that of ``other`` if one state is taken from its run.

    Two texts of the same length. 0: it stays; 1: it becomes the other's. Returns (layers, B, L):
    first the states that enter layer 0, then those between layers.
    """
    mask = visible(tokens)
    positions = model.positions[: tokens.shape[1]]
    mine, states = margin_of_states(model, model.embedding[tokens] + positions, mask)
    theirs, others = margin_of_states(model, model.embedding[other] + positions, mask)
    shares = torch.zeros(len(model.layers), *tokens.shape)
    for level in range(len(model.layers)):
        for position in range(tokens.shape[1]):
            x = states[level].clone()
            x[:, position] = others[level][:, position]
            moved = margin_of_states(model, x, mask, start=level)[0]
            shares[level, :, position] = (moved - mine) / (theirs - mine)
    return shares


def answer_by_weights(
    model: Transformer, tokens: Tensor
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """Return the margin as a function of READ's weights in the last layer, and its own weights.

    All else stays as the model computes it. Shapes: weights (B, H, L) -> margin (B,).
    """
    with torch.no_grad():
        run, last = read(model, tokens), model.layers[-1]
        x = run.residual[-2]
        value = last.attention.qkv_proj(last.norm(x)).chunk(3, -1)[2]  # (B, L, E)
        value = value.unflatten(-1, (last.attention.num_heads, -1)).transpose(1, 2)  # (B, H, L, D)
        own = run.weights[-1][:, :, 0]
    bad, good = ANSWER_IDS
    direction = (model.embedding[good] - model.embedding[bad]).detach()
    bias = (model.unembedding_bias[good] - model.unembedding_bias[bad]).detach()

    def answer(weights: Tensor) -> Tensor:
        mixed = (weights[..., None, :] @ value).flatten(1)  # (B, E)
        first = x[:, 0] + last.attention.out_proj(mixed)
        return model.norm(first + last.mlp(first)) @ direction + bias

    return answer, own


def other_weights(
    model: Transformer, tokens: Tensor, *, steps: int = 300, rate: float = 0.1, price: float = 20.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Search weights of READ in the last layer that are far from its own and keep the answer.

    A change of the chance of good costs ``price`` times as much as the same share of the weight
    gains. The margin would be too strict: at 8 and at 5 the chance is the same. This is one search
    from equal weights, so that others may lie further.

    Returns: the weights (B, H, L); their distance from the model's own, half the sum of the
        differences, 0 to 1, the mean over heads, (B,); and how far the chance of good moved, (B,).
    """
    answer, own = answer_by_weights(model, tokens)
    chance, hidden = answer(own).detach().sigmoid(), ~visible(tokens)[:, 0]
    scores = torch.zeros_like(own).masked_fill(hidden, -torch.inf).requires_grad_()
    optimizer = torch.optim.Adam([scores], rate)

    def found() -> tuple[Tensor, Tensor, Tensor]:
        weights = scores.softmax(-1)
        far = (weights - own).abs().sum(-1).mean(1) / 2
        return weights, far, (answer(weights).sigmoid() - chance).abs()

    for _ in range(steps):
        _, far, moved = found()
        optimizer.zero_grad()
        (price * moved - far).sum().backward()
        optimizer.step()
    with torch.no_grad():
        return found()
