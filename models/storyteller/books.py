"""The books as tokens: those to train on, and those that are held out, whole."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from course.problems import Problem
from models.storyteller.tokens import Tokenizer, learn

VOCABULARY, LENGTH = 1024, 256
# Project Gutenberg's numbers, with which the files' names begin. Of the first two authors other
# books are trained on; of the last two, none.
HELD_OUT = {"46866": "Burgess", "17412": "Hope", "501": "Lofting", "18190": "Gruelle"}
SHARE = 25  # in a folder without these books, one in so many is held out


def read(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of a folder's .txt files by name: to train on, and held out.

    Raises: Problem if the folder has fewer than two texts, or one that is no UTF-8.
    """
    files = sorted(folder.glob("*.txt"))
    if len(files) < 2:
        raise Problem(folder, None, f"{len(files)} .txt files: two are needed, one to hold out")
    held = [file for file in files if file.name.split("-")[0] in HELD_OUT] or files[::SHARE]
    texts = {file.name: _text(file) for file in files}
    names = {file.name for file in held}
    train = {name: text for name, text in texts.items() if name not in names}
    return train, {name: texts[name] for name in texts if name in names}


def prepare(folder: Path) -> tuple[tuple[str, ...], Tensor, dict[str, Tensor]]:
    """Vocabulary, training tokens (N,), and the tokens of each held-out book."""
    train, held = read(folder)
    try:
        vocabulary = learn(train.values(), VOCABULARY)
    except ValueError as error:
        raise Problem(folder, None, str(error)) from error
    tokenizer = Tokenizer(vocabulary)
    books = {name: torch.tensor(tokenizer.encode(text)) for name, text in (train | held).items()}
    whole = torch.cat([books[name] for name in train])
    shortest = min([len(whole), *(len(books[name]) for name in held)])
    if shortest <= LENGTH:
        raise Problem(folder, None, f"a book has {shortest} tokens, {LENGTH + 1} are needed")
    return vocabulary, whole, {name: books[name] for name in held}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip() + "\n\n"
    except UnicodeDecodeError as error:
        raise Problem(file, None, f"no UTF-8 text: {error}") from error
