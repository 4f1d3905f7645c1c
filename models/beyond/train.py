"""Train one layer of each kind on each task, two kinds of sparse attention, and stacks.

`python3 -m course train beyond`
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.beyond.task import (
    COUNTS,
    HEADS,
    KINDS,
    LEAVE,
    MANY,
    STACKS,
    TASKS,
    Porter,
    Text,
    numbers_kept,
    texts,
)
from models.training import Report, fit, part_of

SEEDS, LONGER_SEEDS = range(5), range(3)
RATES = (5e-3, 1e-2, 2e-2, 4e-2, 8e-2, 1.6e-1)
TUNED_ON = (100, 101, 102)  # seeds of their own
HALVED = {"moves": "chosen", "four days": "corrects, fades"}  # tried at half the rate, too
STEPS = {"moves": 300, "four days": 600}
ASKED, TESTS = 256, 300
LONGER = 5  # times the steps, for tables alone
OPEN = 1e-3  # what an open gate's softplus gives, times a rate of 1: it fades by a thousandth
SPARSE = ("window", "chosen")  # softmax, too
FOLDER = Path(__file__).parent
SCORES = FOLDER / "scores.json"


def train(workdir: Path, report: Report) -> None:
    """Train all; write scores.json, and the weights of the first seed.

    The stacks are trained in a process of their own, so that two cores share the work.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        beside = pool.submit(trained_stacks, workdir)
        found = trained_layers(Run(workdir, report))
        stacks = beside.result()
    longer = {"times": LONGER, **found.pop("longer"), **stacks.pop("longer")}
    written = json.dumps({**found, **stacks, "longer": longer}, indent=1)
    SCORES.write_text(written + "\n", encoding="utf-8")


def trained_layers(run: Run) -> dict:
    """Train single layers on each task."""
    tuned: dict[str, dict[str, dict[str, float]]] = {}
    rates: dict[str, dict[str, float]] = {}
    right: dict[str, dict[str, list]] = {}
    for task in TASKS:
        tuned[task], rates[task], right[task] = {}, {}, {}
        for kind in kinds_of(task):
            rates[task][kind], tuned[task][kind] = run.tuned([kind], task, COUNTS, COUNTS)
            rate = rates[task][kind]
            models = [run.model([kind], task, COUNTS, seed, rate, STEPS[task]) for seed in SEEDS]
            save(models[0], task, kind)
            models[0] = load(task, kind)  # scored as it is shipped
            right[task][kind] = [[score(m, task, count) for count in COUNTS] for m in models]
            if (task, kind) == ("four days", "corrects, fades"):
                opened_days = [held_open(model) for model in models]
    corrects = run.longer("corrects", rates["moves"]["corrects"])
    halved = {}
    for task, kind in HALVED.items():
        rate = rates[task][kind] / 2
        models = [run.model([kind], task, COUNTS, seed, rate, STEPS[task]) for seed in SEEDS]
        halved[task] = {kind: [score(model, task, COUNTS[-1]) for model in models]}
    return {
        "seeds": list(SEEDS), "steps": STEPS, "guests": list(COUNTS),
        "parameters": {kind: parameters(kind) for kind in (*KINDS, *SPARSE)},
        "tuned": tuned, "rates": rates, "right": right, "half the rate": halved,
        "gates": run.gates(rates["moves"]["corrects, fades"]), "held open": opened_days,
        "kept": {k: [numbers_kept([k], 2 * n) for n in COUNTS] for k in (*KINDS, *SPARSE)},
        "longer": {"corrects": corrects},
    }  # fmt: skip


def trained_stacks(workdir: Path) -> dict:
    """Train stacks on *moves* with many guests."""
    torch.set_num_threads(1)
    run = Run(workdir, lambda *_: None)
    stacks, rates, tuned = {}, {}, {}
    for name, layers in STACKS.items():
        rates[name], tuned[name] = run.tuned(layers, "moves", (*COUNTS, MANY), (MANY,))
        stacks[name] = run.stack(layers, SEEDS, rates[name])
    longer = run.stack(STACKS["four tables"], LONGER_SEEDS, rates["four tables"], LONGER)
    return {
        "many": MANY, "stacks": stacks, "stack rates": rates, "stacks tuned": tuned,
        "stacks kept": {name: numbers_kept(STACKS[name], 2 * MANY) for name in STACKS},
        "longer": {"four tables": longer},
    }  # fmt: skip


