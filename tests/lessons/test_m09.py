"""m09: its claims, by the models' own forward passes and over the scores of all trainings."""

import itertools
import json
import math
import re
from dataclasses import replace

import pytest
import torch

from analysis import rollout
from course.payloads import patch_lab
from course.payloads.attributions import EXAMPLES, classifier
from models.sentiment import attributions
from models.sentiment.reviews import INDEX, OTHERS, to_tensors
from models.sentiment.scores import EXPLAINED, held_out
from models.weights import load
from modules.m09_interpretation import other_seeds
from modules.m09_interpretation.subject_number import carried, pairs
from tests.conftest import ROOT
from tests.lessons.page_text import cells, share, shows
from tests.numbers import number, numbers
from tests.scores import scores_of

PAGE = "modules/m09_interpretation/lesson.html"
REVIEW = EXAMPLES[0].split()
# Places in what the model reads: before the review stands [class].
CLASS, NOT, FILM = 0, 1 + REVIEW.index("not"), 1 + REVIEW.index("film")
SEEDS = {"A": "0", "B": "2"}


def seeds_of(kind):
    return scores_of("sentiment", kind)["seeds"]


def finds(kind, method):
    return [one["finds"][method]["all"] for one in seeds_of(kind).values()]


def spreads(kind):
    """How far each method's best training is from its worst."""
    return {way: max(finds(kind, way)) - min(finds(kind, way)) for way in attributions.METHODS}


def encode(words):
    return torch.tensor([[INDEX[word] for word in ["[class]", *words]]])


def with_words(**others):
    return [others.get(word, word) for word in REVIEW]


@torch.no_grad()
def y_of(name, words, off=()):
    bad, good = (INDEX[answer] for answer in ("[bad]", "[good]"))
    logits = classifier(name)(encode(words), off=off).logits[0, 0]
    return (logits[good] - logits[bad]).item()


def chance(name, **others):
    """Of good; ``others``: words in place of some."""
    return 1 / (1 + math.exp(-y_of(name, with_words(**others))))


@pytest.mark.parametrize("name", SEEDS)
def test_both_models_are_right_look_elsewhere_and_need_the_same_words(name):
    looks_at, not_at = (NOT, FILM) if name == "A" else (FILM, NOT)
    assert seeds_of("ordinary")[SEEDS[name]]["right"] == 1
    weights = classifier(name)(encode(REVIEW)).weights[-1][0]
    assert len(weights) == 1, "one head, so one map"
    assert weights[0, 0, looks_at] > 0.9
    assert weights[0, 0, not_at] < 0.01
    assert 0.4 < chance(name, **{"not": "[blank]"}) < 0.65, "it can't tell"
    assert max(chance(name), chance(name, film="[blank]")) < 0.01, "as sure as it was"
    assert chance(name, film="coffee", coffee="film") > 0.99, "the noun counts"
    assert chance(name, **{"not": "quite"}) > 0.99


def test_patches_with_a_pencil(page):
    rows, ys = page.select("#sec-patch table")[1].select("tbody tr"), []
    for _, at_not, at_film, y in (row.select("td") for row in rows):
        ys.append(0.1 * number(at_not.text) + 0.9 * number(at_film.text))
        assert numbers(y.text)[-1] == pytest.approx(ys[-1])
    first, second, at_not, at_film = ys
    moves = [f"{y - first:.1f}" for y in (second, at_not, at_film)]
    way = f"{100 * (at_film - first) / (second - first):.0f}"
    assert shows(page, "#sec-patch", f"{first:g}", f"{second:g}", *moves, f"{way} %")
    rows = page.select_one("#predict-copies").find_previous("table").select("tbody tr")
    first, second, patched = ([numbers(td.text) for td in row.select("td")[1:]] for row in rows)
    for *both, y in (first, second):
        assert y == [max(both)[0]], "the larger of the two"
    assert patched == [second[0], first[1], []], "for the reader to find"
    assert max(patched[:2]) == second[2], "all the way"


