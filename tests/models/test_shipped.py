"""What each folder of models/ ships: weights, scores and a card that fit one another."""

import pytest

from models import weights
from models.alignment.model import Translator
from models.alignment.train import VARIANTS
from models.bottleneck.model import Recall
from models.bottleneck.train import BY_POSITION, LENGTHS, MODELS
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
from models.sentiment import train as sentiment
from models.sentiment.reviews import VOCABULARY as SENTIMENT
from models.storyteller import train as storyteller
from tests.conftest import ROOT
from tests.scores import scores_of

AT_MOST = {  # bytes of all weights together, and of the largest file
    "beyond": (500_000, 500_000),
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


SHIPPED = [  # the folder, the scores' name, the weights' file, the recipe and the words
    *(("grammar", name, name, recipe, GRAMMAR) for name, recipe in grammar.RECIPES.items()),
    *(
        ("sentiment", name, f"{name}-{seed}", recipe, SENTIMENT)
        for name, recipe in sentiment.RECIPES.items()
        for seed in recipe.shipped
    ),
]


@pytest.mark.parametrize(("folder", "name", "file", "recipe", "vocabulary"), SHIPPED)
def test_shipped_weights_are_of_the_recipe_that_is_scored(folder, name, file, recipe, vocabulary):
    model = weights.load(ROOT / f"models/{folder}/weights/{file}.safetensors")
    scores = scores_of(folder, name)
    assert model.config == recipe.config
    assert model.config.vocabulary == vocabulary
    assert scores["weights"] == count(model)
    shipped = [scores["shipped"]] if folder == "grammar" else scores["shipped"]
    assert shipped == ([recipe.shipped] if folder == "grammar" else list(recipe.shipped))
    assert len(scores["seeds"]) >= 3


def test_every_checkpoint_of_induction_is_shipped():
    steps = induction_train.CHECKPOINTS["two-layers"]
    wanted = {f"two-layers-{step:04}" for step in steps}
    wanted.add(f"one-layer-{induction_train.STEPS['one-layer']}")
    assert {file.stem for file in (ROOT / "models/induction/weights").iterdir()} == wanted


def test_the_told_numbers_of_parameters_are_the_models():
    for name, (task, mixes) in VARIANTS.items():
        assert scores_of("alignment", name)["weights"] == count(Translator(task, mixes=mixes))
    recall = scores_of("bottleneck", "recall")["models"]
    for name, (config, *_) in MODELS.items():
        assert recall[name]["weights"] == count(Recall(config))
    of_heads = scores_of("heads")
    for name, parameters in of_heads["parameters"].items():
        assert {count(TwoQuestions(n, len(QUESTIONS[name]))) for n in HEADS} == {parameters}
    for name, parameters in of_heads["parameters with the MLP"].items():
        assert parameters == heads.parameters(name, mlp=True)
    of_kinds = scores_of("positions")["parameters"]
    assert of_kinds == {kind: count(Reader(kind)) for kind in KINDS}
    assert len({of_kinds[kind] for kind in ("none", "sinusoidal", "rotary", "alibi")}) == 1


@pytest.mark.parametrize("name", BY_POSITION)
def test_what_recall_gets_right_by_place_is_what_it_gets_right_at_once(name):
    for seed in scores_of("bottleneck", "recall")["models"][name]["seeds"].values():
        at_once = seed["right"][LENGTHS.index(16)]
        assert sum(seed["by place"]) / 16 == pytest.approx(at_once, abs=2e-4)


def test_curves_of_heads_pass_through_the_scores_and_end_where_all_is_right():
    scores = scores_of("heads")
    for name, by_line in scores["curves"].items():
        for line in by_line.values():
            *before, last = line.values()
            assert len(line) == len(heads.BUDGETS) or min(last) == 1
            assert all(min(shares) < 1 for shares in before)
        for n in (1, 2, 4):
            if line := by_line.get("1 head" if n == 1 else f"{n} heads"):
                assert line[str(scores["steps"])] == scores["accuracy"][name][str(n)]


def test_each_kind_of_positions_was_trained_at_its_best_rate():
    scores = scores_of("positions")
    for kind, tuned in scores["tuned"].items():
        assert list(tuned) == [str(rate) for rate in positions.RATES]
        assert tuned[str(scores["rate"][kind])] == max(tuned.values())


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
