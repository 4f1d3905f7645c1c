"""What a rendered lesson says, for the tests of its sentences."""

import re


def output(page, label):
    """What the cell ``label`` printed: in one piece, or in several where it printed slowly."""
    cell = f"#{label} .cell-output-stdout, #cell-{label} .cell-output-stdout"
    return "".join(part.get_text() for part in page.select(cell)).strip()


def numbers(text):
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]