def test_attributions_with_a_pencil(page):
    """Of y = x₁ · x₂, at -1 and 3: erasure, and the slopes on the way from zeros."""
    walk, gets = page.select("#sec-truth table")[:2]
    for t, row in zip((0, 0.5, 1), walk.select("tbody tr"), strict=True):
        assert numbers(row.get_text(" ")) == [-t, 3 * t, -3 * t**2, 3 * t]
    way = torch.linspace(0, 1, 1001).double()
    of_not, of_superb = ((3 * way).mean() * -1).item(), ((-1 * way).mean() * 3).item()
    assert numbers(gets.select("tr")[1].get_text(" "))[-1] == pytest.approx(of_not)
    assert of_not + of_superb == pytest.approx(-1 * 3), "they share out what there is"
    told = (f"{x:.1f}".removesuffix(".0") for x in ((-1 * way).mean().item(), of_superb, -3))
    assert shows(page, "#sec-truth .answer", *told)
    assert shows(page, "#sec-truth", "-3", "0", "-3", "-3", "-6"), "by erasure each gets all of it"


@torch.no_grad()
def test_either_noun_tells_which_opinion_is_the_film_s(page):
    def without(*nouns):
        return 1 / (1 + math.exp(-y_of("B", with_words(**dict.fromkeys(nouns, "[blank]")))))

    both = without("film", "coffee")
    assert max(without("film"), without("coffee")) < 0.05 < 0.5 < both
    assert shows(page, "#sec-play", share(both))
    assert y_of("B", with_words(film="[blank]"), off=[(1, 0)]) < -3, "nor is film needed"


def test_each_training_s_attention_is_right_about_a_share_of_its_own(page):
    trainings = seeds_of("ordinary").items()
    attention = {seed: one["finds"]["attention"]["all"] for seed, one in trainings}
    six = [part for seed, part in attention.items() if seed not in SEEDS.values()]
    assert sum(part > 0.9 for part in six) == 2
    assert min(attention, key=attention.get) == SEEDS["B"]
    least_right = min(one["right"] for _, one in trainings)
    assert shows(page, "#predict-finds", share(attention[SEEDS["B"]]))
    assert shows(page, "#predict-finds", share(least_right))


def test_rollout_with_a_pencil(page):
    formulas = "".join(part.get_text() for part in page.select("#two-more annotation"))
    matrices = [
        [[float(x) for x in row.split("&")] for row in matrix.split(r"\\")]
        for matrix in re.findall(r"begin\{pmatrix\}(.*?)\\end", formulas)
    ]
    eye, below, a_1, _, above, a_2, both = torch.tensor(matrices).double()
    assert torch.equal(eye, torch.eye(2).double())
    torch.testing.assert_close(a_1, rollout([below[None]]))
    torch.testing.assert_close(a_2, rollout([above[None]]))
    torch.testing.assert_close(both, rollout([below[None], above[None]]))


def test_attention_of_b_names_the_film_first_and_the_other_ways_what_decides():
    first = {}
    for name, (way, method) in itertools.product(SEEDS, attributions.METHODS.items()):
        largest = method(classifier(name), encode(REVIEW))[0, 1:].abs().topk(2).indices.tolist()
        first[name, way] = [REVIEW[i] for i in largest]
    assert first["A", "attention"][0] == "not"
    assert first["B", "attention"][0] == "film"
    for name, way in itertools.product(SEEDS, ("integrated gradients", "erasure")):
        assert {*first[name, way]} == {"not", "superb"}


def test_attention_varies_most_over_the_trainings_and_erasure_least():
    attention, erasure = finds("ordinary", "attention"), finds("ordinary", "erasure")
    a, b = (seeds_of("ordinary")[seed]["finds"]["attention"]["all"] for seed in SEEDS.values())
    assert b < 0.2 < 0.95 < a
    rest = sorted({*attention} - {a, b})
    assert rest[0] < 0.2, "all over the range"
    assert rest[-1] > 0.9
    assert any(0.3 < part < 0.6 for part in rest)
    far = spreads("ordinary")
    assert max(far, key=far.get) == "attention"
    assert min(far, key=far.get) == "erasure"
    assert max(erasure) < 1, "each of the three is wrong about some"


