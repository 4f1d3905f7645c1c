"""The explorer's gallery, and the rounds of its game: texts of the storyteller, measured.

A sentence has its numbers in braces; each is computed from the model when the page is built.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer

DOG = "The boy saw a big dog. Then the big"
TIN = "The Tin Woodman and the Scarecrow went to see the Tin"
TURTLE = (
    "The Mock Turtle was very sad. He looked at the sea for a long time, and he did not say a "
    "word. The sun went down, and it was dark. At last the Mock"
)
PETER = (
    "Peter Rabbit sat by the wall. It was a cold day, and the wind was in the trees. The old cat "
    "lay in the sun and did not see him. Then Peter"
)
FISHER = (
    "Mr. Jeremy Fisher lived in a little house by the water. One day it rained, and he was very "
    "glad. He put on his coat and took his stick, and he went out to see. Mr. Jer"
)
AT = "She was not at"
EMERALD = "Dorothy and Toto went to the Emerald City. The Emerald"
ASKED = '"I am so glad to see you!" cried Dorothy. "Where have you been?" asked'

# numbers: ("look", head, token or tokens), ("share", token), ("share", token, heads off). A token
# that occurs more than once counts at its first position; `back` is the distance to it. [word] is
# styled as a token. `told` is shown beside the arcs; `then` once the head is off: with `tries`, one
# sentence for each of them.
FINDINGS = [
    {
        "title": "A copyist", "text": DOG, "head": "4.3",
        "does": "Here head 4.3 looks for what came after [big] last time, and copies it: it raises "
        "that very word.",
        "told": "Head 4.3 looks from the second [big] at [dog], the word that came after the first "
        "[big]: {look}. This is induction.",
        "then": "Without it [dog] falls from {whole} to {without}.",
        "numbers": {
            "look": ("look", "4.3", " dog"), "whole": ("share", " dog"),
            "without": ("share", " dog", ["4.3"]),
        },
    },
    {
        "title": "A cat for the dog", "text": "The boy saw a big cat. Then the big",
        "head": "4.3",
        "told": "[cat] for [dog]: head 4.3 looks at [cat], with {look}, and itself raises "
        "[cat] most, [dog] next. But the model guesses [dog], with {dog}, and [cat] "
        "has {cat}: an MLP, the part of a layer that looks at one token alone, speaks for [dog].",
        "then": "Without 4.3 [dog] falls to {without}, and [cat] to {neither}: the head raised "
        "both.",
        "numbers": {
            "look": ("look", "4.3", " cat"), "dog": ("share", " dog"), "cat": ("share", " cat"),
            "without": ("share", " dog", ["4.3"]), "neither": ("share", " cat", ["4.3"]),
        },
    },
    {
        "title": "A name carried far", "text": TURTLE, "head": "4.3",
        "told": "Head 4.3 looks {back} pieces back, at the [T] of Turtle: {look}.",
        "then": "Without it [T] falls from {whole} to {without}.",
        "numbers": {
            "back": ("back", " T"), "look": ("look", "4.3", " T"), "whole": ("share", " T"),
            "without": ("share", " T", ["4.3"]),
        },
    },
    {
        "title": "One step back", "text": "The good old man went home to his", "head": "2.4",
        "told": "Head 2.4 looks at the token before, at any word: here at [to], {look}.",
        "then": "Without it [home] falls from {whole} to {without}.",
        "numbers": {
            "look": ("look", "2.4", " to"), "whole": ("share", " home"),
            "without": ("share", " home", ["2.4"]),
        },
    },
    {
        "title": "Two pieces of a name", "text": FISHER, "head": "1.1",
        "told": "Jeremy comes in pieces. Head 1.1 looks from [er] at the [J] before it: {look}.",
        "then": "Without it the next piece, [{guess}], falls from {whole} to {without}. Yet the "
        "head itself speaks a little against [{guess}]: it helps through later parts, which only "
        "the switch shows.",
        "numbers": {
            "look": ("look", "1.1", " J", -1), "whole": ("share", None),
            "without": ("share", None, ["1.1"]),
        },
    },
    {
        "title": "Punctuation", "text": ASKED, "head": "4.1",
        "told": "Head 4.1 gives {look} to marks: quotation marks, the stop, the question mark.",
        "then": "Without it the guess, [the], even rises, from {whole} to {without}: where a head "
        "looks doesn’t say what it is needed for.",
        "numbers": {
            "look": ("look", "4.1", ('"', '!"', ".", ' "', '?"')), "whole": ("share", None),
            "without": ("share", None, ["4.1"]),
        },
    },
    {
        "title": "A name for the verb", "text": ASKED, "head": "4.4",
        "told": "Who asked? Head 4.4 looks from [asked] at the end of Dorothy: {look}.",
        "then": "Yet here it hardly counts: without it, the guess, [the], has {without}, not "
        "{whole}.",
        "numbers": {
            "look": ("look", "4.4", "orothy"), "whole": ("share", None),
            "without": ("share", None, ["4.4"]),
        },
    },
    {
        "title": "A resting place", "text": "He did not know what to", "head": "3.1", "at": 2,
        "told": "What a head gives adds up to 100\u202f%, also where there is nothing to find. "
        "From [not], head 3.1 gives {look} to the first word, [He]: such a resting place is called "
        "a sink.",
        "then": "Yet the head isn’t quite idle: without it the guess, [know], falls from {whole} "
        "to {without}.",
        "numbers": {
            "look": ("look", "3.1", "He"), "whole": ("share", " know"),
            "without": ("share", " know", ["3.1"]),
        },
    },
    {
        "title": "What follows Peter", "text": PETER, "head": "3.4",
        "told": "Head 3.4 looks from [Peter] at [Then], the word before: {look}.",
        "then": "Without it [Rabbit] rises from {whole} to {without}: heads can hold a guess down, "
        "too. The head itself even speaks a little for [Rabbit]: it holds it down through later "
        "parts.",
        "numbers": {
            "look": ("look", "3.4", " Then"), "whole": ("share", " Rabbit"),
            "without": ("share", " Rabbit", ["3.4"]),
        },
    },
    {
        "title": "Two heads for one name", "text": TIN, "head": "2.4",
        "tries": [["1.1"], ["2.4"], ["1.1", "2.4"]],
        "told": "Heads 1.1 and 2.4 both look back at the [T] of Tin, with {one} and {other}. The "
        "guess, [W], begins Woodman. Which of the two does it need?",
        "then": [
            "Without head 1.1 [W] has {first}, not {whole}. So is it 2.4 that counts?",
            "Without head 2.4 [W] has {second}, not {whole}. So is it 1.1 that counts?",
            "Without both [W] has {both}: each does the other’s work, as long as one is there.",
        ],
        "numbers": {
            "one": ("look", "1.1", " T", -1), "other": ("look", "2.4", " T", -1),
            "whole": ("share", " W"), "first": ("share", " W", ["1.1"]),
            "second": ("share", " W", ["2.4"]), "both": ("share", " W", ["1.1", "2.4"]),
        },
    },
]  # fmt: skip

# Texts that nothing else on the page shows. In the first, the answer is the head with the largest
# weight; in the second it isn't; in the third it isn't the head with the largest push.
ROUNDS = [
    "He told her, and she told",
    AT,
    EMERALD,
]

# Why a round's head counts: {text: (head, sentence)}, with numbers as in a finding.
WHYS = {
    AT: (
        "2.1",
        "Head 2.1 looks from [at] back at [not], {look}. What it finds is read by MLPs, the parts "
        "of a layer that look at one token alone, and these raise [{guess}]. We tried it: with the "
        "head off, but with all that the MLPs added while it was on, [{guess}] keeps {fixed}.",
    ),
    EMERALD: (
        "1.1",
        "Emerald comes in five pieces, and from each of the last four head 1.1 looks back at those "
        "before it. No single look counts for much: with the head off at [ld] alone, [{guess}] "
        "keeps {last}. With it off at all five pieces of the second Emerald, [{guess}] has {all}.",
    ),
}

# Beginnings for a reader's own text, in each of which one head is worth half of the guess or more.
BEGINNINGS = [
    "I have a cat. My cat is black. My",
    "Alice looked at the White Rabbit. The White",
    "She was as good as",
]


def head(name: str) -> tuple[int, int]:
    layer, number = name.split(".")
    return int(layer) - 1, int(number) - 1


class TracedText:
    """The model's runs on one text, and the sentences about them with their numbers."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, text: str) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.ids = tokenizer.encode(text)
        self.names = [tokenizer.name(i) for i in self.ids]
        self.runs: dict[tuple, Any] = {}
        self.guess = int(self._shares([]).argmax())

    def _run(self, off: list[str]) -> Any:
        pairs = tuple(map(head, off))
        if pairs not in self.runs:
            self.runs[pairs] = self.model(torch.tensor([self.ids]), off=pairs)
        return self.runs[pairs]

    def _shares(self, off: list[str], at: int = -1) -> torch.Tensor:
        return self._run(off).logits[0, at].softmax(-1)

    def share(self, token: str | None, off: list[str] | None = None, at: int = -1) -> float:
        guess = self.guess if token is None else self.tokenizer.encode(token)[0]
        return self._shares(off or [], at)[guess].item()

    def look(self, name: str, tokens: str | tuple, which: int = 0, at: int = -1) -> float:
        layer, number = head(name)
        row = self._run([]).weights[layer][0, number, at]
        if isinstance(tokens, tuple):
            return sum(row[i].item() for i, token in enumerate(self.names) if token in tokens)
        return row[[i for i, token in enumerate(self.names) if token == tokens][which]].item()

    def share_with_fixed_mlps(self, name: str) -> float:
        """Return the guess's share without a head, if every MLP's output stays what it was."""
        added: list[torch.Tensor] = []
        mlps = [layer.mlp for layer in self.model.layers]
        hooks = [mlp.register_forward_hook(lambda _, __, out: added.append(out)) for mlp in mlps]
        self.model(torch.tensor([self.ids]))
        for hook in hooks:
            hook.remove()
        hooks = [
            mlp.register_forward_hook(lambda _, __, ___, output=output: output)
            for mlp, output in zip(mlps, added, strict=True)
        ]
        logits = self.model(torch.tensor([self.ids]), off=(head(name),)).logits
        for hook in hooks:
            hook.remove()
        return logits[0, -1].softmax(-1)[self.guess].item()

    def share_with_head_off_at(self, name: str, last: int) -> float:
        """Return the guess's share with a head off at the ``last`` so many tokens alone."""
        layer, number = head(name)
        out_proj = self.model.layers[layer].attention.out_proj
        size = out_proj.in_features // self.model.config.num_heads[layer]

        def cut(_, inputs):
            heads = inputs[0].clone()
            heads[0, -last:, number * size : (number + 1) * size] = 0
            return (heads,)

        hook = out_proj.register_forward_pre_hook(cut)
        logits = self.model(torch.tensor([self.ids])).logits
        hook.remove()
        return logits[0, -1].softmax(-1)[self.guess].item()

    def sentences(self, finding: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the finding's sentences, `told` and those of `then`, with their numbers."""
        numbers = {"guess": self.tokenizer.name(self.guess).strip()}
        at = finding.get("at", -1)
        for key, (kind, *rest) in finding["numbers"].items():
            if kind == "back":
                numbers[key] = len(self.names) - 1 - self.names.index(*rest)
            else:
                numbers[key] = chance(getattr(self, kind)(*rest, at=at))
        then = finding["then"]
        thens = [then] if isinstance(then, str) else then
        return finding["told"].format(**numbers), [sentence.format(**numbers) for sentence in thens]


def chance(share: float) -> str:
    """Write a share like widgets/lib/numbers.js, so that a sentence and a panel agree."""
    if share >= 0.995 or share < 0.001:
        return ("99+" if share >= 0.995 else "< 0.1") + "\u202f%"
    return f"{100 * share:.{0 if share >= 0.0995 else 1}f}\u202f%"


@torch.no_grad()
def findings() -> list[dict[str, Any]]:
    """Return the gallery: {title, told, tries: [{off, then}], model, text, at, head, does?}."""
    load = _text_loader()
    return [_finding(finding, load(finding["text"])) for finding in FINDINGS]


def _finding(finding: dict[str, Any], traced: TracedText) -> dict[str, Any]:
    told, thens = traced.sentences(finding)
    tries = finding.get("tries", [[finding["head"]]])
    return {
        "title": finding["title"], "told": told, "model": "storyteller", "text": finding["text"],
        "at": finding.get("at"), "head": finding["head"],
        "tries": [{"off": off, "then": then} for off, then in zip(tries, thens, strict=True)],
        **{part: finding[part] for part in ("does",) if part in finding},
    }  # fmt: skip


@torch.no_grad()
def rounds() -> list[dict[str, Any]]:
    """Return the game: each text's likeliest guess, its share, and its share without each head.

    Two have `why`, a sentence on the answer.
    """
    load = _text_loader()
    game = []
    for text in ROUNDS:
        traced = load(text)
        names = [f"{layer}.{number}" for layer in range(1, 5) for number in range(1, 5)]
        game.append({
            "text": text, "guess": traced.tokenizer.name(traced.guess), "share": traced.share(None),
            "without": [traced.share(None, [name]) for name in names],
            **({"why": _why(traced, *WHYS[text])} if text in WHYS else {}),
        })  # fmt: skip
    return game


def _why(traced: TracedText, name: str, sentence: str) -> str:
    return sentence.format(
        guess=traced.tokenizer.name(traced.guess).strip(),
        look=chance(traced.look(name, traced.names[-2], -1)),
        fixed=chance(traced.share_with_fixed_mlps(name)),
        last=chance(traced.share_with_head_off_at(name, 1)),
        all=chance(traced.share_with_head_off_at(name, 5)),
    )


def _text_loader():
    model = load_storyteller().double()
    tokenizer = Tokenizer(model.config.vocabulary)
    return cache(lambda text: TracedText(model, tokenizer, text))
