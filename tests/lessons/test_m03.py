"""m03: its sentences against numbers computed here."""

import re
from pathlib import Path

import numpy as np
import torch

from attention import scaled_dot_product_attention
from tests.lessons.reading import numbers, output

PAGE = "modules/m03_scaled_dot_product/lesson.html"


def test_weights_equal_pytorchs(page):
    q = torch.tensor([[1, 0.5], [0, 2], [2, 1]], dtype=torch.float64)
    k = torch.tensor([[0, 1], [2, 0.5], [0.5, 1]], dtype=torch.float64)
    want = torch.softmax(q @ k.T / 2**0.5, dim=-1).numpy()
    shown, sums = output(page, "numpy").split("rows sum to")
    np.testing.assert_allclose(np.reshape(numbers(shown), (3, 3)), want, atol=5e-4)
    assert numbers(sums) == [1, 1, 1]


WORKED = {
    "query": [[1, 0.5], [0, 2], [2, 1]],
    "key": [[0, 1], [2, 0.5], [0.5, 1]],
    "value": [[-1, 1], [2, 0.5], [0.5, 1.5]],
}


def test_the_queries_keys_and_values_of_the_pencil_are_the_codes(page):
    shown = [row.select("td")[1:] for row in page.select("#setup + * tbody tr, #setup tbody tr")]
    for word, cells in enumerate(shown):
        for name, cell in zip(WORKED, cells, strict=True):
            assert numbers(cell.get_text()) == WORKED[name][word]


def row(query, scale=2**-0.5):
    scores = np.array(WORKED["key"]) @ query
    powers = np.exp(scores * scale)
    return scores, scores * scale, powers, powers / powers.sum()


def test_the_weights_asked_for_first(page):
    """80 % before; doubled: the same by parts of the sum, 90 % by halves, 97 % right."""
    scores, _, _, before = row([2, 1])
    doubled, _, powers, after = row([4, 2])
    assert doubled.tolist() == (2 * scores).tolist()
    np.testing.assert_allclose(powers, row([2, 1])[2] ** 2)  # "is squared when the score doubles"
    linear = [(s / s.sum())[1] for s in (scores, doubled)]
    assert linear[0] == linear[1]
    halved = 1 - (1 - before[1]) / 2
    choices = page.select("#predict-sat > ol > li")
    shown = [numbers(choice.get_text())[0] for choice in choices]
    assert shown == [round(100 * x) for x in (before[1], halved, after[1], 1)] == [80, 90, 97, 100]
    assert page.select_one("#predict-sat")["data-right"] == "3"


def test_the_steps_with_a_pencil(page):
    scores, scaled, powers, weights = row([1, 0.5])
    steps = [step.get_text() for step in page.select("#sec-sum > ol > li")]
    assert scores.tolist() == [0.5, 2.25, 1]
    for number in scaled:
        assert f"{number:.3f}" in steps[1]
    for number in (*powers, powers.sum()):
        assert f"{number:.2f}" in steps[2]
    for number in weights:
        assert f"{number:.3f}" in steps[2]
    exact, rounded = (np.array(w) @ WORKED["value"] for w in (weights, weights.round(3)))
    assert np.abs(exact - rounded).max() < 0.001
    assert f"≈ {exact[0]:.2f}, and the second" in steps[3]
    assert f"≈ {exact[1]:.2f}." in steps[3]


def test_the_smallest_example():
    """e^0.7 is about 2, so the weights are about a third and two thirds."""
    key, value = torch.tensor([[0], [0.7]]), torch.tensor([[3.0], [9.0]])
    output, weights = scaled_dot_product_attention(torch.ones(1, 1), key, value)
    torch.testing.assert_close(weights, torch.tensor([[1 / 3, 2 / 3]]), rtol=0, atol=0.002)
    assert round(output.item(), 1) == 7


