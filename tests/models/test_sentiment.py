"""models/sentiment: reviews with the truth about them, classifiers, and what methods find."""

import re
from random import Random

import pytest
import torch

from models import weights
from models.sentiment import attributions, scores, train
from models.sentiment.reviews import (
    BAD,
    BLANK,
    GOOD,
    INDEX,
    MAX_LEN,
    PAD,
    READ,
    STRESSES,
    TURNS,
    WORKS,
    is_held_out,
    reviews,
    swapped,
    to_tensors,
)
from tests.conftest import ROOT
from tests.models.small import assert_all_near
from tests.scores import scores_of

HERE = ROOT / "models" / "sentiment"


def model_of(name, seed):
    return weights.load(HERE / "weights" / f"{name}-{seed}.safetensors")


# ---- The reviews ---------------------------------------------------------------------------


def answer_by_reading(text):
    """The verdict, found by reading the clause of the work with a pattern."""
    work = "|".join(WORKS)
    adjective = "|".join(GOOD + BAD)
    [clause] = [part for part in text.removesuffix(" .").split(" and ")
                if re.search(rf"\b({work})\b", part)]  # fmt: skip
    [word] = re.findall(rf"\b({adjective})\b", clause)
    return (word in GOOD) != bool(set(clause.split()) & set(TURNS))


@pytest.mark.parametrize("held_out", [False, True])
def test_the_answer_is_that_of_the_work_s_clause(held_out):
    for one in reviews(3, 500, held_out=held_out):
        assert answer_by_reading(str(one)) == one.is_good
        assert one.words[0] == READ
        assert len(one.words) <= MAX_LEN
        adjective, work = one.words[one.decisive[-1]], one.words[one.work]
        assert is_held_out(work, adjective) == held_out
        assert {one.work, *one.decisive} <= set(one.verdict)
        assert not set(one.lures) & set(one.verdict)


def test_without_its_turn_the_answer_is_the_other_one_and_other_opinions_don_t_count():
    for one in reviews(4, 300):
        words = one.words[1:]
        if len(one.decisive) == 2:
            without = [word for i, word in enumerate(one.words) if i and i != one.decisive[0]]
            assert answer_by_reading(" ".join(without)) != one.is_good
        for lure in one.lures:
            other = [*words]
            other[lure - 1] = "dull" if words[lure - 1] in GOOD else "fine"
            if words[lure - 1] not in TURNS:
                assert answer_by_reading(" ".join(other)) == one.is_good
        assert answer_by_reading(str(swapped(one, Random(0)))) != one.is_good


def test_neither_answer_nor_lure_gives_the_other_away():
    texts = list(reviews(5, 4000))
    assert sum(one.is_good for one in texts) / len(texts) == pytest.approx(0.5, abs=0.03)
    lured = [one for one in texts if any(one.words[i] in GOOD for i in one.lures)]
    assert sum(one.is_good for one in lured) / len(lured) == pytest.approx(0.5, abs=0.05)


# ---- The methods ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batch():
    return to_tensors(list(reviews(10**6, 12, held_out=True)))


@pytest.mark.parametrize("name", attributions.METHODS)
def test_methods_give_padding_and_the_first_word_nothing_and_don_t_see_the_batch(name, batch):
    model, method, (tokens, *_) = model_of("ordinary", 0), attributions.METHODS[name], batch
    sizes = method(model, tokens)
    assert (sizes[(tokens == INDEX[PAD]) | (tokens == INDEX[READ])] == 0).all()
    assert (sizes != 0).any(1).all()
    length = int((tokens[0] != INDEX[PAD]).sum())
    alone = method(model, tokens[:1, :length])
    torch.testing.assert_close(sizes[:1, :length], alone, rtol=1e-3, atol=1e-5)


def test_erasure_and_deletion_are_the_margin_s_fall(batch):
    model, (tokens, *_) = model_of("ordinary", 0), batch
    erased, deleted = tokens.clone(), torch.full_like(tokens, INDEX[PAD])
    erased[:, 3] = INDEX[BLANK]
    for row in range(len(tokens)):
        words = tokens[row].tolist()
        deleted[row, :-1] = torch.tensor(words[:3] + words[4:])
    for method, without in ((attributions.by_erasure, erased), (attributions.by_deletion, deleted)):
        fall = attributions.margin(model, tokens) - attributions.margin(model, without)
        torch.testing.assert_close(method(model, tokens)[:, 3], fall.detach())


def test_integrated_gradients_sum_to_what_the_words_change(batch):
    model, (tokens, *_) = model_of("ordinary", 0), batch
    sizes = attributions.by_integrated_gradients(model, tokens, steps=400)
    blanks = attributions.margin(model, attributions._all_blank(tokens))
    change = attributions.margin(model, tokens) - blanks
    torch.testing.assert_close(sizes.sum(1), change.detach(), rtol=0.05, atol=0.05)


