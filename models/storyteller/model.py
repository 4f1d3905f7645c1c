"""The storyteller, as it is shipped."""

from pathlib import Path

from models.transformer import Transformer
from models.weights import load

ADDRESS = "models/storyteller/weights/storyteller.safetensors"  # here, and in the site
FILE = Path(__file__).parents[2] / ADDRESS


def load_storyteller() -> Transformer:
    """Load it in float32, ready to run."""
    return load(FILE)
