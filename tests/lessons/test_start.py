"""The ground floor's numbers, computed another way; tests/models has its JavaScript."""

import math
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector

from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from tests.conftest import ROOT
from tests.lessons.page_text import cells, output, share, shows
from tests.numbers import number, numbers

PAGE = "modules/start/lesson.html"
BEGINNING = "The good old man went home to"
TEXT = f"{BEGINNING} his mother"
SWAPPED = "The dog saw the man and", "The man saw the dog and"
UNIT = 488  # counted from 0, of layer 2


@cache
def tokenizer():
    return Tokenizer(load_storyteller().config.vocabulary)


@pytest.fixture
def story():
    return load_storyteller().double()


def ids_of(text):
    return torch.tensor([tokenizer().encode(text)])


@torch.no_grad()
def shares_after(model, text):
    """What the model gives each token after the text."""
    return model(ids_of(text)).logits[0, -1].softmax(-1)


def likeliest(shares, count):
    return [tokenizer().name(i).strip() for i in shares.topk(count).indices.tolist()]


def of(shares, word):
    [token] = tokenizer().encode(f" {word}")
    return shares[token].item()


def step(model, tokens):
    """One plain step of 0.01 on a sentence."""
    F.cross_entropy(model(tokens[:, :-1]).logits[0], tokens[0, 1:]).backward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    optimizer.step()
    optimizer.zero_grad()


def test_one_step_moves_every_number(page, story):
    before = parameters_to_vector(story.parameters()).clone()
    step(story, ids_of(TEXT))
    moves = (parameters_to_vector(story.parameters()) - before).abs()
    moved, count, half, most = numbers(output(page, "gradient"))
    assert moved == count == len(moves) == (moves > 0).sum()
    assert half == pytest.approx(moves.median().item(), abs=5.1e-7)
    assert most == pytest.approx(moves.max().item(), abs=5.1e-5)
    assert shows(page, "main", f"{count:,.0f}")


def test_three_steps_change_what_it_says_of_other_sentences_too(page, story):
    texts = [f"{BEGINNING} his", "The little girl went home to her", "The prince put on his"]
    shares, heads, fathers = [], [], []
    for _ in range(4):
        after = [shares_after(story, text) for text in texts]
        shares.append([of(one, "mother") for one in after])
        heads += likeliest(after[2], 1)
        fathers.append(of(after[0], "father"))
        step(story, ids_of(TEXT))
    printed = [numbers(line)[1:] for line in output(page, "three-steps").splitlines()]
    assert printed == [pytest.approx(row, abs=5.1e-4) for row in shares]
    answer = page.select("#sec-up .after-prediction > p")[-1].get_text().replace("\u202f%", "")
    want = [100 * share for pair in zip(shares[0], shares[3], strict=True) for share in pair]
    assert numbers(answer) == pytest.approx(want[:4], abs=0.51)
    assert (heads[0], heads[3]) == ("head", "mother"), "it spreads to where it doesn't fit"
    odds = [[x / (1 - x) for x in row] for row in (shares[0], shares[3])]
    ours, girls, _ = (then / now for now, then in zip(*odds, strict=True))
    assert 10 < girls < ours / 2, "the push is weaker, but not little"
    assert shares[0][1] > 1.8 * shares[0][0], "the word was likelier there before"
    # Some others get more, although their rows move away.
    assert fathers[1] > 2 * fathers[0]
    assert shows(page, "#sec-up", "father", share(fathers[0], 1), share(fathers[1]))


def test_the_guesses_are_as_the_text_says(page, story):
    shares = shares_after(story, f"{BEGINNING} his")
    words = likeliest(shares, 5)
    shown = cells(page, "ground-floor .fallback")
    want = [
        [word, f"{100 * p:.1f}\u202f%"]
        for word, p in zip(words, shares.topk(5).values, strict=True)
    ]
    of_truth = of(shares, "mother")
    assert shown == [*want, ["mother", f"{100 * of_truth:.1f}\u202f%"]]
    assert words[:2] == ["home", "house"]
    home, house = (share(of(shares, word)) for word in words[:2])
    assert shows(page, "#sec-head", "home", home, "house", house)
    loss = f"{-math.log(of_truth):.2f}"
    assert loss == f"{-math.log(round(of_truth, 3)):.2f}", "from the rounded share, too"
    assert shows(page, "#sec-up", f"{of_truth:.3f}", f"{of_truth:.3f}", loss)


