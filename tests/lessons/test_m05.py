"""m05: its sentences against numbers computed here."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from models.alignment.data import is_held_out
from models.alignment.model import trained
from tests.lessons.m05_numbers import CAUSAL, W_K, W_Q, W_V, X
from tests.lessons.reading import numbers, output

PAGE = "modules/m05_masks/lesson.html"
COPYING = json.loads(
    (Path(__file__).parents[2] / "modules/m05_masks/copying.json").read_text(encoding="utf-8")
)


def test_full_marks_are_copied(page):
    """Every guess right in every seed, words drawn by lot included; and nothing to say alone."""
    marks, *writes = output(page, "full-marks").splitlines()
    assert numbers(marks) == [100]
    said = " ".join(page.select_one("#sec-full-marks").get_text().split())
    word, share = COPYING["commonest"]
    hidden = COPYING["sentences, everything"]["0"]["hidden"]
    assert f"hidden it guesses {hidden:.1%} right" in said
    assert f"always says {word} ({share:.1%})" in said
    assert writes == COPYING["sentences, everything"]["0"]["writes"]
    assert writes[0] in page.select_one("#predict-full-marks").get_text()
    lines = output(page, "marks").splitlines()
    kinds = [(kind, sees) for kind in ("sentences", "drawn by lot")
             for sees in ("everything", "only back")]  # fmt: skip
    for line, (kind, sees) in zip(lines, kinds, strict=False):
        want = [seed["right"] for seed in COPYING[f"{kind}, {sees}"].values()]
        assert len(want) == 3
        assert numbers(line) == pytest.approx([100 * share for share in want], abs=0.051)
        if sees == "everything":
            assert min(want) == 1
        else:
            assert max(want) < (0.56 if kind == "sentences" else 0.01)
    for seed in COPYING["sentences, everything"].values():
        weights = torch.tensor(seed["map"])
        assert weights.diagonal(1).min() > 0.8  # "each word looks one place ahead"
        assert seed["hidden"] < 0.25
    for seed in COPYING["sentences, only back"].values():
        assert (torch.tensor(seed["map"]).triu(1) == 0).all()
        assert seed["hidden"] == seed["right"] > 0.5


def test_hardly_more_than_half_can_be_known(page):
    """108 words after *the*, and what a larger model, trained for longer, gets right."""
    from models.weights import load
    from modules.m05_masks import copying

    made = copying.texts("sentences", 1, 2000)
    after_the = {b for text in made for a, b in pairwise(text) if a == "the"}
    larger = load("models/grammar/weights/causal.safetensors")
    share = copying.share_right(larger, copying.to_tokens(made))
    said = page.select_one("#sec-full-marks").get_text()
    assert f"{len(after_the)} different words follow the" in " ".join(said.split())
    assert f"gets only {share:.0%}" in said
    for seed in COPYING["sentences, only back"].values():
        assert seed["right"] < share < seed["right"] + 0.05


@pytest.mark.slow
def test_training_again_learns_to_copy_words_drawn_by_lot():
    from modules.m05_masks import copying

    tokens = copying.to_tokens(copying.texts("drawn by lot", 0, 2000))
    model = copying.train(tokens, 0, is_causal=False, steps=150)
    tests = copying.to_tokens(copying.texts("drawn by lot", 1, 100))
    assert copying.share_right(model, tests) > 0.9
    assert copying.share_right(model, tests, hide=True) < 0.05


def test_a_hidden_infinity_leaks(page):
    assert "nan" in output(page, "leak-limit")


def test_hiding_keys_scales_the_others_alike(page):
    """The prediction's answer, with the weights of *sat* by PyTorch's softmax."""
    scores = (X @ W_Q @ (X @ W_K).T / 2**0.5)[2]
    everyone, causal = scores.softmax(-1), scores[:3].softmax(-1)
    lines = [numbers(line.split(":")[1]) for line in output(page, "ratios").splitlines()]
    assert lines[0] == pytest.approx(everyone.tolist(), abs=5e-4)
    assert lines[1] == pytest.approx([*causal.tolist(), 0, 0, 0], abs=5e-4)
    assert len(set(lines[2])) == 1
    assert lines[2][0] == pytest.approx((causal / everyone[:3])[0].item(), abs=1e-6)
    hidden = everyone[3:].sum().item()  # "had 0.25", "divided by 0.75"
    assert hidden == pytest.approx(0.25, abs=0.005)
    assert lines[2][0] == pytest.approx(1 / (1 - hidden))


def test_a_changed_future_leaves_the_past(page):
    """F27, in the page's cell; and here, for each word that changes, by another formula."""
    causal, everyone = (
        re.findall("True|False", line) for line in output(page, "leak").splitlines()
    )
    assert causal == ["False"] * 5
    assert everyone == ["True"] * 5

    def attend(x):
        q, k, v = (t[None] for t in (x @ W_Q, x @ W_K, x @ W_V))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=CAUSAL)[0]

    for word in range(6):
        changed = X.clone()
        changed[word] += 1
        same = [torch.equal(a, b) for a, b in zip(attend(X), attend(changed), strict=True)]
        assert same[:word] == [True] * word
        assert not same[word]


