"""Caches of texts that differ in length, that forget, that stay as they are; crop, to, export."""

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

from .inputs import DEVICES

LENGTHS = [3, 5, 0, 1]
KINDS = [KVCache, RaggedKVCache, WindowKVCache, StaticKVCache]


def layer_of(kind="rotary", **options):
    rotary = Rotary(4) if kind == "rotary" else None
    return CausalMultiHeadAttention(16, 4, 64, num_kv_heads=2, rotary=rotary, **options).eval()


def padded(rows, side):
    """Rows of (L, E) as one batch, and garbage where they end."""
    longest = max(len(row) for row in rows)
    pads = [torch.full((longest - len(row), row.shape[-1]), 9.0) for row in rows]
    both = zip(rows, pads, strict=True)
    return torch.stack([torch.cat([r, p] if side == "right" else [p, r]) for r, p in both])


def real(output, lengths, side):
    """The rows of a padded output without their padding."""
    L, pairs = output.shape[-2], zip(output, lengths, strict=True)
    return [row[:n] if side == "right" else row[L - n :] for row, n in pairs]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("weights", [False, True])
@torch.no_grad()
def test_each_sequence_of_a_padded_batch_is_attended_alone(device, side, window, weights):
    layer = layer_of().to(device)
    texts = [torch.randn(n + 6, 16, device=device) for n in LENGTHS]
    cache = RaggedKVCache(4, 2, 12, 4, padding_side=side, device=device)
    steps = [LENGTHS, [1, 1, 1, 1], [2, 0, 3, 1], [1, 1, 0, 1], [1, 1, 1, 1]]
    at, got = [0] * 4, [[] for _ in LENGTHS]
    for step in steps:
        rows = [text[a : a + n] for text, a, n in zip(texts, at, step, strict=True)]
        x = padded([row.cpu() for row in rows], side).to(device)
        out = layer(x, None, weights, cache=cache, lengths=step, window=window)
        for each, row in zip(got, real(out[0] if weights else out, step, side), strict=True):
            each.append(row)
        at = [a + n for a, n in zip(at, step, strict=True)]
    assert cache.lengths == [at]
    for text, outputs, end in zip(texts, got, at, strict=True):
        want = layer(text[:end], window=window)
        torch.testing.assert_close(torch.cat(outputs), want, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_padding_is_a_query_that_sees_nothing_and_a_mask_still_hides():
    layer, x = layer_of(), torch.randn(2, 4, 16)
    cache = RaggedKVCache(2, 2, 9, 4)
    hide_first = torch.tensor([False, True, True, True])
    out, weights = layer(x, hide_first, True, cache=cache, lengths=[2, 4])
    assert (weights[0, :, 2:] == 0).all()
    assert (weights[..., 0] == 0).all()
    want, _ = layer(x[1:], hide_first, True)
    torch.testing.assert_close(out[1:], want)
    torch.testing.assert_close(out[0, 3], layer.out_proj.bias)


@torch.no_grad()
def test_padding_does_not_count_against_max_seq_len():
    layer, x = CausalMultiHeadAttention(16, 4, 6).eval(), torch.randn(2, 4, 16)
    cache = RaggedKVCache(2, 4, 9, 4)
    layer(x, cache=cache, lengths=[4, 2])
    layer(x, cache=cache, lengths=[2, 4])
    with pytest.raises(ValueError, match="sequence of 7 exceeds max_seq_len=6"):
        layer(x[:, :1], cache=cache)


@torch.no_grad()
def test_a_layer_that_is_not_causal_sees_every_real_key():
    layer, x = MultiHeadAttention(16, 4).eval(), torch.randn(2, 4, 16)
    got = layer(x, cache=RaggedKVCache(2, 4, 9, 4), lengths=[2, 4])
    want = layer(x, create_padding_mask([2, 4]))
    torch.testing.assert_close(got[0, :2], want[0, :2])
    torch.testing.assert_close(got[1], want[1])


@torch.no_grad()
@pytest.mark.parametrize("make", [KVCache, RaggedKVCache, WindowKVCache])
def test_reorder_moves_every_layer_s_past(make):
    cache = make(3, 2, 8, 4, num_layers=2)
    pasts = torch.randn(2, 3, 2, 5, 4)
    for i in range(2):
        cache[i].append(pasts[i], -pasts[i])
    view = cache[1]
    cache.reorder(torch.tensor([2, 0, 0]))
    new = torch.randn(3, 2, 1, 4)
    keys, values = view.append(new, new)
    assert torch.equal(keys, torch.cat([pasts[1][[2, 0, 0]], new], 2))
    assert torch.equal(values[:, :, :5], -pasts[1][[2, 0, 0]])


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_one_text_goes_on_as_several_beams(kind):
    layer = MultiHeadAttention(16, 4, rotary=Rotary(4)).eval()
    cache, text = kind(2, 4, 6, 4), torch.randn(2, 4, 16)
    layer(
        text, cache=cache, is_causal=True, **({"lengths": [2, 4]} if kind is RaggedKVCache else {})
    )
    beams = cache.select(torch.tensor([1, 1, 1, 0]))
    new = torch.randn(4, 1, 16)
    got = layer(new, cache=beams, is_causal=True)
    past = text[0:1, :2] if kind is RaggedKVCache else text[0:1]
    for b, before in enumerate([text[1:]] * 3 + [past]):
        whole = layer(torch.cat([before, new[b : b + 1]], 1), is_causal=True)
        torch.testing.assert_close(got[b], whole[0, -1:])
    assert cache.lengths != beams.lengths  # its own goes on from where it was
    with pytest.raises(ValueError, match=r"index must be numbers in 0 ... 1, got \[2\]"):
        cache.select([2])


def test_reorder_and_crop_move_the_lengths_too():
    cache = RaggedKVCache(3, 1, 8, 4, num_layers=2)
    for i in range(2):
        cache[i].append(*torch.randn(2, 3, 1, 4, 4), lengths=[1, 4, 2])
    cache.reorder([1, 1, 2])
    assert cache.lengths == [[4, 4, 2]] * 2
    cache.crop([3, 9, 0])
    assert cache.lengths == [[3, 4, 0]] * 2
    cache.crop(2)
    assert cache[1].lengths == [[2, 2, 0]] * 2
    cache.reset()
    assert cache[0].length == 0


@torch.no_grad()
@pytest.mark.parametrize("make", KINDS)
def test_after_crop_decoding_goes_on_from_there(make):
    layer, x = layer_of(), torch.randn(2, 7, 16)
    cache = make(2, 2, 8, 4)
    layer(x[:, :4], cache=cache)
    layer(torch.randn(2, 3, 16), cache=cache)  # proposed in vain
    cache.crop(4)
    assert cache.length == 4
    torch.testing.assert_close(layer(x[:, 4:], cache=cache), layer(x)[:, 4:])


@torch.no_grad()
@pytest.mark.parametrize("steps", [[1] * 14, [5, 1, 6, 2], [14], [2, 9, 3]], ids=str)
@pytest.mark.parametrize("window", [1, 3, 4, 20])
@pytest.mark.parametrize("narrower", [None, 2])
def test_a_windowed_cache_equals_a_window(steps, window, narrower):
    layer, x = layer_of(), torch.randn(2, 14, 16)
    cache = WindowKVCache(2, 2, window, 4)
    parts = x.split(steps, dim=1)
    got = torch.cat([layer(part, cache=cache, window=narrower) for part in parts], 1)
    want = layer(x, window=min(window, narrower or window))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_windowed_cache_of_256_after_10_000_tokens_holds_256():
    cache = WindowKVCache(1, 1, 256, 4)
    at, size = cache.keys.data_ptr(), cache.keys.nbytes
    for part in torch.arange(10_000.0).split(39):
        new = part[None, None, :, None].expand(1, 1, -1, 4)
        keys, _ = cache.append(new, -new)
        assert keys.shape[2] <= 255 + len(part)
    assert cache.length == 256
    assert (cache.keys.data_ptr(), cache.keys.nbytes, cache.keys.shape[3]) == (at, size, 256)
    assert torch.equal(cache.keys[0, 0, 0, :, 0], torch.arange(10_000.0)[-256:])
    assert torch.equal(cache.values, -cache.keys)


@torch.no_grad()
@pytest.mark.parametrize("make", KINDS)
def test_to_copies_and_repr_tells(make):
    cache = make(2, 1, 8, 4)
    cache.append(*torch.randn(2, 2, 1, 3, 4))
    half = cache.to(torch.float16, copy=True)
    assert half.keys.dtype == torch.float16
    assert half.length == cache.length == 3
    half.reset()
    half.values.zero_()
    assert cache.length == 3
    assert cache.values.abs().max() > 0
    said = f"{make.__name__}(2, 1, 8, 4, num_layers=1, dtype=torch.float32, device='cpu')"
    assert repr(cache).startswith(said)
    assert "3" in repr(cache).split("lengths")[1]
    assert "(2, 1, 8, 4, value_dim=6, num_layers=1" in repr(make(2, 1, 8, 4, value_dim=6))


@torch.no_grad()
@pytest.mark.parametrize("make", KINDS)
def test_a_cache_is_a_pytree_and_can_be_exported(make):
    layer, x = layer_of(), torch.randn(2, 6, 16)
    cache = make(2, 2, 8, 4)
    layer(x[:, :5], cache=cache)
    leaves, spec = torch.utils._pytree.tree_flatten(cache)
    again = torch.utils._pytree.tree_unflatten([t.clone() for t in leaves], spec)
    assert type(again) is make
    assert again.length == 5
    exported = torch.export.export(layer, (x[:, 5:],), {"cache": again}).module()
    fresh = torch.utils._pytree.tree_unflatten([t.clone() for t in leaves], spec)
    got = exported(x[:, 5:], cache=fresh)
    torch.testing.assert_close(got, layer(x)[:, 5:])
    torch.testing.assert_close(layer(x[:, 5:], cache=cache), got)


@pytest.mark.slow
@torch.no_grad()
@pytest.mark.parametrize("make", KINDS)
def test_a_cached_step_compiles_to_one_graph(make):
    torch.compiler.reset()
    layer, x = layer_of(), torch.randn(2, 6, 16)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    cache = make(2, 2, 8, 4)
    outputs = [compiled(part, cache=cache) for part in x.split([4, 1, 1], 1)]
    torch.testing.assert_close(torch.cat(outputs, 1), layer(x), rtol=1e-5, atol=1e-6)
    assert cache.length == 6


def ragged():
    cache = RaggedKVCache(2, 2, 4, 4)
    cache.append(*torch.zeros(2, 2, 2, 3, 4))
    return cache


def full_window():
    cache = WindowKVCache(2, 2, 4, 4)
    cache.append(*torch.zeros(2, 2, 2, 6, 4))
    return cache


X = torch.randn(2, 2, 16)
NEW = torch.zeros(2, 2, 2, 4)
ERRORS = {
    "lengths for one cache": (
        lambda: layer_of()(X, cache=KVCache(2, 2, 9, 4), lengths=[1, 2]),
        "lengths are for a RaggedKVCache",
    ),
    "lengths for a window": (
        lambda: WindowKVCache(2, 2, 9, 4).append(NEW, NEW, [1, 2]),
        "lengths are for a RaggedKVCache",
    ),
    "lengths without a cache": (lambda: layer_of()(X, lengths=[1, 2]), "create_padding_mask"),
    "too long": (lambda: ragged().append(NEW, NEW, [3, 1]), r"2 numbers in 0 ... 2.*got \[3, 1\]"),
    "too few": (lambda: ragged().append(NEW, NEW, [1]), r"2 numbers in 0 ... 2.*got \[1\]"),
    "full": (lambda: ragged().append(NEW, NEW, [2, 0]), r"3 tokens \+ 2 new exceed max_seq_len=4"),
    "side": (lambda: RaggedKVCache(2, 2, 4, 4, padding_side="up"), "'right' or 'left', got 'up'"),
    "order": (lambda: ragged().reorder([0, 2]), r"2 numbers in 0 ... 1, got \[0, 2\]"),
    "short order": (lambda: KVCache(2, 2, 4, 4).reorder([0]), r"2 numbers in 0 ... 1, got \[0\]"),
    "crop": (lambda: KVCache(2, 2, 4, 4).crop(-1), "at least 0, got -1"),
    "ragged crop": (lambda: ragged().crop([1]), r"one number or 2, .* got \[1\]"),
    "forgotten": (lambda: full_window().crop(5), "to 5: of 6 tokens the last 4 are left"),
    "value_dim": (lambda: KVCache(2, 2, 4, 4, value_dim=0), "value_dim must be .* 1, got 0"),
}


@torch.no_grad()
@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    call, words = ERRORS[case]
    with pytest.raises(ValueError, match=words):
        call()


WRONG_TYPES = {
    "half a length": (lambda: KVCache(2, 2, 4, 4).crop(1.5), "length must be an int, got 1.5"),
    "lengths of halves": (
        lambda: ragged().append(NEW, NEW, torch.tensor([1.0, 0.5])),
        r"lengths must be integers \(B,\), got tensor",
    ),
    "one length for all": (
        lambda: ragged().append(NEW, NEW, 1),
        "integers .* got 1",
    ),
    "a mask of beams": (lambda: ragged().reorder([True, False]), "index must be integers"),
    "crop to halves": (lambda: ragged().crop([1.5, 2.0]), "length must be integers"),
}


@torch.no_grad()
@pytest.mark.parametrize("case", WRONG_TYPES)
def test_wrong_types(case):
    call, words = WRONG_TYPES[case]
    with pytest.raises(TypeError, match=words):
        call()


@torch.no_grad()
def test_numpy_s_integers_are_taken():
    cache = RaggedKVCache(*map(np.int64, (2, 2, 9, 4)))
    cache.append(*torch.zeros(2, 2, 2, 3, 4), lengths=np.array([3, 2]))
    cache.crop(np.int64(2))
    cache.reorder([np.int64(1), 0])
    assert [type(n) for n in (*cache.lengths[0], cache.max_seq_len)] == [int] * 3
    window = WindowKVCache(*map(np.int64, (2, 2, 4, 4)))
    window.crop(np.int64(0))
    assert type(window.window) is type(window.lengths[0]) is int


@torch.no_grad()
@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("kind", ["rotary", "latent"])
def test_a_refused_call_leaves_the_cache_as_it_was(make, kind):
    if kind == "latent":
        layer, cache = LatentAttention(16, 4, 6, rotary=Rotary(4)), make(2, 1, 9, 6, value_dim=4)
        wrong = [{"mask": torch.ones(3, 3).bool()}, {"mask": torch.ones(5, 5)}]
    else:
        layer, cache = layer_of(), make(2, 2, 9, 4)
        wrong = [{"window": 0}, {"bias": torch.ones(3, 3)}, {"position_ids": torch.arange(4)}]
    for options in wrong:
        before = cache.keys.clone()
        with pytest.raises((TypeError, ValueError)):
            layer(torch.randn(2, 5, 16), cache=cache, **options)
        assert cache.length == 0
        assert torch.equal(cache.keys, before)


@torch.no_grad()
def test_a_refused_crop_leaves_the_window_as_it_was():
    cache = WindowKVCache(1, 1, 5, 1)
    cache.append(*torch.arange(6.0).reshape(2, 1, 1, 3, 1))
    before = cache.keys.clone()
    with pytest.raises(ValueError, match="at least 0, got -1"):
        cache.crop(-1)
    assert torch.equal(cache.keys, before)


@torch.no_grad()
def test_a_cache_elsewhere_is_refused_by_name():
    for make in (KVCache, RaggedKVCache, WindowKVCache):
        with pytest.raises(ValueError, match="device differs"):
            layer_of()(torch.randn(2, 5, 16), cache=make(2, 2, 9, 4, device="meta"))
    elsewhere = RaggedKVCache(2, 2, 9, 4, device="meta")
    with pytest.raises(ValueError, match="device differs"):
        layer_of()(torch.randn(2, 5, 16), cache=elsewhere, lengths=[5, 2])


@torch.no_grad()
def test_a_refused_step_leaves_lengths_as_they_were():
    cache = ragged()
    with pytest.raises(ValueError, match="cache is full"):
        cache.append(NEW, NEW, [2, 1])
    assert cache.lengths == [[3, 3]]
    full = full_window()
    full.crop(6)
    full.crop(0)
    assert full.length == 0


@torch.no_grad()
def test_a_relative_bias_says_where_the_sequences_of_a_ragged_cache_stand():
    layer, relative = layer_of("none"), LearnedRelativeBias(4, 6)
    torch.nn.init.normal_(relative.table)
    texts, cache = [torch.randn(n + 1, 16) for n in (3, 5)], RaggedKVCache(2, 2, 9, 4)
    for x, lengths in (
        (padded([text[:-1] for text in texts], "right"), [3, 5]),
        (torch.stack([text[-1:] for text in texts]), None),
    ):
        place = cache.place(x.shape[1], lengths)
        with pytest.raises(ValueError, match=r"bias .* is one for all sequences"):
            layer(x, cache=cache, lengths=lengths, bias=relative(x.shape[1], place.key_len))
        bias = relative(x.shape[1], place.key_len, position_ids=place.positions)
        last = layer(x, cache=cache, lengths=lengths, bias=bias)
    for got, text in zip(last, texts, strict=True):
        alone = layer(text[None], bias=relative(len(text)))[0, -1]
        torch.testing.assert_close(got[0], alone)


@pytest.mark.parametrize("make", KINDS)
def test_a_saved_cache_is_read_without_trust(make, tmp_path):
    cache = make(2, 2, 9, 4)
    cache.append(*torch.randn(2, 2, 2, 3, 4))
    torch.save(cache, tmp_path / "cache.pt")
    back = torch.load(tmp_path / "cache.pt", weights_only=True)
    assert back.length == 3
    assert torch.equal(back.keys, cache.keys)


def first_and_last(length, sinks, window):
    """Whom StreamingLLM's cache shows: each query's window, and the text's first tokens."""
    return create_window_mask(length, window=window) | (torch.arange(length) < sinks)


@torch.no_grad()
@pytest.mark.parametrize("sinks", [0, 1, 4])
@pytest.mark.parametrize("window", [1, 3, 6])
@pytest.mark.parametrize("steps", [[1] * 14, [5, 1, 1, 4, 1, 2], [13, 1], [2, 12]], ids=str)
@pytest.mark.parametrize("narrow", [None, 2])
def test_a_window_with_sinks_attends_as_its_mask_says(sinks, window, steps, narrow):
    layer, x = layer_of(), torch.randn(2, sum(steps), 16)
    cache = WindowKVCache(2, 2, window, 4, sinks=sinks)
    got = [layer(part, cache=cache, window=narrow) for part in x.split(steps, 1)]
    mask = first_and_last(x.shape[1], sinks, min(window, narrow or window))
    torch.testing.assert_close(torch.cat(got, 1), layer(x, mask), rtol=1e-4, atol=1e-5)
    assert cache.keys.shape[-2] == sinks + window
    assert cache.length == min(x.shape[1], sinks + window)


@torch.no_grad()
def test_a_window_with_sinks_takes_back_what_a_draft_proposed():
    layer, x = layer_of(), torch.randn(1, 9, 16)
    cache = WindowKVCache(1, 2, 6, 4, sinks=2)
    layer(x[:, :5], cache=cache)
    cache.crop(1)
    got = torch.cat([layer(x[:, i : i + 1], cache=cache) for i in range(1, 9)], 1)
    want = layer(x, first_and_last(9, 2, 6))[:, 1:]
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="can't crop to 8: of 9 tokens the last 6 are left"):
        cache.crop(8)
    with pytest.raises(ValueError, match=r"bias \(4, 1, 8\) .* make it \(B, H, L, S\)"):
        layer(x[:, :1], cache=cache, bias=torch.zeros(4, 1, 8))
    with pytest.raises(ValueError, match="sinks must be at least 0, got -1"):
        WindowKVCache(1, 2, 6, 4, sinks=-1)


