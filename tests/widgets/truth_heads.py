"""m06's layer and its tensors, made by PyTorch."""

import torch

from attention import MultiHeadAttention


def layer_of(heads, width=64):
    return MultiHeadAttention(width, heads).eval()


def real_shapes(layer, *, batch=2, length=10, width=64):
    """Every shape, in the page's order, taken from the tensors that a layer makes."""
    x = torch.randn(batch, length, width)
    split = dict(zip("QKV", layer.project(x, None), strict=True))
    output, weights = layer(x, return_attention=True)
    matrices = dict(zip("QKV", layer.qkv_proj.weight.split(width), strict=True))
    heads = weights @ split["V"]
    tensors = {"x": x}
    for name, t in split.items():
        tensors |= {f"W_{name}": matrices[name].T, name: t.transpose(1, 2).flatten(2)}
    tensors |= {f"{name} split": t for name, t in split.items()}
    tensors |= {"weights": weights, "outputs": heads, "merged": heads.transpose(1, 2).flatten(2)}
    tensors |= {"W_O": layer.out_proj.weight.T, "output": output}
    return {name: list(t.shape) for name, t in tensors.items()}


def real(heads, split_blind, merge_blind):
    """Q, heads and merged, by PyTorch's own view, transpose and reshape."""
    Q = torch.arange(24).view(1, 3, 8)
    size = 8 // heads
    right = Q.view(1, 3, heads, size).transpose(1, 2)
    split = Q.view(1, heads, 3, size) if split_blind else right
    merged = split.reshape(1, 3, 8) if merge_blind else split.transpose(1, 2).reshape(1, 3, 8)
    return Q, split, merged
