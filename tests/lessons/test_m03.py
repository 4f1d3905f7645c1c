"""m03: its sentences against numbers computed here."""

from pathlib import Path

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from models.weights import load
from tests.lessons.page_text import in_order, output, shows
from tests.numbers import number, numbers

PAGE = "modules/m03_scaled_dot_product/lesson.html"


def test_weights_equal_pytorchs(page):
    q, k = (torch.tensor(WORKED[name], dtype=torch.float64) for name in ("query", "key"))
    want = torch.softmax(q @ k.T / 2**0.5, dim=-1).numpy()
    shown, sums = output(page, "numpy").split("rows sum to")
    np.testing.assert_allclose(np.reshape(numbers(shown), (3, 3)), want, atol=5e-4)
    assert numbers(sums) == [1, 1, 1]


WORKED = {
    "query": [[1, 0.5], [1, 1], [1, 2]],
    "key": [[1, -0.5], [0, 2], [1, 0.5]],
    "value": [[0, 0], [4, 0], [2, 2]],
}


def test_the_queries_keys_and_values_of_the_pencil_are_the_codes(page):
    shown = [row.select("td")[1:] for row in page.select("#setup + * tbody tr, #setup tbody tr")]
    for word, line in enumerate(shown):
        for name, cell in zip(WORKED, line, strict=True):
            assert numbers(cell.get_text()) == WORKED[name][word]


def row(query, scale=2**-0.5):
    scores = np.array(WORKED["key"]) @ query
    powers = np.exp(scores * scale)
    return scores, scores * scale, powers, powers / powers.sum()


def test_the_ratio_asked_for_first(page):
    """4.11 before; doubled: the same, twice as much, or the square, which is right."""
    scores, _, _, before = row([1, 2])
    doubled, _, powers, after = row([2, 4])
    assert doubled.tolist() == (2 * scores).tolist()
    np.testing.assert_allclose(powers, row([1, 2])[2] ** 2)
    ratio, squared = (weights[1] / weights[2] for weights in (before, after))
    assert f"{round(ratio, 2) ** 2:.1f}" == f"{squared:.1f}"  # "4.11 · 4.11"
    linear = [(s / s.sum())[1] for s in (scores, doubled)]
    assert linear[0] == linear[1]
    choices = [numbers(li.get_text()) for li in page.select("#predict-double > ol > li")]
    one = round(ratio, 2)
    assert choices == [[one], [2 * one], [round(squared, 1)], []]
    assert shows(page, "#predict-double", "1", "2", f"{ratio:.2f}", "2", "4")
    assert page.select_one("#predict-double")["data-right"] == "3"


def test_the_steps_with_a_pencil(page):
    scores, scaled, powers, weights = row([1, 2])
    rows = [
        [cell.get_text() for cell in line.select("td")]
        for table in page.select("#sec-sum table")
        if "÷ their sum" in table.get_text()
        for line in table.select("tbody tr")
    ]
    assert scores.tolist() == [0, 4, 2]
    texts = [
        ["0", "4", "2"],
        ["0", *(f"{number:.3f}" for number in scaled[1:])],
        [f"{number:.2f}" for number in powers],
        [f"{number:.3f}" for number in weights],
    ]
    assert [line[1:] for line in rows] == texts
    assert rows[3][0] == f"÷ their sum, {powers.sum():.2f}"
    exact, rounded = (np.array(w) @ WORKED["value"] for w in (weights, weights.round(3)))
    assert exact.round(2).tolist() == rounded.round(2).tolist() == [3.45, 0.37]
    assert shows(page, "#sec-sum", *texts[3], "3.45", "0.37")
    assert 9 < exact[0] / exact[1] < 9.5  # "nine times as much water"
    assert WORKED["value"][2] == [2, 2]  # "its value has 2 of each"
    meaning, key = WORKED["query"][2], WORKED["key"]
    assert meaning[1] > meaning[0]  # "more for meaning than for grammar"
    assert np.argmax([second for _, second in key]) == 1  # "River tells much"
    assert [second < 0 for _, second in key] == [True, False, False]  # "its second … negative"


