"""widgets/lib/attention.js against attention.py in float64.

The rest is compared through the widgets that use it: test_attention_steps.py, test_masks.py,
test_temperature.py, test_query_plane.py, test_position.py.
"""

import random

import torch

from attention import scaled_dot_product_attention
from tests.widgets.js import module

JS = module("lib/attention.js")


def test_softmax_never_overflows_and_hides_exactly():
    draw = random.Random(0)
    for _ in range(100):
        row = [draw.uniform(-5, 5) + 1000 for _ in range(draw.randint(1, 8))]
        seen = [draw.random() < 0.6 for _ in row]
        got = JS.run("m.softmax(x.row, (j) => !x.seen[j])", {"row": row, "seen": seen})
        _, want = scaled_dot_product_attention(
            torch.ones(1, 1).double(), torch.tensor(row, dtype=torch.float64)[:, None],
            torch.ones(len(row), 1).double(), torch.tensor(seen)[None], scale=1,
        )  # fmt: skip
        got = torch.tensor(got, dtype=torch.float64)
        torch.testing.assert_close(got, want[0], rtol=1e-12, atol=1e-12)
        assert not got[~torch.tensor(seen)].any()
    assert JS.call("softmax", [5]) == [1]


def test_equal_scores_share_however_they_were_rounded():
    assert JS.call("atTemperature", [1, 3, 2], 0) == [0, 1, 0]
    assert JS.call("atTemperature", [0.1 + 0.2, 0.3, -1], 0) == [0.5, 0.5, 0], "equal on paper"


def test_random_matrices_are_one_decimal_between_minus_2_and_2():
    body = "m.randomMatrices({query: x, value: x}, Math.random)"
    got = JS.run(body, [[0, 0, 0]] * 50)
    assert got.keys() == {"query", "value"}
    numbers = [number for rows in got.values() for row in rows for number in row]
    assert len(numbers) == 300
    assert len(set(numbers)) > 30
    assert all(-2 <= n <= 2 and n == round(n, 1) for n in numbers)
