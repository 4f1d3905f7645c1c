"""m05: its claims against numbers computed here."""

import json
from functools import cache
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from attention import create_padding_mask, create_window_mask, scaled_dot_product_attention
from models.alignment.data import ADJECTIVES, LINKS, NOT, VERBS, is_held_out
from models.alignment.model import trained
from models.grammar.sentences import sentences
from models.grammar.words import PAD, VOCABULARY
from models.storyteller.model import load_storyteller
from models.weights import load
from modules.m05_masks import copying
from tests.lessons.m05_numbers import CAUSAL, HUNTED, W_K, W_Q, W_V, X, moves, opened
from tests.lessons.page_text import cells, in_order, output, share, shows, text_of
from tests.numbers import numbers
from tests.site.numbers import payloads

PAGE = "modules/m05_masks/lesson.html"
COPYING = json.loads(copying.SCORES.read_text(encoding="utf-8"))
EYE = torch.eye(6).bool()
LEFT_PADDED = CAUSAL[:4, :4] & (torch.arange(4) >= 2)


def test_who_sees_everything_learns_to_copy_and_who_sees_only_back_to_write():
    """In every training, random words included."""
    for kind, most in (("sentences", 0.56), ("drawn by lot", 0.01)):
        copied, causal = (
            [seed["right"] for seed in COPYING[f"{kind}, {sees}"].values()]
            for sees in ("everything", "only back")
        )
        assert copied == [1] * 3
        assert max(causal) < most
    for seed in COPYING["sentences, everything"].values():
        assert torch.tensor(seed["map"]).diagonal(1).min() > 0.8, "one position ahead"
        for start, text in zip(copying.STARTS, seed["writes"], strict=True):
            assert text.startswith(start)
            assert set(text.split()) <= set(start.split()), "copied from the beginning"
    *_, last = COPYING["sentences, everything"]["0"]["map"]
    the = [word == "the" for word in COPYING["sentence"]]
    assert torch.tensor(last)[the].sum() > 0.5, "the full stop looks back"
    for seed in COPYING["sentences, only back"].values():
        assert not torch.tensor(seed["map"]).triu(1).any()
    *_, often, _, _ = COPYING["sentences, only back"]["0"]["map"]
    assert COPYING["sentence"][often.index(max(often))] == "girl", "who waits"


@torch.no_grad()
def test_one_masked_run_is_a_guess_at_each_word_as_if_the_text_ended_there():
    """A causal model of the same sentences, of two layers: the whole text, and every cut of it."""
    model = load("models/grammar/weights/causal.safetensors")
    tokens = model.encode(COPYING["sentence"])
    whole = model(tokens)
    for n in range(1, tokens.shape[1] + 1):
        alone = model(tokens[:, :n])
        torch.testing.assert_close(alone.logits[0, -1], whole.logits[0, n - 1])
        for cut, full in zip(alone.weights, whole.weights, strict=True):
            torch.testing.assert_close(cut[0, :, -1], full[0, :, n - 1, :n])


@pytest.mark.slow
@torch.no_grad()
def test_hardly_more_than_half_can_be_known(monkeypatch):
    """The words after *the*, and what a larger model, trained for longer, gets right."""
    monkeypatch.setattr(copying, "texts", cache(copying.texts))  # which ``unseen`` needs as well
    larger = load("models/grammar/weights/causal.safetensors")
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
    assert sum(weights.numel() for weights in larger.parameters()) == ceiling["larger parameters"]


@pytest.mark.slow
def test_training_again_learns_to_copy_words_drawn_by_lot():
    tokens = copying.to_tokens(copying.texts("drawn by lot", 0, 2000))
    model = copying.train(tokens, 0, is_causal=False, steps=150)
    tests = copying.to_tokens(copying.texts("drawn by lot", 1, 100))
    assert copying.share_right(model, tests) > 0.9
    assert copying.share_right(model, tests, hide=True) < 0.05


