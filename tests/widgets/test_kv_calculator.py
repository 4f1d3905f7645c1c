"""What m12's calculator says a cache takes, against the caches of attention.py and caching.py."""

import itertools

import pytest
import torch

from attention import KVCache
from caching import WindowKVCache
from tests.widgets.js import module

JS = module("kv-calculator.js")
LENGTHS = [1, 256, 1024, 4096, 16384, 32768, 65536, 131072, 1048576]
TEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
KEEPS = ["published", "all", "groups", "one", "latent"]
MODELS = [
    {"name": "a", "layers": 32, "heads": 32, "kvHeads": 8, "size": 128, "parameters": 8e9},
    {"name": "b", "layers": 12, "heads": 12, "kvHeads": 12, "size": 64, "parameters": 1e8},
    {"name": "c", "layers": 60, "heads": 128, "kvHeads": 128, "size": 128, "parameters": 2e11,
     "latent": 576},
    {"name": "d", "layers": 32, "heads": 32, "kvHeads": 8, "size": 128, "parameters": 7e9,
     "window": 4096},
]  # fmt: skip


def cache_of(model, keeps="published", length=3, texts=0, window=False, narrow=False):
    state = {"model": model, "keeps": keeps, "length": length, "texts": texts}
    data = {"models": MODELS, "memory": 80e9, "bandwidth": 3.35e12}
    return JS.call("cacheOf", data, state | {"window": window, "narrow": narrow})


def cache_bytes(model, keeps, tokens, texts, narrow, window):
    """Bytes of a real cache on the meta device, which stores nothing."""
    m = MODELS[model]
    options = {"num_layers": m["layers"], "device": "meta"}
    options["dtype"] = torch.int8 if narrow else torch.bfloat16
    window = window or (m.get("window") if keeps == "published" else None)
    if keeps == "latent" or (keeps == "published" and "latent" in m):
        # As LatentAttention's: a latent for a key, and beside it the part with a position.
        tokens, rotary = min(tokens, window or tokens), m["size"] // 2
        cache = KVCache(texts, 1, tokens, 4 * m["size"], value_dim=rotary, **options)
    else:
        heads = {"published": m["kvHeads"], "all": m["heads"], "groups": m["heads"] // 4, "one": 1}
        kind = WindowKVCache if window else KVCache
        cache = kind(texts, heads[keeps], min(tokens, window or tokens), m["size"], **options)
    return cache.keys.nbytes + cache.values.nbytes


def test_the_bytes_are_those_of_a_cache():
    assert JS.run("[m.LENGTHS, m.TEXTS, m.KEEPS]") == [LENGTHS, TEXTS, KEEPS], "all choices"
    for model, keeps, narrow in itertools.product(range(4), KEEPS, [False, True]):
        for length, texts, windowed in [(0, 0, False), (3, 2, False), (7, 1, True), (4, 8, False)]:
            got = cache_of(model, keeps, length, texts, windowed, narrow)
            window = 4096 if windowed else None
            want = cache_bytes(model, keeps, LENGTHS[length], TEXTS[texts], narrow, window)
            assert got["cache"] == want, (model, keeps, narrow, length)


def test_what_a_token_takes_the_gpus_that_hold_it_and_the_time_to_read_it():
    model = cache_of(0, length=6, texts=3)
    total = 16e9 + 8 * 65536 * 131072
    assert model["token"] == 128 * 1024
    assert model["devices"] == 2
    assert total - 16e9 < 80e9 < total <= 2 * 80e9
    assert model["seconds"] == pytest.approx(total / 3.35e12)


def test_bytes_in_three_digits():
    texts = {1: "1 bytes", 999: "999 bytes", 131072: "131 KB", 1e6: "1.00 MB", 1e9: "1.00 GB",
             17_179_869_184: "17.2 GB", 2.5e13: "25.0 TB"}  # fmt: skip
    got = JS.run("x.map(m.bytes)", [*texts])
    assert [text.replace("\u202f", " ") for text in got] == [*texts.values()]
