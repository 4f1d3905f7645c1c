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
from tests.lessons.page_text import cells, in_order, output, shows
from tests.numbers import numbers
from tests.scores import scores_of
from variants import GatedDeltaNet

PAGE = "modules/m14_hybrids/lesson.html"
SCORES = scores_of("beyond")


def at(task, kind, column=-1, what="right"):
    return [seed[column] for seed in SCORES[task][kind][what]]


def mean_of(*of, **more):
    return mean(at(*of, **more))


def assert_spans(shown, of_columns):
    """Cells with the least and the most of the seeds."""
    for cell, shares in zip(shown, of_columns, strict=True):
        assert numbers(cell) == pytest.approx([min(shares), max(shares)], abs=0.0051)


def figure_tables(page, cell):
    tables = page.select_one(f"#cell-{cell}").find_next_sibling().select("table")
    return [[[td.get_text() for td in row.select("td")] for row in table.select("tbody tr")]
            for table in tables]  # fmt: skip


def test_what_was_measured_is_shown(page):
    kinds = ("softmax", "corrects, fades", "corrects", "adds, fades", "adds")
    for kind, (_, size, *shown) in zip(kinds, cells(page, "porter-scores"), strict=True):
        assert int(size.replace(",", "")) == SCORES["moves"][kind]["kept"]
        book = [at("moves", kind, i) for i in range(len(shown) - 2)]
        assert_spans(shown, [*book, at("coffees", kind), at("tab", kind)])
    stacks = (*("two softmax", "two softmax with MLPs", "two tables"), *JOBS["both"][-2:])
    for stack, (_, parameters, size, *shown) in zip(stacks, cells(page, "stacks"), strict=True):
        sizes = [SCORES["both"][stack][what] for what in ("parameters", "kept")]
        assert [int(cell.replace(",", "")) for cell in (parameters, size)] == sizes
        assert_spans(shown, [at("both", stack, i) for i in (0, 1)])
    longer = ("two softmax", "two tables", "softmax, table")
    for stack, (_, *shown) in zip(longer, cells(page, "stacks-longer"), strict=True):
        assert_spans(shown[:2], [at("both", stack, i, "longer") for i in (0, 1)])
    jobs = {
        "moves": ("adds", "corrects", "softmax"),
        "tab": ("adds", "adds, fades", "corrects", "corrects, fades", "softmax"),
    }
    for job, table in zip(jobs, figure_tables(page, "figure-porters"), strict=True):
        want = [mean_of(job, kind) for kind in jobs[job]]
        assert [float(share) for _, share in table] == pytest.approx(want, abs=0.0051)
    for stack, (_, *shown) in zip(
        ("two softmax", "softmax, table"), cells(page, "stacks-open"), strict=True
    ):
        want = [mean_of("both", stack, i) for i in (0, 1)]
        assert [float(cell) for cell in shown] == pytest.approx(want, abs=0.0051)


