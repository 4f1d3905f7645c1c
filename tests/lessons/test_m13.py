"""m13: its claims against numbers computed here."""

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.conftest import ROOT
from tests.lessons.page_text import cells, in_order, output, shows
from tests.numbers import numbers
from variants import LinearAttention

PAGE = "modules/m13_beyond_softmax/lesson.html"
RECALL = json.loads((ROOT / "modules/m13_beyond_softmax/recall.json").read_text(encoding="utf-8"))
KEYS = ANN, CLEO, BEN = torch.tensor([[1, 0], [0, 1], [0.6, 0.8]])


def exactly(tensor):
    return [round(float(x), 4) for x in tensor]


def point(tensor):
    return "({:g}, {:g})".format(*exactly(tensor))


@pytest.fixture(scope="module")
def one_head():
    """Queries, positive like keys, and values with a 1 behind for the sum of the keys."""
    torch.manual_seed(0)
    layer, x = LinearAttention(64, 1), torch.randn(1, 4096, 64)
    with torch.no_grad():
        q, k, v = (part[0, 0] for part in layer.project(x))
    return F.elu(q) + 1, F.elu(k) + 1, F.pad(v, (0, 1), value=1.0)


def summed(k, v, kept_as):
    """The table after 256, 1,024 and 4,096 tokens, where it is kept as ``kept_as`` makes it."""
    table, after = torch.zeros(k.shape[1], v.shape[1]), {}
    for t in range(len(k)):
        table = kept_as(table + torch.outer(k[t], v[t]))
        if t + 1 in (256, 1024, 4096):
            after[t + 1] = table
    return after


def of_8_bits(vectors):
    step = vectors.abs().max(-1, keepdim=True).values / 127
    return torch.round(vectors / step) * step


def answer_of(q, table):
    mixed = q @ table
    return mixed[:-1] / mixed[-1]


def test_a_table_of_16_bits_stops_growing_and_one_of_32_holds_a_shelf(one_head):
    _, k, v = one_head
    for kept_as, most in ((torch.Tensor.bfloat16, 0.3), (torch.Tensor.half, 0.95)):
        tables = summed(k, v, lambda table, f=kept_as: f(table).float())
        assert tables[4096][:, -1].sum() < most * k.sum(), "the sum of the keys"
    for dtype, end in ((torch.bfloat16, 256), (torch.half, 2048)):  # where 1 no longer counts
        assert torch.tensor(end, dtype=dtype) + 1 == end
        assert torch.tensor(end - 1, dtype=dtype) + 1 == end
    positive = np.resize(k.numpy()[:, 0], 20 * 131_072)  # twenty books
    exact = positive.sum(dtype=np.float64)
    assert positive.cumsum(dtype=np.float32)[-1] == pytest.approx(exact, rel=1e-3)


def test_a_table_of_8_bits_is_off_by_more_with_each_token(one_head):
    """Its rows, and the sum of the keys beside it, each by its own steps."""
    q, k, v = one_head

    def eight(table):
        parts = of_8_bits(table[:, :-1]), of_8_bits(table[:, -1])[:, None]
        return torch.cat(parts, 1)

    exact, coarse = summed(k, v, lambda table: table), summed(k, v, eight)
    off = [(answer_of(q[n - 1], coarse[n]) - answer_of(q[n - 1], exact[n])).norm()
           / answer_of(q[n - 1], exact[n]).norm() for n in exact]  # fmt: skip
    assert off[0] < off[1] / 2 < off[2] / 4
    table_off = [((coarse[n] - exact[n])[:, :-1].norm() / exact[n][:, :-1].norm()) for n in exact]
    assert table_off == sorted(table_off)


def test_two_notes_and_a_third_with_a_pencil(page):
    notes = torch.tensor([[5.0], [10], [4]]) * KEYS
    tables = notes.cumsum(0)
    assert [exactly(table) for table in tables] == [[5, 0], [5, 10], [7.4, 13.2]]
    assert shows(page, "#sec-linear", "5", "(1, 0)", point(tables[0]))
    assert shows(page, "#sec-linear", "10", "(0, 1)", point(tables[1]))
    assert shows(page, "#sec-linear", "1", "5", "0", "10", f"{ANN @ tables[1]:g}")
    assert shows(page, "#sec-linear", "5", "0.6", "4", f"{ANN @ tables[2]:.2g}")
    shown = [
        numbers(" ".join(cell.get_text() for cell in row.select("td")[1:]))
        for name in ("two-tables", "third-table")
        for row in page.select(f"#{name} .fallback tr")[1:]
    ]
    assert shown == [exactly(t) for t in (*notes[:2], tables[1], tables[1], notes[2], tables[2])]


def test_softmax_asks_louder_and_a_table_cannot(page):
    louder = 10 * ANN
    scores, answer = KEYS @ louder, louder @ torch.tensor([7.4, 13.2])
    weight = f"{scores.softmax(0)[0]:.2f}"
    assert shows(page, "#sec-linear", point(louder), "10", "0", "6", weight, f"{answer:g}")
    assert exactly(scores) == [10, 0, 6]
    powers = [f"{math.exp(q):.2g}" for q in (1, 2, 3)]
    assert shows(page, "#sec-linear", *powers, powers[0], *(f"{2.7 * q:.1f}" for q in (2, 3)))
    table = KEYS.sum(0)
    divided = f"{7.4 / (table @ ANN):.1f}"
    assert shows(page, "#each-waits", "7.4", "0.6", divided, f"{table[0]:.1f}", point(table))


