"""m05: its claims against numbers computed here."""

import json
from functools import cache
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from models.alignment.data import is_held_out
from models.alignment.model import trained
from models.grammar.words import PAD, VOCABULARY
from models.weights import load
from modules.m05_masks import copying
from tests.lessons.m05_numbers import CAUSAL, HUNTED, W_K, W_Q, W_V, X, moves, opened
from tests.lessons.page_text import cells, in_order, output, shows, text_of
from tests.numbers import numbers
from tests.site.numbers import payloads

PAGE = "modules/m05_masks/lesson.html"
COPYING = json.loads(copying.SCORES.read_text(encoding="utf-8"))


def test_full_marks_are_copied(page):
    """Every guess right in every seed, random words included; and nothing to say alone."""
    assert shows(page, "#sec-full-marks", str(copying.TESTS))
    for kind, most in (("sentences", 0.56), ("drawn by lot", 0.01)):
        copied, causal = (
            COPYING[f"{kind}, {sees}"].values() for sees in ("everything", "only back")
        )
        assert [seed["right"] for seed in copied] == [1] * 3
        assert len(causal) == 3
        assert max(seed["right"] for seed in causal) < most
    _, always_the = COPYING["commonest"]
    for seed in COPYING["sentences, everything"].values():
        assert torch.tensor(seed["map"]).diagonal(1).min() > 0.8, "one position ahead"
        assert always_the < seed["hidden"] < always_the + 0.05
        for start, text in zip(copying.STARTS, seed["writes"], strict=True):
            assert text.startswith(start)
            assert set(text.split()) <= set(start.split()), "copied from the beginning"
    for seed in COPYING["sentences, only back"].values():
        assert (torch.tensor(seed["map"]).triu(1) == 0).all()
        assert seed["hidden"] == seed["right"] > 0.5


def test_the_last_row_looks_back_and_sentences_end_where_they_end(page):
    *_, last = COPYING["sentences, everything"]["0"]["map"]
    the_two = sum(last[i] for i, word in enumerate(COPYING["sentence"]) if word == "the")
    assert the_two > 0.5
    whole = COPYING["sentences, only back"]["0"]["writes"]
    for line, text in zip(output(page, "writes").splitlines(), whole, strict=True):
        written, end = line[:-2], line[-1]
        assert text.startswith(written)
        assert end == ("." if " ." in text else "…")
        assert end == "." or text == written


@pytest.fixture(scope="module")
def larger():
    return load("models/grammar/weights/causal.safetensors")


@pytest.mark.slow
@torch.no_grad()
def test_hardly_more_than_half_can_be_known(larger, monkeypatch):
    """The words after *the*, and what a larger model, trained for longer, gets right."""
    monkeypatch.setattr(copying, "texts", cache(copying.texts))  # which ``unseen`` needs as well
    ceiling, hits, count = COPYING["ceiling"], 0, 0
    learned = copying.texts("sentences", 0, copying.SENTENCES)
    after_the = {b for text in learned for a, b in pairwise(text) if a == "the"}
    assert len(after_the) == ceiling["after the"]
    for row in copying.unseen("sentences"):
        tokens = larger.encode([VOCABULARY[i] for i in row if VOCABULARY[i] != PAD])
        guessed = larger(tokens).logits[0, :-1].argmax(-1)
        hits += int((guessed == tokens[0, 1:]).sum())
        count += len(guessed)
    assert hits / count == pytest.approx(ceiling["larger model"], abs=1e-3)
    for seed in COPYING["sentences, only back"].values():
        assert seed["right"] < ceiling["larger model"] < seed["right"] + 0.05


def test_the_sizes_of_the_models(larger):
    mine, theirs = (
        sum(weights.numel() for weights in model.parameters())
        for model in (copying.untrained(is_causal=True), larger)
    )
    assert COPYING["parameters"] == mine
    assert COPYING["words"] == len(copying.WORDS)
    assert COPYING["ceiling"]["larger parameters"] == theirs


@pytest.mark.slow
def test_training_again_learns_to_copy_words_drawn_by_lot():
    tokens = copying.to_tokens(copying.texts("drawn by lot", 0, 2000))
    model = copying.train(tokens, 0, is_causal=False, steps=150)
    tests = copying.to_tokens(copying.texts("drawn by lot", 1, 100))
    assert copying.share_right(model, tests) > 0.9
    assert copying.share_right(model, tests, hide=True) < 0.05


