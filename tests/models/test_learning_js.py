"""widgets/lib/learning.js: a step changes a model as PyTorch's SGD does."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector

from models import weights
from tests.attention.inputs import assert_refused
from tests.models.small import assert_near, saved
from tests.widgets.js import JSException, module

TOKENS = [6, 5, 5, 1, 0, 2, 3]
JS = module("lib/learning.js")
LEARN = """(() => {
  const steps = [{model}];
  for (let i = 0; i < x.steps; i += 1) steps.push(m.learnOnce(steps[i].model, x.tokens, x.rate));
  return steps.map(({model, ...step}) => ({...step, logits: model.run(x.tokens).logits}));
})()"""


def wired(tmp_path, positions="rotary", mlp_dim=20, norm=True, **options):
    wiring = {"positions": positions, "mlp_dim": mlp_dim, "norm": norm, "is_causal": True}
    file = saved(tmp_path, **wiring | options)
    make = "(await import('/widgets/lib/transformer.js')).transformer"
    JS.run(f"(globalThis.model = {make}(new Uint8Array(x).buffer), null)", file.read_bytes())
    return weights.load(file).double()


@pytest.mark.parametrize(
    ("positions", "mlp", "norm"), [*product(("learned", "rotary"), (0, 20), (True, False))]
)
def test_every_causal_wiring_learns_as_in_pytorch(tmp_path, positions, mlp, norm):
    """The losses before and the logits after each step; the models before stay as they were."""
    model, rate, change = wired(tmp_path, positions, mlp, norm), 0.02, {}
    steps = 2 if norm else 1  # without norms, so large a second step leads far away
    got = JS.run(LEARN, {"tokens": TOKENS, "rate": rate, "steps": steps})
    sgd, tokens = torch.optim.SGD(model.parameters(), rate), torch.tensor([TOKENS])
    for i, step in enumerate(got):
        logits = model(tokens).logits[0]
        assert_near(step["logits"], logits.detach(), msg=f"after {i} steps")
        assert {name: step["change"][name] for name in change} == change
        losses = F.cross_entropy(logits[:-1], tokens[0, 1:], reduction="none")
        if i < steps:
            assert_near(got[i + 1]["losses"], losses.detach())
            assert got[i + 1]["loss"] == pytest.approx(losses.mean().item(), abs=1e-5)
        before = parameters_to_vector(model.parameters()).detach()
        sgd.zero_grad()
        losses.mean().backward()
        sgd.step()
        moved = (parameters_to_vector(model.parameters()) - before).abs()
        change = {"count": len(moved), "largest": pytest.approx(moved.max().item(), abs=1e-6)}
        # The slopes of keys' biases are 0 but for rounding.
        change["moved"] = pytest.approx((moved > 0).sum().item(), abs=24)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"is_causal": False}, "causal"), ({"positions": "relative"}, "causal"), ({}, "two tokens")],
    ids=str,
)
def test_other_wirings_and_one_token_are_refused(tmp_path, options, says):
    wired(tmp_path, **options)
    assert_refused(lambda: JS.run("m.gradientOf(model, [1])"), JSException, says)