def test_a_masked_row_by_pencil(page):
    """The third of three keys is hidden: its weight is 0, the others keep their ratio."""
    before = torch.tensor([1.0, 2.0, 0.5]).softmax(-1).tolist()
    *after, hidden = torch.tensor([1.0, 2.0, -torch.inf]).softmax(-1).tolist()
    assert hidden == 0
    assert [weight / (1 - before[2]) for weight in before[:2]] == pytest.approx(after)
    rows = cells(page, "pencil-numbers")
    assert not any(numbers(row[4]) for row in rows[:3]), "the last column is the reader's"
    *keys, total = ([float(x) for x in row[2:4]] for row in rows)
    for (power, shown), weight in zip(keys, before, strict=True):
        assert shown == pytest.approx(weight, abs=0.0051)
        assert power / total[0] == pytest.approx(shown, abs=0.0051), "a reader's own division"
    grown = [new / old for new, old in zip(after, before, strict=False)]
    assert grown == pytest.approx([grown[0]] * 2)
    total = sum(float(row[2]) for row in rows[:2])
    assert shows(page, "#sec-formula", *(f"{x:.2f}" for x in (total, *after, grown[0])))
    assert shows(page, "#sec-formula", f"{before[2]:.2f}", f"{1 - before[2]:.2f}")


def test_the_answer_of_check_it(page):
    """A letter of five words, which all see one another, and a summary of three."""
    whole = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)).double()
    mask = torch.ones(8, 8).tril().bool()
    mask[:5, :5] = True

    def moved_by(word):
        changed = whole.clone()
        changed[word] += 1
        one, other = (F.scaled_dot_product_attention(x, x, x, mask) for x in (whole, changed))
        return int((one != other).any(-1).sum())

    counts = [moved_by(2), moved_by(6)]
    assert in_order(text_of(page, "#check-it .answer, #check-it details"), *map(str, counts))


def test_nouns_look_for_the_verb_and_all_others_for_a_noun_above_all_a_living_one(page):
    """The words are The, cat, sat, on, my, mat; only the cat is alive."""
    weights, causal = (
        scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, mask)[1] for mask in (None, CAUSAL)
    )
    for word, row in enumerate(weights):
        first, second, *_ = row.argsort(descending=True).tolist()
        assert (first == 2) if word in (1, 5) else ([first, second] == [1, 5])
    shown = (weights[4, 1], weights[4, 5], causal[4, 1])
    assert shows(page, "#sec-play", *(f"{weight:.2f}" for weight in shown))
    assert causal[4].count_nonzero() == 5, "mat is all that the mask hides from my"
    assert causal[1].nonzero().flatten().tolist() == [0, 1], "cat sees The and itself, no verb"
    hidden = CAUSAL.clone()
    hidden[5, 2] = False
    _, after = scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, hidden)
    grown = (after[5] / causal[5])[[0, 1, 3, 4, 5]]
    assert grown.tolist() == pytest.approx([2] * 5, abs=0.06), "about double"
    assert shows(page, "#sec-play", f"{causal[5, 2]:.2f}", f"{1 - causal[5, 2]:.2f}")


def test_mat_sees_two_words_in_a_window_of_2_or_before_a_padding_of_4():
    near, short = create_window_mask(6, window=2), create_padding_mask([2], 6)[0, 0]
    assert (CAUSAL & near)[5].nonzero().flatten().tolist() == [4, 5]
    assert near[5].nonzero().flatten().tolist() == [4, 5]
    assert (CAUSAL & short)[5].nonzero().flatten().tolist() == [0, 1]


# A leak: a word is changed, and an output before it moves.


def moved(mask, word):
    """Which outputs move when 1 is added to a word."""
    return (moves(mask)[:, word] != 0).tolist()


def test_each_hidden_mask_has_one_cell_too_many_and_its_moves_show_it(page):
    for shown, (should, leak) in zip(payloads(page)["hunt"]["masks"], HUNTED, strict=True):
        mask = opened(should, leak)
        assert shown["should"] == should.tolist()
        assert tuple(shown["leak"]) == leak
        assert not should[leak]
        assert 1 != leak[1] > leak[0], "cat is changed from the start"
        far = torch.tensor(shown["moved"]).double()
        torch.testing.assert_close(far, moves(mask), atol=1e-6, rtol=1e-6)
        assert torch.equal(far != 0, mask | EYE), "to the last bit"
        assert far[far != 0].min() > 0.05, "none is shown as 0.00"


