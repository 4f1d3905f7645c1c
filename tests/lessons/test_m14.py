"""m14: its claims against numbers computed here."""

import json
import math
from collections import Counter
from itertools import pairwise, product
from statistics import mean

import pytest
import torch

from attention import KVCache, MultiHeadAttention
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
from tests.conftest import ROOT
from tests.lessons.page_text import cells, in_order, output, share, shows
from tests.numbers import numbers
from tests.scores import scores_of
from variants import GatedDeltaNet

PAGE = "modules/m14_hybrids/lesson.html"
SCORES = scores_of("beyond")


def at(task, kind, column=-1, what="right"):
    return [seed[column] for seed in SCORES[task][kind][what]]


def output_rows(page, label):
    """The rows of a cell's table, by their first cell."""
    return {name: rest for name, *rest in cells(page, label)}


def mean_of(*of, **more):
    return mean(at(*of, **more))


def test_what_llama_s_stacks_keep(page):
    """Keys and values counted from the cache's own tensors; tables in 32 bits."""
    cache = KVCache(1, 8, 1, 128, dtype=torch.bfloat16)
    token = cache.keys.nbytes + cache.values.nbytes
    table = 8 * 128 * 128 * 4
    grows, tables, softmax = 8 * 64 * token, 24 * table, 32 * 64 * token
    each, of_text, both, plain = (
        f"{x / 1e6:.1f}" for x in (tables, grows, grows + tables, softmax)
    )
    assert shows(page, "#sec-keeps", "24", each)
    assert shows(page, "#sec-keeps", "8", f"{8 * token:,}", "64", of_text)
    assert shows(page, "#sec-keeps", both, "32", "64")
    assert shows(page, "#sec-keeps", "32", plain, "64")
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
    assert mean_said(3, 3) == mean_said(6, 6) == 0.5, "½ for both"
    assert mean_said(3, 1) == mean_said(6, 2) == 0.75


def test_a_table_that_writes_a_tenth_of_what_is_missing_counts(page):
    counts = [f"{1 - 0.9**coffees:.2g}" for coffees in range(1, 4)]
    assert shows(page, "#sec-trained", counts[0], "0.9", *counts[1:])


def test_a_norm_hides_a_count_unless_something_is_read_beside_it(page):
    def brought_to_length_1(count, beside):
        x = torch.tensor([count, beside])
        return [f"{part:.2f}" for part in x / x.norm()]

    [table] = [t for t in page.select("#all-porters table") if "at length 1" in t.get_text()]
    rows = table.select("tbody tr")
    for count, row in zip((0.1, 0.19, 0.27), rows, strict=True):
        *_, read, normed = (cell.get_text() for cell in row.select("td"))
        assert numbers(read) == [count, 0.2]
        assert normed == f"({', '.join(brought_to_length_1(count, 0.2))})"
        assert brought_to_length_1(count, 0) == ["1.00", "0.00"]


def test_equal_marks_have_the_largest_score(page):
    """Payments so far have the value (1, 0), the token itself (0, 1), all with the same weight."""
    mixes = [torch.tensor([paid, 1.0]) / (paid + 1) for paid in range(3)]
    marks = [mix / mix.norm() for mix in mixes]
    shown = [f"{number:.2f}".removesuffix(".00") for mark in marks for number in mark]
    assert shows(page, "#sec-both", *shown)
    for i, asked in enumerate(marks):
        scores = [float(asked @ mark) for mark in marks]
        assert scores[i] == max(scores) == pytest.approx(1)


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
    assert shows(page, "#all-porters", f"{mean_of('crowd', 'corrects', 2, 'longer'):.2f}")


