"""m00: its sentences against numbers computed here."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from models.grammar.scores import COUNT, VERBS, held_out, run
from models.grammar.words import SINGULAR_VERBS, VOCABULARY
from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.page_text import output, shows
from tests.numbers import numbers
from tests.scores import scores_of

PAGE = "modules/m00_tour/lesson.html"
WORDS = "the cat sat on the mat because it was".split()
WITH_CODE = {"#step-roles", "#step-code"}
IT_HEAD = 4  # layer 2, head 1, after the four of layer 1
Q = torch.tensor([[1, 0.5], [0, 2], [2, 1]], dtype=torch.float64)
K = torch.tensor([[0, 1], [2, 0.5], [0.5, 1]], dtype=torch.float64)
V = torch.tensor([[-1, 1], [2, 0.5], [0.5, 1.5]], dtype=torch.float64)
OF_MAT = {"query": [-0.5, 2], "key": [1, 0.5], "value": [1, 0.5]}  # a noun, not alive
LIONS = ["the lion near the old windows [mask] tame", "the lions near the old window [mask] tame"]
ALL_HEADS = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]


@pytest.fixture(scope="module")
def maps():
    """Last word -> the weights of all heads, (heads, words, words), those of layer 1 first."""
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    return {
        end: torch.cat(model(model.encode([*WORDS, end])).weights, dim=1)[0].detach()
        for end in ("tired", "warm")
    }


def test_eight_steps_each_with_all_its_parts(page):
    links = page.select("#tour li a")
    assert len(links) == 8
    for link in links:
        step = page.select_one(f"section{link['href']}")
        assert step.h2.get_text()
        assert bool(step.select_one("pre.python")) == (link["href"] in WITH_CODE), link["href"]
        if link["href"] != "#step-code":
            assert step.select_one(".source"), link["href"]
    assert len(page.select("section.level2 > .prediction")) == 4


def test_the_shown_code_runs_by_itself(page):
    """No name in it comes from a hidden cell."""
    scope = {}
    for code in page.select("section.level2[id^=step-] pre.python"):
        exec(code.get_text(), scope)
    for name, want in (("Q", Q), ("K", K), ("V", V)):
        assert scope[name].tolist() == want.tolist()


def test_the_last_word_decides(page, maps):
    rows = page.select("#tour-why .fallback tbody tr")
    assert shows(page, "#tour-why .widget-caption", "2", str(IT_HEAD - 4 + 1))
    for row, (end, heads) in zip(rows, maps.items(), strict=True):
        look = heads[IT_HEAD, 7]
        assert WORDS[look.argmax()] == {"tired": "cat", "warm": "mat"}[end]
        cells = [cell.get_text() for cell in row.select("td")]
        assert cells[:3] == [end, *(f"{look[WORDS.index(noun)]:.2f}" for noun in ("cat", "mat"))]
    assert maps["tired"][IT_HEAD, 7].max() > 0.98  # "almost only at cat"


def test_the_last_word_gets_its_look_elsewhere(maps):
    """ "Gets little weight in this head"; in others it gets most."""
    for heads in maps.values():
        assert heads[IT_HEAD, 7, 9] < 0.15
        assert sum(head[7].argmax() == 9 for head in heads) > 1


def shown_rows(page, widget):
    """The numbers of each row of a widget's table, less the word before them."""
    rows = page.select(f"#{widget} .fallback tbody tr")
    return [numbers(" ".join(cell.get_text() for cell in row.select("td")[1:])) for row in rows]


def test_the_pencil_s_numbers(page):
    want = F.scaled_dot_product_attention(Q[None], K[None], V[None])[0]
    weights = (Q @ K.T / math.sqrt(2)).softmax(-1)
    scores = shown_rows(page, "tour-scores")
    assert scores == (Q @ K.T).tolist()
    assert scores[2] == [1, 4.5, 2]  # the answers to the prediction
    assert shows(page, "#step-scores", *(f"{score:g}" for score in scores[2]))
    shown = np.array(shown_rows(page, "tour-softmax"))
    np.testing.assert_allclose(shown, torch.cat([weights, want], dim=1), atol=0.0051)


