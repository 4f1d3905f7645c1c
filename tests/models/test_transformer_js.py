"""widgets/lib/transformer.js computes what PyTorch computes on the same rounded weights.

It runs in QuickJS, which has no page: no DOM, no fetch, no TextDecoder.
"""

import json
import re
from itertools import product
from pathlib import Path

import pytest
import quickjs
import torch

from models import weights
from models.transformer import POSITIONS, Config, Transformer

ROOT = Path(__file__).parents[2]
WORDS = ("the", "cat", "sat", "on", "naïve", "Maße", "猫")
TOLERANCE = 1e-4
LONGEST = 48  # tokens of a committed model, which QuickJS runs slowly
WIRINGS = [
    pytest.param(*wiring, id="{}-{}-mlp{}-{}-{}".format(*map(str, wiring)))
    for wiring in product(
        POSITIONS, ("free", "causal"), (0, 20), ("norm", "no norm"), ("plain", "raw")
    )
]


class Js:
    """The files, without their imports and exports, in a context of their own."""

    def __init__(self):
        self.context = quickjs.Context()
        names = ("safetensors.js", "layers.js", "transformer.js")
        source = "\n".join((ROOT / "widgets/lib" / name).read_text("utf-8") for name in names)
        self.context.eval(re.sub(r"^import .*|^export ", "", source, flags=re.MULTILINE))
        self.context.eval("const flat = (x) => (ArrayBuffer.isView(x) ? [...x] : x.map(flat));")

    def load(self, file: bytes, name: str = "small.safetensors") -> None:
        numbers = f"new Uint8Array({list(file)}).buffer"
        self.context.eval(f"globalThis.model = transformer({numbers}, {json.dumps(name)}); 0")

    def run(self, tokens, off=()):
        given = f"{json.dumps(tokens)}, {{off: {json.dumps([list(pair) for pair in off])}}}"
        run = f"Object.entries(model.run({given})).map(([name, x]) => [name, flat(x)])"
        return dict(json.loads(self.context.eval(f"JSON.stringify({run})")))


@pytest.fixture
def js():
    return Js()


def _model(positions="learned", causal="free", mlp=0, norm="no norm", raw="plain", max_len=9):
    torch.manual_seed(0)
    options = {"norm": norm == "norm", "positions": positions, "is_causal": causal == "causal"}
    raw_values = [False, raw == "raw"]
    model = Transformer(
        Config(WORDS, max_len, 12, [3, 1], 2, mlp, raw_values=raw_values, **options)
    )
    with torch.no_grad():  # as training leaves them: large enough to tell wirings apart
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    return model


