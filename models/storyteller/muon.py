"""Muon: momentum with all singular values set to about 1, for the layers' matrices."""

from __future__ import annotations

import torch
from torch import Tensor, nn

MOMENTUM = 0.95


class Muon(torch.optim.AdamW):
    """The layers' matrices by Muon (Jordan et al. 2024), all else by AdamW.

    A few directions dominate a gradient, so that a step hardly moves the others; Muon steps along
    all directions alike. PyTorch's own Muon works in bfloat16, which most
    processors compute slowly; this is in float32, and queries, keys and values are apart.
    """

    def __init__(self, model: nn.Module, *, rate: float, matrix_rate: float, decay: float) -> None:
        matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "layers" in name]
        chosen = {id(p) for p in matrices}
        others = [p for p in model.parameters() if id(p) not in chosen]
        groups = [{"params": others}, {"params": matrices, "lr": matrix_rate}]
        super().__init__(groups, rate, betas=(0.9, 0.98), weight_decay=decay, fused=True)

    @torch.no_grad()
    def step(self) -> None:
        group = self.param_groups[1]
        for matrix in group["params"]:
            if not self.state[matrix]:  # AdamW asks every state for its step when it is loaded
                self.state[matrix].update(step=torch.tensor(0.0), momentum=torch.zeros_like(matrix))
            momentum = self.state[matrix]["momentum"]
            momentum.lerp_(matrix.grad, 1 - MOMENTUM)
            ahead = matrix.grad.lerp(momentum, MOMENTUM)
            outputs, inputs = matrix.shape
            parts = ahead.chunk(3) if outputs == 3 * inputs else [ahead]
            step = torch.cat([orthogonalize(part) for part in parts])
            matrix.mul_(1 - group["lr"] * group["weight_decay"]).add_(step, alpha=-group["lr"])
            matrix.grad = None  # so that AdamW skips it
        super().step()


def orthogonalize(matrix: Tensor) -> Tensor:
    """Approximate UVᵀ for the matrix USVᵀ: five Newton–Schulz iterations, with Jordan's numbers.

    A tall one is scaled by the root of outputs over inputs, so that outputs change alike.
    """
    outputs, inputs = matrix.shape
    x = (matrix.T if outputs > inputs else matrix) / (matrix.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (2.0315 * gram @ gram - 4.7750 * gram) @ x
    return (x.T if outputs > inputs else x) * max(1, outputs / inputs) ** 0.5
