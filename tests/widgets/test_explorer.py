"""The explorer shows PyTorch's numbers: of every model, on any text, heads on and off."""

import math

import pytest
import torch

from course.payloads import explorer, tracing
from models import weights
from tests.conftest import ROOT
from tests.lessons.page_text import in_order
from tests.widgets.js import JSException, assert_near, module
from tests.widgets.truth_explorer import MODELS, STATE, TYPED, asked, ids_of

PAGE = module("explorer.js")
NUMBER = module("explorer/number.js")
READ = module("explorer/reader.js")
TOLERANCE = 2e-4
EXPLAIN = """(() => {
  const numbers = (all) => Object.fromEntries(Object.entries(all).map(([name, value]) =>
    [name, Array.isArray(value) ? Float32Array.from(value) : value]));
  const width = x.entry.width;
  const given = {head: numbers(x.head), reads: x.reads.map(numbers), matrices: x.matrices, width};
  return m.explain({...given, turns: x.entry.turns}, x.part, x.no, x.i, x.length);
})()"""
OFF = {"storyteller": [[3, 2], [0, 0]], "grammar": [[1, 1]], "induction": [[0, 1]]}


@pytest.fixture(scope="module", params=MODELS, ids=lambda entry: entry["name"])
def loaded(request):
    """A catalogue's entry, its model in PyTorch, and the page's reader of the same file."""
    entry = request.param
    make = f"(globalThis.read = m.explorerReader(model, '{entry['kind']}'), 0)"
    READ.run(f"(globalThis.model = await loadModel(x), {make})", entry["file"])
    read = lambda **question: READ.run("read(x)", question)  # noqa: E731
    return entry, weights.load(ROOT / entry["file"]).double(), read


def near(got, want, tolerance=TOLERANCE):
    """The page has its numbers flat."""
    got, want = (torch.as_tensor(x, dtype=torch.double).flatten() for x in (got, want))
    assert_near(got, want, tolerance)


@pytest.mark.parametrize("which", ["off", pytest.param("typed", marks=pytest.mark.slow)])
def test_a_reading_is_pytorchs(loaded, which):
    entry, model, read = loaded
    kind = entry["kind"]
    text = TYPED[kind] if which == "typed" else entry["examples"][0]["text"]
    off = [pair for pair in OFF[kind] if pair[0] < len(entry["counts"])] if which == "off" else []
    got = read(text=text, off=off, temperature=0.7)
    ids = ids_of(model, kind, text)
    trace = tracing.trace(model, ids, off=[tuple(pair) for pair in off])
    on = tracing.trace(model, ids)
    assert len(got["pieces"]) == len(ids)
    for head in got["heads"]:
        layer, number = head["layer"], head["head"]
        near(head["weights"], trace["run"].weights[layer][0, number])
        for part in tracing.PARTS:
            near(head[part], trace[part][layer][number], 1e-3 if part != "mixed" else TOLERANCE)
        assert head["isOff"] == ([layer, number] in off)
        if head["isOff"]:
            near(head["former"], on["run"].weights[layer][0, number])
        relative = model.layers[layer].relative
        if relative is not None:
            near(head["bias"][: len(ids)], relative(len(ids))[number, -1])
    for stage, rows in enumerate(trace["run"].residual):
        near(got["stream"][stage], rows[0], 1e-3)
        shares, _ = (trace["lens"][stage] / 0.7).softmax(-1).topk(5)
        for i in range(len(ids)):
            near([guess["share"] for guess in got["guesses"][stage][i]], shares[i])
    if trace["units"]:
        near(got["units"][0], trace["units"][0].unflatten(-1, (-1, 8)).amax(-1), 1e-3)
    assert_truth(got, trace, on, ids, model, [tuple(pair) for pair in off])
    for i in {0, len(ids) - 1}:
        want = tracing.pushes(model, trace, i, int(on["run"].logits[0, i].argmax()))
        for name in ("start", "rest", "heads", "mlps"):
            near(got["pushes"][i][name], want[name], 2e-3)


