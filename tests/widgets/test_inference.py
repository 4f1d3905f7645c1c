"""m12's widgets: work, bytes, masks and readings against PyTorch's counter, caches and texts."""

from functools import cache
from itertools import pairwise

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention import KVCache
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.lessons.page_text import in_order, share
from tests.numbers import numbers
from tests.widgets.js import module
from tests.widgets.truth_sparse_patterns import layers_to_first, masked
from tests.widgets.truth_writing_ahead import BEGINNINGS, drafts, read_ahead, written

WRITING, CALCULATOR, PATTERNS, AHEAD = (
    module(f"{name}.js")
    for name in ("cached-writing", "kv-calculator", "sparse-patterns", "writing-ahead")
)

# ---- Writing with a cache ------------------------------------------------------------------------

SIZES = {"layers": 4, "width": 128, "inner": 512, "vocabulary": 1024}
GUESS = SIZES["width"] * SIZES["vocabulary"]


@torch.no_grad()
def counted(length):
    """Multiplications of a run of all tokens, for one guess: causal, where PyTorch counts all."""
    with FlopCounterMode(display=False) as counter:
        load_storyteller()(torch.zeros(1, length, dtype=torch.int64))  # explicit attention
    hidden = length * (length - 1) // 2
    uncounted = SIZES["layers"] * 2 * SIZES["width"] * hidden + (length - 1) * GUESS
    return counter.get_total_flops() // 2 - uncounted


@pytest.mark.parametrize("length", [2, 24, 128])
def test_the_multiplications_are_pytorch_s(length):
    model = WRITING.told("writing", {"sizes": SIZES, "most": 128}, {"length": length})
    whole, before = counted(length), counted(length - 1) - GUESS
    assert (model["whole"]["words"], model["whole"]["products"]) == (length, whole)
    assert model["cached"]["products"] == whole - before  # what is new
    told = [length, 1, (whole - before) / 1e6, length, whole / 1e6, whole / (whole - before)]
    assert numbers(model["says"]) == pytest.approx(told, rel=0.03, abs=0.051)


@pytest.mark.parametrize("last", ["b", "c"])
def test_the_first_reading_is_no_step_of_the_speeds(last):
    lanes = {
        "cached": {"text": "ab", "tokens": [0] * 8, "times": [50, 2, 2, 4, 2]},
        "whole": {"text": f"a{last}", "tokens": [0] * 8, "times": [50, 10, 20, 30, 20]},
    }
    data = {"sizes": SIZES, "most": 8, "race": {"lanes": lanes, "now": None}}
    model = WRITING.told("writing", data, {"length": 24})
    assert in_order(model["says"], "400", "50")
    assert model["isSame"] == (last == "b")


# ---- What a cache takes --------------------------------------------------------------------------

LENGTHS = [1, 256, 1024, 4096, 16384, 32768, 65536, 131072, 1048576]
KEEPS = ["published", "all", "groups", "one", "latent"]
MODELS = [
    {"name": "a", "layers": 32, "heads": 32, "kvHeads": 8, "size": 128, "parameters": 8e9},
    {"name": "b", "layers": 60, "heads": 128, "kvHeads": 128, "size": 128, "parameters": 2e11,
     "latent": 576},
    {"name": "c", "layers": 12, "heads": 12, "kvHeads": 12, "size": 64, "parameters": 1e8,
     "window": 4096},
]  # fmt: skip


def cache_of(model, keeps, length, texts, window=False, narrow=False):
    state = {"model": model, "keeps": keeps, "length": LENGTHS.index(length), "texts": texts}
    data = {"models": MODELS, "memory": 80e9, "bandwidth": 3.35e12}
    return CALCULATOR.told("cacheOf", data, state | {"window": window, "narrow": narrow})


