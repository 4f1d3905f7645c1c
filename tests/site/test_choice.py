"""m15's widgets in the browser: a task at a time, beside what it needs, and a length to find."""

import pytest

from tests.site.settling import settle

PAGE = "modules/m15_sparse_attention/lesson.html"
GOALS = ["window-is-right", "fewest", "overlooked"]


def seen(page):
    return [name for name in GOALS if page.locator(f"#goal-{name}").is_visible()]


def press(page, key, times):
    for _ in range(times):
        page.keyboard.press(key)


def test_the_next_task_appears_when_one_is_solved_and_nothing_moves(open_page):
    with open_page(PAGE) as page:
        looks = page.locator(".token-choice input[type=range]")
        top = "(e) => e.getBoundingClientRect().top + scrollY"
        place = looks.evaluate(top)
        assert seen(page) == GOALS[:1]
        looks.focus()
        press(page, "ArrowRight", 24 - 8)
        assert seen(page) == GOALS[1:2]
        page.locator(".token-choice").get_by_label("the cheap score").check()
        looks.focus()
        press(page, "ArrowLeft", 24 - 2)
        assert seen(page) == GOALS[2:]
        page.locator(".token-choice select").select_option("Eve")
        looks.focus()
        press(page, "ArrowRight", 2)
        assert page.locator("#goal-overlooked.met").is_visible()
        assert looks.evaluate(top) == place


def test_task_controls_readouts_and_tokens_are_on_one_screen(open_page):
    with open_page(PAGE, width=1280) as page:
        settle(page)
        parts = [
            page.locator(part).first.bounding_box()
            for part in (
                ".challenges[data-for=token-choice]", ".token-choice .widget-controls",
                ".token-choice dl", ".token-choice .tokens",
            )
        ]  # fmt: skip
        tops, bottoms = ([p["y"] + end * p["height"] for p in parts] for end in (0, 1))
        assert max(bottoms) - min(tops) < 800


@pytest.mark.parametrize("width", [1280, 390])
def test_the_length_that_costs_the_same_is_found_by_dragging_and_by_keys(open_page, width):
    with open_page(PAGE, width=width) as page:
        slider, told = (
            page.locator(f".choice-savings {part}") for part in ("input[type=range]", ".length b")
        )
        slider.scroll_into_view_if_needed()
        settle(page)
        box = slider.bounding_box()
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.77, y)
        page.mouse.down()
        lengths = []
        for x in range(int(box["width"] * 0.77), 0, -8):
            page.mouse.move(box["x"] + x, y)
            lengths.append(told.inner_text())
        page.mouse.up()
        assert "2,304" in lengths
        assert page.locator("#goal-even.met").count() == 1
        slider.focus()
        press(page, "Home", 1)
        press(page, "ArrowRight", 4)
        assert told.inner_text() == "2,304"
        assert "the same" in page.locator(".choice-savings .work strong").inner_text()
