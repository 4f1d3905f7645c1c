"""m13: its sentences against numbers computed here."""

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.conftest import ROOT
from tests.lessons.reading import cells, numbers, output, said
from variants import LinearAttention

PAGE = "modules/m13_beyond_softmax/lesson.html"
RECALL = json.loads((ROOT / "modules/m13_beyond_softmax/recall.json").read_text(encoding="utf-8"))
ANN, CLEO, BEN = torch.eye(2)[0], torch.eye(2)[1], torch.tensor([0.6, 0.8])


def exactly(tensor):
    return [round(float(x), 4) for x in tensor]


def test_the_running_state_is_the_layer_s(page):
    assert output(page, "linear").endswith("True")


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


def asked(q, table):
    mixed = q @ table
    return mixed[:-1] / mixed[-1]


def test_a_table_of_16_bits_stops_growing_and_one_of_32_holds_a_shelf(one_head):
    _, k, v = one_head
    for kept_as, most in ((torch.Tensor.bfloat16, 0.3), (torch.Tensor.half, 0.95)):
        kept = summed(k, v, lambda table, f=kept_as: f(table).float())
        assert kept[4096][:, -1].sum() < most * k.sum(), "the sum of the keys"
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

    exact, kept = summed(k, v, lambda table: table), summed(k, v, eight)
    off = [(asked(q[n - 1], kept[n]) - asked(q[n - 1], exact[n])).norm()
           / asked(q[n - 1], exact[n]).norm() for n in exact]  # fmt: skip
    assert off[0] < off[1] / 2 < off[2] / 4
    table_off = [((kept[n] - exact[n])[:, :-1].norm() / exact[n][:, :-1].norm()) for n in exact]
    assert table_off == sorted(table_off)


def test_two_notes_and_a_third_with_a_pencil(page):
    """The tables, and what they say, as sums of the notes by their own weights."""
    text, keys, rooms = said(page, "#sec-linear"), torch.stack([ANN, CLEO, BEN]), [5.0, 10, 4]
    notes = [room * key for key, room in zip(keys, rooms, strict=True)]
    tables = [notes[0], notes[0] + notes[1], sum(notes)]
    assert [exactly(table) for table in tables] == [[5, 0], [5, 10], [7.4, 13.2]]
    weights = keys @ ANN
    for count, table in enumerate(tables, 1):
        assert float(ANN @ table) == pytest.approx(
            float(weights[:count] @ torch.tensor(rooms[:count]))
        )
    assert "the table is (5, 0)" in text
    assert "the table is (5, 10)" in text
    assert "1 · 5 + 0 · 10 = 5" in text
    assert "5 + 0.6 · 4 = 7.4 of Ann" in text
    shown = [
        numbers(" ".join(cell.get_text() for cell in row.select("td")[1:]))
        for name in ("two-tables", "third-table")
        for row in page.select(f"#{name} .static-form tr")[1:]
    ]
    assert shown == [exactly(t) for t in (*notes[:2], tables[1], tables[1], notes[2], tables[2])]


def test_softmax_asks_louder_and_a_table_cannot(page):
    text, keys = said(page, "#sec-linear"), torch.stack([ANN, CLEO, BEN])
    scores = keys @ (10 * ANN)
    assert scores.tolist() == pytest.approx([10, 0, 6])
    assert f"Ann's note gets {scores.softmax(0)[0]:.2f}" in text.replace("’", "'")
    assert float(10 * ANN @ torch.tensor([7.4, 13.2])) == pytest.approx(74)
    assert "gets 74, ten times the same mixture" in text
    powers = [f"{math.exp(q):.{d}f}" for q, d in ((1, 1), (2, 1), (3, 0))]
    assert "about {}, {} and {}".format(*powers) in text
    assert [float(powers[0]) * q for q in (1, 2, 3)] == pytest.approx([2.7, 5.4, 8.1])
    divided = said(page, "#each-waits")
    assert 7.4 / float((keys @ ANN).sum()) == pytest.approx(4.6, abs=0.05)
    assert "7.4/(1 + 0 + 0.6) ≈ 4.6" in divided
    assert exactly(keys.sum(0)) == [1.6, 1.8]


def test_a_book_in_tables_takes_a_thousandth(page):
    """32 layers of 8 heads, 128 numbers: keys and values of 131,072 tokens, or a table each."""
    cache, tables = 131_072 * 32 * 8 * 2 * 128 * 2, 32 * 8 * 128 * 128 * 4
    text = said(page, "#sec-linear")
    assert f"keeps {cache / 1e9:.0f} GB of keys and values" in text
    assert f"it would be {tables / 1e9:.3f} GB, a thousandth" in text
    assert cache / tables == pytest.approx(1000, rel=0.03)


def test_the_figure_says_what_is_kept(page):
    kept = RECALL["kept"]
    assert len(set(kept["linear 4"].values())) == len(set(kept["linear 1"].values())) == 1
    assert {held / int(pairs) for pairs, held in kept["softmax 4"].items()} == {2 * 64}
    text = said(page, "#sec-linear")
    assert f"pairs of a random word and one of {RECALL['values']} answers" in text
    _, some, many = (sum(shares) / 5 for shares in RECALL["recalled"]["linear 1"].values())
    assert f"it recalls {some:.2f}, and with 256, after this short training, {many:.2f}" in text
    assert 256 * many > 64  # "more than 64 pairs"


