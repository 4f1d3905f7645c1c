"""m14: its sentences against numbers computed here."""

import json
import math
from collections import Counter
from statistics import mean

import pytest
import torch

from attention import KVCache
from models.beyond.task import COFFEE, DRINKERS, OWES, PAY, texts
from models.beyond.train import JOBS, alpha_beta, guessed_by_place, load, named_rooms, unseen_texts
from tests.conftest import ROOT
from tests.lessons.reading import cells, numbers, output, said

PAGE = "modules/m14_hybrids/lesson.html"
SCORES = json.loads((ROOT / "models/beyond/scores.json").read_text(encoding="utf-8"))


def at(task, kind, column=-1, what="right"):
    return [seed[column] for seed in SCORES[task][kind][what]]


def mean_of(*of, **more):
    return mean(at(*of, **more))


def assert_spans(cell, shares):
    assert numbers(cell) == pytest.approx([min(shares), max(shares)], abs=0.0051)


def figure_tables(page, cell):
    """The rows of each table of a figure's numbers."""
    tables = page.select_one(f"#cell-{cell}").find_next_sibling().select("table")
    return [[[td.get_text() for td in row.select("td")] for row in table.select("tbody tr")]
            for table in tables]  # fmt: skip


def test_what_was_measured_is_shown(page):
    kinds = ("softmax", "corrects, fades", "corrects", "adds, fades", "adds")
    for kind, (_, kept, *book, coffees, tab) in zip(
        kinds, cells(page, "porter-scores"), strict=True
    ):
        assert int(kept.replace(",", "")) == SCORES["moves"][kind]["kept"]
        for i, cell in enumerate(book):
            assert_spans(cell, at("moves", kind, i))
        assert_spans(coffees, at("coffees", kind))
        assert_spans(tab, at("tab", kind))
    stacks = (*("two softmax", "two softmax with MLPs", "two tables"), *JOBS["both"][-2:])
    for stack, (_, parameters, kept, *shown) in zip(stacks, cells(page, "stacks"), strict=True):
        sizes = [SCORES["both"][stack][what] for what in ("parameters", "kept")]
        assert [int(cell.replace(",", "")) for cell in (parameters, kept)] == sizes
        for i, cell in enumerate(shown):
            assert_spans(cell, at("both", stack, i))


def test_what_llama_s_stacks_keep(page):
    """Keys and values counted from the cache's own tensors."""
    cache = KVCache(1, 8, 1, 128, dtype=torch.bfloat16)
    token = cache.keys.nbytes + cache.values.nbytes
    table = 8 * 128 * 128 * 4  # in 32 bits
    text = said(page, "#sec-keeps")
    assert f"as many bytes as the keys and values of {table // token} tokens" in text
    assert table == 4 * 32 * token  # "four times as much" of 32 tokens
    some, all_ = (layers * token * 2**20 + (32 - layers) * table for layers in (8, 32))
    assert some / all_ == pytest.approx(1 / 4, abs=0.001)


def test_a_short_text_takes_more_in_tables(page):
    """24 layers of tables and 8 of keys and values of 64 tokens, in MB."""
    stack, softmax = 24 * 8 * 128 * 128 * 4 + 8 * 64 * 8 * 2 * 128 * 2, 32 * 64 * 8 * 2 * 128 * 2
    tables, grows = 24 * 8 * 128 * 128 * 4 / 1e6, 8 * 64 * 8 * 2 * 128 * 2 / 1e6
    told = f"keeps {stack / 1e6:.1f} MB, {tables:.1f} in its tables and {grows:.1f} in keys"
    assert told in said(page, "#sec-keeps")
    assert f"in every layer keeps {softmax / 1e6:.1f}." in said(page, "#sec-keeps")
    assert 1.6 < stack / softmax < 2  # "Nearly twice as much"


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
    table = page.select("#sec-chosen table")[0].select("tbody tr")
    cheap = [[cell.get_text() for cell in row.select("td")] for row in table]
    best = sorted(cheap, key=lambda row: -float(row[1]))[:2]
    assert [note for note, *_ in best] == ["Ann in 5", "Ann in 2"]  # the older one first