def test_in_two_layers_a_change_arrives_by_way_of_other_words():
    """With two layers a leak moves an earlier output as with one, and more outputs besides."""
    assert not moves(CAUSAL, layers=2).triu(1).any(), "without a leak nothing arrives"
    for should, leak in HUNTED[:3]:
        mask = opened(should, leak)
        further = moves(mask, layers=2) != 0
        assert further[leak]
        assert (further & ~(mask | EYE)).triu(1).any()


def test_changing_each_word_finds_every_open_cell():
    """One cell above the diagonal at a time; changing the last word alone finds a third of them."""
    by_the_last = 0
    for row, column in torch.triu_indices(6, 6, 1).T.tolist():
        leaks = [any(moved(opened(CAUSAL, (row, column)), word)[:word]) for word in range(6)]
        assert any(leaks)
        by_the_last += leaks[-1]
    assert by_the_last == 5


def test_the_words_of_a_prefix_may_see_one_another_and_the_answer_leaks_nothing():
    should, leak = HUNTED[3]
    far = moves(opened(should, leak)).triu(1)
    assert far.nonzero().tolist() == [[0, 1], [*leak]], "The sees cat, of the question"


def test_only_what_a_row_hides_must_stay_as_it_was():
    """One layer: another output moves just where its row shows the changed word, by any rule."""
    for should, _ in HUNTED:
        far = moves(should)
        assert not far[~(should | EYE)].any()
        assert far[should].all()
    window, _ = HUNTED[2]
    assert moves(window, layers=2)[~(window | EYE)].any(), "in two layers by way of other words"


SLOW = "our slow cats don't want these red horseshoes [end]".split()
LENTS = "nos chats lents ne veulent pas ces fers à cheval rouges [end]".split()


def test_the_map_of_the_phrases_is_not_square_and_follows_the_words(page):
    model = trained("phrases")
    assert model.translate([SLOW], 12) == [LENTS]
    weights = model.weights(SLOW, LENTS)
    assert weights.argmax(-1).tolist() == [0, 2, 1, 3, 4, 3, 5, 7, 7, 7, 6, 8]
    assert is_held_out("slow", "cats")
    assert is_held_out("red", "horseshoes")
    table = page.select("#translator-rows .fallback tbody tr")
    for row, step, want in zip(table, pairwise(["[start]", *LENTS]), weights, strict=True):
        *names, looks_at, weight = [cell.get_text().strip() for cell in row.select("td, th")]
        assert tuple(names) == step
        assert looks_at.replace("’", "'") == SLOW[want.argmax()]
        assert float(weight) == pytest.approx(want.max().item(), abs=0.0051)


@torch.no_grad()
def test_without_slow_the_same_query_looks_at_don_t(page):
    """The query is of the French words so far, and no English reaches it."""
    model, asked, queries = trained("phrases"), [], []
    model.across.register_forward_pre_hook(lambda _, inputs: asked.append(inputs[0][0]))
    fast = [word for word in SLOW if word != "slow"]
    for english, shown in zip((SLOW, fast), payloads(page)["phrases"]["phrases"], strict=True):
        french = model.translate([english], 12)[0]
        french = french[: french.index("[end]") + 1]
        assert (shown["english"], shown["french"]) == (english, french)
        assert french[:2] == ["nos", "chats"]
        asked.clear()
        weights = model.weights(english, french)
        torch.testing.assert_close(torch.tensor(shown["weights"]), weights)
        looks = "slow" if "slow" in english else "don't"
        assert weights[2, english.index(looks)] > 0.9
        queries.append(asked[0][2])
    one, other = queries
    torch.testing.assert_close(one, other)


def test_the_query_of_chats_finds_an_adjective_or_else_the_word_after_the_noun(page):
    model = trained("phrases")
    links = [[link] for link in LINKS] + [[NOT, verb] for verb in VERBS]
    for link in links:
        for rest in ("these books", "these red horseshoes"):
            for adjective in [*ADJECTIVES, None]:
                before = ["our", adjective, "cats"] if adjective else ["our", "cats"]
                english = [*before, *link, *rest.split(), "[end]"]
                weights = model.weights(english, ["nos", "chats", "[end]"])[2]
                assert english[weights.argmax()] == (adjective or link[0])
                assert "red" not in rest or weights[english.index("red", 2)] < 0.05, "farther on"
    assert shows(page, "#sec-cross", str(len(ADJECTIVES)))


