"""The explorer: what its page says was found, against runs of the model in PyTorch."""

import re

import pytest
import torch
import torch.nn.functional as F

from course.payloads import explorer, tracing
from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.lessons.reading import share, shows

PAGE = "explorer.html"
DOG = "The boy saw a big dog. Then the big"
CAT, SMALL = DOG.replace("dog", "cat"), DOG.replace("big", "small", 1)
COPIER, DAMPER = (3, 2), (1, 3)  # heads 4.3 and 2.4


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def ids(model):
    tokenizer = Tokenizer(model.config.vocabulary)
    return lambda text: tokenizer.encode(text)


FOUND = "details.box"  # What we found


@torch.no_grad()
def guessed(model, tokens, off=()):
    """Shares of the next token, and where head 4.3 looks from the last."""
    run = model(torch.tensor([tokens]), off=off)
    return run.logits[0, -1].softmax(-1), run.weights[3][0, 2, -1]


def test_head_4_3_carries_the_guess(model, ids, page):
    dog = ids(DOG)[5]
    (before, _), (after, _) = (guessed(model, ids(DOG), off) for off in ((), (COPIER,)))
    assert shows(page, FOUND, *map(share, (before[dog], after[dog], after.max())))


def heads_off(model, tokens, *names):
    return guessed_at(model, tokens, -1, *names)


@torch.no_grad()
def guessed_at(model, tokens, at, *names):
    off = tuple((int(name[0]) - 1, int(name[2]) - 1) for name in names)
    return model(torch.tensor([tokens]), off=off).logits[0, at].softmax(-1)


@torch.no_grad()
def looks(model, tokens, name, at=-1):
    run = model(torch.tensor([tokens]))
    return run.weights[int(name[0]) - 1][0, int(name[2]) - 1, at]


def shares_told(found, title):
    one = next(one for one in found if one["title"] == title)
    said = one["told"].replace("100\u202f%", "") + " ".join(each["then"] for each in one["tries"])
    return re.findall(r"[\d.]+\u202f%", said)


def narrow(*shares):
    """As the panels beside them: below 10 % with a digit more."""
    return [f"{100 * share:.{0 if share >= 0.0995 else 1}f}\u202f%" for share in map(float, shares)]


def plain(push):
    return f"{push:+.1f}".replace("-", "−")


@pytest.fixture(scope="module")
def gallery():
    return explorer.findings()


@pytest.fixture(scope="module")
def rounds():
    return explorer.rounds()


