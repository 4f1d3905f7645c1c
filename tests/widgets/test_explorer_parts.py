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
  const hidden = p.scores.map((_, i) => p.scores.map((__, j) => p.isHidden(i, j)));
  return {...p, hidden, next: reading.next};
})()"""


def near(got, want, tolerance=1e-3):
    assert_near(got, want, tolerance)


def model_of(entry):
    return weights.load(ROOT / entry["file"]).double().eval()


@pytest.mark.parametrize("entry", MODELS, ids=lambda entry: entry["name"])
@torch.no_grad()
def test_every_stage_of_the_play_is_pytorchs(entry):
    """Of a typed text, in the last head of the last layer, from its third token."""
    layer, head, at = len(entry["counts"]) - 1, entry["counts"][-1] - 1, 2
    text = TYPED[entry["kind"]]
    state = STATE | {"model": entry["name"], "at": at, "head": f"{layer + 1}.{head + 1}"}
    given = {"entry": entry, "models": MODELS, "text": text, "state": state}
    got = READ.run(PASS, given)
    model = model_of(entry)
    ids = ids_of(model, entry["kind"], text)
    trace = tracing.trace(model, ids)
    run, rows = trace["run"], got["rows"]
    assert got["ids"] == [ids[i] for i in rows]
    near(got["vectors"], run.residual[0][0, rows])
    near(got["query"], trace["query"][layer][head, at])
    for name in ("key", "value"):
        near(got[f"{name}s"], trace[name][layer][head, rows])
    query, key, value = (trace[name][layer][head] for name in ("query", "key", "value"))
    scores = query @ key.T / query.shape[-1] ** 0.5
    relative = model.layers[layer].relative
    if relative is not None:
        scores = scores + relative(len(ids))[head]
    near(got["scores"], scores, 2e-3)
    later = torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1)
    assert got["hidden"] == (later & entry["causal"]).tolist()
    shares = scores.masked_fill(torch.tensor(got["hidden"]), -torch.inf).softmax(-1)
    near(got["weights"], shares, 2e-3)
    near(got["mixed"], (shares @ value)[at])
    if trace["units"]:
        near(got["units"], trace["units"][layer][at].unflatten(0, (-1, 8)).amax(-1))
    near(got["stream"], torch.stack([rows[0, at] for rows in run.residual]))
    lead = run.logits[0, at].max() - run.logits[0, at].mean()
    assert got["total"] == pytest.approx(lead.item(), abs=5e-3)
    assert sum(one["push"] for one in got["added"]) == pytest.approx(got["total"])
    shares = run.logits[0, at].softmax(-1).topk(5).values
    near([guess["share"] for guess in got["guesses"]], shares)


@torch.no_grad()
def test_what_is_drawn_from_is_the_top_k():
    """The shares of the likeliest k alone, by a softmax over their logits."""
    entry, text = MODELS[0], MODELS[0]["examples"][0]["text"]
    read = READ.run(ASK, {"entry": entry, "asked": {"text": text, "temperature": 0.7}})
    model = model_of(entry)
    logits = model(torch.tensor([ids_of(model, entry["kind"], text)])).logits[0, -1] / 0.7
    for most in (1, 5, 40):
        got = [one["share"] for one in WRITING.call("drawnFrom", read["next"], most)]
        assert sum(got) == pytest.approx(1)
        near(got, logits.topk(len(got)).values.softmax(-1), 1e-4)


@pytest.mark.parametrize(
    ("kind", "text", "pieces", "dropped", "at", "guess", "want"),
    [
        ("storyteller", "A cat ", ["A", " c", "at"], 0, 2, " sat", "A cat sat"),
        ("storyteller", "A cat ", ["A", " c", "at"], 0, 1, "ow", "A cow"),
        ("storyteller", "The old A cat", ["A", " c", "at"], 3, 2, " sat", "A cat sat"),
        ("grammar", "the dog", ["the", "dog"], 0, 1, "is", "the dog is"),
        ("gap", "the dog [mask] red", ["the", "dog", "[mask]", "red"], 0, 2, "is",
         "the dog is red"),
    ],
)  # fmt: skip
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


@torch.no_grad()
def test_which_head_a_guess_needs_is_pytorchs():
    """The share of the first guess at a token with each head off; on a text of both kinds."""
    for entry in (MODELS[0], MODELS[2]):
        model = model_of(entry)
        text, at = TYPED[entry["kind"]], 3
        ids = torch.tensor([ids_of(model, entry["kind"], text)])
        question = {"text": text, "off": [], "temperature": 0.7, "study": "needed", "at": at}
        got = READ.run(ASK, {"entry": entry, "asked": question})
        whole = model(ids).logits[0, at].div(0.7).softmax(-1)
        guess = whole.argmax()
        assert got["share"] == pytest.approx(whole[guess].item(), abs=1e-4)
        pairs = [(n, head) for n, count in enumerate(entry["counts"]) for head in range(count)]
        want = [model(ids, off=(pair,)).logits[0, at].div(0.7).softmax(-1)[guess].item()
                for pair in pairs]  # fmt: skip
        near(got["without"], want, 1e-4)


@torch.no_grad()
def test_what_a_head_pushes_most_is_pytorchs():
    """Of all tokens, against the average; the same number as its push of that token."""
    for entry in (MODELS[0], MODELS[4]):
        model = model_of(entry)
        text, at = entry["examples"][0]["text"], 4
        ids = ids_of(model, entry["kind"], text)
        question = {"text": text, "off": [], "study": "pushed", "at": at}
        got = READ.run(ASK, {"entry": entry, "asked": question})["tops"]
        trace = tracing.trace(model, ids)
        of_each = [tracing.pushes(model, trace, at, one)["heads"]
                   for one in range(len(model.config.vocabulary))]  # fmt: skip
        name = (Tokenizer(model.config.vocabulary).name if entry["kind"] == "storyteller"
                else model.config.vocabulary.__getitem__)  # fmt: skip
        for mine, tops in zip(got, torch.tensor(of_each).T, strict=True):
            best = tops.topk(3)
            near([one["push"] for one in mine], best.values, 2e-3)
            assert [one["text"] for one in mine] == [name(one) for one in best.indices.tolist()]
