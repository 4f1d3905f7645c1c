"""The small figures of the tour's steps: every number is PyTorch's."""

import re

import pytest
import torch
from playwright.sync_api import expect

from attention import scaled_dot_product_attention
from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT
from tests.site.conftest import TOUR
from tests.site.reading import assert_shows, number, settle

TOKENS = ["The", "cat", "sat"]
X = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]], dtype=torch.float64)
TABLES = {
    "query": [[1, 0.5], [-0.5, 2], [2, 1], [0.5, 0]],
    "key": [[0, 1], [1.5, 0], [0.5, 1], [0.5, 0.5]],
    "value": [[-1, 1], [1, 0.5], [0.5, 1.5], [1, 0]],
}
WORDS = "the cat sat on the mat because it was".split()
ENDINGS = ["tired", "warm"]
HEADS = [*(f"layer 0, head {h}" for h in range(4)), "layer 1, head 0", "layer 1, head 1"]
IT_HEAD = 4
READ = """(root) => Object.fromEntries([...root.querySelectorAll("table.matrix")].map((table) =>
  [table.classList[1], [...table.querySelectorAll("tbody tr")].map((tr) =>
    [...tr.querySelectorAll("td")].map((td) => td.textContent))]))"""


def at(step, **see):
    return f"{TOUR}?tour.step={step}" + "".join(f"&see.{k}={v}" for k, v in see.items())


def texts(page, selector):
    settle(page)
    return page.locator(selector).all_inner_texts()


# ---- Its figures: three words --------------------------------------------------------------------


def exact(causal):
    q, k, v = (X @ torch.tensor(table, dtype=torch.float64) for table in TABLES.values())
    output, weights = scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.T
    scaled = scores / 2**0.5
    masked = scaled.masked_fill(torch.ones(3, 3).triu(1).bool() & causal, -torch.inf)
    return {"features": X, "query": q, "key": k, "value": v, "scores": scores, "scaled": scaled,
            "masked": masked, "weights": weights, "output": output}  # fmt: skip


def assert_tables(page, widget, names, *, causal=False):
    settle(page)
    found = page.locator(widget).evaluate(READ)
    assert list(found) == names
    for name in names:
        for row, wanted in zip(found[name], exact(causal)[name].tolist(), strict=True):
            for text, want in zip(row, wanted, strict=True):
                if want == -torch.inf:
                    assert text == "−∞"
                else:
                    assert_shows(text, want, name)


@pytest.mark.parametrize("word", range(3))
def test_the_three_words(open_page, word):
    with open_page(f"{at(1, word=word, key=0)}&tour.all=1") as page:
        want, token = exact(causal=False), TOKENS[word]
        assert_tables(page, "#tour-roles", ["features", "query", "key", "value"])
        assert_tables(page, "#tour-scores", ["scores", "scaled"])
        assert_tables(page, "#tour-softmax", ["weights", "output"])
        says = {step: page.locator(f"#tour-{step} .says").text_content()
                for step in ("roles", "scores", "softmax")}  # fmt: skip
    numbers = {s: [number(x) for x in re.findall(r"[−-]?\d+\.\d+", t)] for s, t in says.items()}
    vectors = [x for name in TABLES for x in want[name][word].tolist()]
    assert numbers["roles"] == pytest.approx(vectors, abs=0.0051)
    q, k = want["query"][word].tolist(), want["key"][0].tolist()
    score, scaled = want["scores"][word, 0].item(), want["scaled"][word].tolist()
    pairs = [q[0], k[0], q[1], k[1], score, scaled[0]]
    assert says["scores"].startswith(f"{token} asks The:")
    assert numbers["scores"] == pytest.approx(pairs, abs=0.0051)
    e, weights = want["scaled"][word].exp(), want["weights"][word]
    parts = [scaled[0], *scaled, e[0].item(), e.sum().item(), weights[0].item()]
    assert numbers["softmax"][:7] == pytest.approx(parts, abs=0.051)
    assert numbers["softmax"][-2:] == pytest.approx(want["output"][word].tolist(), abs=0.0051)


def test_a_cell_is_chosen_by_mouse_and_by_keyboard_and_stays_from_step_to_step(open_page):
    with open_page(at(3)) as page:
        page.locator("#tour-scores table.scores td").nth(3).click()  # cat asks The
        settle(page)
        assert "cat asks The: " in page.locator("#tour-scores .says").text_content()
        page.keyboard.press("ArrowDown")
        settle(page)
        assert "sat asks The: " in page.locator("#tour-scores .says").text_content()
        page.locator(".tour-pager .next").click()
        assert "sat gives The: " in page.locator("#tour-softmax .says").text_content()
        page.wait_for_url("**see.key=0**")
        page.locator("#tour-softmax table.output td").nth(1).click()  # a word, no key
        settle(page)
        assert "The gives The: " in page.locator("#tour-softmax .says").text_content()