def test_what_llama_s_stacks_keep(page):
    """Keys and values counted from the cache's own tensors; tables in 32 bits."""
    cache = KVCache(1, 8, 1, 128, dtype=torch.bfloat16)
    token = cache.keys.nbytes + cache.values.nbytes
    table = 8 * 128 * 128 * 4
    grows, tables, softmax = 8 * 64 * token, 24 * table, 32 * 64 * token
    shown = (f"{size / 1e6:.1f}" for size in (grows + tables, tables, grows, softmax))
    assert shows(page, "#sec-keeps", "64", *shown)
    assert 1.6 < (grows + tables) / softmax < 2  # "Nearly twice as much"
    some, all_ = 8 * token * 2**20 + tables, 32 * token * 2**20
    assert some / all_ == pytest.approx(1 / 4, abs=0.001)
    as_many = str(table // token)
    assert shows(page, "#sec-keeps", as_many, as_many, f"{some / 1e9:.0f}", f"{all_ / 1e9:.0f}")


def test_a_table_that_is_not_handed_on_gets_one_new_token_right(page):
    torch.manual_seed(0)
    layer, x = GatedDeltaNet(16, 2, conv_size=1), torch.randn(1, 12, 16)
    _, table = layer(x[:, :8], return_state=True)
    right = 8
    for i in range(8, 12):
        right += torch.allclose(layer(x[:, i : i + 1], state=table), layer(x)[:, i : i + 1])
    assert right == 9  # "The first new token is still right"
    assert in_order(output(page, "bug-check"), str(right), "12")


def test_each_job_needs_its_own_way_to_write():
    assert mean_of("tab", "softmax") < mean_of("tab", "adds") + 0.1  # "hardly better"
    assert mean_of("moves", "adds, fades") + 0.15 < mean_of("moves", "corrects, fades")
    assert mean_of("moves", "adds") + 0.2 < mean_of("moves", "corrects")
    assert max(at("tab", "adds")) + 0.2 < min(at("tab", "adds, fades"))
    assert max(at("tab", "corrects")) < min(at("tab", "corrects, fades"))
    assert max(at("tab", "softmax")) < min(at("tab", "corrects"))  # "badly"
    assert mean_of("coffees", "softmax") < mean_of("coffees", "adds") - 0.1  # "where nobody pays"
    for job in ("coffees", "tab"):
        assert mean_of(job, "adds") < mean_of(job, "corrects")
    assert mean_of("coffees", "adds, plain") > 0.99
    assert max(at("coffees", "softmax")) + 0.3 < min(at("coffees", "softmax, undivided"))
    assert min(at("moves", "softmax")) > max(at("moves", "corrects"))  # "best with the book"
    usual = mean_of("moves", "corrects")
    assert 1.7 < usual / mean_of("moves", "adds") < 2.1  # "nearly twice as often"
    assert min(at("moves", "corrects", what="longer")) > usual


def test_the_sum_of_two_rooms_is_told_as_it_was_measured():
    new, old = named_rooms("adds")
    assert new == pytest.approx(old, abs=0.06)  # "can't tell which of them is the newer one"
    assert min(new, old) > 4 / 16  # both are made out
    assert round(mean_of("moves", "adds"), 1) == 0.4  # the prediction's answer
    assert named_rooms("corrects")[1] < 0.2


def test_a_trained_layer_forgets_where_all_pay(page):
    [rows] = figure_tables(page, "figure-gates")
    assert "all pay" in [name for name, _ in rows]
    for name, alpha in rows:
        assert float(alpha) < 0.1 if name == "all pay" else float(alpha) > 0.9
    usual, ajar = (at("tab", "corrects, fades", what=what) for what in ("right", "held open"))
    assert 0.45 < mean(ajar) / mean(usual) < 0.55  # "only half as many"
    assert max(ajar) + 0.3 < min(usual)
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
    ann, ben = (f"{mean_said(had, 5):.3f}" for had in (3, 1))
    assert shows(page, "#sec-mean", "3", ann, "1", ben)
    assert mean_said(3, 3) == mean_said(4, 4) == 0.5  # "½ for both"


def test_a_table_that_writes_a_tenth_of_what_is_missing_counts(page):
    counts = [f"{1 - 0.9**coffees:.2g}" for coffees in range(1, 5)]
    assert shows(page, "#sec-tab", counts[0], "0.9", *counts[1:])


def test_other_guests_drown_a_note_as_the_pencil_says(page):
    """Keys that point anywhere, drawn: what the others leave in the answer for one."""
    draw = torch.Generator().manual_seed(0)
    keys = torch.randn(4000, 32, 16, generator=draw)
    keys /= keys.norm(dim=-1, keepdim=True)
    shown = {3: "0.43", 31: "1.4"}
    assert shows(page, "#sec-hold", *(part for n, text in shown.items() for part in (str(n), text)))
    for others, text in shown.items():
        overlaps = (keys[:, :1] * keys[:, 1 : 1 + others]).sum(-1)  # each note of the size 1
        signs = torch.randint(0, 2, overlaps.shape, generator=draw) * 2 - 1
        spread = float((overlaps * signs).sum(-1).square().mean().sqrt())
        assert float(text) == pytest.approx(spread, rel=0.05)
    table, softmax = (
        [[float(cell) for cell in row] for row in rows]
        for rows in figure_tables(page, "figure-blur")
    )
    for others, asked, rest in table:
        assert [asked, rest] == pytest.approx([1, math.sqrt(others) / 4], abs=0.006)
    for others, asked, rest in softmax:
        share = math.exp(8) / (math.exp(8) + others * math.exp(2))
        assert [asked, rest] == pytest.approx([share, 1 - share], abs=0.006)


def test_what_blind_guesses_get_and_how_far_coffees_are_written(page):
    tab, coffees = unseen_texts("tab", 0), unseen_texts("coffees", 0)
    owed = tab.answers[tab.words == OWES]
    blind = float(owed.bincount().max() / len(owed))
    assert shows(page, "#all-porters", "32", "16", f"{blind:.2f}")
    drawn = texts("coffees", 0, 5000, torch.Generator().manual_seed(1))
    right = 0
    for position, asked in enumerate((coffees.words == OWES).T):
        seen = Counter(drawn.answers[drawn.words[:, position] == OWES, position].tolist())
        right += int((coffees.answers[asked, position] == seen.most_common(1)[0][0]).sum())
    share = right / int((coffees.words == OWES).sum())
    by_place = guessed_by_place()
    assert by_place == pytest.approx(share, abs=0.02)
    kinds = ("softmax", "softmax, undivided", "adds, plain")
    asked = coffees.answers[coffees.words == OWES]
    shares = [float(asked.bincount().max() / len(asked))]
    shares += [mean_of("coffees", kind) for kind in kinds]
    shown = [float(row[1]) for row in cells(page, "coffees-open")]
    assert shown == pytest.approx(shares, abs=0.0051)
    assert shares[1] < by_place  # "hardly finds the trick"


def test_what_a_small_beta_and_a_writing_question_are_for(page):
    """With a gate's other number written in by hand, in the first training."""
    tab = unseen_texts("tab", 0)
    model = load("tab", "corrects, fades")
    _, beta = alpha_beta(model, tab)
    written = [float(head[tab.words == COFFEE].mean()) for head in beta.unbind(1)]
    assert written[1] == pytest.approx(0.1, abs=0.03)  # "this is what training finds"
    gates = model.layers[0].mixer._gates
    heads = torch.arange(2)[None, :, None]
    right = []
    for word, of, after in [(COFFEE, [1], 1.0), (COFFEE, [0], 1.0), (OWES, [0, 1], 0.0)]:

        def changed(x, word=word, of=of, after=after):
            log_decay, beta = gates(x)
            where = (tab.words == word)[:, None] & torch.isin(heads, torch.tensor(of))
            return log_decay, beta.masked_fill(where, after)

        model.layers[0].mixer._gates = changed
        share = (model(tab).argmax(-1) == tab.answers)[tab.words == OWES].float().mean()
        right.append(f"{share:.2f}")
    idle, counts = (f"{beta:.2f}" for beta in written)
    assert shows(page, "#sec-tab", counts)
    assert shows(page, "#all-porters", "1", right[0], idle, "1", right[1])
    assert shows(page, "#all-porters", "0", right[2], f"{at('tab', 'corrects, fades')[0]:.2f}")


def test_a_crowd_is_told_as_it_was_measured(page):
    own, others = math.exp(8), 31 * math.exp(2)
    weight = f"{own / (own + others):.2f}"
    assert shows(page, "#sec-hold", f"{own:,.0f}", f"{own + others:,.0f}", weight)
    for what in ("right", "longer"):
        row = [mean_of("crowd", "corrects", i, what) for i in (0, 2, 3)]
        assert row == sorted(row, reverse=True), "each guest more makes it harder"
    assert min(mean_of("crowd", "softmax", i) for i in (0, 2, 3)) > 0.99  # "nearly all of them"


def test_one_layer_of_each_does_both_jobs():
    book, tab = ({k: at("both", k, i) for k in JOBS["both"]} for i in (0, 1))
    hybrid = "softmax, table"
    assert mean(book[hybrid]) > mean(book["two softmax"]) - 0.02  # "as many rooms"
    assert mean_of("tab", "softmax") + 0.2 < mean(tab["two softmax"])  # "most of the tab"
    assert mean(book["two softmax"]) > 0.95
    assert mean(tab["two softmax"]) < mean(tab["two softmax with MLPs"]) < mean(tab[hybrid])
    assert mean(tab["two softmax"]) < mean_of("both", "two softmax", what="longer")  # "slowly"
    assert len([share for share in book["two tables"] if share < 0.13]) == 2  # "haven't begun"
    assert min(book["table, softmax"]) < 0.2  # "hardly learned the book"
    scores = SCORES["both"]
    assert scores[hybrid]["kept"] / scores["two softmax"]["kept"] == pytest.approx(0.5, abs=0.05)
    past = mean_of("moves", "three tables, softmax")
    assert past > mean_of("moves", "softmax") - 0.02  # "as well as softmax alone"


@torch.no_grad()
def test_two_layers_of_softmax_tell_paid_coffees_by_the_payments(page):
    """Weights of the upper layer's first head, from queries and keys."""
    text = Text(*(part[:100] for part in unseen_texts("both", 32)))
    model = load("both", "two softmax")
    lower, upper = model.layers
    x = model.embed(text)
    query, key, _ = (part[:, 0] for part in upper.mixer.project(upper.norm(x + lower(x))))
    position = torch.arange(x.shape[1])
    back = position[:, None] - position
    scores = query @ key.mT / math.sqrt(query.shape[-1]) - 0.05 * back
    weights = scores.masked_fill(back < 0, -math.inf).softmax(-1)

    asked, payments = text.words == OWES, (text.words == PAY).cumsum(1)
    own = asked[:, :, None] & (text.words == COFFEE)[:, None] & (back > 0)
    own &= text.guests[:, :, None] == text.guests[:, None]
    unpaid = own & (payments[:, :, None] == payments[:, None])
    itself = weights.diagonal(dim1=1, dim2=2)[asked]
    given = [float(part.mean()) for part in (weights[unpaid], weights[own & ~unpaid], itself)]
    since, older, itself = weights_by_payments()
    assert given == pytest.approx([since, older, itself], abs=0.01)
    [rows] = figure_tables(page, "figure-marks")
    assert [float(row[1]) for row in rows] == pytest.approx([older, since, itself], abs=0.005)
    assert older < 0.1 * since  # "nearly no weight"
    assert since < itself  # "more weight than a coffee"
    counts, together = unpaid.sum(-1)[asked], (weights * unpaid).sum(-1)[asked]
    together = [together[counts == count].mean() for count in range(5)]
    assert all(b > a + 0.05 for a, b in pairwise(together))  # "grow with the count"


@torch.no_grad()
def test_without_the_payments_the_marks_are_lost(page):
    text, model = unseen_texts("both", 32), load("both", "two softmax")
    some = Text(*(part[:50] for part in text))
    torch.testing.assert_close(looked_at(model, some)[0], model(some), atol=1e-3, rtol=1e-3)
    hidden = (text.words == COFFEE)[:, :, None] & (text.words == PAY)[:, None]
    is_right = looked_at(model, text, hidden)[0].argmax(-1) == text.answers
    rooms, tab = (is_right[text.words == word].float().mean().item() for word in (ROOM, OWES))
    usual_rooms, usual_tab = (at("both", "two softmax", i)[0] for i in (0, 1))
    assert shows(page, "#all-porters", f"{tab:.2f}", f"{usual_tab:.2f}")
    assert tab + 0.2 < usual_tab
    assert rooms == pytest.approx(usual_rooms, abs=0.005)  # "as many rooms"


def test_a_table_without_a_gate_drowns_old_counts(page):
    """What a question reads right after *all pay*, in the first training."""
    text, model = unseen_texts("tab", 0), load("tab", "corrects")
    layer = model.layers[0]
    _, beta = alpha_beta(model, text)
    pays = text.words == PAY
    written = float(beta.transpose(1, 2)[pays].mean())
    gates = layer.mixer._gates

    def shut(x):
        log_decay, beta = gates(x)
        return log_decay, beta.masked_fill(pays[:, None], 0.0)

    layer.mixer._gates = shut
    right = (model(text).argmax(-1) == text.answers)[text.words == OWES].float().mean()
    shown = mean_of("tab", "corrects"), written, right
    assert shows(page, "#all-porters", *(f"{share:.2f}" for share in shown))
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
