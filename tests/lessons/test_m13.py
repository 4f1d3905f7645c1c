"""m13: its claims against numbers computed here."""

import json
import math

import pytest
import torch

from tests.conftest import ROOT
from tests.lessons.page_text import in_order, output, shows
from tests.numbers import numbers

PAGE = "modules/m13_beyond_softmax/lesson.html"
KEYS = ANN, CLEO, BEN = torch.tensor([[1, 0], [0, 1], [0.6, 0.8]])


def exactly(tensor):
    return [round(float(x), 4) for x in tensor]


def point(tensor):
    return "({:g}, {:g})".format(*exactly(tensor))


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
    powers = [f"{math.exp(q):.2g}" for q in (1, 2)]
    assert shows(page, "#sec-linear", *powers, powers[0], f"{2 * 2.7:.1f}", powers[1])
    table = KEYS.sum(0)
    divided = f"{7.4 / (table @ ANN):.1f}"
    assert shows(page, "#each-waits", "7.4", "0.6", divided, f"{table[0]:.1f}", point(table))


def test_to_weigh_each_note_is_to_ask_the_sum_of_all(page):
    query, rooms = KEYS[2], torch.tensor([5.0, 10.0])
    each = (KEYS[:2] @ query) @ rooms
    table = KEYS[:2].T @ rooms
    torch.testing.assert_close(each, query @ table)
    told = f"{each:g}", point(table), f"{query @ table:g}"
    assert shows(page, "#sec-linear", point(query), "0.6", "5", "0.8", "10", *told)


def test_a_table_that_fades_by_a_hundredth_forgets_in_some_hundred_tokens(page):
    assert shows(page, "#sec-gate", "0.99", "100", f"{0.99**100:.2f}")


def test_a_book_in_tables_takes_a_thousandth(page):
    """32 layers of 8 heads, 128 numbers: keys and values of 131,072 tokens, or a table each."""
    cache, tables = 131_072 * 32 * 8 * 2 * 128 * 2, 32 * 8 * 128 * 128 * 4
    assert shows(page, "#sec-linear", f"{cache / 1e9:.0f}", f"{tables / 1e9:.3f}")
    assert cache / tables == pytest.approx(1000, rel=0.03)


def corrected(table, key, room, alpha=1, beta=1):
    return alpha * table + beta * (room - key @ (alpha * table)) * key


def test_a_guest_who_moves_with_a_pencil(page):
    table = torch.tensor([5.0, 10])
    added = table + 2 * ANN
    assert exactly([*added, ANN @ added]) == [7, 10, 7]
    assert shows(page, "#predict-moved", "(7, 10)", "1", "7", "0", "10", "7")
    moved = corrected(table, ANN, 2)
    assert exactly([ANN @ table, *moved]) == [5, 2, 10]
    assert shows(page, "#sec-delta", "(5, 10)", "2", "5", "-3", "-3", "(1, 0)", "(2, 10)")
    assert output(page, "write").endswith(": 2.0")


def test_correcting_a_guest_whose_key_overlaps_with_a_pencil(page):
    moved = torch.tensor([2.0, 10])
    had, after = BEN @ moved, corrected(moved, BEN, 4)
    assert exactly([had, 4 - had, *(4 - had) * BEN]) == [9.2, -5.2, -3.12, -4.16]
    assert exactly([*after, BEN @ after, ANN @ after]) == [-1.12, 5.84, 4, -1.12]
    sums = "0.6", "2", "0.8", "10", "9.2", "4", "9.2", "-5.2", "-5.2", "(0.6, 0.8)"
    tables = "(-3.12, -4.16)", "(-1.12, 5.84)", "0.6", "(-1.12)", "0.8", "5.84", "4", "-1.12"
    assert shows(page, "#sec-delta", *sums, *tables)
    rooms = torch.tensor([3.0, 4])  # of Ann and Cleo
    assert shows(page, "#sec-delta", "3", "4", "0.6", "3", "0.8", "4", f"{BEN @ rooms:g}")


