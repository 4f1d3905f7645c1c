"""m02: its claims against numbers computed here."""

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from course.payloads.token_focus import FOLDER
from models.grammar.words import FRAMES
from models.weights import load
from tests.lessons.page_text import cells, in_order, output, share, shows
from tests.numbers import number, numbers
from tests.widgets.truth_token_focus import (
    after_hiding,
    maps,
    scores_after,
    scores_with_hidden,
    subsets,
)

PAGE = "modules/m02_query_key_value/lesson.html"
HEIGHTS = np.array([1.8, 0.6, 1.4, 3.2, 2.8])
ANGLES = np.deg2rad(90 - 72 * np.arange(5))
HARBOURS = (1.5 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], -1)).round(2)  # their keys
ADJECTIVES = {word for frame in FRAMES for half in frame.adjectives for word in half}
IT = "the trophy did not fit in the suitcase because it was too big"
TROPHY, SUITCASE, PRONOUN, LAST = 1, 7, 9, 12


def look_up(*query):
    """The weights of the harbours and the answer, by attention.py."""
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in ([query], HARBOURS, HEIGHTS[:, None]))
    answer, weights = scaled_dot_product_attention(q, k, v, scale=1.0)
    return weights[0].numpy(), answer.item()


def test_equal_fits_give_the_mean_that_the_first_question_has_right(page):
    question = page.select_one("#predict-nothing")
    assert numbers(question.select_one("p").get_text())[:5] == HEIGHTS.tolist()
    right = question.select("ol > li")[int(question["data-right"]) - 1]
    assert numbers(right.get_text())[0] == pytest.approx(look_up(0, 0)[1]) == HEIGHTS.mean()


def test_the_five_harbours_and_bow_and_ash_by_hand(page):
    weights, answer = look_up(1, 1)
    scores = HARBOURS.sum(1)
    want = [*zip(scores, np.exp(scores), weights, weights * HEIGHTS, strict=True)]
    for (_, key, *row), harbour, numbers_of in zip(
        cells(page, "five-harbours"), HARBOURS, want, strict=True
    ):
        assert numbers(key) == harbour.tolist()
        assert [number(cell) for cell in row] == pytest.approx(numbers_of, abs=0.0051)
    assert shows(page, "#sec-play", f"{answer:.2f}")
    assert min(abs(HEIGHTS - answer)) > 0.1, "no harbour has reported it"
    lead = 1.89 - 1.5
    times = [f"{np.exp(lead / T):.{n}f}" for T, n in ((1, 1), (0.5, 1), (0.1, 0))]
    assert shows(page, "#sec-limit", "1.5", "1.89", f"{lead:.2f}", "0.39", times[0],
                 f"{2 * lead:.2f}", "0.78", times[1], f"{10 * lead:.1f}", times[2])  # fmt: skip


def test_from_hot_to_cold_the_answer_goes_from_the_mean_to_the_best(page):
    *rows, last = output(page, "limit").splitlines()
    answers = [numbers(row)[-1] for row in rows]
    mean, best = numbers(last)
    assert mean == pytest.approx(HEIGHTS.mean())
    assert answers[0] == pytest.approx(mean, abs=0.02)
    assert best == answers[-1] == 0.6
    assert answers == sorted(answers, reverse=True)
    assert min(abs(HEIGHTS - mean)) > 0.1, "no harbour passes for the mean"


def test_a_longer_query_is_sharper(page):
    shares = [share(look_up(length, 0.32 * length)[0][1]) for length in (1, 2)]
    assert in_order(page.select_one("#sec-limit").get_text(), *shares)


def test_a_soft_answer_moves_with_the_query_and_a_hard_one_stays_or_jumps(page):
    queries = np.array([[1, 1], [0.9, 1.1], [0.8, 1.2]])
    hard = HEIGHTS[(queries @ HARBOURS.T).argmax(-1)]
    soft = [look_up(*query)[1] for query in queries]
    assert hard.tolist() == [0.6, 0.6, 1.8]
    assert soft[0] < soft[1] < soft[2] < 1.8, "each turn a little nearer"
    for row, *want in zip(cells(page, "soft-or-hard"), queries, hard, soft, strict=True):
        query, *answers = map(numbers, row)
        assert query == want[0].tolist()
        assert [f"{answer:.2f}" for [answer] in answers] == [f"{one:.2f}" for one in want[1:]]


