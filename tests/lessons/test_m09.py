"""m09: its sentences against the committed scores and numbers computed here."""

import json

import pytest
import torch

from analysis import rollout
from course.payloads.attributions import EXAMPLES, classifier
from models.sentiment import attributions
from models.sentiment.reviews import INDEX, STRESSES, WORKS, to_tensors
from models.sentiment.scores import EXPLAINED, TESTS, held_out
from models.weights import load
from modules.m09_interpretation import other_seeds
from modules.m09_interpretation.subject_number import OTHER, carried, pairs
from tests.conftest import ROOT
from tests.lessons.reading import numbers, output

PAGE = "modules/m09_interpretation/lesson.html"
REVIEW = EXAMPLES[0].split()
NOT, FILM = REVIEW.index("not"), REVIEW.index("film")
SEEDS = {"A": "0", "B": "2"}
SCORES = ROOT / "models/sentiment/scores"
SINGULAR = "sleeps plays waits hides runs rests shines falls stands is".split()


def told(kind):
    return json.loads((SCORES / f"{kind}.json").read_text(encoding="utf-8"))["seeds"]


def finds(kind, method):
    return [one["finds"][method]["all"] for one in told(kind).values()]


def chance(name, *gone, **put):
    """Of good, by the model's own forward pass; ``put``: other words in place of some."""
    model = classifier(name)
    words = ["[blank]" if word in gone else put.get(word, word) for word in REVIEW]
    tokens = torch.tensor([[INDEX[word] for word in ["[class]", *words]]])
    with torch.no_grad():
        bad, good = model(tokens).logits[0, 0, [INDEX["[bad]"], INDEX["[good]"]]]
    return torch.stack((bad, good)).softmax(0)[1].item()


def said(page, section):
    return " ".join(
        page.select_one(section).get_text().replace("\N{NARROW NO-BREAK SPACE}", " ").split()
    )


def cells(page, label):
    """The rows of a table, less its header."""
    table = page.select_one(f"#{label} table, #cell-{label} table")
    rows = [[cell.get_text() for cell in row.select("td")] for row in table.select("tr")]
    return [row for row in rows if row]


# ---- Two models ------------------------------------------------------------------------------


def test_both_models_are_right_and_look_elsewhere(page):
    assert "of 2,000 new reviews each gets 100 % right" in said(page, "#sec-two")
    tokens, _, _ = to_tensors(held_out())
    rows = []
    for name, place in (("A", NOT), ("B", FILM)):
        assert told("ordinary")[SEEDS[name]]["right"] == 1
        model = classifier(name)
        weights = model(model.encode(["[class]", *REVIEW])).weights[-1][0, 0, 0, 1:]
        assert weights.argmax() == place
        assert weights[place] > 0.9
        assert weights[NOT if place == FILM else FILM] < 0.01
        rows.append(attributions.read(model, tokens).weights[-1][:, 0, 0])
    apart = (rows[0].topk(1).indices != rows[1].topk(1).indices).double().mean().item()
    assert f"in {100 * apart:.0f} % of the new reviews the two look" in said(page, "#sec-two")


def test_without_not_neither_knows_and_without_film_both_do(page):
    for (_, *row), name in zip(cells(page, "erase-not"), "AB", strict=True):
        want = [chance(name, *gone) for gone in ((), ("not",), ("film",))]
        assert numbers(" ".join(row)) == pytest.approx([100 * share for share in want], abs=0.51)
        assert want[0] < 0.01
        assert 0.4 < want[1] < 0.65, "it can't tell"
        assert want[2] < 0.01, "as sure as it was"


def test_two_layers_and_one_head_at_the_top_from_eight_seeds():
    for name in SEEDS:
        heads = [layer.attention.num_heads for layer in classifier(name).layers]
        assert len(heads) == 2
        assert heads[1] == 1
    assert len(told("ordinary")) == 8