def test_of_eight_trainings_blanks_beat_leaving_out_in_seven_and_blanks_beat_zeros_in_seven():
    def ahead(way, other):
        pairs_of = zip(finds("ordinary", way), finds("ordinary", other), strict=True)
        return sum(a > b for a, b in pairs_of)

    assert ahead("erasure, word left out", "erasure") == 1
    assert ahead("integrated gradients", "integrated gradients, from zeros") == 7
    named = [one["finds, with noun"] for one in seeds_of("ordinary").values()]
    assert max(one["erasure"] for one in named) < 0.6, "it often misses the noun"
    assert sum(one["integrated gradients"] > one["erasure"] for one in named) > len(named) / 2


@pytest.mark.parametrize(("kind", "evenest", "most"), [
    ("longer", "integrated gradients", 1), ("more-heads", "gradient × input", 0.5),
])  # fmt: skip
def test_other_trainings_give_the_prize_elsewhere_and_don_t_mend_attention(kind, evenest, most):
    far = spreads(kind)
    assert min(far, key=far.get) == evenest
    assert max(finds(kind, evenest)) < most
    assert far["attention"] > 0.6
    assert min(one["right"] for one in seeds_of(kind).values()) > 0.99


def test_fined_models_never_look_at_what_decides_and_are_mostly_right():
    right = {seed: one["right"] for seed, one in seeds_of("fined").items()}
    longer = seeds_of("fined-longer")
    worst, next_worst, *_ = sorted(right, key=right.get)
    assert max(finds("fined", "attention") + finds("fined-longer", "attention")) < 0.05
    assert min(right.values()) > 0.85
    assert min(longer[seed]["right"] for seed in (worst, next_worst)) > 0.95
    once, thrice = (scores_of("sentiment", name)["steps"] for name in ("fined", "fined-longer"))
    assert thrice == 3 * once


def test_what_erasure_misses_in_a_is_a_word_such_as_quite():
    reviews = held_out()[:EXPLAINED]
    tokens, _, decides = to_tensors(reviews)
    sizes = attributions.by_erasure(classifier("A"), tokens)
    wrong = []
    for row in (~attributions.finds(sizes, decides)).nonzero()[:, 0].tolist():
        one = reviews[row]
        first = sizes[row].abs().topk(len(one.decisive)).indices.tolist()
        wrong.append({one.words[i] for i in first if i not in one.decisive})
    assert len(wrong) > 30
    assert sum(words <= {"quite", "really", "rather"} for words in wrong) / len(wrong) > 0.9


def test_other_weights_keep_the_answer():
    far, equal = {}, {}
    for name, seed in SEEDS.items():
        weights, distance, _ = attributions.other_weights(classifier(name), encode(REVIEW))
        y, own = attributions.answer_by_weights(classifier(name), encode(REVIEW))
        assert max(y(own).sigmoid(), y(weights).sigmoid()) < 0.01
        equal[name] = y(torch.full_like(own, 1 / own.shape[-1])).sigmoid().item()
        far[name] = distance.item()
        many = seeds_of("ordinary")[seed]["other weights"]
        assert many["far"] > 0.5, "nine tenths of the weight, in half of the reviews or more"
    assert far["B"] > 0.9
    assert equal["B"] < 0.01, "B still says bad"
    assert equal["A"] > 0.5, "A no longer does"


@torch.no_grad()
def test_three_words_keep_the_answer_and_no_two_do():
    def keeping(name, count):
        kept = [*itertools.combinations(range(len(REVIEW)), count)]
        texts = [
            encode([word if i in few else "[blank]" for i, word in enumerate(REVIEW)])
            for few in kept
        ]
        good = attributions.margin(classifier(name), torch.cat(texts)).sigmoid().tolist()
        return dict(zip(kept, good, strict=True))

    for name in SEEDS:
        assert min(keeping(name, 2).values()) > 0.25, "less than 75 % sure"
        three = keeping(name, 3)
        best = min(three, key=three.get)
        assert three[best] < 0.25
        assert [REVIEW[i] for i in best] == ["film", "not", "superb"]


