"""The explorer shows PyTorch's numbers: of every model, on any text, heads on and off."""

import math

import pytest
import torch

from course.payloads import explorer, tracing
from models import weights
from models.grammar.words import split
from models.storyteller.tokens import Tokenizer
from tests.conftest import ROOT
from tests.widgets.js import JSException, module

MODELS = explorer.catalogue()
PAGE = module("explorer.js")
NUMBER = module("explorer/number.js")
READ = module("explorer/read.js")
TOLERANCE = 2e-4
EXPLAIN = """(() => {
  const numbers = (all) => Object.fromEntries(Object.entries(all).map(([name, value]) =>
    [name, Array.isArray(value) ? Float32Array.from(value) : value]));
  const width = x.entry.width;
  const given = {head: numbers(x.head), reads: x.reads.map(numbers), matrices: x.matrices, width};
  return m.explain({...given, turns: x.entry.turns}, x.part, x.no, x.i, x.length);
})()"""
STATE = {
    "model": "storyteller", "text": None, "at": None, "to": None, "head": None, "off": [],
    "temperature": 1, "topk": 40, "pin": None, "guide": 6,
}  # fmt: skip
BENCH = {"readings": [], "studies": [], "last": None}  # fmt: skip
TYPED = {
    "storyteller": "<b>Zoë</b> & “Mr. Fox” [one]\nran ",
    "grammar": "The lions didn't climb [mask] WALL.",
    "induction": "quick frog, quick",
}
OFF = {"storyteller": [[3, 2], [0, 0]], "grammar": [[1, 1]], "induction": [[0, 1]]}


@pytest.fixture(scope="module", params=MODELS, ids=lambda entry: entry["name"])
def loaded(request):
    """A catalogue's entry, its model in PyTorch, and the page's reader of the same file."""
    entry = request.param
    make = f"(globalThis.read = m.explorerReader(model, '{entry['kind']}'), 0)"
    READ.run(f"(globalThis.model = await loadModel(x), {make})", entry["file"])
    read = lambda **question: READ.run("read(x)", question)  # noqa: E731
    return entry, weights.load(ROOT / entry["file"]).double(), read


def ids_of(model, kind, text):
    if kind == "storyteller":
        return Tokenizer(model.config.vocabulary).encode(text.rstrip(" "))
    words = split(text) if kind == "grammar" else list(text.lower())
    return model.encode(words)[0].tolist()


def near(got, want, tolerance=TOLERANCE):
    got = torch.tensor(got, dtype=torch.double)
    torch.testing.assert_close(got, want.double().flatten(), rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "which", ["off", *(pytest.param(w, marks=pytest.mark.slow) for w in ("example", "typed"))]
)
def test_a_reading_is_pytorchs(loaded, which):
    entry, model, read = loaded
    kind = entry["kind"]
    text = TYPED[kind] if which == "typed" else entry["examples"][0]["text"]
    off = [pair for pair in OFF[kind] if pair[0] < len(entry["counts"])] if which == "off" else []
    got = read(text=text, off=off, temperature=0.7)
    ids = ids_of(model, kind, text)
    found = tracing.trace(model, ids, off=[tuple(pair) for pair in off])
    on = tracing.trace(model, ids)
    assert len(got["pieces"]) == len(ids)
    for head in got["heads"]:
        layer, number = head["layer"], head["head"]
        near(head["weights"], found["run"].weights[layer][0, number])
        for part in tracing.PARTS:
            near(head[part], found[part][layer][number], 1e-3 if part != "mixed" else TOLERANCE)
        assert head["isOff"] == ([layer, number] in off)
        if head["isOff"]:
            near(head["former"], on["run"].weights[layer][0, number])
        relative = model.layers[layer].relative
        if relative is not None:
            near(head["bias"][: len(ids)], relative(len(ids))[number, -1])
    for stage, rows in enumerate(found["run"].residual):
        near(got["stream"][stage], rows[0], 1e-3)
        shares, _ = (found["lens"][stage] / 0.7).softmax(-1).topk(5)
        for i in range(len(ids)):
            near([guess["share"] for guess in got["guesses"][stage][i]], shares[i])
    if found["units"]:
        near(got["units"][0], found["units"][0].unflatten(-1, (-1, 8)).amax(-1), 1e-3)
    assert_truth(got, found, on, ids, model, [tuple(pair) for pair in off])
    for i in {0, len(ids) - 1}:
        want = tracing.pushes(model, found, i, int(on["run"].logits[0, i].argmax()))
        for name in ("start", "rest"):
            assert got["pushes"][i][name] == pytest.approx(want[name], abs=2e-3)
        near(got["pushes"][i]["heads"], torch.tensor(want["heads"]), 2e-3)
        near(got["pushes"][i]["mlps"], torch.tensor(want["mlps"]), 2e-3)


