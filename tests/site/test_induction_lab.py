"""m08's lab: checkpoints come at the first touch of the slider, and what it shows is PyTorch's."""

import re

import torch
from playwright.sync_api import expect

from course.payloads.induction_lab import read
from tests.numbers import number
from tests.site.settling import settle
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.truth_induction_lab import DEFAULT, HEADS, STEPS, THREE, checkpoint

PAGE = "modules/m08_patterns/lesson.html"
LAB = "#induction-lab .widget-live"
FILE = re.compile(r"two-layers-\d+\.safetensors")


def texts(page, selector):
    return page.locator(f"{LAB} {selector}").all_inner_texts()


def slide_to(page, index):
    page.locator(f"{LAB} .step-slider input").fill(str(index))
    settle(page)
    expect(page.locator(f"{LAB} .read")).not_to_have_class(re.compile("waiting"))


def assert_shows(page, index, text, at, off=()):
    """The maps and the guess of a checkpoint; tests/widgets has the other numbers."""
    want = read(checkpoint(index), text, tuple(HEADS[i] for i in off))
    shades = page.locator(LAB).evaluate(SHADES)
    for drawn, weights in zip(shades, want["maps"], strict=True):
        assert (torch.tensor(drawn).double() - weights).abs().max() <= SHADE_STEP + 1e-4
    for shown, (_, share) in zip(texts(page, ".guess .share"), want["guesses"][at], strict=True):
        assert abs(number(shown.rstrip("\u202f%")) / 100 - share) < 0.00511


def test_the_slider_fetches_all_checkpoints_once_and_the_lab_shows_pytorch_s_numbers(open_page):
    with open_page(PAGE) as page:
        files = []
        page.on("request", lambda r: FILE.search(r.url) and files.append(FILE.search(r.url)[0]))
        page.locator(f"{LAB} .signs button").nth(16).click()
        page.wait_for_timeout(300)
        assert not files, "looking around needs no checkpoint"
        for index in [*THREE, THREE[1]]:
            slide_to(page, index)
        expect(page.locator(f"{LAB} .status")).to_have_text("")
        assert sorted(files) == [f"two-layers-{step:04}.safetensors" for step in STEPS]
        page.locator(f"{LAB} .head input").nth(1).click()
        settle(page)
        assert_shows(page, THREE[1], DEFAULT, 16, off=[1])
        page.locator(f"{LAB} .head input").nth(1).press("Space")
        own = "the cat sat. the cat"
        page.locator(f"{LAB} textarea").fill(own.upper())
        settle(page)
        assert "".join(texts(page, ".signs button")).replace("␣", " ") == own
        assert_shows(page, THREE[1], own, 16)


def test_checkpoints_that_fail_to_come_are_said_and_tried_again(visit, served):
    with visit(served) as (page, _):
        page.route(FILE, lambda route: route.abort())
        page.goto(served + PAGE)
        page.wait_for_selector(f"{LAB} .sentence", state="attached")
        slider = page.locator(f"{LAB} .step-slider input")
        slider.fill("8")
        expect(page.locator(f"{LAB} .status.problem")).to_contain_text("can't be fetched")
        assert "".join(texts(page, ".signs button")) == DEFAULT, "the last reading stays"
        page.unroute(FILE)
        slider.fill("7")
        expect(page.locator(f"{LAB} .status")).to_have_text("")
        assert_shows(page, 7, DEFAULT, 15)