def test_the_two_rows_left_to_the_reader(page):
    cat, sat = (p.get_text() for p in page.select("#sec-sum .answer p"))
    for text, query in ((cat, [-1, 1]), (sat, [4, 2])):
        scores, scaled, powers, weights = row(query)
        first, second, third = (f"{score:g}".replace("-", "\N{MINUS SIGN}") for score in scores)
        assert f"its scores are {first}, {second} and {third}," in text
        for number in scaled:
            assert f"{number:.3f}".replace("-", "\N{MINUS SIGN}") in text
        if query == [-1, 1]:
            for number in (*powers, powers.sum()):
                assert f"{number:.3f}" in text
            for number in weights:
                assert f"{number:.3f}" in text
            assert weights.argmin() == 1  # "looks least at itself"
            exact = weights @ WORKED["value"]
            assert exact.round(2).tolist() == [-0.16, 1.14]
            assert "(−0.16, 1.14)" in text
            rounded = weights.round(3) @ WORKED["value"]
            assert rounded.round(2).tolist() == exact.round(2).tolist()  # with a pencil
        else:
            first, second, third, total = (*powers, powers.sum())
            said = f"{first:.1f}, {second:.0f} and {third:.1f}, together {total:.0f}"
            assert said in text
            assert f"{second:.0f}/{total:.0f}, which is {100 * weights[1]:.0f}" in text


def test_what_is_said_of_differences(page):
    said = " ".join(page.select_one("#sec-sum").get_text().split())
    _, scaled, _, weights = row([2, 1])
    leads = scaled[1] - scaled[[0, 2]]
    for lead in leads:
        assert re.search(rf"power of {lead:.2f} is about {np.exp(lead):.0f}[.:]", said)
    np.testing.assert_allclose(weights[1] / weights[[0, 2]], np.exp(leads))
    assert np.exp(leads).round().tolist() == [12, 6]
    _, _, _, doubled = row([4, 2])
    ratios = doubled[1] / doubled[[0, 2]]
    np.testing.assert_allclose(ratios, np.exp(leads) ** 2)
    assert ratios[0] > 100  # "more than a hundred times the weight of The"
    assert ratios[1] > 30


def test_a_key_of_zeros_still_gets_weight(page):
    given = {name: torch.tensor(x, dtype=torch.float64) for name, x in WORKED.items()}
    given["key"][1] = 0
    _, weights = scaled_dot_product_attention(**given)
    assert weights[2].argmax() == 2  # "looks mostly at itself"
    said = page.select_one("#sec-play").get_text()
    assert f"gives itself {100 * weights[2, 2]:.0f}" in said
    assert f"still gets {100 * weights[2, 1]:.0f}" in said
    given["query"][1] = 0  # "three zeros"
    _, weights = scaled_dot_product_attention(**given)
    torch.testing.assert_close(weights[1], torch.full((3,), 1 / 3, dtype=torch.float64))


def test_the_sum_of_values_is_the_output(page):
    *terms, total = output(page, "weighted-sum").splitlines()
    parts = [numbers(term.split("=")[1]) for term in terms]
    np.testing.assert_allclose(np.sum(parts, axis=0), numbers(total.split("=")[1]), atol=1.5e-3)
    assert numbers(total.split("=")[1]) == [1.125, 0.828]


def test_the_lines_of_attention_py_are_its_own(page):
    source = Path("attention.py").read_text(encoding="utf-8")
    shown = page.select_one("#attention-source code").get_text().strip().splitlines()
    assert len(shown) == 4
    for line in shown:
        assert source.count(f" {line}\n") >= 1, line


def test_what_a_query_a_key_and_a_value_change():
    """A query: one row of weights and of the output. A key: every row. A value: one column."""
    given = {name: torch.tensor(x, dtype=torch.float64) for name, x in WORKED.items()}
    mixed, before = scaled_dot_product_attention(**given)
    changed = {}
    for name in given:
        other = {**given, name: given[name].clone()}
        other[name][1] += 1
        out, after = scaled_dot_product_attention(**other)
        changed[name] = (after != before).any(-1).sum().item()
        assert (out != mixed).any(-1).sum() == (1 if name == "query" else 3)
    assert changed == {"query": 1, "key": 3, "value": 0}
    given["value"][1, 0] += 1
    out, _ = scaled_dot_product_attention(**given)
    assert (out != mixed).any(0).tolist() == [True, False]


