"""The explorer: what its page says was found, against runs of the model in PyTorch."""

import re
from functools import cache

import pytest
import torch
import torch.nn.functional as F

from course.payloads import explorer, tracing
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.lessons.page_text import in_order, share

DOG = "The boy saw a big dog. Then the big"
CAT, SMALL = DOG.replace("dog", "cat"), DOG.replace("big", "small", 1)
HEADS = [f"{layer}.{head}" for layer in range(1, 5) for head in range(1, 5)]
MODEL = load_storyteller().double()
NAMES = MODEL.config.vocabulary
GALLERY = {one["title"]: one for one in explorer.findings()}
ROUNDS = explorer.rounds()


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def ids(text):
    return Tokenizer(NAMES).encode(text)


@cache
def run(text, *off):
    pairs = tuple((int(name[0]) - 1, int(name[2]) - 1) for name in off)
    return MODEL(torch.tensor([ids(text)]), off=pairs)


def guesses(text, *off, at=-1):
    """The shares of the next token, with these heads off."""
    return run(text, *off).logits[0, at].softmax(-1)


def look(text, name, *off, at=-1):
    """The row of this head's map."""
    return run(text, *off).weights[int(name[0]) - 1][0, int(name[2]) - 1, at]


def guessed(stream):
    """The shares at the end of a stream (…, L, E)."""
    return F.linear(MODEL.norm(stream), MODEL.embedding, MODEL.unembedding_bias)[0, -1].softmax(-1)


def part_of(text, name):
    """What this head adds to each token's stream."""
    layer, head = MODEL.layers[int(name[0]) - 1], int(name[2]) - 1
    x, weights = run(text).residual[int(name[0]) - 1], run(text).weights[int(name[0]) - 1]
    value = layer.attention.qkv_proj(layer.norm(x)).unflatten(-1, (3, 4, 32))[0, :, 2, head]
    return weights[0, head] @ value @ layer.attention.out_proj.weight[:, 32 * head :][:, :32].T


def pushes(text, part):
    """What a part of the last token's stream adds to each logit, less the average."""
    last = run(text).residual[-1][0, -1]
    scale = (last.var(unbiased=False) + MODEL.norm.eps).sqrt()
    added = MODEL.embedding @ (MODEL.norm.weight * (part - part.mean()) / scale)
    return added - added.mean()


def shares_of(one):
    """All shares that a text of the gallery tells, in whatever order; 100 % is none of them."""
    text = one["told"] + " ".join(each["then"] for each in one["tries"])
    return sorted(set(re.findall(r"[\d.]+ %", " ".join(text.split()))) - {"100 %"})


def narrow(*shares):
    """As the panels beside them: below 10 % with a digit more."""
    return sorted({share(x, 0 if x >= 0.0995 else 1) for x in map(float, shares)})


@pytest.mark.parametrize(("title", "head", "seen", "guess", "least", "most"), [
    ("A copyist", "4.3", " dog", " dog", 0, 1 / 5),
    ("A name carried far", "4.3", " T", " T", 0, 1),
    ("One step back", "2.4", " to", " home", 0, 1),
    ("Two pieces of a name", "1.1", " J", "ry", 0, 1),
    ("A name for the verb", "4.4", "orothy", " the", 0.8, 1),  # it hardly counts
    ("A resting place", "3.1", "He", " know", 0.7, 1),  # most of it
    ("What follows Peter", "3.4", " Then", " Rabbit", 2, 4),  # it is held down
])  # fmt: skip
def test_a_text_of_the_gallery_is_read_as_told(title, head, seen, guess, least, most):
    """What the head looks at most, the guess, and what is left of it without the head."""
    one = GALLERY[title]
    text, at = one["text"], one["at"] or -1
    words = [NAMES[token] for token in ids(text)]
    row = look(text, head, at=at)
    before, after = guesses(text, at=at), guesses(text, head, at=at)
    best = before.argmax()
    assert one["head"] == head
    assert (words[row.argmax()], NAMES[best]) == (seen, guess)
    assert least < after[best] / before[best] < most
    assert shares_of(one) == narrow(row.max(), before[best], after[best])
    if title == "A name carried far":
        assert in_order(one["told"], str(len(words) - 1 - words.index(seen)))


