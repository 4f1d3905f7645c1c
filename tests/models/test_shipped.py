"""What each folder of models/ ships: weights, scores and a card that fit one another."""

import pytest

from models import weights
from models.alignment.model import Translator
from models.alignment.train import SEEDS as ALIGNED
from models.alignment.train import VARIANTS
from models.bottleneck.model import Recall
from models.bottleneck.train import BY_POSITION, LENGTHS, LONGEST, MODELS
from models.grammar import train as grammar
from models.grammar.card import table as grammar_table
from models.grammar.words import VOCABULARY as GRAMMAR
from models.heads import train as heads
from models.heads.task import HEADS, QUESTIONS
from models.heads.task import Recall as TwoQuestions
from models.induction import card as induction
from models.induction import train as induction_train
from models.positions import train as positions
from models.positions.task import KINDS, Reader
from models.positions.task import LONGEST as FARTHEST
from models.positions.task import QUESTIONS as ASKED
from models.sentiment import train as sentiment
from models.sentiment.reviews import VOCABULARY as SENTIMENT
from models.storyteller import train as storyteller
from models.storyteller.scores import LOOKS
from tests.conftest import ROOT
from tests.scores import scores_of

AT_MOST = {  # bytes of all weights together, and of the largest file
    "grammar": (450_000, 500_000),
    "induction": (2_000_000, 500_000),
    "sentiment": (160_000, 80_000),
    "storyteller": (1_000_000, 1_000_000),
}


def card(model):
    return (ROOT / "models" / model / "card.md").read_text(encoding="utf-8")


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("model", AT_MOST)
def test_what_a_page_loads_is_small(model):
    sizes = [file.stat().st_size for file in (ROOT / "models" / model).glob("weights/*")]
    together, largest = AT_MOST[model]
    assert sum(sizes) <= together
    assert max(sizes) <= largest


def assert_ships(recipe, scores, file, vocabulary):
    model = weights.load(ROOT / f"models/{file}.safetensors")
    assert model.config == recipe.config
    assert model.config.vocabulary == vocabulary
    assert scores["weights"] == count(model)


@pytest.mark.parametrize("name", grammar.RECIPES)
def test_grammar_ships_the_models_that_its_script_trains(name):
    scores, recipe = scores_of("grammar", name), grammar.RECIPES[name]
    assert scores["shipped"] == recipe.shipped
    assert list(scores["seeds"]) == [str(seed) for seed in grammar.SEEDS]
    assert len(grammar.SEEDS) >= 3
    assert_ships(recipe, scores, f"grammar/weights/{name}", GRAMMAR)


@pytest.mark.parametrize("name", sentiment.RECIPES)
def test_sentiment_ships_the_models_that_its_script_trains(name):
    scores, recipe = scores_of("sentiment", name), sentiment.RECIPES[name]
    assert list(scores["seeds"]) == [str(seed) for seed in recipe.seeds]
    assert len(recipe.seeds) >= 3
    assert (scores["steps"], scores["shipped"]) == (recipe.steps, list(recipe.shipped))
    for seed in recipe.shipped:
        assert_ships(recipe, scores, f"sentiment/weights/{name}-{seed}", SENTIMENT)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_translator_has_its_scores(name):
    written, (task, mixes) = scores_of("alignment", name), VARIANTS[name]
    assert list(written["seeds"]) == [str(seed) for seed in ALIGNED]
    assert written["weights"] == count(Translator(task, mixes=mixes))


@pytest.mark.parametrize("name", MODELS)
def test_every_recall_model_has_its_scores(name):
    scores, (config, steps, _, seeds) = scores_of("bottleneck", "recall"), MODELS[name]
    about = scores["models"][name]
    assert scores["lengths"] == list(LENGTHS)
    assert list(about["seeds"]) == [str(seed) for seed in seeds]
    assert about["weights"] == count(Recall(config))
    assert (about["state"], about["steps"]) == (config.state, steps)
    for seed in about["seeds"].values():
        assert ("by place" in seed) == (name in BY_POSITION)
        if name in BY_POSITION:  # the longest length in training, by places or at once
            at_once = seed["right"][scores["lengths"].index(16)]
            assert sum(seed["by place"]) / 16 == pytest.approx(at_once, abs=2e-4)
            assert len(seed["moves"]) == LONGEST


