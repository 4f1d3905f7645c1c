"""The scores of the models of m07, which the page on longer texts goes on with."""

import json
from statistics import mean

from tests.conftest import ROOT

SCORES = json.loads((ROOT / "models/positions/scores.json").read_text(encoding="utf-8"))


def far(seeds):
    """Each seed's share at places 49 to 64."""
    return [mean(shares[-4:]) for shares in seeds]


def near(seeds):
    return [mean(shares[:4]) for shares in seeds]
