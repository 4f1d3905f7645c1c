"""The scores that models are told to have."""

import json

from tests.conftest import ROOT


def scores_of(model, name=None):
    """What ``models/MODEL/scores.json`` holds, or ``scores/NAME.json`` beside it."""
    file = f"scores/{name}.json" if name else "scores.json"
    return json.loads((ROOT / "models" / model / file).read_text(encoding="utf-8"))