def test_any_number_is_the_sum_that_is_shown(loaded):
    """Of queries, keys, values and outputs: from the stream, the matrix and the place."""
    entry, _, read = loaded
    text = entry["examples"][0]["text"]
    last = len(entry["counts"]) - 1
    of_last = "m.matricesOf(model).map((all, layer) => (layer === x ? all : null))"
    matrices = READ.run(of_last, last)
    got = read(text=text)
    length = len(got["pieces"])
    for head in got["heads"][-1:]:
        for part, no, i in (
            ("query", 3, 4),
            ("key", 2, length - 1),
            ("value", 5, 1),
            ("output", 0, 3),
        ):
            found = NUMBER.run(EXPLAIN, {
                "head": head, "reads": got["reads"], "matrices": matrices, "entry": entry,
                "part": part, "no": no, "i": i, "length": length,
            })  # fmt: skip
            turned = found["turned"]
            assert (turned is not None) == (entry["turns"] and part in ("query", "key"))
            value = found["sum"]
            if turned:
                sign = -1 if turned["isFirst"] else 1
                angle = turned["angle"]
                value = value * math.cos(angle) + sign * turned["other"] * math.sin(angle)
            assert value == pytest.approx(found["value"], abs=2e-3), (part, no)


@torch.no_grad()
def asked(model, run, ids, off=()):
    """The logits by which each token is guessed, (L, V)."""
    if model.config.is_causal:
        return run.logits[0]
    hidden = torch.tensor([ids]).repeat(len(ids), 1).fill_diagonal_(model.ids["[mask]"])
    return model(hidden, off=off).logits.diagonal(dim1=0, dim2=1).T


def assert_truth(got, found, on, ids, model, off):
    """Of a causal model what comes next; else the word itself, hidden."""
    shift = int(model.config.is_causal)
    shares, before = (asked(model, run["run"], ids, pairs).softmax(-1)
                      for run, pairs in ((found, off), (on, ())))  # fmt: skip
    losses = []
    for i, told in enumerate(got["truth"]):
        target = ids[i + shift] if i + shift < len(ids) else None
        if target is None or model.config.vocabulary[target].startswith("[m"):
            assert told is None
            continue
        assert told["share"] == pytest.approx(shares[i, target].item(), abs=TOLERANCE)
        assert told["loss"] == pytest.approx(-shares[i, target].log().item(), abs=TOLERANCE)
        assert told["rank"] == 1 + int((shares[i] > shares[i, target]).sum())
        if off:
            assert told["without"] == pytest.approx(before[i, target].item(), abs=TOLERANCE)
        losses.append(told["loss"])
    assert got["loss"] == pytest.approx(sum(losses) / len(losses))
    assert (got["lossWithout"] is not None) == bool(off)
    if not off:
        assert got["whole"] is None
        return
    for i, told in enumerate(got["whole"]):
        all_on, now = (run["run"].logits[0, i].div(0.7).softmax(-1) for run in (on, found))
        assert told["share"] == pytest.approx(all_on.max().item(), abs=TOLERANCE)
        assert told["now"] == pytest.approx(now[all_on.argmax()].item(), abs=TOLERANCE)
        if i in (0, len(ids) - 1):
            want = tracing.pushes(model, on, i, int(all_on.argmax()))["heads"]
            near(told["heads"], torch.tensor(want), 2e-3)