@pytest.mark.parametrize("m", MODELS, ids=lambda m: m["name"])
@pytest.mark.parametrize("keeps", KEEPS)
@pytest.mark.parametrize(
    ("length", "texts", "window"), [(1, 0, False), (16384, 3, False), (131072, 1, True)]
)
def test_the_bytes_are_those_of_a_real_cache(m, keeps, length, texts, window):
    """On the meta device, which stores nothing."""
    assert CALCULATOR.run("[m.LENGTHS, m.KEEPS]") == [LENGTHS, KEEPS], "all choices"
    has_window = window or (keeps == "published" and "window" in m)
    tokens = min(length, 4096) if has_window else length
    if keeps == "latent" or (keeps == "published" and "latent" in m):
        # As LatentAttention's: a latent for a key, and beside it the part with a position.
        heads, size, value_dim = 1, 4 * m["size"], m["size"] // 2
    else:
        of = {"published": m["kvHeads"], "all": m["heads"], "groups": m["heads"] // 4, "one": 1}
        heads, size, value_dim = of[keeps], m["size"], m["size"]
    for narrow, dtype in ((False, torch.bfloat16), (True, torch.int8)):
        options = {"num_layers": m["layers"], "dtype": dtype, "device": "meta"}
        cache = KVCache(2**texts, heads, tokens, size, value_dim=value_dim, **options)
        got = cache_of(MODELS.index(m), keeps, length, texts, window, narrow)
        assert got["cache"] == cache.keys.nbytes + cache.values.nbytes


def test_gpus_hold_the_cache_beside_the_parameters_and_share_the_time_to_read_both():
    ms = (16e9 + 8 * 65536 * 131072) / 3.35e9
    told = "131,072", "65,536", "8", "68.7", "16.0", "2", f"{ms:.0f}", "2", f"{ms / 2:.0f}"
    assert in_order(cache_of(0, "published", 65536, 3)["says"], *told)


# ---- Patterns that leave keys out ----------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["full", "causal", "window", "strided", "blocks"])
@pytest.mark.parametrize(
    ("size", "nth"), [(1, "one"), (2, "2nd"), (3, "3rd"), (8, "8th"), (12, "12th"), (21, "21st")]
)
def test_a_pattern_is_the_mask_of_attention_py_and_its_costs_are_counted(pattern, size, nth):
    model = PATTERNS.told("patternOf", {"tokens": 64}, {"pattern": pattern, "size": size})
    mask = masked(pattern, 64, size)
    assert torch.equal(torch.tensor(model["mask"]).bool(), mask)
    tiles = torch.nn.functional.max_pool2d(mask[None].float(), 8)
    assert (model["pairs"], model["tiles"]) == (mask.sum(), tiles.sum())
    assert model["layers"] == layers_to_first(mask)
    route = model["route"]  # each step a look, or there is none
    assert route is None or (route[0], route[-1], len(route)) == (63, 0, model["layers"] + 1)
    assert all(mask[query, key] for query, key in pairwise(route or []))
    later = masked(pattern, 3 * 64, size)[64:, :64]
    assert model["kept"] == (None if pattern == "full" else later.any(0).sum())
    told = [] if pattern == "window" else [share(mask.double().mean()), share(tiles.mean())]
    assert in_order(model["says"], *([nth] if pattern == "strided" else []), *told)


# ---- Writing ahead -------------------------------------------------------------------------------


@cache
def named(beginning):
    begun, ids, names = written(beginning)
    assert len(set(zip(ids, names, strict=True))) == len(set(ids)) == len(set(names))
    name = Tokenizer(load_storyteller().config.vocabulary).name
    made = [[name(token) for token in draft] for draft in drafts(beginning)]
    return {"name": beginning, "begun": begun, "pieces": names, "drafts": made}


LAYERS = {"whole": 4, "draft": 2}


def ahead(text, writer, length, done):
    texts = [*map(named, BEGINNINGS)]
    data = {"texts": texts, "most": 60, "longest": 8, "start": 3, "layers": LAYERS}
    state = {"text": text, "writer": writer, "length": length, "done": done}
    return AHEAD.told("writtenAhead", data, state)


@pytest.mark.parametrize("writer", ["copier", "layers"])
@pytest.mark.parametrize("length", [1, 4, 8])
@pytest.mark.parametrize("text", range(3), ids=BEGINNINGS)
def test_the_readings_are_the_writer_s_and_write_the_storyteller_s_text(text, length, writer):
    """By ids there, by names here: no two tokens of a text have one name."""
    begun, _, names = written(BEGINNINGS[text])
    readings = AHEAD.call("readingsOf", named(BEGINNINGS[text]), writer, length)
    want = read_ahead(BEGINNINGS[text], writer, length)
    assert [(len(one["drafted"]), one["kept"]) for one in readings] == want
    for done in (0, 15, 16, 40, 60):
        model, past = ahead(text, writer, length, done), readings[:done]
        pieces = [piece for one in past for piece in [*one["drafted"][: one["kept"]], one["own"]]]
        assert pieces == names[begun:][: len(pieces)]
        assert (model["written"], model["length"]) == (len(pieces), begun + len(pieces))
        made, kept = (sum(one) for one in zip(*want[:done], strict=True)) if done else (0, 0)
        layers = 4 * len(past) + (2 * made if writer == "layers" else 0)
        told = len(past), len(pieces), made - kept, layers, 4 * len(pieces)
        assert in_order(model["says"], *map(str, told))
        assert model["isEnd"] == (len(pieces) == 60) == (model["next"] is None)
    fewest = min(
        len(read_ahead(BEGINNINGS[text], of, most))
        for of in ("copier", "layers") for most in range(1, 9)
    )  # fmt: skip
    assert model["isFewest"] == (len(want) == fewest)