def test_any_number_is_the_sum_that_is_shown(loaded):
    """Of queries, keys, values and outputs: from the stream, the matrix and the place."""
    entry, _, read = loaded
    last = len(entry["counts"]) - 1
    of_last = "m.matricesOf(model).map((all, layer) => (layer === x ? all : null))"
    got = read(text=entry["examples"][0]["text"])
    given = {"head": got["heads"][-1], "reads": got["reads"], "entry": entry,
             "matrices": READ.run(of_last, last), "length": len(got["pieces"])}  # fmt: skip
    at = {"query": (3, 4), "key": (2, given["length"] - 1), "value": (5, 1), "output": (0, 3)}
    for part, (no, i) in at.items():
        number = NUMBER.run(EXPLAIN, given | {"part": part, "no": no, "i": i})
        turned, value = number["turned"], number["sum"]
        assert (turned is not None) == (entry["turns"] and part in ("query", "key"))
        if turned:
            sign = -1 if turned["isFirst"] else 1
            angle = turned["angle"]
            value = value * math.cos(angle) + sign * turned["other"] * math.sin(angle)
        assert value == pytest.approx(number["value"], abs=2e-3), (part, no)


def assert_truth(got, trace, on, ids, model, off):
    """Of a causal model what comes next; else the word itself, hidden."""
    shift = int(model.config.is_causal)
    shares, before = (asked(model, run["run"], ids, pairs).softmax(-1)
                      for run, pairs in ((trace, off), (on, ())))  # fmt: skip
    losses = []
    for i, one in enumerate(got["truth"]):
        target = ids[i + shift] if i + shift < len(ids) else None
        if target is None or model.config.vocabulary[target].startswith("[m"):
            assert one is None
            continue
        share = shares[i, target]
        near([one["share"], one["loss"]], [share, -share.log()])
        assert one["rank"] == 1 + int((shares[i] > share).sum())
        if off:
            near(one["without"], before[i, target])
        losses.append(one["loss"])
    assert got["loss"] == pytest.approx(sum(losses) / len(losses))
    assert (got["lossWithout"] is None) == (got["whole"] is None) == (not off)
    if off:
        all_on = [-math.log(one["without"]) for one in got["truth"] if one]
        assert got["lossWithout"] == pytest.approx(sum(all_on) / len(all_on))
    for i, one in enumerate(got["whole"] or ()):
        all_on, now = (run["run"].logits[0, i].div(0.7).softmax(-1) for run in (on, trace))
        near([one["share"], one["now"]], [all_on.max(), now[all_on.argmax()]])
        if i in (0, len(ids) - 1):
            want = tracing.pushes(model, on, i, int(all_on.argmax()))["heads"]
            near(one["heads"], want, 2e-3)


def test_of_a_long_text_the_oldest_go_and_an_unknown_one_is_told(loaded):
    entry, model, read = loaded
    long = {"storyteller": "word ", "grammar": "the cat ", "induction": "ab"}[entry["kind"]] * 200
    ids = ids_of(model, entry["kind"], long)
    few = (
        "(({pieces, dropped, guesses, heads}) => ({pieces, dropped, guesses, last: heads.at(-1)}))"
    )
    got = READ.run(f"{few}(read(x))", {"text": long, "temperature": 0})
    assert (len(got["pieces"]), got["dropped"]) == (entry["most"], len(ids) - entry["most"])
    run = model(torch.tensor([ids[-entry["most"] :]]))
    near(got["last"]["weights"], run.weights[-1][0, -1])
    for stage in got["guesses"]:
        assert all([guess["share"] for guess in guesses] == [1] for guesses in stage), "the best"
    if entry["kind"] != "storyteller":
        with pytest.raises(JSException, match="“<”"):
            read(text="<€$§> & ==")
    with pytest.raises(JSException, match="no text"):
        read(text="")
    assert len(read(text="cat")["pieces"]) in (1, 2, 3)


@pytest.fixture(scope="module")
def opening():
    text = explorer.MODELS[0]["examples"][0][0]
    return explorer.payload(text)["opening"]


