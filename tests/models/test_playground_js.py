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

MODEL, GRADIENT, TASKS, TRAINER = (
    module(f"playground/{name}.js") for name in ("model", "gradient", "tasks", "trainer")
)
CHANCE = "(await import('/widgets/lib/exact.js')).chanceOf"

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


def assert_close(got, want):
    got = torch.tensor(got, dtype=torch.double).flatten()
    torch.testing.assert_close(got, want.detach().flatten().double(), rtol=0, atol=1e-5)


class Reference(torch.nn.Module):
    """The same model from attention.py's layers; ``numbers`` has the page's matrices by name."""

    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        flat = MODEL.run(f"m.numbersOf(x, {CHANCE}(2 * x.seed))", spec)
        flat = torch.tensor(flat, dtype=torch.double)
        self.numbers = {}
        for part in MODEL.call("planOf", spec):
            shape = part["rows"], part["columns"]
            matrix = flat[part["from"] :][: math.prod(shape)].view(shape).clone()
            self.numbers[part["name"]] = matrix.requires_grad_()
        head = spec["width"] // spec["heads"]
        rotary = Rotary(head).double() if spec["positions"] == "rotary" else None
        layer = MultiHeadAttention(spec["width"], spec["heads"], bias=False, rotary=rotary)
        self.layer = [layer.double()]  # in a list: its own parameters are not the model's

    def norm(self, x):
        return F.rms_norm(x, (self.spec["width"],), eps=1e-5) if self.spec["norm"] else x

    def attend(self, x, i):
        parts = ("query", "key", "value", "out")
        query, key, value, out = (self.numbers[f"{i}.{part}"] for part in parts)
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
                units = F.gelu(self.norm(x) @ self.numbers[f"{i}.into"].T, approximate="tanh")
                x = x + units @ self.numbers[f"{i}.back"].T
        return self.norm(x) @ self.numbers["unembedding"].T, maps

    def learn_from(self, tokens, targets):
        """The loss, the maps, and a row of logits for each question: some tasks ask two at once."""
        logits, maps = self(tokens)
        logits = logits.reshape(targets.numel(), -1)
        return F.cross_entropy(logits, targets.flatten(), ignore_index=-1), maps, logits


def batches(spec, count):
    """What the training of ``spec`` learns from at its first ``count`` steps."""
    draw = f"""(({{task, seed}}, count, chanceOf) => {{
      const chance = chanceOf(2 * seed + 1);
      return Array.from({{length: count}}, () => m.batchOf(task, chance, 16));
    }})(...x, {CHANCE})"""
    return [
        tuple(torch.tensor(batch[part]).view(16, -1) for part in ("tokens", "targets"))
        for batch in TASKS.run(draw, [spec, count])
    ]


LEARN = f"""(async ({{spec, batch}}) => {{
  const {{numbersOf, viewsOf}} = await import('/widgets/playground/model.js');
  const numbers = numbersOf(spec, {CHANCE}(2 * spec.seed));
  const slopes = new Float64Array(numbers.length);
  const step = m.learnFrom(spec, viewsOf(spec, numbers), batch, viewsOf(spec, slopes));
  return {{loss: step.loss, share: step.share, logits: step.run.logits, slopes,
    maps: step.run.layers.map(({{weights}}) => weights[1])}};
}})(x)"""


@pytest.mark.parametrize("spec", SWITCHES, ids=name)
def test_forward_and_gradient_are_pytorchs(spec):
    model, [(tokens, targets)] = Reference(spec), batches(spec, 1)
    batch = {"tokens": tokens.flatten(), "targets": targets.flatten()}
    got = GRADIENT.run(LEARN, {"spec": spec, "batch": batch})
    loss, maps, logits = model.learn_from(tokens, targets)
    right = (logits.argmax(-1) == batch["targets"])[batch["targets"] >= 0]
    assert got["loss"] == pytest.approx(loss.item(), abs=1e-5)
    assert got["share"] == pytest.approx(right.double().mean().item())
    assert_close(got["logits"], logits)
    for seen, exact in zip(got["maps"], maps, strict=True):
        assert_close(seen, exact[1])
    slopes = torch.autograd.grad(loss, list(model.numbers.values()))
    assert_close(got["slopes"], torch.cat([slope.flatten() for slope in slopes]))


OPENINGS = [
    {"task": "repeat", "layers": 2, "heads": 1, "width": 32, "positions": "learned", "mask": True,
     "scale": True, "norm": True, "mlp": False, "rate": 0.01, "seed": 0},
    {"task": "reverse", "layers": 1, "heads": 2, "width": 16, "positions": "rotary", "mask": False,
     "scale": True, "norm": True, "mlp": True, "rate": 0.02, "seed": 5},
]  # fmt: skip


@pytest.mark.parametrize("spec", OPENINGS, ids=name)
def test_steps_are_those_of_adamw(spec):
    """The losses and all numbers, past the 20 steps in which the rate rises."""
    model, losses = Reference(spec), []
    numbers = list(model.numbers.values())
    adamw = torch.optim.AdamW(numbers, spec["rate"], betas=(0.9, 0.95), weight_decay=0.01)
    rise = torch.optim.lr_scheduler.LambdaLR(adamw, lambda step: min(1, (step + 1) / 20))
    for tokens, targets in batches(spec, 25):
        adamw.zero_grad()
        loss, *_ = model.learn_from(tokens, targets)
        loss.backward()
        losses.append(loss.item())
        adamw.step()
        rise.step()
    go = """((trainer) => ({losses: Array.from({length: 25}, () => trainer.next().loss),
      numbers: trainer.numbers}))(m.trainerOf(x))"""
    got = TRAINER.run(go, spec)
    assert got["losses"] == pytest.approx(losses, abs=1e-5)
    assert_close(got["numbers"], torch.cat([number.flatten() for number in numbers]))


# ---- The same in every browser -------------------------------------------------------------------


@pytest.mark.parametrize("path", [
    *(f"lib/{name}.js" for name in ("exact", "backward", "layers")),
    *(f"playground/{name}.js" for name in ("model", "gradient", "trainer", "tasks")),
])  # fmt: skip
def test_no_function_that_browsers_round_in_their_own_way_takes_part(path):
    """Math.exp and its like may differ in the last bit; square roots, by IEEE 754, may not."""
    lines = (ROOT / "widgets" / path).read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if "//" not in line)
    for word in ("exp", "log", "sin", "cos", "tanh", "pow"):
        assert f"Math.{word}(" not in code


def test_a_run_is_the_one_whose_scores_are_kept():
    """The committed scores, found again from the seed: the loss of the last ten of 50 steps."""
    scores = scores_of("playground")
    record = next(one for one in scores["recorded"] if one["step"] == 50)
    trainer = "Array.from({length: 50}, ((t) => () => t.next().loss)(m.trainerOf(x)))"
    losses = TRAINER.run(trainer, OPENINGS[0])
    assert sum(losses[-10:]) / 10 == pytest.approx(record["loss"], abs=1e-4)