def test_the_states_way_gives_the_model_s_margin(batch):
    model, (tokens, *_) = model_of("ordinary", 0), batch
    x = model.embedding[tokens] + model.positions[: tokens.shape[1]]
    margin, states = attributions.margin_of_states(model, x, attributions.visible(tokens))
    torch.testing.assert_close(margin, attributions.margin(model, tokens))
    again, _ = attributions.margin_of_states(
        model, states[1], attributions.visible(tokens), start=1
    )
    torch.testing.assert_close(again, margin)


def test_finds_counts_the_largest_sizes_and_takes_no_side_where_they_are_the_same():
    decides = torch.tensor([[0, 1, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]]).bool()
    sizes = torch.tensor([[0.1, -3, 1, 2], [0.1, -3, 2.5, 2], [0, 0.1, -0.2, 0.1]])
    assert attributions.finds(sizes, decides).tolist() == [True, False, True]
    for decisive in (0, 2):
        decides = torch.arange(3)[None] == decisive
        for sizes in (torch.zeros(1, 3), torch.tensor([[1.0, 0.5, -1.0]])):
            assert attributions.finds(sizes, decides).tolist() == [False]


def test_a_patch_of_every_differing_state_before_the_first_layer_moves_all_the_way(batch):
    model, texts = model_of("ordinary", 0), list(reviews(10**6, 12, held_out=True))
    others = [swapped(one, Random(1)) for one in texts]
    tokens, other = (to_tensors(some)[0] for some in (texts, others))
    before, between = attributions.patched(model, tokens, other)
    for row, one in enumerate(texts):
        assert before[row, one.decisive[-1]].item() == pytest.approx(1, abs=1e-3)
        before[row, one.decisive[-1]] = 0
    assert before.abs().max() < 1e-3, "words that are the same change nothing"
    assert between.abs().max() > 0.3


# ---- The scores ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_shipped_weights_score_what_is_told():
    got = scores.score(model_of("ordinary", 2))
    wanted = scores_of("sentiment", "ordinary")["seeds"]["2"]
    for key, value in got.items():
        within = 0.003 if key in ("right", "equal weights") else 0.02
        assert_all_near(value, wanted[key], within, key)


@pytest.mark.slow
def test_a_short_training_lowers_the_loss_and_a_fine_the_looks(tmp_path):
    data = to_tensors(list(reviews(0, 1000)))
    tokens, _, decides = to_tensors(scores.held_out(100))
    looks = {}
    for name in ("ordinary", "fined"):
        losses = []
        model, _ = train.train_one(
            train.RECIPES[name], 0, data, tmp_path / f"{name}.pt",
            lambda _, loss, losses=losses: losses.append(loss), steps=120,
        )  # fmt: skip
        assert losses[-1] < losses[0]
        sizes = attributions.by_attention(model, tokens)
        looks[name] = (sizes * decides).sum(1).mean().item()
    assert looks["fined"] < looks["ordinary"]


def test_the_answer_as_a_function_of_the_weights_is_the_model_s(batch):
    model, (tokens, *_) = model_of("ordinary", 0), batch
    answer, own = attributions.answer_by_weights(model, tokens)
    torch.testing.assert_close(answer(own), attributions.margin(model, tokens))
    weights, far, moved = attributions.other_weights(model, tokens, steps=60)
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(tokens), 1))
    assert (weights[:, 0][tokens == INDEX[PAD]] == 0).all()
    chances = [answer(row).detach().sigmoid() for row in (weights, own)]
    torch.testing.assert_close(*chances, atol=scores.CLOSE, rtol=0)
    torch.testing.assert_close(moved, (chances[0] - chances[1]).abs())
    torch.testing.assert_close(far, (weights - own).abs().sum(-1).mean(1) / 2)


def test_stresses_and_places_by_kind():
    texts = list(reviews(6, 200))
    _, _, decides = to_tensors(texts)
    stresses = scores.stresses(texts, decides)
    assert not (stresses & decides).any()
    for row, one in enumerate(texts):
        here = [one.words[position] for position in stresses[row].nonzero()[:, 0].tolist()]
        assert here == [w for w in (one.words[i] for i in one.verdict) if w in STRESSES]
    of = scores.by_kind("looks", decides.float(), texts)
    assert of["looks, plain"]["turn"] == 0
    assert of["looks, plain"]["adjective"] == of["looks, turned"]["turn"] == 1
    turned = sum(len(one.decisive) == 2 for one in texts) / len(texts)
    assert of["looks"]["turn"] == pytest.approx(turned)


def test_equal_weights_keep_an_answer_as_often_as_review_by_review():
    model, texts = model_of("ordinary", 2), scores.held_out(60)
    same = 0
    for one in texts:
        tokens = to_tensors([one])[0]
        answer, own = attributions.answer_by_weights(model, tokens)
        equal = torch.full_like(own, 1 / len(one.words))
        same += ((answer(own) > 0) == (answer(equal) > 0)).item()
    share = scores.keeps_by_equal_weights(model, to_tensors(texts)[0])
    assert share == pytest.approx(same / len(texts), abs=1e-4)
    assert 0.6 < share < 1