def test_what_was_recalled_is_what_was_measured(page):
    rows = cells(page, "rivals")
    for (_, _, kept, recalled), (name, by_pairs) in zip(
        rows, RECALL["recalled"].items(), strict=True
    ):
        shares = by_pairs["256"]
        assert len(shares) == 5
        kept, low, high = numbers(f"{kept} {recalled}".replace(",", ""))
        assert kept == RECALL["kept"][name]["256"]
        assert [low, high] == pytest.approx([min(shares), max(shares)], abs=0.0051)


def test_softmax_recalls_all_and_a_sum_the_less_the_more_there_are():
    """What the text says of the figure, in every seed."""
    found = RECALL["recalled"]
    assert min(min(shares) for shares in found["softmax 4"].values()) > 0.999
    for name in ("linear 4", "linear 1"):
        few, some, many = (found[name][n] for n in ("16", "64", "256"))
        assert min(few) > 0.98
        assert min(few) > max(some)
        assert min(some) > max(many)
        assert max(many) < 0.5
        assert min(found[f"{name}, longer"]["256"]) > max(many)
        assert max(found[f"{name}, longer"]["256"]) < 0.9
    kept = RECALL["kept"]
    for name in ("linear 4", "linear 1"):  # "the room alone doesn't decide"
        assert kept[name]["256"] == kept[f"{name}, longer"]["256"]
    for larger in ("linear 1", "linear 1 of 128"):
        assert min(found[larger]["256"]) > max(found["linear 4"]["256"])


@pytest.mark.slow
def test_training_again_recalls():
    from modules.m13_beyond_softmax import recall

    assert recall.train("softmax 4", 16, 0, steps=200) > 0.95
    assert recall.numbers_kept("softmax 4", 16) == 2 * 16 * 64
    assert recall.numbers_kept("linear 4", 16) == 4 * (16 * 16 + 16)


def test_a_guest_who_moves_with_a_pencil(page):
    table = torch.tensor([5.0, 10]) + 2 * ANN
    assert exactly(table) == [7, 10]
    assert float(ANN @ table) == 7
    assert "is (7, 10) now, and 1 · 7 + 0 · 10 = 7" in said(page, "#predict-moved")


def test_correcting_with_a_pencil(page):
    text = said(page, "#sec-delta").replace("−", "-")
    table = torch.tensor([5.0, 10])
    table = table + (2 - ANN @ table) * ANN
    assert exactly(table) == [2, 10]
    assert "2 - 5 = -3" in text
    had = float(BEN @ table)
    assert round(had, 4) == 9.2
    assert "0.6 · 2 + 0.8 · 10 = 9.2" in text
    difference = 4 - had
    assert "4 - 9.2 = -5.2" in text
    assert exactly(difference * BEN) == [-3.12, -4.16]
    assert "(-3.12, -4.16)" in text
    table = table + difference * BEN
    assert exactly(table) == [-1.12, 5.84]
    assert "(-1.12, 5.84)" in text
    assert float(BEN @ table) == pytest.approx(4)
    assert float(ANN @ table) == pytest.approx(-1.12)
    assert output(page, "write") == "the table says of Ann: 2.0"


def test_two_guests_whose_lines_cross_are_not_both_right(page):
    text, table = said(page, "#sec-delta"), 2 * ANN
    table = table + (4 - BEN @ table) * BEN
    assert exactly(table) == [3.68, 2.24]
    assert "at (3.68, 2.24), and the table says 3.68 of Ann" in text
    for _ in range(60):
        for key, room in ((ANN, 2), (BEN, 4)):
            table = table + (room - key @ table) * key
    assert [float(ANN @ table), float(BEN @ table)] == pytest.approx([2, 4])  # the crossing


def test_fading_with_a_pencil(page):
    text = said(page, "#sec-gate")
    assert exactly(torch.tensor([5.0, 10]) / 2) == [2.5, 5]
    assert "the table (5, 10) fades to (2.5, 5)" in text
    assert output(page, "chunks").splitlines() == [
        "token by token: True",
        "in chunks of 32: True",
    ]


def test_a_wrong_order_is_off_and_right_without_fading(page):
    table = torch.tensor([5.0, 10])
    assert float(ANN @ (0.5 * table + (2 - ANN @ table) * ANN)) == -0.5
    assert "2.5 + (2 − 5) = −0.5" in said(page, "#sec-bug")
    assert "the table says -0.5" in output(page, "bug-check")


def test_check_it(page):
    answers = said(page, "#check-it")
    for alpha, want, told in ((1, [3.5, 10], "(3.5, 10)"), (0.5, [2.25, 5], "(2.25, 5)")):
        table = alpha * torch.tensor([5.0, 10])
        assert exactly(table + 0.5 * (2 - ANN @ table) * ANN) == want
        assert told in answers


def test_a_layer_with_heads_has_a_table_for_each(page):
    lines = output(page, "without-heads").splitlines()
    gaps = [numbers(line)[-1] for line in lines]
    assert gaps[0] < 1e-6 < 1e-3 < min(gaps[1:])
