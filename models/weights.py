"""Save and load weights: safetensors in float16, with the config as JSON in the metadata.

The matrices of a large model can be stored in 8 bits: integers from -127 to 127, and beside each
matrix, under its name and ``.scale``, the value of 1 in each row, in float16.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from models.transformer import Config, Transformer

Model = TypeVar("Model", bound=nn.Module)


def save(model: Transformer, path: str | Path, *, bits: int = 16) -> None:
    """``bits``: 16, or 8 for the matrices only."""
    if bits not in (8, 16):
        raise ValueError(f"bits must be 8 or 16, got {bits}")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, tensor in model.state_dict().items():
        if bits == 8 and tensor.ndim == 2:
            tensors[name], tensors[f"{name}.scale"] = _to_8_bits(tensor)
        else:
            tensors[name] = tensor.half().contiguous()
    # Written beside and then renamed, so that an interruption leaves no partial file.
    aside = path.with_name(path.name + ".new")
    save_file(tensors, aside, metadata={"config": json.dumps(asdict(model.config))})
    aside.replace(path)


def _to_8_bits(matrix: Tensor) -> tuple[Tensor, Tensor]:
    scale = (matrix.abs().amax(1) / 127).half()  # (rows,)
    # A row so small that its scale is 0 in float16 is a row of zeros.
    whole = torch.where(scale[:, None] > 0, matrix / scale.float()[:, None], 0).round()
    return whole.clamp(-127, 127).to(torch.int8), scale


def _from_8_bits(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    for name in [name for name in tensors if f"{name}.scale" in tensors]:
        tensors[name] = tensors[name] * tensors.pop(f"{name}.scale").unsqueeze(-1)
    return tensors


def save_plain(model: nn.Module, path: Path) -> None:
    """Save a model that is no Transformer, without its config; ``load_into`` loads it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: t.half().contiguous() for name, t in model.state_dict().items()}, path)


def load_into(model: Model, path: Path) -> Model:
    """Give ``model`` the weights that are in ``path``, in float32."""
    model.load_state_dict({name: t.float() for name, t in load_file(path).items()})
    return model.eval()


def committed() -> list[Path]:
    """List the weights files that ``load`` can read; some models here are no Transformer."""
    paths = []
    for path in sorted(Path(__file__).parent.glob("*/weights/*.safetensors")):
        with safe_open(path, "pt") as file:
            if "config" in (file.metadata() or {}):
                paths.append(path)
    return paths


def load(path: str | Path) -> Transformer:
    """Load a model, in float32.

    Raises: FileNotFoundError, or ValueError if the file is truncated or of another kind.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no weights at {path}: `python3 -m course train` makes them")
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is cut, or not a safetensors file: {error}") from error
    if "config" not in metadata:
        raise ValueError(f"{path} has no config in its metadata, so it isn't a model of the course")
    if wrong := [name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()]:
        raise ValueError(f"{path}: not finite: {', '.join(wrong)}")
    try:
        model = Transformer(Config(**json.loads(metadata["config"])))
        model.load_state_dict(_from_8_bits(tensors))
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path}: config and weights don't fit: {error}") from error
    return model.eval()
