"""m14: its sentences against numbers computed here."""

import json
from statistics import mean

import pytest
import torch

from attention import KVCache
from models.beyond.task import TASKS
from models.beyond.train import (
    held_open,
    load,
    mean_gates,
    named_rooms,
    without_each_head,
)
from tests.conftest import ROOT
from tests.lessons.reading import cells, numbers, output, said
from variants import GatedDeltaNet

PAGE = "modules/m14_hybrids/lesson.html"
SCORES = json.loads((ROOT / "models/beyond/scores.json").read_text(encoding="utf-8"))
ANN, CLEO, BEN = torch.eye(2)[0], torch.eye(2)[1], torch.tensor([0.6, 0.8])


def test_what_was_measured_is_shown(page):
    kinds = ("softmax", "corrects, fades", "corrects", "adds, fades", "adds")
    rows = cells(page, "porter-scores")
    for kind, (_, kept, *shown) in zip(kinds, rows, strict=True):
        assert int(kept.replace(",", "")) == SCORES["kept"][kind][-1]
        for task, cell in zip(TASKS, shown, strict=True):
            shares = [seed[-1] for seed in SCORES["right"][task][kind]]
            assert numbers(cell) == pytest.approx([min(shares), max(shares)], abs=0.0051)
    for (_, kept, shown), (name, shares) in zip(
        cells(page, "stacks"), SCORES["stacks"].items(), strict=True
    ):
        assert int(kept.replace(",", "")) == SCORES["stacks kept"][name]
        assert numbers(shown) == pytest.approx([min(shares), max(shares)], abs=0.0051)


def test_what_llama_s_stacks_keep(page):
    """Keys and values counted from the cache's own tensors."""
    cache = KVCache(1, 8, 1, 128, dtype=torch.bfloat16)
    token = cache.keys.nbytes + cache.values.nbytes
    table = 8 * 128 * 128 * 4  # in 32 bits
    text = said(page, "#sec-hybrid")
    assert f"as many bytes as the keys and values of {table // token} tokens" in text
    assert table == 4 * 32 * token  # "four times as much" of 32 tokens
    some, all_ = (layers * token * 2**20 + (32 - layers) * table for layers in (8, 32))
    assert some / all_ == pytest.approx(1 / 4, abs=0.001)


def test_what_the_layers_of_the_porter_keep(page):
    text, notes = said(page, "#sec-hybrid"), 2 * SCORES["many"]
    assert f"{notes} · 2 · 32 = {notes * 2 * 32:,} numbers" in text
    assert SCORES["stacks kept"]["one softmax"] == notes * 2 * 32
    assert f"2 · 16 · 16 = {2 * 16 * 16}" in text
    assert {SCORES["kept"][kind][-1] for kind in ("corrects", "corrects, fades")} == {2 * 16 * 16}
    stack = SCORES["stacks kept"]["three tables, one softmax"]
    assert stack == 3 * 512 + 4096
    assert f"3 · 512 + 4,096 = {stack:,}." in text
    assert f"Four layers of softmax keep {SCORES['stacks kept']['four softmax']:,}." in text


def test_a_short_text_takes_more_in_tables(page):
    """24 layers of tables and 8 of keys and values of 64 tokens, in MB."""
    stack, softmax = 24 * 8 * 128 * 128 * 4 + 8 * 64 * 8 * 2 * 128 * 2, 32 * 64 * 8 * 2 * 128 * 2
    assert f"keeps {stack / 1e6:.1f} MB" in said(page, "#sec-hybrid")
    assert f"in every layer keeps {softmax / 1e6:.1f}." in said(page, "#sec-hybrid")
    assert 1.6 < stack / softmax < 2  # "Nearly twice as much"
    checked = said(page, "#check-it")
    tables, grows = 24 * 8 * 128 * 128 * 4 / 1e6, 8 * 64 * 8 * 2 * 128 * 2 / 1e6
    assert f"keeps {stack / 1e6:.1f} MB, and {tables:.1f} of these are tables" in checked
    doubled = f"from {grows:.1f} to {2 * grows:.1f} MB, and the tables stay as they are"
    assert f"{doubled}: {tables + 2 * grows:.1f}" in checked


