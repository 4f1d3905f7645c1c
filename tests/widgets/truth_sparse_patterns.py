"""m12's patterns as masks of attention.py and variants.py."""

import torch

from attention import create_causal_mask, create_window_mask
from variants import create_block_sparse_mask, create_strided_mask


def masked(pattern, n, size):
    causal, window = create_causal_mask(n), create_window_mask(n, window=size)
    rows = torch.arange(-(-n // size))
    blocks = (rows == 0) | (rows[:, None] - rows < 2)
    return {
        "full": torch.ones(n, n).bool(),
        "causal": causal,
        "window": causal & window,
        "strided": causal & (window | create_strided_mask(n, stride=size)),
        "blocks": causal & create_block_sparse_mask(blocks, size, n),
    }[pattern]


def layers_to_first(mask):
    seen = torch.eye(len(mask))
    for layers in range(len(mask) + 1):
        if seen[-1, 0] > 0:
            return layers
        seen = (seen @ mask.float()).clamp(max=1)
    return None