def test_france_retrieves_france_and_the_old_keys_did_not(page):
    old = [numbers(line)[-1] for line in output(page, "memory").splitlines()]
    scores = torch.tensor([0.765 + 0, 0.68, 0.595 + 0.03, 0.51 + 0.02, 0.01])
    assert old == pytest.approx(scores.softmax(0).tolist(), abs=0.00051)
    assert max(old[:4]) - min(old[:4]) < 0.08, "the first four are nearly equal"
    assert old[1] == sorted(old)[-2], "Berlin is second"
    france, capital, german = (numbers(row) for row in output(page, "memory-repaired").splitlines())
    assert sum(france[i] for i in (0, 2, 3)) > 0.98
    assert capital[0] > 0.95
    assert german[4] > 0.95


def test_kernel_regression_is_attention():
    """By the formula of Nadaraya and Watson, with a bandwidth of 0.4."""
    x, y = torch.rand(2, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = torch.exp(-((x[:, None] - x) ** 2) / (2 * 0.4**2))
    want = weights @ y / weights.sum(-1)
    query, key = torch.stack([x, x**0], -1) / 0.4**2, torch.stack([x, -(x**2) / 2], -1)
    got, _ = scaled_dot_product_attention(query, key, y[:, None], scale=1.0)
    torch.testing.assert_close(got[:, 0], want)


def test_words_alike_fit_each_other_and_it_is_like_none(page):
    muddy, dog, it = output(page, "embeddings").splitlines()
    assert {"sandy", "wet", "green"} <= set(muddy.split())
    assert {"cow", "lion", "fox", "horse", "animal", "cat"} & set(dog.split())
    assert max(numbers(it)) < 0.2


def test_what_the_pronoun_of_the_toy_takes_in(page):
    assert page.select_one("#predict-one")["data-right"] == "2"
    for length in (1, 3):
        power = np.exp(length)
        big = power / (1 + power)
        told = [f"{power:.2f}/{power + 1:.2f}", share(big), f"{big:.2f}", f"{4 * big:.1f}"]
        if length == 1:
            told[2:2] = share(1 - big), f"{1 - big:.2f}", "0"
            assert shows(page, "#sec-hand", "-4", f"-{4 * big:.1f}")
        assert shows(page, "#sec-hand", *told)


def test_what_the_surplus_number_of_a_key_does_to_the_score(page):
    scores = [np.dot((0, 1, 0.5), (0, 1, large)) for large in (4, -4)]
    told = ["0.5", "4", f"{scores[0]:.0f}", "0.5", "4", f"{scores[1]:.0f}"]
    assert shows(page, "#sec-hand", *told)


def test_a_key_that_lets_the_number_in_loses_the_noun_in_the_singular_only(page):
    """By the softmax of the noun's score over the verb's own, which is 0."""
    key_of = {2: (3, 1), -2: (-1, 1)}  # by the wrong matrix, and by the right one
    wrong, right = (
        [number / (1 + np.exp(-3 * keys[i])) for number, keys in key_of.items()] for i in (0, 1)
    )
    assert right == pytest.approx([2, -2], abs=0.2)
    assert wrong[0] == pytest.approx(2, abs=0.01), "the mistake doesn't show"
    assert f"-2: got {wrong[1]:.2f}" in page.select_one("#bug-matrix").get_text()


@torch.no_grad()
def test_it_looks_for_the_words_that_decide(page):
    """The scores of layer 1, head 4, from what the model itself computes."""
    model = load(FOLDER / "weights" / "masked.safetensors")
    projected = model.layers[0].attention.qkv_proj(model.embedding)
    q, k, _ = projected.unflatten(-1, (3, 4, 16)).unbind(1)  # (words, heads, 16)
    scores = k[:, 3] @ q[model.ids["it"], 3] / 16**0.5
    best = [(model.config.vocabulary[i], f"{scores[i]:.1f}") for i in scores.topk(5).indices]
    assert [tuple(line.split()) for line in output(page, "learned-lookup").splitlines()] == best
    assert {word for word, _ in best} <= ADJECTIVES
    assert shows(page, "#sec-made", str(len(model.embedding)))
    of = {word: scores[model.ids[word]].item() for word in IT.split()}
    assert max(of, key=of.get) == "big"
    assert shows(page, "#sec-made", *(f"{of[word]:.1f}" for word in ("big", "it")))
    for last, noun in (("big", TROPHY), ("small", SUITCASE)):
        one, two = model(model.encode([*IT.split()[:-1], last])).weights
        assert one[0, 3, [TROPHY, PRONOUN]].argmax(-1).tolist() == [LAST, LAST]
        assert (two[0, :, PRONOUN].argmax(-1) == noun).all()
        if last == "big":
            assert shows(page, "#sec-noun", share(one[0, 3, PRONOUN, LAST]))


def test_the_head_finds_trophy_unless_trophy_has_looked_at_small(page):
    """The last word is hidden from words of layer 1, in all 8 ways, with either ending."""
    small = {}
    for unseen in subsets([TROPHY, SUITCASE, PRONOUN]):
        big = scores_with_hidden("big", unseen).softmax(-1)
        assert big.argmax() == TROPHY, "whatever is hidden"
        small[tuple(unseen)] = row = scores_with_hidden("small", unseen)
        assert row.argmax() == (TROPHY if TROPHY in unseen else SUITCASE)
    three = [TROPHY, SUITCASE, PRONOUN]
    hidden = [(), (PRONOUN,), (TROPHY,), (SUITCASE,), (*three,)]
    for row, unseen in zip(cells(page, "hidden-from"), hidden, strict=True):
        scores, weights = (vector[three] for vector in (small[unseen], small[unseen].softmax(-1)))
        want = [f"{score:.1f}" for score in scores] + [share(weight) for weight in weights]
        assert [text.replace("\u202f", " ") for text in row[1:]] == want

    nobody, pronoun, trophy = ({i: f"{small[n][i]:.1f}" for i in three} for n in hidden[:3])
    told = [nobody[TROPHY], nobody[SUITCASE], trophy[TROPHY]]
    assert nobody[SUITCASE] == trophy[SUITCASE], "its score stays"
    assert shows(page, "#sec-noun", *told)
    own = small[PRONOUN,].softmax(-1)[PRONOUN]
    assert shows(page, "#sec-noun", pronoun[SUITCASE], pronoun[TROPHY], share(own))
    looks = maps("masked", 2)[3, :, LAST]
    assert shows(page, "#sec-noun", share(looks[TROPHY]), share(looks[SUITCASE]))
    all_three = small[*three,].softmax(-1)[TROPHY]
    assert share(all_three) == share(big[TROPHY])  # the last of the eight ways, as well
    assert shows(page, "#sec-noun", share(all_three))


@torch.no_grad()
def test_by_its_key_the_pronoun_finds_itself_and_by_its_query_suitcase_loses():
    """Small is hidden from the pronoun: its query or its key alone is what that makes of it."""
    seen, hidden = (after_hiding("small", unseen) for unseen in ([], [PRONOUN]))
    before, other_query, other_keys = (
        scores_after(asks, found) for asks, found in ((seen, seen), (hidden, seen), (seen, hidden))
    )
    assert other_query[SUITCASE] < before[SUITCASE] - 4
    assert other_keys[SUITCASE] == before[SUITCASE]
    assert other_query[PRONOUN] < before[PRONOUN] < other_keys[PRONOUN] - 4


def test_one_causal_head_looks_most_at_trophy_and_is_not_sure(page):
    rows = maps("causal", 1)[:-1, PRONOUN]
    [found] = [row[TROPHY] for row in rows[4:] if row.argmax() == TROPHY]
    assert shows(page, "#sec-noun", share(found))


def test_the_toy_finds_its_noun_if_trophy_looks_at_the_last_word(page):
    """Layer 1: trophy takes in what the pronoun did; layer 2: keys are that number."""
    taken = torch.tensor([0, 1.0]).softmax(0)[1].item() * 4
    for size, finds in ((taken, 0), (-taken, 1)):
        weights = torch.tensor([size, 0]).softmax(0)
        assert weights.argmax() == finds
    power, least = np.exp(round(taken, 1)), np.exp(-round(taken, 1))
    told = f"{taken:.1f}", "0", f"{power:.0f}", "1", share(weights.max().item()), f"{least:.2f}"
    assert shows(page, "#sec-noun", *told, share(weights.max().item()))
