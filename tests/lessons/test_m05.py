"""m05: its sentences against numbers computed here."""

import re

import pytest
import torch
import torch.nn.functional as F

from tests.lessons.m05_numbers import CAUSAL, W_K, W_Q, W_V, X
from tests.lessons.reading import numbers, output

PAGE = "modules/m05_masks/lesson.html"


def test_hiding_keys_scales_the_others_alike(page):
    """The prediction's answer, with the weights of *sat* by PyTorch's softmax."""
    scores = (X @ W_Q @ (X @ W_K).T / 2**0.5)[2]
    everyone, causal = scores.softmax(-1), scores[:3].softmax(-1)
    lines = [numbers(line.split(":")[1]) for line in output(page, "ratios").splitlines()]
    assert lines[0] == pytest.approx(everyone.tolist(), abs=5e-4)
    assert lines[1] == pytest.approx([*causal.tolist(), 0, 0, 0], abs=5e-4)
    assert len(set(lines[2])) == 1
    assert lines[2][0] == pytest.approx((causal / everyone[:3])[0].item(), abs=1e-6)


def test_a_changed_future_leaves_the_past(page):
    """F27, in the page's cell; and here, for each word that changes, by another formula."""
    causal, everyone = (
        re.findall("True|False", line) for line in output(page, "leak").splitlines()
    )
    assert causal == ["True"] * 5 + ["False"]
    assert everyone == ["False"] * 6

    def attend(x):
        q, k, v = (t[None] for t in (x @ W_Q, x @ W_K, x @ W_V))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=CAUSAL)[0]

    for word in range(6):
        changed = X.clone()
        changed[word] += 1
        same = [torch.equal(a, b) for a, b in zip(attend(X), attend(changed), strict=True)]
        assert same[:word] == [True] * word
        assert not same[word]


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


@pytest.mark.parametrize("label", ["fig-reversal", "fig-phrases"])
def test_the_trained_maps_say_so(page, label):
    assert page.select_one(f"#{label} .source").get_text() == "trained"


def test_the_answers_of_check_it():
    assert int(CAUSAL.sum()) == 21
    scores = torch.randn(6, 6).double()
    hidden = [
        (s.masked_fill(~CAUSAL, -torch.inf).softmax(-1))[~CAUSAL] for s in (scores, 2 * scores)
    ]
    assert all((weights == 0).all() for weights in hidden)