def test_numbers_a_token_of_open_models(page):
    rows = cells(page, "open-models")
    kept = [
        [
            int(part.split()[0].replace(",", ""))
            for n in row[2:]
            for part in n.split(", and ")
            if part[0].isdigit()
        ]
        for row in rows
    ]
    assert kept == [
        [2 * 32 * 8 * 128] * 2,  # Llama 3 8B: 32 layers, 8 heads of 128
        [2 * 18 * 8 * 64, 2 * 36 * 8 * 64],  # gpt-oss-120b: every second of 36 layers
        [2 * 12 * 2 * 256, 2 * 48 * 2 * 256],  # Qwen3-Next: one layer in four
        [61 * 576, 61 * 128],  # DeepSeek-V3.2: a latent of 512 and 64 that are turned; a short key
    ]


def test_each_job_needs_its_own_way_to_write(page):
    kinds = {
        "moves": ("adds", "corrects", "softmax"),
        "tab": ("adds", "corrects", "corrects, fades", "softmax"),
    }
    for job, table in zip(kinds, figure_tables(page, "figure-porters"), strict=True):
        shares = [float(share) for _, share in table]
        assert shares == pytest.approx([mean_of(job, kind) for kind in kinds[job]], abs=0.0051)
    assert mean_of("tab", "softmax") < mean_of("tab", "adds") + 0.1  # "hardly better"
    assert mean_of("moves", "adds, fades") + 0.15 < mean_of("moves", "corrects, fades")
    assert mean_of("moves", "adds") + 0.2 < mean_of("moves", "corrects")
    assert max(at("tab", "adds")) + 0.2 < min(at("tab", "adds, fades"))
    assert max(at("tab", "corrects")) < min(at("tab", "corrects, fades"))
    assert max(at("tab", "softmax")) < min(at("tab", "corrects"))  # "badly"
    assert mean_of("coffees", "softmax") < mean_of("coffees", "adds") - 0.1  # "where nobody pays"
    for job in ("coffees", "tab"):
        assert mean_of(job, "adds") < mean_of(job, "corrects")
    longer = mean_of("tab", "softmax", what="longer")
    assert f"{longer:.2f} of the tab (two seeds)" in said(page, "#all-porters")
    assert mean_of("coffees", "adds, plain") > 0.99
    kinds = ("softmax", "softmax, undivided", "corrects")
    shown = [float(row[1]) for row in cells(page, "coffees-open")]
    shares = [mean_of("coffees", kind) for kind in kinds]
    assert shown == pytest.approx([guessed_by_place(), *shares], abs=0.0051)
    assert shares[0] < shown[0]  # "doesn't get that far"
    assert max(at("coffees", "softmax")) + 0.3 < min(at("coffees", "softmax, undivided"))
    assert min(at("moves", "softmax")) > max(at("moves", "corrects"))  # "best with the book"
    longer = mean_of("moves", "corrects", what="longer")
    usual = mean_of("moves", "corrects")
    assert f"gets {usual:.2f} right after the same training" in said(page, "#sec-trained")
    assert f"it gets {longer:.2f} with 16 guests" in said(page, "#all-porters")
    assert min(at("moves", "corrects", what="longer")) > mean_of("moves", "corrects")


def test_the_sum_of_two_rooms_is_told_as_it_was_measured(page):
    new, old = named_rooms("adds")
    assert new == pytest.approx(old, abs=0.06)  # "can't tell which of them is the newer one"
    box = said(page, "#all-porters")
    assert f"the new one in {new:.2f} of the cases, and the old one in {old:.2f}" in box
    assert min(new, old) > 4 / 16  # both are made out
    assert f"The layer gets {mean_of('moves', 'adds'):.2f} right" in said(page, "#sec-trained")
    assert round(mean_of("moves", "adds"), 1) == 0.4  # the prediction's answer
    assert named_rooms("corrects")[1] < 0.2