def test_a_masked_row_by_pencil(page):
    """Scores 1, 2 and 0.5, and the third hidden: its weight is 0, the others keep their ratio."""
    before = torch.tensor([1.0, 2.0, 0.5]).softmax(-1).tolist()
    *after, hidden = torch.tensor([1.0, 2.0, -torch.inf]).softmax(-1).tolist()
    assert hidden == 0
    *keys, total = cells(page, "pencil-numbers")
    shown = [float(row[3]) for row in keys]
    assert shown == pytest.approx(before, abs=0.0051)
    assert sum(float(row[2]) for row in keys) == pytest.approx(float(total[2]), abs=0.011)
    for row, weight in zip(keys, shown, strict=True):  # a reader's own division agrees
        assert float(row[2]) / float(total[2]) == pytest.approx(weight, abs=0.0051)
    assert [weight / (1 - before[2]) for weight in before[:2]] == pytest.approx(after)
    assert [a / b for a, b in zip(after, before, strict=False)] == pytest.approx(
        [1 / 0.86] * 2, abs=0.01
    )
    told = [before[2], 1 - before[2], before[0], after[0], before[1], after[1]]
    assert shows(page, "#sec-formula", *(f"{weight:.2f}" for weight in told))


def test_blanks_on_the_left_have_empty_rows_whose_nan_reaches_the_words(page):
    figure = page.select_one("#cell-figure-left, #figure-left").find_next_sibling()
    shown = [
        [float(cell.get_text()) for cell in row.select("td")[-4:]]
        for row in figure.select("tbody tr")
    ]
    mask = CAUSAL[:4, :4].clone()
    mask[:, :2] = False
    assert shown == mask.int().tolist()
    assert not mask[:2].any()
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0))
    scores = (x @ x.mT).masked_fill(~mask, -torch.inf)
    first = scores.softmax(-1) @ x
    assert first[0, :2].isnan().all()
    assert first[0, 2:].isfinite().all()
    second = (first @ first.mT).masked_fill(~mask, -torch.inf).softmax(-1) @ first
    assert second.isnan().all()
    rows = [numbers(line) for line in output(page, "spread").splitlines()]
    assert rows == [[1, 1, 0, 0] + [1] * 4, [0] * 8]


@torch.no_grad()
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_what_an_empty_row_gives_and_that_seeing_itself_changes_no_word(heads, training, dtype):
    """NaN in the layer alone, without weights not always; zeros in PyTorch's function and in ours.

    With an even number of heads the layer has a fast path, where nothing is trained.
    """
    mask = CAUSAL[:4, :4] & (torch.arange(4) >= 2)
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0)).to(dtype)
    for attend in (
        lambda: F.scaled_dot_product_attention(x, x, x, mask),
        lambda: scaled_dot_product_attention(x, x, x, mask)[0],
    ):
        assert (attend()[0, :2] == 0).all()
        assert (attend()[0, 2:] != 0).all()
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, heads, batch_first=True, dtype=dtype).train(training)

    def rows(mask, **how):
        return layer(x, x, x, attn_mask=~mask, **how)[0][0]

    assert rows(mask)[:2].isnan().all()
    is_fast = heads == 2 and not training
    assert rows(mask, need_weights=False)[:2].isnan().all() == is_fast
    mended = rows(mask | torch.eye(4).bool())
    for how in ({}, {"need_weights": False}):
        assert rows(mask | torch.eye(4).bool(), **how).isfinite().all()
    torch.testing.assert_close(mended[2:], rows(mask)[2:])


def test_both_of_pytorch_s_take_numbers_to_add(page):
    added = torch.zeros(6, 6).double().masked_fill(~CAUSAL, -torch.inf)
    x = X[None]
    layer = torch.nn.MultiheadAttention(5, 1, batch_first=True, dtype=X.dtype)
    for one, other in (
        (F.scaled_dot_product_attention(x, x, x, mask) for mask in (CAUSAL, added)),
        (layer(x, x, x, attn_mask=mask)[0] for mask in (~CAUSAL, added)),
    ):
        torch.testing.assert_close(one, other)
    readers = [row.select("td") for row in page.select("#sec-dialects table tbody tr")]
    handed = [cells[2].get_text(strip=True) for cells in readers if len(cells) == 3]
    assert handed[:3] == ["mask", "mask", "~mask"]
    assert len(handed) == 4


