"""The explorer shows PyTorch's numbers: of every model, on any text, heads on and off."""

import math

import pytest
import torch

from course.payloads import explorer, tracing
from models import weights
from tests.conftest import ROOT
from tests.widgets.js import JSException, assert_near, module
from tests.widgets.truth_explorer import MODELS, STATE, TYPED, asked, ids_of

PAGE = module("explorer.js")
NUMBER = module("explorer/number.js")
READ = module("explorer/reader.js")
TOLERANCE = 2e-4
EXPLAIN = """m.explain({head: got.heads.at(-1), reads: got.reads, matrices,
  turns: x.entry.turns, width: x.entry.width}, ...x.number)"""
SUMS = """(async () => {
  const {look} = await import("/widgets/explorer/reading.js");
  const {weightSums} = await import("/widgets/explorer/weight-sums.js");
  return weightSums(look(x.models, {...read({text: x.text}), model: x.state.model}, x.state));
})()"""
OFF = {"storyteller": [(3, 2), (0, 0)], "grammar": [(1, 1)], "induction": [(0, 1)]}


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
    now, on = (tracing.trace(model, ids, off=pairs) for pairs in (off, []))
    assert len(got["pieces"]) == len(ids)
    for head in got["heads"]:
        layer, number = head["layer"], head["head"]
        near(head["weights"], now["run"].weights[layer][0, number])
        for part in tracing.PARTS:
            near(head[part], now[part][layer][number], 1e-3 if part != "mixed" else TOLERANCE)
        assert head["isOff"] == ((layer, number) in off)
        if head["isOff"]:
            near(head["former"], on["run"].weights[layer][0, number])
    for stage, rows in enumerate(now["run"].residual):
        near(got["stream"][stage], rows[0], 1e-3)
        shares = (now["lens"][stage] / 0.7).softmax(-1).topk(5).values
        near([[guess["share"] for guess in some] for some in got["guesses"][stage]], shares)
    if now["units"]:
        near(got["units"][0], now["units"][0].unflatten(-1, (-1, 8)).amax(-1), 1e-3)
    assert_truth(got, now, on, ids, model, off)
    for i in {0, len(ids) - 1}:
        want = tracing.pushes(model, now, i, int(on["run"].logits[0, i].argmax()))
        for name in ("start", "rest", "heads", "mlps"):
            near(got["pushes"][i][name], want[name], 2e-3)
    if off:
        for i in range(len(ids)):
            assert_compared(got["whole"][i], i, now["run"], on["run"], off)
        want = tracing.pushes(model, on, 0, int(on["run"].logits[0, 0].argmax()))["heads"]
        near(got["whole"][0]["heads"], want, 2e-3)


def assert_truth(got, now, on, ids, model, off):
    """Of a causal model what comes next; else the word itself, hidden."""
    shift = int(model.config.is_causal)
    shares, before = (asked(model, run["run"], ids, pairs).softmax(-1)
                      for run, pairs in ((now, off), (on, ())))  # fmt: skip
    told = [
        (i, ids[i + shift])
        for i in range(len(ids) - shift)
        if not model.config.vocabulary[ids[i + shift]].startswith("[m")
    ]
    assert [i for i, one in enumerate(got["truth"]) if one] == [i for i, _ in told]
    for i, target in told:
        one, share = got["truth"][i], shares[i, target]
        near([one["share"], one["loss"]], [share, -share.log()])
        assert one["rank"] == 1 + int((shares[i] > share).sum())
    for name, chances in {"loss": shares, **({"lossWithout": before} if off else {})}.items():
        losses = [-chances[i, target].log() for i, target in told]
        near(got[name], sum(losses) / len(losses))


def assert_compared(got, i, now, on, off):
    """The first guess with all heads on, and the weight of a later head that falls most."""
    before, after = (run.logits[0, i].div(0.7).softmax(-1) for run in (on, now))
    near([got["share"], got["now"]], [before.max(), after[before.argmax()]])
    heads = [(layer, n) for layer, maps in enumerate(on.weights) for n in range(maps.shape[1])]
    was, left = (torch.cat([maps[0, :, i] for maps in run.weights]) for run in (on, now))
    first = min(layer for layer, _ in off)
    later = torch.tensor([layer > first and (layer, n) not in off for layer, n in heads])
    falls = (was - left) * later[:, None]
    if falls.max() < 0.1:
        assert got["moved"] is None
    else:
        head, to = divmod(int(falls.argmax()), falls.shape[1])
        moved = got["moved"]
        assert (moved["head"], moved["to"]) == (head, to)
        near([moved["before"], moved["now"]], [was[head, to], left[head, to]])


