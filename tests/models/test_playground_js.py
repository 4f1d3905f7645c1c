"""The playground's training, run in a browser: forward, gradient and steps are PyTorch's."""

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call

from attention import MultiHeadAttention
from positions import Rotary
from tests.conftest import ROOT
from tests.scores import scores_of
from tests.widgets.js import module

MODEL = module("playground/model.js")
GRADIENT = module("playground/gradient.js")
TASKS = module("playground/tasks.js")
TRAINER = module("playground/trainer.js")
EXACT = module("lib/exact.js")
TOLERANCE = {"rtol": 0, "atol": 1e-5}

# Every pair of switches occurs with both values of each, and each size at least once.
SWITCHES = [
    {"mask": mask, "scale": scale, "norm": norm, "mlp": mlp, "positions": positions,
     "layers": layers, "heads": heads, "width": 16, "task": task, "rate": 0.01, "seed": 3}
    for (mask, scale, norm, mlp, positions), (layers, heads, task) in zip(
        [*product((True, False), (True, False), (True, False), (True, False),
                  ("none", "learned", "rotary"))],
        [(1, 1, "repeat"), (2, 2, "recall"), (3, 4, "sort"), (2, 1, "first"), (1, 4, "reverse"),
         (2, 4, "previous"), (1, 2, "two"), (2, 1, "two")] * 6,
        strict=True,
    )
]  # fmt: skip


def name(spec):
    return "-".join(str(value) for key, value in spec.items() if key not in ("rate", "seed"))


class Reference(torch.nn.Module):
    """The same model from attention.py's layers; ``numbers`` has its matrices by name."""

    def __init__(self, spec, numbers):
        super().__init__()
        self.spec = spec
        self.numbers = {
            key.replace(".", "_"): value.requires_grad_() for key, value in numbers.items()
        }
        head = spec["width"] // spec["heads"]
        rotary = Rotary(head).double() if spec["positions"] == "rotary" else None
        layer = MultiHeadAttention(spec["width"], spec["heads"], bias=False, rotary=rotary)
        self.layer = [layer.double()]  # in a list: its own parameters are not the model's

    def norm(self, x):
        if not self.spec["norm"]:
            return x
        return F.rms_norm(x, (self.spec["width"],), eps=1e-5)

    def attend(self, x, i):
        query, key, value, out = (self.numbers[f"{i}_{part}"] for part in PARTS)
        if not self.spec["scale"]:  # √d times the query undoes the division by √d
            query = query * math.sqrt(self.spec["width"] / self.spec["heads"])
        weights = {"qkv_proj.weight": torch.cat([query, key, value]), "out_proj.weight": out}
        options = {"is_causal": self.spec["mask"], "return_attention": True}
        return functional_call(self.layer[0], weights, (x,), options)

    def forward(self, tokens):
        x = self.numbers["embedding"][tokens]
        if self.spec["positions"] == "learned":
            x = x + self.numbers["places"]
        maps = []
        for i in range(self.spec["layers"]):
            added, weights = self.attend(self.norm(x), i)
            maps.append(weights)
            x = x + added
            if self.spec["mlp"]:
                units = F.gelu(self.norm(x) @ self.numbers[f"{i}_into"].T, approximate="tanh")
                x = x + units @ self.numbers[f"{i}_back"].T
        return self.norm(x) @ self.numbers["unembedding"].T, maps


PARTS = ("query", "key", "value", "out")


def built(spec):
    """The untrained model of ``spec``, with the page's own numbers."""
    start = "(await import('/widgets/lib/exact.js')).chanceOf(2 * x.seed)"
    flat = torch.tensor(MODEL.run(f"m.numbersOf(x, {start})", spec), dtype=torch.double)
    numbers = {
        part["name"]: flat[part["from"] :][: part["rows"] * part["columns"]]
        .view(part["rows"], part["columns"])
        .clone()
        for part in MODEL.call("planOf", spec)
    }
    return Reference(spec, numbers)