def test_at_temperature_0_only_the_likeliest_is_guessed(loaded):
    entry, _, read = loaded
    for stage in read(text=entry["examples"][0]["text"], off=[], temperature=0)["guesses"]:
        for guesses in stage:
            assert [guess["share"] for guess in guesses] == [1]


def test_an_empty_text_is_told(loaded):
    with pytest.raises(JSException, match="There is no text yet"):
        loaded[2](text="")


def test_of_a_long_text_the_oldest_go_and_an_unknown_one_is_told(loaded):
    entry, _, read = loaded
    long = {"storyteller": "word ", "grammar": "the cat ", "induction": "ab"}[entry["kind"]]
    got, model = read(text=long * 200), loaded[1]
    ids = ids_of(model, entry["kind"], long * 200)
    assert (len(got["pieces"]), got["dropped"]) == (entry["most"], len(ids) - entry["most"])
    run = model(torch.tensor([ids[-entry["most"] :]]))
    near(got["heads"][-1]["weights"], run.weights[-1][0, -1])
    if entry["kind"] != "storyteller":
        with pytest.raises(JSException, match=r"doesn't know “<”.+ and others"):
            read(text="<€$§> & ==")
    assert len(read(text="cat")["pieces"]) in (1, 2, 3)


# ---- The opening, and what is shown of a reading -------------------------------------------------


@pytest.fixture(scope="module")
def told():
    text = explorer.MODELS[0]["examples"][0][0]
    return explorer.payload(text, (3, 2))["opening"]


def shown(told, **state):
    return PAGE.run(
        """(async () => {
          const look = await import("/widgets/explorer/look.js");
          const bench = {...x.bench, unfolded: new Set()};
          const given = {findings: [], game: [], beginnings: []};
          const data = {...given, models: x.models, opening: look.opened(x.opening), bench};
          const seen = m.explore(data, x.state);
          return {...seen, said: m.summarize(seen), reading: null, entry: null};
        })()""",
        {"models": MODELS, "opening": told, "state": STATE | state, "bench": BENCH},
    )


@pytest.mark.parametrize("loaded", MODELS[:1], ids=["storyteller"], indirect=True)
def test_the_opening_is_what_the_page_would_read(loaded, told):
    _, _, read = loaded
    got = read(text=told["text"], off=[], temperature=1)
    assert got["pieces"] == told["pieces"]
    assert got["loss"] == pytest.approx(told["loss"], abs=TOLERANCE)
    for mine, published in zip(got["heads"], told["heads"], strict=True):
        near(mine["weights"], torch.tensor(published["weights"]))
    for part in tracing.PARTS:
        near(got["heads"][14][part], torch.tensor(told["heads"][14][part]))
    for mine, published in zip(got["guesses"], told["guesses"], strict=True):
        for some, others in zip(mine, published, strict=True):
            assert [g["text"] for g in some] == [g["text"] for g in others]
    for mine, published in zip(got["pushes"], told["pushes"], strict=True):
        near(mine["heads"], torch.tensor(published["heads"]), 1e-3)
    for mine, published in zip(got["stream"], told["stream"], strict=True):
        near(mine[-128:], torch.tensor(published), 1e-3)


def test_the_opening_shows_what_the_page_tells(told):
    """Only the last layer brings *dog* forward; head 4.3 pushes it most by far."""
    found = shown(told)
    assert [stage[0]["text"] for stage in found["stages"]].index(" dog") == 4
    assert found["name"] == "4.3"
    pushes = found["pushes"]["heads"]
    assert pushes[14] > 3 > 4 * max(push for i, push in enumerate(pushes) if i != 14)


