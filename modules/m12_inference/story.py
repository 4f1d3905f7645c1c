"""Let the storyteller write with your decoder, the capstone of exercises/m12.py.

``python3 -m modules.m12_inference.story Once upon a time``
"""

import sys

import torch

from exercises.m12 import write_story
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer


def main(begin: str = "Once upon a time", count: int = 120) -> None:
    model = load_storyteller()
    tokenizer = Tokenizer(model.config.vocabulary)
    tokens = tokenizer.encode(begin)
    with torch.no_grad():  # it only writes
        written = write_story(model, tokens, count)
    if written is None:
        raise SystemExit("write_story in exercises/m12.py isn't written yet")
    print(begin + tokenizer.decode(written[0]))


if __name__ == "__main__":
    main(*[" ".join(sys.argv[1:])][: len(sys.argv) > 1])