def test_any_number_is_the_sum_that_is_shown(loaded):
    """Of queries, keys, values and outputs: from the stream, the matrix and the place."""
    entry, _, _ = loaded
    READ.run("(globalThis.got = read(x), 0)", {"text": entry["examples"][0]["text"]})
    READ.run("(globalThis.matrices = m.matricesOf(model), 0)")
    length = READ.run("got.pieces.length")
    at = {"query": (3, 4), "key": (2, length - 1), "value": (5, 1), "output": (0, 3)}
    for part, (no, i) in at.items():
        number = NUMBER.run(EXPLAIN, {"entry": entry, "number": [part, no, i, length]})
        turned, value = number["turned"], number["sum"]
        assert (turned is not None) == (entry["turns"] and part in ("query", "key"))
        if turned:
            sign = -1 if turned["isFirst"] else 1
            angle = turned["angle"]
            value = value * math.cos(angle) + sign * turned["other"] * math.sin(angle)
        assert value == pytest.approx(number["value"], abs=2e-3), (part, no)


def test_the_arithmetic_of_a_weight_is_that_weight(loaded):
    """In the last head of all, whose row is PyTorch's."""
    entry, model, _ = loaded
    text, layer = entry["examples"][0]["text"], len(entry["counts"]) - 1
    number = entry["counts"][-1]
    row = model(torch.tensor([ids_of(model, entry["kind"], text)])).weights[layer][0, -1, -1]
    chosen = {"model": entry["name"], "head": f"{layer + 1}.{number}", "at": len(row) - 1}
    for to in (0, len(row) - 1):
        state = STATE | chosen | {"to": to}
        sums = READ.run(SUMS, {"models": MODELS, "text": text, "state": state})
        assert sum(sums["products"]) == pytest.approx(sums["dot"], abs=1e-4)
        score = sums["dot"] / math.sqrt(sums["size"]) + (sums["bias"] or 0)
        assert sums["score"] == pytest.approx(score)
        assert sums["part"] == pytest.approx(math.exp(score - sums["top"]))
        assert sums["part"] / sums["total"] == pytest.approx(row[to].item(), abs=1e-3)


def test_of_a_long_text_the_oldest_go_and_an_unknown_one_is_told(loaded):
    entry, model, read = loaded
    long = {"storyteller": "word ", "grammar": "the cat ", "induction": "ab"}[entry["kind"]] * 200
    ids = ids_of(model, entry["kind"], long)
    few = "(({dropped, guesses, heads}) => ({dropped, guesses, last: heads.at(-1)}))(read(x))"
    got = READ.run(few, {"text": long, "temperature": 0})
    assert got["dropped"] == len(ids) - entry["most"]
    run = model(torch.tensor([ids[-entry["most"] :]]))
    near(got["last"]["weights"], run.weights[-1][0, -1])
    for stage in got["guesses"]:
        assert all([guess["share"] for guess in guesses] == [1] for guesses in stage), "the best"
    if entry["kind"] != "storyteller":
        with pytest.raises(JSException, match="“<”"):
            read(text="<€$§> & ==")
    with pytest.raises(JSException, match="no text"):
        read(text="")


# ---- The opening, which comes with the page ------------------------------------------------------


@pytest.fixture(scope="module")
def opening():
    return explorer.payload(MODELS[0]["examples"][0]["text"])["opening"]


def shown(opening, **state):
    return PAGE.run(
        """(async () => {
          const {opened} = await import("/widgets/explorer/reading.js");
          const session = {readings: [], studies: [], last: null, unfolded: new Set()};
          const given = {findings: [], game: [], beginnings: [], models: x.models, session};
          const seen = m.explore({...given, opening: opened(x.opening)}, x.state);
          return {...seen, reading: null, entry: null};
        })()""",
        {"models": MODELS, "opening": opening, "state": STATE | state},
    )


@pytest.mark.parametrize("loaded", MODELS[:1], ids=["storyteller"], indirect=True)
def test_the_opening_is_what_the_page_would_read(loaded, opening):
    got = loaded[2](text=opening["text"], off=[], temperature=1)
    for all_of in (
        lambda one: [head["weights"] for head in one["heads"]],
        lambda one: [push["heads"] for push in one["pushes"]],
        lambda one: [rows[-128:] for rows in one["stream"]],
        lambda one: one["loss"],
    ):
        near(all_of(got), all_of(opening), 1e-3)
    texts, wanted = (
        [[guess["text"] for guess in some] for stage in one["guesses"] for some in stage]
        for one in (got, opening)
    )
    assert texts == wanted


def test_only_the_last_layer_brings_dog_forward_and_head_4_3_pushes_it_most_by_far(opening):
    view = shown(opening)
    assert [stage[0]["text"] for stage in view["stages"]].index(" dog") == 4
    pushes = view["pushes"]["heads"]
    assert view["name"] == "4.3"
    assert pushes[14] > 3 > 4 * max(push for i, push in enumerate(pushes) if i != 14)


def test_what_a_state_lacks_falls_back(opening):
    assert shown(opening, at=90)["at"] == 9
    assert shown(opening, at=3, to=9)["to"] <= 3, "a causal word sees nothing later"


def test_a_text_that_is_kept_beside_has_its_own_guesses(opening):
    view = shown(opening, at=3, pin=opening["text"])
    assert view["pinned"]["guesses"] == shown(opening)["guesses"] != view["guesses"]
