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
from tests.widgets.truth_token_focus import found_with_hidden, maps, subsets

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


def test_a_soft_answer_moves_with_the_query_and_a_hard_one_stays(page):
    queries = np.array([[1, 1], [0.9, 1.1]])
    hard = HEIGHTS[(queries @ HARBOURS.T).argmax(-1)]
    before, after = (look_up(*query)[1] for query in queries)
    assert hard.tolist() == [0.6, 0.6]
    assert before < after < 1.8, "a little nearer"
    assert shows(page, "#sec-limit", "0.60", "0.60", f"{before:.2f}", f"{after:.2f}")


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


def test_trophy_has_to_see_the_last_word(page):
    """Whom the pronoun finds when the last word is hidden from words of layer 1, all 8 ways."""
    small = {}
    for unseen in subsets([TROPHY, SUITCASE, PRONOUN]):
        assert found_with_hidden("big", unseen).argmax() == TROPHY, "whatever is hidden"
        small[tuple(unseen)] = row = found_with_hidden("small", unseen)
        assert row.argmax() == (TROPHY if TROPHY in unseen else SUITCASE)
    shown = cells(page, "hidden-from") + cells(page, "hidden-twice")
    hidden = [(), (PRONOUN,), (TROPHY,), (SUITCASE,), (TROPHY, SUITCASE, PRONOUN)]
    hidden += [(), (PRONOUN,), (TROPHY,), (TROPHY, PRONOUN)]
    for row, unseen in zip(shown, hidden, strict=True):
        want = small[unseen][[TROPHY, SUITCASE, PRONOUN]]
        assert [text.replace("\u202f", " ") for text in row[1:]] == [share(w) for w in want]

    seen, unseen = small[()], small[TROPHY,]
    behind = (seen[SUITCASE] / seen[TROPHY]).log()
    ahead = (unseen[TROPHY] / unseen[SUITCASE]).log()
    looks = maps("masked", 2)[3, :, LAST]
    told = f"{behind:.1f}", f"{round(behind.exp().item(), -1):.0f}", f"{ahead:.1f}"
    assert shows(page, "#sec-noun", share(looks[TROPHY]), share(looks[SUITCASE]))
    assert shows(page, "#sec-noun", *told)
    # Nobody sees the last word: the same whichever it is.
    assert shows(page, "#sec-noun", share(small[TROPHY, SUITCASE, PRONOUN][TROPHY]))


def test_one_causal_head_looks_most_at_trophy_and_is_not_sure(page):
    rows = maps("causal", 1)[:-1, PRONOUN]
    [found] = [row[TROPHY] for row in rows[4:] if row.argmax() == TROPHY]
    assert shows(page, "#sec-noun", share(found))