def parameters(kind: str) -> int:
    return sum(p.numel() for p in Porter([kind]).parameters())


def kinds_of(task: str) -> tuple[str, ...]:
    return (*KINDS, *SPARSE) if task == "moves" else KINDS


class Run:
    """Trainings of one process; the report gets the steps done over all single layers."""

    def __init__(self, workdir: Path, report: Report) -> None:
        self.workdir, self.report, self.done = workdir, report, 0
        each = sum(len(kinds_of(task)) * STEPS[task] for task in TASKS)
        trainings = len(SEEDS) + len(RATES) * len(TUNED_ON)
        more = len(LONGER_SEEDS) * LONGER + 2 * len(SEEDS)  # longer, and the gates
        halved = len(SEEDS) * sum(STEPS[task] for task in HALVED)
        self.steps = trainings * each + more * STEPS["moves"] + halved

    def tuned(
        self, kinds: list[str], task: str, counts: tuple[int, ...], asked: tuple[int, ...]
    ) -> tuple[float, dict[str, float]]:
        """Return the best rate, and for each rate the mean share right.

        The mean is taken over the seeds of tuning and the numbers of guests that are asked for.
        """
        shares = {}
        for rate in RATES:
            models = [self.model(kinds, task, counts, s, rate, STEPS[task]) for s in TUNED_ON]
            right = [score(model, task, count) for model in models for count in asked]
            shares[rate] = round(sum(right) / len(right), 4)
        best = max(shares, key=shares.get)
        return best, {str(rate): share for rate, share in shares.items()}

    def stack(self, kinds: list[str], seeds: range, rate: float, times: int = 1) -> list[float]:
        """Return the share right on *moves* with MANY guests, for each seed."""
        counts, steps = (*COUNTS, MANY), times * STEPS["moves"]
        models = [self.model(kinds, "moves", counts, s, rate, steps) for s in seeds]
        return [score(model, "moves", MANY) for model in models]

    def longer(self, kind: str, rate: float) -> list[float]:
        """Return the share right on *moves* after LONGER times the steps, for each seed."""
        steps = LONGER * STEPS["moves"]
        models = [self.model([kind], "moves", COUNTS, s, rate, steps) for s in LONGER_SEEDS]
        return [score(model, "moves", COUNTS[-1]) for model in models]

    def gates(self, rate: float) -> dict[str, list[float]]:
        """Return the share right on *moves* where gates are opened after training, or before."""
        kinds, steps = ["corrects, fades"], STEPS["moves"]
        usual, begun = (
            [self.model(kinds, "moves", COUNTS, s, rate, steps, is_open=o) for s in SEEDS]
            for o in (False, True)
        )

        return {
            "opened after training": [score(opened(m, 0.0), "moves", COUNTS[-1]) for m in usual],
            "begun open": [score(model, "moves", COUNTS[-1]) for model in begun],
        }

    def model(
        self,
        kinds: list[str],
        task: str,
        counts: tuple[int, ...],
        seed: int,
        rate: float,
        steps: int,
        *,
        is_open: bool = False,
    ) -> Porter:
        torch.manual_seed(seed)
        model = Porter(kinds)
        name = f"{task}-{counts[-1]}-{'-'.join(kinds)}-{rate}-{steps}-{seed}".replace(", ", "-")
        name = name.replace(" ", "-")
        if is_open:
            model, name = opened(model, 1.0), f"{name}-open"
        after = part_of(self.report, name, self.done, self.steps)
        loss = loss_of(model, task, counts, lambda: self.done_here / steps)

        def stepped(step: int, now: float) -> None:
            self.done_here = step
            after(step, now)

        self.done_here = 0
        fit(
            model,
            loss,
            steps=steps,
            rate=rate,
            decay=0.0,
            saved=self.workdir / f"{name}.pt",
            after=stepped,
        )
        self.done += steps
        return model.eval()


@torch.no_grad()
def opened(model: Porter, by_token: float) -> Porter:
    """A copy with open gates; ``by_token``: what is left of each token's part in them."""
    model = copy.deepcopy(model)
    for layer in model.layers:
        layer.mixer.log_rate.zero_()
        layer.mixer.decay_bias.fill_(math.log(math.expm1(OPEN)))
        layer.mixer.decay_proj.weight.mul_(by_token)
    return model