def named_with_keys_by_chance(guests, times, heads, *, corrects, beta=1.0):
    """Count anew, with other draws, book by book; the table of all heads is one tall table."""
    draw, right, books = torch.Generator().manual_seed(1), 0, 60
    for _ in range(books):
        keys = torch.randn(heads, guests, 16, generator=draw)
        keys = keys / keys.norm(dim=-1, keepdim=True)
        tables, book = [torch.zeros(16, 16) for _ in range(heads)], {}
        for guest in (torch.randperm(times * guests, generator=draw) % guests).tolist():
            room = int(torch.randint(16, (), generator=draw))
            book[guest] = room
            for table, key in zip(tables, keys[:, guest], strict=True):
                missing = torch.eye(16)[room] - corrects * (key @ table)
                table += beta * torch.outer(key, missing)
        for guest, room in book.items():
            said = sum(keys[head, guest] @ table for head, table in enumerate(tables))
            right += int(said.argmax() == room)
    return right / (books * guests)


def test_tables_with_keys_drawn_by_chance_name_as_many_rooms_as_shown(page):
    for row in page.select("#sec-hold table")[-1].select("tbody tr"):
        guests, together, right = (float(cell.get_text()) for cell in row.select("td"))
        assert together == round(math.sqrt(guests - 1) / 4, 1)
        want = named_with_keys_by_chance(int(guests), 1, 1, corrects=False)
        assert right == pytest.approx(want, abs=0.03)
        assert guests != 32 or (together > 1 and right > 0.5), "and still most are right"
        assert guests != 128 or right < 0.5, "in most one is ahead"
    [box] = [p.get_text() for p in page.select("#all-porters p") if "A crowd" in p.get_text()]
    drawn, gentle = numbers(box)[1], numbers(box)[3]
    for beta, said in ((1.0, drawn), (0.4, gentle)):
        want = named_with_keys_by_chance(32, 2, 2, corrects=True, beta=beta)
        assert said == pytest.approx(want, abs=0.04)
    corrected, added = numbers(box)[-2:]
    want = named_with_keys_by_chance(48, 2, 1, corrects=True)
    assert corrected == pytest.approx(want, abs=0.04)
    assert added == pytest.approx(named_with_keys_by_chance(48, 1, 1, corrects=False), abs=0.04)


def test_blanks_reach_a_text_through_the_table_only(page):
    torch.manual_seed(0)
    table, softmax = GatedDeltaNet(16, 2), MultiHeadAttention(16, 2)
    text, blank = torch.randn(1, 5, 16), torch.randn(16)
    filled = torch.cat([blank.expand(1, 3, 16), text], 1)
    is_text = torch.arange(8)[None] >= 3

    def unchanged(stack):
        return int(
            torch.isclose(stack(filled, is_text)[:, 3:], stack(text, is_text[:, 3:]), atol=1e-5)
            .all(-1)
            .sum()
        )

    def upper(x, mask):
        return x + softmax(x, mask[:, None, None], is_causal=True)

    said = unchanged(lambda x, mask: upper(x + table(x), mask))
    assert in_order(output(page, "bug-check"), str(said), "5")
    assert said < 5
    assert unchanged(upper) == 5, "this layer alone passes"
    zeros = table(torch.zeros(1, 3, 16), return_state=True)[1]
    assert not zeros.table.any(), "nothing is written"


def test_each_job_needs_its_own_way_to_write():
    assert mean_of("tab", "softmax") < mean_of("tab", "adds") + 0.1, "hardly better"
    assert mean_of("moves", "adds, fades") + 0.15 < mean_of("moves", "corrects, fades")
    assert max(at("tab", "adds")) + 0.2 < min(at("tab", "adds, fades"))
    assert max(at("tab", "corrects")) < min(at("tab", "corrects, fades"))
    assert max(at("tab", "softmax")) < min(at("tab", "corrects"))
    assert mean_of("coffees", "softmax") < mean_of("coffees", "adds") - 0.1
    assert mean_of("coffees", "adds, plain") > 0.99
    assert min(at("tab", "adds, fades, plain")) > max(at("tab", "adds, fades")) + 0.1
    assert max(at("tab", "adds, fades, plain", what="held open")) < 0.5, "it is wiped, too"
    assert max(at("coffees", "softmax")) + 0.3 < min(at("coffees", "softmax, undivided"))
    assert min(at("moves", "softmax")) > max(at("moves", "corrects")), "best with the book"
    assert min(at("moves", "corrects", what="longer")) > mean_of("moves", "corrects")
    pairs = zip(at("moves", "corrects, fades"), at("moves", "adds"), strict=True)
    assert sorted(fades > adds for fades, adds in pairs) == [False, *[True] * 4], "in four of five"


