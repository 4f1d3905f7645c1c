"""The grammar models: what they score, what they learn, and what the page loads of them."""

import json

import pytest
import torch

from models import weights
from models.grammar import train
from models.grammar.scores import score, to_tensors
from models.grammar.sentences import sentences
from models.grammar.words import MASK, split
from tests.conftest import ROOT

HERE = ROOT / "models" / "grammar"
NAMES = ["masked", "causal", "masked-standard"]


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def masked():
    return weights.load(HERE / "weights" / "masked.safetensors")


def told(name):
    return json.loads((HERE / "scores" / f"{name}.json").read_text())


def flat(tree, path=()):
    """{("attention", "verb", "weight"): 0.97, …}"""
    if not isinstance(tree, dict | list):
        return {path: tree}
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return {k: v for key, part in items for k, v in flat(part, (*path, key)).items()}


@pytest.mark.slow
def test_the_shipped_weights_score_what_is_told(name):
    recipe = train.RECIPES[name]
    model = weights.load(HERE / "weights" / f"{name}.safetensors")
    found = score(model, names_it=recipe.loss_at_it)
    wanted = told(name)["seeds"][str(told(name)["shipped"])]
    del wanted["processor seconds"]
    # Another processor rounds otherwise, which may turn one answer in a few hundred.
    assert flat(json.loads(json.dumps(found))) == pytest.approx(flat(wanted), abs=0.006)


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_each_seed_of_the_masked_model_agrees_and_finds_its_referents(seed):
    accuracy = told("masked")["seeds"][seed]["accuracy"]
    for held in ("words", "pairs"):
        assert accuracy[held]["1 distractors"] >= 0.98
        assert accuracy[held]["meant by it"] >= 0.95
        assert accuracy[held]["answer"] >= 0.95


@pytest.mark.parametrize("seed", ["0", "1", "2"])
@pytest.mark.parametrize("relation", ["verb", "it"])
def test_one_head_of_each_masked_seed_looks_where_it_should(seed, relation):
    head = told("masked")["seeds"][seed]["attention"][relation]
    assert head["weight"] >= 0.8
    assert head["weight"] > head["fixed offset"]
    if relation == "verb":
        assert len(head["by distance"]) >= 6
        assert min(head["by distance"].values()) >= 0.8
    else:
        assert head["flips"] >= 0.9


@pytest.mark.parametrize(
    ("text", "word", "looks_at"),
    [
        ("the trophy did not fit in the suitcase because it was too big", "it", "trophy"),
        ("the trophy did not fit in the suitcase because it was too small", "it", "suitcase"),
        ("The animal didn't cross the street because it was too tired.", "it", "animal"),
        ("The animal didn't cross the street because it was too wide.", "it", "street"),
        ("the cat sat on the mat because it was tired", "it", "cat"),
        ("the cat sat on the mat because it was soft", "it", "mat"),
        ("the keys near the cabinet are red", "are", "keys"),
        ("the key near the cabinets is red", "is", "key"),
    ],
)
def test_the_sentences_of_the_lessons(masked, text, word, looks_at):
    relation = "it" if word == "it" else "verb"
    layer, head = told("masked")["seeds"]["0"]["attention"][relation]["head"]
    words = split(text)
    row = masked(masked.encode(words)).weights[layer][0, head, words.index(word)]
    assert words[row.argmax()] == looks_at
    assert row.max() > 0.6


@pytest.mark.parametrize(("subject", "verb"), [("keys", "are"), ("key", "is")])
def test_a_hidden_verb_is_guessed(masked, subject, verb):
    words = split(f"the {subject} near the cabinet [MASK] red")
    logits = masked(masked.encode(words)).logits[0, words.index(MASK)]
    assert masked.config.vocabulary[logits.argmax()] == verb


@pytest.fixture(scope="module")
def data():
    return to_tensors(list(sentences(0, 2000)))


def train_shortly(name, data, folder, steps=100, after=lambda step, loss: None, seed=0):
    return train.train_one(name, seed, data, folder / f"{name}.pt", after, steps)[0]


@pytest.mark.slow
def test_a_short_training_lowers_the_loss(name, data, tmp_path):
    losses = []
    train_shortly(name, data, tmp_path, after=lambda step, loss: losses.append(loss))
    assert len(losses) == 100
    assert sum(losses[-5:]) < 0.85 * sum(losses[:5])


def test_the_seed_decides(data, tmp_path):
    models = [train_shortly("causal", data, tmp_path / str(n), steps=3, seed=n) for n in (0, 1)]
    assert not torch.equal(*(model.embedding for model in models))
