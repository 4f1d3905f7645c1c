"""The playground in a browser: it trains, stops, goes back, and is the same again.

tests/models/test_playground_js.py has its numbers.
"""

import re

import pytest
from playwright.sync_api import expect

from course.payloads.playground import scores
from tests.site.gestures import go_to
from tests.site.settling import drawn

PAGE = "playground.html"
SMALL = "play.task=previous"  # a step takes some milliseconds
VALUE = "document.querySelector('#playground .widget-live').value"
READ = f"""() => !{VALUE}.isAwaited
  && {VALUE}.sides.every(({{isRead, worth, step}}) => isRead && (worth || !step))"""
WAIT = 60_000  # ms: a busy machine trains slowly


def part(page, selector):
    return page.locator(f"#playground {selector}")


def button(page, name):
    return page.locator("#playground").get_by_role("button", name=name, exact=True)


def value(page, name):
    return page.evaluate(f"{VALUE}.{name}")


def layers(page, count):
    fieldset = part(page, "fieldset").filter(has_text="Layers")
    return fieldset.get_by_role("radio", name=str(count))


def trained_to(page, least):
    page.wait_for_function(f"() => {VALUE}.step >= {least}", timeout=WAIT)


def read(page):
    page.wait_for_function(READ, timeout=WAIT)


def show(page, query):
    """Lead to a state in place, and wait until its training is made and read."""
    go_to(page, query)
    read(page)