@pytest.mark.parametrize("need_weights", [True, False])
def test_is_causal_of_the_layer_replaces_a_mask_without_weights(need_weights):
    """One query and four keys, all visible: the layer's own mask lines up the starts."""
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, 1, batch_first=True)
    query, keys, all_visible = torch.randn(1, 1, 8), torch.randn(1, 4, 8), torch.zeros(1, 4).bool()

    def output(at):
        x = keys.index_add(1, at, torch.ones(1, len(at), 8))
        how = {"attn_mask": all_visible, "is_causal": True, "need_weights": need_weights}
        return layer(query, x, x, **how)[0]

    none = torch.tensor([], dtype=torch.long)
    seen = [not torch.equal(output(torch.tensor([j])), output(none)) for j in range(4)]
    assert seen == [True, need_weights, need_weights, need_weights]


def moved(mask, word):
    """Which outputs move when 1 is added to a word."""
    changed = X.clone()
    changed[word] += 1
    before, after = (
        F.scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, attn_mask=mask)
        for x in (X, changed)
    )
    return [not torch.equal(a, b) for a, b in zip(before, after, strict=True)]


def test_each_hidden_mask_has_one_cell_too_many_and_its_moves_show_it(page):
    hunt = payloads(page)["hunt"]
    assert len(hunt["masks"]) == len(HUNTED)
    for shown, (should, leak) in zip(hunt["masks"], HUNTED, strict=True):
        mask = opened(should, leak)
        assert shown["should"] == should.tolist()
        assert tuple(shown["leak"]) == leak
        assert not should[leak]
        assert leak[1] > leak[0]
        assert leak[1] != 5, "mat is changed from the start"
        moved = torch.tensor(shown["moved"]).double()
        torch.testing.assert_close(moved, moves(mask), atol=1e-6, rtol=1e-6)
        assert torch.equal(moved != 0, mask | torch.eye(6).bool()), "to the last bit"
        assert moved[moved != 0].min() > 0.05, "none is shown as 0.00"


def test_in_two_layers_a_change_arrives_by_way_of_other_words():
    """One layer shows who looks at whom; with two, outputs move that don't look at the word."""
    eye = torch.eye(6).bool()
    for should, leak in HUNTED[:3]:
        mask = opened(should, leak)
        assert torch.equal(moves(mask) != 0, mask | eye)
        further = moves(mask, layers=2) != 0
        assert (further & ~(mask | eye)).triu(1).any()
        assert not moves(CAUSAL, layers=2).triu(1).any(), "without a leak nothing arrives"


def test_changing_each_word_finds_every_open_cell():
    """One cell above the diagonal at a time; changing the last word alone finds a third of them."""
    assert [moved(CAUSAL, word)[: word + 1] for word in range(6)] == [
        [False] * word + [True] for word in range(6)
    ]
    count, by_the_last = 0, 0
    for row, column in torch.triu_indices(6, 6, 1).T.tolist():
        mask = CAUSAL.clone()
        mask[row, column] = True
        leaks = [any(moved(mask, word)[:word]) for word in range(1, 6)]
        count += any(leaks)
        by_the_last += leaks[-1]
    assert (count, by_the_last) == (15, 5)


def test_a_prefix_leaks_nothing_of_the_answer():
    prefix = CAUSAL | (torch.arange(6) < 3)
    for word in range(6):
        assert any(moved(prefix, word)[:word]) == (word in (1, 2)), "only the question sees ahead"
    should, (row, column) = HUNTED[3]
    earlier = [moved(opened(should, (row, column)), word)[:word] for word in range(6)]
    assert [(i, word) for word in range(6) for i in range(word) if earlier[word][i]] == [
        (0, 1),  # The sees cat, of the question
        (row, column),
    ]