def test_the_layers_of_the_cast_have_their_shares(page):
    rows = output_rows(page, "single-layers")
    always, *layers = rows.values()
    assert float(always[1]) == round(1 / 16, 2)
    assert list(rows)[1:] == ["a table that corrects and fades", "softmax"]
    for kind, shown in zip(("corrects, fades", "softmax"), layers, strict=True):
        assert shown == [f"{mean_of(job, kind):.2f}" for job in ("tab", "moves")]
    (tab, book), (tab_of_softmax, book_of_softmax) = (map(float, row) for row in layers)
    assert tab > tab_of_softmax > float(always[0])
    assert book < book_of_softmax, "softmax is better with the book"


def test_the_division_costs_tables_that_add_their_count(page):
    divided, plain = (f"{mean_of('coffees', kind):.2f}" for kind in ("adds", "adds, plain"))
    assert shows(page, "#all-porters", divided, plain)
    softmax, undivided = (mean_of("coffees", kind) for kind in ("softmax", "softmax, undivided"))
    assert shows(page, "#sec-mean", f"{softmax:.2f}", f"{undivided:.2f}")
    assert plain == f"{undivided:.2f}", "and so does the table"
    ranges = [
        f"{bound:.2f}"
        for what in ("right", "held open")
        for shares in [at("tab", "adds, fades, plain", what=what)]
        for bound in (min(shares), max(shares))
    ]
    assert shows(page, "#all-porters", *ranges)


@torch.no_grad()
@pytest.mark.parametrize(("kind", "grows"), [("adds, fades, plain", 2), ("adds, fades", 1)])
def test_only_without_the_norm_is_twice_as_much_read_as_twice(monkeypatch, kind, grows):
    words = torch.tensor([[COFFEE] * 3 + [OWES]])
    model, sizes = load("tab", kind), []
    mixer = model.layers[0].mixer
    project = mixer._project

    def doubled(x, recent):
        query, key, value, rest = project(x, recent)
        return query, key, 2 * value, rest

    mixer.norm.register_forward_hook(lambda *at: sizes.append(float(at[-1][0, -1].norm())))
    model(Text(0 * words, words, words))
    monkeypatch.setattr(mixer, "_project", doubled)
    model(Text(0 * words, words, words))
    assert sizes[1] / sizes[0] == pytest.approx(grows, abs=0.05)


