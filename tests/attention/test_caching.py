"""Caches: of one length, of texts that differ in length, that forget, and that stay as they are."""

import numpy as np
import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from attention import (
    CausalMultiHeadAttention,
    KVCache,
    MultiHeadAttention,
    create_padding_mask,
    create_window_mask,
)
from caching import RaggedKVCache, StaticKVCache, WindowKVCache
from positions import LearnedRelativeBias, Rotary
from variants import LatentAttention

from .inputs import NEAR, assert_refused, on_devices

KINDS = [KVCache, RaggedKVCache, WindowKVCache, StaticKVCache]
FAR = {"rtol": 1e-4, "atol": 1e-5}

pytestmark = pytest.mark.usefixtures("_no_grad")
every_kind = pytest.mark.parametrize("make", KINDS)


def left_padded(*sizes, **options):
    return RaggedKVCache(*sizes, padding_side="left", **options)


@pytest.fixture
def _no_grad():
    with torch.no_grad():
        yield


def layer_of(rotary=True, **options):
    options = {"num_kv_heads": 2, "rotary": Rotary(4) if rotary else None} | options
    return CausalMultiHeadAttention(16, 4, 64, **options).eval()


def step_by_step(layer, x, cache, steps, **options):
    """The outputs of all steps, as one."""
    return torch.cat([layer(part, cache=cache, **options) for part in x.split(steps, 1)], 1)


# ---- What every cache does ----------------------------------------------------------------------


@on_devices
@pytest.mark.parametrize("make", [*KINDS, left_padded])
@pytest.mark.parametrize("seed", range(6))
def test_any_history_leaves_each_text_as_if_alone(device, make, seed):
    """Two layers' caches take tokens, are cropped, reordered, selected from and moved at random."""
    random = np.random.default_rng(seed)
    layers = [layer_of(rotary=rotary).to(device) for rotary in (True, False)]
    cache = make(3, 2, 24, 4, num_layers=2, device=device)
    ragged = isinstance(cache, RaggedKVCache)
    texts = [[torch.empty(0, 16, device=device)] * 3 for _ in layers]  # by layer and sequence
    for act in random.permutation(["take"] * 20 + ["crop", "reorder", "select"] * 3):
        batch, longest, memory = len(texts[0]), max(map(len, texts[0])), cache.keys.data_ptr()
        if act == "crop":
            ends = random.integers(longest + 3, size=batch if ragged else 1)  # some forget nothing
            cache.crop(ends if ragged else ends[0])
            ends = np.broadcast_to(ends, batch)
            texts = [[t[:end] for t, end in zip(of, ends, strict=True)] for of in texts]
        elif act == "reorder":
            order = random.integers(batch, size=batch)
            cache.reorder(order)
            texts = [[of[b] for b in order] for of in texts]
        elif act == "select":
            order = random.integers(batch, size=random.integers(1, 5))
            cache = cache.select(order).to(device)
            texts = [[of[b] for b in order] for of in texts]
        elif longest < 24:
            new = min(24 - longest, int(random.integers(1, 5)))
            counts = random.integers(new + 1, size=batch) if ragged else [new] * batch
            options = {"window": random.choice([None, 3]), "lengths": counts if ragged else None}
            for layer, view, of in zip(layers, (cache[0], cache[1]), texts, strict=True):
                x, fused = torch.randn(batch, new, 16, device=device), bool(random.integers(2))
                got = layer(x, None, not fused, cache=view, **options)
                for b, count in enumerate(counts):
                    real = slice(new - count, None) if make is left_padded else slice(count)
                    of[b] = torch.cat([of[b], x[b, real]])
                    want, weights = layer(of[b], None, True, window=options["window"])
                    last = slice(len(want) - count, len(want))
                    output = (got if fused else got[0])[b, real]
                    torch.testing.assert_close(output, want[last], **FAR)
                    if not fused:
                        shown = got[1][b, :, real, : len(want)]
                        torch.testing.assert_close(shown, weights[:, last], **FAR)
        assert cache[0].length == cache[1].length == max(map(len, texts[0]))
        assert act == "select" or cache.keys.data_ptr() == memory
    cache.reset()
    assert cache[0].length == cache[1].length == 0


