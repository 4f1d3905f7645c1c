"""How numbers are written in the text of pages, and rounded on their way to widgets."""

from __future__ import annotations

import math


class Markdown(str):
    """Text that Jupyter shows as it is, also where its repr has escapes, as for narrow spaces."""

    def _repr_markdown_(self) -> str:
        return str(self)


def percent(share: float, digits: int = 0) -> Markdown:
    """Write a share as a percentage, ``4 %``, with the narrow no-break space of the widgets.

    Raises: ValueError for NaN or infinity, so that no page can say "nan %".
    """
    if not math.isfinite(share):
        raise ValueError(f"percent takes finite numbers only, not {share}")
    text = f"{round(100 * float(share), digits) + 0.0:.{digits}f}"  # + 0.0: never "-0"
    return Markdown(text.replace("-", "\N{MINUS SIGN}") + "\N{NARROW NO-BREAK SPACE}%")