@torch.no_grad()
def test_a_forgotten_tilde_leaks_and_empties_the_last_row(page):
    """The layer of PyTorch hides where True stands: its weights say so, and the outputs."""
    forgotten, flipped = (
        numbers(line.split("[")[1].replace("nan", ""))
        for line in output(page, "moved").splitlines()
    )
    assert len(forgotten) == 5
    assert min(forgotten) > 0
    assert "nan]" in output(page, "moved").splitlines()[0]
    assert flipped[:5] == [0] * 5
    assert flipped[5] > 0
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(5, num_heads=1, dtype=X.dtype)
    changed = X.clone()
    changed[5] += 1
    (before, weights), (after, _) = (layer(x, x, x, attn_mask=~CAUSAL) for x in (X, changed))
    assert torch.equal(before[:5], after[:5])
    assert torch.equal(weights > 0, CAUSAL)
    assert flipped[5] == pytest.approx((after - before)[5].abs().max().item(), abs=0.0051)
    _, weights = layer(X, X, X, attn_mask=CAUSAL)
    assert torch.equal(weights[:5] > 0, ~CAUSAL[:5])
    assert weights[5].isnan().all()


def test_floats_and_infinities_get_through(page):
    added, infinite = (line.split(":")[1] for line in output(page, "floats").splitlines())
    want = torch.tensor([1.0, 0, 0]).softmax(-1).tolist()
    assert numbers(added) == pytest.approx(want, abs=0.0051), "floats of 0 and 1 hide nothing"
    assert infinite.split("[")[1].rstrip("]").split() == ["nan"] * 2


def test_pytorch_aligns_the_starts(page):
    theirs, ours = (numbers(line.split(":")[1]) for line in output(page, "ends").splitlines())
    assert theirs == [1, 0, 0, 0]
    assert ours == [0.25] * 4


def test_the_wrong_shape_hides_by_head(page):
    right, wrong, *errors = output(page, "pitfalls").splitlines()
    assert numbers(right.split(":")[1]) == [0, 0]
    on_first_head, on_second = numbers(wrong.split(":")[1])
    assert on_first_head > 0
    assert on_second == 0
    assert in_order(errors[0], "mask[:, None]", "mask[None]")
    assert "broadcast" in errors[1]
    assert "device" in errors[2]


def test_the_bug_hunt_s_check_fails(page):
    assert in_order(output(page, "bug-check"), "2")  # the text with blanks
    rows = [[numbers(cell) for cell in row[1:]] for row in cells(page, "bug-rows")]
    is_word = [1, 1, 0, 0]
    assert rows == [[is_word, [word] * 4] for word in is_word]


def test_the_map_of_the_phrases_is_not_square_and_follows_the_words(page):
    english = "our slow cats don't want these red horseshoes [end]".split()
    french = "nos chats lents ne veulent pas ces fers à cheval rouges [end]".split()
    model = trained("phrases")
    assert model.translate([english], 12) == [french]
    weights = model.weights(english, french)
    assert weights.shape == (12, 9)
    assert weights.argmax(-1).tolist() == [0, 2, 1, 3, 4, 3, 5, 7, 7, 7, 6, 8]
    assert is_held_out("slow", "cats")
    assert is_held_out("red", "horseshoes")
    assert shows(page, "#predict-cross", *english[:3], *french[:3])
    table = page.select_one("#cell-figure-phrases").find_next_sibling().select("tbody tr")
    named = [row.select_one("td, th").get_text().strip().split(" → ") for row in table]
    assert named == [list(pair) for pair in pairwise(["[start]", *french])]


@torch.no_grad()
def test_the_french_words_don_t_look_at_later_ones():
    model = trained("phrases")
    source, so_far, _, lengths = model.batch(["our slow cats".split()], ["nos chats lents".split()])
    other = so_far.clone()
    other[0, 2] = model.targets.index("rouges")
    before, after = (model(source, words, lengths)[0][0] for words in (so_far, other))
    assert torch.equal(before[:2], after[:2])
    assert not torch.equal(before[2], after[2])


@pytest.mark.parametrize("label", ["figure-copying", "figure-reversal", "figure-phrases"])
def test_the_trained_maps_say_so(page, label):
    assert page.select_one(f"#{label} .source").get_text() == "trained"


def test_the_answers_of_check_it(page):
    assert in_order(text_of(page, "#check-it"), f"{sum(moved(CAUSAL, 2))}")
    _, *left = torch.tensor([0.5, 0.3, 0.2]).log().tolist()
    weights = torch.tensor(left).softmax(-1).tolist()
    assert shows(page, "main", *(f"{w:.1f}" for w in weights), "0.5")