# Hide what has to be guessed.


@torch.no_grad()
def test_the_storyteller_reads_a_given_text_under_its_causal_mask():
    model = load_storyteller()
    tokens = torch.randint(100, (1, 8), generator=torch.Generator().manual_seed(0))
    changed = tokens.clone()
    changed[0, 5] = changed[0, 5] + 1
    one, other = (model(x).logits[0] for x in (tokens, changed))
    torch.testing.assert_close(one[:5], other[:5])
    assert not torch.allclose(one[5], other[5])


@torch.no_grad()
def test_the_word_in_a_gap_depends_on_what_comes_after_it(page):
    model, gaps = load("models/grammar/weights/masked.safetensors"), []
    for rest in ("small .", "the cat ."):
        tokens = model.encode(f"the girl [mask] {rest}".split())
        gaps.append(VOCABULARY[model(tokens).logits[0, 2].argmax()])
    assert gaps[0] != gaps[1]
    shown = [word.get_text() for word in page.select("#sec-guessed em")]
    assert [word for word in shown if word in gaps] == gaps


def without_mask(model):
    """The model's layers without the causal mask, by PyTorch's own softmax."""
    for layer in model.layers:
        layer.is_causal = False
    return model


@torch.no_grad()
def test_while_writing_the_mask_matters_from_the_second_layer_on(page):
    """The newest word sees everything in any case; the earlier ones don't."""
    path = "models/grammar/weights/causal.safetensors"
    model, blind = load(path), without_mask(load(path))
    assert len(model.layers) == 2
    counts = []
    for sentence in sentences(99, 200):
        tokens = model.encode(sentence.words)
        ends = torch.arange(2, tokens.shape[1])
        so_far = torch.arange(tokens.shape[1]) < ends[:, None]  # a text cut after each word
        cut = blind(tokens.expand(len(ends), -1), so_far[:, None, None]).logits
        whole = model(tokens).logits[0, 1:-1]
        counts += (cut[range(len(ends)), ends - 1].argmax(-1) != whole.argmax(-1)).tolist()
    changed = sum(counts) / len(counts)
    assert changed > 0.1
    assert shows(page, "#sec-guessed", share(changed))
    torch.manual_seed(0)
    single = copying.untrained(is_causal=True)
    tokens = single.encode(COPYING["sentence"])
    with_mask = single(tokens).logits[0]
    no_mask = without_mask(single)(tokens).logits[0]
    torch.testing.assert_close(no_mask[-1], with_mask[-1])
    assert not torch.allclose(no_mask[:-1], with_mask[:-1])


@torch.no_grad()
def test_the_french_words_don_t_look_at_later_ones():
    model = trained("phrases")
    source, so_far, _, lengths = model.batch(["our slow cats".split()], ["nos chats lents".split()])
    other = so_far.clone()
    other[0, 2] = model.targets.index("rouges")
    before, after = (model(source, words, lengths)[0][0] for words in (so_far, other))
    assert torch.equal(before[:2], after[:2])
    assert not torch.equal(before[2], after[2])


# What PyTorch makes of a mask.


def test_both_of_pytorch_s_take_numbers_to_add_and_only_the_layer_a_mask_turned_over(page):
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


@torch.no_grad()
def test_a_forgotten_tilde_leaks_and_empties_the_last_row(page):
    """The layer of PyTorch hides where True stands: its weights say so, and the outputs."""
    forgotten, flipped = output(page, "moved").splitlines()
    assert min(numbers(forgotten.split("[")[1])) > 0
    assert forgotten.endswith("nan]")
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(5, num_heads=1, dtype=X.dtype)
    changed = X.clone()
    changed[5] += 1
    (before, weights), (after, _) = (layer(x, x, x, attn_mask=~CAUSAL) for x in (X, changed))
    far = (after - before).abs().amax(-1)
    assert numbers(flipped.split("[")[1]) == pytest.approx(far.tolist(), abs=0.0051)
    assert not far[:5].any()
    assert torch.equal(weights > 0, CAUSAL)
    _, weights = layer(X, X, X, attn_mask=CAUSAL)
    assert torch.equal(weights[:5] > 0, ~CAUSAL[:5])
    assert weights[5].isnan().all()


