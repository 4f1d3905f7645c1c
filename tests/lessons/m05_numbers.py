"""The constructed layer of m05: six words, three matrices, its masks, and what they let move."""

import torch
import torch.nn.functional as F

X = torch.tensor(
    [[1, 0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0],
     [0, 0, 0, 1, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
).double()  # fmt: skip
W_Q = torch.tensor([[2, 0], [0.5, 2], [2.5, 1], [1.5, 0.5], [0.5, 0]]).double()
W_K = torch.tensor([[0, 1], [2, 0], [0.5, 2], [0, 1], [0.5, 0.5]]).double()
W_V = torch.tensor([[-1, 1], [1, 0.5], [0.5, 1.5], [-0.5, -1], [1, 0]]).double()
CAUSAL = torch.ones(6, 6).tril().bool()

# The hidden masks of the hunt: what each should be, and the cell that is open besides.
QUESTION = torch.tensor([True, True, False, False, False, False])
HUNTED = [
    (CAUSAL, (1, 3)),
    (CAUSAL, (0, 2)),
    (CAUSAL.triu(-2), (2, 4)),
    (CAUSAL | (QUESTION[:, None] & QUESTION), (0, 3)),
]


def opened(should, cell):
    """The mask ``should`` with one more open cell."""
    mask = should.clone()
    mask[cell] = True
    return mask


def moves(mask, layers=1):
    """How far each output (row) moves when 1 is added to a word (column)."""

    def output(x):
        for _ in range(layers):
            x = F.scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, attn_mask=mask)
            x = F.pad(x, (0, 3))  # five numbers a word again
        return x

    ones = torch.eye(6).double()[:, :, None].expand(6, 6, 5)
    return torch.stack([(output(X + one) - output(X)).abs().amax(-1) for one in ones], 1)
