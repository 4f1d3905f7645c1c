"""m02: its sentences against numbers computed here."""

import json

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from models.grammar.examples import EXAMPLES, HERE, head_maps, named_heads
from tests.lessons.reading import numbers, output

PAGE = "modules/m02_query_key_value/lesson.html"


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
    heights = [3.2, 1.0, 0.4, 1.8, 2.6]
    assert mean == pytest.approx(np.mean(heights))
    assert answers[0] == pytest.approx(mean, abs=0.01)
    assert best == answers[-1] == 1.0


def test_france_retrieves_france_and_the_old_keys_did_not(page):
    old = numbers(output(page, "memory"))
    assert max(old) - min(old) < 0.08
    assert old[1] == sorted(old)[-2], "Berlin is second"
    france, capital, german = (numbers(row) for row in output(page, "memory-repaired").splitlines())
    assert sum(france[i] for i in (0, 2, 3)) > 0.98
    assert capital[0] > 0.95
    assert german[4] > 0.95


def test_kernel_regression_is_attention(page):
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


def test_words_alike_fit_each_other(page):
    muddy, dog, _ = output(page, "embeddings").splitlines()
    assert {"sandy", "wet", "green"} <= set(muddy.split())
    assert {"cow", "lion", "fox", "horse", "animal", "cat"} & set(dog.split())


def test_the_best_heads_are_those_of_the_scores(page):
    lines = output(page, "scores").splitlines()
    found = {}
    for name in ("masked", "masked-standard"):
        seeds = json.loads((HERE / "scores" / f"{name}.json").read_text())["seeds"].values()
        for relation in ("verb", "it"):
            want = [run["attention"][relation]["weight"] for run in seeds]
            found[name, relation] = want
            np.testing.assert_allclose(numbers(lines.pop(0)), want, atol=0.0051)
            assert len(want) >= 3
        assert all(run["accuracy"]["pairs"]["1 distractors"] > 0.98 for run in seeds)
    assert min(*found["masked", "verb"], *found["masked", "it"]) > 0.8
    assert min(found["masked-standard", "verb"]) < 0.3 < 0.9 < max(found["masked-standard", "verb"])
    assert max(found["masked-standard", "it"]) < 0.3


def test_the_example_heads_do_what_the_page_says(page):
    maps, named = head_maps("masked"), named_heads("masked")
    it = next(i for i, name in enumerate(maps["heads"]) if "“it”" in name)
    for sentence, noun in [(1, "trophy"), (2, "suitcase"), (4, "mat")]:
        text, focus, _ = EXAMPLES[sentence]
        row = maps["weights"][sentence][it, focus]
        assert text.split()[row.argmax()] == noun
        assert row.sum().item() == pytest.approx(1, abs=1e-4)
    said = ", ".join(named.values())
    assert all(
        words in said for words in ("verb to subject", "“it” to its noun", "adjective to noun")
    )
    assert not named_heads("causal")
