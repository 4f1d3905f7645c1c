"""widgets/lib/transformer.js computes what PyTorch computes on the same rounded weights."""

import json
import math
import re
from itertools import product
from pathlib import Path

import pytest
import torch

from models import weights
from models.transformer import POSITIONS
from tests.attention.inputs import assert_refused
from tests.conftest import ROOT
from tests.models.small import assert_near, saved
from tests.widgets.js import JSException, module

BESIDE = {"middle", "inner", "query", "key", "value", "mixed"}  # what JavaScript returns as well
NAMES = ("positions", "is_causal", "mlp_dim", "norm", "raw_values")
RAW = ([False, False], [False, True])
WIRINGS = [
    dict(zip(NAMES, wiring, strict=True))
    for wiring in product(POSITIONS, (False, True), (0, 20), (True, False), RAW)
]
CAUSAL = {"is_causal": True, "mlp_dim": 20, "norm": True}


class Js:
    """transformer.js, with the model that was loaded last."""

    module = module("lib/transformer.js")

    def load(self, file: bytes) -> None:
        make = 'globalThis.model = m.transformer(new Uint8Array(x).buffer, "small.safetensors")'
        self.module.run(f"({make}, null)", file)

    def fetch(self, file: Path) -> None:
        path = file.relative_to(ROOT).as_posix()
        self.module.run("(globalThis.model = await loadModel(x), null)", path)

    def call(self, name, *arguments):
        return self.module.run(f"model.{name}(...x)", arguments)

    def run(self, tokens, off=()):
        return self.call("run", tokens, {"off": off})


@pytest.fixture
def js():
    return Js()


@pytest.fixture
def file(tmp_path):
    return saved(tmp_path)


def _assert_same(js, model, tokens, off=()):
    got = js.run(tokens, off)
    with torch.no_grad():
        want = model.double()(torch.tensor([tokens]), off=off)
    assert set(got) == {*want._fields, *BESIDE}
    assert_near(got["logits"], want.logits[0])
    for name in ("weights", "residual"):
        for mine, theirs in zip(got[name], getattr(want, name), strict=True):
            assert_near(mine, theirs[0])


@pytest.mark.parametrize("wiring", WIRINGS, ids=lambda wiring: "-".join(map(str, wiring.values())))
def test_every_wiring_equals_pytorch(js, tmp_path, wiring):
    file = saved(tmp_path, **wiring)
    js.load(file.read_bytes())
    model, longest = weights.load(file), [6, 5, 5, 1, 0, 2, 3, 4, 6]
    for tokens in ([3], [0, 1, 2, 0], longest):  # 1, and not only fours, rows
        _assert_same(js, model, tokens)
    for off in ([(0, 1)], [(1, 0)], [(0, 0), (0, 1), (0, 2), (1, 0)]):
        _assert_same(js, model, longest, off)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("raw", RAW, ids=["plain", "raw"])
def test_reading_in_parts_with_a_cache_is_the_same(js, tmp_path, positions, raw):
    """The cache is also cut back, by setting its length."""
    js.load(saved(tmp_path, bits=8, positions=positions, raw_values=raw, **CAUSAL).read_bytes())
    tokens, off = [6, 5, 5, 1, 0, 2, 3], [[0, 1]]
    whole = js.run(tokens, off)
    js.module.run("(globalThis.past = model.cache(), null)")
    for start, end in ((0, 3), (3, 4), (4, 7), (2, 6), (6, 7)):
        js.module.run("(past.length = x, null)", start)
        part = js.module.run("model.run(x[0], {past, off: x[1]})", [tokens[start:end], off])
        assert js.module.run("past.length") == end
        torch.testing.assert_close(part["logits"], whole["logits"][start:end], rtol=0, atol=1e-9)
        want = [
            [[row[:end] for row in head[start:end]] for head in layer] for layer in whole["weights"]
        ]
        torch.testing.assert_close(part["weights"], want, rtol=0, atol=1e-9)


def test_a_cache_needs_a_causal_model_and_has_an_end(js, file, tmp_path):
    js.load(file.read_bytes())
    first = "model.run([0], {past: model.cache()})"
    assert_refused(lambda: js.module.run(first), JSException, "causal")
    js.load(saved(tmp_path, is_causal=True).read_bytes())
    js.module.run("(globalThis.past = model.cache(), model.run([0, 1, 2, 3, 4], {past}), null)")
    again = "model.run([0, 1, 2, 3, 4], {past})"
    assert_refused(lambda: js.module.run(again), JSException, "1 to 9 tokens; 10")
    assert js.module.run("past.length") == 5