@every_kind
def test_a_layer_that_is_not_causal_sees_every_key_so_far(make):
    layer, x = MultiHeadAttention(16, 4, num_kv_heads=2).eval(), torch.randn(2, 6, 16)
    cache, given = make(2, 2, 9, 4), {"lengths": [2, 4]} if make is RaggedKVCache else {}
    first, want = layer(x[:, :4], cache=cache, **given), layer(x[:, :4])
    torch.testing.assert_close(first[1], want[1], **NEAR)
    if given:
        torch.testing.assert_close(first[0, :2], layer(x[:1, :2])[0], **NEAR)
    torch.testing.assert_close(layer(x[:, 4:], cache=cache)[1], layer(x)[1, 4:], **NEAR)


@every_kind
def test_a_copy_shares_nothing_and_a_saved_cache_is_read_without_trust(make, tmp_path):
    cache = make(2, 1, 8, 4)
    cache.append(*torch.randn(2, 2, 1, 3, 4))
    torch.save(cache, tmp_path / "cache.pt")
    back = torch.load(tmp_path / "cache.pt", weights_only=True)
    assert torch.equal(back.keys, cache.keys)
    copies = [cache.to(torch.float16, copy=True), cache.to("cpu"), cache.select([0, 1])]
    assert copies[0].keys.dtype == torch.float16
    for copy in (back, *copies):
        assert copy.length == 3
        copy.reset()
        copy.values.zero_()
        assert cache.length == 3
        assert cache.values.abs().max() > 0
    assert f"{make.__name__}(2, 1, 8, 4, num_layers=1" in repr(cache)
    assert "value_dim=6" in repr(make(2, 1, 8, 4, value_dim=6))


@every_kind
def test_a_cache_is_a_pytree_and_can_be_exported(make):
    layer, x = layer_of(), torch.randn(2, 6, 16)
    cache = make(2, 2, 8, 4)
    layer(x[:, :5], cache=cache)
    leaves, spec = torch.utils._pytree.tree_flatten(cache)
    again, fresh = (
        torch.utils._pytree.tree_unflatten([t.clone() for t in leaves], spec) for _ in range(2)
    )
    assert type(again) is make
    assert again.length == 5
    exported = torch.export.export(layer, (x[:, 5:],), {"cache": again}).module()
    torch.testing.assert_close(exported(x[:, 5:], cache=fresh), layer(x)[:, 5:])


@pytest.mark.slow
@every_kind
def test_a_cached_step_compiles_to_one_graph(make):
    torch.compiler.reset()
    layer, x, cache = layer_of(), torch.randn(2, 6, 16), make(2, 2, 8, 4)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    got = step_by_step(compiled, x, cache, [4, 1, 1])
    torch.testing.assert_close(got, layer(x), **NEAR)
    assert cache.length == 6


@every_kind
@pytest.mark.parametrize("kind", ["rotary", "latent"])
def test_a_refused_call_leaves_the_cache_as_it_was(make, kind):
    layer, cache = layer_of(), make(2, 2, 9, 4)
    wrong = [
        {"window": 0}, {"bias": torch.ones(3, 3)}, {"position_ids": torch.arange(4)},
        {"mask": torch.ones(5, 2).bool()},
    ]  # fmt: skip
    if kind == "latent":
        layer, cache = LatentAttention(16, 4, 6, rotary=Rotary(4)), make(2, 1, 9, 6, value_dim=4)
        wrong = [{"mask": torch.ones(3, 3).bool()}, {"mask": torch.ones(5, 5)}]
    before = cache.keys.clone()
    for options in wrong:
        with pytest.raises((TypeError, ValueError)):
            layer(torch.randn(2, 5, 16), cache=cache, **options)
        assert cache.length == 0
        assert torch.equal(cache.keys, before)


