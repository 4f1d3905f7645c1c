"""The scores of the models of m07, which the page on longer texts goes on with."""

from statistics import mean

from tests.scores import scores_of

SCORES = scores_of("positions")


def far(seeds):
    """Each seed's share at places 49 to 64."""
    return [mean(shares[-4:]) for shares in seeds]


def near(seeds):
    return [mean(shares[:4]) for shares in seeds]