def test_the_works_are_those_that_the_page_names(page):
    named = "a film, a book, a play, a song, a story or a show"
    assert named in page.get_text()
    assert set(WORKS) == {"film", "book", "play", "song", "story", "show"}


@pytest.mark.parametrize("name", SEEDS)
def test_the_noun_counts_and_quite_turns_the_answer(name):
    assert chance(name, film="coffee", coffee="film") > 0.99
    assert chance(name, **{"not": "quite"}) > 0.99
    assert chance(name, "superb") > 0.25, "the adjective hidden: it can't be sure"


# ---- Accounts --------------------------------------------------------------------------------


def test_gradient_times_input_by_hand_is_that_of_analysis_py():
    model = classifier("A")
    tokens = model.encode(["[class]", *REVIEW])
    vectors = model.embedding[tokens].detach().requires_grad_()
    x = vectors + model.positions[: tokens.shape[1]]
    attributions.margin_of_states(model, x, attributions.visible(tokens))[0].backward()
    want = (vectors * vectors.grad).sum(-1)[:, 1:]
    torch.testing.assert_close(attributions.by_gradient(model, tokens)[:, 1:], want)


def span(numbers):
    least, most = (f"{100 * end(numbers):.0f}" for end in (min, max))
    return least if least == most else f"{least} to {most}"


def test_the_tables_of_scores_are_those_committed(page):
    ways = [*attributions.METHODS, "erasure, word left out"]
    trainings = told("ordinary").values()
    assert cells(page, "finds") == [
        [
            way,
            span(finds("ordinary", way)),
            span([one["finds, with stresses"][way] for one in trainings]),
            span([one["finds, with noun"][way] for one in trainings]),
        ]
        for way in ways
    ]
    kinds = ("longer", "more-heads", "fined")
    assert cells(page, "finds-kinds") == [
        [way, *(span(finds(kind, way)) for kind in kinds)] for way in attributions.METHODS
    ]


def test_what_is_said_of_y_and_of_erasing_not(page):
    y = [torch.logit(torch.tensor(chance("A", *gone))).item() for gone in ((), ("not",))]
    shown = [f"{number:.2f}".replace("-", "−") for number in (*y, y[0] - y[1])]
    text = said(page, "#sec-truth")
    assert y[0] < y[1], "the minus"
    share = f"{100 * chance('A', 'not'):.0f} %"
    assert f"makes that the {share} of the first table" in text
    assert cells(page, "erase-not")[0][2].replace("\N{NARROW NO-BREAK SPACE}", " ") == share
    assert f"{shown[0]} − {shown[1]} = {shown[2]}, and the minus says" in text


@pytest.mark.parametrize("name", SEEDS)
def test_integrated_gradients_share_out_what_lies_between_blanks_and_the_review(name):
    model = classifier(name)
    tokens = model.encode(["[class]", *REVIEW])
    blanks = model.encode(["[class]", *(["[blank]"] * len(REVIEW))])
    total = attributions.by_integrated_gradients(model, tokens).sum()
    between = attributions.margin(model, tokens) - attributions.margin(model, blanks)
    assert total.item() == pytest.approx(between.item(), abs=0.02)


def test_rollout_by_pencil():
    maps = torch.tensor([[[[[0.2, 0.8], [0, 1]]]], [[[[1, 0], [1, 0]]]]], dtype=torch.float64)
    want = torch.tensor([[0.6, 0.4], [0.3, 0.7]], dtype=torch.float64)
    torch.testing.assert_close(rollout([*maps])[0], want)


def test_integrated_gradients_by_pencil():
    """Of the product of -1 and 3, from two zeros on."""
    way = (torch.arange(1000) + 0.5) / 1000
    means = (3 * way).mean().item(), (-1 * way).mean().item()
    assert means == pytest.approx((1.5, -0.5))
    assert (means[0] * -1, means[1] * 3) == pytest.approx((-1.5, -1.5))


