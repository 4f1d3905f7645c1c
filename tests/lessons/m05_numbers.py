"""The constructed layer of m05: six words, three matrices, and the causal mask."""

import torch

X = torch.tensor(
    [[1, 0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0],
     [0, 0, 0, 1, 0], [1, 0, 0, 0, 1], [0, 1, 0, 0, 0]]
).double()  # fmt: skip
W_Q = torch.tensor([[2, 0], [0.5, 2], [2.5, 1], [1.5, 0.5], [0.5, 0]]).double()
W_K = torch.tensor([[0, 1], [2, 0], [0.5, 2], [0, 1], [0.5, 0.5]]).double()
W_V = torch.tensor([[-1, 1], [1, 0.5], [0.5, 1.5], [-0.5, -1], [1, 0]]).double()
CAUSAL = torch.ones(6, 6).tril().bool()
