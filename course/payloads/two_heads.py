"""The two heads of the grammar model's second layer at a missing verb, on, off and with one map."""

from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course.page.numbers import rounded
from course.payloads import MODELS_FOLDER
from models.grammar.scores import answers, held_out, to_tensors
from models.grammar.sentences import Sentence, agreement
from models.grammar.words import INDEX, MASK, NOUNS, PAD, VERBS, VOCABULARY
from models.transformer import Transformer
from models.weights import load

GAP = "▢"
SENTENCES = [
    ("the lions near the old window ▢ tame", "are"),
    ("the lion near the old windows ▢ tame", "is"),
    ("the keys near the old cabinet ▢ red", "are"),
]
COUNT, GUESSES = 400, 4
Change = Callable[[Tensor], Tensor]


def _without(head: int) -> Change:
    return lambda maps: maps.index_fill(1, torch.tensor(head), 0)


def _one_map(maps: Tensor) -> Tensor:
    return maps.mean(1, keepdim=True).expand_as(maps)


# What is done to the two maps of layer 2, by the widget's names. A head that is off weighs nothing.
WAYS: dict[str, Change] = {
    "on": lambda maps: maps, "off-1": _without(0), "off-2": _without(1), "mean": _one_map,
}  # fmt: skip


def payload() -> dict[str, Any]:
    """Return each sentence with its two maps, and for each of WAYS the likeliest words."""
    model, sentences = _model("masked"), []
    for text, right in SENTENCES:
        words = text.split()
        gap = words.index(GAP)
        tokens = model.encode([MASK if word == GAP else word for word in words])
        guesses = {}
        for name, change in WAYS.items():
            shares, ids = fill(model, tokens, change)[0, gap].softmax(-1).topk(GUESSES)
            guesses[name] = [
                {"token": VOCABULARY[i], "weight": rounded(share, 6)}
                for i, share in zip(ids.tolist(), shares.tolist(), strict=True)
            ]
        maps = _second_layer(model, tokens)[1][0]
        sentences.append({
            "tokens": words, "gap": gap, "right": right, "maps": rounded(maps, 6),
            "guesses": guesses,
        })  # fmt: skip
    return {"sentences": sentences, "row": sentences[0]["gap"]}


def counts() -> dict[str, dict[str, int]]:
    """Of COUNT new sentences, how often the gap gets the right verb, the wrong number, "the", more.

    Beside WAYS: one map for both, and what they bring doubled; their own maps, and what they bring
    halved; and each head of layer 1 off.
    """
    model, sentences = _model("masked"), missing_verbs()
    tokens, decided, _ = to_tensors(sentences)
    hidden = tokens.masked_fill(decided, INDEX[MASK])
    changes = WAYS | {"mean, doubled": lambda maps: 2 * _one_map(maps), "halved": lambda m: m / 2}
    logits = {name: fill(model, hidden, change) for name, change in changes.items()}
    for head in range(model.config.num_heads[0]):
        logits[f"layer 1, off-{head + 1}"] = fill(model, hidden, off=((0, head),))
    return {name: _kinds(one[decided].argmax(-1), sentences) for name, one in logits.items()}


def missing_verbs() -> list[Sentence]:
    """Make sentences with *is* or *are* and an adjective after it.

    A second noun, of the other number, stands before the verb. No pair of nouns was trained on.
    """
    rng, made = Random(0), []
    while len(made) < COUNT:
        sentence = agreement(rng, held="pairs", distractors=1)
        if {"is", "are"} & {*sentence.words}:
            made.append(sentence)
    return made