def test_the_table_to_fill_has_the_numbers_of_the_answer(page):
    """Two columns of the steps are given; left are that of *river*, the weights and the mix."""
    [table] = [t for t in page.select("#sec-sum table") if "compare" in t.get_text()]
    given = [[c.get_text() for c in line.select("td")[1:]] for line in table.select("tbody tr")]
    scores, scaled, powers, _ = row([1, 2])
    for column, digits in ((0, "0"), (2, "3")):
        first, second, third = (line[column] for line in given[:3])
        assert number(first.split("=")[-1]) == scores[column]
        assert second == f"{scaled[column]:.{digits}f}"
        assert third == f"{powers[column]:.2f}"
    first, second = given[0][0].split("=")[0].split("+")
    assert [np.prod(numbers(term)) for term in (first, second)] == [1, -1]
    blanks = [[cell == "…" for cell in line] for line in given]
    assert blanks == [[False, True, False]] * 3 + [[True] * 3, [False, True, True]]
    assert numbers(given[4][0]) == WORKED["value"][0]


def test_the_doubled_query_and_the_other_bank_left_to_the_reader(page):
    answers = page.select("#sec-sum .answer")  # first their own row, then these two
    doubled, savings = (" ".join(a.select_one("p").get_text().split()) for a in answers[1:3])
    _, _, powers, weights = row([2, 4])
    first, second, third, total = (*powers, powers.sum())
    assert f"{first:.1f}, {second:.0f} and {third:.1f}, together {total:.0f}" in doubled
    assert f"{second:.0f}/{total:.0f}, which is {weights[1]:.2f}" in doubled
    assert f"{second:.0f}/{third:.1f} ≈ {weights[1] / weights[2]:.1f}" in doubled

    value = np.array(WORKED["value"], dtype=float)
    value[1] = [0, 4]
    for weights in (row([1, 2])[3], row([1, 2])[3].round(3)):  # exactly, and with a pencil
        assert (weights @ value).round(2).tolist() == [0.37, 3.45]
    assert "≈ 0.37 of water" in savings
    assert "≈ 3.45 of money" in savings


def test_what_is_said_of_differences(page):
    """The two ratios, their squares, and what the row would be without the division."""
    [table] = [t for t in page.select("#sec-sum table") if "river : bank" in t.get_text()]
    shown = [
        [cell.get_text() for cell in line.select("td")[1:]] for line in table.select("tbody tr")
    ]
    _, scaled, _, weights = row([1, 2])
    doubled = row([2, 4])[3]
    for column, (j, digits) in enumerate([(2, 1), (0, 0)]):
        lead, ratio = scaled[1] - scaled[j], weights[1] / weights[j]
        assert np.exp(lead) == pytest.approx(ratio)
        assert doubled[1] / doubled[j] == pytest.approx(ratio**2)  # "squares the ratio of any two"
        assert shown[0][column].endswith(f"e to {lead:.3f} ≈ {ratio:.2f}")
        assert shown[1][column] == f"{ratio:.2f}² ≈ {ratio**2:.{digits}f}"
        assert round(round(ratio, 2) ** 2, digits) == round(ratio**2, digits)  # with a pencil, too
    undivided = np.exp([0, 4, 2])
    assert shows(page, "#sec-sum", f"{undivided[1] / undivided.sum():.2f}", f"{weights[1]:.2f}")


def test_what_is_close_to_a_corner_is_not_in_it(page):
    weights = row([0, 9])[3]
    assert f"{weights[1]:.2f}" == "1.00"  # as the widget shows it
    assert shows(page, "#sec-play", "0", "9", f"{weights[1]:.2f}", f"{weights[2]:.5f}")
    assert 0 < weights[0] < weights[2]


