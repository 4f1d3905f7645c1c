"""The tour's figures on the page: what a reader presses is what they show, from step to step.

tests/widgets has the other numbers.
"""

import math

import torch
from playwright.sync_api import expect

from tests.site.conftest import TOUR
from tests.site.settling import assert_shows, settle
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.truth_tour_figures import ENDINGS, GAP, LIONS, exact, fillings, maps

READ = """(root) => Object.fromEntries([...root.querySelectorAll("table.matrix")].map((table) =>
  [table.classList[1], [...table.querySelectorAll("tbody td")].map((td) => td.textContent)]))"""


def texts(page, selector):
    settle(page)
    return page.locator(selector).all_inner_texts()


def assert_looks(page, widget, want):
    for text, share in zip(texts(page, f"{widget} .share"), want.tolist(), strict=True):
        assert_shows(text, share, widget)


def test_a_cell_is_chosen_by_mouse_and_by_keyboard_and_stays_from_step_to_step(open_page):
    with open_page(f"{TOUR}?tour.step=3") as page:
        scores, softmax = (
            page.locator(f"#tour-{step} .sentence") for step in ("scores", "softmax")
        )
        page.locator("#tour-scores table.scores td").nth(3).click()
        expect(scores).to_contain_text("cat asks The: ")
        page.keyboard.press("ArrowDown")
        page.locator(".tour-pager .next").click()
        expect(softmax).to_contain_text("sat gives The: ")
        page.locator("#tour-softmax table.output td").nth(1).click()  # a word, no key
        expect(softmax).to_contain_text("The gives The: ")
        page.locator("#tour-softmax").get_by_label("mat", exact=True).check()
        page.locator(".tour-strip li a").nth(2).click()
        for table, cell, says in (("key", 4, "The asks sat: "), ("query", 3, "mat asks sat: ")):
            page.locator(f"#tour-scores table.{table} td").nth(cell).click()
            expect(scores, "the mat in the cat's place").to_contain_text(says)


def test_what_is_pressed_is_what_the_figures_show(open_page):
    with open_page(f"{TOUR}?tour.all=1") as page:
        page.get_by_role("combobox", name="… because it was").select_option(index=1)
        assert_looks(page, "#tour-why", maps()[ENDINGS[1], "trained"][4, 7])
        page.get_by_role("combobox", name="From word").select_option(index=9)
        widget = page.locator("#tour-heads")
        widget.locator(".maps button").nth(2).click()
        settle(page)
        heads = maps()[ENDINGS[0], "trained"]
        shades = torch.tensor(widget.evaluate(SHADES), dtype=torch.float64)
        want = torch.cat([heads, heads[2:3]])  # and the third large
        torch.testing.assert_close(shades, want, rtol=0, atol=SHADE_STEP)
        page.get_by_label("Before training", exact=True).check()
        assert_looks(page, "#tour-heads", maps()[ENDINGS[0], "random"][2, 9])
        large = widget.locator(".labelled-map .weight-map")
        large.click(position={"x": 20, "y": 2.5 / 10 * large.bounding_box()["height"]})
        expect(widget.locator(".asks")).to_contain_text("“sat”")

        for is_causal in (False, True):  # the mask hides later words
            page.get_by_label("Causal mask", exact=True).set_checked(is_causal)
            settle(page)
            want = exact(is_causal=is_causal)
            for name, cells in page.locator("#tour-mask").evaluate(READ).items():
                for text, number in zip(cells, want[name].flatten().tolist(), strict=True):
                    if number == -math.inf:
                        assert text == "−∞"
                    else:
                        assert_shows(text, number, name)

        widget = page.locator("#tour-patterns")
        widget.locator("fieldset").first.locator("input").nth(1).check()
        for head in (5, 3):
            widget.locator(".maps button").nth(head).click()
            for label, run in (("on", 0), ("off", head + 1)):
                widget.get_by_label(label, exact=True).check()
                heads, chances = fillings(LIONS[1])[run]
                best = max(chances, key=chances.get)
                assert texts(page, "#tour-patterns .fills .token")[0] == best
                assert_shows(texts(page, "#tour-patterns .fills .share")[0], chances[best], label)
                assert_looks(page, "#tour-patterns .pattern", heads[head, GAP])
