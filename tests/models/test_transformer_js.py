"""widgets/lib/transformer.js computes what PyTorch computes on the same rounded weights."""

import json
import re

import pytest
import torch

from models import weights
from tests.attention.inputs import assert_refused
from tests.conftest import ROOT
from tests.models.small import assert_near, saved
from tests.widgets.js import JSException, module

JS = module("lib/transformer.js")


def load(file: bytes) -> None:
    make = 'globalThis.model = m.transformer(new Uint8Array(x).buffer, "small.safetensors")'
    JS.run(f"({make}, null)", file)


def run(*arguments):
    return JS.run("model.run(...x)", arguments)


@pytest.fixture
def file(tmp_path):
    return saved(tmp_path)


@torch.no_grad()
def assert_same(model, tokens, off=()):
    got, want = run(tokens, {"off": off}), model.double()(torch.tensor([tokens]), off=off)
    assert_near(got["logits"], want.logits[0])
    for name in ("weights", "residual"):
        for mine, theirs in zip(got[name], getattr(want, name), strict=True):
            assert_near(mine, theirs[0])


def committed():
    """Each committed model. Of a training run, those between first and last are slow."""
    runs = {}
    for file in weights.committed():
        runs.setdefault(re.sub(r"-\d+$", "", file.stem), []).append(file)
    for files in runs.values():
        for file in files:
            marks = [pytest.mark.slow] if file in files[1:-1] else []
            yield pytest.param(file, id=f"{file.parts[-3]}/{file.stem}", marks=marks)


@pytest.mark.parametrize("file", [*committed()])
def test_every_committed_model_equals_pytorch(file):
    path = file.relative_to(ROOT).as_posix()
    JS.run("(globalThis.model = await loadModel(x), null)", path)
    model = weights.load(file)
    tokens = torch.randint(len(model.config.vocabulary), (model.config.max_len,)).tolist()
    for length in (1, 4, 5):  # rows are multiplied in fours
        assert_same(model, tokens[:length])
    for off in ([(0, 0)], [(model.config.num_layers - 1, 0)]):
        assert_same(model, tokens[:5], off)
    # Of the longest text the logits alone: all weights would be millions of numbers.
    with torch.no_grad():
        want = model(torch.tensor([tokens])).logits[0]
    assert_near(JS.run("model.run(x).logits", tokens), want)


# ---- What is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("run([])", "1 to 9 tokens; 0"),
        ("run(Array(10).fill(0))", "1 to 9 tokens; 10"),
        ("run([0, 7])", "tokens; from 0 to 6; 7"),
        ("run([0, 0.5])", "tokens; from 0 to 6; 0.5"),
        ("run([NaN])", "tokens; from 0 to 6; NaN"),
        ("run([0], {off: [[0, 3]]})", "head (0,3); 3,1 heads"),
        ("run([0], {off: [[2, 0]]})", "head (2,0)"),
        ("run([0], {past: {...model.cache(), length: 9}})", "1 to 9 tokens; 10"),
        ("run([0], {past: model.cache()})", "causal"),
        ("encode(['dog', 'cat', '<b>', 'dog'])", '"dog", "<b>"; 7 words'),
    ],
)
def test_wrong_input_is_a_clear_error(file, code, says):
    load(file.read_bytes())
    assert JS.run("model.encode(x)", ["naïve", "猫", "the"]) == [4, 6, 0]
    assert_refused(lambda: JS.run(f"model.{code}"), JSException, says)


def packed(header: dict, numbers: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def tensor(dtype, shape, numbers):
    header = {"dtype": dtype, "shape": shape, "data_offsets": [0, len(numbers)]}
    return packed({"x": header}, numbers)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<!doctype html><title>404</title>", "header"),
        (packed({}), "config; metadata"),
        (packed({"__metadata__": {"config": "{}"}}), "vocabulary, max_len"),
        (tensor("I8", [3], bytes(2)), "x; 2 bytes; shape 3"),
        (tensor("F32", [3], bytes(8)), "x; 8 bytes; shape 3"),
        (tensor("I64", [0], b""), "x; I64"),
        (tensor("F16", [1], b"\x00\x7e"), "x; finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_a_file_of_something_else_is_refused(content, says):
    assert_refused(lambda: load(content), JSException, f"small.safetensors; {says}")


def test_a_file_that_is_cut_or_does_not_fit_its_config_is_refused(file):
    small = file.read_bytes()
    wider = small.replace(b'\\"embed_dim\\": 12', b'\\"embed_dim\\": 24')
    normed = small.replace(b'\\"norm\\": false', b'\\"norm\\": true ')
    cuts = [(small[: int(share * len(small))], "cut") for share in (0.0, 0.001, 0.1, 0.99)]
    for content, says in [(wider, "embedding; (7,12)"), (normed, "norm.weight"), *cuts]:
        assert content != small
        assert_refused(
            lambda content=content: load(content), JSException, f"small.safetensors; {says}"
        )
