"""How numbers are written in the text of pages, and rounded on their way to widgets."""

from __future__ import annotations

import math


def percent(share: float, digits: int = 0) -> str:
    """Write a share as a percentage, ``4 %``, with the narrow no-break space of the widgets.

    Raises: ValueError for NaN or infinity, so that no page can say "nan %".
    """
    if not math.isfinite(share):
        raise ValueError(f"percent takes finite numbers only, not {share}")
    text = f"{round(100 * float(share), digits) + 0.0:.{digits}f}"  # + 0.0: never "-0"
    return text.replace("-", "\N{MINUS SIGN}") + "\N{NARROW NO-BREAK SPACE}%"
