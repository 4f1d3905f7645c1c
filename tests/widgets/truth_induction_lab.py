"""The checkpoints of the induction lab, read by PyTorch."""

from functools import cache

from course.payloads.induction_lab import FOLDER, history, signs
from models.weights import load

HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]
STEPS = [point["step"] for point in history()]
THREE = [0, STEPS.index(275), len(STEPS) - 1]
DEFAULT = signs(12, 4)


@cache
def checkpoint(index):
    return load(FOLDER / "weights" / f"two-layers-{STEPS[index]:04}.safetensors").double()
