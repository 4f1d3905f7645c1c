"""Train one layer of each kind on each job, two kinds of sparse attention, and stacks of layers.

`python3 -m course train beyond`
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.beyond.task import (
    COFFEE,
    COUNTS,
    CROWDS,
    DRINKERS,
    FADES_PLAIN,
    KINDS,
    MANY,
    NOT_ASKED,
    OWES,
    PAY,
    PLAIN,
    QUESTIONS,
    ROOM,
    SINK,
    STACKS,
    UNDIVIDED,
    Porter,
    Text,
    numbers_kept,
    texts,
)
from models.training import Report, fit
from models.weights import load_into, save_plain

PAST = "three tables, softmax"  # only for the book: do notes come past tables?
JOBS = {
    "both": tuple(name for name in STACKS if name != PAST),
    "moves": (PAST, *KINDS, "window", "chosen"),
    "tab": (*KINDS, FADES_PLAIN),
    "coffees": (*KINDS, PLAIN, SINK, UNDIVIDED),
    "crowd": ("softmax", "corrects"),
}
SHIPPED = ("both", "moves", "tab")
# Asked in a row, the later questions leave no note within a window of eight tokens.
ALONE = [("moves", name) for name in ("softmax", "window", "chosen")]
RATES, STACK_RATES = (1e-2, 2e-2, 4e-2, 8e-2, 1.6e-1), (5e-3, 1e-2, 2e-2)
CROWD_RATES = (2.5e-3, 5e-3, 1e-2, 2e-2, 4e-2)  # a table does best at low ones
SEEDS, TUNED_ON = range(5), (100, 101)
STEPS = {"moves": 300, "tab": 300, "coffees": 300, "both": 1200, "crowd": 1200}
LONGER = 4  # times the steps
TRAINED_LONGER = {  # of how many seeds
    ("moves", "corrects"): 2,
    ("crowd", "corrects"): 2,
    ("tab", "softmax"): 2,
    ("coffees", "softmax"): 5,  # some are stuck
    **{
        ("both", name): 2
        for name in ("two softmax", "two tables", "softmax, table", "table, softmax")
    },
}
LEARNT_WITH = {
    "moves": COUNTS,
    "tab": (QUESTIONS,),
    "coffees": (QUESTIONS,),
    "both": (*COUNTS, MANY),
    "crowd": CROWDS,
}  # guests in the book
TESTED_WITH = {  # guests in the book, and what is asked for
    "moves": [(count, ROOM) for count in COUNTS],
    "tab": [(QUESTIONS, OWES)],
    "coffees": [(QUESTIONS, OWES)],
    "both": [(MANY, ROOM), (MANY, OWES)],
    "crowd": [(count, ROOM) for count in CROWDS],
}
ASKED, TESTS = 256, 300  # rooms asked for in a batch, texts of a test
FOLDER = Path(__file__).parent
SCORES = FOLDER / "scores.json"


progress = None  # steps done in all processes, and the last loss, if several train


def share(array: SynchronizedArray) -> None:
    global progress
    progress = array


def count(steps: int, loss: float) -> None:
    if progress is not None:
        with progress.get_lock():
            progress[:] = [progress[0] + steps, loss]


def train(workdir: Path, report: Report) -> None:
    """Train all, two at a time; write scores.json, and the weights of the first seeds."""
    jobs = [(task, name) for task, names in JOBS.items() for name in names]
    jobs.sort(key=lambda job: -steps_of(*job))  # else the longest might end alone
    record: dict[str, dict] = {task: dict.fromkeys(names) for task, names in JOBS.items()}
    steps, context = sum(steps_of(*job) for job in jobs), get_context("spawn")
    counted = context.Array("d", 2)
    with ProcessPoolExecutor(2, context, share, (counted,)) as pool:
        running = {pool.submit(train_and_score, workdir, *job): job for job in jobs}
        waiting = set(running)
        while waiting:
            ended, waiting = wait(waiting, timeout=1)
            for future in ended:
                task, name = running[future]
                record[task][name] = future.result()
            done, loss = counted
            report(f"porters, {len(waiting)} kinds to go", int(done), steps, loss)
    SCORES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def steps_of(task: str, name: str) -> int:
    """Count the steps of one job: to choose its rate, and to train its seeds."""
    longer = LONGER * TRAINED_LONGER.get((task, name), 0)
    return STEPS[task] * (len(rates_of(task)) * len(TUNED_ON) + len(SEEDS) + longer)


def rates_of(task: str) -> tuple[float, ...]:
    return {"both": STACK_RATES, "crowd": CROWD_RATES}.get(task, RATES)


def train_and_score(workdir: Path, task: str, name: str) -> dict:
    """Return the scores of a kind of layer or a stack."""
    torch.set_num_threads(1)
    run = Run(workdir, task, STACKS.get(name, [name]))
    tuned = run.tuned()
    rate = best(tuned)
    models = list(run.models(rate, SEEDS))
    if task in SHIPPED:
        models[0] = ship(models[0], task, name)
    before = texts(task, LEARNT_WITH[task][-1], 1).words.shape[1] - QUESTIONS
    record = {
        "tuned": tuned,
        "right": [scores_of(model, task) for model in models],
        "parameters": sum(p.numel() for p in models[0].parameters()),
        "kept": numbers_kept(run.kinds, before),
    }
    if task == "tab" and "fades" in name:
        record["held open"] = [scores_of(held(model, PAY, keep=1.0), task) for model in models]
    if (task, name) in ALONE:
        record["alone"] = [alone(model) for model in models]
    if seeds := TRAINED_LONGER.get((task, name)):
        longer = run.models(rate, range(seeds), LONGER)
        record["longer"] = [scores_of(model, task) for model in longer]
    return record


def best(tuned: dict[str, float]) -> float:
    return float(max(tuned, key=lambda rate: tuned[rate]))


class Run:
    """Trainings of layers of the same kinds on the same task."""

    def __init__(self, workdir: Path, task: str, kinds: list[str]) -> None:
        self.workdir, self.task, self.kinds = workdir, task, kinds

    def tuned(self) -> dict[str, float]:
        """Return each rate's mean share right, of the worst seed of tuning.

        The worst counts, because a rate at which one training of two fails is a bad choice.
        """
        shares = {}
        for rate in rates_of(self.task):
            right = [scores_of(model, self.task) for model in self.models(rate, TUNED_ON)]
            shares[str(rate)] = round(min(sum(row) / len(row) for row in right), 4)
        return shares

    def models(self, rate: float, seeds: Iterable[int], times: int = 1) -> Iterable[Porter]:
        return (self.model(rate, seed, times * STEPS[self.task]) for seed in seeds)

    def model(self, rate: float, seed: int, steps: int) -> Porter:
        torch.manual_seed(seed)
        model, counted, part, last = Porter(self.kinds), 0, 0.0, 0.0
        name = f"{self.task}-{'-'.join(self.kinds)}-{rate}-{steps}-{seed}".replace(", ", "-")

        def stepped(step: int, loss: float) -> None:
            nonlocal counted, part, last
            counted, part, last = counted + 1, step / steps, loss
            count(1, loss)

        fit(
            model,
            loss_of(model, self.task, lambda: part),
            steps=steps,
            rate=rate,
            decay=0.0,
            saved=self.workdir / f"{name}.pt",
            after=stepped,
        )
        count(steps - counted, last)  # what an interrupted training had done before
        return model.eval()


def loss_of(model: Porter, task: str, part: Callable[[], float]) -> Callable[[], Tensor]:
    """Make the loss of a fresh batch. In the first half, "chosen" layers attend to all keys."""
    chosen = [layer.mixer for layer in model.layers if layer.kind == "chosen"]
    counts = LEARNT_WITH[task]

    def loss() -> Tensor:
        for mixer in chosen:
            mixer.dense = part() < 0.5
        count = counts[int(torch.randint(len(counts), ()))]
        text = texts(task, count, ASKED // min(count, QUESTIONS))
        logits, answers = model(text).flatten(0, 1), text.answers.flatten()
        guess_loss = F.cross_entropy(logits, answers, ignore_index=NOT_ASKED)
        return guess_loss + sum(mixer.index_loss for mixer in chosen)

    return loss


def unseen_texts(task: str, guests: int) -> Text:
    """Make texts that no model was trained on."""
    return texts(task, guests, TESTS, torch.Generator().manual_seed(10**6))


@torch.no_grad()
def scores_of(model: Porter, task: str) -> list[float]:
    """Return the share of right answers for each number of guests and kind of question."""
    for layer in model.layers:
        if layer.kind == "chosen":
            layer.mixer.dense = False
    shares = []
    for guests, question in TESTED_WITH[task]:
        text = unseen_texts(task, guests)
        is_right = model(text).argmax(-1) == text.answers
        shares.append(round(is_right[text.words == question].float().mean().item(), 4))
    return shares


@torch.no_grad()
def alone(model: Porter) -> list[float]:
    """Return the share of *moves* that is right if only the notes precede each question.

    One for each number of guests, on the texts of ``scores_of``.
    """
    shares = []
    for guests in COUNTS:
        right = [model(text)[:, -1].argmax(-1) == text.answers[:, -1] for text in one_asked(guests)]
        shares.append(round(torch.stack(right).float().mean().item(), 4))
    return shares


def one_asked(guests: int) -> Iterator[Text]:
    """Yield the unseen texts of *moves* with one question each: with the first, the second, ..."""
    text, notes = unseen_texts("moves", guests), 2 * guests
    for i in range(notes, text.words.shape[1]):
        yield Text(*(torch.cat([part[:, :notes], part[:, i : i + 1]], 1) for part in text))


def blind_to_others() -> float:
    """Return softmax's share right if a question sees only its own guest's notes.

    Of the first seed, with the most guests, and one question a text as in ``alone``.
    """
    model, right = load("moves", "softmax"), []
    for text in one_asked(COUNTS[-1]):
        of_others = text.guests[:, :, None] != text.guests[:, None]
        logits, _ = looked_at(model, text, of_others)
        right.append(logits[:, -1].argmax(-1) == text.answers[:, -1])
    return torch.stack(right).float().mean().item()


@torch.no_grad()
def named_rooms(kind: str) -> tuple[float, float]:
    """Return how often the first seed names a guest's new room in *moves*, and how often the old.

    Of guests whose two rooms differ, all of the most guests that a text of training has.
    """
    text = unseen_texts("moves", COUNTS[-1])
    notes = 2 * COUNTS[-1]
    named, answers = (x[:, notes:] for x in (load("moves", kind)(text).argmax(-1), text.answers))
    is_of = text.guests[:, None, :notes] == text.guests[:, notes:, None]  # (B, questions, notes)
    first = text.words[:, :notes].gather(1, is_of.int().argmax(-1))
    moved = first != answers
    new, old = (named == answers)[moved], (named == first)[moved]
    return new.float().mean().item(), old.float().mean().item()


@torch.no_grad()
def looked_at(model: Porter, text: Text, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the answers' scores of a stack of softmax, and its last layer's weights (B, H, L, L).

    ``hidden`` (B, L, L), bool: what the tokens of the lowest layer can't see.
    """
    x = model.embed(text)
    positions = torch.arange(x.shape[1])
    mask = None if hidden is None else ~hidden[:, None]
    for layer in model.layers:
        bias = -layer.slopes * (positions - positions[:, None]).abs()
        mixed, weights = layer.mixer(
            layer.norm(x), mask, bias=bias, is_causal=True, return_attention=True
        )
        x, mask = x + mixed, None
    return model.answer(x), weights


