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
from tests.conftest import ROOT
from tests.models.small import saved
from tests.widgets.js import JSException, module

TOLERANCE = 1e-4
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


def _assert_same(js, model, tokens, off):
    got = js.run(tokens, off)
    with torch.no_grad():
        want = model.double()(torch.tensor([tokens]), off=off)
    assert set(got) == {*want._fields, *BESIDE}
    torch.testing.assert_close(
        torch.tensor(got["logits"], dtype=torch.double), want.logits[0], rtol=0, atol=TOLERANCE
    )
    for name in ("weights", "residual"):
        layers = getattr(want, name)
        assert len(got[name]) == len(layers)
        for mine, theirs in zip(got[name], layers, strict=True):
            mine = torch.tensor(mine, dtype=torch.double)
            torch.testing.assert_close(mine, theirs[0], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("wiring", WIRINGS, ids=lambda wiring: "-".join(map(str, wiring.values())))
def test_every_wiring_equals_pytorch(js, tmp_path, wiring):
    file = saved(tmp_path, **wiring)
    js.load(file.read_bytes())
    model = weights.load(file)
    for tokens in ([3], [0, 1, 2, 0], [6, 5, 5, 1, 0, 2, 3, 4, 6]):  # 1, and not only fours, rows
        for off in ((), [(0, 1)], [(1, 0)], [(0, 0), (0, 1), (0, 2), (1, 0)]):
            _assert_same(js, model, tokens, off)


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
    with pytest.raises(JSException, match="is not causal"):
        js.module.run("model.run([0], {past: model.cache()})")
    js.load(saved(tmp_path, is_causal=True).read_bytes())
    js.module.run("(globalThis.past = model.cache(), model.run([0, 1, 2, 3, 4], {past}), null)")
    with pytest.raises(JSException, match="1 to 9 tokens, this one has 10"):
        js.module.run("model.run([0, 1, 2, 3, 4], {past})")
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
    count, longest = len(model.config.vocabulary), model.config.max_len
    for length, off in ((5, [(0, 0)]), (longest, []), (5, [(model.config.num_layers - 1, 0)])):
        _assert_same(js, model, torch.randint(count, (length,)).tolist(), off)


@pytest.fixture
def file(tmp_path):
    return saved(tmp_path)


def test_words_become_tokens_and_unknown_ones_are_named(js, file):
    js.load(file.read_bytes())
    assert js.call("encode", ["naïve", "猫", "the"]) == [4, 6, 0]
    with pytest.raises(JSException, match='unknown: "dog", "<b>"; the model knows 7 words'):
        js.call("encode", ["dog", "cat", "<b>", "dog"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([[]], "a sequence has 1 to 9 tokens, this one has 0"),
        ([[0] * 10], "a sequence has 1 to 9 tokens, this one has 10"),
        ([[0, 7]], "tokens are whole numbers from 0 to 6, not 7"),
        ([[0, 0.5]], "tokens are whole numbers from 0 to 6, not 0.5"),
        ([[math.nan]], "tokens are whole numbers from 0 to 6, not NaN"),
        ([[0, None]], "tokens are whole numbers from 0 to 6, not null"),
        ([[0], {"off": [[0, 3]]}], r"no head \(0,3\): the layers have 3,1 heads"),
        ([[0], {"off": [[2, 0]]}], r"no head \(2,0\)"),
    ],
)
def test_wrong_input_is_a_clear_error(js, file, arguments, says):
    js.load(file.read_bytes())
    with pytest.raises(JSException, match=says):
        js.call("run", *arguments)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_a_cut_file_is_named(js, file, share):
    whole = file.read_bytes()
    with pytest.raises(JSException, match=r"small\.safetensors is cut, or not a saf"):
        js.load(whole[: int(share * len(whole))])


def _packed(header: dict, numbers: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (b"<!doctype html><title>404</title>", "is cut, or not a safetensors file: its header"),
        (_packed({}), "has no config in its metadata"),
        (_packed({"__metadata__": {"config": "{}"}}), "its config lacks vocabulary, max_len"),
        (
            _packed({"x": {"dtype": "I8", "shape": [3], "data_offsets": [0, 2]}}, bytes(2)),
            "x has 2 bytes for the shape 3",
        ),
        (_packed({"x": {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]}}), "x is I64"),
        (
            _packed({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, bytes(8)),
            "x has 8 bytes for the shape 3",
        ),
        (
            _packed({"x": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}, b"\x00\x7e"),
            "x has a number that isn't finite",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(js, file, says):
    with pytest.raises(JSException, match=f"small.safetensors.*{says}"):
        js.load(file)


def test_a_config_that_does_not_fit_is_refused(js, file):
    small = file.read_bytes()
    for old, new, says in (
        (b'\\"embed_dim\\": 12', b'\\"embed_dim\\": 24', r"embedding is \(7,12\), but its config"),
        (b'\\"norm\\": false', b'\\"norm\\": true ', "lacks norm.weight"),
    ):
        assert old in small
        with pytest.raises(JSException, match=says):
            js.load(small.replace(old, new))