def test_a_reader_who_computes_along_gets_the_same(page):
    """The powers of the scores as shown, their sum, and the weight, each from rounded numbers."""
    scaled = [round(x, 3) for x in (Q @ K.T / math.sqrt(2))[2].tolist()]
    powers = [round(math.exp(x), 1) for x in scaled]
    total = round(sum(powers), 1)
    weights = [round(power / total, 2) for power in powers]
    of_cat = [f"{powers[1]:.1f}", f"{total:.1f}", f"{weights[1]:.2f}"]
    times, apart = f"{powers[1] / powers[0]:.0f}", round(scaled[1] - scaled[0], 3)
    assert f"{math.exp(apart):.0f}" == times
    first = [f"{x:.1f}" for x in powers]
    assert shows(page, "#step-softmax", *first, *of_cat, times, f"{apart:.3f}", times)
    assert shows(page, "#tour-softmax .widget-caption", f"{sum(weights):.2f}")


def test_the_mat_is_a_lesser_doer(page):
    """Its rows of the tables on the page, what *sat* scores with it, and the weight of that."""
    rows = page.select_one("#step-roles table").select("tbody tr")
    shown = [numbers(row.get_text(" ")) for row in rows]
    assert shown[1] == [*OF_MAT["query"], *OF_MAT["key"], *OF_MAT["value"]]
    scores = [1, 2 * 1 + 1 * 0.5, 2]
    powers = [math.exp(score / math.sqrt(2)) for score in scores]
    assert shows(page, "#step-scores .answer", f"{scores[1]:g}", f"{4.5 - scores[1]:g}")
    values = [(-1, 1), (1, 0.5), (0.5, 1.5)]
    output = [
        sum(p * v[i] for p, v in zip(powers, values, strict=True)) / sum(powers) for i in (0, 1)
    ]
    near = [math.dist(output, value) for value in values]
    assert near[2] < near[1] < near[0]
    said = "({:.2f}, {:.2f})".format(*output)
    assert shows(page, "#step-softmax .answer", f"{powers[1] / sum(powers):.2f}", said)


def test_keys_mean_what_the_page_says(page):
    """The first number of a key is a doer's, the second that of a noun's partner."""
    rows = page.select_one("#step-roles table").select("tbody tr")
    article, noun, verb, alive = (numbers(row.get_text(" "))[2:4] for row in rows)
    assert noun[0] > max(article[0], verb[0])
    assert alive[0] > 0 == alive[1]
    assert min(article[1], verb[1]) > noun[1]
    assert Q[2, 0] == 2 * Q[2, 1]  # of all a doer, half as much a partner
    assert Q[1].tolist() == [0, 2]  # partners only


def test_the_output_of_sat_lies_nearest_to_the_value_of_cat(page):
    output = F.scaled_dot_product_attention(Q[None], K[None], V[None])[0, 2]
    distances = (V - output).norm(dim=1)
    assert distances.argmin() == 1
    assert distances[1] < 0.5 * distances[[0, 2]].min()
    assert shows(page, "#step-softmax", *(f"{x:.2f}" for x in output), "2", "0.5")


def test_causal_rows(page):
    want = (Q @ K.T / math.sqrt(2)).masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf)
    shown = np.array(shown_rows(page, "tour-mask"))
    np.testing.assert_allclose(shown, want.softmax(-1), atol=0.0051)
    assert shown[0].tolist() == [1, 0, 0]


def test_the_mask_opens_on_a_row_that_it_changes():
    """What *cat* gave *sat* goes to the two words that it still sees."""
    scaled = Q @ K.T / math.sqrt(2)
    free = scaled.softmax(-1)[1]
    masked = scaled.masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf).softmax(-1)[1]
    assert free[2] > 0.3
    assert (masked[:2] > free[:2]).all()


ANIMALS, THINGS = "cat dog horse bird".split(), "mat chair box bridge".split()


@pytest.mark.parametrize("animal", ANIMALS)
@pytest.mark.parametrize("thing", THINGS)
def test_from_on_the_heads_of_layer_2_look_at_different_nouns(animal, thing):
    """Not in the shown sentence only."""
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    words = f"the {animal} sat on the {thing} because it was tired".split()
    with torch.no_grad():
        look = model(model.encode(words)).weights[1][0, :, 3]
    assert look.argmax(-1).tolist() == [1, 5]
    assert look.amax(-1).min() > 0.7


