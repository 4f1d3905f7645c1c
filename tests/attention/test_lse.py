"""Attention to parts of the keys, joined by its log-sum-exp: here, and on a ring of processes."""

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from attention import fused_attention, scaled_dot_product_attention
from variants import merge_attention

from .inputs import assert_same_gradients, qkv
from .processes import context


@pytest.mark.parametrize("parts", [[7], [3, 4], [1, 5, 1]])
def test_parts_of_the_keys_merge_into_the_whole(parts):
    inputs = qkv(query_len=5, key_len=7, dtype=torch.float64, requires_grad=True)
    hidden = torch.ones(2, 1, 5, 7, dtype=torch.bool)
    hidden[0, :, 2] = hidden[1, :, :, 3:] = False
    whole = fused_attention(*inputs, hidden, return_lse=True)
    split = (*(t.split(parts, -2) for t in inputs[1:]), hidden.split(parts, -1))
    pieces = [
        fused_attention(inputs[0], k, v, mask, return_lse=True)
        for k, v, mask in zip(*split, strict=True)
    ]
    merged = merge_attention(*zip(*pieces, strict=True))
    torch.testing.assert_close(merged, whole)
    assert_same_gradients(merged[0], whole[0], inputs)


def ring(query, key, value):
    """Causal attention of a sequence whose parts lie on the devices of a ring.

    Each hands its keys and values to the next, and adds what its queries find in those that come.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = []
    for step in range(size):
        owner = (rank - step) % size
        if owner <= rank:  # later parts are hidden
            own = owner == rank
            parts.append(fused_attention(query, key, value, is_causal=own, return_lse=True))
        received = [torch.empty_like(key), torch.empty_like(value)]
        waiting = [
            work
            for sent, got in zip((key, value), received, strict=True)
            for work in (dist.isend(sent, (rank + 1) % size), dist.irecv(got, (rank - 1) % size))
        ]
        for work in waiting:
            work.wait()
        key, value = received
    return merge_attention(*zip(*parts, strict=True))[0]


def run_on_a_ring(rank, size, address):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=size)
    inputs = qkv(query_len=12, dtype=torch.float64)
    mine = [t.chunk(size, -2)[rank].contiguous() for t in inputs]
    want = scaled_dot_product_attention(*inputs, is_causal=True)[0]
    torch.testing.assert_close(ring(*mine), want.chunk(size, -2)[rank])
    dist.destroy_process_group()


@pytest.mark.slow
@pytest.mark.skipif(not dist.is_gloo_available(), reason="this PyTorch has no Gloo")
def test_a_ring_of_two_processes_finds_what_one_does(tmp_path):
    given, method = (2, (tmp_path / "meet").as_uri()), context().get_start_method()
    mp.start_processes(run_on_a_ring, given, nprocs=2, start_method=method)