def test_the_mask(open_page):
    with open_page(at(6)) as page:
        assert_tables(page, "#tour-mask", ["masked", "weights"], causal=True)
        page.locator("#tour-mask table.weights td").first.click()
        assert texts(page, "#tour-mask .says") == ["The shares its attention among: The."]
        page.get_by_label("Causal mask", exact=True).uncheck()
        assert_tables(page, "#tour-mask", ["masked", "weights"], causal=False)
        assert texts(page, "#tour-mask .says") == ["The shares its attention among: The, cat, sat."]


def test_the_lines_of_the_code(open_page):
    with open_page(at(7)) as page:
        lines = page.locator("#code pre, #cell-code pre").inner_text().strip().splitlines()[1:]
        for i, made in enumerate(["scores", "scaled", "masked", "weights", "output"]):
            page.locator("#tour-code").get_by_label("Line", exact=True).select_option(index=i)
            assert_tables(page, "#tour-code", [made], causal=True)
            assert lines[i].strip().startswith("return" if made == "output" else f"{made} =")


# ---- Its figures: the sentence -------------------------------------------------------------------


@pytest.fixture(scope="module")
def maps():
    """(last word, untrained) -> (heads, words, words), those of layer 0 first."""
    trained = load(ROOT / "models/grammar/weights/masked.safetensors")
    torch.manual_seed(0)
    models = {False: trained, True: Transformer(trained.config).eval()}
    with torch.no_grad():
        return {
            (end, untrained): torch.cat(model(model.encode([*WORDS, end])).weights, dim=1)[
                0
            ].double()
            for end in ENDINGS
            for untrained, model in models.items()
        }


def assert_shares(page, widget, want):
    for text, share in zip(texts(page, f"{widget} .share"), want.tolist(), strict=True):
        assert_shows(text, share, widget)


def test_where_it_looks(open_page, maps):
    with open_page(TOUR) as page:
        for i, (end, noun) in enumerate(zip(ENDINGS, ("cat", "mat"), strict=True)):
            page.get_by_label("… because it was", exact=True).select_option(index=i)
            want = maps[end, False][IT_HEAD, 7]
            assert_shares(page, "#tour-why", want)
            assert texts(page, "#tour-why .token") == [*WORDS, end]
            assert [*WORDS, end][want.argmax()] == noun


@pytest.mark.parametrize("ending", [0, 1])
def test_the_heads(open_page, maps, ending):
    with open_page(at(5, ending=ending)) as page:
        words, heads = [*WORDS, ENDINGS[ending]], maps[ENDINGS[ending], False]
        for row in range(10):
            page.get_by_label("From word", exact=True).select_option(index=row)
            assert texts(page, "#tour-heads .maps b") == HEADS
            shows = texts(page, "#tour-heads .most")
            for text, look in zip(shows, heads[:, row], strict=True):
                word, share = text.split()
                assert word == words[look.argmax()]
                assert_shows(share, look.max().item(), f"row {row}")


@pytest.mark.parametrize("untrained", [False, True], ids=["trained", "random"])
def test_patterns(open_page, maps, untrained):
    with open_page(at(8)) as page:
        page.get_by_label("Before training", exact=True).set_checked(untrained)
        for head in range(len(HEADS)):
            page.locator("#tour-patterns").get_by_label("Head", exact=True).select_option(
                index=head
            )
            for row in (0, 7, 9):
                page.locator("#tour-patterns").get_by_label("Word", exact=True).select_option(
                    index=row
                )
                assert_shares(page, "#tour-patterns", maps["tired", untrained][head, row])
        source = "random" if untrained else "trained"
        asks = page.locator("#tour-patterns .asks")
        expect(asks.locator(".source")).to_have_text(source)
        said = page.locator("#tour-patterns .summary").text_content()
        assert said.startswith(f"{HEADS[-1]}, {source}: tired looks at the ")
        box = page.locator("#tour-patterns .labelled-map .weight-map").bounding_box()
        page.mouse.click(box["x"] + 20, box["y"] + 2.5 / 10 * box["height"])
        settle(page)
        expect(asks).to_contain_text("“sat” looks at")
