"""Write numbers in the text of pages, and round those on their way to widgets."""

from __future__ import annotations

import math
from typing import Any


class Markdown(str):
    """Text that Jupyter shows as it is, even if its repr has escapes, as for narrow spaces."""

    def _repr_markdown_(self) -> str:
        return str(self)


def percent(share: float, digits: int = 0) -> Markdown:
    """Write a share as a percentage, ``4 %``, with the narrow no-break space of the widgets.

    Raises: ValueError for NaN or infinity, so that no page can say "nan %".
    """
    share = share.item() if hasattr(share, "item") else share  # of an array or a tensor
    if not math.isfinite(share):
        raise ValueError(f"percent takes finite numbers only, not {share}")
    text = f"{round(100 * share, digits) + 0.0:.{digits}f}"  # + 0.0: never "-0"
    return Markdown(text.replace("-", "\N{MINUS SIGN}") + "\N{NARROW NO-BREAK SPACE}%")


def rounded(value: Any, /, digits: int = 6, **fewer: int) -> Any:
    """Round all floats of nested dicts, lists and tensors; ``fewer`` names keys with other digits.

    A share shown with three digits needs six: 0.053503 by way of 0.0535 would show as 5.3 %.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: rounded(item, fewer.get(key, digits), **fewer) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item, digits, **fewer) for item in value]
    return round(value, digits) if isinstance(value, float) else value