def test_the_weights_from_on(page, maps):
    look = maps["tired"][4:, 3]
    assert shows(page, "#step-heads", *(f"{weight:.2f}" for weight in look.amax(-1).tolist()))


def test_the_mask_s_answer(page):
    """What the last word had is shared two to one, as the others shared before."""
    free = (Q @ K.T / math.sqrt(2)).softmax(-1)[1, :2]
    seen = (Q[1] @ K[:2].T / math.sqrt(2)).softmax(-1)
    torch.testing.assert_close(seen[0] / seen[1], free[0] / free[1])
    assert round((free[0] / free[1]).item(), 1) == 2
    assert shows(page, "#step-mask .answer", *(f"{x:.2f}" for x in [*free, *seen]))


def test_first_the_clue_then_the_noun(page, maps):
    words = [*WORDS, "tired"]
    from_cat = [words[look.argmax()] for look in maps["tired"][:4, 1]]
    heads = [str(i + 1) for i, word in enumerate(from_cat) if word == "tired"]
    assert heads == ["1", "4"]
    assert shows(page, "#step-heads", *heads)
    assert [words[look.argmax()] for look in maps["tired"][4:, 7]] == ["cat", "cat"]


def exchanged(model, animal, thing, positions):
    """The weights of "it", once these words come to layer 2 as where the last word is *warm*."""
    tired, warm = (
        model.encode(f"the {animal} sat on the {thing} because it was {end}".split())
        for end in ("tired", "warm")
    )

    def exchange(_, args):
        x = args[0].clone()
        x[0, positions] = other[0, positions]
        return x, *args[1:]

    with torch.no_grad():
        other = model(warm).residual[1]
        hook = model.layers[1].register_forward_pre_hook(exchange)
        try:
            return model(tired).weights[1][0, 0, 7]
        finally:
            hook.remove()


def test_the_key_of_cat_has_the_clue_and_mat_needs_that_of_it_as_well(page, maps):
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    cat, it, both = (exchanged(model, "cat", "mat", words) for words in ([1], [7], [1, 7]))
    own = maps["tired"][IT_HEAD, 7, 1].item()
    said = (cat[1], own, it[1], cat[7], both[5])
    assert shows(page, "#step-heads", *(f"{weight:.2f}" for weight in said))
    for animal in ANIMALS:  # not in the shown sentence only
        for thing in THINGS:
            if thing != "bridge":  # nothing sits on one in the model's sentences
                cat, it, both = (exchanged(model, animal, thing, at) for at in ([1], [7], [1, 7]))
                assert cat[1] < 0.01
                assert cat.argmax() == 7, "it looks at itself"
                assert it[1] > 0.8
                assert both.argmax() == 5


def test_five_lines_are_pytorch_s(page):
    code = page.select_one("#code pre, #cell-code pre").get_text().strip()
    assert len(code.partition("def ")[2].splitlines()) == 1 + 5
    scope = {}
    exec(code, scope)
    q, k, v = (torch.randn(2, 3, 7, 4) for _ in range(3))
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(scope["attention"](q, k, v), want)


def test_a_head_switched_off(page):
    """The head that is switched off is the one that looks from the gap to the noun."""
    scores = scores_of("grammar", "masked")["seeds"]["0"]
    head = scores["attention"]["verb, guessed"]
    assert head["head"] == scores["attention"]["verb"]["head"] == [1, 1]  # the one switched off
    assert head["weight"] > 0.9
    assert scores["accuracy"]["pairs"]["1 distractors"] > 0.95
    # "No better than a tossed coin": of so many tosses, three spreads.
    without = scores["accuracy without the verb head"]["pairs"]["1 distractors"]
    assert without < 0.5 + 3 * 0.5 / COUNT**0.5
    right = round(COUNT * scores["accuracy"]["pairs"]["1 distractors"])
    assert shows(page, "#predict-needed", str(COUNT), str(right))
    assert shows(page, "#predict-needed .answer", str(round(COUNT * without)))


