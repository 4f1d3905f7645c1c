"""The explorer: what its page says was found, against runs of the model in PyTorch."""

import re

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


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def ids(model):
    return Tokenizer(model.config.vocabulary).encode


@pytest.fixture(scope="module")
def gallery():
    return {one["title"]: one for one in explorer.findings()}


@pytest.fixture(scope="module")
def rounds():
    return explorer.rounds()


@torch.no_grad()
def guesses(model, tokens, *off, at=-1):
    """The shares of the next token, with these heads off."""
    pairs = tuple((int(name[0]) - 1, int(name[2]) - 1) for name in off)
    return model(torch.tensor([tokens]), off=pairs).logits[0, at].softmax(-1)


@torch.no_grad()
def looks(model, tokens, name, *off, at=-1):
    """The row of this head's map."""
    pairs = tuple((int(other[0]) - 1, int(other[2]) - 1) for other in off)
    run = model(torch.tensor([tokens]), off=pairs)
    return run.weights[int(name[0]) - 1][0, int(name[2]) - 1, at]


@torch.no_grad()
def part_of(model, tokens, name):
    """What this head adds to the stream of the last token."""
    layer, number = int(name[0]) - 1, int(name[2]) - 1
    out = model.layers[layer].attention.out_proj.weight[:, 32 * number : 32 * (number + 1)]
    return out @ tracing.trace(model, tokens)["mixed"][layer][number, -1]


@torch.no_grad()
def pushes(model, tokens, part):
    """What a part of the last token's stream adds to each logit, less the average."""
    last = model(torch.tensor([tokens])).residual[-1][0, -1]
    scale = (last.var(unbiased=False) + model.norm.eps).sqrt()
    added = model.embedding @ (model.norm.weight * (part - part.mean()) / scale)
    return added - added.mean()


@torch.no_grad()
def guesses_without(model, tokens, part):
    """Where only this part is taken from the last stream."""
    end = model(torch.tensor([tokens])).residual[-1][0, -1] - part
    return F.linear(model.norm(end), model.embedding, model.unembedding_bias).softmax(-1)


def shares_of(one):
    """All shares that a text of the gallery tells, in whatever order; 100 % is none of them."""
    text = one["told"] + " ".join(each["then"] for each in one["tries"])
    return sorted(set(re.findall(r"[\d.]+ %", " ".join(text.split()))) - {"100 %"})


def narrow(*shares):
    """As the panels beside them: below 10 % with a digit more."""
    return sorted({share(x, 0 if x >= 0.0995 else 1) for x in map(float, shares)})


GALLERY = {  # the head, what it looks at most, the guess, and what is left of it without the head
    "A copyist": ("4.3", " dog", " dog", (0, 1 / 5)),
    "A name carried far": ("4.3", " T", " T", (0, 1)),
    "One step back": ("2.4", " to", " home", (0, 1)),
    "Two pieces of a name": ("1.1", " J", "ry", (0, 1)),
    "A name for the verb": ("4.4", "orothy", " the", (0.8, 1)),  # it hardly counts
    "A resting place": ("3.1", "He", " know", (0.7, 1)),  # most of it
    "What follows Peter": ("3.4", " Then", " Rabbit", (2, 4)),  # it is held down
}


