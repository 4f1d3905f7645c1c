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
    "query": [[1, 0.5], [1, 1], [0.5, 2]],
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
    scores, scaled, powers, weights = row([0.5, 2])
    steps = [
        [f"{score:g}".replace("-", "−") for score in scores],
        [f"{score:.3f}".replace("-", "−") for score in scaled],
        [f"{power:.2f}" for power in powers],
        [f"{weight:.3f}" for weight in weights],
    ]
    assert table(page, f"÷ their sum, {powers.sum():.2f}") == steps
    exact, rounded = (w @ np.array(WORKED["value"]) for w in (weights, weights.round(3)))
    assert exact.round(2).tolist() == rounded.round(2).tolist() == [3.58, 0.28]
    the, river, bank = steps[3]
    assert shows(page, "#sec-sum", the, "0", river, "4", bank, "2", "3.58", "0.28")
    assert round(exact[0] / exact[1]) == 13, "thirteen times as much of water"

    *given, total, mix = table(page, "1. compare")
    product, blank, score = given[0]
    assert numbers(product) == [0.5, 1, 2, -0.5, -0.5]
    given[0] = [product.split("= ")[1], blank, score]
    assert given == [[line[0], "…", line[2]] for line in steps[:3]]
    assert [total, mix[1:]] == [["…"] * 3, ["…"] * 2]
    assert numbers(mix[0]) == WORKED["value"][0]


def test_a_doubled_query_squares_ratios(page):
    _, _, powers, weights = row([0.5, 2])
    _, _, larger, doubled = row([1, 4])
    np.testing.assert_allclose(larger, powers**2)
    ratio = weights[1] / weights[2]
    for j in (0, 2):
        assert doubled[1] / doubled[j] == pytest.approx((weights[1] / weights[j]) ** 2)
    river, bank, total = f"{larger[1]:.0f}", f"{larger[2]:.2f}", f"{larger.sum():.0f}"
    times = f"{doubled[1] / doubled[2]:.1f}"
    assert times == f"{ratio**2:.1f}" == f"{round(ratio, 2) ** 2:.1f}", "with a pencil, too"
    first = f"{larger[0]:.2f}"
    told = first, river, bank, total, river, total, f"{doubled[1]:.2f}", river, bank, times
    assert shows(page, "#sec-sum", *told)
    undivided = np.exp(np.array(WORKED["key"]) @ [0.5, 2])
    assert shows(page, "#sec-sum", f"{undivided[1] / undivided.sum():.2f}", f"{weights[1]:.2f}")

    question = page.select_one("#predict-double")
    ratio = round(ratio, 2)
    choices = [numbers(choice.get_text()) for choice in question.select(":scope > ol > li")]
    assert choices == [[ratio], [2 * ratio], [round(ratio**2, 1)], []]
    assert question["data-right"] == "3"


def test_no_number_of_the_first_row_stands_for_two_things():
    """Powers and ratios of the query and of its double: each is another number."""
    told = []
    for query in ([0.5, 2], [1, 4]):
        _, _, powers, weights = row(query)
        told += [*powers, weights[1] / weights[2], weights[1] / weights[0]]
    gaps = [abs(a / b - 1) for i, a in enumerate(told) for b in told[:i]]
    assert min(gaps) > 0.01


def test_a_number_added_for_the_distance_is_not_doubled():
    """So in such a model the ratio of two weights is not squared."""
    scores, distance = np.array([2.0, 1.0]), np.array([0.5, -0.5])
    once, twice = (np.exp(length * scores + distance) for length in (1, 2))
    assert twice[0] / twice[1] == pytest.approx(np.e**3)
    assert (once[0] / once[1]) ** 2 == pytest.approx(np.e**4)


def test_another_value_changes_the_output_alone(page):
    value = np.array([[0, 0], [0, 4], [2, 2]])
    for weights in (row([0.5, 2])[3], row([0.5, 2])[3].round(3)):
        assert (weights @ value).round(2).tolist() == [0.28, 3.58]
    assert shows(page, "#sec-sum", "0.141", "2", "0.28", "0.825", "4", "0.141", "2", "3.58")


