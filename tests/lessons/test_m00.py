"""m00: its claims against numbers computed here."""

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
from tests.lessons.page_text import cells, shows
from tests.numbers import numbers
from tests.scores import scores_of

PAGE = "modules/m00_tour/lesson.html"
WORDS = "the cat sat on the mat because it was".split()
CAT, ON, MAT, IT, LAST = 1, 3, 5, 7, 9
IT_HEAD = 4  # layer 2, head 1, after the four of layer 1
Q = torch.tensor([[1, 0.5], [0, 2], [2, 1]], dtype=torch.float64)
K = torch.tensor([[0, 1], [2, 0.5], [0.5, 1]], dtype=torch.float64)
V = torch.tensor([[-1, 1], [2, 0.5], [0.5, 1.5]], dtype=torch.float64)
MAT_KEY = MAT_VALUE = torch.tensor([1, 0.5], dtype=torch.float64)  # a noun, not alive


@pytest.fixture
def model():
    return load(ROOT / "models/grammar/weights/masked.safetensors")


@pytest.fixture(scope="module")
def maps():
    """Last word -> the weights of all heads, (heads, words, words), those of layer 1 first."""
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    return {
        end: torch.cat(model(model.encode([*WORDS, end])).weights, dim=1)[0].detach()
        for end in ("tired", "warm")
    }


def two(numbers):
    """As the page writes them."""
    return [f"{x:.2f}" for x in numbers]


def test_table_and_code_have_the_same_numbers_and_the_code_needs_no_hidden_cell(page):
    scope = {}
    for code in page.select("section.level2[id^=step-] pre.python"):
        exec(code.get_text(), scope)
    assert [scope[name].tolist() for name in "QKV"] == [x.tolist() for x in (Q, K, V)]
    rows = [numbers(" ".join(row)) for row in cells(page, "step-roles > table")]
    matrices = [scope[name] for name in ("W_Q", "W_K", "W_V")]
    assert rows == np.concatenate(matrices, axis=1).tolist()
    answer = [numbers(" ".join(row[1:])) for row in cells(page, "tour-roles")]
    assert answer == torch.cat((Q, K, V), dim=1).tolist()


def test_the_scores_of_sat(page):
    scores = (Q @ K.T)[2].tolist()
    answers = page.select("#predict-scores .answer li")
    assert [numbers(answer.get_text().split("=")[1])[0] for answer in answers] == scores
    of_mat = (Q[2] @ MAT_KEY).item()
    assert shows(page, "#step-scores", *(f"{score:g}" for score in scores))
    assert shows(page, "#step-scores .answer", f"{of_mat:g}", f"{scores[1] - of_mat:g}")


def test_a_reader_who_computes_the_weights_along_gets_the_same(page):
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


def test_sat_finds_out_that_the_cat_sat_and_not_that_the_mat_did(page):
    """Its output lies nearest to the value of *cat*; with *mat*, to its own."""
    keys, values = K.clone(), V.clone()
    keys[1], values[1] = MAT_KEY, MAT_VALUE
    cat, mat = (F.scaled_dot_product_attention(Q[None], k[None], v[None])[0, 2]
                for k, v in ((K, V), (keys, values)))  # fmt: skip
    assert (V - cat).norm(dim=1).argmin() == 1
    assert (values - mat).norm(dim=1).argsort().tolist() == [2, 1, 0]
    weight = (Q[2] @ keys.T / math.sqrt(2)).softmax(-1)[1]
    assert shows(page, "#step-softmax", *two(cat), "2", "0.5")
    assert shows(page, "#step-softmax .answer", *two([weight, *mat]))


def test_what_the_mask_hides_is_shared_as_before(page):
    free = (Q @ K.T / math.sqrt(2)).softmax(-1)
    seen = F.scaled_dot_product_attention(Q[None], K[None], torch.eye(3)[None].double(),
                                          is_causal=True)[0]  # fmt: skip
    assert seen[0].tolist() == [1, 0, 0]
    assert round((free[1, 0] / free[1, 1]).item(), 1) == 2, "about two to one"
    torch.testing.assert_close(seen[1, 0] / seen[1, 1], free[1, 0] / free[1, 1])
    assert shows(page, "#step-mask .answer", *two([*free[1, :2], *seen[1, :2]]))
    # Hidden after softmax, *The* would keep its part alone.
    assert shows(page, "#step-code .answer", *two([free[0, 0]]), "1")


def test_five_lines_are_pytorch_s(page):
    code = page.select_one("#code pre, #cell-code pre").get_text().strip()
    assert len(code.partition("def ")[2].splitlines()) == 1 + 5
    scope = {}
    exec(code, scope)
    q, k, v = (torch.randn(2, 3, 7, 4) for _ in range(3))
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(scope["attention"](q, k, v), want)


def test_the_last_word_decides_where_it_looks(page, maps):
    for end, noun in (("tired", CAT), ("warm", MAT)):
        look = maps[end][IT_HEAD, IT]
        assert look.argmax() == noun
        assert look[LAST] < 0.15, "the last word itself gets little weight"
        [row] = [row for row in cells(page, "tour-why .fallback") if row[0] == end]
        assert row[1:] == two([look[CAT], look[MAT], 1 - look[CAT] - look[MAT]])
    assert maps["tired"][IT_HEAD, IT, CAT] > 0.98, "almost only at cat"