@pytest.mark.parametrize("title", GALLERY)
def test_a_text_of_the_gallery_is_read_as_told(model, ids, gallery, title):
    head, seen, guess, (least, most) = GALLERY[title]
    tokens, at = ids(gallery[title]["text"]), gallery[title]["at"] or -1
    words = [model.config.vocabulary[token] for token in tokens]
    row = looks(model, tokens, head, at=at)
    before, after = (guesses(model, tokens, *off, at=at) for off in ((), (head,)))
    best = before.argmax()
    assert gallery[title]["head"] == head
    assert (words[row.argmax()], model.config.vocabulary[best]) == (seen, guess)
    assert least < after[best] / before[best] < most
    assert shares_of(gallery[title]) == narrow(row.max(), before[best], after[best])
    if title == "A name carried far":
        assert words.count(seen) == 1
        assert in_order(gallery[title]["told"], str(len(words) - 1 - words.index(seen)))
    if head in ("1.1", "3.4"):  # it works through later parts: what it adds itself is little
        part = part_of(model, tokens, head)
        push = pushes(model, tokens, part)[best]
        alone = guesses_without(model, tokens, part)[best]
        if head == "1.1":
            assert -1 < push < 0, "it speaks a little against it"
            assert alone > before[best] - 0.05
        else:
            assert 0 < push < 0.5, "it speaks a little for it"
            assert alone < before[best] + 0.05


def test_without_the_head_that_looks_at_marks_the_guess_rises(model, ids, gallery):
    tokens = ids(gallery["Punctuation"]["text"])
    words = [model.config.vocabulary[token] for token in tokens]
    marks = [i for i, word in enumerate(words) if not re.search(r"[A-Za-z]", word)]
    before, after = (guesses(model, tokens, *off) for off in ((), ("4.1",)))
    best, given = before.argmax(), looks(model, tokens, "4.1")[marks].sum()
    assert after[best] > before[best]
    assert shares_of(gallery["Punctuation"]) == narrow(given, before[best], after[best])


def test_two_heads_do_each_others_work(model, ids, gallery):
    one = gallery["Two heads for one name"]
    tokens, wood = ids(one["text"]), model.config.vocabulary.index(" W")
    assert model.config.vocabulary[tokens[-2]] == " T"
    back = [looks(model, tokens, name)[-2] for name in ("1.1", "2.4")]
    whole, *without = (guesses(model, tokens, *off)[wood]
                       for off in ((), ("1.1",), ("2.4",), ("1.1", "2.4")))  # fmt: skip
    assert without[2] < 0.02 < 0.7 < min(whole, *without[:2])
    assert shares_of(one) == narrow(*back, whole, *without)
    for each, now in zip(one["tries"], without, strict=True):
        assert in_order(each["then"], *narrow(now))


@torch.no_grad()
def test_cat_is_copied_and_dog_is_guessed(model, ids, gallery):
    dog, cat, tokens = ids(DOG)[5], ids(CAT)[5], ids(CAT)
    one = gallery["A cat for the dog"]
    before, after = (guesses(model, tokens, *off) for off in ((), ("4.3",)))
    row = looks(model, tokens, "4.3")
    assert row.argmax() == 5
    assert before.argmax() == dog
    assert after[dog] < before[dog]
    assert after[cat] < before[cat]
    shares = row[5], before[dog], before[cat], after[dog], after[cat]
    assert shares_of(one) == narrow(*shares)
    pushed = pushes(model, tokens, part_of(model, tokens, "4.3"))
    assert pushed.topk(2).indices.tolist() == [cat, dog]
    trace = tracing.trace(model, tokens)
    by_mlp = pushes(model, tokens, trace["run"].residual[1][0, -1] - trace["middle"][0][-1])
    logits = trace["run"].logits[0, -1]
    lead = (by_mlp[dog] - by_mlp[cat]) / (logits[dog] - logits[cat])
    assert lead == pytest.approx(0.75, abs=0.02), "three quarters, in logits"


def test_without_head_4_3_no_word_takes_the_place_of_dog(model, ids):
    dog = ids(DOG)[5]
    before, after = (guesses(model, ids(DOG), *off) for off in ((), ("4.3",)))
    assert before.argmax() == dog
    assert model.config.vocabulary[after.argmax()] == " b"
    assert after.max() < before[dog] / 3
    scores = explorer.catalogue()[0]["scores"][4 * 3 + 2]["looks"]
    [average] = [mean for look, mean, _ in scores if look == explorer.LABELS["induction"]]
    assert looks(model, ids(DOG), "4.3")[5] > 3 * average, "at one word far more"