@pytest.mark.parametrize("make", [KVCache, RaggedKVCache, StaticKVCache])
def test_a_cache_that_is_full_says_so_and_stays_as_it_was(make):
    layer, cache = layer_of(), make(1, 2, 4, 4)
    layer(torch.randn(1, 3, 16), cache=cache)
    before = cache.keys.clone()
    full = "cache is full; 3 tokens + 2 new; max_seq_len=4"
    assert_refused(lambda: layer(torch.randn(1, 2, 16), cache=cache), ValueError, full)
    assert torch.equal(cache.keys, before)
    assert cache.length == 3


def test_numpy_s_integers_are_taken():
    cache = RaggedKVCache(*map(np.int64, (2, 2, 9, 4)))
    cache.append(*torch.zeros(2, 2, 2, 3, 4), lengths=np.array([3, 2]))
    cache.crop(np.int64(2))
    cache.reorder([np.int64(1), 0])
    window = WindowKVCache(*map(np.int64, (2, 2, 4, 4)))
    window.crop(np.int64(0))
    numbers = (*cache.lengths[0], cache.max_seq_len, window.window, window.lengths[0])
    assert {type(number) for number in numbers} == {int}


def test_left_padded_batches_decode_with_a_mask():
    layer, x = layer_of(rotary=False), torch.randn(2, 6, 16)
    mask = create_padding_mask([6, 4], padding_side="left")
    cache = KVCache(2, 2, 6, 4)
    layer(x[:, :5], mask[..., :5], cache=cache)
    out = layer(x[:, 5:], mask, cache=cache)
    torch.testing.assert_close(out[1:], layer(x[1:, 2:])[:, -1:], **NEAR)


# ---- Texts that differ in length ----------------------------------------------------------------


def test_padding_is_a_query_that_sees_nothing_and_a_mask_still_hides():
    layer, x = layer_of(), torch.randn(2, 4, 16)
    hide_first = torch.tensor([False, True, True, True])
    out, weights = layer(x, hide_first, True, cache=RaggedKVCache(2, 2, 9, 4), lengths=[2, 4])
    assert (weights[0, :, 2:] == 0).all()
    assert (weights[..., 0] == 0).all()
    torch.testing.assert_close(out[1:], layer(x[1:], hide_first))
    torch.testing.assert_close(out[0, 3], layer.out_proj.bias)


def test_padding_does_not_count_against_max_seq_len():
    layer, x = CausalMultiHeadAttention(16, 4, 6).eval(), torch.randn(2, 4, 16)
    cache = RaggedKVCache(2, 4, 9, 4)
    layer(x, cache=cache, lengths=[4, 2])
    layer(x, cache=cache, lengths=[2, 4])
    assert_refused(lambda: layer(x[:, :1], cache=cache), ValueError, "7; max_seq_len=6")


def test_a_relative_bias_says_where_the_sequences_of_a_ragged_cache_stand():
    layer, relative = layer_of(rotary=False), LearnedRelativeBias(4, 6)
    torch.nn.init.normal_(relative.table)
    x, cache, lengths = torch.randn(2, 6, 16), RaggedKVCache(2, 2, 9, 4), [3, 5]
    for part, real in ((x[:, :5], lengths), (x[:, 5:], None)):
        size, placement = part.shape[1], cache.placement(part.shape[1], real)
        with pytest.raises(ValueError, match="bias"):  # one for all sequences, with aligned ends
            layer(part, cache=cache, lengths=real, bias=relative(size, placement.key_len))
        bias = relative(size, placement.key_len, position_ids=placement.positions)
        last = layer(part, cache=cache, lengths=real, bias=bias)
    for got, text, length in zip(last, x, lengths, strict=True):
        text = torch.cat([text[:length], text[5:]])[None]
        torch.testing.assert_close(got[0], layer(text, bias=relative(length + 1))[0, -1])