def test_the_sum_of_values_is_the_output(page):
    *terms, total = output(page, "weighted-sum").splitlines()
    parts = [numbers(term.split("=")[1]) for term in terms]
    np.testing.assert_allclose(np.sum(parts, axis=0), numbers(total.split("=")[1]), atol=1.5e-3)
    assert numbers(total.split("=")[1]) == [3.445, 0.373]


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
    """Of Q: 3 weights, one row, and 2 numbers of the output; of K: 9 and 6; of V: none and 3."""
    given = {name: torch.tensor(x, dtype=torch.float64) for name, x in WORKED.items()}
    mixed, before = scaled_dot_product_attention(**given)
    changes = {name: [] for name in given}
    for name, matrix in given.items():
        for row, column in np.ndindex(*matrix.shape):
            other = {**given, name: matrix.clone()}
            other[name][row, column] += 1
            out, after = scaled_dot_product_attention(**other)
            assert (after != before).any(-1).sum() == {"query": 1, "key": 3, "value": 0}[name]
            changes[name].append(((after != before).sum().item(), (out != mixed).sum().item()))
    assert changes == {"query": [(3, 2)] * 6, "key": [(9, 6)] * 6, "value": [(0, 3)] * 6}
    rows = [
        [cell.get_text() for cell in row.select("td")[1:3]]
        for table in page.select("#sec-play table")
        if "change one number" in table.get_text()
        for row in table.select("tbody tr")
    ]
    assert rows == [["3 of 9", "2 of 6"], ["all 9", "all 6"], ["none", "3 of 6"]]


def test_the_goals_that_a_query_reaches(page):
    items = page.select("#sec-play .answer > div > ol > li")[:4]
    tie, doubled, first, second = (item.get_text() for item in items)
    scores, _, _, weights = row([1.5, 1])
    assert scores.tolist() == [1, 2, 2]
    shown = [f"{weights[j]:.2f}" for j in (1, 2, 0)]
    assert in_order(tie, "1.5", "1", "2", "1", *shown)
    ratios = []
    for query in ([1.5, 1], [3, 2], [6, 4]):
        weights = row(query)[3]
        assert weights[1] == pytest.approx(weights[2])
        ratios.append(weights[1] / weights[0])
    assert ratios[1:] == pytest.approx([ratios[0] ** 2, ratios[0] ** 4])
    shown = [f"{ratios[0]:.2f}", f"{ratios[1]:.2f}", "3", "2", f"{ratios[2]:.1f}", "6", "4"]
    assert in_order(doubled, *shown, f"{weights[0]:.3f}")
    assert weights[0] < 0.05
    scores, _, _, weights = row([0, -2])
    assert weights[0] > 0.5
    assert in_order(first, "0", "-2", f"{weights[0]:.2f}", *(f"{score:g}" for score in scores))
    assert scores.argsort().tolist() == row([1, 2])[0].argsort()[::-1].tolist()  # turned over
    weights = row([2.5, 1])[3]
    output = weights @ WORKED["value"]
    assert np.hypot(*(output - [2, 1])) < 0.1
    shown = [f"{x:.2f}" for x in (weights[2], weights[0], *output)]
    assert in_order(second, "2.5", "1", *shown)
    assert round(weights[0], 2) == round(weights[1], 2)


def test_the_way_to_the_second_goal(page):
    """Weights of ½ and ¼ give (2, 1); ties and leads of the scores give the query."""
    assert (np.array([0.25, 0.25, 0.5]) @ WORKED["value"]).tolist() == [2, 1]
    for b in (1, 0.3, -2):
        assert row([2.5 * b, b])[0] == pytest.approx([2 * b, 2 * b, 3 * b])
    b = np.log(2) * np.sqrt(2)
    weights = row([2.5 * b, b])[3]
    assert weights == pytest.approx([0.25, 0.25, 0.5])
    power = f"{np.log(2):.3f}"
    assert shows(page, "#sec-play", power, "2", power, "√2", f"{b:.2f}")