def test_a_head_by_pencil(page):
    query, keys, values = [1, 2], torch.tensor([[1, 2], [2, 0]]), torch.tensor([[2, 0], [0, 4]])
    scores = keys @ torch.tensor(query)
    assert scores.tolist() == [5, 2]
    powers = math.exp(5), math.exp(2)
    told = f"{powers[0]:.0f}", f"{powers[1]:.1f}", f"{sum(powers):.0f}"
    for power, part in zip(told, powers, strict=False):
        assert shows(page, "#sec-listen", *told, power, told[2], f"{part / sum(powers):.2f}")
    mix = scores.double().softmax(0) @ values.double()
    assert mix.tolist() == pytest.approx([1.9, 0.2], abs=0.051)
    assert shows(page, "#sec-listen", *"0.95 2 0 0.05 0 4 1.9 0.2".split())
    rows = [numbers(" ".join(row[1:])) for row in cells(page, "one-head .fallback")]
    assert rows == [[1, 2, 5, 0.95, 2, 0, 1.9, 0], [2, 0, 2, 0.05, 0, 4, 0, 0.2]]


@torch.no_grad()
def test_a_head_looks_at_to_and_without_it_nobody_goes_anywhere(page, story):
    """Silent where its columns of the matrix that mixes the heads are zeros."""
    weights = story(ids_of(f"{BEGINNING} his")).weights[2][0, 3]
    assert weights[7].argmax() == 6
    assert shows(page, "#sec-head", f"{weights[7, 6]:.2f}")
    drawn = [line[1:] for line in cells(page, "sec-listen .screen-reader-only")]
    for i, line in enumerate(drawn):
        shown = [float(x) for x in line if x != "none"]
        assert shown == pytest.approx(weights[i, : i + 1].tolist(), abs=5.1e-4)

    for layer, head in product(range(4), range(4)):
        columns = story.layers[layer].attention.out_proj.weight[:, 32 * head : 32 * head + 32]
        kept = columns.clone()
        columns.zero_()
        shares = shares_after(story, f"{BEGINNING} his")
        columns.copy_(kept)
        if (layer, head) != (2, 3):
            assert {*likeliest(shares, 2)} == {"home", "house"}
            continue
        assert likeliest(shares, 1) == ["father"]
        home, house, father = (share(of(shares, word)) for word in ("home", "house", "father"))
        assert shows(page, "#predict-head .answer", home, house)
        assert shows(page, "#predict-head .answer", father)
    assert likeliest(shares_after(story, "The good old man saw his"), 1) == ["father"]
    prince = ids_of("The prince put on his")
    on, off = (story(prince, off=heads) for heads in ((), [(2, 3)]))
    assert tokenizer().name(prince[0, on.weights[2][0, 3, -1].argmax()]) == " on"
    with_head, without = (run.logits[0, -1].softmax(-1) for run in (on, off))
    assert likeliest(with_head, 1) == ["head"]
    head = share(of(with_head, "head"), 1), share(of(without, "head"), 1)
    assert shows(page, "#sec-head .after-prediction .answer", "head", *head, "on")
    assert page.select_one("#predict-head")["data-right"] == "3"


@torch.no_grad()
def test_to_hands_on_what_it_took_from_went_and_home(page, story):
    """Its looks at others are cut by a score of minus infinity, in a copy of each attention."""
    ids = ids_of(f"{BEGINNING} his")
    assert [tokenizer().name(i).strip() for i in ids[0, [2, 3, 4, 5, 6]].tolist()] == [
        "old", "man", "went", "home", "to"
    ]  # fmt: skip
    weight = story(ids).weights[1][0, 1, 6]
    assert weight.argmax() == 4
    at_home = story(ids).weights[1][0, 3, 6]
    assert at_home.argmax() == 5
    told = "2", "to", "went", f"{weight[4]:.2f}", "home", f"{at_home[5]:.2f}"
    assert shows(page, "#sec-head .after-prediction", *told)

    def going(*unseen):
        x = story.embedding[ids[0]]
        for n, layer in enumerate(story.layers):
            read, rows = layer.norm(x), layer.attention
            parts = F.linear(read, rows.qkv_proj.weight, rows.qkv_proj.bias)
            query, key, value = (y.view(8, 4, 32).transpose(0, 1) for y in parts.split(128, dim=-1))
            scores = rows.rotary(query) @ rows.rotary(key).mT / 32**0.5
            scores = scores.masked_fill(torch.ones(8, 8).triu(1).bool(), -math.inf)
            if n < 2:
                scores[:, 6, list(unseen)] = -math.inf
            mixed = (scores.softmax(-1) @ value).transpose(0, 1).flatten(1)
            x = x + rows.out_proj(mixed)
            x = x + layer.mlp(x)
        shares = F.linear(story.norm(x[-1]), story.embedding, story.unembedding_bias).softmax(-1)
        return of(shares, "home") + of(shares, "house")

    hidden = (), (4, 5), (2, 3), (4,), (5,)
    all_seen, neither, old, one, other = (going(*some) for some in hidden)
    off = story(ids, off=[(2, 3)]).logits[0, -1].softmax(-1)
    without = of(off, "home") + of(off, "house")
    told = map(share, (all_seen, neither, one, other, without, old))
    assert shows(page, "#sec-up", "to", "went", *told)
    assert without < neither < 0.7 * all_seen < one < other < all_seen
    assert old > 0.95 * all_seen