def not_missed() -> dict[str, dict[int, int]]:
    """Count the right verbs of the causal model in COUNT new sentences, by head of layer 2.

    "off": without the head. "other number": the head brings what it brings to the same sentence
    with its subject in the other number, *key* for *keys*; the other heads are as they were.
    """
    model, sentences = _model("causal"), held_out(COUNT)["pairs"]["1 distractors"]
    heads = range(model.config.num_heads[1])
    twins = [_other_number(sentence) for sentence in sentences]
    before, maps, value = _second_layer(model, to_tensors(sentences)[0])
    _, other_maps, other_value = _second_layer(model, to_tensors(twins)[0])
    brings, others = maps @ value, other_maps @ other_value
    counted: dict[str, dict[int, int]] = {"off": {}, "other number": {}}
    for head in heads:
        counted["off"][head + 1] = sum(answers(model, sentences, off=((1, head),)))
        mixed = brings.clone()
        mixed[:, head] = others[:, head]
        counted["other number"][head + 1] = _verbs_right(_finish(model, before, mixed), sentences)
    return counted


def subject_weights() -> list[float]:
    """Return the weight from *cabinet* to *keys* in each head of the causal model's layer 2."""
    model = _model("causal")
    tokens = model.encode("the keys near the old cabinet".split())
    return _second_layer(model, tokens)[1][0, :, -1, 1].tolist()


@torch.no_grad()
def fill(model: Transformer, tokens: Tensor, change: Change = WAYS["on"], off=()) -> Tensor:
    """Return the logits (B, L, V) after ``change`` of the maps of layer 2."""
    before, maps, value = _second_layer(model, tokens, off)
    return _finish(model, before, change(maps) @ value)


@torch.no_grad()
def _second_layer(model: Transformer, tokens: Tensor, off=()) -> tuple[Tensor, Tensor, Tensor]:
    """Return what layer 2 reads (B, L, E), its maps (B, H, L, L) and its values (B, H, L, D)."""
    run, layer = model(tokens, (tokens != INDEX[PAD])[:, None, None], off=off), model.layers[1]
    before, attention = run.residual[1], layer.attention
    weight, bias = (part.chunk(3)[2] for part in attention.qkv_proj.parameters())
    source = model.embedding[tokens] if layer.raw_values else layer.norm(before)
    value = F.linear(source, weight, bias).unflatten(-1, (attention.num_heads, -1))
    return before, run.weights[1], value.transpose(1, 2)


@torch.no_grad()
def _finish(model: Transformer, before: Tensor, brings: Tensor) -> Tensor:
    layer = model.layers[1]
    x = before + layer.attention.out_proj(brings.transpose(1, 2).flatten(-2))
    x = x if layer.mlp is None else x + layer.mlp(x)
    return F.linear(model.norm(x), model.embedding, model.unembedding_bias)


def _kinds(best: Tensor, sentences: list[Sentence]) -> dict[str, int]:
    kinds = dict.fromkeys(("right", "wrong number", "the", "another word"), 0)
    for token, sentence in zip(best.tolist(), sentences, strict=True):
        word, (right,) = VOCABULARY[token], sentence.right.values()
        if word in ("is", "are"):
            kinds["right" if word in right else "wrong number"] += 1
        else:
            kinds["the" if word == "the" else "another word"] += 1
    return kinds


def _verbs_right(logits: Tensor, sentences: list[Sentence]) -> int:
    """Count as ``answers`` does: of the verbs in the present tense the likeliest."""
    verbs, right = [*VERBS, *VERBS.values()], 0
    for row, sentence in zip(logits, sentences, strict=True):
        ((position, words),) = sentence.right.items()
        right += max(verbs, key=lambda verb: row[position - 1, INDEX[verb]].item()) in words
    return right


def _other_number(sentence: Sentence) -> Sentence:
    words, (_, subject) = [*sentence.words], sentence.link("verb")
    both = NOUNS | {many: one for one, many in NOUNS.items()}
    words[subject] = both[words[subject]]
    return Sentence(sentence.kind, words, sentence.links, sentence.right)


def _model(name: str) -> Transformer:
    return load(MODELS_FOLDER / f"grammar/weights/{name}.safetensors")
