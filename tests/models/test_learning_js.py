"""widgets/lib/learning.js: the gradient is autograd's, and a step is PyTorch's SGD."""

import copy
from itertools import product

import pytest
import torch
import torch.nn.functional as F

from models import weights
from models.storyteller.tokens import Tokenizer
from tests.conftest import ROOT
from tests.models.small import saved
from tests.widgets.js import JSException, module

FILE = ROOT / "models/storyteller/weights/storyteller.safetensors"
TOKENS = [6, 5, 5, 1, 0, 2, 3]
TOLERANCE = 1e-4
WIRINGS = list(product(("learned", "rotary"), (0, 20), (True, False)))


LEARNING = module("lib/learning.js")


def with_model(file):
    """``run`` of learning.js, where ``model`` is that of ``file``."""
    make = "(await import('/widgets/lib/transformer.js')).transformer"
    LEARNING.run(f"(globalThis.model = {make}(new Uint8Array(x).buffer), null)", file.read_bytes())
    return LEARNING.run


def file_of(tmp_path, positions="rotary", mlp_dim=20, norm=True, **options):
    wiring = {"positions": positions, "mlp_dim": mlp_dim, "norm": norm, "is_causal": True}
    return saved(tmp_path, **wiring | options)


def losses_of(model, tokens):
    logits = model(torch.tensor([tokens[:-1]])).logits[0]
    return F.cross_entropy(logits, torch.tensor(tokens[1:]), reduction="none")


def named(model, tensors):
    """Tensors in the order of the model's parameters, by the names that learning.js has."""
    found = {}
    for (name, parameter), tensor in zip(model.named_parameters(), tensors, strict=True):
        assert tensor.shape == parameter.shape
        if "qkv_proj" not in name:
            found[name] = tensor
            continue
        for part, third in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
            found[name.replace("attention.qkv_proj", part)] = third
    rename = {"attention.out_proj": "out", "mlp.0": "mlp.norm", "mlp.1": "mlp.into",
              "mlp.3": "mlp.out", "unembedding_bias": "unembedding.bias",
              "positions": "places"}  # fmt: skip
    for old, new in rename.items():
        found = {name.replace(old, new): tensor for name, tensor in found.items()}
    return found


def assert_all_near(js, tree, want):
    """``tree``: a JavaScript expression in the form of model.parameters."""
    for name, tensor in want.items():
        path = "".join(f"[{part if part.isdigit() else repr(part)}]" for part in name.split("."))
        got = torch.tensor(js(f"{tree}{path}"), dtype=torch.double)
        torch.testing.assert_close(got.view(tensor.shape), tensor, rtol=0, atol=TOLERANCE, msg=name)


@pytest.mark.parametrize(("positions", "mlp", "norm"), WIRINGS)
def test_the_gradient_is_autograds(tmp_path, positions, mlp, norm):
    file = file_of(tmp_path, positions, mlp, norm)
    js, model = with_model(file), weights.load(file).double()
    losses = losses_of(model, TOKENS)
    slopes = torch.autograd.grad(losses.mean(), list(model.parameters()))
    js("(globalThis.found = m.gradientOf(model, x), null)", TOKENS)
    torch.testing.assert_close(torch.tensor(js("found.losses")).double(), losses.detach())
    assert_all_near(js, "found.gradient", named(model, slopes))


def stepped(model, tokens, rate, steps):
    model = copy.deepcopy(model)
    sgd = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        sgd.zero_grad()
        losses_of(model, tokens).mean().backward()
        sgd.step()
    return model


def test_a_step_is_sgds_and_leaves_the_first_model_as_it_was(tmp_path):
    file = file_of(tmp_path)
    js, model = with_model(file), weights.load(file).double()
    js("(globalThis.once = m.learnOnce(model, x, 0.02), null)", TOKENS)
    js("(globalThis.twice = m.learnOnce(once.model, x, 0.02), null)", TOKENS)
    for name, steps in (("model", 0), ("once.model", 1), ("twice.model", 2)):
        learned = stepped(model, TOKENS, 0.02, steps)
        assert_all_near(js, f"{name}.parameters", named(learned, list(learned.parameters())))
        with torch.no_grad():
            want = learned(torch.tensor([TOKENS])).logits[0]
        got = torch.tensor(js(f"{name}.run(x).logits", TOKENS), dtype=torch.double)
        torch.testing.assert_close(got, want, rtol=0, atol=TOLERANCE)
    change, count = js("once.change"), sum(p.numel() for p in model.parameters())
    assert change["count"] == count
    moved = [a - b for a, b in zip(model.parameters(), stepped(model, TOKENS, 0.02, 1).parameters(),
                                   strict=True)]  # fmt: skip
    assert change["largest"] == pytest.approx(max(x.abs().max().item() for x in moved), abs=1e-6)


@pytest.mark.slow
def test_the_storyteller_learns_as_in_pytorch():
    js, model = with_model(FILE), weights.load(FILE).double()
    tokens = Tokenizer(model.config.vocabulary).encode("He went to the moon")
    losses = losses_of(model, tokens)
    slopes = torch.autograd.grad(losses.mean(), list(model.parameters()))
    js("(globalThis.found = m.gradientOf(model, x), null)", tokens)
    torch.testing.assert_close(torch.tensor(js("found.losses")).double(), losses.detach())
    assert_all_near(js, "found.gradient", named(model, slopes))
    js("(globalThis.once = m.learnOnce(model, x, 0.01), null)", tokens)
    assert js("once.change.moved") == js("once.change.count") == 925_440
    learned = stepped(model, tokens, 0.01, 1)
    with torch.no_grad():
        want = learned(torch.tensor([tokens])).logits[0, -1]
    got = torch.tensor(js("once.model.run(x).logits.at(-1)", tokens), dtype=torch.double)
    torch.testing.assert_close(got, want, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    "options",
    [{"is_causal": False}, {"positions": "relative"}, {"raw_values": [False, True]}],
    ids=str,
)
def test_other_wirings_are_refused(tmp_path, options):
    js = with_model(file_of(tmp_path, **options))
    with pytest.raises(JSException, match="only for causal models"):
        js("m.gradientOf(model, [1, 2, 3])")


def test_one_token_teaches_nothing(tmp_path):
    js = with_model(file_of(tmp_path))
    with pytest.raises(JSException, match="it takes two tokens"):
        js("m.gradientOf(model, [1])")