def _committed():
    """Each committed model. Of a training run, those between first and last are slow."""
    files = weights.committed()
    runs = {}
    for file in files:
        runs.setdefault(re.sub(r"-\d+$", "", file.stem), []).append(file)
    for file in files:
        between = any(file in run[1:-1] for run in runs.values())
        marks = [pytest.mark.slow] if between else []
        yield pytest.param(file, id=f"{file.parts[-3]}/{file.stem}", marks=marks)


@pytest.mark.parametrize("file", list(_committed()))
def test_every_committed_model_equals_pytorch(js, file):
    js.fetch(file)
    model = weights.load(file)
    tokens = torch.randint(len(model.config.vocabulary), (model.config.max_len,)).tolist()
    for off in ([(0, 0)], [(model.config.num_layers - 1, 0)]):
        _assert_same(js, model, tokens[:5], off)
    # Of the longest text the logits alone: all weights would be millions of numbers.
    with torch.no_grad():
        want = model(torch.tensor([tokens])).logits[0]
    assert_near(js.module.run("model.run(x).logits", tokens), want)


# ---- What is refused ----------------------------------------------------------------------------


def test_words_become_tokens_and_unknown_ones_are_named(js, file):
    js.load(file.read_bytes())
    assert js.call("encode", ["naïve", "猫", "the"]) == [4, 6, 0]
    unknown = ["dog", "cat", "<b>", "dog"]
    assert_refused(lambda: js.call("encode", unknown), JSException, '"dog", "<b>"; 7 words')


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([[]], "1 to 9 tokens; 0"),
        ([[0] * 10], "1 to 9 tokens; 10"),
        ([[0, 7]], "tokens; from 0 to 6; 7"),
        ([[0, 0.5]], "tokens; from 0 to 6; 0.5"),
        ([[math.nan]], "tokens; from 0 to 6; NaN"),
        ([[0, None]], "tokens; from 0 to 6; null"),
        ([[0], {"off": [[0, 3]]}], "head (0,3); 3,1 heads"),
        ([[0], {"off": [[2, 0]]}], "head (2,0)"),
    ],
)
def test_wrong_input_is_a_clear_error(js, file, arguments, says):
    js.load(file.read_bytes())
    assert_refused(lambda: js.call("run", *arguments), JSException, says)


def _packed(header: dict, numbers: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def _tensor(dtype, shape, end, numbers):
    return _packed({"x": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}}, numbers)


OTHER_FILES = {
    "HTML": (b"<!doctype html><title>404</title>", "header"),
    "no config": (_packed({}), "config; metadata"),
    "a short config": (_packed({"__metadata__": {"config": "{}"}}), "vocabulary, max_len"),
    "bytes": (_tensor("I8", [3], 2, bytes(2)), "x; 2 bytes; shape 3"),
    "half a float": (_tensor("F32", [3], 8, bytes(8)), "x; 8 bytes; shape 3"),
    "64 bits": (_tensor("I64", [0], 0, b""), "x; I64"),
    "no number": (_tensor("F16", [1], 2, b"\x00\x7e"), "x; finite"),
}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_a_file_of_something_else_is_refused(js, kind):
    file, says = OTHER_FILES[kind]
    assert_refused(lambda: js.load(file), JSException, f"small.safetensors; {says}")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_a_cut_file_is_named(js, file, share):
    cut = file.read_bytes()[: int(share * file.stat().st_size)]
    assert_refused(lambda: js.load(cut), JSException, "small.safetensors; cut")


def test_a_config_that_does_not_fit_is_refused(js, file):
    small = file.read_bytes()
    for old, new, says in (
        (b'\\"embed_dim\\": 12', b'\\"embed_dim\\": 24', "embedding; (7,12)"),
        (b'\\"norm\\": false', b'\\"norm\\": true ', "norm.weight"),
    ):
        assert old in small
        changed = small.replace(old, new)
        assert_refused(lambda changed=changed: js.load(changed), JSException, says)