def shown(opening, vectors=None, **state):
    """What a state shows of the opening; ``vectors``: of head 4.3, which come with the model."""
    return PAGE.run(
        """(async () => {
          const reading = await import("/widgets/explorer/reading.js");
          const pairs = await import("/widgets/explorer/weight-sums.js");
          const session = {readings: [], studies: [], last: null, unfolded: new Set()};
          const given = {findings: [], game: [], beginnings: [], models: x.models, session};
          const data = {...given, opening: reading.opened(x.opening)};
          for (const [part, numbers] of Object.entries(x.vectors))
            data.opening.heads[14][part] = Float32Array.from(numbers);
          const seen = m.explore(data, x.state);
          const pair = pairs.weightSums(seen);
          return {...seen, pair, sentence: m.summarize(seen), reading: null, entry: null};
        })()""",
        {"models": MODELS, "opening": opening, "state": STATE | state, "vectors": vectors or {}},
    )


@pytest.mark.parametrize("loaded", MODELS[:1], ids=["storyteller"], indirect=True)
def test_the_opening_is_what_the_page_would_read(loaded, opening):
    _, _, read = loaded
    got = read(text=opening["text"], off=[], temperature=1)
    assert got["pieces"] == opening["pieces"]
    assert got["loss"] == pytest.approx(opening["loss"], abs=TOLERANCE)
    near([head["weights"] for head in got["heads"]], [head["weights"] for head in opening["heads"]])
    guesses, wanted = (
        [[guess["text"] for guess in some] for stage in stages for some in stage]
        for stages in (got["guesses"], opening["guesses"])
    )
    assert guesses == wanted
    pushes, wanted = ([push["heads"] for push in one["pushes"]] for one in (got, opening))
    near(pushes, wanted, 1e-3)
    near([rows[-128:] for rows in got["stream"]], opening["stream"], 1e-3)


def test_the_opening_shows_what_the_page_tells(opening):
    """Only the last layer brings *dog* forward; head 4.3 pushes it most by far."""
    view = shown(opening)
    assert [stage[0]["text"] for stage in view["stages"]].index(" dog") == 4
    assert view["name"] == "4.3"
    pushes = view["pushes"]["heads"]
    assert pushes[14] > 3 > 4 * max(push for i, push in enumerate(pushes) if i != 14)


def test_the_arithmetic_of_a_weight_is_that_weight(opening):
    view = shown(opening)
    assert view["to"] == opening["pieces"].index(" dog")
    model = weights.load(ROOT / MODELS[0]["file"])
    trace = tracing.trace(model, ids_of(model, "storyteller", opening["text"]))
    vectors = {part: trace[part][3][2].flatten().tolist() for part in tracing.PARTS}
    for to in (view["to"], 0, 9):
        pair = shown(opening, vectors, to=to)["pair"]
        assert sum(pair["products"]) == pytest.approx(pair["dot"], abs=1e-4)
        assert pair["score"] == pytest.approx(pair["dot"] / math.sqrt(32))
        assert pair["part"] == pytest.approx(math.exp(pair["score"] - pair["top"]))
        assert pair["part"] / pair["total"] == pytest.approx(pair["weight"], abs=1e-3)
        assert pair["weight"] == pytest.approx(view["row"][to])


def test_what_a_state_lacks_falls_back(opening):
    assert shown(opening, at=90)["at"] == 9
    assert shown(opening, at=3, to=9)["to"] <= 3, "a causal word sees nothing later"
    assert shown(opening, head="4.4")["name"] == "4.4"
    assert shown(opening)["pair"] is None, "the vectors come with the model"
    assert in_order(shown(opening)["sentence"], "4.3", "big")


def test_scores_are_the_committed_ones():
    scores = {entry["name"]: entry["scores"] for entry in MODELS}
    assert all(len(entry["scores"]) == sum(entry["counts"]) for entry in MODELS)
    assert scores["storyteller"][14]["looks"][3][0] == explorer.LABELS["induction"]
    assert scores["two-layers"][2]["looks"][1][1] == pytest.approx(0.954, abs=0.01)
    assert scores["masked"][5]["looks"][0][1] == pytest.approx(0.98, abs=0.005)
