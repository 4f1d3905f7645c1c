"""m14: its sentences against numbers computed here."""

import json
import math
from collections import Counter, defaultdict
from itertools import pairwise
from statistics import mean

import pytest
import torch

from attention import KVCache
from models.beyond.task import COFFEE, DRINKERS, OWES, PAY, ROOM, Text, texts
from models.beyond.train import (
    JOBS,
    alpha_beta,
    blind_to_payments,
    guessed_by_place,
    load,
    looked_at,
    named_rooms,
    unseen_texts,
    weights_by_payments,
)
from tests.conftest import ROOT
from tests.lessons.reading import cells, numbers, output, said
from variants import GatedDeltaNet

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
    assert f"in every layer keeps {softmax / 1e6:.1f} MB." in said(page, "#sec-keeps")
    assert 1.6 < stack / softmax < 2  # "Nearly twice as much"


def test_a_table_that_is_not_handed_on_gets_one_new_token_right(page):
    torch.manual_seed(0)
    layer, x = GatedDeltaNet(16, 2, conv_size=1), torch.randn(1, 12, 16)
    _, table = layer(x[:, :8], return_state=True)
    right = 8
    for i in range(8, 12):
        right += torch.allclose(layer(x[:, i : i + 1], state=table), layer(x)[:, i : i + 1])
    assert right == 9  # "The first new token is still right"
    assert f"{right} of 12 are right" in output(page, "bug-check")


