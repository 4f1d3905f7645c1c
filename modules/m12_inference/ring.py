"""Ring attention: two processes, each with half of a text, compute what one would of the whole.

Each keeps its queries; keys and values go round, from every process to the next (Liu et al. 2023).
``python -m modules.m12_inference.ring``
"""

import multiprocessing
import os
import socket
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import Tensor

from attention import create_causal_mask, scaled_dot_product_attention

PROCESSES, LENGTH, SIZE = 2, 1024, 64


def ring_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor):
    top = torch.full_like(query[:, :1], -torch.inf)  # each row's largest so far
    total, mixed = torch.zeros_like(top), torch.zeros_like(query)
    for step in range(dist.get_world_size()):
        scores = query @ key.mT / query.shape[-1] ** 0.5  # with the keys here
        scores = scores.masked_fill(~mask[:, keys_of(step)], -torch.inf)
        new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
        shrink, rises = (top - new_top).exp(), (scores - new_top).exp()
        total = total * shrink + rises.sum(-1, keepdim=True)
        mixed = mixed * shrink + rises @ value
        top, key, value = new_top, pass_on(key), pass_on(value)
    return mixed / total


def keys_of(step: int) -> slice:
    """Return the positions of the keys that are here after ``step`` rounds."""
    owner = (dist.get_rank() - step) % dist.get_world_size()
    return part(owner)


def part(rank: int) -> slice:
    share = LENGTH // PROCESSES
    return slice(rank * share, (rank + 1) * share)


def pass_on(tensor: Tensor) -> Tensor:
    """Send to the next process; return what the one before has sent."""
    rank, world = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(tensor)
    sending = dist.isend(tensor.contiguous(), (rank + 1) % world)
    dist.recv(arrived, (rank - 1) % world)
    sending.wait()
    return arrived


def text() -> list[Tensor]:
    """Random queries, keys and values, (LENGTH, SIZE) in float64, the same in every process."""
    torch.manual_seed(0)
    return [torch.randn(LENGTH, SIZE, dtype=torch.float64) for _ in range(3)]


def work(rank: int, meeting: str) -> None:
    """Run one process: only its part of the text goes into the ring."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=PROCESSES)
    query, key, value = (t[part(rank)].clone() for t in text())
    mask = create_causal_mask(LENGTH)[part(rank)]
    output = ring_attention(query, key, value, mask)
    outputs = [torch.empty_like(output) for _ in range(PROCESSES)] if rank == 0 else None
    dist.gather(output, outputs)
    if rank == 0:
        whole, _ = scaled_dot_product_attention(*text(), is_causal=True)
        print(f"{PROCESSES} processes, each with {len(key)} of {LENGTH} keys")
        print(f"differ from one process by {(torch.cat(outputs) - whole).abs().max():.0e}")
    dist.destroy_process_group()


def main() -> None:
    # The processes meet on this machine, through a file and over loopback, on any network.
    names = [name for _, name in socket.if_nameindex()] if os.name == "posix" else []
    if loopback := [name for name in names if name in ("lo", "lo0")]:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback[0])
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    with tempfile.TemporaryDirectory() as folder:
        meeting = (Path(folder) / "meeting").as_uri()
        start = torch.multiprocessing.start_processes
        start(work, (meeting,), nprocs=PROCESSES, start_method=method)


if __name__ == "__main__":
    main()