@torch.no_grad()
def test_the_stream_grows_as_the_text_says(page, story):
    start, *_, end = (rows[0, 7].norm() for rows in story(ids_of(f"{BEGINNING} his")).residual)
    assert shows(page, "#sec-stream", f"{end / start:.0f}")


def test_layer_norm_and_a_unit_by_pencil(page):
    normed = F.layer_norm(torch.tensor([9.0, 3, 3, 1]), (4,))
    copy = [1.67, -0.33, -0.33, -1.0]
    assert normed.tolist() == pytest.approx(copy, abs=0.0051)
    total = normed[0] - normed[3]
    answer, silent = F.gelu(torch.stack((total, -total))).tolist()
    assert [total.item(), answer, silent] == pytest.approx([2.67, 2.66, -0.01], abs=0.0051)
    shown = "9 3 3 1 4 5 -1 -1 -3 25 1 1 9 9 3 1.67 -0.33 -0.33 -1".split()
    assert shows(page, "#sec-stream", *shown)
    assert shows(page, "#sec-unit", *"1.67 0 0 1 2.67 2.67 2.66 -2.67 -0.01".split())
    steps = [numbers(shown) for _, shown in cells(page, "one-unit .fallback")]
    rounded = round(0.3 * answer, 1)
    assert steps == [[9, 3, 3, 1], copy, [2.67], [2.66], [0, rounded, 0, 0], [9, 3 + rounded, 3, 1]]


@torch.no_grad()
def test_a_unit_answers_to_words_that_say_whose_something_is_and_adds_to_mother(page, story):
    """Its answer from the products of its weights; it is silent where zeros are what it adds."""
    mlp, reads, answers = story.layers[1].mlp, [], []
    mlp.register_forward_pre_hook(lambda _, x: reads.append(x[0][0, -1]))
    possessives = "your", "my", "her", "their", "his", "our"
    for word in possessives:
        shares_after(story, f"{BEGINNING} {word}")
        x = F.layer_norm(reads[-1], (128,), mlp[0].weight, mlp[0].bias)
        x = x @ mlp[1].weight[UNIT] + mlp[1].bias[UNIT]
        answers.append(F.gelu(x, approximate="tanh").item())
    assert shows(page, "#sec-read", str(UNIT + 1), "2")
    assert shows(page, "#sec-read .answer", *possessives)
    [[_, *shown]] = cells(page, "unit")
    assert [float(text) for text in shown] == pytest.approx(answers, abs=0.0051)
    assert answers == sorted(answers, reverse=True)

    texts = "The little girl went home to her", f"{BEGINNING} his"
    girl, man = (of(shares_after(story, text), "mother") for text in texts)
    mlp[3].weight[:, UNIT] = 0
    silent_girl, silent_man = (of(shares_after(story, text), "mother") for text in texts)
    told = [share(of_mother, 1) for of_mother in (girl, silent_girl, man, silent_man)]
    assert shows(page, "#sec-read", "2,048", *told)


@torch.no_grad()
def test_the_unit_answers_to_a_token_by_what_stands_before_it(page, story):
    mlp, reads, answers = story.layers[1].mlp, [], []
    mlp.register_forward_pre_hook(lambda _, x: reads.append(x[0][0, -1]))
    for text, pieces in (("The dog saw its", ["it", "s"]), ("The dog saw cats", ["cat", "s"])):
        ids = ids_of(text)
        assert [tokenizer().name(i).strip() for i in ids[0, -2:].tolist()] == pieces
        story(ids)
        x = F.layer_norm(reads[-1], (128,), mlp[0].weight, mlp[0].bias)
        x = x @ mlp[1].weight[UNIT] + mlp[1].bias[UNIT]
        answers.append(F.gelu(x, approximate="tanh").item())
    assert answers[0] > 1 > 0 > answers[1]
    assert shows(page, "#sec-read .answer", "its", *(f"{answer:.2f}" for answer in answers))


