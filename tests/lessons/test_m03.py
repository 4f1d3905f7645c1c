"""m03: its claims against numbers computed here."""

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from models.weights import load
from tests.lessons.page_text import cells, in_order, output, shows
from tests.numbers import number, numbers

PAGE = "modules/m03_scaled_dot_product/lesson.html"
WORKED = {
    "query": [[1, 0.5], [1, 1], [1, 2]],
    "key": [[1, -0.5], [0, 2], [1, 0.5]],
    "value": [[0, 0], [4, 0], [2, 2]],
}


def row(query):
    """Scores, scaled scores, powers and weights of a query, by the formula."""
    scores = np.array(WORKED["key"]) @ query
    powers = np.exp(scores / 2**0.5)
    return scores, scores / 2**0.5, powers, powers / powers.sum()


def table(page, says):
    """The cells of the table that says this, less its head and its first column."""
    [found] = [one for one in page.select("table") if says in one.get_text()]
    return [
        [cell.get_text() for cell in line.select("td")[1:]] for line in found.select("tbody tr")
    ]


def test_table_formula_and_code_have_the_same_queries_keys_and_values(page):
    shown = [[numbers(cell) for cell in line[1:]] for line in cells(page, "setup")]
    assert shown == [list(word) for word in zip(*WORKED.values(), strict=True)]
    code = {}
    exec(page.select_one("#matrices code").get_text(), code)
    assert [code[letter].tolist() for letter in "QKV"] == [*WORKED.values()]

    formulas = [tex.get_text() for tex in page.select("#sec-formula annotation")]
    products = "".join(tex for tex in formulas if "pmatrix" in tex)
    for bold in (r"\mathbf{", "}", "{"):
        products = products.replace(bold, "")
    blocks = [block.split(r"\endpmatrix")[0] for block in products.split(r"\beginpmatrix")[1:]]
    matrices = [[[float(x) for x in line.split("&")] for line in b.split(r"\\")] for b in blocks]
    q, k, v = (np.array(WORKED[name]) for name in ("query", "key", "value"))
    powers = np.exp(k @ q[2] / np.sqrt(2))
    row = powers[None] / powers.sum()
    wanted = (q, k.T, q @ k.T, row.round(3), v, (row @ v).round(2))
    for shown, want in zip(matrices, wanted, strict=True):
        np.testing.assert_array_equal(shown, want)


def test_the_four_steps_with_a_pencil(page):
    scores, scaled, powers, weights = row([1, 2])
    steps = [
        [f"{score:.0f}" for score in scores],
        ["0", *(f"{score:.3f}" for score in scaled[1:])],
        [f"{power:.2f}" for power in powers],
        [f"{weight:.3f}" for weight in weights],
    ]
    assert table(page, f"÷ their sum, {powers.sum():.2f}") == steps
    exact, rounded = (w @ np.array(WORKED["value"]) for w in (weights, weights.round(3)))
    assert exact.round(2).tolist() == rounded.round(2).tolist() == [3.45, 0.37]
    the, river, bank = steps[3]
    assert shows(page, "#sec-sum", the, "0", river, "4", bank, "2", "3.45", "0.37")
    assert round(exact[0] / exact[1]) == 9, "nine times as much of water"

    *given, total, mix = table(page, "1. compare")
    product, blank, score = given[0]
    assert numbers(product) == [1, 1, 2, -0.5, 0]
    assert [["0", blank, score], *given[1:]] == [[line[0], "…", line[2]] for line in steps[:3]]
    assert [total, mix[1:]] == [["…"] * 3, ["…"] * 2]
    assert numbers(mix[0]) == WORKED["value"][0]


def test_a_doubled_query_squares_ratios(page):
    _, scaled, powers, weights = row([1, 2])
    _, _, larger, doubled = row([2, 4])
    np.testing.assert_allclose(larger, powers**2)
    once, twice = table(page, "river : bank")
    for column, (j, digits) in enumerate([(2, 1), (0, 0)]):
        ratio = weights[1] / weights[j]
        assert doubled[1] / doubled[j] == pytest.approx(ratio**2)
        assert in_order(once[column], f"{scaled[1] - scaled[j]:.3f}", f"{ratio:.2f}")
        assert in_order(twice[column].replace("²", " "), f"{ratio:.2f}", f"{ratio**2:.{digits}f}")
        assert round(round(ratio, 2) ** 2, digits) == round(ratio**2, digits), "with a pencil, too"
    river, bank, total = f"{larger[1]:.0f}", f"{larger[2]:.1f}", f"{larger.sum():.0f}"
    times = f"{doubled[1] / doubled[2]:.1f}"
    told = "1.0", river, bank, total, river, total, f"{doubled[1]:.2f}", river, bank, times
    assert shows(page, "#sec-sum", *told)
    undivided = np.exp([0, 4, 2])
    assert shows(page, "#sec-sum", f"{undivided[1] / undivided.sum():.2f}", f"{weights[1]:.2f}")

    question = page.select_one("#predict-double")
    ratio = round(weights[1] / weights[2], 2)
    choices = [numbers(choice.get_text()) for choice in question.select(":scope > ol > li")]
    assert choices == [[ratio], [2 * ratio], [round(ratio**2, 1)], []]
    assert question["data-right"] == "3"


