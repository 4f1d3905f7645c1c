"""What the explorer plays, writes and scores: its play's numbers are PyTorch's."""

import pytest
import torch

from course.payloads import tracing
from models import weights
from models.storyteller.tokens import Tokenizer
from tests.conftest import ROOT
from tests.widgets.js import assert_near, module
from tests.widgets.truth_explorer import MODELS, STATE, TYPED, ids_of

READ = module("explorer/reader.js")
WRITING = module("explorer/writing.js")
GAME = module("explorer/game.js")
ASK = "(async () => m.explorerReader(await loadModel(x.entry.file), x.entry.kind)(x.asked))()"
PASS = """(async () => {
  const {look} = await import("/widgets/explorer/reading.js");
  const {passOf} = await import("/widgets/explorer/pass.js");
  const reading = m.explorerReader(await loadModel(x.entry.file), x.entry.kind)({text: x.text});
  const p = passOf(look(x.models, {...reading, model: x.entry.name}, x.state));
  return {...p, hidden: p.scores.map((_, i) => p.scores.map((__, j) => p.isHidden(i, j)))};
})()"""


def near(got, want, tolerance=1e-3):
    assert_near(got, want, tolerance)


def model_of(entry):
    return weights.load(ROOT / entry["file"]).double().eval()


def ask(entry, text, **question):
    return READ.run(ASK, {"entry": entry, "asked": {"text": text, "off": [], **question}})


@pytest.mark.parametrize("entry", MODELS, ids=lambda entry: entry["name"])
@torch.no_grad()
def test_every_stage_of_the_play_is_pytorchs(entry):
    """Of a typed text, in the last head of the last layer, from its third token."""
    layer, head, at = len(entry["counts"]) - 1, entry["counts"][-1] - 1, 2
    text = TYPED[entry["kind"]]
    state = STATE | {"model": entry["name"], "at": at, "head": f"{layer + 1}.{head + 1}"}
    got = READ.run(PASS, {"entry": entry, "models": MODELS, "text": text, "state": state})
    model = model_of(entry)
    ids = ids_of(model, entry["kind"], text)
    trace = tracing.trace(model, ids)
    run, rows = trace["run"], got["rows"]
    assert got["ids"] == [ids[i] for i in rows]
    query, key, value = (trace[name][layer][head] for name in ("query", "key", "value"))
    near(got["query"], query[at])
    near(got["keys"], key[rows])
    near(got["values"], value[rows])
    scores = query @ key.T / query.shape[-1] ** 0.5
    relative = model.layers[layer].relative
    if relative is not None:
        scores = scores + relative(len(ids))[head]
    near(got["scores"], scores, 2e-3)
    later = torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1)
    assert got["hidden"] == (later & entry["causal"]).tolist()
    near(got["weights"], run.weights[layer][0, head], 2e-3)
    near(got["mixed"], (run.weights[layer][0, head] @ value)[at])
    near(got["stream"], torch.stack([rows[0, at] for rows in run.residual]))
    logits = run.logits[0, at]
    assert got["total"] == pytest.approx((logits.max() - logits.mean()).item(), abs=5e-3)
    assert sum(one["push"] for one in got["added"]) == pytest.approx(got["total"])


@torch.no_grad()
def test_what_is_drawn_from_is_the_top_k():
    """The shares of the likeliest k alone, by a softmax over their logits."""
    entry, text = MODELS[0], MODELS[0]["examples"][0]["text"]
    following = ask(entry, text, temperature=0.7)["next"]
    model = model_of(entry)
    logits = model(torch.tensor([ids_of(model, entry["kind"], text)])).logits[0, -1] / 0.7
    for most in (1, 5):
        got = [one["share"] for one in WRITING.call("drawnFrom", following, most)]
        near(got, logits.topk(most).values.softmax(-1), 1e-4)


CAT = ["A", " c", "at"]


@pytest.mark.parametrize(
    ("kind", "text", "pieces", "dropped", "at", "guess", "want"),
    [
        ("storyteller", "A cat ", CAT, 0, 2, " sat", "A cat sat"),
        ("storyteller", "A cat ", CAT, 0, 1, "ow", "A cow"),
        ("storyteller", "The old A cat", CAT, 3, 2, " sat", "A cat sat"),
        ("grammar", "the dog", ["the", "dog"], 0, 1, "is", "the dog is"),
        ("gap", "the [mask] is", ["the", "[mask]", "is"], 0, 1, "dog", "the dog is"),
    ],
)
def test_a_guess_is_put_where_it_belongs(kind, text, pieces, dropped, at, guess, want):
    reading = {"text": text, "pieces": pieces, "causal": kind != "gap", "dropped": dropped}
    entry = {"kind": kind.replace("gap", "grammar")}
    assert WRITING.call("withGuess", entry, reading, at, guess) == want


def test_points_are_shares_of_the_largest_fall():
    one = {"share": 0.5, "without": [0.5, 0.1, 0.3, 0.7]}
    assert [GAME.call("pointsOf", one, head) for head in range(4)] == [0, 100, 50, 0]
    assert GAME.call("ranked", one) == [1, 2, 0, 3]
    result = GAME.call("resultOf", [one] * 3, [1, 2, 3], "http://x/explorer.html")
    assert result == "Find the head: 🟩🟨⬛ 150 of 300\nhttp://x/explorer.html"


@pytest.mark.parametrize("entry", [MODELS[0], MODELS[2]], ids=lambda entry: entry["name"])
@torch.no_grad()
def test_which_head_a_guess_needs_is_pytorchs(entry):
    """The share of the first guess at a token with each head off."""
    model, text, at = model_of(entry), TYPED[entry["kind"]], 3
    ids = torch.tensor([ids_of(model, entry["kind"], text)])
    got = ask(entry, text, temperature=0.7, study="needed", at=at)
    pairs = [(n, head) for n, count in enumerate(entry["counts"]) for head in range(count)]
    whole, *without = (model(ids, off=off).logits[0, at].div(0.7).softmax(-1)
                       for off in ((), *((pair,) for pair in pairs)))  # fmt: skip
    guess = whole.argmax()
    near(got["share"], whole[guess], 1e-4)
    near(got["without"], [shares[guess] for shares in without], 1e-4)


@pytest.mark.parametrize("entry", [MODELS[0], MODELS[4]], ids=lambda entry: entry["name"])
@torch.no_grad()
def test_what_a_head_pushes_most_is_pytorchs(entry):
    """Of all tokens, against the average; the same number as its push of that token."""
    model, text, at = model_of(entry), entry["examples"][0]["text"], 4
    vocabulary = model.config.vocabulary
    trace = tracing.trace(model, ids_of(model, entry["kind"], text))
    of_each = [tracing.pushes(model, trace, at, one)["heads"] for one in range(len(vocabulary))]
    name = Tokenizer(vocabulary).name if entry["kind"] == "storyteller" else vocabulary.__getitem__
    got = ask(entry, text, study="pushed", at=at)["tops"]
    for mine, pushes in zip(got, torch.tensor(of_each).T, strict=True):
        best = pushes.topk(3)
        near([one["push"] for one in mine], best.values, 2e-3)
        assert [one["text"] for one in mine] == [name(one) for one in best.indices.tolist()]