def test_one_layer_of_each_does_both_jobs(page):
    again = json.loads((ROOT / "models/beyond/again.json").read_text("utf-8"))
    trainings = {
        "softmax, softmax": ("two softmax", SCORES["both"]["two softmax"]["longer"]),
        "table, table": ("two tables", again["two tables, longer"]),
        "softmax, table": ("softmax, table", SCORES["both"]["softmax, table"]["longer"]),
        "table, softmax": ("table, softmax", SCORES["both"]["table, softmax"]["longer"]),
    }

    def kept_of(stack):
        return SCORES["both"][stack]["kept"]

    rows = page.select("#sec-hybrid table")[0].select("tbody tr")
    for row, (name, (stack, twice)) in zip(rows, trainings.items(), strict=True):
        assert len(twice) == 2
        shares = (f"{one:.2f} and {other:.2f}" for one, other in zip(*twice, strict=True))
        shown = [name, *shares, share(kept_of(stack) / kept_of("two softmax"))]
        assert [cell.get_text().replace("\u202f", " ") for cell in row.select("td")] == shown
    tokens = texts("both", 32, 1).words.shape[1] - 16  # before the first question for a room
    assert shows(page, "#all-porters", str(tokens), "32", f"{tokens * 64:,}", str(2 * 16 * 16))
    assert SCORES["both"]["two softmax"]["kept"] == 2 * tokens * 64
    assert SCORES["both"]["softmax, table"]["kept"] == tokens * 64 + 512
    assert min(min(pair) for pair in trainings["softmax, table"][1]) > 0.99, "both jobs"
    assert sorted(rooms > 0.9 for rooms, _ in trainings["table, softmax"][1]) == [False, True]
    ranges = output_rows(page, "stacks-longer")
    assert ranges["table, softmax"] == ["0.30 to 1.00", "1.00 to 1.00"]
    assert min(rooms for rooms, _ in again["two tables, longer"]) > 0.5, "both learned the book"
    assert sum(share < 0.13 for share in at("both", "two tables", 0)) == 2, "hadn't begun"
    assert max(at("both", "two tables", 0, "longer")) < 0.4, "four times the steps didn't help"
    kept = {name: scores["kept"] for name, scores in SCORES["both"].items()}
    assert kept["softmax, table"] / kept["two softmax"] == pytest.approx(0.5, abs=0.05)
    book, tab = ({k: at("both", k, i) for k in JOBS["both"]} for i in (0, 1))
    assert mean(book["two softmax"]) > 0.95, "find the rooms"
    assert mean_of("tab", "softmax") + 0.2 < mean(tab["two softmax"]), "most of the tab"
    assert mean(tab["two softmax"]) < mean(tab["two softmax with MLPs"])
    assert mean(tab["two softmax"]) < mean_of("both", "two softmax", what="longer"), "slowly"
    assert min(book["table, softmax"]) < 0.2, "hardly learned the book"
    past, alone = (mean_of("moves", kind) for kind in ("three tables, softmax", "softmax"))
    assert past > alone - 0.02, "as well as softmax alone"
    assert shows(page, "#sec-hybrid", f"{past:.2f}", f"{alone:.2f}")
    assert shows(page, "#sec-hybrid", "32", str(tokens), "2", "16", "16")


def test_three_tables_to_each_softmax_guessed_best(page):
    rows = page.select_one("#cell-figure-kimi").find_next_sibling().select("tbody tr")
    shown = [float(row.select("td")[-1].get_text()) for row in rows]
    assert len(shown) == 5
    softmax, one, three, _, fifteen = shown
    assert min(shown) == three
    assert max(shown) == fifteen
    assert sorted(shown)[3] == softmax, "fourth"
    assert one == pytest.approx(three, abs=0.02), "about as good"


def test_the_sum_of_two_rooms_says_both_and_not_which_is_newer():
    new, old = named_rooms("adds")
    assert new == pytest.approx(old, abs=0.06)
    assert min(new, old) > 4 / 16, "both are made out"
    assert round(mean_of("moves", "adds"), 1) == 0.4, "the prediction's answer"
    assert named_rooms("corrects")[1] < 0.2
    newer, older = named_rooms("corrects, fades")
    assert older < 0.1 < 0.5 < newer, "seldom the old room"


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
    return right_of(model, text)


def right_of(model, text):
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
    assert shows(page, "#sec-trained", f"{counts:.2f}")
    by_one, by_other = (
        right_with_beta("corrects, fades", tab, COFFEE, 1.0, [head]) for head in (1, 0)
    )
    assert shows(page, "#all-porters", "1", by_one, f"{idle:.2f}", "1", by_other)
    usual = f"{at('tab', 'corrects, fades')[0]:.2f}"
    silent = right_with_beta("corrects, fades", tab, OWES, 0.0)
    assert shows(page, "#all-porters", silent, usual)
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
def read_in_the_second_head(model, coffees, *words, others=10, silent=False):
    """Return the table times Ann's last query, before the norm, and all keys and values."""
    mixer, layer = model.layers[0].mixer, model.layers[0]
    guests = [1 + i % 7 for i in range(others)] + [0] * (coffees + len(words))
    words = torch.tensor([[COFFEE] * (others + coffees) + [*words]])
    x = layer.norm(model.embed(Text(torch.tensor([guests]), words, words)))
    query, key, value, _ = mixer._project(x, mixer.new_state(x).recent)
    log_alpha, beta = mixer._gates(x)
    if silent:
        beta = beta.masked_fill((words == OWES)[:, None], 0)
    table = torch.zeros(16, 16)
    for i in range(words.shape[1]):
        table = log_alpha[0, 1, i].exp() * table
        missing = value[0, 1, i] - key[0, 1, i] @ table
        table = table + beta[0, 1, i] * torch.outer(key[0, 1, i], missing)
    return query[0, 1, -1] @ table, key[0, 1], value[0, 1]