@torch.no_grad()
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(6))
def test_a_static_cache_is_the_growing_one(device, seed):
    """Random histories of both; each step's output, weights and lengths agree."""
    random = np.random.default_rng(seed)
    layers = [layer_of().to(device), MultiHeadAttention(16, 4, num_kv_heads=2).to(device)]
    shape = {"num_layers": 2, "device": device}
    both = [kind(3, 2, 24, 4, **shape) for kind in (KVCache, StaticKVCache)]
    for _ in range(30):
        act, room = random.integers(8), 24 - both[0][0].length
        if act == 0 or not room:
            length = int(random.integers(24 - room + 1))
            both[0].crop(length), both[1].crop(length)
        elif act == 1:
            order = random.integers(3, size=3)
            both[0].reorder(order), both[1].reorder(order)
        elif act == 2:
            both = [cache.select([2, 0, 1]).to(device) for cache in both]
        else:
            x = torch.randn(3, min(room, 1 + random.integers(4)), 16, device=device)
            window = None if act < 6 else 3
            outputs = [[x, x], [x, x]]
            for which, cache in enumerate(both):
                for i, layer in enumerate(layers):
                    y, weights = layer(outputs[which][0], None, True, cache=cache[i], window=window)
                    outputs[which] = [y, weights[..., : both[0][i].length]]
            torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-5)
        assert both[0].lengths == both[1].lengths.tolist()
        assert both[1][1].length == both[0][1].length


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(layer_of() for _ in range(2))

    def forward(self, x, cache):
        for i, layer in enumerate(self.layers):
            x = x + layer(x, cache=cache[i])
        return x


@torch.no_grad()
@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
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
        torch.testing.assert_close(step(x[:, i : i + 1], handed), want, rtol=1e-4, atol=1e-5)
    assert counter.frame_count == 1
    assert static.lengths.tolist() == [20, 20]


@torch.no_grad()
def test_a_static_cache_that_is_full_says_so_and_stays_as_it_was():
    layer, cache = layer_of(), StaticKVCache(1, 2, 4, 4)
    layer(torch.randn(1, 3, 16), cache=cache)
    before = cache.keys.clone()
    with pytest.raises(ValueError, match=r"3 tokens \+ 2 new exceed max_seq_len=4"):
        layer(torch.randn(1, 2, 16), cache=cache)
    assert torch.equal(cache.keys, before)
    assert cache.length == 3
    with pytest.raises(ValueError, match=r"bias \(4, 1, 4\) .* make it \(B, H, L, S\)"):
        layer(torch.randn(1, 1, 16), cache=cache, bias=torch.zeros(4, 1, 4))
    with pytest.raises(ValueError, match="lengths are for a RaggedKVCache"):
        layer(torch.randn(1, 1, 16), cache=cache, lengths=[1])