def test_a_patch_by_pencil():
    def y(at_not, at_film):
        return 0.1 * at_not + 0.9 * at_film

    found = [y(1, -4), y(2, 6), y(2, -4), y(1, 6)]
    assert found == pytest.approx([-3.5, 5.6, -3.4, 5.5])
    moved = [(one - found[0]) / (found[1] - found[0]) for one in found[2:]]
    assert [round(share, 2) for share in moved] == [0.01, 0.99]


def test_which_lines_of_the_widget_have_which_words_in_front():
    first = {}
    for name in SEEDS:
        model = classifier(name)
        tokens = model.encode(["[class]", *REVIEW])
        for way, method in attributions.METHODS.items():
            largest = method(model, tokens)[0, 1:].abs().topk(3).indices.tolist()
            first[name, way] = [REVIEW[place] for place in largest]
    assert {words[0] for (name, _), words in first.items() if name == "A"} == {"not"}
    assert first["B", "attention"][0] == "film"
    assert first["B", "rollout"] == ["film", "not", "superb"]
    for way in ("gradient × input", "integrated gradients", "erasure"):
        assert {*first["B", way][:2]} == {"not", "superb"}
    assert {*first["A", "erasure"][:2]} == {*first["A", "integrated gradients"][:2]}


def test_with_quite_erasure_is_ahead_of_attention_and_with_the_noun_integrated_gradients(page):
    trainings = told("ordinary").values()
    stressed = [one["finds, with stresses"] for one in trainings]
    assert all(one["erasure"] > one["attention"] for one in stressed)
    named = [one["finds, with noun"] for one in trainings]
    ahead = sum(one["integrated gradients"] > one["erasure"] for one in named)
    assert f"ahead of erasure in {ahead} of the eight trainings" in said(page, "#sec-scores")
    assert ahead > len(named) / 2


@pytest.mark.parametrize("name", SEEDS)
def test_the_score_with_quite_is_found_again_review_by_review(name):
    made, model = held_out()[:60], classifier(name)
    hits = dict.fromkeys(("attention", "erasure"), 0)
    for one in made:
        tokens = to_tensors([one])[0]
        decisive = {i for i in one.verdict if one.words[i] in STRESSES} | set(one.decisive)
        for method in hits:
            sizes = attributions.METHODS[method](model, tokens)[0].abs().tolist()
            order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
            hits[method] += set(order[: len(decisive)]) == decisive
    want = told("ordinary")[SEEDS[name]]["finds, with stresses"]
    for method, count in hits.items():
        assert count / len(made) == pytest.approx(want[method], abs=0.12)


@pytest.mark.parametrize("name", SEEDS)
def test_behind_a_blank_for_quite_neither_can_tell_more_than_for_not(name):
    model, unsure = classifier(name), {"turn": [], "stress": []}
    for one in held_out()[:EXPLAINED]:
        turns = one.decisive[:-1]
        kinds = {"turn": turns, "stress": [i for i in one.verdict if one.words[i] in STRESSES]}
        for kind, places in kinds.items():
            for place in places:
                words = [*one.words[:place], "[blank]", *one.words[place + 1 :]]
                with torch.no_grad():
                    chance_of_good = (
                        attributions.margin(model, model.encode(words)).sigmoid().item()
                    )
                unsure[kind].append(max(chance_of_good, 1 - chance_of_good) < 0.75)
    for found in unsure.values():
        assert len(found) > 150
        assert sum(found) / len(found) > 0.8