def pushed(model, text):
    """How hard head 4.3 and MLP 1 push each token after the last one, two vectors of (V,)."""
    found = tracing.trace(model, ids_of(model, "storyteller", text))
    stream, size = found["run"].residual, found["size"]
    end = stream[-1][0, -1]
    ways = (model.embedding - model.embedding.mean(0)) * model.norm.weight
    ways = (ways - ways.mean(-1, keepdim=True)) / (end.var(correction=0) + model.norm.eps).sqrt()
    out = model.layers[3].attention.out_proj.weight[:, 2 * size : 3 * size]
    return ways @ (out @ found["mixed"][3][2][-1]), ways @ (
        stream[1][0, -1] - found["middle"][0][-1]
    )


@torch.no_grad()
def test_what_the_page_says_of_a_head_and_an_mlp_holds():
    """Head 4.3 pushes the noun it looks at, the MLP *dog* in both texts, about twice as hard."""
    model = weights.load(ROOT / MODELS[0]["file"]).double().eval()
    vocabulary = model.config.vocabulary
    dog, cat = (vocabulary.index(word) for word in (" dog", " cat"))
    for example, noun, next_to in ((0, dog, None), (5, cat, dog)):
        head, mlp = pushed(model, MODELS[0]["examples"][example]["text"])
        first, second = head.topk(2).indices.tolist()
        assert first == noun
        assert next_to in (None, second)
        assert mlp[dog] / mlp[cat] == pytest.approx(2.1, abs=0.06)
        if noun == dog:
            assert mlp[dog].item() == pytest.approx(head[dog].item(), rel=0.1)


@torch.no_grad()
def test_before_layer_1_a_word_fits_itself_best():
    """The stream is the word's own vector, of the matrix by which guesses are made."""
    model = weights.load(ROOT / MODELS[0]["file"]).double().eval()
    ids = ids_of(model, "storyteller", MODELS[0]["examples"][0]["text"])
    found = tracing.trace(model, ids)
    torch.testing.assert_close(found["run"].residual[0][0, -1], model.embedding[ids[-1]])
    assert found["lens"][0][-1].argmax() == ids[-1]


def test_the_arithmetic_of_a_weight_is_that_weight(told):
    found = shown(told)
    assert found["to"] == told["pieces"].index(" dog")
    for to in (found["to"], 0, 9):
        pair = shown(told, to=to)["pair"]
        assert sum(pair["products"]) == pytest.approx(pair["dot"], abs=1e-4)
        assert pair["score"] == pytest.approx(pair["dot"] / math.sqrt(32))
        assert pair["part"] == pytest.approx(math.exp(pair["score"] - pair["top"]))
        assert pair["part"] / pair["total"] == pytest.approx(pair["weight"], abs=1e-3)
        assert pair["weight"] == pytest.approx(found["row"][to])


def test_what_a_state_lacks_falls_back(told):
    assert shown(told, at=90)["at"] == 9
    assert shown(told, at=3, to=9)["to"] <= 3, "a causal word sees nothing later"
    assert shown(told, head="4.4")["name"] == "4.4"
    assert shown(told, head="4.4")["pair"] is None, "the opening has the vectors of one head"
    assert "Head 4.3 looks from big at" in shown(told)["said"]


def test_scores_are_the_committed_ones():
    scores = {entry["name"]: entry["scores"] for entry in MODELS}
    assert [len(scores[entry["name"]]) for entry in MODELS] == [sum(e["counts"]) for e in MODELS]
    labels = [label for label, *_ in scores["storyteller"][14]["looks"]]
    assert labels[3] == "what came after the same word last time"
    assert scores["two-layers"][2]["looks"][1][1] == pytest.approx(0.954, abs=0.01)
    assert scores["masked"][5]["looks"][0][1] == pytest.approx(0.98, abs=0.005)