def test_whoever_chooses_before_hiding_loses_places(page):
    cheap = torch.tensor([[0.3, 0.9, 0.1, 0.8], [0.5, 0.2, 0.7, 0.6],
                          [0.4, 0.1, 0.3, 0.9], [0.2, 0.8, 0.1, 0.6]])  # fmt: skip
    best = [set(sorted(range(4), key=lambda j: -row[j])[:2]) for row in cheap]
    counts = [len({j for j in chosen if j <= i}) for i, chosen in enumerate(best)]
    assert f"they look at {counts} tokens" in output(page, "bug-check")
    assert counts[0] == 0  # "nobody left to look at"


def test_two_of_five_notes_with_a_pencil(page):
    scores = torch.tensor([2.8, 0.2, 0.1, 6.1, 0.4])
    kept, whole = scores[[0, 3]].softmax(0), scores.softmax(0)
    assert kept.tolist() == pytest.approx([0.04, 0.96], abs=0.005)
    assert float(kept @ torch.tensor([5.0, 2])) == pytest.approx(2.1, abs=0.05)
    assert 1 - whole[[0, 3]].sum() < 0.01
    assert "0.04 · 5 + 0.96 · 2 ≈ 2.1" in said(page, "#sec-chosen")


def test_numbers_a_token_of_open_models(page):
    rows = cells(page, "open-models")
    kept = [
        [int(n.split(", and")[0].replace(",", "")) for n in row[2:] if not n.startswith("the same")]
        for row in rows
    ]
    assert kept == [
        [2 * 32 * 8 * 128] * 2,  # Llama 3 8B: 32 layers, 8 heads of 128
        [2 * 18 * 8 * 64, 2 * 36 * 8 * 64],  # gpt-oss-120b: every second of 36 layers
        [2 * 12 * 2 * 256, 2 * 48 * 2 * 256],  # Qwen3-Next: one layer in four
        [61 * 576],  # DeepSeek-V3.2: a latent of 512, and 64 that are turned
    ]


def at(task, kind, column=-1):
    return [seed[column] for seed in SCORES["right"][task][kind]]


def test_each_way_to_write_is_told_as_it_was_measured(page):
    kinds = ("adds", "corrects", "adds, fades", "corrects, fades")
    means = {task: [mean(at(task, kind)) for kind in kinds] for task in TASKS}
    halved = mean(SCORES["half the rate"]["four days"]["corrects, fades"])
    assert f"in the mean {halved:.2f}" in said(page, "#all-porters")
    assert means["four days"][1] < halved  # "helps, too"
    assert means["moves"].index(max(means["moves"])) == kinds.index("corrects")
    assert means["four days"].index(max(means["four days"])) == kinds.index("corrects, fades")
    assert max(at("moves", "adds")) + 0.25 < min(at("moves", "corrects"))
    both, others = at("four days", "corrects, fades"), kinds[:3]
    assert all(min(both) > max(at("four days", kind)) for kind in others)
    text, longer = said(page, "#sec-trained"), mean(SCORES["longer"]["corrects"])
    moved = [f"{means['moves'][1]:.2f}", f"{longer:.2f}", f"{mean(at('moves', 'softmax')):.2f}"]
    assert (
        "and corrects, gets {} right after the same training, and {} after".format(*moved) in text
    )
    assert f"keeps every note. It gets {moved[2]}.)" in text
    table = [[float(x) for x in row[1:]] for row in cells(page, "porters-open")]
    for row, kind in zip(table, ("adds", "corrects", "corrects, fades", "softmax"), strict=True):
        assert row == [round(mean(at(task, kind)), 2) for task in TASKS]
    assert means["moves"][3] < means["moves"][1]
    moves, corrects = sorted(at("moves", "corrects, fades")), at("moves", "corrects")
    assert moves[1] < 0.5 < min(corrects) - 0.1  # "two failed"
    assert min(moves[2:]) > min(corrects) - 0.03  # "three did as well"