def test_what_is_said_of_the_scores(page):
    attention, erasure = finds("ordinary", "attention"), finds("ordinary", "erasure")
    a, b = (told("ordinary")[seed]["finds"]["attention"]["all"] for seed in SEEDS.values())
    assert [round(100 * share) for share in (a, b)] == [98, 14]
    assert f"names the decisive words in at least {int(100 * min(erasure))} %" in said(
        page, "#sec-scores"
    )
    rest = sorted(set(attention) - {a, b})
    assert rest[0] < 0.2, "all over the range"
    assert rest[-1] > 0.9
    assert any(0.3 < share < 0.6 for share in rest)

    for kind in ("ordinary", "longer", "more-heads", "fined"):
        assert min(finds(kind, "erasure")) > 0.58
    spreads = {
        method: max(finds("ordinary", method)) - min(finds("ordinary", method))
        for method in attributions.METHODS
    }
    assert min(spreads, key=spreads.get) == "erasure"
    assert max(spreads, key=spreads.get) == "attention"
    assert min(erasure) > 0.7
    for rival in ("longer", "more-heads"):
        found = finds(rival, "attention")
        assert max(found) - min(found) > 0.6
        assert min(one["right"] for one in told(rival).values()) > 0.99
    assert max(finds("fined", "attention")) < 0.05
    right = {seed: one["right"] for seed, one in told("fined").items()}
    assert sorted(round(100 * share) for share in right.values()) == [86, 94, 98, 99, 100]
    longer = told("fined-longer")
    worst, next_worst, *_, best = sorted(right, key=right.get)
    assert set(longer) == {worst, next_worst, best}
    assert [round(TESTS * longer[seed]["right"]) for seed in (worst, next_worst)] == [1970, 1913]
    assert all(one["finds"]["attention"]["all"] == 0 for one in longer.values())
    scripts = {
        name: json.loads((SCORES / f"{name}.json").read_text())
        for name in ("fined", "fined-longer")
    }
    assert scripts["fined-longer"]["steps"] == 3 * scripts["fined"]["steps"]
    zeros = finds("ordinary", "integrated gradients, from zeros")
    assert sum(zeros) < sum(finds("ordinary", "integrated gradients"))


def test_which_way_is_the_most_even_where():
    def spread(kind, method):
        found = finds(kind, method)
        return max(found) - min(found)

    evenest = {
        kind: min(attributions.METHODS, key=lambda method, kind=kind: spread(kind, method))
        for kind in ("ordinary", "longer", "more-heads")
    }
    by_gradient = "gradient × input"
    assert evenest == {
        "ordinary": "erasure", "longer": "integrated gradients",
        "more-heads": by_gradient,
    }  # fmt: skip
    assert round(100 * max(finds("more-heads", by_gradient))) == 41
    left_out, blanked = finds("ordinary", "erasure, word left out"), finds("ordinary", "erasure")
    assert sum(a > b for a, b in zip(left_out, blanked, strict=True)) == 1, "in all but one"


def test_what_erasure_misses_in_a_is_a_word_such_as_quite():
    made = held_out()[:EXPLAINED]
    tokens, _, decides = to_tensors(made)
    found = attributions.by_erasure(classifier("A"), tokens)
    missed = (~attributions.finds(found, decides)).nonzero()[:, 0].tolist()
    assert len(missed) > 30
    stressed = 0
    for row in missed:
        one = made[row]
        first = found[row].abs().topk(len(one.decisive)).indices.tolist()
        wrong = [place for place in first if place not in one.decisive]
        stressed += all(one.words[place] in ("quite", "really", "rather") for place in wrong)
    assert stressed / len(missed) > 0.9


# ---- Other weights, patches --------------------------------------------------------------------


def test_other_weights_keep_the_answer(page):
    text = said(page, "#sec-other")
    for name in SEEDS:
        model = classifier(name)
        tokens = model.encode(["[class]", *REVIEW])
        weights, far, _ = attributions.other_weights(model, tokens)
        rest, was = attributions.answer_by_weights(model, tokens)
        rows = (was, weights, torch.full_like(was, 1 / was.shape[-1]))
        own, other, equal = (rest(row).sigmoid().item() for row in rows)
        assert max(own, other) < 0.01
        assert f"{100 * far.item():.0f} % of {name}’s" in text
        if name == "A":
            left = weights[0, 0, 1 + NOT].item()
            assert f"with the {100 * left:.0f} % that the search leaves at not" in text
            assert equal > 0.5
        else:
            assert far > 0.9
            assert equal < 0.01