def loss_of(
    model: Porter, task: str, counts: tuple[int, ...], part: Callable[[], float]
) -> Callable[[], Tensor]:
    """The loss of a fresh batch. A layer that chooses attends to all in the first half."""
    chosen = [layer.mixer for layer in model.layers if layer.kind == "chosen"]

    def loss() -> Tensor:
        for mixer in chosen:
            mixer.dense = part() < 0.5
        count = counts[int(torch.randint(len(counts), ()))]
        text = texts(task, count, ASKED // min(count, 16))
        wrong = F.cross_entropy(model(text).flatten(0, 1), text.answers.flatten())
        return wrong + sum(mixer.index_loss for mixer in chosen)

    return loss


@torch.no_grad()
def score(model: Porter, task: str, count: int) -> float:
    """Return the share of right answers in unseen texts with so many guests."""
    for layer in model.layers:
        if layer.kind == "chosen":
            layer.mixer.dense = False
    text = texts(task, count, TESTS, torch.Generator().manual_seed(10**6))
    return round((model(text).argmax(-1) == text.answers).float().mean().item(), 4)


@torch.no_grad()
def named_rooms(kind: str) -> tuple[float, float]:
    """Return how often the first seed names a guest's new room in *moves*, and how often the old.

    Of guests whose two rooms differ, all of the most guests that a text of training has.
    """
    text = texts("moves", COUNTS[-1], TESTS, torch.Generator().manual_seed(10**6))
    named = load("moves", kind)(text).argmax(-1)
    notes = 2 * COUNTS[-1]
    is_of = text.guests[:, None, :notes] == text.guests[:, notes:, None]  # (B, questions, notes)
    first = text.rooms[:, :notes].gather(1, is_of.int().argmax(-1))
    moved = first != text.answers
    new, old = (named == text.answers)[moved], (named == first)[moved]
    return new.float().mean().item(), old.float().mean().item()


@torch.no_grad()
def alpha_beta(kind: str, text: Text) -> tuple[Tensor, Tensor]:
    """Return what the first seed for *four days* keeps of its table at each token, and writes.

    Each is (B, L), the mean of the heads.
    """
    [layer] = (model := load("four days", kind)).layers
    log_decay, beta = layer.mixer._gates(layer.norm(model.embed(text)))  # (B, H, L)
    return log_decay.exp().mean(1), beta.mean(1)


def mean_gates(kind: str) -> tuple[float, float, float]:
    """Return the mean alpha at a note of *four days*, and where all leave; and beta at a note."""
    text = texts("four days", COUNTS[-1], TESTS, torch.Generator().manual_seed(10**6))
    alpha, beta = alpha_beta(kind, text)
    leaves = text.rooms == LEAVE
    notes = ~leaves & ~text.asks
    return alpha[notes].mean().item(), alpha[leaves].mean().item(), beta[notes].mean().item()


@torch.no_grad()
def held_open(model: Porter) -> float:
    """Return the share right on *four days* if no gate fades at *all leave*."""
    text = texts("four days", COUNTS[-1], TESTS, torch.Generator().manual_seed(10**6))
    [layer] = (model := copy.deepcopy(model)).layers
    leaves, gates = text.rooms == LEAVE, layer.mixer._gates

    def opened_gates(x: Tensor) -> tuple[Tensor, Tensor]:
        log_decay, beta = gates(x)
        return log_decay.masked_fill(leaves[:, None], 0.0), beta

    layer.mixer._gates = opened_gates
    return round((model(text).argmax(-1) == text.answers).float().mean().item(), 4)


@torch.no_grad()
def without_each_head(kind: str) -> list[float]:
    """Return the share right on *moves* of the first seed, with one head after the other cut."""
    shares = []
    for head in range(HEADS):
        [layer] = (model := load("moves", kind)).layers
        layer.mixer.out_proj.weight.unflatten(1, (HEADS, -1))[:, head] = 0
        shares.append(score(model, "moves", COUNTS[-1]))
    return shares


def weights_of(task: str, kind: str) -> Path:
    return FOLDER / "weights" / f"{task}-{kind}.safetensors".replace(", ", "-").replace(" ", "-")


def save(model: Porter, task: str, kind: str) -> None:
    path = weights_of(task, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: t.half().contiguous() for name, t in model.state_dict().items()}, path)


def load(task: str, kind: str) -> Porter:
    """Load the model of the first seed, in float32."""
    model = Porter([kind])
    tensors = load_file(weights_of(task, kind))
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model.eval()
