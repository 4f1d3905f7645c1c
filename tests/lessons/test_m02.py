"""m02: its claims against numbers computed here."""

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from course.payloads.token_focus import FOLDER, head_maps
from models.grammar.sentences import sentences
from models.grammar.words import FRAMES, NOUNS, ONLY_SINGULAR
from models.weights import load
from tests.lessons.page_text import cells, in_order, output, share, shows
from tests.numbers import numbers
from tests.widgets.truth_token_focus import found_with_hidden, maps, subsets

PAGE = "modules/m02_query_key_value/lesson.html"
HEIGHTS = [1.8, 0.6, 1.4, 3.2, 2.8]
ANGLES = np.deg2rad(90 - 72 * np.arange(5))
HARBOURS = (1.5 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], -1)).round(2)  # their keys
ADJECTIVES = sorted({word for frame in FRAMES for half in frame.adjectives for word in half})
KNOWN = {*NOUNS, *ONLY_SINGULAR}
IT = "the trophy did not fit in the suitcase because it was too big"


@pytest.fixture(scope="module")
def masked():
    return load(FOLDER / "weights" / "masked.safetensors")


@pytest.mark.parametrize("seed", range(5))
def test_soft_becomes_argmax_as_the_temperature_falls(seed):
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(n, 4, generator=generator, dtype=torch.float64) for n in (3, 7, 7))
    hard = v[(q @ k.T).argmax(-1)]
    gaps = []
    for temperature in (1, 0.1, 0.01, 1e-4):
        output, _ = scaled_dot_product_attention(q, k, v, scale=1 / temperature)
        gaps.append((output - hard).abs().max().item())
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-12
    mean, _ = scaled_dot_product_attention(q, k, v, scale=1e-12)
    torch.testing.assert_close(mean, v.mean(0).expand(3, 4))


def test_the_limits_printed_are_the_mean_and_the_best(page):
    *rows, last = output(page, "limit").splitlines()
    answers = [numbers(row)[-1] for row in rows]
    mean, best = numbers(last)
    assert mean == pytest.approx(np.mean(HEIGHTS))
    assert answers[0] == pytest.approx(mean, abs=0.02)
    assert best == answers[-1] == 0.6
    assert answers == sorted(answers, reverse=True)  # hotter: nearer to the mean
    assert min(abs(height - mean) for height in HEIGHTS) > 0.1  # no harbour passes for the mean


def test_equal_fits_give_the_mean_that_the_first_question_has_right(page):
    question = page.select_one("#predict-nothing")
    assert numbers(question.select_one("p").get_text())[:5] == HEIGHTS
    right = question.select("ol > li")[int(question["data-right"]) - 1]
    answer, _ = scaled_dot_product_attention(
        torch.zeros(1, 2), torch.randn(5, 2), torch.tensor(HEIGHTS)[:, None]
    )
    assert numbers(right.get_text())[0] == pytest.approx(answer.item()) == np.mean(HEIGHTS)


def test_a_query_twice_as_long_is_half_the_temperature():
    q, k, v = (torch.randn(n, 2, dtype=torch.float64) for n in (1, 5, 5))
    longer, _ = scaled_dot_product_attention(2 * q, k, v, scale=1.0)
    colder, _ = scaled_dot_product_attention(q, k, v, scale=1 / 0.5)
    torch.testing.assert_close(longer, colder)


def test_france_retrieves_france_and_the_old_keys_did_not(page):
    old = [numbers(line)[-1] for line in output(page, "memory").splitlines()]
    assert max(old[:4]) - min(old[:4]) < 0.08  # "the first four"
    assert old[1] == sorted(old)[-2], "Berlin is second"
    scores = torch.tensor([0.765 + 0, 0.68, 0.595 + 0.03, 0.51 + 0.02, 0.01])
    assert old == pytest.approx(scores.softmax(0).tolist(), abs=0.00051)
    france, capital, german = (numbers(row) for row in output(page, "memory-repaired").splitlines())
    assert sum(france[i] for i in (0, 2, 3)) > 0.98
    assert capital[0] > 0.95
    assert german[4] > 0.95


def test_kernel_regression_is_attention():
    """The page's smoother, by the formula of Nadaraya and Watson; and its learned bandwidth."""
    torch.manual_seed(0)
    x = torch.sort(torch.rand(40) * 6).values.double()
    y = torch.sin(2 * x) + 0.3 * torch.randn(40).double()
    h = 0.4
    weights = torch.exp(-((x[:, None] - x) ** 2) / (2 * h**2))
    want = weights @ y / weights.sum(-1)
    query, key = torch.stack([x, x**0], -1), torch.stack([x, -(x**2) / 2], -1)
    got, _ = scaled_dot_product_attention(query / h**2, key, y[:, None], scale=1.0)
    torch.testing.assert_close(got[:, 0], want)


def test_words_alike_fit_each_other_and_it_is_like_none(page):
    muddy, dog, it = output(page, "embeddings").splitlines()
    assert {"sandy", "wet", "green"} <= set(muddy.split())
    assert {"cow", "lion", "fox", "horse", "animal", "cat"} & set(dog.split())
    assert max(numbers(it)) < 0.2