def test_without_the_head_the_verb_is_always_singular():
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    batch = held_out()["pairs"]["1 distractors"]
    logits = run(model, batch, hide=True, off=[(1, 1)]).logits
    guesses = [
        VOCABULARY[max(VERBS, key=row[position].tolist().__getitem__)]
        for row, sentence in zip(logits, batch, strict=True)
        for position in sentence.right
    ]
    assert len(guesses) == COUNT
    assert set(guesses) <= set(SINGULAR_VERBS)
    singular = sum(any(verbs & {*SINGULAR_VERBS} for verbs in map(set, sentence.right.values()))
                   for sentence in batch)  # fmt: skip
    assert 0.45 < singular / COUNT < 0.55  # so about half are right


def without(model, sentence, head):
    """The model's probabilities at the gap, and the maps of layer 2, with one head put to zero."""
    layer, number = head

    def silence(_, args):
        x = args[0].clone()
        size = x.shape[-1] // model.config.num_heads[layer]
        x[..., number * size : (number + 1) * size] = 0
        return (x,)

    with torch.no_grad():
        hook = model.layers[layer].attention.out_proj.register_forward_pre_hook(silence)
        try:
            run = model(model.encode(sentence.split()))
        finally:
            hook.remove()
    return run.logits[0, 6].softmax(-1), run.weights[1][0]


def test_what_the_model_fills_in(page):
    """The rows of the table, by another way to switch a head off; and the sentences below it."""
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    rows = [[cell.get_text() for cell in row.select("td")]
            for row in page.select("#tour-patterns .fallback tbody tr")]  # fmt: skip
    assert len(rows) == 1 + len(ALL_HEADS)
    wholes = [model(model.encode(sentence.split())) for sentence in LIONS]
    for i, whole in enumerate(wholes):
        assert whole.weights[1][0, 1, 6].argmax() == 1  # its head finds the noun
        assert whole.weights[1][0, 0, 6].argmax() == 7  # and the other *tame*
        chances = [whole.logits[0, 6].softmax(-1)]
        for head in ALL_HEADS:
            chance, maps = without(model, LIONS[i], head)
            chances.append(chance)
            if head[0] == 0:  # all maps of layer 2 change
                assert (maps - whole.weights[1][0]).abs().amax((1, 2)).min() > 0.1
        for row, chance in zip(rows, chances, strict=True):
            best = f"{model.config.vocabulary[chance.argmax()]} {chance.max():.2f}"
            assert row[i + 1] == best, row
    words = [[cell.split()[0] for cell in row[1:]] for row in rows]
    assert words[0] == ["is", "are"]
    assert words[6] == ["is", "is"]
    assert [i for i, pair in enumerate(words) if pair == ["the", "the"]] == [4, 5]
    assert wholes[0].weights[0][0, 3, 6].max() < 0.3
    assert shows(page, "#step-patterns", f"{wholes[0].weights[0][0, 3, 6].max():.2f}")


def test_the_picked_rows(page):
    """The output's last line: cat's query is the sum of two rows of W_Q."""
    last = output(page, "roles").splitlines()[-1].replace(". ", ".0 ").replace(".]", ".0]")
    noun, alive, query = np.reshape(numbers(last), (3, 2))
    assert (noun + alive).tolist() == query.tolist() == Q[1].tolist()


def test_the_matrices_shown_are_those_of_the_code(page):
    scope = {}
    exec(page.select_one("#step-roles pre.python").get_text(), scope)
    rows = page.select_one("#step-roles table").select("tbody tr")
    shown = [numbers(row.get_text(" ")) for row in rows]
    matrices = [scope[name] for name in ("W_Q", "W_K", "W_V")]
    assert shown == np.concatenate(matrices, axis=1).tolist()


def test_before_training_shares_are_nearly_even():
    """ "Each of the ten words gets about a tenth", in every head, from any seed."""
    config = load(ROOT / "models/grammar/weights/masked.safetensors").config
    for seed in range(5):
        torch.manual_seed(seed)
        untrained = Transformer(config).eval()
        for layer in untrained(untrained.encode([*WORDS, "tired"])).weights:
            assert (layer - 0.1).abs().max() < 0.005


def test_weights_hidden_after_softmax_do_not_make_1(page):
    """ "The would keep … for itself, in place of 1." """
    weight = (Q @ K.T / math.sqrt(2)).softmax(-1)[0, 0].item()
    assert shows(page, "#step-code .answer", f"{weight:.2f}", "1")


def test_every_source_is_cited(page):
    keys = ["brown2020", "clark2019", "olsson2022"]
    assert all(page.select_one(f"#ref-{key}") for key in keys)