@pytest.mark.parametrize(("title", "head", "low", "high"), [
    ("Two pieces of a name", "1.1", -1, 0), ("What follows Peter", "3.4", 0, 0.5),
])  # fmt: skip
def test_a_head_that_works_through_later_parts_adds_little_itself(title, head, low, high):
    text = GALLERY[title]["text"]
    part, before = part_of(text, head)[-1], guesses(text)
    best = before.argmax()
    assert low < pushes(text, part)[best] < high
    assert abs(guessed(run(text).residual[-1] - part)[best] - before[best]) < 0.05


def test_without_the_head_that_looks_at_marks_the_guess_rises():
    text = GALLERY["Punctuation"]["text"]
    marks = [i for i, token in enumerate(ids(text)) if not re.search(r"[A-Za-z]", NAMES[token])]
    before, after = guesses(text), guesses(text, "4.1")
    best, given = before.argmax(), look(text, "4.1")[marks].sum()
    assert after[best] > before[best]
    assert shares_of(GALLERY["Punctuation"]) == narrow(given, before[best], after[best])


def test_two_heads_do_each_others_work():
    one = GALLERY["Two heads for one name"]
    text, wood = one["text"], NAMES.index(" W")
    back = [look(text, name)[-2] for name in ("1.1", "2.4")]
    whole, *without = (
        guesses(text, *off)[wood] for off in ((), ("1.1",), ("2.4",), ("1.1", "2.4"))
    )
    assert without[2] < 0.02 < 0.7 < min(whole, *without[:2])
    assert shares_of(one) == narrow(*back, whole, *without)
    for each, now in zip(one["tries"], without, strict=True):
        assert in_order(each["then"], *narrow(now))


def test_cat_is_copied_and_dog_is_guessed():
    dog, cat = ids(DOG)[5], ids(CAT)[5]
    before, after, row = guesses(CAT), guesses(CAT, "4.3"), look(CAT, "4.3")
    assert (row.argmax(), before.argmax()) == (5, dog)
    assert (after[[dog, cat]] < before[[dog, cat]]).all()
    shares = row[5], before[dog], before[cat], after[dog], after[cat]
    assert shares_of(GALLERY["A cat for the dog"]) == narrow(*shares)
    pushed = pushes(CAT, part_of(CAT, "4.3")[-1])
    assert pushed.topk(2).indices.tolist() == [cat, dog]
    trace = tracing.trace(MODEL, ids(CAT))
    by_mlp = pushes(CAT, trace["run"].residual[1][0, -1] - trace["middle"][0][-1])
    logits = trace["run"].logits[0, -1]
    lead = (by_mlp[dog] - by_mlp[cat]) / (logits[dog] - logits[cat])
    assert lead == pytest.approx(0.75, abs=0.02), "three quarters, in logits"


def test_without_head_4_3_no_word_takes_the_place_of_dog():
    before, after = guesses(DOG), guesses(DOG, "4.3")
    assert before.argmax() == ids(DOG)[5]
    assert NAMES[after.argmax()] == " b"
    assert after.max() < before.max() / 3
    scores = explorer.catalogue()[0]["scores"][4 * 3 + 2]["looks"]
    [average] = [mean for name, mean, _ in scores if name == explorer.LABELS["induction"]]
    assert look(DOG, "4.3")[5] > 3 * average, "at one word far more"


def test_a_word_like_it_attracts_the_head_too():
    """Over all texts "a C N. Then the A": the experiment's pair is a clear one."""
    adjectives = "big little old new good long great kind".split()
    nouns = "dog cat man tree house boy door girl".split()
    triples = [(c, n, a) for c in adjectives for n in nouns for a in adjectives]
    texts = torch.tensor([ids(f"The boy saw a {c} {n}. Then the {a}") for c, n, a in triples])
    assert texts.shape == (512, 10), "each word is one token"
    to_noun = MODEL(texts).weights[3][:, 2, -1, 5]
    is_same = torch.tensor([c == a for c, _, a in triples])
    same, other = to_noun[is_same].mean(), to_noun[~is_same].mean()
    assert same > other > same / 2
    assert look(SMALL, "4.3")[5] / look(DOG, "4.3")[5] < other / same