def test_the_ratio_in_a_trained_head_is_squared(page):
    """The weights that the model itself computes, and those of its query doubled by hand."""
    model = load("models/grammar/weights/causal.safetensors")
    words = "the man saw the boat at the bank . the bank was".split()
    with torch.no_grad():
        once = model(model.encode(words)).weights[1][0, 1, -1].double().numpy()
        projection = model.layers[1].attention.qkv_proj
        for part in projection.parameters():  # the queries of head 2
            part[16:32] *= 2
        twice = model(model.encode(words)).weights[1][0, 1, -1].double().numpy()
    boat, bank = 4, 7
    assert [words[i] for i in (boat, bank)] == ["boat", "bank"]
    assert bank == words.index("bank")
    assert once.argmax() == boat
    ratio, squared = (weights[boat] / weights[bank] for weights in (once, twice))
    assert squared == pytest.approx(ratio**2, rel=1e-3)
    assert round(round(ratio, 2) ** 2) == round(ratio**2)  # with a pencil, too
    question = page.select_one("#predict-trained")
    choices = [numbers(li.get_text()) for li in question.select(":scope > ol > li")]
    assert choices[:2] == [[round(2 * ratio)], [round(ratio**2)]]
    assert question["data-right"] == "2"
    assert model.config.embed_dim // 4 == choices[2][0] == 16
    before = [f"{once[boat]:.2f}", f"{once[bank]:.3f}", f"{ratio:.2f}"]
    after = [f"{ratio**2:.0f}", f"{squared:.1f}", f"{twice[boat]:.3f}", f"{twice[bank]:.4f}"]
    assert shows(page, "#sec-trained", *before)
    assert in_order(question.select(".answer li")[1].get_text(), *before[2:], *after)


def test_no_query_and_no_key_leave_the_triangle():
    """Each value has at most 4 of water and money together, and so has each mix; (4, 4) has 8."""
    value = np.array(WORKED["value"])
    assert value.sum(axis=1).max() == 4 < 4 + 4
    rng = np.random.default_rng(0)
    for size in (1, 10, 100):
        q, k = (torch.tensor(size * rng.normal(size=(3, 2))) for _ in range(2))
        output, _ = scaled_dot_product_attention(q, k, torch.tensor(value, dtype=torch.float64))
        assert output.sum(-1).max() <= 4 + 1e-12


def test_the_product_of_matrices_is_that_of_the_pencil(page):
    [formula] = [
        math.get_text()
        for math in page.select("#sec-formula math annotation, #sec-formula .math")
        if "pmatrix" in math.get_text()
    ][:1]
    plain = formula.replace(r"\mathbf{", "").replace("}", "").replace("{", "")
    blocks = [block.split(r"\endpmatrix")[0] for block in plain.split(r"\beginpmatrix")[1:]]
    matrices = [[[float(x) for x in line.split("&")] for line in b.split(r"\\")] for b in blocks]
    q, k = (np.array(WORKED[name]) for name in ("query", "key"))
    for have, want in zip(matrices, (q, k.T, q @ k.T), strict=True):
        np.testing.assert_array_equal(have, want)


def test_the_arrays_shown_are_those_of_the_pencil(page):
    names = {}
    exec(page.select_one("#matrices code").get_text(), names)
    for name, letter in zip(WORKED, "QKV", strict=True):
        assert names[letter].tolist() == WORKED[name]


def test_exchanged_queries_and_keys_are_seen_by_what_a_query_changes(page):
    query = {name: np.array(WORKED["query"]) for name in ("before", "after")}
    query["after"][2, 1] = 4
    key = np.array(WORKED["key"])
    names = {"np": np}
    for cell, changed in (("bug", 9), ("numpy", 3)):
        exec(page.select_one(f"#{cell} code").get_text().split("\nw =")[0], names)
        before, after = (names["attention_weights"](q, key) for q in query.values())
        assert np.allclose(before.sum(axis=-1), 1)
        assert (before != after).sum() == changed
    assert numbers(output(page, "bug-check"))[0] == 9
    assert names["attention_weights"](np.eye(3), np.eye(4, 3)).shape == (3, 4)
    exec(page.select_one("#bug code").get_text(), names)
    assert names["attention_weights"](np.eye(3), np.eye(4, 3)).shape == (4, 3)  # "four rows"


def test_the_repair_bears_no_scaled_score_of_a_thousand(page):
    """It bears the 707 that a score of 1,000 gives with d_k = 2, as float64 holds e to 709."""
    names = {"np": np, "Q": np.eye(2), "K": np.eye(2)}
    exec(page.select_one("#numpy code").get_text(), names)
    assert np.isfinite(names["attention_weights"](1000 * np.eye(2), np.eye(2))).all()
    with np.errstate(all="ignore"):
        broken = names["attention_weights"](1000 * 2**0.5 * np.eye(2), np.eye(2))
    assert np.isnan(broken.diagonal()).all()
    assert shows(page, "#sec-bug", "1,000")


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