def test_a_trained_layer_forgets_where_all_pay(page):
    [rows] = figure_tables(page, "figure-gates")
    assert "all pay" in [name for name, _ in rows]
    for name, alpha in rows:
        assert float(alpha) < 0.1 if name == "all pay" else float(alpha) > 0.9
    usual, held = (at("tab", "corrects, fades", what=what) for what in ("right", "held open"))
    told = f"{mean(usual):.2f} of their answers were right, and now only {mean(held):.2f} are"
    assert told in said(page, "#sec-tab")
    assert max(held) + 0.3 < min(usual)
    text = unseen_texts("tab", 0)
    alpha, _ = alpha_beta(load("tab", "corrects, fades"), text)
    assert (alpha.transpose(1, 2)[text.words == PAY] < 0.01).all()  # "The second … too"


def test_a_mean_of_three_coffees_with_a_pencil(page):
    def mean_said(had, others):
        values = torch.tensor([1.0] * had + [0.0] * others)
        return float(torch.zeros(had + others).softmax(0) @ values)

    for had, row in zip((3, 1), page.select("#sec-mean table")[0].select("tbody tr"), strict=True):
        *_, softmax, table = (cell.get_text() for cell in row.select("td"))
        assert float(softmax) == mean_said(had, 0)
        assert table.split()[-1] == str(had)
    text = said(page, "#sec-mean")
    assert f"3 · ⅛ = {mean_said(3, 5):.3f}" in text
    assert f"1 · ⅙ ≈ {mean_said(1, 5):.3f}" in text
    assert mean_said(3, 3) == mean_said(4, 4) == 0.5  # "½ for both"


def test_a_table_that_writes_a_tenth_of_what_is_missing_counts(page):
    says, counts = 0.0, []
    for _ in range(4):
        says += 0.1 * (1 - says)
        counts.append(f"{says:.2f}")
    text = said(page, "#sec-tab")
    assert "After one coffee the table says 0.1." in text
    assert "after two it says {1}, after three {2}, after four {3}".format(*counts) in text


def test_other_guests_drown_a_note_as_the_pencil_says(page):
    """Keys that point anywhere, drawn: what the others leave in the answer for one."""
    draw = torch.Generator().manual_seed(0)
    keys = torch.randn(4000, 32, 16, generator=draw)
    keys /= keys.norm(dim=-1, keepdim=True)
    pencil = page.select_one("#sec-hold table")
    for row in pencil.select("tbody tr"):
        guests, others, shown = (cell.get_text() for cell in row.select("td"))
        assert int(others) == int(guests) - 1
        overlaps = (keys[:, :1] * keys[:, 1 : int(guests)]).sum(-1)  # each note of the size 1
        signs = torch.randint(0, 2, overlaps.shape, generator=draw) * 2 - 1
        spread = (overlaps * signs).sum(-1).square().mean().sqrt()
        assert float(shown.split("≈")[1]) == pytest.approx(float(spread), rel=0.05)


def test_what_blind_guesses_get_and_how_far_coffees_are_written(page):
    tab, coffees = unseen_texts("tab", 0), unseen_texts("coffees", 0)
    owed = tab.answers[tab.words == OWES]
    blind = float(owed.bincount().max() / len(owed))
    told = f"{blind:.2f} of the tab is right for whoever always says that nothing is owed"
    assert told in said(page, "#all-porters")
    drawn = texts("coffees", 0, 5000, torch.Generator().manual_seed(1))
    right = 0
    for place, asked in enumerate((coffees.words == OWES).T):
        seen = Counter(drawn.answers[drawn.words[:, place] == OWES, place].tolist())
        right += int((coffees.answers[asked, place] == seen.most_common(1)[0][0]).sum())
    share = right / int((coffees.words == OWES).sum())
    assert guessed_by_place() == pytest.approx(share, abs=0.02)

    model = load("tab", "corrects, fades")
    _, beta = alpha_beta(model, tab)
    written = [float(head[tab.words == COFFEE].mean()) for head in beta.unbind(1)]
    told = "{:.2f} in one head and {:.2f} in the other, on average".format(*sorted(written))
    assert told in said(page, "#all-porters")
    gates = model.layers[0].mixer._gates
    for word, part, before, after in [
        (COFFEE, "#all-porters", "only", 1.0),
        (OWES, "#all-porters", "gets", 0.0),
    ]:

        def changed(x, word=word, after=after):
            log_decay, beta = gates(x)
            return log_decay, beta.masked_fill((tab.words == word)[:, None], after)

        model.layers[0].mixer._gates = changed
        right = (model(tab).argmax(-1) == tab.answers)[tab.words == OWES].float().mean()
        assert f"{before} {right:.2f}" in said(page, part)