@torch.no_grad()
def test_a_count_is_read_beside_what_the_question_writes(page):
    model = load("tab", "corrects, fades")
    counts = {s: [read_in_the_second_head(model, c, OWES, silent=s)[0] for c in range(1, 6)]
              for s in (False, True)}  # fmt: skip
    turned = {s: float(torch.cosine_similarity(x[0], x[-1], dim=0)) for s, x in counts.items()}
    one, five = (float(counts[True][i].norm()) for i in (0, -1))
    shown = [f"{x:.2f}" for x in (one, five, turned[True], turned[False])]
    assert shows(page, "#all-porters", *shown)
    assert turned[True] > 0.9
    assert turned[False] < 0.7, "the direction tells the count"


def test_a_table_without_a_gate_is_right_after_a_payment_too(tab):
    right = load("tab", "corrects")(tab).argmax(-1) == tab.answers
    asked, paid = tab.words == OWES, (tab.words == PAY).cumsum(1) > 0
    assert (asked & ~paid).sum() / asked.sum() == pytest.approx(1 / 3, abs=0.03)
    before, after = (right[asked & some].float().mean() for some in (~paid, paid))
    assert after > before - 0.1


@torch.no_grad()
def test_a_payment_takes_away_what_stands_under_a_key_that_all_questions_share(page, tab):
    """With the value 0 at *all pay* the table is only corrected there, and no note is put in."""
    model = load("tab", "corrects")
    mixer = model.layers[0].mixer
    project = mixer._project

    def without_note(x, recent):
        query, key, value, rest = project(x, recent)
        return query, key, value * (tab.words != PAY)[:, None, :, None], rest

    mixer._project = without_note
    only_away, unwritten = right_of(model, tab), right_with_beta("corrects", tab, PAY, 0.0)
    assert shows(page, "#all-porters", only_away, unwritten)
    assert float(only_away) > float(unwritten) + 0.3, "taking away does most of it"
    mixer._project = project
    _, key, _ = read_in_the_second_head(model, 5, PAY, OWES, others=20)
    words = torch.full((8, 1), OWES)
    x = model.layers[0].norm(model.embed(Text(torch.arange(8)[:, None], words, words)))
    asks = project(x, mixer.new_state(x).recent)[0][:, 1, 0]
    assert (asks @ key[-2]).abs().min() > 0.25


@torch.no_grad()
def test_a_table_without_a_gate_drowns_old_counts(page, tab):
    """What a question reads right after *all pay*, in the first training."""
    model = load("tab", "corrects")
    written = float(alpha_beta(model, tab)[1].transpose(1, 2)[tab.words == PAY].mean())
    unwritten = right_with_beta("corrects", tab, PAY, 0.0)
    assert shows(page, "#all-porters", f"{written:.2f}", unwritten)
    reads = {}  # by how many coffees Ann has had
    for count in (0, 5):
        for paid in (False, True):
            guests = [1 + i % 7 for i in range(20)] + [0] * (count + paid + 1)
            words = [COFFEE] * (20 + count) + [PAY] * paid + [OWES]
            guests, words = torch.tensor([guests]), torch.tensor([words])
            reads[count, paid] = model.layers[0](model.embed(Text(guests, words, words)))[0, -1]
    change = {paid: (reads[5, paid] - reads[0, paid]).norm() for paid in (False, True)}
    assert change[True] < 0.3 * change[False], "nearly the same, however many coffees"