def test_a_blank_hides_the_word_film_and_not_the_news(page):
    model = classifier("B")
    blank = ["[blank]" if word == "film" else word for word in REVIEW]
    dull = ["dull" if word == "superb" else word for word in blank]

    def between(words):
        return attributions.read(model, model.encode(["[class]", *words])).residual[1]

    def answer(x):
        return attributions.margin_of_states(model, x, None, start=1)[0].item()

    mine, theirs = between(blank), between(dull)
    moved = []
    for place in (1 + REVIEW.index("film"), 0):
        mixed = mine.clone()
        mixed[:, place] = theirs[:, place]
        moved.append((answer(mixed) - answer(mine)) / (answer(theirs) - answer(mine)))
    assert f"{moved[0]:.0%}, {moved[1]:.0%}" == "26%, 64%"
    assert "moves B by 26 %, and one at [class] by 64 %" in said(page, "main")


def test_over_many_reviews_other_and_equal_weights_keep_answers(page):
    seeds = told("ordinary")
    parts = [[one["other weights"][part] for one in seeds.values()]
             for part in ("found", "distance", "far")]  # fmt: skip
    parts.append([one["equal weights"] for one in seeds.values()])
    assert [row[-1] for row in cells(page, "found-many")] == [span(part) for part in parts]
    for seed in SEEDS.values():
        assert seeds[seed]["other weights"]["far"] > 0.5, "in half of all reviews or more"
        assert seeds[seed]["other weights"]["found"] >= 0.995


@pytest.mark.parametrize("name", SEEDS)
def test_all_weight_on_one_place_is_a_mask_that_shows_that_place_alone(name):
    model = classifier(name)
    tokens = model.encode(["[class]", *REVIEW])
    between = attributions.read(model, tokens).residual[-2]
    answer, _ = attributions.answer_by_weights(model, tokens)
    for row in torch.eye(tokens.shape[1]):
        want, _ = attributions.margin_of_states(model, between, row.bool()[None], start=1)
        torch.testing.assert_close(answer(row[None, None]), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "kept"), [("A", [1 + NOT]), ("B", [0, 1 + FILM])])
def test_a_patch_finds_the_answer_at_not_or_at_film_and_class(name, kept):
    model = classifier(name)
    dull = [word.replace("superb", "dull") for word in REVIEW]
    tokens, other = (model.encode(["[class]", *words]) for words in (REVIEW, dull))
    before, between = attributions.patched(model, tokens, other)
    assert before[0, 1 + REVIEW.index("superb")].item() == pytest.approx(1, abs=1e-4)
    assert sorted(between[0].topk(len(kept)).indices.tolist()) == kept
    assert between[0, kept].min() > 0.3
    assert between[0, kept].sum() > 0.9
    assert between[0].argmax() == kept[0], "more is at [class] than at film"


def test_the_patches_of_the_page(page):
    text = said(page, "main")
    quite, dull = ([word.replace(old, new) for word in REVIEW]
                   for old, new in (("not", "quite"), ("superb", "dull")))  # fmt: skip
    moved = {}
    for name, other in (("A", dull), ("B", quite)):
        model = classifier(name)
        tokens, theirs = (model.encode(["[class]", *words]) for words in (REVIEW, other))
        moved[name] = attributions.patched(model, tokens, theirs)[1][0]
    assert sorted(moved["B"].topk(2).indices.tolist()) == [0, 1 + FILM]
    assert moved["B"][[0, 1 + FILM]].min() > 0.5, "each nearly suffices"
    assert moved["B"][[0, 1 + FILM]].sum() > 1
    shown = [f"{100 * moved['B'][place].abs().item():.0f} %" for place in (1 + NOT, 1 + FILM, 0)]
    assert f"moves B by {shown[0]}." in text
    assert f"a patch moves B by {shown[1]}, and at [class] itself, {shown[2]}," in text
    quite_words = [word.replace("not", "quite") for word in REVIEW]
    b = classifier("B")
    states = [attributions.read(b, b.encode(["[class]", *words])).residual[1]
              for words in (REVIEW, quite_words)]  # fmt: skip
    states.append(states[0].clone())
    states[2][:, [0, 1 + FILM]] = states[1][:, [0, 1 + FILM]]
    before, after, both = (
        attributions.margin_of_states(b, x, None, start=1)[0].item() for x in states
    )
    share = (both - before) / (after - before)
    assert f"the two together move B by {100 * share:.0f} %." in text
    assert share < moved["B"][[0, 1 + FILM]].sum() - 0.3, "they don't add up"
    assert moved["A"].argmax() == 1 + NOT
    assert f"the one at not, by {100 * moved['A'][1 + NOT].item():.0f} %" in text