def test_changing_each_word_finds_every_open_cell():
    """One cell above the diagonal at a time; changing the last word alone finds a third of them."""

    def attend(x, mask):
        return F.scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, attn_mask=mask)

    found, by_the_last = 0, 0
    for row, column in torch.triu_indices(6, 6, 1).T.tolist():
        mask = CAUSAL.clone()
        mask[row, column] = True
        leaks = []
        for word in range(1, 6):
            changed = X.clone()
            changed[word] += 1
            leaks.append(not torch.equal(attend(X, mask)[:word], attend(changed, mask)[:word]))
        found += any(leaks)
        by_the_last += leaks[-1]
    assert (found, by_the_last) == (15, 5)


def test_the_three_conventions_agree_with_the_course_s_layer(page):
    lines = output(page, "dialects").splitlines()
    gaps = [numbers(line.split(" by ")[1])[0] for line in lines]
    assert len(gaps) == 3
    assert max(gaps) < 1e-6


def test_untranslated_masks_go_wrong_as_the_text_says(page):
    first, last, added = (line.split(":")[1] for line in output(page, "mistakes").splitlines())
    assert numbers(first)[0] == 0
    assert min(numbers(first)[1:]) > 0, "the first word looks only ahead"
    assert last.split("[")[1].rstrip("]").split() == ["nan"] * 6
    assert min(numbers(added)) > 0, "floats of 0 and 1 hide nothing"


def test_pytorch_aligns_the_starts(page):
    theirs, ours = (numbers(line.split(":")[1]) for line in output(page, "ends").splitlines())
    assert theirs == [1, 0, 0, 0]
    assert ours == [0.25] * 4


def test_the_wrong_shape_hides_by_head(page):
    right, wrong, *errors = output(page, "pitfalls").splitlines()
    assert numbers(right.split(":")[1]) == [0, 0]
    on_first_head, on_second = numbers(wrong.split(":")[1])
    assert on_first_head > 0
    assert on_second == 0
    assert "for sequences mask[:, None], for heads mask[None]" in errors[0]
    assert "doesn't broadcast" in errors[1]
    assert "device differs" in errors[2]


def test_the_bug_hunt_s_check_fails(page):
    assert "look at blanks" in output(page, "bug-check")


def test_the_map_of_the_phrases_is_not_square_and_follows_the_words(page):
    english = "our slow cats don't want these red horseshoes [end]".split()
    french = "nos chats lents ne veulent pas ces fers à cheval rouges [end]".split()
    model = trained("phrases")
    assert model.translate([english], 12) == [french]
    weights = model.weights(english, french)
    assert weights.shape == (12, 9)
    assert weights.argmax(-1).tolist() == [0, 2, 1, 3, 4, 3, 5, 7, 7, 7, 6, 8]
    assert is_held_out("slow", "cats")
    assert is_held_out("red", "horseshoes")
    said = page.select_one("#predict-cross").get_text()
    assert all(" ".join(words[:2]) in said for words in (english, french))
    lines = output(page, "scores").splitlines()
    assert [numbers(line) for line in lines][1][0] > 97


@pytest.mark.parametrize("label", ["figure-copying", "figure-reversal", "figure-phrases"])
def test_the_trained_maps_say_so(page, label):
    assert page.select_one(f"#{label} .source").get_text() == "trained"


def test_the_answers_of_check_it():
    assert int(CAUSAL.sum()) == 21
    model = trained("phrases")
    english = ["the"] * 9
    assert model.weights(english, ["les"] * 5).shape == (5, 9)
    scores = torch.tensor([0.5, 0.3, 0.2]).log()
    assert scores.softmax(-1).tolist() == pytest.approx([0.5, 0.3, 0.2])
    scores[0] = -torch.inf
    assert scores.softmax(-1).tolist() == pytest.approx([0, 0.6, 0.4])