def batches(spec, count):
    """What the training of ``spec`` learns from at its first ``count`` steps."""
    draw = """(await import('/widgets/lib/exact.js').then(({chanceOf}) => {
      const chance = chanceOf(2 * x[0].seed + 1);
      return Array.from({length: x[1]}, () => m.batchOf(x[0].task, chance, 16));
    }))"""
    return [
        tuple(torch.tensor(batch[part]).view(16, -1) for part in ("tokens", "targets"))
        for batch in TASKS.run(draw, [spec, count])
    ]


def loss_of(model, tokens, targets):
    logits, _ = model(tokens)
    return F.cross_entropy(by_question(logits, targets), targets.flatten(), ignore_index=-1)


def by_question(logits, targets):
    """A row of logits for each question: some tasks ask two at each symbol."""
    return logits.reshape(targets.numel(), -1)


LEARN = """(await Promise.all([
  import('/widgets/lib/exact.js'), import('/widgets/playground/model.js')
]).then(([{chanceOf}, {numbersOf, viewsOf}]) => {
  const numbers = numbersOf(x.spec, chanceOf(2 * x.spec.seed));
  const slopes = new Float64Array(numbers.length);
  const step = m.learnFrom(x.spec, viewsOf(x.spec, numbers), x.batch, viewsOf(x.spec, slopes));
  return {loss: step.loss, share: step.share, logits: step.run.logits, slopes,
    maps: step.run.layers.map(({weights}) => weights[1])};
}))"""


@pytest.mark.parametrize("spec", SWITCHES, ids=name)
def test_forward_and_gradient_are_pytorchs(spec):
    model = built(spec)
    ((tokens, targets),) = batches(spec, 1)
    batch = {"tokens": tokens.flatten().tolist(), "targets": targets.flatten().tolist()}
    got = GRADIENT.run(LEARN, {"spec": spec, "batch": batch})
    logits, maps = model(tokens)
    loss = loss_of(model, tokens, targets)
    assert got["loss"] == pytest.approx(loss.item(), abs=1e-5)
    answers = by_question(logits, targets).argmax(-1).view_as(targets)
    right = (answers == targets)[targets >= 0].double().mean().item()
    assert got["share"] == pytest.approx(right)
    torch.testing.assert_close(torch.tensor(got["logits"]), logits.flatten().float(), **TOLERANCE)
    for seen, exact in zip(got["maps"], maps, strict=True):
        seen = torch.tensor(seen).view_as(exact[1])
        torch.testing.assert_close(seen, exact[1].float(), **TOLERANCE)
    slopes = torch.autograd.grad(loss, list(model.numbers.values()))
    flat = torch.cat([slope.flatten() for slope in slopes]).float()
    torch.testing.assert_close(torch.tensor(got["slopes"]), flat, **TOLERANCE)


OPENINGS = [
    {"task": "repeat", "layers": 2, "heads": 1, "width": 32, "positions": "learned", "mask": True,
     "scale": True, "norm": True, "mlp": False, "rate": 0.01, "seed": 0},
    {"task": "reverse", "layers": 1, "heads": 2, "width": 16, "positions": "rotary", "mask": False,
     "scale": True, "norm": True, "mlp": True, "rate": 0.02, "seed": 5},
]  # fmt: skip