# ---- The last tokens alone ----------------------------------------------------------------------


def first_and_last(length, sinks, window):
    """Whom StreamingLLM's cache shows: each query's window, and the text's first tokens."""
    return create_window_mask(length, window=window) | (torch.arange(length) < sinks)


@pytest.mark.parametrize("sinks", [0, 1, 4])
@pytest.mark.parametrize("window", [1, 3, 6, 20])
@pytest.mark.parametrize("steps", [[1] * 14, [5, 1, 1, 4, 1, 2], [14], [13, 1], [2, 12]], ids=str)
@pytest.mark.parametrize("narrow", [None, 2])
def test_a_window_with_sinks_attends_as_its_mask_says(sinks, window, steps, narrow):
    layer, x = layer_of(), torch.randn(2, 14, 16)
    cache = WindowKVCache(2, 2, window, 4, sinks=sinks)
    got = step_by_step(layer, x, cache, steps, window=narrow)
    mask = first_and_last(14, sinks, min(window, narrow or window))
    torch.testing.assert_close(got, layer(x, mask), **FAR)
    assert cache.keys.shape[-2] == sinks + window
    assert cache.length == min(14, sinks + window)


def test_a_window_takes_back_what_a_draft_proposed_unless_it_is_forgotten():
    layer, x = layer_of(), torch.randn(1, 9, 16)
    cache = WindowKVCache(1, 2, 6, 4, sinks=2)
    layer(x[:, :5], cache=cache)
    cache.crop(1)
    got = step_by_step(layer, x[:, 1:], cache, 1)
    torch.testing.assert_close(got, layer(x, first_and_last(9, 2, 6))[:, 1:], **FAR)
    before = cache.keys.clone()
    assert_refused(lambda: cache.crop(8), ValueError, "8; of 9 tokens; 6")
    assert torch.equal(cache.keys, before)
    cache.crop(9)
    assert cache.length == 8


# ---- Shapes that stay ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [WindowKVCache, StaticKVCache])
def test_a_bias_with_aligned_ends_is_refused_where_the_ends_are_not(make):
    layer, cache = layer_of(), make(1, 2, 6, 4, **({"sinks": 2} if make is WindowKVCache else {}))
    layer(torch.randn(1, 5, 16), cache=cache)
    keys = cache.placement(4, is_causal=True).key_len
    bias, x = torch.zeros(4, 1, keys), torch.randn(1, 4 if make is WindowKVCache else 1, 16)
    says = f"bias (4, 1, {keys}); (B, H, L, S)"
    assert_refused(lambda: layer(x, cache=cache, bias=bias), ValueError, says)


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(layer_of() for _ in range(2))

    def forward(self, x, cache):
        for i, layer in enumerate(self.layers):
            x = x + layer(x, cache=cache[i])
        return x


@pytest.mark.slow
@on_devices
@pytest.mark.parametrize("views", ["inside", "outside"])
def test_one_static_graph_serves_a_whole_generation(device, views):
    if views == "inside" and torch.__version__ < (2, 13):
        pytest.skip("the compiler of PyTorch before 2.13 can't trace cache[layer]")
    torch.compiler.reset()
    counter = CompileCounterWithBackend("aot_eager")
    model, x = Stack().to(device), torch.randn(2, 20, 16, device=device)
    step = torch.compile(model, fullgraph=True, backend=counter)
    shape = {"num_layers": 2, "device": device}
    growing, static = (kind(2, 2, 32, 4, **shape) for kind in (KVCache, StaticKVCache))
    model(x[:, :4], static), model(x[:, :4], growing)
    handed = static if views == "inside" else [static[i] for i in range(2)]
    for i in range(4, 20):
        want = model(x[:, i : i + 1], growing)
        torch.testing.assert_close(step(x[:, i : i + 1], handed), want, **FAR)
    assert counter.frame_count == 1
    assert static.lengths.tolist() == [20, 20]
