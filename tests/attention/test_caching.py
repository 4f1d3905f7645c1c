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

from .inputs import DEVICES, assert_refused

LENGTHS = [3, 5, 0, 1]
KINDS = [KVCache, RaggedKVCache, WindowKVCache, StaticKVCache]
NEAR = {"rtol": 1e-5, "atol": 1e-6}
FAR = {"rtol": 1e-4, "atol": 1e-5}

pytestmark = pytest.mark.usefixtures("_no_grad")


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


LAYER_KINDS = {
    "plain": {"num_kv_heads": 4, "rotary": None},
    "grouped": {"num_kv_heads": 2, "rotary": None},
    "rotary": {"num_kv_heads": 4},
    "grouped rotary": {"num_kv_heads": 1},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("kind", LAYER_KINDS)
@pytest.mark.parametrize("steps", [[1] * 9, [5, 1, 1, 2], [9]], ids=str)
def test_cached_decoding_equals_one_pass(device, make, kind, steps):
    layer = layer_of(**LAYER_KINDS[kind]).to(device)
    x = torch.randn(3, 9, 16, device=device)
    cache = make(3, layer.num_kv_heads, 9, 4, device=device)
    want, want_weights = layer(x, return_attention=True)
    torch.testing.assert_close(step_by_step(layer, x, cache, steps), want, **NEAR)
    assert cache.length == 9
    cache.reset()
    assert cache.length == 0
    layer(x[:, :8], cache=cache)
    last, weights = layer(x[:, 8:], None, True, cache=cache)
    torch.testing.assert_close(last, want[:, 8:], **NEAR)
    torch.testing.assert_close(weights, want_weights[..., 8:, :], **NEAR)


def test_several_layers_share_one_cache():
    first, second = layer_of(), layer_of()
    x, cache = torch.randn(2, 6, 16), KVCache(2, 2, 6, 4, num_layers=2)
    outputs = [second(first(x[:, i : i + 1], cache=cache[0]), cache=cache[1]) for i in range(6)]
    torch.testing.assert_close(torch.cat(outputs, 1), second(first(x)), **NEAR)
    assert cache.lengths == [6, 6]
    cache[0].reset()
    assert cache.lengths == [0, 0]


def test_left_padded_batches_decode_with_a_mask():
    layer, x = layer_of(rotary=False), torch.randn(2, 6, 16)
    mask = create_padding_mask([6, 4], padding_side="left")
    cache = KVCache(2, 2, 6, 4)
    layer(x[:, :5], mask[..., :5], cache=cache)
    out = layer(x[:, 5:], mask, cache=cache)
    torch.testing.assert_close(out[1:], layer(x[1:, 2:])[:, -1:], **NEAR)


def test_the_cache_keeps_its_memory_and_its_tokens():
    cache = KVCache(2, 3, 5, 4)
    at = cache.keys.data_ptr()
    first, second = torch.randn(2, 3, 2, 4), torch.randn(2, 3, 3, 4)
    cache.append(first, -first)
    keys, values = cache.append(second, -second)
    assert torch.equal(keys, torch.cat([first, second], 2))
    assert torch.equal(values, -keys)
    assert keys.data_ptr() == cache.keys.data_ptr() == at


# ---- What every cache does ----------------------------------------------------------------------


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


@pytest.mark.parametrize("kind", KINDS)
def test_one_text_goes_on_as_several_beams(kind):
    layer, text = layer_of(), torch.randn(2, 4, 16)
    cache, lengths = kind(2, 2, 6, 4), [2, 4] if kind is RaggedKVCache else None
    layer(text, cache=cache, lengths=lengths)
    beams, new = cache.select(torch.tensor([1, 1, 1, 0])), torch.randn(4, 1, 16)
    got = layer(new, cache=beams)
    pasts = [text[1:]] * 3 + [text[:1, :2] if lengths else text[:1]]
    for b, past in enumerate(pasts):
        whole = layer(torch.cat([past, new[b : b + 1]], 1))
        torch.testing.assert_close(got[b], whole[0, -1:])
    assert cache.lengths != beams.lengths  # its own goes on from where it was


@pytest.mark.parametrize("make", KINDS)
def test_after_crop_decoding_goes_on_from_there(make):
    layer, x = layer_of(), torch.randn(2, 7, 16)
    cache = make(2, 2, 8, 4)
    layer(x[:, :4], cache=cache)
    layer(torch.randn(2, 3, 16), cache=cache)  # proposed in vain
    for length in (4, 6):  # the second forgets nothing
        cache.crop(length)
        assert cache.length == 4
    torch.testing.assert_close(layer(x[:, 4:], cache=cache), layer(x)[:, 4:])


@pytest.mark.parametrize("make", KINDS)
def test_to_copies_and_a_saved_cache_is_read_without_trust(make, tmp_path):
    cache = make(2, 1, 8, 4)
    cache.append(*torch.randn(2, 2, 1, 3, 4))
    torch.save(cache, tmp_path / "cache.pt")
    back = torch.load(tmp_path / "cache.pt", weights_only=True)
    half = cache.to(torch.float16, copy=True)
    assert half.keys.dtype == torch.float16
    assert back.length == half.length == cache.length == 3
    assert torch.equal(back.keys, cache.keys)
    half.reset()
    half.values.zero_()
    assert cache.length == 3
    assert cache.values.abs().max() > 0
    for part in (f"{make.__name__}(2, 1, 8, 4, num_layers=1, dtype=torch.float32", "3"):
        assert part in repr(cache)
    assert "value_dim=6" in repr(make(2, 1, 8, 4, value_dim=6))


@pytest.mark.parametrize("make", KINDS)
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
    got = exported(x[:, 5:], cache=fresh)
    torch.testing.assert_close(got, layer(x)[:, 5:])
    torch.testing.assert_close(layer(x[:, 5:], cache=cache), got)


@pytest.mark.slow
@pytest.mark.parametrize("make", KINDS)
def test_a_cached_step_compiles_to_one_graph(make):
    torch.compiler.reset()
    layer, x, cache = layer_of(), torch.randn(2, 6, 16), make(2, 2, 8, 4)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    got = step_by_step(compiled, x, cache, [4, 1, 1])
    torch.testing.assert_close(got, layer(x), **NEAR)
    assert cache.length == 6


@pytest.mark.parametrize("make", KINDS)
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
    assert [type(n) for n in (*cache.lengths[0], cache.max_seq_len)] == [int] * 3
    window = WindowKVCache(*map(np.int64, (2, 2, 4, 4)))
    window.crop(np.int64(0))
    assert type(window.window) is type(window.lengths[0]) is int


# ---- Texts that differ in length ----------------------------------------------------------------


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
def test_each_sequence_of_a_padded_batch_is_attended_alone(device, side, window, weights):
    layer = layer_of().to(device)
    texts = [torch.randn(n + 6, 16, device=device) for n in LENGTHS]
    cache = RaggedKVCache(4, 2, 12, 4, padding_side=side, device=device)
    at, got = [0] * 4, [[] for _ in LENGTHS]
    for step in (LENGTHS, [1, 1, 1, 1], [2, 0, 3, 1], [1, 1, 0, 1], [1, 1, 1, 1]):
        rows = [text[a : a + n] for text, a, n in zip(texts, at, step, strict=True)]
        x = padded([row.cpu() for row in rows], side).to(device)
        out = layer(x, None, weights, cache=cache, lengths=step, window=window)
        for each, row in zip(got, real(out[0] if weights else out, step, side), strict=True):
            each.append(row)
        at = [a + n for a, n in zip(at, step, strict=True)]
    assert cache.lengths == [at]
    for text, outputs, end in zip(texts, got, at, strict=True):
        torch.testing.assert_close(torch.cat(outputs), layer(text[:end], window=window), **FAR)


def test_padding_is_a_query_that_sees_nothing_and_a_mask_still_hides():
    layer, x = layer_of(), torch.randn(2, 4, 16)
    hide_first = torch.tensor([False, True, True, True])
    out, weights = layer(x, hide_first, True, cache=RaggedKVCache(2, 2, 9, 4), lengths=[2, 4])
    assert (weights[0, :, 2:] == 0).all()
    assert (weights[..., 0] == 0).all()
    want, _ = layer(x[1:], hide_first, True)
    torch.testing.assert_close(out[1:], want)
    torch.testing.assert_close(out[0, 3], layer.out_proj.bias)


def test_padding_does_not_count_against_max_seq_len():
    layer, x = CausalMultiHeadAttention(16, 4, 6).eval(), torch.randn(2, 4, 16)
    cache = RaggedKVCache(2, 4, 9, 4)
    layer(x, cache=cache, lengths=[4, 2])
    layer(x, cache=cache, lengths=[2, 4])
    assert_refused(lambda: layer(x[:, :1], cache=cache), ValueError, "7; max_seq_len=6")


def test_a_layer_that_is_not_causal_sees_every_real_key():
    layer, x = MultiHeadAttention(16, 4).eval(), torch.randn(2, 4, 16)
    got = layer(x, cache=RaggedKVCache(2, 4, 9, 4), lengths=[2, 4])
    want = layer(x, create_padding_mask([2, 4]))
    torch.testing.assert_close(got[0, :2], want[0, :2])
    torch.testing.assert_close(got[1], want[1])


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


def test_a_relative_bias_says_where_the_sequences_of_a_ragged_cache_stand():
    layer, relative = layer_of(rotary=False), LearnedRelativeBias(4, 6)
    torch.nn.init.normal_(relative.table)
    texts, cache = [torch.randn(n + 1, 16) for n in (3, 5)], RaggedKVCache(2, 2, 9, 4)
    starts = padded([text[:-1] for text in texts], "right")
    for x, lengths in ((starts, [3, 5]), (torch.stack([text[-1:] for text in texts]), None)):
        placement, size = cache.placement(x.shape[1], lengths), x.shape[1]
        with pytest.raises(ValueError, match="bias"):  # one for all sequences, with aligned ends
            layer(x, cache=cache, lengths=lengths, bias=relative(size, placement.key_len))
        bias = relative(size, placement.key_len, position_ids=placement.positions)
        last = layer(x, cache=cache, lengths=lengths, bias=bias)
    for got, text in zip(last, texts, strict=True):
        alone = layer(text[None], bias=relative(len(text)))[0, -1]
        torch.testing.assert_close(got[0], alone)


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


def test_a_window_takes_back_what_a_draft_proposed_unless_it_is_forgotten():
    layer, x = layer_of(), torch.randn(1, 9, 16)
    cache = WindowKVCache(1, 2, 6, 4, sinks=2)
    layer(x[:, :5], cache=cache)
    cache.crop(1)
    got = step_by_step(layer, x[:, 1:], cache, 1)
    torch.testing.assert_close(got, layer(x, first_and_last(9, 2, 6))[:, 1:], **FAR)
    before = cache.keys.clone()
    for length in (8, -1):
        with pytest.raises(ValueError, match=str(length)):
            cache.crop(length)
    assert torch.equal(cache.keys, before)
    cache.crop(9)
    cache.crop(0)
    assert cache.length == 0


# ---- Shapes that stay ---------------------------------------------------------------------------


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
            torch.testing.assert_close(*outputs, **FAR)
        assert both[0].lengths == both[1].lengths.tolist()
        assert both[1][1].length == both[0][1].length


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
        torch.testing.assert_close(step(x[:, i : i + 1], handed), want, **FAR)
    assert counter.frame_count == 1
    assert static.lengths.tolist() == [20, 20]