def test_two_guests_whose_lines_cross_are_not_both_right(page):
    table = corrected(2 * ANN, BEN, 4)
    crossing = torch.linalg.solve(torch.stack([ANN, BEN]), torch.tensor([2.0, 4]))
    assert shows(page, "#sec-delta", "(2, 0)", "4", point(crossing), point(table), "3.68")
    for _ in range(60):
        table = corrected(corrected(table, ANN, 2), BEN, 4)
    torch.testing.assert_close(table, crossing)


def test_fading_with_a_pencil(page):
    table = torch.tensor([5.0, 10])
    assert shows(page, "#sec-gate", "(5, 10)", point(table / 2))
    for alpha in (1, 0.5):
        answer = corrected(table, ANN, 2, alpha, beta=0.5)
        assert shows(page, "#check-it", point(answer)), alpha


def test_a_key_divided_by_its_sum_is_too_short(page):
    """In an empty table; Ann's key has one number, so its sum is its length."""
    heard = [(4 * key / key.sum()) @ key / key.norm() for key in (2 * ANN, BEN)]
    assert heard[0] == 4
    assert shows(page, "#sec-bug", "4", "1.4", f"{heard[1]:.2f}")
    assert in_order(output(page, "bug-check"), f"{heard[1]:.2f}")
    torch.testing.assert_close(4 * BEN / BEN.norm() @ BEN, torch.tensor(4.0))


def test_no_table_serves_softmax():
    """The weights of the queries 0, 1, 2, … can't be mixed from each other: full rank."""
    for m in range(2, 7):
        keys = torch.linspace(0, 1, m, dtype=torch.float64)
        weights = torch.exp(torch.arange(m)[:, None] * keys)
        assert torch.linalg.matrix_rank(weights) == m


def test_softmax_recalls_all_and_a_sum_the_less_the_more_there_are():
    """What the text says of the figure, in every seed."""
    path = ROOT / "modules/m13_beyond_softmax/recall.json"
    recall = json.loads(path.read_text(encoding="utf-8"))
    scores, sizes = recall["recalled"], recall["kept"]
    assert min(min(shares) for shares in scores["softmax 4"].values()) > 0.999
    assert {held / int(pairs) for pairs, held in sizes["softmax 4"].items()} == {2 * 64}
    for name in ("linear 4", "linear 1"):
        few, some, many = (scores[name][n] for n in ("16", "64", "256"))
        longer = scores[f"{name}, longer"]["256"]
        assert min(few) > max(0.98, *some)
        assert min(some) > max(many)
        assert max(many) < min(longer), "the size alone doesn't decide"
        assert max(many) < 0.5
        assert max(longer) < 0.9
        assert {*sizes[name].values()} == {sizes[f"{name}, longer"]["256"]}
    for larger in ("linear 1", "linear 1 of 128"):
        assert min(scores[larger]["256"]) > max(scores["linear 4"]["256"])


@pytest.mark.slow
def test_training_again_recalls():
    from modules.m13_beyond_softmax import recall

    assert recall.train("softmax 4", 16, 0, steps=200) > 0.95
    assert recall.numbers_kept("softmax 4", 16) == 2 * 16 * 64
    assert recall.numbers_kept("linear 4", 16) == 4 * (16 * 16 + 16)


def test_a_sum_that_only_grows_needs_32_bits():
    """A small number no longer changes it in 16, and rounded at each token it is off by more."""
    for dtype, end in ((torch.bfloat16, 256), (torch.half, 2048)):
        assert torch.tensor(end, dtype=dtype) + 1 == end

    def of_8_bits(numbers):
        step = numbers.max() / 127
        return torch.round(numbers / step) * step

    torch.manual_seed(0)
    exact, coarse, off = torch.zeros(64), torch.zeros(64), []
    for key in torch.rand(4096, 64):
        exact, coarse = exact + key, of_8_bits(coarse + key)
        off.append((coarse - exact).norm() / exact.norm())
    assert off[255] < off[1023] < off[4095]


def test_the_cells_that_compare_agree(page):
    """The layer's running state and a pass at once; chunks and tokens; a table for each head."""
    said_so = (output(page, "linear") + "\n" + output(page, "chunks")).splitlines()
    assert [line.split()[-1] for line in said_so[-3:]] == ["True"] * 3
    gaps = [numbers(line)[-1] for line in output(page, "without-heads").splitlines()]
    assert gaps[0] < 1e-6 < 1e-3 < min(gaps[1:])
