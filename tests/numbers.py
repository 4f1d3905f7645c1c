"""The numbers in a text, as a reader sees them."""

import re

_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def numbers(text):
    """All numbers in a text, in its order; ``a/b`` and ``2³`` give what a reader sees of them."""
    return [number(one) for one in _NUMBER.findall(text)]