def test_each_finding_of_the_gallery_is_the_models(model, ids, gallery):
    """Ten of them: what each text shows, as the committed model has it, computed anew."""
    assert len({one["title"] for one in gallery}) == 10
    assert all(one["model"] == "storyteller" and len(ids(one["text"])) <= 256 for one in gallery)
    tokens = {one["title"]: ids(one["text"]) for one in gallery}
    told = lambda title: shares_told(gallery, title)  # noqa: E731
    vocabulary = model.config.vocabulary

    copied = tokens["A copyist"]
    dog = copied[5]
    before, after = heads_off(model, copied)[dog], heads_off(model, copied, "4.3")[dog]
    assert told("A copyist") == narrow(looks(model, copied, "4.3")[5], before, after)
    assert after < before / 5

    far = tokens["A name carried far"]
    turtle = vocabulary.index(" T")
    at = far.index(turtle)
    before, after = heads_off(model, far)[turtle], heads_off(model, far, "4.3")[turtle]
    assert told("A name carried far") == narrow(looks(model, far, "4.3")[at], before, after)
    assert far.count(turtle) == 1
    assert f"looks {len(far) - 1 - at} tokens back" in gallery[1]["told"]
    assert looks(model, far, "4.3").argmax() == at

    old = tokens["One step back"]
    step, home = looks(model, old, "2.4"), vocabulary.index(" home")
    before, after = heads_off(model, old)[home], heads_off(model, old, "2.4")[home]
    assert told("One step back") == narrow(step[-2], before, after)

    fisher = tokens["Two pieces of a name"]
    assert [vocabulary[i] for i in fisher[-2:]] == [" J", "er"]
    before, after = heads_off(model, fisher), heads_off(model, fisher, "1.1")
    assert vocabulary[before.argmax()] == "ry"
    ry = before.argmax()
    row = looks(model, fisher, "1.1")
    assert told("Two pieces of a name") == narrow(row[-2], before[ry], after[ry])
    itself = pushes_of(model, fisher, ry)[0]
    assert f"its push, is {plain(itself)}:" in gallery[3]["tries"][0]["then"]
    assert itself < 0 < before[ry] - after[ry]
    assert without_its_part(model, fisher, (0, 0))[ry] > before[ry] - 0.05

    asked = tokens["Punctuation"]
    marks = [i for i, token in enumerate(asked) if not re.search(r"[A-Za-z]", vocabulary[token])]
    the = vocabulary.index(" the")
    before, after = heads_off(model, asked), heads_off(model, asked, "4.1")
    assert after[the] > before[the]
    given = looks(model, asked, "4.1")[marks].sum()
    assert told("Punctuation") == narrow(given, before[the], after[the])
    named = asked.index(vocabulary.index("orothy"))
    after = heads_off(model, asked, "4.4")
    assert before.argmax() == the
    row = looks(model, asked, "4.4")
    assert told("A name for the verb") == narrow(row[named], after[the], before[the])

    sink = looks(model, tokens["A resting place"], "3.1", at=2)
    know, rest = vocabulary.index(" know"), tokens["A resting place"]
    without = guessed_at(model, rest, 2, "3.1")[know]
    whole = guessed_at(model, rest, 2)
    assert whole.argmax() == know
    assert told("A resting place") == narrow(sink[0], without, whole[know])
    assert without > 0.7 * whole[know], "most of it"
    held = tokens["What follows Peter"]
    rabbit = vocabulary.index(" Rabbit")
    before, after = heads_off(model, held)[rabbit], heads_off(model, held, "3.4")[rabbit]
    row = looks(model, held, "3.4")
    assert vocabulary[held[row.argmax()]] == " Then"
    assert told("What follows Peter") == narrow(row.max(), before, after)
    assert after > 2 * before
    itself = pushes_of(model, held, rabbit)[2 * 4 + 3]
    assert f"its push, is small, {plain(itself)}:" in gallery[7]["tries"][0]["then"]
    assert 0 < itself < 0.5, "it pushes up what it holds down"
    only = without_its_part(model, held, (2, 3))[rabbit]
    assert only < before + 0.05 < after, "by way of later layers, not by what it adds itself"

    tin = tokens["Two heads for one name"]
    wood = vocabulary.index(" W")
    kept = [heads_off(model, tin, *off)[wood] for off in ((), ("1.1",), ("2.4",), ("1.1", "2.4"))]
    back = [looks(model, tin, name)[-2] for name in ("1.1", "2.4")]
    assert vocabulary[tin[-2]] == " T"
    whole, first, second, both = kept
    assert told("Two heads for one name") == narrow(*back, first, whole, second, whole, both)
    assert kept[3] < 0.02 < 0.7 < min(kept[:3])

    cat = tokens["A cat for the dog"]
    shares = heads_off(model, cat)
    row = looks(model, cat, "4.3")
    assert row.argmax() == 5
    without = heads_off(model, cat, "4.3")
    assert told("A cat for the dog") == narrow(
        row[5], shares[dog], shares[cat[5]], without[dog], without[cat[5]]
    )
    pushed = [pushes_of(model, cat, guess)[14] for guess in (cat[5], dog)]
    assert f"[cat], {plain(pushed[0])}, then to [dog], {plain(pushed[1])}." in gallery[9]["told"]
    added = on_all_tokens(model, cat, heads_part(model, cat))
    assert added.topk(2).indices.tolist() == [cat[5], dog]


@torch.no_grad()
def pushes_of(model, tokens, guess):
    found = tracing.trace(model, tokens)
    return tracing.pushes(model, found, len(tokens) - 1, int(guess))["heads"]


@torch.no_grad()
def without_its_part(model, tokens, head):
    """The guesses where only what a head adds itself is taken from the last stream."""
    found = tracing.trace(model, tokens)
    layer, number = head
    out = model.layers[layer].attention.out_proj.weight[:, 32 * number : 32 * (number + 1)]
    end = found["run"].residual[-1][0, -1] - out @ found["mixed"][layer][number, -1]
    return F.linear(model.norm(end), model.embedding, model.unembedding_bias).softmax(-1)


def test_what_the_game_says_of_each_head_is_the_models(model, ids, rounds):
    best = []
    for one in rounds:
        tokens = ids(one["text"])
        whole = heads_off(model, tokens)
        guess = whole.argmax()
        assert one["share"] == pytest.approx(whole[guess].item())
        names = [f"{layer}.{head}" for layer in range(1, 5) for head in range(1, 5)]
        want = [heads_off(model, tokens, name)[guess].item() for name in names]
        assert one["without"] == pytest.approx(want)
        best.append(names[min(range(16), key=want.__getitem__)])
        falls = sorted((whole[guess].item() - now for now in want), reverse=True)
        assert falls[0] > 2 * falls[1], "one head is the answer by a clear margin"
        assert falls[0] > 0.3
    assert best == ["4.4", "2.1", "1.1"], "three heads, of three layers, none the tour's"