def test_it_trains_stops_goes_back_and_begins_anew(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.pace=0") as page:
        page.set_default_timeout(WAIT)
        wrong = part(page, ".symbols .wrong")
        button(page, "Train").click()
        trained_to(page, 200)
        expect(button(page, "Train on")).to_be_visible()
        expect(wrong).to_have_count(0)
        run, side = scores()["tasks"]["previous"]["opening"][0], value(page, "sides[0]")
        assert side["learned"] == run["learned"]
        assert side["share"] == pytest.approx(run["share"], abs=1e-4)

        for count, step in ((2, 0), (1, 200)):
            layers(page, count).check()
            expect(button(page, "Train on" if step else "Train")).to_be_visible()
            assert value(page, "step") == step, "what was trained is shown at its last step"
        part(page, ".scrub input").fill("1")
        drawn(page)
        assert wrong.count() > 5
        expect(page).to_have_url(re.compile(r"play\.step=1\b"))

        show(page, f"{SMALL}&play.layers=2&play.pace=0&play.step=40&play.off=1.1")
        losses = value(page, "sides[0].losses")
        button(page, "Reset").click()
        expect(button(page, "Train")).to_be_visible()
        reset = [value(page, name) for name in ("step", "last", "spec.layers")]
        assert reset == [0, 0, 2], "Reset keeps the settings"
        expect(page, "all heads are on").not_to_have_url(re.compile("play.off"))
        button(page, "Train").click()
        trained_to(page, 20)
        assert value(page, "sides[0].losses.slice(0, 20)") == losses[:20], "the same training"
        part(page, "").get_by_text("More settings").click()
        part(page, "").get_by_role("checkbox", name="norm").uncheck()
        expect(button(page, "Train"), "a change of the model stops it").to_be_visible()
        part(page, "").get_by_role("radio", name="Previous token").click(force=True)
        assert value(page, "spec.norm"), "a task brings its own settings"


def test_a_training_that_the_worker_forgot_is_made_again_up_to_the_last_step(open_page):
    """It keeps four."""
    trained = f"{SMALL}&play.step=100&play.pace=3"
    with open_page(f"{PAGE}?{trained}") as page:
        read(page)
        for seed in range(1, 6):
            show(page, f"{SMALL}&play.step=2&play.seed={seed}&play.pace=3")
        show(page, f"{trained}&play.example=1")
        assert value(page, "sides[0].worth.share") > 0.9
        button(page, "Train on").click()
        trained_to(page, 101)

        show(page, f"{SMALL}&play.step=990&play.pace=0")
        button(page, "Train on").click()
        trained_to(page, 1000)
        for name in ("Train on", "One step"):
            expect(button(page, name), "the last").to_have_attribute("aria-disabled", "true")


# How long the page takes to draw what one event changes, at its own speed, while it trains.
SLOWEST = """async () => {
  const root = document.querySelector("#playground .widget-live");
  const taken = [];
  for (let i = 0; i < 24; i += 1) {
    await new Promise((done) => setTimeout(done, 40));
    const start = performance.now();
    root.querySelectorAll(".symbols button")[i % 12].click();
    root.getBoundingClientRect();
    taken.push(performance.now() - start);
  }
  return taken.sort((a, b) => a - b)[20];
}"""


def test_the_page_answers_while_it_trains_and_takes_a_new_speed(open_page):
    """And its worker ends with the widget."""
    with open_page(f"{PAGE}?play.pace=1") as page:
        button(page, "Train").click()
        page.get_by_label("Speed").select_option("as fast as it can")
        trained_to(page, 1)
        assert page.evaluate(SLOWEST) < 50
        trained_to(page, 100)
        assert len(page.workers) == 1
        page.evaluate("document.querySelector('#playground .widget-live').remove()")
        page.wait_for_timeout(1500)
        assert not page.workers


@pytest.mark.parametrize("says", ["runs no workers", "its script is missing"])
def test_a_training_that_cannot_start_says_why(visit, served, says):
    with visit(served, fresh=True) as (page, _):
        if "workers" in says:
            page.add_init_script("delete globalThis.Worker")
        else:
            page.route("**/playground/worker.js", lambda route: route.abort())
        page.goto(served + PAGE)
        button(page, "Train").click()
        expect(part(page, ".status.problem")).to_contain_text(says)
        expect(button(page, "Train")).to_be_visible()


WAYS = {  # each press of the mark, and where it leads: to a symbol, and whether head 1.1 is off
    "1 The first h": (8, False),
    "2 The second b": (16, False),
    "3 Without head 1.1": (16, True),
}


def test_where_a_pattern_begins_is_led_back_to_and_the_mark_is_followed(open_page):
    with open_page(f"{PAGE}?play.step=200&play.pace=0") as page:
        read(page)
        since, pattern = scores()["since"][0], part(page, ".pattern").first
        begins, marks = part(page, ".begins button"), part(page, ".curve .begin")
        expect(begins).to_have_text([f"{i}.1, step {step}" for i, step in enumerate(since, 1)])
        count = marks.count()
        assert count > 0
        begins.first.press("Enter")
        read(page)
        assert value(page, "step") == since[0]
        expect(pattern).to_contain_text("the token before")
        expect(marks, "they stay while a reader goes back").to_have_count(count)
        part(page, ".scrub input").fill(str(since[0] - 1))
        expect(pattern).not_to_contain_text("the token before")

        show(page, "play.step=200&play.pace=0")
        for name, state in WAYS.items():
            button(page, name).click()
            expect(button(page, name)).to_have_attribute("aria-pressed", "true", timeout=WAIT)
            read(page)
            assert (value(page, "at"), value(page, "sides[0].heads[0].isOff")) == state


def test_heads_are_switched_off_in_one_model_and_in_both(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=120") as page:
        read(page)
        assert value(page, "sides[0].worth.share") > 0.95
        page.get_by_label("Head 1.1 is on").uncheck()
        read(page)
        share = value(page, "sides[0].worth.share")
        assert share < 0.3, "the head matters"
        expect(part(page, ".side .title")).to_contain_text(f"{100 * share:.0f}\u202f%")

        show(page, "play.step=2&play.versus=mask-false")
        page.get_by_label("Head 1.1 of the second model is on").uncheck()
        read(page)
        expect(page).to_have_url(re.compile(r"play\.off=b1\.1"))
        heads = [value(page, f"sides[{i}].heads.map((head) => head.isOff)") for i in (0, 1)]
        assert heads == [[False, False], [True, False]]


def test_two_trainings_go_side_by_side_and_the_one_before_stays_dotted(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=90&play.pace=0") as page:
        read(page)
        before = part(page, ".former")
        expect(before).to_have_count(0)
        layers(page, 2).check(force=True)
        expect(before).not_to_have_count(0)
        page.get_by_label("Compare with").select_option("no positions")
        expect(before).to_have_count(0)

        show(page, f"{SMALL}&play.step=20&play.versus=layers-2&play.pace=0")
        assert len(value(page, "sides[0].losses")) == 90, "it has come further before"
        button(page, "Train on").click()
        trained_to(page, 30)
        own, other = (value(page, f"sides[{i}].losses.slice(0, 30)") for i in (0, 1))
        assert len(own) == len(other) == 30
        assert own != other


@pytest.mark.parametrize("width", [390, 1280])
def test_try_it_trains_at_once_and_leads_back(open_page, width):
    with open_page(f"{PAGE}?play.pace=30", width=width) as page:
        asks = part(page, ".example .title a")
        for name, state in (("positions", "positions=none"), ("one-layer", "layers=2")):
            go_to(page, f"play.{state}&play.pace=30")
            expect(asks, "a question comes first").to_have_attribute("href", f"#predict-{name}")
        for name in ("predict-repeat", "predict-one-layer"):
            page.locator(f"#{name} input").last.check()
            page.locator(f"#{name} button").click()
        expect(asks).to_have_count(0)
        link = page.get_by_role("link", name="Repeat with one layer")
        link.press("Enter")
        expect(button(page, "Stop")).to_be_focused()
        expect(button(page, "Stop")).to_be_in_viewport()
        trained_to(page, 3)
        assert value(page, "spec.layers") == 1
        back = page.get_by_role("link", name="Back to the text")
        back.press("Enter")
        expect(link).to_be_focused()
        expect(link).to_be_in_viewport()


def test_answers_curves_and_maps_are_seen_at_once(open_page):
    """In a window of 1280 × 800, from where *Try it* leads to."""
    with open_page(PAGE) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        for state in ("play.versus=layers-1", "play.layers=3", "play.layers=1&play.heads=4"):
            show(page, f"{state}&play.step=2")
            part(page, ".training").evaluate("(e) => e.scrollIntoView()")
            drawn(page)
            for name in (".train", ".symbols", ".curve", ".weight-map", ".pattern"):
                for one in part(page, name).all():
                    expect(one, state).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_train_brings_answers_and_maps_into_view(open_page, width, height):
    """Unless they are in view already."""
    with open_page(f"{PAGE}?{SMALL}&play.pace=1", width=width) as page:
        page.set_viewport_size({"width": width, "height": height})
        train = part(page, ".train")
        for press in (train.click, lambda: train.press("Enter")):
            train.evaluate("(e) => e.scrollIntoView({block: 'end'})")
            press()
            expect(train).to_have_text("Stop")
            for name in (".symbols", ".weight-map", ".pattern", ".train"):
                expect(part(page, name).first).to_be_in_viewport(ratio=1)
            page.wait_for_timeout(1000)  # the page has come to rest
            place = train.bounding_box()
            train.click()
            train.click()
            page.wait_for_timeout(300)
            assert train.bounding_box() == place, "in view, nothing moves"
            train.click()