def test_blanks_on_the_left_have_empty_rows_whose_nan_reaches_the_words(page):
    figure = page.select_one("#cell-figure-left, #figure-left").find_next_sibling()
    rows = [row.select("td")[-4:] for row in figure.select("tbody tr")]
    shown = [[float(cell.get_text()) for cell in row] for row in rows]
    assert shown == LEFT_PADDED.int().tolist()
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0))
    for words_with_nan in (0, 2):  # after one layer, and after two
        x = (x @ x.mT).masked_fill(~LEFT_PADDED, -torch.inf).softmax(-1) @ x
        assert x[0].isnan().any(-1).tolist() == [True] * 2 + [words_with_nan == 2] * 2
    as_it_is, with_itself = (numbers(line) for line in output(page, "spread").splitlines())
    assert as_it_is == [1, 1, 0, 0, 1, 1, 1, 1]
    assert with_itself == [0] * 8


@torch.no_grad()
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("training", [True, False])
def test_what_an_empty_row_gives_and_that_seeing_itself_changes_no_word(heads, training):
    """NaN in the layer alone, without weights not always; zeros in PyTorch's function and in ours.

    With an even number of heads the layer has a fast path, where nothing is trained.
    """
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0))
    theirs = F.scaled_dot_product_attention(x, x, x, LEFT_PADDED)
    ours, _ = scaled_dot_product_attention(x, x, x, LEFT_PADDED)
    for attended in (theirs, ours):
        assert (attended != 0).any(-1).tolist() == [[False, False, True, True]]
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, heads, batch_first=True).train(training)

    def rows(mask, **how):
        return layer(x, x, x, attn_mask=~mask, **how)[0][0]

    assert rows(LEFT_PADDED)[:2].isnan().all()
    is_fast = heads == 2 and not training
    assert rows(LEFT_PADDED, need_weights=False)[:2].isnan().all() == is_fast
    mended = LEFT_PADDED | EYE[:4, :4]
    assert rows(mended, need_weights=False).isfinite().all()
    torch.testing.assert_close(rows(mended)[2:], rows(LEFT_PADDED)[2:])


@pytest.mark.parametrize("need_weights", [True, False])
def test_is_causal_of_the_layer_replaces_a_mask_without_weights(need_weights):
    """One query and four keys, all visible: the layer's own mask lines up the starts."""
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, 1, batch_first=True)
    query, keys, all_visible = torch.randn(1, 1, 8), torch.randn(1, 4, 8), torch.zeros(1, 4).bool()
    how = {"attn_mask": all_visible, "is_causal": True, "need_weights": need_weights}
    before, _ = layer(query, keys, keys, **how)
    changed = keys + torch.eye(4)[:, None, :, None]  # 1 is added to each of the keys in turn
    seen = [not torch.equal(layer(query, x, x, **how)[0], before) for x in changed]
    assert seen == [True, need_weights, need_weights, need_weights]


def test_pytorch_aligns_the_starts_and_floats_and_infinities_get_through(page):
    theirs, ours = (numbers(line.split(":")[1]) for line in output(page, "ends").splitlines())
    assert theirs == [1, 0, 0, 0]
    assert ours == [0.25] * 4
    added, infinite = (line.split(":")[1] for line in output(page, "floats").splitlines())
    want = torch.tensor([1.0, 0, 0]).softmax(-1).tolist()
    assert numbers(added) == pytest.approx(want, abs=0.0051), "floats of 0 and 1 hide nothing"
    assert infinite.count("nan") == 2


def test_the_wrong_shape_hides_by_head_where_it_is_not_refused(page):
    right, wrong, *errors = output(page, "pitfalls").splitlines()
    assert numbers(right.split(":")[1]) == [0, 0]
    on_first_head, on_second = numbers(wrong.split(":")[1])
    assert on_first_head > on_second == 0
    for error, says in zip(errors, ("mask[None]", "broadcast", "device"), strict=True):
        assert says in error


def test_the_bug_empties_the_rows_of_the_blanks_and_hides_no_key(page):
    rows = [[numbers(cell) for cell in row[1:]] for row in cells(page, "bug-rows")]
    is_word = [1, 1, 0, 0]
    assert rows == [[is_word, [word] * 4] for word in is_word]