def test_the_numbers_of_the_model_add_up(page, story):
    sizes = {name: p.numel() for name, p in story.named_parameters()}
    matrices = [name for name, p in story.named_parameters() if p.ndim == 2]
    table = sizes["embedding"]
    layer = sum(sizes[name] for name in matrices if name.startswith("layers.0."))
    in_matrices, total = sum(map(sizes.get, matrices)), sum(sizes.values())
    assert in_matrices == table + 4 * layer
    rest = total - in_matrices
    told = [f"{n:,}" for n in (table, layer, 4 * layer, in_matrices, rest, total)]
    assert shows(page, "#sec-read", "1,024", "128", *told)


def test_what_the_unit_adds_fits_words_that_follow_such_words(page, story):
    added = story.layers[1].mlp[3].weight[:, UNIT]
    scores = story.embedding @ ((added - added.mean()) * story.norm.weight)
    best = [tokenizer().name(i) for i in scores.topk(4).indices.tolist()]
    assert best == [" own", "self", " mother", " father"]
    own, self, mother, father = (name.strip() for name in best)
    assert shows(page, "#sec-read", own, self, "herself", mother, father)
    for word in ("his", "her"):
        better = (scores > scores[tokenizer().encode(f" {word}")]).sum()
        assert better > len(scores) / 2, f"more than half fit better than {word}"


def test_words_used_alike_have_vectors_alike(page, story):
    near = {}
    for word in ("mother", "went"):
        [token] = tokenizer().encode(f" {word}")
        near[word] = likeliest(F.cosine_similarity(story.embedding, story.embedding[token]), 3)
    assert near["mother"][:2] == ["mother", "father"]
    assert near["went"] == ["went", "ran", "came"]
    assert shows(page, "#sec-down", "mother", "father", "went", "ran", "came")


def test_the_slopes_on_the_way_back(page, story):
    """As autograd finds them for the scores; ours, of 0.5, is multiplied by 3 in one of them."""
    [mother], [house] = (tokenizer().encode(f" {word}") for word in ("mother", "house"))
    scores = story(ids_of(f"{BEGINNING} his")).logits[0, -1].detach().requires_grad_(True)
    F.cross_entropy(scores[None], torch.tensor([mother])).backward()
    slope = scores.grad[mother].item()
    to_score, to_number = f"{slope:.2f}", f"{3 * slope:.2f}"
    assert shows(page, "#sec-up", "0.5", "3", "3")
    assert shows(page, "#sec-up", "-1", "1", f"{slope + 1:.3f}", "1", to_score)
    assert shows(page, "#sec-up", to_score, to_score, "3", to_number)
    moved = f"{0.5 - 0.01 * 3 * slope:.2f}"
    assert shows(page, "#sec-up", "0.5", "0.01", to_number.removeprefix("-"), moved)
    assert shows(page, "#sec-up", "house", f"{scores.grad[house]:.2f}")
    [slopes] = cells(page, "way-back .fallback")
    assert [*map(number, slopes)] == [3, float(to_score), float(to_number)]


@torch.no_grad()
def test_without_places_the_loss_is_larger_and_order_shows_from_the_second_layer_on(page, story):
    """Zeros as the vectors of the places, in the way of other models, are no places at all."""
    blind = Transformer(replace(story.config, positions="learned")).double()
    zeros = {"positions": torch.zeros_like(blind.positions)}
    blind.load_state_dict(story.state_dict() | zeros)
    want = []
    for model in (story, blind):
        losses = []
        for sentence in (ROOT / "modules/start/sentences.txt").read_text("utf-8").splitlines():
            tokens = ids_of(sentence)
            logits = model(tokens[:, :-1]).logits[0]
            losses += F.cross_entropy(logits, tokens[0, 1:], reduction="none")
        one, other = (shares_after(model, text) for text in SWAPPED)
        apart = (one - other).clamp(min=0).sum()  # total variation
        want += [torch.stack(losses).mean().item(), apart.item()]
    assert numbers(output(page, "order")) == pytest.approx(want, abs=0.0051)
    assert want[2] > want[0]
    assert 0 < want[3] < want[1]
    # In the first layer the last word gathers the same mix, whatever the order before it.
    one, other = (blind(ids_of(text)).residual for text in SWAPPED)
    _, first, *later = [(a - b)[0, -1].abs().max() for a, b in zip(one, other, strict=True)]
    assert first < 1e-9
    assert min(later) > 0.01


def test_the_sizes(page, story):
    config = story.config
    assert shows(page, "#sec-down", f"{len(config.vocabulary):,}", f"{config.embed_dim}")
    assert shows(page, "#sec-unit", f"{config.mlp_dim}", f"{config.embed_dim}")
    assert config.num_heads == (4,) * 4
    assert shows(page, "#sec-stream", f"{config.embed_dim // 4}", f"{config.embed_dim}")
