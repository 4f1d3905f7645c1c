"""Save and load weights: safetensors in float16, with the config as JSON in the metadata."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from models.transformer import Config, Transformer


def save(model: Transformer, path: str | Path) -> None:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {name: t.detach().half().contiguous() for name, t in model.state_dict().items()}
    # Written beside and then renamed, so that an interruption leaves no partial file.
    aside = path.with_name(path.name + ".new")
    save_file(tensors, aside, metadata={"config": json.dumps(asdict(model.config))})
    aside.replace(path)


def committed() -> list[Path]:
    """List the weights files that ``load`` can read; some models here are no Transformer."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*/weights/*.safetensors")):
        with safe_open(path, "pt") as file:
            if "config" in (file.metadata() or {}):
                found.append(path)
    return found


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
        model.load_state_dict(tensors)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path}: config and weights don't fit: {error}") from error
    return model.eval()