@torch.no_grad()
def test_a_word_like_it_attracts_the_head_too(model, ids):
    """Over all texts "a C N. Then the A": the experiment's pair is a clear one."""
    shown = [looks(model, ids(text), "4.3")[5] for text in (SMALL, DOG)]
    adjectives = "big little old new good long great kind".split()
    nouns = "dog cat man tree house boy door girl".split()
    triples = [(c, n, a) for c in adjectives for n in nouns for a in adjectives]
    texts = torch.tensor([ids(f"The boy saw a {c} {n}. Then the {a}") for c, n, a in triples])
    assert texts.shape == (512, 10), "each word is one token"
    to_noun = model(texts).weights[3][:, 2, -1, 5]
    is_same = torch.tensor([c == a for c, _, a in triples])
    same, other = to_noun[is_same].mean(), to_noun[~is_same].mean()
    assert same > other > same / 2
    assert shown[0] / shown[1] < other / same


@torch.no_grad()
def test_head_2_4_acts_through_head_4_3(model, ids):
    tokens = ids(DOG)
    dog = tokens[5]
    before, after = (guesses(model, tokens, *off)[dog] for off in ((), ("2.4",)))
    assert pushes(model, tokens, part_of(model, tokens, "2.4"))[dog] < 0
    assert after < before
    assert looks(model, tokens, "4.3", "2.4")[5] < looks(model, tokens, "4.3")[5]
    # Head 2.4 off, but head 4.3 with the weights that it had: dog would rise.
    whole, run = (model(torch.tensor([tokens]), off=off) for off in ((), ((1, 3),)))
    layer, x = model.layers[3], run.residual[3]
    value = layer.attention.qkv_proj(layer.norm(x)).unflatten(-1, (3, 4, 32))[0, :, 2, 2]
    more = (whole.weights[3] - run.weights[3])[0, 2] @ value
    x = x + layer.attention(layer.norm(x), is_causal=True)
    x = x + F.linear(more, layer.attention.out_proj.weight[:, 64:96])
    x = x + layer.mlp(x)
    shares = F.linear(model.norm(x), model.embedding, model.unembedding_bias)[0, -1].softmax(-1)
    assert shares[dog] > before + 0.05


@torch.no_grad()
def test_one_head_is_the_answer_of_each_round(model, ids, rounds):
    """The head that looks hardest is it in the first alone; the largest push isn't in the last."""
    answers = []
    for n, one in enumerate(rounds):
        tokens = ids(one["text"])
        whole = guesses(model, tokens)
        guess = whole.argmax()
        without = [guesses(model, tokens, name)[guess].item() for name in HEADS]
        assert one["share"] == pytest.approx(whole[guess].item())
        assert one["without"] == pytest.approx(without)
        answers.append(HEADS[min(range(16), key=without.__getitem__)])
        falls = sorted((whole[guess].item() - now for now in without), reverse=True)
        assert falls[0] > 2 * falls[1], "by a clear margin"
        assert falls[0] > 0.3
        trace = tracing.trace(model, tokens)
        most = [head[-1].max().item() for layer in trace["run"].weights for head in layer[0]]
        push = tracing.pushes(model, trace, len(tokens) - 1, int(guess))["heads"]
        if n < 2:
            assert most.index(max(most)) == (15, 13)[n]
        else:
            assert push.index(max(push)) == 14
            assert without[14] > 0.9 * one["share"]
    assert answers == ["4.4", "2.1", "1.1"], "three heads, of three layers, none the tour's"
    assert rounds[1]["without"][13] > rounds[1]["share"]