@torch.no_grad()
def test_a_round_leads_astray_as_the_page_says(model, ids, rounds):
    """The head that looks hardest is the one in the first; the largest push is not in the last."""
    for one, answer, hardest in zip(rounds, (15, 4, 0), (15, 13, None), strict=True):
        tokens = ids(one["text"])
        run = model(torch.tensor([tokens]))
        most = [head[-1].max().item() for layer in run.weights for head in layer[0]]
        push = pushes_of(model, tokens, run.logits[0, -1].argmax())
        if hardest is not None:
            assert most.index(max(most)) == hardest
        else:
            assert push.index(max(push)) == 14
            assert one["without"][14] > 0.9 * one["share"]
        assert min(range(16), key=one["without"].__getitem__) == answer
    assert rounds[1]["without"][13] > rounds[1]["share"]


@torch.no_grad()
def test_the_mlps_carry_what_head_2_1_finds(model, ids, rounds):
    """Each layer by hand: without the head, but with the MLPs' outputs of the whole run."""
    tokens = ids(rounds[1]["text"])
    run = model(torch.tensor([tokens]))
    outputs = []
    for n, layer in enumerate(model.layers):
        x = run.residual[n]
        outputs.append(layer.mlp(x + layer.attention(layer.norm(x), is_causal=True)))
    layer, x = model.layers[1], run.residual[1]
    value = layer.attention.qkv_proj(layer.norm(x)).unflatten(-1, (3, 4, 32))[0, :, 2, 0]
    part = run.weights[1][0, 0] @ value @ layer.attention.out_proj.weight[:, :32].T
    x = run.residual[2] - part
    for layer, added in zip(model.layers[2:], outputs[2:], strict=True):
        x = x + layer.attention(layer.norm(x), is_causal=True) + added
    shares = F.linear(model.norm(x), model.embedding, model.unembedding_bias)[0, -1].softmax(-1)
    guess = run.logits[0, -1].argmax()
    assert model.config.vocabulary[guess] == " all"
    look = run.weights[1][0, 0, -1, 3]
    assert re.findall(r"[\d.]+\u202f%", rounds[1]["why"]) == narrow(look, shares[guess])
    assert shares[guess] > 3 * rounds[1]["without"][4], "the MLPs make most of the difference"


def test_the_games_texts_are_the_games_alone(gallery, rounds):
    shown = {text for one in explorer.MODELS for text, _ in one["examples"]}
    shown |= {one["text"] for one in gallery} | set(explorer.BEGINNINGS)
    assert not shown & {one["text"] for one in rounds}


def test_each_beginning_needs_one_head(model, ids):
    """Without it the guess has less than half."""
    for text in explorer.BEGINNINGS:
        tokens = ids(text)
        whole = heads_off(model, tokens)
        guess = whole.argmax()
        names = [f"{layer}.{head}" for layer in range(1, 5) for head in range(1, 5)]
        least = min(heads_off(model, tokens, name)[guess].item() for name in names)
        assert whole[guess] > 0.3
        assert least < whole[guess] / 2, text


def lead_by_part(model, tokens, first, second):
    """What each part adds to the difference of two logits, the final norm's divisor held."""
    found = tracing.trace(model, tokens)
    run, last = found["run"], found["run"].residual[-1][0, -1]
    way = model.norm.weight * (model.embedding[first] - model.embedding[second])
    way = (way - way.mean()) / (last.var(unbiased=False) + model.norm.eps).sqrt()
    mlp = run.residual[1][0, -1] - found["middle"][0][-1]
    lead = run.logits[0, -1, first] - run.logits[0, -1, second]
    return (way @ mlp).item(), lead.item()


@torch.no_grad()
def test_cat_is_copied_and_dog_is_guessed(model, ids, page):
    dog, cat = ids(DOG)[5], ids(CAT)[5]
    shares, looks = guessed(model, ids(CAT))
    assert shows(page, FOUND, *map(share, (looks[5], shares[dog], shares[cat])))
    assert shares.argmax() == dog
    part, lead = lead_by_part(model, ids(CAT), dog, cat)
    assert part / lead == pytest.approx(0.75, abs=0.02), "three quarters, in logits"
    for text in (DOG, CAT):  # the MLP of layer 1 pushes dog about twice as hard as cat
        pushes = first_mlp_on(model, ids(text))
        assert pushes[dog] / pushes[cat] == pytest.approx(2.1, abs=0.1)
        assert pushes[dog] == pytest.approx(3.39, abs=0.01)  # as hard as head 4.3 in the first
    head = on_all_tokens(model, ids(DOG), heads_part(model, ids(DOG)))
    assert head[dog] == pytest.approx(3.42, abs=0.01)
    pushed = on_all_tokens(model, ids(CAT), heads_part(model, ids(CAT)))
    assert pushed.topk(2).indices.tolist() == [cat, dog], "cat most, dog next"