def test_it_looks_for_the_words_that_decide(page, masked):
    """The scores of layer 1, head 4, from what the model itself computes."""
    layer = masked.layers[0].attention
    parts = torch.nn.functional.linear(masked.embedding, *layer.qkv_proj.parameters())
    q, k, _ = parts.detach().unflatten(-1, (3, 4, 16)).unbind(1)  # (words, heads, 16)
    scores = k[:, 3] @ q[masked.ids["it"], 3] / 16**0.5
    best = scores.argsort(descending=True)[:5]
    words = [(masked.config.vocabulary[i], f"{scores[i]:.1f}") for i in best]
    assert [tuple(line.split()) for line in output(page, "learned-lookup").splitlines()] == words
    adjectives = {word for frame in FRAMES for half in frame.adjectives for word in half}
    assert {word for word, _ in words} <= adjectives  # "All five are adjectives"
    assert len(masked.embedding) == 198
    of = {word: scores[masked.ids[word]].item() for word in {*IT.split()}}
    assert max(of, key=of.get) == "big"
    shown = [f"{of[word]:.1f}" for word in ("big", "it")]
    assert shows(page, "#sec-made", "198")
    assert shows(page, "#sec-made", *shown)
    ids = masked.encode(IT.split())[0]
    with_distance = masked(ids[None]).weights[0][0, 3, 9, -1].item()
    assert shows(page, "#sec-noun", share(with_distance))
    finds = []
    # Without any bias for distance, too, it is the adjective that gets most, in each sentence.
    for text in (IT, IT.replace("big", "small")):
        ids = masked.encode(text.split())[0]
        best = scores[ids].argmax()
        assert text.split()[best] == text.split()[-1]
        first, second = (layer[0, :, 9] for layer in masked(ids[None]).weights)
        assert first[3].argmax() == best
        assert first[3, best] > 0.5
        finds.append(second[0])
        trophy = masked(ids[None]).weights[0][0, 3, 1]
        assert trophy.argmax() == best, "trophy has looked, too"
    assert [row.argmax() for row in finds] == [1, 7]


def test_trophy_has_to_see_the_last_word(page):
    """Whom the pronoun finds when the last word is hidden from words of layer 1, all 16 ways."""
    for unseen in subsets([1, 7, 9]):
        big, small = (found_with_hidden(last, unseen) for last in ("big", "small"))
        assert big.argmax() == 1
        assert small.argmax() == (1 if 1 in unseen else 7), "only trophy's look decides"
    found = [found_with_hidden("small", unseen) for unseen in ([], [9], [1], [7], [1, 7, 9])]
    none, pronoun, trophy, *_ = found
    for row, want in zip(cells(page, "hidden-from"), found, strict=True):
        weights = want[[1, 7, 9]]
        assert [text.replace("\u202f", " ") for text in row[1:]] == [share(w) for w in weights]
    both = found_with_hidden("small", [1, 9])
    for row, want in zip(cells(page, "hidden-twice"), (none, pronoun, trophy, both), strict=True):
        weights = want[[1, 7, 9]]
        assert [text.replace("\u202f", " ") for text in row[1:]] == [share(w) for w in weights]
    ahead, behind = (f"{(row[one] / row[other]).log():.1f}"
                     for row, one, other in ((trophy, 1, 7), (none, 7, 1)))  # fmt: skip
    looks, times = maps("masked", 2)[3, :, 12], f"{round((none[7] / none[1]).item(), -1):.0f}"
    assert shows(page, "#sec-noun", share(looks[1]), share(looks[7]), behind, times, ahead)
    # Nobody sees the last word: the same whichever it is.
    blind = {share(found_with_hidden(last, [1, 7, 9])[1]) for last in ("big", "small")}
    assert len(blind) == 1
    assert shows(page, "#sec-noun", *blind)


def test_the_weights_of_ash_and_bow_by_hand(page):
    scores = HARBOURS @ [1, 1]
    assert HARBOURS[:2].tolist() == [[0, 1.5], [1.43, 0.46]]
    assert scores[:2].round(2).tolist() == [1.5, 1.89]
    powers = np.exp(scores)
    shares = powers / powers.sum()
    lead = 1.89 - 1.5
    times = [f"{np.exp(lead / T):.{n}f}" for T, n in ((1, 1), (0.5, 1), (0.1, 0))]
    assert shows(page, "#sec-limit", "1.5", "1.89", f"{lead:.2f}", "0.39", times[0],
                 f"{2 * lead:.2f}", "0.78", times[1], f"{10 * lead:.1f}", times[2])  # fmt: skip
    shown = [numbers(row[4])[0] for row in cells(page, "five-harbours")]
    assert shown == pytest.approx(shares.tolist(), abs=0.00051)