def test_a_book_in_tables_takes_a_thousandth(page):
    """32 layers of 8 heads, 128 numbers: keys and values of 131,072 tokens, or a table each."""
    cache, tables = 131_072 * 32 * 8 * 2 * 128 * 2, 32 * 8 * 128 * 128 * 4
    assert shows(page, "#sec-linear", f"{cache / 1e9:.0f}", f"{tables / 1e9:.3f}")
    assert cache / tables == pytest.approx(1000, rel=0.03)


def test_what_was_recalled_is_what_was_measured(page):
    rows = cells(page, "rivals")
    for (_, _, size, recalled), (name, by_pairs) in zip(
        rows, RECALL["recalled"].items(), strict=True
    ):
        shares = by_pairs["256"]
        assert len(shares) == 5
        size, low, high = numbers(f"{size} {recalled}")
        assert size == RECALL["kept"][name]["256"]
        assert [low, high] == pytest.approx([min(shares), max(shares)], abs=0.0051)


def test_softmax_recalls_all_and_a_sum_the_less_the_more_there_are(page):
    """What the text says of the figure, in every seed."""
    scores, sizes = RECALL["recalled"], RECALL["kept"]
    assert shows(page, "#sec-linear", str(RECALL["values"]))
    assert min(min(shares) for shares in scores["softmax 4"].values()) > 0.999
    assert {held / int(pairs) for pairs, held in sizes["softmax 4"].items()} == {2 * 64}
    for name in ("linear 4", "linear 1"):
        few, some, many = (scores[name][n] for n in ("16", "64", "256"))
        assert min(few) > 0.98
        assert min(few) > max(some)
        assert min(some) > max(many)
        assert max(many) < 0.5
        assert max(many) < min(scores[f"{name}, longer"]["256"])
        assert max(scores[f"{name}, longer"]["256"]) < 0.9
        # However many pairs and however long the training: "the size alone doesn't decide".
        assert {*sizes[name].values()} == {sizes[f"{name}, longer"]["256"]}
    assert 256 * sum(scores["linear 1"]["256"]) / 5 > 64  # "more than 64 pairs"
    for larger in ("linear 1", "linear 1 of 128"):
        assert min(scores[larger]["256"]) > max(scores["linear 4"]["256"])


@pytest.mark.slow
def test_training_again_recalls():
    from modules.m13_beyond_softmax import recall

    assert recall.train("softmax 4", 16, 0, steps=200) > 0.95
    assert recall.numbers_kept("softmax 4", 16) == 2 * 16 * 64
    assert recall.numbers_kept("linear 4", 16) == 4 * (16 * 16 + 16)


def test_a_guest_who_moves_with_a_pencil(page):
    table = torch.tensor([5.0, 10]) + 2 * ANN
    assert shows(page, "#predict-moved", "(7, 10)", "1", "7", "0", "10", "7")
    assert exactly([*table, ANN @ table]) == [7, 10, 7]


def corrected(table, key, room, alpha=1, beta=1):
    return alpha * table + beta * (room - key @ (alpha * table)) * key


def test_correcting_with_a_pencil(page):
    table = torch.tensor([5.0, 10])
    assert shows(page, "#sec-delta", "(5, 10)", "2", "5", "-3", "-3", "(1, 0)", "(2, 10)")
    moved = corrected(table, ANN, 2)
    assert exactly([ANN @ table, *moved]) == [5, 2, 10]
    had = BEN @ moved
    after = corrected(moved, BEN, 4)
    assert exactly([had, 4 - had, *(4 - had) * BEN]) == [9.2, -5.2, -3.12, -4.16]
    assert exactly([*after, BEN @ after, ANN @ after]) == [-1.12, 5.84, 4, -1.12]
    sums = "0.6", "2", "0.8", "10", "9.2", "4", "9.2", "-5.2", "-5.2", "(0.6, 0.8)"
    tables = "(-3.12, -4.16)", "(-1.12, 5.84)", "0.6", "(-1.12)", "0.8", "5.84", "4", "-1.12"
    assert shows(page, "#sec-delta", *sums, *tables)
    assert output(page, "write").endswith(": 2.0")


def test_two_guests_whose_lines_cross_are_not_both_right(page):
    table = corrected(2 * ANN, BEN, 4)
    crossing = torch.linalg.solve(torch.stack([ANN, BEN]), torch.tensor([2.0, 4]))
    assert shows(page, "#sec-delta", "(2, 0)", "4", point(crossing), point(table), "3.68")
    for _ in range(60):
        table = corrected(corrected(table, ANN, 2), BEN, 4)
    torch.testing.assert_close(table, crossing)


def test_fading_with_a_pencil(page):
    assert shows(page, "#sec-gate", "(5, 10)", point(torch.tensor([5.0, 10]) / 2))
    table = torch.tensor([5.0, 10])
    wrong = 0.5 * table + (2 - ANN @ table) * ANN
    assert shows(page, "#sec-bug", "2.5", "2", "5", f"{wrong[0]:g}")
    assert in_order(output(page, "bug-check"), f"{wrong[0]:g}")
    for alpha in (1, 0.5):
        answer = corrected(table, ANN, 2, alpha, beta=0.5)
        assert shows(page, "#check-it", point(answer)), alpha


def test_the_cells_that_compare_agree(page):
    """The layer's running state and a pass at once; chunks and single tokens."""
    said_so = (output(page, "linear") + "\n" + output(page, "chunks")).splitlines()
    assert [line.split()[-1] for line in said_so[-3:]] == ["True"] * 3


def test_a_layer_with_heads_has_a_table_for_each(page):
    lines = output(page, "without-heads").splitlines()
    gaps = [numbers(line)[-1] for line in lines]
    assert gaps[0] < 1e-6 < 1e-3 < min(gaps[1:])
