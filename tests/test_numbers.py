"""course.percent: shares as pages write them."""

import pytest
import torch

from course import percent


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(0.0427, 0, "4 %"), (0.0427, 1, "4.3 %"), (1, 0, "100 %"), (1e-6, 0, "0 %"),
     (1.27, 0, "127 %"), (-0.0427, 0, "−4 %"), (-1e-6, 1, "0.0 %"), (torch.tensor(0.5), 0, "50 %")],
)  # fmt: skip
def test_a_share_is_written_with_a_narrow_space(share, digits, text):
    assert percent(share, digits) == text.replace(" ", "\u202f")


@pytest.mark.parametrize("share", [float("nan"), float("-inf")])
def test_what_is_no_number_is_refused(share):
    with pytest.raises(ValueError, match=f"not {share}"):
        percent(share)
