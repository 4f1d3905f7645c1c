"""Train the ordinary grammar model from its other seeds; write where each stores the number.

The lesson shows the seed whose weights the course keeps, in which no head looks at the subject.
This says what the same patches and the same sentences give in the others, in other_seeds.json.
Three minutes of a processor: ``python -m modules.m09_interpretation.other_seeds``
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from models.grammar.scores import to_tensors
from models.grammar.sentences import sentences
from models.grammar.train import RECIPES, SEEDS, SENTENCES, train_one
from models.weights import load, save
from modules.m09_interpretation.subject_number import guesses, kept_at, pairs

NAME, SHOWN = "masked-standard", 100
SCORES = Path(__file__).with_name("other_seeds.json")


def score(weights: Path) -> dict[str, float]:
    model, batch = load(weights), pairs(SHOWN)
    right, _ = guesses(model, batch)
    shares = {name: round(share, 4) for name, share in kept_at(model, batch).items()}
    return {"right": round(right, 4)} | shares


def main() -> None:
    torch.set_num_threads(1)
    data = to_tensors(list(sentences(seed=0, count=SENTENCES)))
    record = {}
    with TemporaryDirectory() as folder:
        for seed in SEEDS:
            if seed == RECIPES[NAME].shipped:
                continue  # the page computes it
            print(f"{NAME}, seed {seed}", file=sys.stderr)
            work = Path(folder)
            model, _ = train_one(NAME, seed, data, work / f"{seed}.pt", lambda *_: None)
            save(model, work / f"{seed}.safetensors")  # in float16, as the page's is
            record[str(seed)] = score(work / f"{seed}.safetensors")
    SCORES.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
