"""Train a model to guess the next word with the causal mask and without; write copying.json.

Both are one layer of one head and an MLP, and see 60,000 sentences of the grammar models, or as
many whose words are drawn by lot. Four minutes of a processor:
``python -m modules.m05_masks.copying``
"""

import json
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import torch
import torch.nn.functional as F
from torch import Tensor

from models.grammar.sentences import MAX_LEN, sentences
from models.grammar.words import INDEX, PAD, VOCABULARY
from models.training import fit
from models.transformer import Config, Transformer
from models.weights import load

SCORES = Path(__file__).with_name("copying.json")
SEEDS, SENTENCES, TESTS, BATCH = (0, 1, 2), 60_000, 500, 64
STEPS, RATE, DECAY = 1500, 3e-3, 0.1
WORDS = [word for word in VOCABULARY if not word.startswith("[")]
SHOWN = "the girl near the trees often waits ."
STARTS = ("the cat", "the keys near", "today the old")


def texts(kind: str, seed: int, count: int) -> list[list[str]]:
    """Make sentences, or texts of random words of the same lengths."""
    english = [sentence.words for sentence in sentences(seed, count)]
    draw = Random(seed)
    if kind == "sentences":
        return english
    return [draw.choices(WORDS, k=len(text)) for text in english]


def to_tokens(batch: list[list[str]]) -> Tensor:
    rows = [[INDEX[word] for word in text] for text in batch]
    return torch.tensor([row + [INDEX[PAD]] * (MAX_LEN - len(row)) for row in rows])


def guesses(model: Transformer, tokens: Tensor, *, hide: bool = False) -> tuple[Tensor, Tensor]:
    """Return logits and next words, (words, V) and (words,). ``hide``: hide later words."""
    real = (tokens != INDEX[PAD])[:, None, None, :]
    L = tokens.shape[1]
    mask = real & torch.ones(L, L, dtype=torch.bool).tril() if hide else real
    logits, after = model(tokens, mask).logits[:, :-1], tokens[:, 1:]
    asked = after != INDEX[PAD]
    return logits[asked], after[asked]


def untrained(*, is_causal: bool) -> Transformer:
    return Transformer(
        Config(VOCABULARY, MAX_LEN, 64, 1, 1, mlp_dim=128, norm=True, is_causal=is_causal)
    )


def train(tokens: Tensor, seed: int, *, is_causal: bool, steps: int = STEPS) -> Transformer:
    torch.manual_seed(seed)
    model = untrained(is_causal=is_causal)

    def loss() -> Tensor:
        batch = tokens[torch.randint(len(tokens), (BATCH,))]
        longest = int((batch != INDEX[PAD]).sum(1).max())
        return F.cross_entropy(*guesses(model, batch[:, :longest]))

    with TemporaryDirectory() as folder:
        options = {"rate": RATE, "decay": DECAY, "saved": Path(folder) / "model.pt"}
        fit(model, loss, steps=steps, after=lambda *_: None, **options)
    return model.eval()


@torch.no_grad()
def share_right(model: Transformer, tokens: Tensor, *, hide: bool = False) -> float:
    logits, after = guesses(model, tokens, hide=hide)
    return round((logits.argmax(-1) == after).float().mean().item(), 4)


@torch.no_grad()
def write(model: Transformer, start: str, words: int = 8) -> str:
    """Write the likeliest word each time, from only the words so far."""
    tokens = model.encode(start.split())
    for _ in range(words):
        tokens = torch.cat([tokens, model(tokens).logits[:, -1:].argmax(-1)], dim=1)
    return " ".join(VOCABULARY[i] for i in tokens[0])


def commonest(tokens: Tensor) -> tuple[str, float]:
    """Return the word that is next most often, and how often it is."""
    after = tokens[:, 1:]
    counts = after[after != INDEX[PAD]].bincount()
    return VOCABULARY[counts.argmax()], round((counts.max() / counts.sum()).item(), 4)


def unseen(kind: str) -> Tensor:
    trained = {" ".join(text) for text in texts(kind, 0, SENTENCES)}
    new = (text for text in texts(kind, 1, 5 * TESTS) if " ".join(text) not in trained)
    return to_tokens([text for text, _ in zip(new, range(TESTS), strict=False)])


def ceiling() -> dict:
    """Measure how far sentences can be guessed: what follows *the*, and a larger model's score."""
    trained = texts("sentences", 0, SENTENCES)
    larger = load("models/grammar/weights/causal.safetensors")
    return {
        "after the": len({b for text in trained for a, b in pairwise(text) if a == "the"}),
        "larger parameters": sum(weights.numel() for weights in larger.parameters()),
        "larger model": share_right(larger, unseen("sentences")),
    }


def scores(kind: str, seed: int, *, is_causal: bool) -> dict:
    model = train(to_tokens(texts(kind, 0, SENTENCES)), seed, is_causal=is_causal)
    tests = unseen(kind)
    results = {"right": share_right(model, tests), "hidden": share_right(model, tests, hide=True)}
    if kind == "sentences":
        with torch.no_grad():
            weights = model(model.encode(SHOWN.split())).weights[0][0, 0]
        results["writes"] = [write(model, start) for start in STARTS]
        results["map"] = [[round(weight, 4) for weight in row] for row in weights.tolist()]
    return results


def main() -> None:
    torch.set_num_threads(1)
    record = {
        "sentence": SHOWN.split(),
        "words": len(WORDS),
        "parameters": sum(w.numel() for w in untrained(is_causal=False).parameters()),
        "commonest": commonest(unseen("sentences")),
        "ceiling": ceiling(),
    }
    for kind in ("sentences", "drawn by lot"):
        for name, is_causal in (("everything", False), ("only back", True)):
            score = partial(scores, kind, is_causal=is_causal)
            record[f"{kind}, {name}"] = {str(seed): score(seed) for seed in SEEDS}
    SCORES.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