@pytest.mark.parametrize("spec", OPENINGS, ids=name)
def test_steps_are_those_of_adamw(spec):
    """The losses and all numbers, past the 20 steps in which the rate rises."""
    steps = 25
    model = built(spec)
    numbers = list(model.numbers.values())
    adamw = torch.optim.AdamW(numbers, spec["rate"], betas=(0.9, 0.95), weight_decay=0.01)
    rise = torch.optim.lr_scheduler.LambdaLR(adamw, lambda step: min(1, (step + 1) / 20))
    losses = []
    for tokens, targets in batches(spec, steps):
        adamw.zero_grad()
        loss = loss_of(model, tokens, targets)
        loss.backward()
        losses.append(loss.item())
        adamw.step()
        rise.step()
    go = """(() => {
      const trainer = m.trainerOf(x[0]);
      const losses = Array.from({length: x[1]}, () => trainer.next().loss);
      return {losses, numbers: trainer.numbers};
    })()"""
    got = TRAINER.run(go, [spec, steps])
    assert got["losses"] == pytest.approx(losses, abs=1e-5)
    flat = torch.cat([number.detach().flatten() for number in numbers])
    torch.testing.assert_close(torch.tensor(got["numbers"]).double(), flat, **TOLERANCE)


# ---- The same in every browser -------------------------------------------------------------------


def test_own_functions_are_exact():
    xs = [x / 7 - 30 for x in range(420)] + [-745, -800, 0, 1e-9, 700]
    for x, got in zip(xs, EXACT.run("x.map(m.exp)", xs), strict=True):
        assert got == pytest.approx(math.exp(x), rel=1e-12, abs=1e-320), x
    xs = [1e-300, 1e-9, 0.3, 0.5, 0.99, 1, 1.4, 1.5, 2, 3, 12345.6, 1e300]
    for x, got in zip(xs, EXACT.run("x.map(m.log)", xs), strict=True):
        assert got == pytest.approx(math.log(x), rel=1e-13, abs=1e-13), x
    for size in (4, 8, 32):
        turn = EXACT.call("rotation", 23, size)
        angles = [23 / 10000 ** (2 * i / size) for i in range(size // 2)]
        assert turn["cos"] == pytest.approx([math.cos(a) for a in angles], abs=1e-12)
        assert turn["sin"] == pytest.approx([math.sin(a) for a in angles], abs=1e-12)


def test_chance_is_even_normal_and_pinned():
    normal = torch.tensor(
        EXACT.run("Array.from({length: 20000}, ((c) => c.normal)(m.chanceOf(1)))")
    )
    assert abs(normal.mean()) < 0.03
    assert normal.std() == pytest.approx(1, abs=0.02)
    assert (normal**4).mean() == pytest.approx(3, abs=0.25)
    even = torch.tensor(
        EXACT.run("Array.from({length: 9000}, ((c) => () => c.below(9))(m.chanceOf(2)))")
    )
    assert (torch.bincount(even) - 1000).abs().max() < 130
    assert EXACT.run("[0, 1].map((s) => m.chanceOf(s).uniform())") == PINNED


PINNED = [0.5464560757391155, 0.8554311494808644]


def test_no_function_that_browsers_round_in_their_own_way_takes_part():
    """Math.exp and its like may differ in the last bit; square roots, by IEEE 754, may not."""
    own = ROOT / "widgets/playground"
    for path in [ROOT / f"widgets/lib/{name}.js" for name in ("exact", "backward", "layers")] + [
        own / f"{name}.js" for name in ("model", "gradient", "trainer", "tasks")
    ]:
        code = "\n".join(
            line for line in path.read_text(encoding="utf-8").splitlines() if "//" not in line
        )
        for word in ("Math.exp", "Math.log", "Math.sin", "Math.cos", "Math.tanh", "Math.pow"):
            assert f"{word}(" not in code, (path.name, word)


def test_a_run_is_the_one_whose_scores_are_kept():
    """The committed scores, found again from the seed: the loss of the last ten of 40 steps."""
    scores = scores_of("playground")
    record = next(one for one in scores["recorded"] if one["step"] == 50)
    trainer = "Array.from({length: 50}, ((t) => () => t.next().loss)(m.trainerOf(x)))"
    losses = TRAINER.run(trainer, OPENINGS[0])
    assert sum(losses[-10:]) / 10 == pytest.approx(record["loss"], abs=1e-4)