@torch.no_grad()
def test_the_mlps_carry_what_the_head_of_the_second_round_finds(model, ids, rounds):
    """Each layer by hand: without head 2.1, but with the MLPs' outputs of the whole run."""
    tokens = ids(rounds[1]["text"])
    run = model(torch.tensor([tokens]))
    x = run.residual[2] - part_to_all(model, run, 1)
    for n, later in enumerate(model.layers[2:], 2):
        whole = run.residual[n]
        added = later.mlp(whole + later.attention(later.norm(whole), is_causal=True))
        x = x + later.attention(later.norm(x), is_causal=True) + added
    shares = F.linear(model.norm(x), model.embedding, model.unembedding_bias)[0, -1].softmax(-1)
    best = run.logits[0, -1].argmax()
    assert model.config.vocabulary[best] == " all"
    look = run.weights[1][0, 0, -1, 3]
    assert in_order(rounds[1]["why"], *(narrow(x)[0] for x in (look, shares[best])))
    lost = rounds[1]["share"] - rounds[1]["without"][4]
    assert rounds[1]["share"] - shares[best] < lost / 5, "these do the rest"


@torch.no_grad()
def test_the_head_of_the_third_round_counts_at_all_pieces_together(model, ids, rounds):
    """Layer by layer by hand: without what head 1.1 adds to the last piece, and to all five."""
    tokens, name = ids(rounds[2]["text"]), ids(" Emerald")
    assert tokens[-len(name) :] == name
    assert len(name) == 5
    run = model(torch.tensor([tokens]))
    for row in range(len(tokens) - 4, len(tokens)):  # "back at those before it"
        before = run.weights[0][0, 0, row, len(tokens) - 5 : row]
        assert before.sum() > 0.75
    shares = []
    for count in (1, 5):
        x = run.residual[0].clone()
        for n, layer in enumerate(model.layers):
            x = x + layer.attention(layer.norm(x), is_causal=True)
            if n == 0:
                x[0, -count:] -= part_to_all(model, run, 0)[-count:]
            x = x + layer.mlp(x)
        logits = F.linear(model.norm(x), model.embedding, model.unembedding_bias)[0, -1]
        shares.append(logits.softmax(-1)[run.logits[0, -1].argmax()].item())
    assert in_order(rounds[2]["why"], *(narrow(share)[0] for share in shares))
    lost = [rounds[2]["share"] - share for share in shares]
    assert lost[0] < lost[1] / 5


def part_to_all(model, run, number):
    """What the first head of a layer adds to each token's stream."""
    layer = model.layers[number]
    value = layer.attention.qkv_proj(layer.norm(run.residual[number])).unflatten(-1, (3, 4, 32))
    by_head = run.weights[number][0, 0] @ value[0, :, 2, 0]
    return by_head @ layer.attention.out_proj.weight[:, :32].T


def test_texts_fit_and_those_of_the_game_are_its_alone(ids, gallery, rounds):
    assert len(gallery) == 10
    assert all(one["model"] == "storyteller" for one in gallery.values())
    assert all(len(ids(one["text"])) <= 256 for one in gallery.values())
    shown = {text for one in explorer.MODELS for text, _ in one["examples"]}
    shown |= {one["text"] for one in gallery.values()} | set(explorer.BEGINNINGS)
    assert not shown & {one["text"] for one in rounds}


def test_each_beginning_needs_one_head(model, ids):
    """Without it the guess has less than half."""
    for text in explorer.BEGINNINGS:
        whole = guesses(model, ids(text))
        guess = whole.argmax()
        least = min(guesses(model, ids(text), name)[guess].item() for name in HEADS)
        assert whole[guess] > 0.3
        assert least < whole[guess] / 2, text


def test_the_ordinary_model_is_the_one_whose_heads_look_least():
    scores = explorer._json("grammar/scores/masked-standard.json")
    by_seed = {seed: one["attention"]["verb"]["weight"] for seed, one in scores["seeds"].items()}
    shown = by_seed.pop(str(scores["shipped"]))
    assert len(by_seed) == 2
    assert shown < 0.2 < 0.9 < min(by_seed.values())
