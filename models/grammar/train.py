"""Train the grammar models: three wirings, three seeds each. `python3 -m course train grammar`"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.grammar.card import update
from models.grammar.scores import score, to_tensors
from models.grammar.sentences import MAX_LEN, sentences
from models.grammar.words import INDEX, MASK, PAD, PLURAL_VERBS, SINGULAR_VERBS, VOCABULARY
from models.training import Report, fit, part_of
from models.transformer import Config, Transformer
from models.weights import load, save

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
SENTENCES, BATCH = 60_000, 128
HIDE, HIDE_ASKED = 0.12, 0.6  # share of words hidden; of words that others decide
SWAP = 0.4  # share of hidden verbs that become another verb instead of [mask]
VERBS = torch.tensor([INDEX[word] for word in PLURAL_VERBS + SINGULAR_VERBS])


@dataclass(frozen=True)
class Recipe:
    config: Config
    loss_at_it: bool = False
    shipped: int = 0  # the seed whose weights the pages load
    steps: int = 3000
    rate: float = 3e-3
    decay: float = 0.1


def _config(**wiring: object) -> Config:
    return Config(vocabulary=VOCABULARY, max_len=MAX_LEN, embed_dim=64, num_layers=2, **wiring)


STANDARD = {"num_heads": 4, "mlp_dim": 128, "norm": True, "positions": "learned"}
RECIPES = {
    "masked": Recipe(
        # More heads in layer 2 would share the work, and no single head would be needed.
        _config(num_heads=(4, 2), positions="relative", raw_values=(False, True)),
        loss_at_it=True,
        steps=7000,
    ),
    "causal": Recipe(_config(**STANDARD, is_causal=True), steps=4000),
    # The seed in which the answers are right though no head looks at the subject.
    "masked-standard": Recipe(_config(**STANDARD), shipped=1),
}


def train(workdir: Path, report: Report) -> None:
    """Train all models and seeds; write weights/ and scores/ beside this file."""
    data = to_tensors(list(sentences(seed=0, count=SENTENCES)))
    to_do = sum(recipe.steps for recipe in RECIPES.values()) * len(SEEDS)
    done = 0
    for name, recipe in RECIPES.items():
        seeds = {}
        for seed in SEEDS:
            after = part_of(report, f"{name}, seed {seed}", done, to_do)
            saved = workdir / f"{name}-{seed}.pt"
            model, seconds = train_one(name, seed, data, saved, after)
            done += recipe.steps
            # Score the weights as they are shipped, in float16.
            weights = workdir / f"{name}-{seed}.safetensors"
            save(model, weights)
            scores = score(load(weights), names_it=recipe.loss_at_it)
            seeds[str(seed)] = {"processor seconds": round(seconds)} | scores
            if seed == recipe.shipped:
                save(model, HERE / "weights" / f"{name}.safetensors")
        _write(name, seeds)
    update([*RECIPES])


def train_one(
    name: str, seed: int, data: tuple[Tensor, ...], saved: Path,
    after: Callable[[int, float], None], steps: int | None = None,
) -> tuple[Transformer, float]:  # fmt: skip
    """Return the model and its processor seconds. ``data`` comes from ``to_tensors``."""
    recipe = RECIPES[name]
    torch.manual_seed(seed)
    model = Transformer(recipe.config)
    guess = _next_word if recipe.config.is_causal else _hidden_words

    def loss() -> Tensor:
        batch = torch.randint(len(data[0]), (BATCH,))
        longest = int((data[0][batch] != INDEX[PAD]).sum(1).max())
        return guess(model, *(part[batch, :longest] for part in data), recipe.loss_at_it)

    options = {"rate": recipe.rate, "decay": recipe.decay, "saved": saved, "after": after}
    seconds = fit(model, loss, steps=steps or recipe.steps, **options)
    return model.eval(), seconds


def _hidden_words(
    model: Transformer, words: Tensor, decided: Tensor, meant: Tensor, at_it: bool
) -> Tensor:
    """Return the loss of hidden or swapped words; with ``at_it`` also of the noun of each "it"."""
    real, chance = words != INDEX[PAD], torch.rand(words.shape)
    hidden = real & (chance < HIDE) | decided & (chance < HIDE_ASKED)
    others = VERBS[torch.randint(len(VERBS), words.shape)]
    swap = decided & torch.isin(words, VERBS) & (torch.rand(words.shape) < SWAP)
    inputs = torch.where(swap, others, torch.full_like(words, INDEX[MASK]))
    inputs = torch.where(hidden, inputs, words)
    logits = model(inputs, real[:, None, None, :]).logits
    loss = F.cross_entropy(logits[hidden], words[hidden])
    if at_it:
        here = (meant != INDEX[PAD]) & ~hidden
        loss = loss + F.cross_entropy(logits[here], meant[here])
    return loss


def _next_word(model: Transformer, words: Tensor, *_: object) -> Tensor:
    logits, after = model(words).logits[:, :-1], words[:, 1:]
    real = after != INDEX[PAD]
    return F.cross_entropy(logits[real], after[real])


def _write(name: str, seeds: dict[str, dict]) -> None:
    path = HERE / "scores" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    recipe = RECIPES[name]
    weights = sum(p.numel() for p in Transformer(recipe.config).parameters())
    record = {"weights": weights, "shipped": recipe.shipped, "seeds": seeds}
    path.write_text(json.dumps(record, indent=1) + "\n")
