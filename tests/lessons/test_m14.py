"""m14: its claims against numbers computed here."""

import math
from collections import Counter
from itertools import pairwise
from statistics import mean

import pytest
import torch

from attention import KVCache
from models.beyond.task import COFFEE, OWES, PAY, ROOM, Text, texts
from models.beyond.train import (
    JOBS,
    alpha_beta,
    guessed_by_place,
    load,
    looked_at,
    named_rooms,
    unseen_texts,
    weights_by_payments,
)
from tests.lessons.page_text import in_order, output, shows
from tests.numbers import numbers
from tests.scores import scores_of
from variants import GatedDeltaNet

PAGE = "modules/m14_hybrids/lesson.html"
SCORES = scores_of("beyond")


def at(task, kind, column=-1, what="right"):
    return [seed[column] for seed in SCORES[task][kind][what]]


def mean_of(*of, **more):
    return mean(at(*of, **more))


def test_what_llama_s_stacks_keep(page):
    """Keys and values counted from the cache's own tensors; tables in 32 bits."""
    cache = KVCache(1, 8, 1, 128, dtype=torch.bfloat16)
    token = cache.keys.nbytes + cache.values.nbytes
    table = 8 * 128 * 128 * 4
    grows, tables, softmax = 8 * 64 * token, 24 * table, 32 * 64 * token
    shown = (f"{size / 1e6:.1f}" for size in (grows + tables, tables, grows, softmax))
    assert shows(page, "#sec-keeps", "64", *shown)
    assert 1.6 < (grows + tables) / softmax < 2, "nearly twice as much"
    some, all_ = 8 * token * 2**20 + tables, 32 * token * 2**20
    assert some / all_ == pytest.approx(1 / 4, abs=0.001)
    as_many = str(table // token)
    assert shows(page, "#sec-keeps", as_many, as_many, f"{some / 1e9:.0f}", f"{all_ / 1e9:.0f}")


def test_a_mean_of_three_coffees_with_a_pencil(page):
    def mean_said(had, others):
        values = torch.tensor([1.0] * had + [0.0] * others)
        return float(torch.zeros(had + others).softmax(0) @ values)

    for had, row in zip((3, 1), page.select("#sec-mean table")[0].select("tbody tr"), strict=True):
        *_, softmax, table = (cell.get_text() for cell in row.select("td"))
        assert float(softmax) == mean_said(had, 0)
        assert table.split()[-1] == str(had)
    ann, ben = (f"{mean_said(had, 5):.3f}" for had in (3, 1))
    assert shows(page, "#sec-mean", "3", ann, "1", ben)
    assert mean_said(3, 3) == mean_said(4, 4) == 0.5, "½ for both"


def test_a_table_that_writes_a_tenth_of_what_is_missing_counts(page):
    counts = [f"{1 - 0.9**coffees:.2g}" for coffees in range(1, 5)]
    assert shows(page, "#sec-tab", counts[0], "0.9", *counts[1:])


@pytest.mark.parametrize(("others", "shown"), [(3, "0.43"), (31, "1.4")])
def test_other_guests_drown_a_note_as_the_pencil_says(page, others, shown):
    """Keys that point anywhere, drawn: what the others leave in the answer for one."""
    draw = torch.Generator().manual_seed(0)
    keys = torch.randn(4000, 1 + others, 16, generator=draw)
    keys /= keys.norm(dim=-1, keepdim=True)
    overlaps = (keys[:, :1] * keys[:, 1:]).sum(-1)  # each note of the size 1
    signs = torch.randint(0, 2, overlaps.shape, generator=draw) * 2 - 1
    spread = float((overlaps * signs).sum(-1).square().mean().sqrt())
    assert float(shown) == pytest.approx(spread, rel=0.05)
    assert shows(page, "#sec-hold", str(others), shown)


def test_a_crowd_is_told_as_it_was_measured(page):
    own, others = math.exp(8), 31 * math.exp(2)
    weight = f"{own / (own + others):.2f}"
    assert shows(page, "#sec-hold", f"{own:,.0f}", f"{own + others:,.0f}", weight)
    for what in ("right", "longer"):
        row = [mean_of("crowd", "corrects", i, what) for i in (0, 2, 3)]
        assert row == sorted(row, reverse=True), "each guest more makes it harder"
    assert min(mean_of("crowd", "softmax", i) for i in (0, 2, 3)) > 0.99, "nearly all of them"


@pytest.mark.parametrize(("guests", "place"), [(4, 0), (17, 1), (48, 2)])
def test_a_table_with_keys_drawn_by_lot_still_names_most_rooms(page, guests, place):
    """Counted anew, with other draws, guest by guest."""
    draw, right, books = torch.Generator().manual_seed(1), 0, 1000
    for _ in range(books):
        keys = torch.randn(guests, 16, generator=draw)
        keys = keys / keys.norm(dim=-1, keepdim=True)
        rooms = torch.randint(16, (guests,), generator=draw)
        table = keys.T @ torch.eye(16)[rooms]
        right += int((keys[-1] @ table).argmax() == rooms[-1])
    [told] = [p.get_text() for p in page.select("#sec-hold p") if "17" in p.get_text()]
    assert numbers(told)[-6:][2 * place] == pytest.approx(right / books, abs=0.04)
    assert numbers(told)[-6:][2 * place + 1] == guests


def test_a_table_that_is_not_handed_on_gets_one_new_token_right(page):
    torch.manual_seed(0)
    layer, x = GatedDeltaNet(16, 2, conv_size=1), torch.randn(1, 12, 16)
    _, table = layer(x[:, :8], return_state=True)
    right = 8
    for i in range(8, 12):
        right += torch.allclose(layer(x[:, i : i + 1], state=table), layer(x)[:, i : i + 1])
    assert right == 9
    assert in_order(output(page, "bug-check"), str(right), "12")


def test_each_job_needs_its_own_way_to_write():
    assert mean_of("tab", "softmax") < mean_of("tab", "adds") + 0.1, "hardly better"
    assert mean_of("moves", "adds, fades") + 0.15 < mean_of("moves", "corrects, fades")
    assert max(at("tab", "adds")) + 0.2 < min(at("tab", "adds, fades"))
    assert max(at("tab", "corrects")) < min(at("tab", "corrects, fades"))
    assert max(at("tab", "softmax")) < min(at("tab", "corrects"))
    assert mean_of("coffees", "softmax") < mean_of("coffees", "adds") - 0.1
    assert mean_of("coffees", "adds, plain") > 0.99
    assert max(at("coffees", "softmax")) + 0.3 < min(at("coffees", "softmax, undivided"))
    assert min(at("moves", "softmax")) > max(at("moves", "corrects")), "best with the book"
    usual = mean_of("moves", "corrects")
    assert 1.7 < usual / mean_of("moves", "adds") < 2.1, "nearly twice as often"
    assert min(at("moves", "corrects", what="longer")) > usual
    usual, ajar = (at("tab", "corrects, fades", what=what) for what in ("right", "held open"))
    assert 0.45 < mean(ajar) / mean(usual) < 0.55, "only half as many"


def test_one_layer_of_each_does_both_jobs():
    book, tab = ({k: at("both", k, i) for k in JOBS["both"]} for i in (0, 1))
    hybrid = "softmax, table"
    assert mean(book[hybrid]) > mean(book["two softmax"]) - 0.02, "as many rooms"
    assert mean(book["two softmax"]) > 0.95
    assert mean_of("tab", "softmax") + 0.2 < mean(tab["two softmax"]), "most of the tab"
    assert mean(tab["two softmax"]) < mean(tab["two softmax with MLPs"]) < mean(tab[hybrid])
    assert mean(tab["two softmax"]) < mean_of("both", "two softmax", what="longer"), "slowly"
    assert sum(share < 0.13 for share in book["two tables"]) == 2, "haven't begun"
    assert min(book["table, softmax"]) < 0.2, "hardly learned the book"
    scores = SCORES["both"]
    assert scores[hybrid]["kept"] / scores["two softmax"]["kept"] == pytest.approx(0.5, abs=0.05)
    past = mean_of("moves", "three tables, softmax")
    assert past > mean_of("moves", "softmax") - 0.02, "as well as softmax alone"


def test_the_sum_of_two_rooms_says_both_and_not_which_is_newer():
    new, old = named_rooms("adds")
    assert new == pytest.approx(old, abs=0.06)
    assert min(new, old) > 4 / 16, "both are made out"
    assert round(mean_of("moves", "adds"), 1) == 0.4, "the prediction's answer"
    assert named_rooms("corrects")[1] < 0.2


@pytest.fixture
def tab():
    return unseen_texts("tab", 0)


@torch.no_grad()
def right_with_beta(kind, text, word, beta, heads=(0, 1)):
    """Share of the tab if, in the first training, these heads write by this beta at a word."""
    model = load("tab", kind)
    gates = model.layers[0].mixer._gates

    def changed(x):
        log_decay, usual = gates(x)
        is_of = torch.isin(torch.arange(2), torch.tensor(heads))[:, None]
        return log_decay, usual.masked_fill((text.words == word)[:, None] & is_of, beta)

    model.layers[0].mixer._gates = changed
    right = model(text).argmax(-1) == text.answers
    return f"{right[text.words == OWES].float().mean():.2f}"


def test_a_trained_layer_forgets_where_all_pay_and_writes_a_tenth_of_a_coffee(page, tab):
    cell = page.select_one("#cell-figure-gates").find_next_sibling()
    rows = [[td.get_text() for td in row.select("td")] for row in cell.select("tbody tr")]
    assert "all pay" in [name for name, _ in rows]
    for name, alpha in rows:
        assert float(alpha) < 0.1 if name == "all pay" else float(alpha) > 0.9
    alpha, beta = alpha_beta(load("tab", "corrects, fades"), tab)
    assert (alpha.transpose(1, 2)[tab.words == PAY] < 0.01).all(), "the other head is wiped, too"
    idle, counts = (float(head[tab.words == COFFEE].mean()) for head in beta.unbind(1))
    assert counts == pytest.approx(0.1, abs=0.03)
    assert shows(page, "#sec-tab", f"{counts:.2f}")
    by_one, by_other = (
        right_with_beta("corrects, fades", tab, COFFEE, 1.0, [head]) for head in (1, 0)
    )
    assert shows(page, "#all-porters", "1", by_one, f"{idle:.2f}", "1", by_other)
    usual = f"{at('tab', 'corrects, fades')[0]:.2f}"
    silent = right_with_beta("corrects, fades", tab, OWES, 0.0)
    assert shows(page, "#all-porters", "0", silent, usual)
    assert float(by_other) > float(usual) - 0.05, "it hardly matters"
    assert max(float(by_one), float(silent)) < float(usual) - 0.2


def test_softmax_hardly_finds_the_trick_for_a_count():
    """Whoever knows only how many tokens have gone by, counted here in other texts."""
    coffees, right = unseen_texts("coffees", 0), 0
    drawn = texts("coffees", 0, 5000, torch.Generator().manual_seed(1))
    for position, asked in enumerate((coffees.words == OWES).T):
        seen = Counter(drawn.answers[drawn.words[:, position] == OWES, position].tolist())
        right += int((coffees.answers[asked, position] == seen.most_common(1)[0][0]).sum())
    by_place = right / int((coffees.words == OWES).sum())
    assert guessed_by_place() == pytest.approx(by_place, abs=0.02)
    assert mean_of("coffees", "softmax") < by_place


@torch.no_grad()
def test_two_layers_of_softmax_tell_paid_coffees_by_the_payments(page):
    text, model = unseen_texts("both", 32), load("both", "two softmax")
    logits, weights = looked_at(model, text)
    torch.testing.assert_close(logits, model(text), atol=1e-3, rtol=1e-3)
    since, older, itself, by_count = [], [], [], {count: [] for count in range(5)}
    words, guests = text.words[:100].tolist(), text.guests[:100].tolist()
    for row, word, guest in zip(weights[:100, 0], words, guests, strict=True):
        for at_question in (i for i, one in enumerate(word) if one == OWES):
            last_pay = max((i for i in range(at_question) if word[i] == PAY), default=-1)
            own = [i for i in range(at_question)
                   if word[i] == COFFEE and guest[i] == guest[at_question]]  # fmt: skip
            given = row[at_question].tolist()
            unpaid = [given[i] for i in own if i > last_pay]
            since += unpaid
            older += [given[i] for i in own if i < last_pay]
            itself.append(given[at_question])
            if len(unpaid) in by_count:
                by_count[len(unpaid)].append(sum(unpaid))
    want = weights_by_payments()
    assert [mean(since), mean(older), mean(itself)] == pytest.approx(want, abs=0.01)
    assert 10 * mean(older) < mean(since) < mean(itself), "nearly no weight; more than a coffee"
    together = [mean(sums) for sums in by_count.values()]
    assert all(b > a + 0.05 for a, b in pairwise(together)), "they grow with the count"

    hidden = (text.words == COFFEE)[:, :, None] & (text.words == PAY)[:, None]
    is_right = looked_at(model, text, hidden)[0].argmax(-1) == text.answers
    rooms, tab = (is_right[text.words == word].float().mean().item() for word in (ROOM, OWES))
    usual_rooms, usual_tab = (at("both", "two softmax", i)[0] for i in (0, 1))
    assert shows(page, "#all-porters", f"{tab:.2f}", f"{usual_tab:.2f}")
    assert tab + 0.2 < usual_tab, "without the payments the marks are lost"
    assert rooms == pytest.approx(usual_rooms, abs=0.005), "as many rooms"


@torch.no_grad()
def test_a_table_without_a_gate_drowns_old_counts(page, tab):
    """What a question reads right after *all pay*, in the first training."""
    model = load("tab", "corrects")
    written = float(alpha_beta(model, tab)[1].transpose(1, 2)[tab.words == PAY].mean())
    shown = f"{mean_of('tab', 'corrects'):.2f}", f"{written:.2f}"
    assert shows(page, "#all-porters", *shown, right_with_beta("corrects", tab, PAY, 0.0))
    reads = {}  # by how many coffees Ann has had
    for count in (0, 5):
        for paid in (False, True):
            guests = [1 + i % 7 for i in range(20)] + [0] * (count + paid + 1)
            words = [COFFEE] * (20 + count) + [PAY] * paid + [OWES]
            guests, words = torch.tensor([guests]), torch.tensor([words])
            reads[count, paid] = model.layers[0](model.embed(Text(guests, words, words)))[0, -1]
    change = {paid: (reads[5, paid] - reads[0, paid]).norm() for paid in (False, True)}
    assert change[True] < 0.3 * change[False], "nearly the same, however many coffees"