def test_over_all_tests_a_looks_where_the_answer_is_kept():
    a, b = (told("ordinary")[seed] for seed in SEEDS.values())
    for kind in ("adjective", "turn"):
        assert a["looks"][kind] == pytest.approx(a["carries"][kind], abs=0.05)
    assert a["carries, turned"]["turn"] > 0.99
    assert round(100 * a["carries, plain"]["adjective"]) == 95
    assert a["looks, plain"]["adjective"] > 0.95
    assert b["looks"]["noun"] > 0.3
    assert b["carries"]["noun"] > 0.25


def test_the_table_of_patches_is_that_of_the_scores(page):
    _, *lines = output(page, "kinds").splitlines()
    of = [
        told("ordinary")[seed][f"carries, {kind}"]
        for seed in SEEDS.values()
        for kind in ("turned", "plain")
    ]
    for line, kinds in zip(lines, of, strict=True):
        want = [100 * kinds[place] for place in ("adjective", "turn", "noun", "first")]
        assert numbers(line) == pytest.approx(want, abs=0.51)


@pytest.mark.slow
def test_without_a_turn_a_patch_at_the_adjective_moves_a_by_95_percent():
    model, moved = classifier("A"), []
    for one in held_out()[:EXPLAINED:2]:
        if len(one.decisive) == 1:
            [place] = one.decisive
            other = [*one.words]
            other[place] = "dull" if one.is_good else "great"
            tokens, theirs = (model.encode(words) for words in (one.words, other))
            moved.append(attributions.patched(model, tokens, theirs)[1][0, place].item())
    assert len(moved) > 100
    assert sum(moved) / len(moved) == pytest.approx(0.95, abs=0.02)


# ---- The grammar model -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grammar():
    return load(ROOT / "models/grammar/weights/masked-standard.safetensors")


def test_pairs_differ_in_the_subject_s_number_alone():
    for pair in pairs(60):
        differing = [
            i for i, (a, b) in enumerate(zip(pair.words, pair.other, strict=True)) if a != b
        ]
        assert differing == [pair.subject]
        assert pair.words[pair.verb] == "[mask]"
        assert OTHER[OTHER[pair.right]] == pair.right


def test_the_number_is_at_the_first_word_and_the_heads_say_so(page, grammar):
    (_, *at_subject), (_, *at_first) = (
        numbers(" ".join(row)) for row in [["0", *row[1:]] for row in cells(page, "grammar-others")]
    )
    text = said(page, "#sec-grammar")
    assert f"moves the guess by {at_subject[0]:.0f} %" in text
    assert f"it moves it by {at_first[0]:.0f} %" in text
    assert at_subject[0] < 6
    assert at_first[0] > 94
    assert min(at_subject[1:]) > 94, "in the other two"
    assert max(at_first[1:]) < 6
    off = [numbers(" ".join(row[1:])) for row in cells(page, "grammar-all")]
    nobody, below, one, two, both = off
    singular = 100 * sum(pair.right in SINGULAR for pair in pairs(100)) / 100
    assert nobody == one == two == [100, singular]
    assert below == [singular, 100]
    assert both[1] > 90, "singular nearly always"
    assert both[0] == pytest.approx(50, abs=5), "about half the time"
    assert f"without both it gets {both[0]:.0f} %" in text
    made = pairs(60, seed=5)
    shares = torch.stack([carried(grammar, pair)[[0, pair.subject]] for pair in made]).mean(0)
    assert shares[0] > 0.94
    assert shares[1] < 0.06
    shown = pairs(100)[1]
    assert " ".join(shown.words) == "the cups under the shiny cup [mask] ."
    looks = []
    for pair in [*made, shown]:
        with torch.no_grad():
            first, second = grammar(grammar.encode(pair.words)).weights
        looks.append([first[0, 3, 0, pair.subject], *second[0, [0, 2], pair.verb, 0]])
        assert len(pair.words) > pair.verb > pair.subject > 0
    assert torch.tensor(looks).mean(0).min() > 0.75