def weights_by_payments() -> tuple[float, float, float]:
    """Return what questions for the tab give to a token, in the upper of two layers of softmax.

    In its first head, on average: to a coffee of the guest since the last payment, to an older one,
    and to the question itself.
    """
    text = unseen_texts("both", MANY)
    weights = looked_at(load("both", "two softmax"), text)[1][:, 0]
    paid, length = (text.words == PAY).cumsum(1), text.words.shape[1]
    asks = text.words == OWES
    own = asks[:, :, None] & (text.words == COFFEE)[:, None]
    own &= text.guests[:, :, None] == text.guests[:, None]
    own &= torch.ones(length, length).tril().bool()
    since = own & (paid[:, :, None] == paid[:, None])
    itself = weights.diagonal(dim1=1, dim2=2)[asks]
    return tuple(part.mean().item() for part in (weights[since], weights[own & ~since], itself))


def blind_to_payments() -> float:
    """Return the share of the tab that those layers get right if, below, coffees see no payment."""
    text = unseen_texts("both", MANY)
    hidden = (text.words == COFFEE)[:, :, None] & (text.words == PAY)[:, None]
    logits, _ = looked_at(load("both", "two softmax"), text, hidden)
    return (logits.argmax(-1) == text.answers)[text.words == OWES].float().mean().item()