def test_each_job_needs_its_own_way_to_write(page):
    kinds = {
        "moves": ("adds", "corrects", "softmax"),
        "tab": ("adds", "adds, fades", "corrects", "corrects, fades", "softmax"),
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
    kinds = ("softmax", "softmax, undivided", "adds, plain")
    shown = [float(row[1]) for row in cells(page, "coffees-open")]
    unseen = unseen_texts("coffees", 0)
    counts = unseen.answers[unseen.words == OWES].bincount()
    shares = [float(counts.max() / counts.sum()), *(mean_of("coffees", kind) for kind in kinds)]
    assert shown == pytest.approx(shares, abs=0.0051)
    assert shares[1] < guessed_by_place()  # "hardly finds the trick"
    told = f"how many tokens have gone by gets {guessed_by_place():.2f}."
    assert told in said(page, "#all-porters")
    assert max(at("coffees", "softmax")) + 0.3 < min(at("coffees", "softmax, undivided"))
    assert min(at("moves", "softmax")) > max(at("moves", "corrects"))  # "best with the book"
    longer = mean_of("moves", "corrects", what="longer")
    usual = mean_of("moves", "corrects")
    assert 1.7 < usual / mean_of("moves", "adds") < 2.1  # "nearly twice as often"
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
    assert DRINKERS == 8  # "Eight guests have coffees"
    usual, held = (at("tab", "corrects, fades", what=what) for what in ("right", "held open"))
    assert 0.45 < mean(held) / mean(usual) < 0.55  # "only half as many"
    assert max(held) + 0.3 < min(usual)
    text = unseen_texts("tab", 0)
    alpha, _ = alpha_beta(load("tab", "corrects, fades"), text)
    assert (alpha.transpose(1, 2)[text.words == PAY] < 0.01).all()  # "The other head is wiped …"


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
    text = said(page, "#sec-hold")
    shown = {3: "With 3 others that is 0.43", 31: "and with 31 others 1.4."}
    for others, told in shown.items():
        overlaps = (keys[:, :1] * keys[:, 1 : 1 + others]).sum(-1)  # each note of the size 1
        signs = torch.randint(0, 2, overlaps.shape, generator=draw) * 2 - 1
        spread = float((overlaps * signs).sum(-1).square().mean().sqrt())
        assert told in text
        assert numbers(told)[-1] == pytest.approx(spread, rel=0.05)
    for table, own in zip(figure_tables(page, "figure-blur"), (0, 8), strict=True):
        for others, asked, rest in ([float(cell) for cell in row] for row in table):
            right, wrong = (
                (1, math.sqrt(others) / 4) if own == 0 else (math.exp(8), others * math.exp(2))
            )
            total = right + wrong if own else 1
            assert [asked, rest] == pytest.approx([right / total, wrong / total], abs=0.006)


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
    assert f"is {written[1]:.2f}, on average, in the head that counts." in said(page, "#sec-tab")
    assert written[1] == pytest.approx(0.1, abs=0.03)  # "this is what training finds"
    assert f"Its first head has {written[0]:.2f} there" in said(page, "#all-porters")
    gates = model.layers[0].mixer._gates
    heads = torch.arange(2)[None, :, None]
    for word, of, told, after in [
        (COFFEE, [1], "each coffee, only {:.2f} of its answers", 1.0),
        (COFFEE, [0], "with 1 in its place {:.2f} stay right", 1.0),
        (OWES, [0, 1], "the first layer gets {:.2f}", 0.0),
    ]:

        def changed(x, word=word, of=of, after=after):
            log_decay, beta = gates(x)
            held = (tab.words == word)[:, None] & torch.isin(heads, torch.tensor(of))
            return log_decay, beta.masked_fill(held, after)

        model.layers[0].mixer._gates = changed
        right = (model(tab).argmax(-1) == tab.answers)[tab.words == OWES].float().mean()
        assert told.format(right) in said(page, "#all-porters")


def test_a_crowd_is_told_as_it_was_measured(page):
    own, others = math.exp(8), 31 * math.exp(2)
    text = said(page, "#sec-hold")
    assert f"{own:,.0f}/{own + others:,.0f} ≈ {own / (own + others):.2f}" in text
    shares = []
    for kind, what in [("corrects", "right"), ("softmax", "right"), ("corrects", "longer")]:
        shares.append([mean_of("crowd", kind, i, what) for i in (0, 2, 3)])
    table, softmax, longer = shares
    told = f"gets {table[0]:.2f} of the rooms right, and with 48 guests {table[2]:.2f}."
    assert told in text
    for row in (table, longer):
        assert row == sorted(row, reverse=True), "each guest more makes it harder"
    assert min(softmax) > 0.99  # "nearly all of them"


def test_one_layer_of_each_does_both_jobs(page):
    for stack, (_, *shown) in zip(
        ("two softmax", "softmax, table"), cells(page, "stacks-open"), strict=True
    ):
        shares = [mean_of("both", stack, i) for i in (0, 1)]
        assert [float(cell) for cell in shown] == pytest.approx(shares, abs=0.0051)
    book, tab = ({k: at("both", k, i) for k in JOBS["both"]} for i in (0, 1))
    hybrid = "softmax, table"
    assert mean(book[hybrid]) > mean(book["two softmax"]) - 0.02  # "as many rooms"
    assert mean_of("tab", "softmax") + 0.2 < mean(tab["two softmax"])  # "most of the tab"
    assert mean(book["two softmax"]) > 0.95
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
    box = said(page, "#all-porters")
    past, alone = mean_of("moves", "three tables, softmax"), mean_of("moves", "softmax")
    assert f"they get {past:.2f} right, and softmax alone gets {alone:.2f}" in box
    assert past > alone - 0.02  # "as well as softmax alone"


def test_two_layers_of_softmax_tell_paid_coffees_by_the_payments(page):
    """Weights of the upper layer's first head, question by question, from queries and keys."""
    text = unseen_texts("both", 32)
    model = load("both", "two softmax")
    lower, upper = model.layers
    with torch.no_grad():
        x = model.embed(text)
        x = upper.norm(x + lower(x))
        width = x.shape[-1]
        query, key = (
            (x @ upper.mixer.qkv_proj.weight[at : at + width // 2].T)
            + upper.mixer.qkv_proj.bias[at : at + width // 2]
            for at in (0, width)
        )
    given = {"since": [], "older": [], "itself": []}
    by_count = defaultdict(list)  # of coffees since the last payment: what they get together
    for one in range(100):
        words, guests = text.words[one].tolist(), text.guests[one].tolist()
        for i, word in enumerate(words):
            if word != OWES:
                continue
            distance = torch.arange(i, -1, -1)
            scores = key[one, : i + 1] @ query[one, i] / math.sqrt(width // 2) - 0.05 * distance
            weights = scores.softmax(0).tolist()
            given["itself"].append(weights[i])
            last = max((j for j in range(i) if words[j] == PAY), default=-1)
            own = [j for j in range(i) if words[j] == COFFEE and guests[j] == guests[i]]
            for j in own:
                given["since" if j > last else "older"].append(weights[j])
            unpaid = [weights[j] for j in own if j > last]
            by_count[len(unpaid)].append(sum(unpaid))
    found = weights_by_payments()
    assert [mean(part) for part in given.values()] == pytest.approx(found, abs=0.01)
    together = [mean(by_count[count]) for count in range(5)]
    assert all(b > a + 0.05 for a, b in pairwise(together))  # "grow with the count"
    [rows] = figure_tables(page, "figure-marks")
    shown = [float(weight) for _, weight in rows]
    assert shown == pytest.approx([found[1], found[0], found[2]], abs=0.005)
    assert shown[0] < 0.1 * shown[1] < shown[2]  # "nearly no weight", "more weight than a coffee"


def test_without_the_payments_the_marks_are_lost(page):
    text = unseen_texts("both", 32)
    model = load("both", "two softmax")
    shown, _ = looked_at(model, text)
    with torch.no_grad():
        torch.testing.assert_close(shown, model(text), atol=1e-3, rtol=1e-3)
    blind, usual = blind_to_payments(), at("both", "two softmax", 1)[0]
    assert f"gets {blind:.2f} of the tab in place of {usual:.2f}" in said(page, "#all-porters")
    assert blind + 0.2 < usual
    hidden = (text.words == COFFEE)[:, :, None] & (text.words == PAY)[:, None]
    answers = looked_at(model, text, hidden)[0].argmax(-1)
    rooms = (answers == text.answers)[text.words == ROOM].float().mean().item()
    assert rooms == pytest.approx(at("both", "two softmax", 0)[0], abs=0.005)  # "as many rooms"


def test_a_table_without_a_gate_drowns_old_counts(page):
    """What a question reads right after *all pay*, in the first training."""
    text, model = unseen_texts("tab", 0), load("tab", "corrects")
    layer = model.layers[0]
    _, beta = alpha_beta(model, text)
    pays = text.words == PAY
    written = float(beta.transpose(1, 2)[pays].mean())
    box = said(page, "#all-porters")
    assert f"is {written:.2f} at all pay" in box
    gates = layer.mixer._gates

    def shut(x):
        log_decay, beta = gates(x)
        return log_decay, beta.masked_fill(pays[:, None], 0.0)

    layer.mixer._gates = shut
    right = (model(text).argmax(-1) == text.answers)[text.words == OWES].float().mean()
    assert f" = 0, {right:.2f} of its answers are right" in box
    layer.mixer._gates = gates

    reads = {}  # by how many coffees Ann has had
    asked = torch.tensor([OWES])
    for count in (0, 5):
        for paid in (False, True):
            words = [COFFEE] * (20 + count) + [PAY] * paid
            guests = [1 + i % 7 for i in range(20)] + [0] * (count + paid)
            words, guests = (torch.tensor([one]) for one in (words, guests))
            one = Text(
                torch.cat([guests, torch.zeros(1, 1).long()], 1),
                torch.cat([words, asked[None]], 1),
                words,
            )
            with torch.no_grad():
                reads[count, paid] = layer(model.embed(one))[0, -1]
    change = {paid: float((reads[5, paid] - reads[0, paid]).norm()) for paid in (False, True)}
    assert change[True] < 0.3 * change[False]  # "nearly the same, however many coffees"