def on_all_tokens(model, tokens, vector):
    """What a part of the stream adds to each logit, less the average."""
    last = model(torch.tensor([tokens])).residual[-1][0, -1]
    scale = (last.var(unbiased=False) + model.norm.eps).sqrt()
    added = model.embedding @ (model.norm.weight * (vector - vector.mean()) / scale)
    return added - added.mean()


def first_mlp_on(model, tokens):
    found = tracing.trace(model, tokens)
    return on_all_tokens(model, tokens, found["run"].residual[1][0, -1] - found["middle"][0][-1])


def heads_part(model, tokens):
    mixed = tracing.trace(model, tokens)["mixed"][3][2, -1]
    return model.layers[3].attention.out_proj.weight[:, 64:96] @ mixed


def test_dog_that_did_not_follow_big(model, ids, page):
    dog, tokens = ids(DOG)[5], ids(SMALL)
    (shares, looks), (_, before) = guessed(model, tokens), guessed(model, ids(DOG))
    shown = looks[tokens.index(dog)], before[5], shares[dog]
    assert shows(page, FOUND, *map(share, shown))


ADJECTIVES = "big little old new good long great kind".split()
NOUNS = "dog cat man tree house boy door girl".split()


@torch.no_grad()
def test_a_word_like_it_attracts_the_head_too(model, ids, page):
    """The same over all texts "a C N. Then the A": the experiment's pair is a clear one."""
    triples = [(c, n, a) for c in ADJECTIVES for n in NOUNS for a in ADJECTIVES]
    texts = torch.tensor([ids(f"The boy saw a {c} {n}. Then the {a}") for c, n, a in triples])
    assert texts.shape == (512, 10), "each word is one token"
    to_noun = model(texts).weights[3][:, 2, -1, 5]
    is_same = torch.tensor([c == a for c, _, a in triples])
    assert shows(page, FOUND, share(to_noun[is_same].mean()), share(to_noun[~is_same].mean()))


@torch.no_grad()
def test_head_2_4_acts_through_head_4_3(model, ids, page):
    tokens = ids(DOG)
    dog = tokens[5]
    (whole, before), (without, looks) = guessed(model, tokens), guessed(model, tokens, (DAMPER,))
    assert shows(page, FOUND, *map(share, (without[dog], looks[5], before[5])))
    assert with_weights_kept(model, tokens)[dog] > whole[dog] + 0.05, "dog would rise"


def with_weights_kept(model, tokens):
    """Head 2.4 off, but head 4.3 with the weights that it had."""
    whole, run = (model(torch.tensor([tokens]), off=off) for off in ((), (DAMPER,)))
    layer, x = model.layers[3], run.residual[3]
    value = layer.attention.qkv_proj(layer.norm(x)).unflatten(-1, (3, 4, 32))[0, :, 2, 2]
    more = (whole.weights[3] - run.weights[3])[0, 2] @ value
    x = x + layer.attention(layer.norm(x), is_causal=True)
    x = x + F.linear(more, layer.attention.out_proj.weight[:, 64:96])
    x = x + layer.mlp(x)
    return F.linear(model.norm(x), model.embedding, model.unembedding_bias)[0, -1].softmax(-1)


@torch.no_grad()
def test_what_is_said_of_its_numbers(model, ids, page):
    big = ids(DOG)[-1]
    start = model.norm(model.embedding[big]) @ model.embedding.T + model.unembedding_bias
    assert start.argmax() == big
    assert shows(page, "#more-about-its-numbers", share(start.softmax(-1)[big]))
    label = explorer.LABELS["induction"]
    heads = explorer.catalogue()[0]["scores"]
    average = {look: mean for look, mean, _ in heads[4 * 3 + 2]["looks"]}[label]
    looks = guessed(model, ids(DOG))[1]
    assert shows(page, "#more-about-its-numbers", share(average), share(looks[5]))


def test_the_ordinary_model_is_the_one_whose_heads_look_least(read):
    """Its line says so; every other training has a head that looks at the subject."""
    scores = explorer._json("grammar/scores/masked-standard.json")
    looks = {seed: one["attention"]["verb"]["weight"] for seed, one in scores["seeds"].items()}
    shown = looks.pop(str(scores["shipped"]))
    assert len(looks) == 2
    assert shown < 0.2 < 0.9 < min(looks.values())
    about = next(m["about"] for m in explorer.MODELS if m["name"] == "masked-standard")
    assert "three trainings" in about
    assert "no head looks at the subject" in about