def _assert_same(js, model, tokens, off):
    got = js.run(tokens, off)
    with torch.no_grad():
        want = model.double()(torch.tensor([tokens]), off=off)
    assert set(got) == set(want._fields)
    torch.testing.assert_close(
        torch.tensor(got["logits"], dtype=torch.double), want.logits[0], rtol=0, atol=TOLERANCE
    )
    for name in ("weights", "residual"):
        layers = getattr(want, name)
        assert len(got[name]) == len(layers)
        for mine, theirs in zip(got[name], layers, strict=True):
            mine = torch.tensor(mine, dtype=torch.double)
            torch.testing.assert_close(mine, theirs[0], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(("positions", "causal", "mlp", "norm", "raw"), WIRINGS)
def test_every_wiring_equals_pytorch(js, tmp_path, positions, causal, mlp, norm, raw):
    file = tmp_path / "small.safetensors"
    weights.save(_model(positions, causal, mlp, norm, raw), file)
    js.load(file.read_bytes())
    model = weights.load(file)
    for tokens in ([3], [0, 1, 2, 0], [6, 5, 5, 1, 0, 2, 3, 4, 6]):  # 1, and not only fours, rows
        for off in ((), [(0, 1)], [(1, 0)], [(0, 0), (0, 1), (0, 2), (1, 0)]):
            _assert_same(js, model, tokens, off)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("raw", ["plain", "raw"])
def test_read_bit_by_bit_it_is_the_same(js, tmp_path, positions, raw):
    """With a cache, which also forgets what follows a place."""
    weights.save(
        _model(positions, "causal", 20, "norm", raw), tmp_path / "small.safetensors", bits=8
    )
    js.load((tmp_path / "small.safetensors").read_bytes())
    tokens, off = [6, 5, 5, 1, 0, 2, 3], [[0, 1]]
    whole = js.run(tokens, off)
    js.context.eval("globalThis.past = model.cache(); 0")
    for start, end in ((0, 3), (3, 4), (4, 7), (2, 6), (6, 7)):
        given = f"{tokens[start:end]}, {{past, off: {off}}}"
        js.context.eval(f"past.length = {start}; globalThis.found = model.run({given}); 0")
        part = json.loads(
            js.context.eval("JSON.stringify([flat(found.logits), flat(found.weights)])")
        )
        assert js.context.eval("past.length") == end
        torch.testing.assert_close(part[0], whole["logits"][start:end], rtol=0, atol=1e-9)
        want = [
            [[row[:end] for row in head[start:end]] for head in layer] for layer in whole["weights"]
        ]
        torch.testing.assert_close(part[1], want, rtol=0, atol=1e-9)


def test_a_cache_is_a_causal_models_and_holds_so_much(js, saved, tmp_path):
    js.load(saved.read_bytes())
    with pytest.raises(quickjs.JSException, match="is not causal"):
        js.context.eval("model.run([0], {past: model.cache()})")
    weights.save(_model(causal="causal"), tmp_path / "causal.safetensors")
    js.load((tmp_path / "causal.safetensors").read_bytes())
    js.context.eval("globalThis.past = model.cache(); model.run([0, 1, 2, 3, 4], {past}); 0")
    with pytest.raises(quickjs.JSException, match="1 to 9 tokens, this one has 10"):
        js.context.eval("model.run([0, 1, 2, 3, 4], {past})")
    assert js.context.eval("past.length") == 5


@pytest.mark.parametrize(
    "file", weights.committed(), ids=lambda file: f"{file.parts[-3]}/{file.stem}"
)
def test_every_committed_model_equals_pytorch(js, file):
    js.load(file.read_bytes())
    model = weights.load(file)
    count, longest = len(model.config.vocabulary), model.config.max_len
    for length in (5, min(longest, LONGEST)):
        tokens = torch.randint(count, (length,)).tolist()
        for off in ((), [(0, 0)], [(model.config.num_layers - 1, 0)]):
            _assert_same(js, model, tokens, off)


@pytest.fixture
def saved(tmp_path):
    weights.save(_model(), tmp_path / "small.safetensors")
    return tmp_path / "small.safetensors"


def test_words_become_tokens_and_unknown_ones_are_named(js, saved):
    js.load(saved.read_bytes())
    assert json.loads(js.context.eval('JSON.stringify(model.encode(["naïve", "猫", "the"]))')) == [
        4, 6, 0,
    ]  # fmt: skip
    with pytest.raises(quickjs.JSException, match='unknown: "dog", "<b>"; the model knows 7 words'):
        js.context.eval('model.encode(["dog", "cat", "<b>", "dog"])')


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("run([])", "a sequence has 1 to 9 tokens, this one has 0"),
        ("run(Array(10).fill(0))", "a sequence has 1 to 9 tokens, this one has 10"),
        ("run([0, 7])", "tokens are whole numbers from 0 to 6, not 7"),
        ("run([0, 0.5])", "tokens are whole numbers from 0 to 6, not 0.5"),
        ("run([NaN])", "tokens are whole numbers from 0 to 6, not NaN"),
        ("run([0, undefined])", "tokens are whole numbers from 0 to 6, not undefined"),
        ("run([0], {off: [[0, 3]]})", r"no head \(0,3\): the layers have 3,1 heads"),
        ("run([0], {off: [[2, 0]]})", r"no head \(2,0\)"),
    ],
)
def test_wrong_input_is_a_clear_error(js, saved, call, says):
    js.load(saved.read_bytes())
    with pytest.raises(quickjs.JSException, match=says):
        js.context.eval(f"model.{call}")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_a_cut_file_is_named(js, saved, share):
    whole = saved.read_bytes()
    with pytest.raises(quickjs.JSException, match=r"small\.safetensors is cut, or not a saf"):
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
    with pytest.raises(quickjs.JSException, match=f"small.safetensors.*{says}"):
        js.load(file)


def test_a_config_that_does_not_fit_is_refused(js, saved):
    small = saved.read_bytes()
    for old, new, says in (
        (b'\\"embed_dim\\": 12', b'\\"embed_dim\\": 24', r"embedding is \(7,12\), but its config"),
        (b'\\"norm\\": false', b'\\"norm\\": true ', "lacks norm.weight"),
    ):
        assert old in small
        with pytest.raises(quickjs.JSException, match=says):
            js.load(small.replace(old, new))