def test_the_sum_of_values_is_the_output(page):
    lines = output(page, "weighted-sum").splitlines()
    *terms, total = (numbers(line.split("=")[1]) for line in lines)
    np.testing.assert_allclose(np.sum(terms, axis=0), total, atol=1.5e-3)
    np.testing.assert_allclose(total, row([0.5, 2])[3] @ WORKED["value"], atol=5e-4)


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
    queries = [1.5, 1], [3, 2], [6, 4], [0, -2], [2.5, 1]
    tied, twice, doubled, away, steered = (row(query)[3] for query in queries)
    assert in_order(answers[0], "1.5", "1", *(f"{tied[j]:.2f}" for j in (1, 2, 0)))
    assert in_order(answers[1], f"{twice[0]:.2f}", "3", "2", f"{doubled[0]:.3f}", "6", "4")
    assert doubled[0] < 0.05 < twice[0]
    assert doubled[1] == pytest.approx(doubled[2])
    assert in_order(answers[2], "0", "-2", f"{away[0]:.2f}", "1", "-4", "-1")
    told = steered[2], steered[0], *(steered @ WORKED["value"])
    assert in_order(answers[3], "2.5", "1", *(f"{x:.2f}" for x in told))
    assert shows(page, "#sec-play", "0", "9", "1.00", f"{row([0, 9])[3][2]:.5f}"), (
        "close to a corner"
    )


def test_the_weights_of_the_ring(page):
    """Weights of ½ and ¼ give (2, 1)."""
    assert (np.array([0.25, 0.25, 0.5]) @ WORKED["value"]).tolist() == [2, 1]
    assert shows(page, "#sec-play", "2", "1", "0.5")
    assert shows(page, "#sec-play", "4", "2", "0.5", "2", "0.25")
    assert shows(page, "#sec-play", "1", "0.25")


def test_no_query_and_no_key_leave_the_triangle():
    """Each value has at most 4 of water and money together, and so has each mix; (4, 4) has 8."""
    value = torch.tensor(WORKED["value"], dtype=torch.float64)
    rng = np.random.default_rng(0)
    for size in (1, 10, 100):
        q, k = (torch.tensor(size * rng.normal(size=(3, 2))) for _ in range(2))
        mixed, _ = scaled_dot_product_attention(q, k, value)
        assert mixed.sum(-1).max() <= 4 + 1e-12


def test_exchanged_values_of_a_trained_head_change_the_guess_and_no_weight(page):
    """The head once more, its mix computed by hand and written in place of its own."""
    model = load("models/grammar/weights/causal.safetensors")
    words = "the key near the old cabinets".split()
    vocabulary = model.config.vocabulary
    attention = model.layers[1].attention

    def guesses(order):
        """The last word's weights in head 2, and the chances of the next with its values so."""

        def mix(_, args):
            (joined,) = args
            values = qkv[0, order, 144:160]
            joined = joined.clone()
            joined[0, -1, 16:32] = weights @ values
            return (joined,)

        with torch.no_grad():
            run = model(model.encode(words))
            weights = run.weights[1][0, 1, -1]
            qkv = attention.qkv_proj(model.layers[1].norm(run.residual[1]))
            hook = attention.out_proj.register_forward_pre_hook(mix)
            run = model(model.encode(words))
            hook.remove()
        return weights, run.logits[0, -1].softmax(0)

    weights, own = guesses([0, 1, 2, 3, 4, 5])
    _, exchanged = guesses([0, 5, 2, 3, 4, 1])
    assert weights.argmax() == 1, "it looks at the key"
    assert [vocabulary[chance.argmax()] for chance in (own, exchanged)] == ["is", "are"]
    one, many = (vocabulary.index(verb) for verb in ("is", "are"))
    share = f"{weights[1]:.3f}"
    assert shows(page, "#sec-trained", f"{own[one]:.2f}", f"{own[many]:.3f}", "2", "2", share)
    told = share, f"{exchanged[many]:.2f}", f"{exchanged[one]:.3f}"
    assert shows(page, "#predict-trained", *told)
    assert page.select_one("#predict-trained")["data-right"] == "2"


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
    names["V"] = np.array(WORKED["value"])
    exec(page.select_one("#numpy code").get_text(), names)
    q, k = (torch.tensor(WORKED[name], dtype=torch.float64) for name in ("query", "key"))
    want = (q @ k.T / 2**0.5).softmax(-1).numpy()
    np.testing.assert_allclose(names["w"], want)
    shown, rest = output(page, "numpy").split("rows sum to")
    np.testing.assert_allclose(numbers(shown), want.flatten(), atol=5e-4)
    mixed = want @ WORKED["value"]
    np.testing.assert_allclose(numbers(rest)[3:], mixed.flatten(), atol=5e-3)
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