def test_head_2_4_acts_through_head_4_3():
    dog = ids(DOG)[5]
    assert pushes(DOG, part_of(DOG, "2.4")[-1])[dog] < 0
    assert guesses(DOG, "2.4")[dog] < guesses(DOG)[dog]
    assert look(DOG, "4.3", "2.4")[5] < look(DOG, "4.3")[5]
    # Head 2.4 off, but head 4.3 with the weights that it had: dog would rise.
    layer, x = MODEL.layers[3], run(DOG, "2.4").residual[3]
    value = layer.attention.qkv_proj(layer.norm(x)).unflatten(-1, (3, 4, 32))[0, :, 2, 2]
    more = (run(DOG).weights[3] - run(DOG, "2.4").weights[3])[0, 2] @ value
    x = x + layer.attention(layer.norm(x), is_causal=True)
    x = x + F.linear(more, layer.attention.out_proj.weight[:, 64:96])
    assert guessed(x + layer.mlp(x))[dog] > guesses(DOG)[dog] + 0.05


@pytest.mark.parametrize(("number", "answer"), [(0, "4.4"), (1, "2.1"), (2, "1.1")])
def test_one_head_is_the_answer_of_each_round(number, answer):
    """The head that looks hardest is it in the first alone; the largest push isn't in the last."""
    one = ROUNDS[number]
    text, guess = one["text"], guesses(one["text"]).argmax()
    assert one["share"] == pytest.approx(guesses(text)[guess].item())
    assert one["without"] == pytest.approx([guesses(text, name)[guess].item() for name in HEADS])
    left = sorted(one["without"])
    assert HEADS[one["without"].index(left[0])] == answer
    assert one["share"] - left[0] > max(0.3, 2 * (one["share"] - left[1])), "by a clear margin"
    hardest = max(HEADS, key=lambda name: look(text, name).max())
    assert (hardest == answer) == (number == 0)
    trace = tracing.trace(MODEL, ids(text))
    push = tracing.pushes(MODEL, trace, len(ids(text)) - 1, int(guess))["heads"]
    if number == 2:
        assert HEADS[push.index(max(push))] != answer


def test_the_mlps_carry_what_the_head_of_the_second_round_finds():
    """Each layer by hand: without head 2.1, but with the MLPs' outputs of the whole run."""
    one = ROUNDS[1]
    whole = run(one["text"])
    x = whole.residual[2] - part_of(one["text"], "2.1")
    for layer, before in zip(MODEL.layers[2:], whole.residual[2:], strict=False):
        added = layer.mlp(before + layer.attention(layer.norm(before), is_causal=True))
        x = x + layer.attention(layer.norm(x), is_causal=True) + added
    kept = guessed(x)[whole.logits[0, -1].argmax()]
    seen = look(one["text"], "2.1")[3]
    assert in_order(one["why"], *(narrow(number)[0] for number in (seen, kept)))
    assert one["share"] - kept < (one["share"] - one["without"][4]) / 5, "these do the rest"


def test_the_head_of_the_third_round_counts_at_all_pieces_together():
    """Layer by layer by hand: without what head 1.1 adds to the last piece, and to all five."""
    one = ROUNDS[2]
    whole, length = run(one["text"]), len(ids(one["text"]))
    assert ids(one["text"])[-5:] == ids(" Emerald")
    for row in range(length - 4, length):
        assert whole.weights[0][0, 0, row, length - 5 : row].sum() > 0.75, "at those before it"
    shares = []
    for count in (1, 5):
        x = whole.residual[0].clone()
        for n, layer in enumerate(MODEL.layers):
            x = x + layer.attention(layer.norm(x), is_causal=True)
            if n == 0:
                x[0, -count:] -= part_of(one["text"], "1.1")[-count:]
            x = x + layer.mlp(x)
        shares.append(guessed(x)[whole.logits[0, -1].argmax()].item())
    assert in_order(one["why"], *(narrow(share)[0] for share in shares))
    lost = [one["share"] - share for share in shares]
    assert lost[0] < lost[1] / 5


def test_texts_fit_and_those_of_the_game_are_its_alone():
    assert all(len(ids(one["text"])) <= 256 for one in GALLERY.values())
    shown = {text for one in explorer.MODELS for text, _ in one["examples"]}
    shown |= {one["text"] for one in GALLERY.values()} | set(explorer.BEGINNINGS)
    assert not shown & {one["text"] for one in ROUNDS}


@pytest.mark.parametrize("text", explorer.BEGINNINGS)
def test_each_beginning_needs_one_head(text):
    """Without it the guess has less than half."""
    whole = guesses(text)
    least = min(guesses(text, name)[whole.argmax()] for name in HEADS)
    assert whole.max() > 0.3
    assert least < whole.max() / 2