def test_the_sum_of_two_rooms_is_told_as_it_was_measured(page):
    text, box = said(page, "#sec-trained"), said(page, "#all-porters")
    new, old = named_rooms("adds")
    assert new == pytest.approx(old, abs=0.05)  # "can't tell which of them is the newer one"
    assert f"the new one in {new:.2f} of the cases, and the old one in {old:.2f}" in box
    assert min(new, old) > 4 / 16  # both are made out
    assert f"The layer gets {mean(at('moves', 'adds')):.2f} right" in text
    assert round(mean(at("moves", "adds")), 1) == 0.4  # the prediction's answer
    assert named_rooms("corrects")[1] < 0.2


def drawn_gates(page):
    """(token, alpha), as the figure's numbers have them."""
    [table] = page.select_one("#cell-figure-gates").find_next_sibling().select("table")
    rows = [[td.get_text() for td in row.select("td")] for row in table.select("tbody tr")]
    return [(name, float(alpha)) for name, alpha in rows]


def beta_untrained():
    torch.manual_seed(0)
    layer = GatedDeltaNet(32, 2, head_dim=16)
    return layer._gates(torch.randn(1, 1000, 32))[1].mean().item()


def test_adding_layers_fade_a_little_at_every_note(page):
    text, layer = said(page, "#all-porters"), load("four days", "adds, fades")
    at_notes, *_ = mean_gates("adds, fades")
    assert 0.9 < at_notes < 0.97
    assert f"to {at_notes:.2f} of the table" in text
    shared = SCORES["right"]["four days"]["adds, fades"][0][-1]
    assert held_open(layer) == pytest.approx(shared, abs=0.01)  # "as before"
    assert f"it gets {held_open(layer):.2f}, as before" in text


def test_a_trained_layer_forgets_when_all_leave(page):
    text = said(page, "#sec-trained")
    at_notes, at_leave, part = mean_gates("corrects, fades")
    assert at_notes > 0.9
    assert at_leave < 0.05
    assert f"is {at_notes:.2f} at a note, on average, and {at_leave:.2f} at all leave" in text
    lead, held = mean(at("four days", "corrects, fades")), mean(SCORES["held open"])
    without = mean(at("four days", "corrects"))
    assert f"at all leave, and it still gets {held:.2f} right in four days" in text
    assert lead - held < (lead - without) / 2  # "the smaller part"
    assert f"at a note is {part:.2f}, near the ½" in text
    assert abs(part - 0.5) < 0.1  # "near the ½ at which the training began"
    assert beta_untrained() == pytest.approx(0.5, abs=0.05)
    assert round(part, 2) == 0.45  # of the newer room, and 0.45 · (1 − 0.45) of the older
    assert round(0.45 * 0.55, 2) == 0.25
    assert "and 0.45 · 0.55 ≈ 0.25 of the older" in said(page, "#all-porters")
    drawn = drawn_gates(page)
    assert [name for name, *_ in drawn].count("all leave") == 1
    for name, alpha in drawn:
        assert alpha < 0.1 if name == "all leave" else alpha > 0.9


def test_forgetting_is_a_part_of_the_lead():
    found = SCORES["held open"]
    assert held_open(load("four days", "corrects, fades")) == pytest.approx(found[0], abs=0.003)
    corrects, both = (mean(at("four days", k)) for k in ("corrects", "corrects, fades"))
    assert corrects + 0.03 < mean(found) < both - 0.01


def test_one_head_does_most_of_the_work(page):
    without = without_each_head("corrects")
    whole = at("moves", "corrects")[0]
    assert max(without) > whole - 0.05
    assert min(without) < whole / 2
    assert [f"{share:.2f}" in said(page, "#all-porters") for share in without] == [True, True]