def test_how_many_numbers_one_number_changes(page):
    """Of Q: at most 1 row of weights and 2 numbers; of K: 3 and 6; of V: none and 3."""
    given = {name: torch.tensor(x, dtype=torch.float64) for name, x in WORKED.items()}
    mixed, before = scaled_dot_product_attention(**given)
    found = {name: [] for name in given}
    for name, matrix in given.items():
        for row, column in np.ndindex(*matrix.shape):
            other = {**given, name: matrix.clone()}
            other[name][row, column] += 1
            out, after = scaled_dot_product_attention(**other)
            rows = (after != before).any(-1).sum().item()
            found[name].append((rows, (out != mixed).sum().item()))
    assert found == {"query": [(1, 2)] * 6, "key": [(2, 4), (3, 6)] * 3, "value": [(0, 3)] * 6}


def test_one_number_of_the_key_of_cat_is_enough_for_the_first_goal(page):
    said = " ".join(page.select_one("#sec-play").get_text().split())
    query, value = (torch.tensor(WORKED[name]).double() for name in ("query", "value"))
    found = []
    for at, number in ((0, 3), (1, 2)):
        key = torch.tensor(WORKED["key"]).double()
        key[1, at] = number
        _, weights = scaled_dot_product_attention(query, key, value)
        found.append(100 * weights[2, 1].item())
    assert min(found) > 90
    assert re.search(rf"cat gets {found[0]:.0f}\s%\sor\s{found[1]:.0f}", said)


def test_three_implementations_agree(page):
    differences = numbers(output(page, "same").replace("attention.py − NumPy", ""))
    assert len(differences) == 2
    assert max(differences) < 1e-15


def test_the_worked_example_is_put_right(page):
    scaled, weights = (numbers(line.split(":")[1]) for line in output(page, "worked").splitlines())
    assert scaled == [0.19, 0.77, 0.28]
    assert weights == [0.258, 0.460, 0.282]


def test_shapes(page):
    lines = output(page, "shapes").splitlines()
    sizes = {line.split()[0]: line.split(")")[1].split()[0].replace(",", "") for line in lines}
    assert int(sizes["x"]) == 32 * 2048 * 4096
    assert int(sizes["q"]) == int(sizes["output"]) == 32 * 2048 * 128
    assert int(sizes["weights"]) == 32 * 2048 * 2048
    # "with the 32 heads that fit into 4,096 … 16 times as many numbers as the input"
    assert 32 * int(sizes["weights"]) == 16 * int(sizes["x"])


def test_the_claims_about_additive_scores(page):
    bound, limit = numbers(output(page, "additive").splitlines()[-1])
    assert bound <= limit
    # "For 1,024 words and vectors of 64 … 67 million numbers. The scores are one million."
    assert round(1024 * 1024 * 64 / 1e6) == 67
    assert round(1024 * 1024 / 1e6) == 1


def test_the_answers_of_check_it(page):
    """Equal keys: thirds. A constant added to a row: nothing. Doubled values: doubled output."""
    q, k, v = (torch.randn(3, 2, dtype=torch.float64) for _ in range(3))
    same = torch.softmax(q @ k[:1].expand(3, 2).T, dim=-1)
    torch.testing.assert_close(same, torch.full((3, 3), 1 / 3, dtype=torch.float64))
    weights = torch.softmax(q @ k.T, dim=-1)
    torch.testing.assert_close(torch.softmax(q @ k.T + 5, dim=-1), weights)
    torch.testing.assert_close(weights @ (2 * v), 2 * (weights @ v))