def test_in_one_seed_of_three_no_head_looks_from_the_verb_at_the_subject(page, grammar):
    path = ROOT / "models/grammar/scores/masked-standard.json"
    scores = json.loads(path.read_text(encoding="utf-8"))
    seeds = {
        seed: max(map(max, one["attention"]["verb, guessed"]["heads"]))
        for seed, one in scores["seeds"].items()
    }
    assert [round(100 * share) for share in seeds.values()] == [94, 14, 97]
    assert "none gives the subject more than 14 %" in said(page, "#sec-grammar")
    assert scores["shipped"] == 1
    assert min(one["accuracy"]["pairs"]["1 distractors"] for one in scores["seeds"].values()) == 1
    assert scores["seeds"]["1"]["accuracy without the verb head"]["pairs"]["1 distractors"] > 0.99
    looks, made = torch.zeros(2, 4), pairs(100)
    for pair in made:
        with torch.no_grad():
            layers = grammar(grammar.encode(pair.words)).weights
        looks += torch.stack([weights[0, :, pair.verb, pair.subject] for weights in layers]) / 100
    assert looks.max().item() == pytest.approx(0.14, abs=0.005)


def test_the_other_seeds_scores_are_made_as_the_page_s_own(page):
    told_of = json.loads(other_seeds.SCORES.read_text(encoding="utf-8"))
    assert list(told_of) == ["0", "2"]
    own = other_seeds.score(ROOT / "models/grammar/weights/masked-standard.safetensors")
    for place, *row in cells(page, "grammar-others"):
        want = [100 * one[place] for one in (own, *told_of.values())]
        assert numbers(" ".join(row)) == pytest.approx(want, abs=0.51)
    assert {one["right"] for one in (own, *told_of.values())} == {1}


def test_the_bug_hunt_s_check_fails(page):
    assert "the full stop moves it by 100%" in output(page, "bug-check")


def test_a_row_is_free_from_two_words_more_than_numbers_on():
    """Brunner et al.: directions that change neither the output nor the row's sum."""
    torch.manual_seed(0)
    for words, free in ((6, 0), (7, 1), (9, 3)):
        fixed = torch.cat((torch.randn(words, 5), torch.ones(words, 1)), 1)
        assert words - torch.linalg.matrix_rank(fixed).item() == free


def test_pooling_leaves_out_whatever_stands_in_the_padding():
    text = (ROOT / PAGE).with_suffix(".qmd").read_text(encoding="utf-8")
    found = {"torch": torch}
    exec(text.split("#| label: pooled\n")[1].split("\ntext = ")[0], found)
    x, padded = torch.randn(2, 3, 4), torch.full((2, 5, 4), torch.nan)
    padded[:, :3] = x
    torch.testing.assert_close(found["pooled"](padded, [3, 2])[0], x[0].mean(0))
    torch.testing.assert_close(found["pooled"](padded, [3, 2])[1], x[1, :2].mean(0))


@pytest.mark.parametrize(
    "label", ["figure-two", "figure-finds", "figure-other", "figure-patch", "figure-grammar"]
)
def test_the_trained_maps_say_so(page, label):
    assert page.select_one(f"#{label} .source").get_text() == "trained"