def test_all_models_of_heads_have_as_many_parameters_and_curves_pass_through_the_scores():
    scores = scores_of("heads")
    for name, by_heads in scores["accuracy"].items():
        assert all(len(shares) == len(scores["seeds"]) == 5 for shares in by_heads.values())
        counts = {count(TwoQuestions(n, len(QUESTIONS[name]))) for n in HEADS}
        assert counts == {scores["parameters"][name]}
    for name, by_line in scores["curves"].items():
        assert scores["parameters with the MLP"][name] == heads.parameters(name, mlp=True)
        for line in by_line.values():  # it ends where all is right, or with the last budget
            assert list(line) == [str(budget) for budget in heads.BUDGETS[: len(line)]]
            *before, last = line.values()
            assert len(line) == len(heads.BUDGETS) or min(last) == 1
            assert all(min(shares) < 1 for shares in before)
        for n in (1, 2, 4):
            if line := by_line.get("1 head" if n == 1 else f"{n} heads"):
                assert line[str(scores["steps"])] == scores["accuracy"][name][str(n)]


def test_scores_by_positions_are_complete():
    scores = scores_of("positions")
    assert scores["steps"] == positions.STEPS
    counts = {kind: count(Reader(kind)) for kind in KINDS}
    assert counts == scores["parameters"]
    assert counts["none"] == counts["sinusoidal"] == counts["rotary"] == counts["alibi"]
    seeds = {"right": 5, "windowed": 5, "three times the steps": 2, "a larger rate": 2}
    for kind in KINDS:
        tuned = scores["tuned"][kind]
        assert tuned[str(scores["rate"][kind])] == max(tuned[str(rate)] for rate in positions.RATES)
        for table, many in seeds.items():
            for name in ASKED:
                bins = [len(shares) for shares in scores[table][kind][name]]
                assert bins == [FARTHEST // scores["bin"]] * many


def test_every_checkpoint_of_induction_is_shipped():
    steps = induction_train.CHECKPOINTS["two-layers"]
    wanted = {f"two-layers-{step:04}" for step in steps}
    wanted.add(f"one-layer-{induction_train.STEPS['one-layer']}")
    assert {file.stem for file in (ROOT / "models/induction/weights").iterdir()} == wanted


def test_three_seeds_and_ten_checkpoints_of_the_storyteller_are_scored():
    seeds = scores_of("storyteller", "storyteller")["seeds"]
    assert len(seeds) == 3
    on_the_way = seeds["0"]["on the way"]
    assert "0" in on_the_way
    assert len(on_the_way) >= 9
    for scores in (seeds["0"], *on_the_way.values()):
        for data in ("held out", "repeated"):
            assert len(scores[data]["heads"]) == 16
            assert all(set(LOOKS) <= set(head) for head in scores[data]["heads"])


# ---- Cards --------------------------------------------------------------------------------------


def test_the_cards_of_grammar_and_induction_have_the_scores():
    masked = scores_of("grammar", "masked")["seeds"]
    for key, row in (("verb", "verb → subject"), ("it", '"it" → its noun')):
        shares = [f"{masked[seed]['attention'][key]['weight']:.2f}" for seed in "012"]
        assert f"| one head: {row} | {' · '.join(shares)} |" in card("grammar")
    scores = {name: scores_of("grammar", name) for name in grammar.RECIPES}
    assert grammar_table(scores) in card("grammar")
    assert induction.table() in card("induction")


def test_the_translators_card_has_the_scores_and_what_the_lesson_says_of_them_holds():
    seeds = {name: scores_of("alignment", name)["seeds"].values() for name in VARIANTS}
    means = {}
    for name, runs in seeds.items():
        assert min(seed["exact"] for seed in runs) > 0.995
        shares = [round(seed["aligned"], 2) for seed in runs]
        ends = sorted({f"{min(shares):.2f}", f"{max(shares):.2f}"})
        assert f"| {name} | 1.00 | {' – '.join(ends)} |" in card("alignment")
        means[name] = round(sum(seed["aligned"] for seed in runs) / len(runs), 2)
    nots = [seed["aligned_by_kind"]["not"] for seed in seeds["phrases"]]
    assert sum(share < 0.75 for share in nots) == 2  # most of the "pas" look elsewhere
    assert (means["phrases"], means["phrases-mixed"]) == (0.99, 0.98)


def test_the_storytellers_card_has_the_scores_as_they_are(monkeypatch, tmp_path):
    for name in ("scores/storyteller.json", "scores/rival.json", "card.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / "models/storyteller" / name).read_bytes())
    monkeypatch.setattr("models.storyteller.card.HERE", tmp_path)
    storyteller.update()
    assert (tmp_path / "card.md").read_text("utf-8") == card("storyteller")
