"""What a rendered lesson says, for the tests of its sentences."""

import re


def output(page, label):
    """What the cell ``label`` printed."""
    cell = f"#{label} .cell-output-stdout, #cell-{label} .cell-output-stdout"
    return page.select_one(cell).get_text().strip()


def numbers(text):
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]
