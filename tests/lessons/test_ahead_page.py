"""Writing ahead: its counts against readings of our own, its sums by hand, its lots drawn anew."""

import pytest
import torch

from tests.lessons.page_text import cells, output, share, shows
from tests.numbers import numbers
from tests.widgets.truth_writing_ahead import BEGINNINGS, read_ahead

PAGE = "ahead.html"
WRITERS = "copier", "layers"
DARK, _, LITTLE = BEGINNINGS


def layers(beginning, writer, longest):
    readings = read_ahead(beginning, writer, longest)
    return 4 * len(readings) + (2 * sum(n for n, _ in readings) if writer == "layers" else 0)


def thrown(beginning, writer, longest):
    return sum(drafted - kept for drafted, kept in read_ahead(beginning, writer, longest))


def test_the_fewest_readings_and_what_they_cost(page):
    fewest, four, eight = (read_ahead(DARK, "layers", n) for n in (5, 4, 8))
    assert len(fewest) == len(eight) == min(
        len(read_ahead(DARK, writer, n)) for writer in WRITERS for n in range(1, 9)
    ) < len(four)  # fmt: skip
    dear = layers(DARK, "layers", 5)
    assert dear > 240
    said = len(fewest), thrown(DARK, "layers", 5), dear, 240, thrown(DARK, "layers", 8)
    assert shows(page, "#sec-writers", *map(str, said))
    copier = read_ahead(DARK, "copier", 4)
    shares = [[sum(part) for part in zip(*made, strict=True)] for made in (copier, four)]
    assert shares[0][1] / shares[0][0] > 3 * shares[1][1] / shares[1][0], "right more often"
    idle = sum(drafted == 0 for drafted, _ in copier)
    said = len(copier), *shares[0], *shares[1], idle
    assert shows(page, "#sec-writers", *map(str, said))


def test_the_first_two_layers_save_layers_after_one_beginning_only(page):
    saves = [[layers(text, "layers", n) < 240 for n in range(1, 9)] for text in BEGINNINGS]
    assert [any(of) for of in saves] == [False, False, True]
    assert shows(page, "#sec-writers", str(layers(LITTLE, "layers", 2)), "240")


def test_what_a_reading_gains(page):
    half, most = (sum(a**n for n in range(5)) for a in (0.5, 0.8))
    assert shows(page, "#sec-worth", f"{half:.1f}")
    assert shows(page, "#sec-worth", f"{most:.2f}", f"{sum(0.8**n for n in range(9)):.1f}")
    for text, (_, right, by_sum, gained) in zip(BEGINNINGS, cells(page, "gained"), strict=True):
        readings = read_ahead(text, "layers", 4)
        tried = sum(min(kept + 1, drafted) for drafted, kept in readings)
        a = sum(kept for _, kept in readings) / tried
        assert right == f"{a:.3f}"
        assert float(by_sum) == pytest.approx((1 - a**5) / (1 - a), abs=0.006)
        assert float(gained) == pytest.approx(60 / len(readings), abs=0.006)
        assert float(by_sum) == pytest.approx(float(gained), rel=0.05), "the sum comes near"


def test_what_drafts_cost_in_layers(page):
    ways = [("copier", 4), ("layers", 1), ("layers", 2), ("layers", 4)]
    for text, (_, *totals) in zip(BEGINNINGS, cells(page, "ahead-counts"), strict=True):
        alone, copier, *_, four = map(int, totals)
        assert totals[1:] == [str(layers(text, *way)) for way in ways]
        assert copier < alone == 240 < four
    saved = [share(1 - layers(text, "copier", 4) / 240) for text in BEGINNINGS[1:]]
    assert shows(page, "#sec-worth", *saved)


def test_a_writer_of_a_tenth_s_size_by_pencil(page):
    """Llama 2 7B in 16 bits, less the table of tokens, at an H100's 3.35 TB a second."""
    fetch = 2 * (6_738_415_616 - 32_000 * 4096) / 3.35e9
    tokens = sum(0.8**n for n in range(5))
    each = 1.4 * fetch / tokens
    said = f"{fetch / 10:.2f}", f"{1.4 * fetch:.1f}", f"{tokens:.2f}", f"{each:.1f}"
    assert shows(page, "#sec-worth", *said, f"{fetch:.1f}", f"{fetch / each:.1f}")
    assert 2 < fetch / each < 3, "as has been found"
    guess, layer = 128 * 1024, 4 * 128**2 + 2 * 128 * 512
    assert guess / layer == pytest.approx(2 / 3, rel=0.01)


def test_ten_drafts_come_out_as_the_large_model_wants(page):
    p, d = torch.tensor([6, 3, 1]), torch.tensor([3, 2, 5])
    stay = torch.minimum(p, d)
    ten = page.select("#sec-chance table")[1].select("tbody tr")
    rows = [numbers(row.get_text(" ")) for row in ten]
    assert rows == torch.stack([d, stay, p, p - stay], 1).tolist()
    alike = (p * d).sum().item() / 100
    assert shows(page, "#sec-chance", f"{alike:.2f}")
    assert (d - stay).sum() == (p - stay).sum() == 4, "as many are missing as thrown away"
    shares, stays = output(page, "chance").splitlines()
    assert numbers(shares) == pytest.approx((p / 10).tolist(), abs=0.005)
    assert numbers(stays) == pytest.approx([stay.sum().item() / 10], abs=0.005)


def test_a_cache_with_one_token_too_many_spoils_the_text(page):
    assert 0 < numbers(output(page, "bug-check"))[0] < 60
