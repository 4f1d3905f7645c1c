"""m03: its claims against numbers computed here."""

import re
from random import Random

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from models.grammar.sentences import agreement
from models.grammar.words import (
    ANIMATE_VERBS,
    BEINGS,
    NOUNS,
    PLURAL_VERBS,
    SINGULAR_VERBS,
    THING_VERBS,
    THINGS,
)
from models.weights import load
from tests.lessons.page_text import cells, in_order, output, shows
from tests.numbers import number, numbers
from tests.site.numbers import payloads

PAGE = "modules/m03_scaled_dot_product/lesson.html"
WORKED = {
    "query": [[1.5, -1], [1, 1], [0.3, 1.5]],
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


def told(numbers, digits):
    return [f"{x:.{digits}f}".replace("-", "−") for x in numbers]


def pencil(query):
    """The four steps, each from what the step before it has on paper."""
    scores = np.array(WORKED["key"]) @ query
    scaled = (scores / 2**0.5).round(3)
    powers = np.exp(scaled).round(2)
    weights = (powers / powers.sum()).round(3)
    return scores, scaled, powers, weights, (weights @ WORKED["value"]).round(2)


@pytest.mark.parametrize("query", [[0.3, 1.5], [1.5, -1]])
def test_a_pencil_comes_to_the_page_s_numbers(query):
    _, _, powers, weights, mix = pencil(np.array(query))
    exact = row(query)
    np.testing.assert_allclose(powers, exact[2].round(2), atol=1e-9)
    np.testing.assert_allclose(powers.sum(), exact[2].sum().round(2), atol=1e-9)
    np.testing.assert_allclose(weights, exact[3].round(3), atol=1e-9)
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(mix, (exact[3] @ WORKED["value"]).round(2), atol=1e-9)


def test_the_four_steps_with_a_pencil(page):
    scores, scaled, powers, weights, mix = pencil(np.array([0.3, 1.5]))
    steps = [
        [f"{score:g}".replace("-", "−") for score in scores],
        told(scaled, 3),
        told(powers, 2),
        told(weights, 3),
    ]
    assert table(page, f"÷ their sum, {powers.sum():.2f}") == steps
    the, river, bank = steps[3]
    water, money = told(mix, 2)
    assert shows(page, "#sec-sum", the, "0", river, "4", bank, "2", water, money)
    assert round(mix[0] / mix[1]) == 9, "nine times as much of water"

    *given, total, mix = table(page, "1. compare")
    product, blank, score = given[0]
    assert numbers(product) == [0.3, 1, 1.5, -0.5, -0.45]
    given[0] = [product.split("= ")[1], blank, score]
    assert given == [[line[0], "…", line[2]] for line in steps[:3]]
    assert [total, mix[1:]] == [["…"] * 3, ["…"] * 2]
    assert numbers(mix[0]) == WORKED["value"][0]


def test_a_row_alone(page):
    """What the first row of the scores comes to."""
    scores, scaled, powers, weights, mix = pencil(np.array([1.5, -1]))
    wanted = [told(scores, 0), told(scaled, 3), told(powers, 2), told(weights, 3)]
    assert table(page, f"÷ {powers.sum():.2f}") == wanted
    assert shows(page, "#sec-formula", "1.5", "-1")
    _, river, bank = wanted[3]
    assert shows(page, "#sec-formula", river, "4", bank, "2", bank, "2", *told(mix, 2))
    assert weights[0] > 0.5, "most of its weight"


def test_a_doubled_query_squares_ratios(page):
    _, _, powers, weights, _ = pencil(np.array([0.3, 1.5]))
    _, _, exact, once = row([0.3, 1.5])
    _, _, larger, doubled = row([0.6, 3])
    np.testing.assert_allclose(larger, exact**2)
    for j in (0, 2):
        assert doubled[1] / doubled[j] == pytest.approx((once[1] / once[j]) ** 2)
    ratio = f"{once[1] / once[2]:.2f}"
    assert ratio == f"{weights[1] / weights[2]:.2f}" == f"{powers[1] / powers[2]:.2f}"
    the, river, bank = (f"{x:.{digits}f}" for x, digits in zip(larger, (2, 1, 2), strict=True))
    assert [the, river, bank] == [f"{x:.{d}f}" for x, d in zip(powers**2, (2, 1, 2), strict=True)]
    total = f"{sum(map(float, (the, river, bank))):.1f}"
    assert total == f"{larger.sum():.1f}"
    times = f"{doubled[1] / doubled[2]:.1f}"
    assert times == f"{float(ratio) ** 2:.1f}" == f"{float(river) / float(bank):.1f}"
    share = f"{doubled[1]:.2f}"
    assert share == f"{float(river) / float(total):.2f}"
    assert shows(page, "#sec-sum", the, river, bank, total, river, total, share, river, bank, times)
    undivided = np.exp(np.array(WORKED["key"]) @ [0.3, 1.5])
    assert shows(page, "#sec-sum", f"{undivided[1] / undivided.sum():.2f}", f"{once[1]:.2f}")
    assert shows(page, "#sec-sum", *(f"{weights[j]:.3f}" for j in (1, 2)), ratio)

    question = page.select_one("#predict-double")
    choices = [numbers(choice.get_text()) for choice in question.select(":scope > ol > li")]
    ratio = float(ratio)
    assert choices == [[ratio], [2 * ratio], [round(ratio**2, 1)], []]
    assert question["data-right"] == "3"


def test_no_number_of_the_first_row_stands_for_two_things():
    """Powers and ratios of the query and of its double: each is another number."""
    told = []
    for query in ([0.3, 1.5], [0.6, 3]):
        _, _, powers, weights = row(query)
        told += [*powers, weights[1] / weights[2], weights[1] / weights[0]]
    gaps = [abs(a / b - 1) for i, a in enumerate(told) for b in told[:i]]
    assert min(gaps) > 0.01


def test_another_value_changes_the_output_alone(page):
    value = np.array([[0, 0], [0, 4], [2, 2]])
    for weights in (row([0.3, 1.5])[3], row([0.3, 1.5])[3].round(3)):
        assert (weights @ value).round(2).tolist() == [0.38, 3.36]
    assert shows(page, "#sec-sum", "0.188", "2", "0.38", "0.747", "4", "0.188", "2", "3.36")


def test_how_many_numbers_one_number_changes(page):
    given = {name: torch.tensor(x, dtype=torch.float64) for name, x in WORKED.items()}
    mixed, before = scaled_dot_product_attention(**given)
    shown = table(page, "one number of")
    for (name, matrix), (weights, outputs) in zip(given.items(), shown, strict=True):
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
    for length in (0.3, 2, 5):  # queries whose first number is 1.5 times the second
        scores = row([1.5 * length, length])[0]
        assert scores[1] == pytest.approx(scores[2])
        assert scores[0] < scores[1]
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


MODEL = load("models/grammar/weights/causal.safetensors")
IS, ARE = (MODEL.config.vocabulary.index(verb) for verb in ("is", "are"))
ONE, SEVERAL = (
    [MODEL.config.vocabulary.index(verb) for verb in verbs]
    for verbs in (SINGULAR_VERBS, PLURAL_VERBS)
)


def guesses(words, order, head=2):
    """The last word's weights in a head of layer 2, and the chances of the next with the head's
    values in this order: the head once more, its mix computed by hand in place of its own.
    """
    attention = MODEL.layers[1].attention

    def mix(_, args):
        (joined,) = args
        start = 16 * (head - 1)
        values = qkv[0, order, 128 + start : 144 + start]
        joined = joined.clone()
        joined[0, -1, start : start + 16] = weights @ values
        return (joined,)

    with torch.no_grad():
        run = MODEL(MODEL.encode(words))
        weights = run.weights[1][0, head - 1, -1]
        qkv = attention.qkv_proj(MODEL.layers[1].norm(run.residual[1]))
        hook = attention.out_proj.register_forward_pre_hook(mix)
        run = MODEL(MODEL.encode(words))
        hook.remove()
    return weights, run.logits[0, -1].softmax(0)


def swapped(words, nouns):
    order = list(range(len(words)))
    for at, other in zip(nouns, nouns[::-1], strict=True):
        order[at] = other
    return order


def test_exchanged_values_of_a_trained_head_change_the_guess_and_no_weight(page):
    shown = [line[1:] for line in cells(page, "exchanged-values-numbers")]
    sentences = [one["words"] for one in published(page)]
    assert len(shown) == len(sentences) == 4
    stays = []
    for line, one in zip(shown, published(page), strict=True):
        words, nouns = one["words"], one["nouns"]
        weights, own = guesses(words, range(len(words)))
        same, exchanged = guesses(words, swapped(words, nouns))
        assert weights.equal(same)
        assert weights.argmax() == nouns[0], "it looks at the subject"
        np.testing.assert_allclose(one["weights"], weights, atol=1e-3)
        told = [f"{weights[nouns[0]]:.2f}"]
        for name, chance in (("own", own), ("exchanged", exchanged)):
            likeliest = MODEL.config.vocabulary[chance.argmax()]
            told.append(f"{likeliest} {chance.max():.2f}")
            assert one[name]["first"] == likeliest
            for number_of, verb, form in (("one", IS, ONE), ("several", ARE, SEVERAL)):
                wanted = [chance[verb].item(), chance[form].sum().item()]
                assert one[name][number_of] == pytest.approx(wanted, abs=1e-3)
        assert line == told
        numbers_of = {words[noun] in NOUNS.values() for noun in nouns}
        stays.append(own.argmax() == exchanged.argmax())
        assert stays[-1] == (len(numbers_of) == 1), "the guess stays if the numbers are alike"
    assert stays == [False, False, True, True]

    words = "the boy that saw the lions".split()
    weights, own = guesses(words, range(6))
    _, exchanged = guesses(words, [0, 5, 2, 3, 4, 1])
    told = f"{own[IS]:.2f}", f"{own[ONE].sum():.2f}", f"{own[SEVERAL].sum():.3f}", "2", "2"
    assert shows(page, "#sec-trained", *told, f"{weights[1]:.2f}")
    assert shows(page, "#predict-trained", f"{exchanged[IS]:.3f}")
    told = f"{exchanged[ARE]:.2f}", f"{exchanged[SEVERAL].sum():.2f}"
    assert shows(page, "#predict-trained", *told)
    assert exchanged[ARE] == pytest.approx(own[IS].item(), abs=0.05), "about what the other had"
    assert page.select_one("#predict-trained")["data-right"] == "3"


def is_several(chance):
    return (chance[SEVERAL].sum() > chance[ONE].sum()).item()


def test_the_number_hangs_on_one_head_and_on_its_value(page):
    """Other sentences of the same kinds: what the page counts isn't of its own 200 alone."""
    rng, tried, by_subject = Random(7), {True: [], False: []}, {True: [], False: []}
    while min(map(len, tried.values())) < 40:
        made = agreement(rng, distractors=1)
        verb, subject = made.link("verb")
        words = made.words[:verb]
        nouns = [i for i, word in enumerate(words) if word in NOUNS or word in NOUNS.values()]
        if len(nouns) != 2:
            continue
        several = words[subject] in NOUNS.values()
        alike = several == (words[sum(nouns) - subject] in NOUNS.values())
        order = swapped(words, nouns)
        found = [is_several(guesses(words, order, head)[1]) == several for head in (1, 2, 3, 4)]
        with torch.no_grad():
            off = MODEL(MODEL.encode(words), off=[(1, 1)]).logits[0, -1].softmax(0)
        tried[alike].append([*found, is_several(off) == several])
        if not alike:
            by_subject[several].append(not found[1])
    one, two, three, four, off = np.mean(tried[False], axis=0)
    assert min(one, three, four) == 1, "no other head turns a verb"
    assert np.mean(by_subject[False]) > 0.95, "nearly always after one"
    assert np.mean(by_subject[True]) < 0.9, "less often after several"
    assert 0.3 < off < 0.7, "without this head, the number is a guess"
    assert np.mean(tried[True], axis=0)[1] > 0.9

    differ, alike = counted(page)
    assert abs(differ / 100 - (1 - two)) < 0.15
    assert abs(alike / 100 - np.mean(tried[True], axis=0)[1]) < 0.1


def test_the_exchange_moves_the_kind_of_verb_too():
    """One noun is alive and the other a thing, both in the same number."""
    lively, lifeless = (
        MODEL.encode([*verbs, *verbs.values()]).flatten() for verbs in (ANIMATE_VERBS, THING_VERBS)
    )
    turned = []
    for being in sorted(BEINGS):
        for thing in sorted(THINGS)[:6]:
            words = ["the", being, "near", "the", thing]
            own, exchanged = (guesses(words, order)[1] for order in ([*range(5)], [0, 4, 2, 3, 1]))
            assert own[lively].sum() > own[lifeless].sum()
            turned.append((exchanged[lively].sum() < exchanged[lifeless].sum()).item())
    assert np.mean(turned) > 0.5, "often"


def counted(page):
    """In how many of 100 the exchange turns a verb, and in how many it doesn't."""
    [answer] = [one for one in page.select("#sec-trained .answer") if "200" in one.get_text()]
    found = re.findall(r"(\d+) of 100", answer.get_text())
    return [int(number) for number in found]


def published(page):
    return payloads(page)["exchanged"]["sentences"]


def test_exchanged_queries_and_keys_are_seen_by_what_a_query_changes(page):
    query, key = np.array(WORKED["query"]), np.array(WORKED["key"])
    other = query.copy()
    other[2, 1] = 3
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
