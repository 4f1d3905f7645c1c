"""GPT-2's attention maps, from a copy on this machine: models/gpt2/, as Hugging Face saves it.

Nothing is fetched. Reading the folder needs the package transformers, an extra that the course does
not install: ``pip install transformers``. The maps are computed by this course's own layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attention import MultiHeadAttention
from interchange import load_gpt2

FOLDER = Path(__file__).parents[2] / "models/gpt2"


def local_maps(text: str, folder: Path = FOLDER) -> tuple[list[str], list[Tensor]] | None:
    """Return the text's tokens and, for each layer, the maps (H, L, L) of its heads.

    None if the folder or the package is missing.
    """
    if not (folder / "config.json").is_file():
        return None
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        return None
    model = AutoModel.from_pretrained(folder, local_files_only=True).float()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokens = tokenizer.encode(text)
    names = [tokenizer.decode([token]).strip() for token in tokens]
    return names, maps(model.state_dict(), torch.tensor(tokens), model.config.n_head)


@torch.no_grad()
def maps(state: Mapping[str, Tensor], tokens: Tensor, num_heads: int) -> list[Tensor]:
    """Run the decoder whose weights have GPT-2's names. tokens (L,) -> N of (H, L, L)."""

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"])

    def linear(x: Tensor, name: str) -> Tensor:  # stored as (inputs, outputs)
        return x @ state[f"{name}.weight"] + state[f"{name}.bias"]

    x = (state["wte.weight"][tokens] + state["wpe.weight"][: len(tokens)])[None]
    layers = []
    while f"h.{len(layers)}.ln_1.weight" in state:
        prefix = f"h.{len(layers)}"
        layer = load_gpt2(MultiHeadAttention(x.shape[-1], num_heads), state, f"{prefix}.attn")
        mixed, weights = layer(norm(x, f"{prefix}.ln_1"), is_causal=True, return_attention=True)
        x = x + mixed
        wide = F.gelu(linear(norm(x, f"{prefix}.ln_2"), f"{prefix}.mlp.c_fc"), approximate="tanh")
        x = x + linear(wide, f"{prefix}.mlp.c_proj")
        layers.append(weights[0])
    return layers