@pytest.mark.parametrize("name", SEEDS)
def test_the_noun_turns_as_many_reviews_as_the_page_says(page, name):
    """By the models' own answers, which are right about all of them."""
    reviews, swaps, of = held_out()[:EXPLAINED], [], []
    for index, one in enumerate(reviews):
        for i in (i for i, word in enumerate(one.words) if word in OTHERS):
            words = [*one.words]
            words[i], words[one.work] = words[one.work], words[i]
            swaps.append(replace(one, words=words))
            of.append(index)
    tokens, was_good, _ = to_tensors(swaps)
    with torch.no_grad():
        says = attributions.margin(classifier(name), tokens) > 0
    turned = {of[i] for i in (says != was_good.bool()).nonzero()[:, 0].tolist()}
    assert shows(page, "#two-more", str(len(reviews)), str(len(turned)))


def test_a_patch_finds_the_answer_where_each_model_keeps_it():
    models = patch_lab.payload()["models"]
    b, a = models["B"]["runs"]["quite"]["ways"], models["A"]["runs"]["dull"]["ways"]
    alone = [b[i][i] for i in range(len(b))]
    assert abs(alone[NOT]) < 0.005, "nothing at not"
    assert {*sorted(range(len(b)), key=alone.__getitem__)[-2:]} == {CLASS, FILM}
    assert min(alone[CLASS], alone[FILM]) > 0.5
    assert alone[CLASS] < b[CLASS][FILM] < alone[CLASS] + 0.1, "little more than [class] alone"
    assert a[NOT][NOT] == max(a[i][i] for i in range(len(a))) > 0.9
    scores = seeds_of("ordinary")[SEEDS["A"]]
    plain = scores["carries, plain"]["adjective"], scores["looks, plain"]["adjective"]
    assert min(plain) > 0.93, "without a not it stays at the adjective, and A looks there"


def test_b_needs_no_weight_in_layer_2_and_a_does():
    models = patch_lab.payload()["models"]
    assert models["B"]["weights"][CLASS] < 0.05
    for run in ("quite", "dull"):
        assert models["B"]["runs"][run]["off"][0] < -4, "without its head still bad"
        assert abs(models["A"]["runs"][run]["off"][0]) < math.log(3), "less than 75 % sure"
    assert y_of("B", with_words(film="[blank]"), off=[(1, 0)]) < -4, "with film hidden, too"


@pytest.fixture(scope="module")
def grammar():
    return load(ROOT / "models/grammar/weights/masked-standard.safetensors")


def test_the_number_is_at_the_first_word_and_two_heads_look_there(page, grammar):
    many, shown = pairs(60, seed=5), pairs(100)[1]
    shares = torch.stack([carried(grammar, pair)[[0, pair.subject]] for pair in many]).mean(0)
    assert shares[0] > 0.94
    assert shares[1] < 0.06
    assert " ".join(shown.words) == "the cups under the shiny cup [mask] ."
    looks, at_subject = [], []
    for pair in [*many, shown]:
        with torch.no_grad():
            first, second = grammar(grammar.encode(pair.words)).weights
        looks.append([first[0, 3, 0, pair.subject], *second[0, [0, 2], pair.verb, 0]])
        if pair.verb != pair.subject + 1:
            at_subject.append(torch.cat([first, second])[..., pair.verb, pair.subject])
    assert torch.tensor(looks).mean(0).min() > 0.75, "heads 1.4, 2.1 and 2.3"
    assert torch.stack(at_subject).mean(0).max() < 0.1, "no head looks at the subject"
    off = {name: numbers(" ".join(shares)) for name, *shares in cells(page, "grammar-all")}
    assert [off[name][0] for name in ("none", "2.1", "2.3")] == [100, 100, 100]
    right, singular = off["2.1 and 2.3"]
    assert singular > 90, "singular nearly always"
    assert right == pytest.approx(50, abs=5), "about half the time"


def test_in_the_other_trainings_a_head_looks_at_the_subject_and_it_is_kept_there():
    others = json.loads(other_seeds.SCORES.read_text(encoding="utf-8"))
    own = other_seeds.score(ROOT / "models/grammar/weights/masked-standard.safetensors")
    assert {one["right"] for one in (own, *others.values())} == {1}
    assert own["at the subject"] < 0.06 < 0.94 < own["at the first word"]
    for one in others.values():
        assert one["at the first word"] < 0.06 < 0.94 < one["at the subject"]
    for seed, one in scores_of("grammar", "masked-standard")["seeds"].items():
        most = max(map(max, one["attention"]["verb, guessed"]["heads"]))
        assert most > 0.9 if seed in others else most < 0.2
