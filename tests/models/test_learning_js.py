"""widgets/lib/learning.js: the gradient is autograd's, and a step is PyTorch's SGD."""

import copy
from itertools import product

import pytest
import torch
import torch.nn.functional as F

from models import weights
from models.storyteller.model import FILE, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.attention.inputs import assert_refused
from tests.models.small import assert_near, saved
from tests.widgets.js import JSException, module

TOKENS = [6, 5, 5, 1, 0, 2, 3]
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
    by_name = {}
    for (name, parameter), tensor in zip(model.named_parameters(), tensors, strict=True):
        assert tensor.shape == parameter.shape
        if "qkv_proj" not in name:
            by_name[name] = tensor
            continue
        for part, third in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
            by_name[name.replace("attention.qkv_proj", part)] = third
    rename = {"attention.out_proj": "out", "mlp.0": "mlp.norm", "mlp.1": "mlp.into",
              "mlp.3": "mlp.out", "unembedding_bias": "unembedding.bias",
              "positions": "places"}  # fmt: skip
    for old, new in rename.items():
        by_name = {name.replace(old, new): tensor for name, tensor in by_name.items()}
    return by_name


def assert_all_near(js, tree, want):
    """``tree``: a JavaScript expression in the form of model.parameters."""
    for name, tensor in want.items():
        path = "".join(f"[{part if part.isdigit() else repr(part)}]" for part in name.split("."))
        assert_near(js(f"{tree}{path}"), tensor, msg=name)


def assert_gradient_is_autograds(js, model, tokens):
    losses = losses_of(model, tokens)
    slopes = torch.autograd.grad(losses.mean(), list(model.parameters()))
    js("(globalThis.step = m.gradientOf(model, x), null)", tokens)
    torch.testing.assert_close(torch.tensor(js("step.losses")).double(), losses.detach())
    assert_all_near(js, "step.gradient", named(model, slopes))


@pytest.mark.parametrize(
    ("positions", "mlp", "norm"), [*product(("learned", "rotary"), (0, 20), (True, False))]
)
def test_the_gradient_is_autograds(tmp_path, positions, mlp, norm):
    file = file_of(tmp_path, positions, mlp, norm)
    assert_gradient_is_autograds(with_model(file), weights.load(file).double(), TOKENS)


def stepped(model, tokens, rate, steps):
    model = copy.deepcopy(model)
    sgd = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        sgd.zero_grad()
        losses_of(model, tokens).mean().backward()
        sgd.step()
    return model


@torch.no_grad()
def logits_of(model, tokens):
    return model(torch.tensor([tokens])).logits[0]


def test_a_step_is_sgds_and_leaves_the_first_model_as_it_was(tmp_path):
    file = file_of(tmp_path)
    js, model = with_model(file), weights.load(file).double()
    js("(globalThis.once = m.learnOnce(model, x, 0.02), null)", TOKENS)
    js("(globalThis.twice = m.learnOnce(once.model, x, 0.02), null)", TOKENS)
    learned = [stepped(model, TOKENS, 0.02, steps) for steps in range(3)]
    for name, want in zip(("model", "once.model", "twice.model"), learned, strict=True):
        assert_all_near(js, f"{name}.parameters", named(want, list(want.parameters())))
        assert_near(js(f"{name}.run(x).logits", TOKENS), logits_of(want, TOKENS))
    pairs = list(zip(*(one.parameters() for one in learned[:2]), strict=True))
    assert js("once.change.count") == sum(a.numel() for a, _ in pairs)
    largest = max((a - b).abs().max().item() for a, b in pairs)
    assert js("once.change.largest") == pytest.approx(largest, abs=1e-6)


@pytest.mark.slow
def test_the_storyteller_learns_as_in_pytorch():
    js, model = with_model(FILE), load_storyteller().double()
    tokens = Tokenizer(model.config.vocabulary).encode("He went to the moon")
    assert_gradient_is_autograds(js, model, tokens)
    js("(globalThis.once = m.learnOnce(model, x, 0.01), null)", tokens)
    assert js("once.change.moved") == js("once.change.count") == 925_440
    want = logits_of(stepped(model, tokens, 0.01, 1), tokens)[-1]
    assert_near(js("once.model.run(x).logits.at(-1)", tokens), want)


@pytest.mark.parametrize(
    ("options", "tokens", "says"),
    [({"is_causal": False}, TOKENS, "causal"), ({"positions": "relative"}, TOKENS, "causal"),
     ({"raw_values": [False, True]}, TOKENS, "causal"), ({}, [1], "two tokens")],
    ids=str,
)  # fmt: skip
def test_other_wirings_and_one_token_are_refused(tmp_path, options, tokens, says):
    js = with_model(file_of(tmp_path, **options))
    assert_refused(lambda: js("m.gradientOf(model, x)", tokens), JSException, says)