@torch.no_grad()
def alpha_beta(model: Porter, text: Text) -> tuple[Tensor, Tensor]:
    """Return what the first layer keeps of its tables at each token, and writes: (B, H, L) each."""
    layer = model.layers[0]
    log_decay, beta = layer.mixer._gates(layer.norm(model.embed(text)))
    return log_decay.exp(), beta


def held(
    model: Porter,
    word: int,
    *,
    keep: float | None = None,
    write: float | None = None,
    note: bool = True,
    heads: list[int] | slice = slice(None),
) -> Porter:
    """Copy the model with fixed gates at one word, in the first layer or some of its heads.

    ``note=False``: at the word, what stands under its key is taken away, and nothing put there.
    """
    model = copy.deepcopy(model)
    layer = model.layers[0]
    gates, project = layer.mixer._gates, layer.mixer._project
    guests = torch.arange(1 if word == PAY else DRINKERS)[None]
    at_word = layer.norm(model.embed(Text(guests, torch.full_like(guests, word), guests)))[0]

    def is_at(x: Tensor) -> Tensor:  # (B, L)
        return (x[..., None, :] - at_word).abs().amax(-1).amin(-1) < 1e-5

    def changed(x: Tensor) -> tuple[Tensor, Tensor]:
        log_decay, beta = gates(x)
        is_word = torch.zeros_like(beta, dtype=torch.bool)  # (B, H, L)
        is_word[:, heads] = is_at(x)[:, None]
        if keep is not None:
            log_decay = log_decay.masked_fill(is_word, math.log(keep))
        return log_decay, beta if write is None else beta.masked_fill(is_word, write)

    def without_note(x: Tensor, recent: Tensor) -> tuple[Tensor, ...]:
        query, key, value, rest = project(x, recent)
        return query, key, value.masked_fill(is_at(x)[:, None, :, None], 0.0), rest

    layer.mixer._gates = changed
    if not note:
        layer.mixer._project = without_note
    return model


def guessed_by_place() -> float:
    """Return the share of *coffees* that is right for whoever knows how many tokens went by."""
    many, unseen = (
        texts("coffees", 0, 20_000, torch.Generator().manual_seed(0)),
        unseen_texts("coffees", 0),
    )
    best = torch.stack(
        [column[column >= 0].bincount(minlength=QUESTIONS).argmax() for column in many.answers.T]
    )
    asked = unseen.words == OWES
    return (unseen.answers == best)[asked].float().mean().item()


def weights_of(task: str, name: str) -> Path:
    return FOLDER / "weights" / f"{task}-{name}.safetensors".replace(", ", "-").replace(" ", "-")


def ship(model: Porter, task: str, name: str) -> Porter:
    """Save the weights in float16, and load them again: a model is scored as it is shipped."""
    save_plain(model, weights_of(task, name))
    return load(task, name)


def load(task: str, name: str) -> Porter:
    """Load the model of the first seed, in float32: a kind of layer, or a stack for *both*."""
    return load_into(Porter(STACKS.get(name, [name])), weights_of(task, name))