@torch.no_grad()
def test_layers_on_short_nights_are_as_right_as_told(page):
    """Night by night, by the models themselves; the answer's numbers come from a payload."""
    words = {"a": (0, COFFEE), "b": (1, COFFEE), "p": (0, PAY)}
    every = ["".join(night) for n in range(7) for night in product(words, repeat=n)]
    owing = {(night, guest): night.split("p")[-1].count("ab"[guest])
             for night in every for guest in (0, 1)}  # fmt: skip
    wrong = {}
    for kind in ("softmax", "corrects, fades"):
        model, wrong[kind] = load("tab", kind), {}
        for n in range(7):
            some = [one for one in owing if len(one[0]) == n]
            rows = [[*(words[token] for token in night), (guest, OWES)] for night, guest in some]
            guests, said = torch.tensor(rows).unbind(-1)
            answers = model(Text(guests, said, said))[:, -1].argmax(-1).tolist()
            for one, answer in zip(some, answers, strict=True):
                if answer != owing[one]:
                    wrong[kind][one] = answer
    later = [one for one in owing if "p" in one[0] and owing[one]]
    told = [share(1 - sum(one in wrong[kind] for one in later) / len(later)) for kind in wrong]
    assert shows(page, "#sec-night", told[0])
    too_few = sum(wrong["softmax"].get(one, owing[one]) < owing[one] for one in later)
    assert too_few > 0.7 * len(later), "too few of most"
    best = wrong["corrects, fades"]
    assert not any(one in best for one in later), "right about all"
    assert set(best) == {
        (night, guest) for night, guest in owing if "p" not in night and owing[night, guest] >= 5
    }
    assert all(said == owing[one] - 1 for one, said in best.items()), "one too few"
    assert ("aapa", 0) not in wrong["softmax"]
    assert all(("a" * n, 0) not in wrong["softmax"] for n in range(1, 5))
    assert wrong["softmax"]["ab", 0] == 2, "one coffee for Ben misleads it"
    assert max(at("coffees", "softmax") + at("coffees", "softmax", what="longer")) < 0.5
    assert best["aaaaa", 0] == 4


@torch.no_grad()
def weights_for(night, guest):
    """What each head of the trained softmax gives to the tokens and to the question, and brings."""
    words = {"a": (0, COFFEE), "b": (1, COFFEE), "p": (0, PAY)}
    guests, said = torch.tensor([[*(words[token] for token in night), (guest, OWES)]]).unbind(-1)
    layer, text = load("tab", "softmax").layers[0], Text(guests, said, said)
    query, key, value = layer.mixer.project(layer.norm(load("tab", "softmax").embed(text)))
    away = torch.arange(len(night), -1, -1)
    weights = (query[0, :, -1:] @ key[0].mT / 4 - layer.slopes * away).softmax(-1)
    return weights[:, 0], (weights @ value[0])[:, 0]


def test_a_paid_coffee_gets_as_much_weight_as_another_and_the_table_forgets_it(page):
    weights, _ = weights_for("apa", 0)
    torch.testing.assert_close(weights[:, 0], weights[:, 2], atol=0.03, rtol=0)
    assert weights[0, :3].min() > 0.25, "and not because it gets none"
    rows = page.select_one("#night-porter table").select("tbody tr")
    shown = [[cell.get_text() for cell in row.select("td, th")] for row in rows]
    assert [row[-2:] for row in shown] == [["0.10", "1"], ["0.00", "0"], ["0.10", "1"]]


def test_one_coffee_for_ben_has_the_second_head_s_weight_though_ann_is_asked_for():
    weights, _ = weights_for("ab", 0)
    assert weights[1, 1] > 0.99


def test_with_one_guest_s_coffees_only_the_first_head_tells_the_count():
    """The question itself is the other token, and its part falls with the coffees."""
    nights = [weights_for("a" * count, 0) for count in range(1, 5)]
    first, second = zip(*((brought[0], brought[1]) for _, brought in nights), strict=True)
    for brought in second[1:]:
        torch.testing.assert_close(brought, second[0], atol=1e-3, rtol=0)
    assert all((b - a).norm() > 0.1 for a, b in pairwise(first))
    itself = [float(weights[0, -1]) for weights, _ in nights]
    assert all(a > b > 0.05 for a, b in pairwise(itself))