def test_a_crowd_is_told_as_it_was_measured(page):
    rows = cells(page, "crowd-open")
    own, others = math.exp(8), 31 * math.exp(2)
    text = said(page, "#sec-hold")
    assert f"{own:,.0f}/{own + others:,.0f} ≈ {own / (own + others):.2f}" in text
    shares = []
    for kind, what in [("corrects", "right"), ("softmax", "right"), ("corrects", "longer")]:
        shares.append([mean_of("crowd", kind, i, what) for i in (0, 2, 3)])
    shown = [[float(share) for share in row[1:]] for row in rows]
    table, softmax, longer = shares
    assert shown == [pytest.approx(row, abs=0.0051) for row in (table, softmax)]
    for row in (table, longer):
        assert row == sorted(row, reverse=True), "each guest more makes it harder"
    assert min(softmax) > 0.99


def test_one_layer_of_each_does_both_jobs(page):
    for stack, (_, *shown) in zip(
        ("two softmax", "softmax, table"), cells(page, "stacks-open"), strict=True
    ):
        shares = [mean_of("both", stack, i) for i in (0, 1)]
        assert [float(cell) for cell in shown] == pytest.approx(shares, abs=0.0051)
    book, tab = ({k: at("both", k, i) for k in JOBS["both"]} for i in (0, 1))
    hybrid = "softmax, table"
    assert mean(book[hybrid]) > mean(book["two softmax"]) - 0.02  # "as many rooms"
    told = "They find {:.2f} of the rooms. And they keep the tab better than one did"
    text = said(page, "#sec-hybrid")
    assert told.format(mean(book["two softmax"])) in text
    assert f"slowly: {mean(tab['two softmax']):.2f} of it is right" in text
    assert mean_of("tab", "softmax") < mean(tab["two softmax"])
    assert mean(tab["two softmax"]) < mean(tab["two softmax with MLPs"]) < mean(tab[hybrid])
    assert mean(tab["two softmax"]) < mean_of("both", "two softmax", what="longer")  # "slowly"
    unlearned = [share for share in book["two tables"] if share < 0.13]
    assert len(unlearned) == 2  # "haven't begun to learn the book"
    assert min(book["table, softmax"]) < 0.2  # "some trainings found hardly any room"
    box = cells(page, "stacks-longer")
    for row, stack in zip(box, ("two softmax", "two tables", hybrid), strict=True):
        for i in (0, 1):
            assert_spans(row[1 + i], at("both", stack, i, "longer"))
    kept = SCORES["both"]
    assert kept[hybrid]["kept"] / kept["two softmax"]["kept"] == pytest.approx(0.5, abs=0.05)


def test_notes_come_past_three_tables(page):
    text = said(page, "#sec-hybrid")
    past, alone = mean_of("moves", "three tables, softmax"), mean_of("moves", "softmax")
    assert f"they get {past:.2f} right, where softmax alone gets {alone:.2f}" in text
    assert past > alone - 0.05


def test_a_choice_is_told_as_it_was_measured(page):
    window, chosen, every = (at("moves", kind) for kind in ("window", "chosen", "softmax"))
    assert max(window) < 0.25 < 0.9 < min(chosen)
    text = said(page, "#sec-chosen")
    for (_, shown), shares in zip(cells(page, "chosen"), (every, window, chosen), strict=True):
        assert_spans(shown, shares)
    assert f"soon sees only questions, and gets {mean(window):.2f} right" in text
    told = (
        f"gets {mean(chosen):.2f}, as well as one that looks at everything, with {mean(every):.2f}"
    )
    assert told in text
    assert DRINKERS == 8  # "Eight guests have coffees"
