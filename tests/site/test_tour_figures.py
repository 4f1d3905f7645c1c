"""The tour's figures on the page: PyTorch's numbers, and what stays from step to step."""

import torch
from playwright.sync_api import expect

from tests.site.conftest import TOUR
from tests.site.settling import assert_shows, settle
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.truth_tour_figures import (
    ENDINGS,
    GAP,
    LIONS,
    NAMES,
    OF_MAT,
    QKV,
    WORDS,
    exact,
    fillings,
    maps,
)

TOKENS = ["The", "cat", "sat"]
READ = """(root) => Object.fromEntries([...root.querySelectorAll("table.matrix")].map((table) =>
  [table.classList[1], [...table.querySelectorAll("tbody tr")].map((tr) =>
    [...tr.querySelectorAll("td")].map((td) => td.textContent))]))"""


def texts(page, selector):
    settle(page)
    return page.locator(selector).all_inner_texts()


def assert_tables(page, widget, names, *, is_causal=False, of=QKV):
    settle(page)
    tables = page.locator(widget).evaluate(READ)
    assert list(tables) == names
    for name in names:
        texts = [text for row in tables[name] for text in row]
        wanted = exact(is_causal=is_causal, of=of)[name].flatten()
        for text, want in zip(texts, wanted, strict=True):
            if want == -torch.inf:
                assert text == "−∞"
            else:
                assert_shows(text, want.item(), name)


def test_the_numbers_on_the_page(open_page):
    with open_page(f"{TOUR}?tour.all=1") as page:
        mask = page.locator("#tour-mask")
        mask.locator("table.weights td").first.click()
        free = exact(is_causal=False)["weights"][0].tolist()
        words = [f"{word} {weight:.2f}" for word, weight in zip(TOKENS, free, strict=True)]
        for is_causal, seen in [(True, "The 1.00."), (False, f"{', '.join(words)}.")]:
            page.get_by_label("Causal mask", exact=True).set_checked(is_causal)
            assert_tables(page, "#tour-mask", ["masked", "weights"], is_causal=is_causal)
            expect(mask.locator(".sentence")).to_have_text(f"The spreads its weight over: {seen}")


def test_a_cell_is_chosen_by_mouse_and_by_keyboard_and_stays_from_step_to_step(open_page):
    with open_page(f"{TOUR}?tour.step=3") as page:
        page.locator("#tour-scores table.scores td").nth(3).click()  # cat asks The
        settle(page)
        assert "cat asks The: " in page.locator("#tour-scores .sentence").text_content()
        page.keyboard.press("ArrowDown")
        settle(page)
        assert "sat asks The: " in page.locator("#tour-scores .sentence").text_content()
        page.locator(".tour-pager .next").click()
        assert "sat gives The: " in page.locator("#tour-softmax .sentence").text_content()
        page.wait_for_url("**see.key=0**")
        page.locator("#tour-softmax table.output td").nth(1).click()  # a word, no key
        settle(page)
        assert "The gives The: " in page.locator("#tour-softmax .sentence").text_content()


def test_the_mat_takes_the_cat_s_place_in_both_steps(open_page):
    scores, softmax = "#tour-scores", "#tour-softmax"
    with open_page(f"{TOUR}?tour.all=1") as page:
        for widget, noun, of in [(scores, "mat", OF_MAT), (softmax, "cat", QKV)]:
            page.locator(widget).get_by_label(noun, exact=True).check()
            assert_tables(page, scores, ["query", "key", "scores", "scaled"], of=of)
            assert_tables(page, softmax, ["scaled", "weights", "value", "output"], of=of)
            for one in (scores, softmax):
                assert noun in page.locator(f"{one} .sentence").text_content()
        page.locator("#tour-scores table.key td").nth(4).click()  # sat, as one that is asked
        settle(page)
        assert "sat asks sat: " in page.locator("#tour-scores .sentence").text_content()
        page.locator("#tour-scores table.query td").nth(3).click()
        settle(page)
        assert "cat asks sat: " in page.locator("#tour-scores .sentence").text_content()


def test_a_head_is_switched_off(open_page):
    with open_page(f"{TOUR}?tour.step=8") as page:
        widget = page.locator("#tour-patterns")
        for plural, verb in [(0, "is"), (1, "are")]:
            widget.locator("fieldset").first.locator("input").nth(plural).check()
            for head in (5, 3):
                widget.locator(".maps button").nth(head).click()
                for label, which in [("on", 0), ("off", head + 1)]:
                    widget.get_by_label(label, exact=True).check()
                    heads, chances = fillings(LIONS[plural])[which]
                    best = max(chances, key=chances.get)
                    assert which or best == verb
                    assert texts(page, "#tour-patterns .fills .token")[0] == best
                    shown = texts(page, "#tour-patterns .fills .share")[0]
                    assert_shows(shown, chances[best], f"{label}, head {head}")
                    shades = torch.tensor(widget.evaluate(SHADES), dtype=torch.float64)
                    assert (shades[:6] - heads).abs().max() <= SHADE_STEP
                    assert (shades[6] - heads[head]).abs().max() <= SHADE_STEP
                    assert_shares(page, "#tour-patterns .pattern", heads[head, GAP])
                    changed = texts(page, "#tour-patterns .most .changed")
                    assert len(changed) == (2 if which == 4 else 0)


def assert_shares(page, widget, want):
    for text, share in zip(texts(page, f"{widget} .share"), want.tolist(), strict=True):
        assert_shows(text, share, widget)


def test_where_the_words_look(open_page):
    with open_page(f"{TOUR}?tour.all=1") as page:
        page.get_by_role("combobox", name="… because it was").select_option(index=1)
        page.get_by_role("combobox", name="From word").select_option(index=9)
        assert_shares(page, "#tour-why", maps()["warm", "trained"][4, 7])
        assert texts(page, "#tour-why .token") == [*WORDS, ENDINGS[1]]
        words, heads = [*WORDS, ENDINGS[0]], maps()["tired", "trained"]
        assert texts(page, "#tour-heads .maps b") == NAMES
        most = [text.split()[0] for text in texts(page, "#tour-heads .most")]
        assert most == [words[i] for i in heads[:, 9].argmax(-1)]
        heads_of = page.locator("#tour-heads")
        heads_of.locator(".maps button").nth(2).click()
        settle(page)
        shades = torch.tensor(heads_of.evaluate(SHADES), dtype=torch.float64)
        assert (shades[:6] - heads).abs().max() <= SHADE_STEP
        assert (shades[6] - heads[2]).abs().max() <= SHADE_STEP  # the pressed one, large
        page.get_by_label("Before training", exact=True).check()
        assert_shares(page, "#tour-heads", maps()["tired", "random"][2, 9])
        expect(heads_of.locator(".asks")).to_have_text("“tired” looks at random")
        large = heads_of.locator(".labelled-map .weight-map")
        large.click(position={"x": 20, "y": 2.5 / 10 * large.bounding_box()["height"]})
        expect(heads_of.locator(".asks")).to_contain_text("“sat” looks at")