def test_where_on_it_and_cat_look(page, maps):
    words, heads = [*WORDS, "tired"], maps["tired"]
    for head, row in zip(heads, cells(page, "tour-heads .fallback"), strict=True):
        assert row[1:] == [f"{words[head[i].argmax()]} {head[i].max():.2f}" for i in (ON, IT)]
    assert heads[4:, ON].argmax(-1).tolist() == [CAT, MAT], "two questions, two heads"
    assert heads[4:, IT].argmax(-1).tolist() == [CAT, CAT]
    assert shows(page, "#step-heads", *two(heads[4:, ON].amax(-1)))
    clue = (heads[:4, CAT].argmax(-1) == LAST).nonzero().flatten() + 1
    assert shows(page, "#step-heads", *map(str, clue.tolist()))


@torch.no_grad()
def test_the_key_of_cat_has_the_clue_and_mat_needs_that_of_it_as_well(page, model, maps):
    tired, warm = (model.encode([*WORDS, end]) for end in ("tired", "warm"))
    of_warm = model(warm).residual[1]

    def exchanged(positions):
        """The weights of "it", once these words come to layer 2 as where the last is *warm*."""

        def exchange(_, args):
            x = args[0].clone()
            x[0, positions] = of_warm[0, positions]
            return x, *args[1:]

        hook = model.layers[1].register_forward_pre_hook(exchange)
        look = model(tired).weights[1][0, 0, IT]
        hook.remove()
        return look

    cat, it, both = (exchanged(words) for words in ([CAT], [IT], [CAT, IT]))
    assert cat[CAT] < 0.01, "without the clue in its key it gets nothing"
    assert cat.argmax() == IT, "and mat doesn't, either"
    assert both.argmax() == MAT
    own = maps["tired"][IT_HEAD, IT, CAT]
    assert shows(page, "#step-heads", *two([cat[CAT], own, it[CAT], cat[IT], both[MAT]]))


def test_before_training_shares_are_nearly_even(model):
    """ "Each of the ten words gets about a tenth", in every head, from any seed."""
    for seed in range(5):
        torch.manual_seed(seed)
        untrained = Transformer(model.config).eval()
        for layer in untrained(untrained.encode([*WORDS, "tired"])).weights:
            assert (layer - 0.1).abs().max() < 0.005


def test_without_its_head_the_verb_is_singular_and_so_right_in_about_half(page, model):
    scores = scores_of("grammar", "masked")["seeds"]["0"]
    found = scores["attention"]["verb, guessed"]
    assert found["head"] == [1, 1]
    assert found["weight"] > 0.9, "it looks from the gap to the noun"
    right, without = (
        scores[name]["pairs"]["1 distractors"]
        for name in ("accuracy", "accuracy without the verb head")
    )
    assert right > 0.95
    assert without < 0.5 + 3 * 0.5 / COUNT**0.5, "no better than a tossed coin, by three spreads"
    assert page.select_one("#predict-needed")["data-right"] == "2"

    batch = held_out()["pairs"]["1 distractors"]
    logits = run(model, batch, hide=True, off=[(1, 1)]).logits
    guesses = {
        VOCABULARY[max(VERBS, key=row[position].tolist().__getitem__)]
        for row, sentence in zip(logits, batch, strict=True)
        for position in sentence.right
    }
    assert guesses <= {*SINGULAR_VERBS}
    singular = sum(
        bool({*SINGULAR_VERBS}.intersection(*sentence.right.values())) for sentence in batch
    )
    assert 0.45 < singular / COUNT < 0.55


@torch.no_grad()
def test_what_the_model_fills_in_without_each_head(page, model):
    """The table, by zeros in the matrix that joins the heads; and the sentences about it."""
    gap, lions = 6, ("the lion near the old windows [mask] tame",
                     "the lions near the old window [mask] tame")  # fmt: skip
    filled, faint = [], []
    for words in lions:
        tokens = model.encode(words.split())
        whole = model(tokens)
        one, two = whole.weights[1][0, :, gap].argmax(-1).tolist()
        assert (one, two) == (7, 1), "one looks at tame, the other at the noun"
        runs = [whole]
        for layer, head in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]:
            join = model.layers[layer].attention.out_proj.weight
            size = join.shape[1] // model.config.num_heads[layer]
            columns = join[:, head * size : (head + 1) * size]
            kept = columns.clone()
            columns.zero_()
            runs.append(model(tokens))
            columns.copy_(kept)
        for changed in runs[1:5]:  # a head of layer 1 changes both maps of layer 2
            assert (changed.weights[1] - whole.weights[1]).abs().amax((0, 2, 3)).min() > 0.1
        shares = [run.logits[0, gap].softmax(-1) for run in runs]
        filled.append([f"{VOCABULARY[share.argmax()]} {share.max():.2f}" for share in shares])
        faint.append(f"{whole.weights[0][0, 3, gap].max():.2f}")
    shown = [row[1:] for row in cells(page, "tour-patterns .fallback")]
    assert shown == [list(row) for row in zip(*filled, strict=True)]
    assert shows(page, "#step-patterns", faint[0])
    verbs = [[text.split()[0] for text in column] for column in filled]
    assert [column[0] for column in verbs] == ["is", "are"]
    assert [column[6] for column in verbs] == ["is", "is"]
    for column in verbs:
        assert [i for i, word in enumerate(column) if word == "the"] == [4, 5]