def test_another_value_changes_the_output_alone(page):
    value = np.array([[0, 0], [0, 4], [2, 2]])
    for weights in (row([1, 2])[3], row([1, 2])[3].round(3)):
        assert (weights @ value).round(2).tolist() == [0.37, 3.45]
    assert shows(page, "#sec-sum", "0.187", "2", "0.37", "0.768", "4", "0.187", "2", "3.45")


def test_the_sum_of_values_is_the_output(page):
    lines = output(page, "weighted-sum").splitlines()
    *terms, total = (numbers(line.split("=")[1]) for line in lines)
    np.testing.assert_allclose(np.sum(terms, axis=0), total, atol=1.5e-3)
    np.testing.assert_allclose(total, row([1, 2])[3] @ WORKED["value"], atol=5e-4)


def test_how_many_numbers_one_number_changes(page):
    given = {name: torch.tensor(x, dtype=torch.float64) for name, x in WORKED.items()}
    mixed, before = scaled_dot_product_attention(**given)
    shown = table(page, "change one number")
    for (name, matrix), (weights, outputs, _) in zip(given.items(), shown, strict=True):
        for cell in np.ndindex(*matrix.shape):
            other = {**given, name: matrix.clone()}
            other[name][cell] += 1
            out, after = scaled_dot_product_attention(**other)
            moved = (after != before).sum().item(), (out != mixed).sum().item()
            assert moved == {"query": (3, 2), "key": (9, 6), "value": (0, 3)}[name]
        says = weights.replace("none", "0"), outputs
        assert tuple(numbers(text)[0] for text in says) == moved


def test_the_queries_of_the_answers_give_the_weights_told(page):
    answers = [item.get_text() for item in page.select("#sec-play .answer > div > ol > li")]
    queries = [1.5, 1], [6, 4], [0, -2], [2.5, 1]
    tied, doubled, away, steered = (row(query)[3] for query in queries)
    assert in_order(answers[0], "1.5", "1", *(f"{tied[j]:.2f}" for j in (1, 2, 0)))
    assert in_order(answers[1], f"{doubled[1] / doubled[0]:.1f}", "6", "4", f"{doubled[0]:.3f}")
    assert in_order(answers[2], "0", "-2", f"{away[0]:.2f}", "1", "-4", "-1")
    told = steered[2], steered[0], *(steered @ WORKED["value"])
    assert in_order(answers[3], "2.5", "1", *(f"{x:.2f}" for x in told))
    assert shows(page, "#sec-play", "0", "9", "1.00", f"{row([0, 9])[3][2]:.5f}"), (
        "close to a corner"
    )


def test_the_way_to_the_ring(page):
    """Weights of ½ and ¼ give (2, 1); ties and leads of the scores give the query."""
    assert (np.array([0.25, 0.25, 0.5]) @ WORKED["value"]).tolist() == [2, 1]
    assert shows(page, "#sec-play", "4", "2", "0.5", "2", "0.25")
    y = np.log(2) * np.sqrt(2)
    scores, _, _, weights = row([2.5 * y, y])
    assert scores == pytest.approx([2 * y, 2 * y, 3 * y])
    assert weights == pytest.approx([0.25, 0.25, 0.5])
    power = f"{np.log(2):.3f}"
    assert shows(page, "#sec-play", "2", power, "2", power, "√2", f"{y:.2f}")


def test_no_query_and_no_key_leave_the_triangle():
    """Each value has at most 4 of water and money together, and so has each mix; (4, 4) has 8."""
    value = torch.tensor(WORKED["value"], dtype=torch.float64)
    rng = np.random.default_rng(0)
    for size in (1, 10, 100):
        q, k = (torch.tensor(size * rng.normal(size=(3, 2))) for _ in range(2))
        mixed, _ = scaled_dot_product_attention(q, k, value)
        assert mixed.sum(-1).max() <= 4 + 1e-12