def test_a_soft_answer_moves_with_the_query_and_a_hard_one_stays(page):
    keys, heights = torch.tensor(HARBOURS), torch.tensor(HEIGHTS, dtype=torch.float64)
    queries = torch.tensor([[1, 1], [0.9, 1.1]], dtype=torch.float64)
    soft, _ = scaled_dot_product_attention(queries, keys, heights[:, None], scale=1.0)
    hard = heights[(queries @ keys.T).argmax(-1)]
    assert hard[0] == hard[1] == 0.6
    assert soft[0] < soft[1] < 1.8  # "a little nearer"
    before, after = (f"{height:.2f}" for height in soft[:, 0].tolist())
    assert shows(page, "#sec-limit", "0.60", "0.60", before, after)
    assert shows(page, "#sec-play", before)
    assert min(abs(heights - soft[0])) > 0.1  # "which no harbour has reported"


def test_one_matrix_turns_a_look_to_what_is_needed(page):
    assert page.select_one("#predict-one")["data-right"] == "2"
    it, big, moves = np.array([1, 0]), np.array([0, 1]), np.array([[0, 1], [0, 0]])
    fits = [[query @ key for key in (it, big)] for query in (it, it @ moves)]
    assert fits == [[1, 0], [0, 1]]
    # "Could one matrix make both?": the pronoun scores as much with itself.
    both = np.array([[0, 1], [0, 1]])
    assert (it @ both).tolist() == (big @ both).tolist() == [0, 1]
    assert (it @ both) @ (big @ both) == (it @ both) @ (it @ both) == 1
    # With a third number, how large: words about size share a key, and differ in their values.
    it, big, small = np.array([1, 0, 0]), np.array([0, 1, 4]), np.array([0, 1, -4])
    to_query, to_key = np.array([[0, 1], [0, 0], [0, 0]]), np.array([[1, 0], [0, 1], [0, 0]])
    to_value = np.array([0, 0, 1])
    assert (
        (it @ to_query).tolist() == (big @ to_key).tolist() == (small @ to_key).tolist() == [0, 1]
    )
    assert (it @ to_query) @ (big @ to_key) == (it @ to_query) @ (small @ to_key) == 1
    assert (it @ to_key).tolist() == [1, 0]
    assert (big @ to_value, small @ to_value, it @ to_value) == (4, -4, 0)
    # What the pronoun takes in: of itself, and of the word about size.
    powers = np.exp([(it @ to_query) @ (word @ to_key) for word in (it, big)])
    own, other = powers / powers.sum()
    takes = [own * (it @ to_value) + other * (word @ to_value) for word in (big, small)]
    assert takes[0] == -takes[1]
    shown = f"{powers.sum():.2f}", share(other), share(own), f"{own:.2f}", f"{other:.2f}"
    assert shows(page, "#sec-hand", *shown, f"{takes[0]:.1f}")
    assert shows(page, "#sec-hand", "-4", f"{takes[1]:.1f}")
    power = np.exp(3 * (it @ to_query) @ (big @ to_key))
    longer = power / (power + 1)
    shown = f"{power:.2f}/{power + 1:.2f}", share(longer), f"{longer:.2f}", f"{4 * longer:.1f}"
    assert shows(page, "#sec-hand", *shown)


def test_at_0_the_answer_jumps_half_way():
    angles = np.linspace(0, 2 * np.pi, 7201)
    best = (np.stack([np.cos(angles), np.sin(angles)], -1) @ HARBOURS.T).argmax(-1)
    jumps = np.rad2deg(angles[1:][np.diff(best) != 0])
    assert len(jumps) == 5
    np.testing.assert_allclose(jumps, sorted((np.rad2deg(ANGLES) - 36) % 360), atol=1)


def test_how_sure_the_causal_head_of_the_goal_is(page):
    maps, it = head_maps("causal"), IT.split().index("it")
    best = [row[it].argmax() for row in maps["weights"][1]]
    weights = [maps["weights"][1][h, it, 1] for h, to in enumerate(best) if to == 1]
    assert len(weights) == 1
    assert shows(page, "#sec-noun", share(weights[0]))


def test_the_words_that_fit_best_are_adjectives_that_followed_it_was(masked):
    texts = [str(one).split() for one in sentences(seed=0, count=20_000)]
    said = {
        word
        for text in texts
        for it, was, *after in zip(text, text[1:], text[2:], text[3:], strict=False)
        if (it, was) == ("it", "was")
        for word in after[after[0] == "too" :][:1]
    }
    q, k, _ = (
        masked.layers[0]
        .attention.qkv_proj(masked.embedding)
        .unflatten(-1, (3, 4, 16))[:, :, 3]
        .unbind(1)
    )
    order = (k @ q[masked.ids["it"]]).argsort(descending=True).tolist()
    leading = next(n for n, i in enumerate(order) if masked.config.vocabulary[i] not in said)
    assert leading > 12, "adjectives of all kinds, big among them"


def test_a_longer_query_is_sharper(page):
    shares = []
    for length in (1, 2):
        powers = np.exp(HARBOURS @ (length * np.array([1, 0.32])))
        shares.append(share(powers[1] / powers.sum()))
    assert in_order(page.select_one("#sec-limit").get_text(), *shares)