def test_gates_are_told_as_they_were_measured(page):
    usual, gates = at("moves", "corrects, fades"), SCORES["gates"]
    assert mean(usual) < mean(at("moves", "corrects")) < min(at("moves", "softmax"))
    assert gates["opened after training"] == pytest.approx(usual, abs=0.01)  # "changes nothing"
    assert mean(usual) + 0.02 < mean(gates["begun open"])
    assert page.select_one('#sec-trained [id*="figure-porters"]')


def test_one_softmax_of_four_and_a_choice(page):
    tables, hybrid = (SCORES["stacks"][k] for k in ("four tables", "three tables, one softmax"))
    assert max(tables) < min(hybrid)
    text = said(page, "#sec-hybrid")
    assert f"asked about texts with {SCORES['many']}" in text
    one = SCORES["stacks"]["one table"]
    assert sorted(one)[1] < 0.35 < 0.5 < sorted(one)[2]
    assert mean(tables) < mean(sorted(one)[2:])  # "as much as four tables"
    more = mean(SCORES["longer"]["four tables"])
    told = f"that correct and fade get {mean(tables):.2f}, or {more:.2f} with five times"
    assert told in text
    sizes = SCORES["stacks kept"]
    notes = 2 * SCORES["many"]
    assert sizes["four softmax"] == 4 * notes * 2 * 32
    assert sizes["four tables"] == 4 * 2 * 16 * 16
    longer = SCORES["longer"]["four tables"]
    assert f"as many steps, four tables get {mean(longer):.2f}" in said(page, "#all-porters")
    assert max(tables) < min(longer) < max(longer) < min(hybrid)
    assert f"The stack gets {mean(hybrid):.2f} right" in text
    four = SCORES["stacks"]["four softmax"]
    assert f"Four layers of softmax get {mean(four):.2f} of the answers right" in text
    kept = SCORES["stacks kept"]
    assert kept["three tables, one softmax"] == pytest.approx(kept["four softmax"] / 3, rel=0.04)
    corrects = SCORES["longer"]["corrects"]
    assert f"as many steps it gets {mean(corrects):.2f}." in said(page, "#sec-trained")
    assert min(corrects) > max(at("moves", "corrects"))
    assert mean(hybrid) > 0.9
    alone = SCORES["stacks"]["one softmax"]
    assert mean(alone) > mean(hybrid)
    assert f"{mean(alone):.2f}" == f"{mean(four):.2f}"  # "a single one gets as much"
    assert 0 < mean(four) - mean(hybrid) < 0.03  # "nearly as many"


def test_a_choice_is_told_as_it_was_measured(page):
    window, chosen, every = (at("moves", kind) for kind in ("window", "chosen", "softmax"))
    assert max(window) < 0.25
    assert sorted(chosen)[1] < 0.7 < 0.97 < sorted(chosen)[2]  # "two of them fail"
    halved = SCORES["half the rate"]
    assert min(halved["moves"]["chosen"]) > 0.97  # "in all five"
    text = said(page, "#sec-chosen")
    for (_, shown), shares in zip(cells(page, "chosen"), (every, window, chosen), strict=True):
        assert numbers(shown) == pytest.approx([min(shares), max(shares)], abs=0.0051)
    chose = mean(halved["moves"]["chosen"])
    assert f"soon sees only questions, and gets {mean(window):.2f} right" in text
    assert f"gets {chose:.2f}, as much as one that looks at everything." in text
    assert chose > mean(every) - 0.005  # "as much"
    assert max(window) + 0.2 < sorted(chosen)[0]  # "learned it only in part"
    both = halved["four days"]["corrects, fades"]
    assert mean(both) > mean(at("four days", "corrects"))  # "one of the mean"
    assert min(both) < min(at("four days", "corrects"))  # "depends on the rate"