def test_the_ratio_in_a_trained_head_is_squared(page):
    """The weights that the model itself computes, and those of its query doubled by hand."""
    model = load("models/grammar/weights/causal.safetensors")
    words = "the man saw the boat at the bank . the bank was".split()
    boat, bank = words.index("boat"), words.index("bank")
    with torch.no_grad():
        once = model(model.encode(words)).weights[1][0, 1, -1].double().numpy()
        for part in model.layers[1].attention.qkv_proj.parameters():
            part[16:32] *= 2  # the queries of head 2
        twice = model(model.encode(words)).weights[1][0, 1, -1].double().numpy()
    assert once.argmax() == boat
    ratio, squared = (weights[boat] / weights[bank] for weights in (once, twice))
    assert squared == pytest.approx(ratio**2, rel=1e-3)
    question = page.select_one("#predict-trained")
    choices = [numbers(choice.get_text()) for choice in question.select(":scope > ol > li")]
    assert choices[:2] == [[round(2 * ratio)], [round(ratio**2)]]
    assert question["data-right"] == "2"
    before = f"{once[boat]:.2f}", f"{once[bank]:.3f}", f"{ratio:.2f}"
    after = f"{squared:.1f}", f"{twice[boat]:.3f}", f"{twice[bank]:.4f}"
    assert shows(page, "#sec-trained", *before)
    assert shows(page, "#predict-trained", before[-1], f"{ratio**2:.0f}", *after)


def test_exchanged_queries_and_keys_are_seen_by_what_a_query_changes(page):
    query, key = np.array(WORKED["query"]), np.array(WORKED["key"])
    other = query.copy()
    other[2, 1] = 4
    names = {"np": np}
    for cell, changed, shape in (("bug", 9, (4, 3)), ("numpy", 3, (3, 4))):
        exec(page.select_one(f"#{cell} code").get_text().split("\nw =")[0], names)
        weigh = names["attention_weights"]
        assert (weigh(query, key) != weigh(other, key)).sum() == changed
        assert weigh(np.eye(3), np.eye(4, 3)).shape == shape, "of three queries and four keys"
    assert numbers(output(page, "bug-check"))[0] == 9


def test_the_repair_is_pytorch_s_softmax_and_a_scaled_score_of_1_000_breaks_it(page):
    names = {"np": np, "Q": np.array(WORKED["query"]), "K": np.array(WORKED["key"])}
    exec(page.select_one("#numpy code").get_text(), names)
    q, k = (torch.tensor(WORKED[name], dtype=torch.float64) for name in ("query", "key"))
    want = (q @ k.T / 2**0.5).softmax(-1).numpy()
    np.testing.assert_allclose(names["w"], want)
    shown = numbers(output(page, "numpy").split("rows sum to")[0])
    np.testing.assert_allclose(shown, want.flatten(), atol=5e-4)
    with np.errstate(all="ignore"):
        broken = names["attention_weights"](1000 * 2**0.5 * np.eye(2), np.eye(2))
    assert np.isnan(broken.diagonal()).all()


def test_what_the_boxes_print(page):
    apart = [numbers(line.split(":")[1])[0] for line in output(page, "same").splitlines()]
    assert max(apart) < 1e-15, "NumPy, PyTorch and attention.py agree"

    lines = output(page, "shapes").splitlines()
    sizes = {line.split()[0]: number(line.split(")")[1].split()[0]) for line in lines}
    want = {"x": 4096, "q": 128, "weights": 2048, "output": 128}
    assert sizes == {name: 32 * 2048 * size for name, size in want.items()}
    assert 32 * sizes["weights"] == 16 * sizes["x"], "with the 32 heads that fit into 4,096"

    largest, bound = numbers(output(page, "additive").splitlines()[-1])
    assert largest <= bound
    assert shows(page, "#sec-beyond", "1,024", "64", f"{1024 * 1024 * 64 / 1e6:.0f}")

    scaled, weights = (numbers(line.split(":")[1]) for line in output(page, "worked").splitlines())
    assert scaled == [0.19, 0.77, 0.28]
    np.testing.assert_allclose(weights, np.exp(scaled) / np.exp(scaled).sum(), atol=5e-4)
    assert shows(page, "#sec-beyond", "128", "2.1", "8.7", "3.2")
