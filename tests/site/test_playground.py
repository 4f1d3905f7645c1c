"""The playground in a browser: it trains, stops, goes back, and is the same again."""

import re

import pytest
from playwright.sync_api import expect

from course.payloads.playground import scores
from tests.site.geometry import assert_legible
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


def show(page, query):
    """Lead to a state in place, and wait until its training is made and read."""
    go_to(page, query)
    page.wait_for_function(READ, timeout=WAIT)


def test_it_trains_in_view_stops_goes_back_and_begins_anew(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.pace=0") as page:
        page.set_default_timeout(WAIT)
        told, ends, wrong = (part(page, x) for x in (".sentence", ".status", ".symbols .wrong"))
        expect(told).to_contain_text("Not trained yet.")
        expect(ends).to_have_text("It stops at step 200.")
        button(page, "Train").click()
        trained_to(page, 3)
        expect(told).to_contain_text("Training. Stop to hear how far it is.")
        trained_to(page, 200)
        expect(button(page, "Train on")).to_be_visible()
        expect(ends).to_have_text("Train on adds 200 steps. Step 1,000 is the last.")
        drawn(page)
        expect(told).to_contain_text("After 200 steps")
        expect(wrong).to_have_count(0)
        run = scores()["tasks"]["previous"]["opening"][0]
        side = value(page, "sides[0]")
        assert side["learned"] == run["learned"]
        assert side["share"] == pytest.approx(run["share"], abs=1e-4)

        layers(page, 2).check()
        expect(button(page, "Train")).to_be_visible()
        assert value(page, "step") == 0
        layers(page, 1).check()
        expect(button(page, "Train on")).to_be_visible()
        assert value(page, "step") == 200, "a setting that was trained is shown at its last step"
        expect(part(page, ".score")).to_contain_text("100\u202f% right")

        part(page, ".scrub input").fill("1")
        drawn(page)
        expect(told).to_contain_text("After 1 steps")
        assert wrong.count() > 5
        expect(page).to_have_url(re.compile(r"play\.step=1\b"))

        show(page, f"{SMALL}&play.layers=2&play.pace=0&play.step=40")
        losses = value(page, "sides[0].losses")
        button(page, "Reset").click()
        expect(part(page, ".score")).to_have_text("not trained yet")
        reset = [value(page, name) for name in ("step", "last", "spec.layers")]
        assert reset == [0, 0, 2], "Reset keeps the settings"
        button(page, "Train").click()
        trained_to(page, 20)
        assert value(page, "sides[0].losses.slice(0, 20)") == losses[:20]
        part(page, "").get_by_text("More settings").click()
        norm = part(page, "").get_by_role("checkbox", name="norm")
        norm.uncheck()
        expect(button(page, "Train"), "a change of the model stops it").to_be_visible()
        assert value(page, "step") == 0
        norm.check()
        expect(norm, "more settings stay open at the usual values").to_be_visible()
        norm.uncheck()
        part(page, "").get_by_role("radio", name="Previous token").click(force=True)
        assert value(page, "spec.norm"), "a task brings its own settings"


def test_at_the_last_step_it_says_so(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=950&play.pace=0") as page:
        page.wait_for_function(READ, timeout=WAIT)
        ends = part(page, ".status")
        expect(ends).to_have_text("Train on adds 50 steps. Step 1,000 is the last.")
        button(page, "Train on").click()
        expect(ends).to_have_text("Step 1,000 is the last.", timeout=WAIT)
        for name in ("Train on", "One step"):
            expect(button(page, name)).to_have_attribute("aria-disabled", "true")
        button(page, "One step").press("Enter")
        expect(ends).to_have_text("Step 1,000 is the last.")
        assert value(page, "isStepping") is False


def test_where_a_pattern_begins_is_marked_and_led_back_to(open_page):
    """The marks stay where they are while a reader goes back."""
    with open_page(f"{PAGE}?play.step=150&play.pace=0") as page:
        page.wait_for_function(READ, timeout=WAIT)
        since = scores()["since"][0]
        ways = part(page, ".begins button")
        expect(ways).to_have_text([f"{i}.1, step {step}" for i, step in enumerate(since, 1)])
        expect(part(page, ".curve .begin")).to_have_count(4)
        ways.first.press("Enter")
        page.wait_for_function(READ, timeout=WAIT)
        assert value(page, "step") == since[0]
        expect(part(page, ".pattern")).to_contain_text(["the token before", "no pattern"])
        expect(part(page, ".curve .begin")).to_have_count(4)
        part(page, ".scrub input").fill(str(since[0] - 1))
        expect(part(page, ".pattern").first).not_to_contain_text("the token before")
        page.get_by_label("Compare with").select_option("1 layer")
        expect(ways).to_have_count(0)


def test_an_address_gives_the_same_training(open_page):
    shown = []
    for _ in range(2):
        with open_page(f"{PAGE}?{SMALL}&play.step=30&play.seed=7") as page:
            page.wait_for_function(READ, timeout=WAIT)
            shown.append(part(page, ".sentence").text_content())
            assert value(page, "step") == 30
    assert shown[0] == shown[1]
    assert "After 30 steps" in shown[0]


def test_heads_are_switched_off_in_one_model_and_in_both(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=120") as page:
        page.wait_for_function(READ, timeout=WAIT)
        assert value(page, "sides[0].worth.share") > 0.95
        page.get_by_label("Head 1.1 is on").uncheck()
        page.wait_for_function(READ, timeout=WAIT)
        share = value(page, "sides[0].worth.share")
        assert share < 0.3, "the head matters"
        said = f"{100 * share:.0f}\u202f% right with head 1.1 off, on 16 new rows"
        expect(part(page, ".side .title")).to_contain_text(said)

        show(page, "play.step=2&play.versus=mask-false")
        own, other = part(page, ".side").all()
        expect(own.locator(".lettered .most")).to_have_count(2)
        other.get_by_label("Head 1.1 of the second model is on").uncheck()
        expect(page).to_have_url(re.compile(r"play\.off=b1\.1"))
        page.wait_for_function(READ, timeout=WAIT)
        expect(other.locator(".title")).to_contain_text("right with head 1.1 off")
        expect(own.locator(".title")).not_to_contain_text("off")
        expect(other.locator(".worth").nth(1)).to_contain_text("With both off")
        expect(other.locator(".lettered .most")).to_have_count(1)
        tops = [side.locator(".weight-map").first.bounding_box()["y"] for side in (own, other)]
        assert tops[0] == pytest.approx(tops[1], abs=1), "the maps of both begin at one height"


@pytest.mark.parametrize("width", [390, 1280])
def test_try_it_trains_at_once_and_leads_back(open_page, width):
    with open_page(f"{PAGE}?play.pace=30", width=width) as page:
        asks = part(page, ".example .title a")
        for state, question in (
            ("mask=0", "repeat"),
            ("positions=none", "positions"),
            ("layers=2", "one-layer"),
        ):
            go_to(page, f"play.{state}&play.pace=30")
            expect(asks).to_have_attribute("href", f"#predict-{question}")
        for name in ("predict-repeat", "predict-one-layer"):
            page.locator(f"#{name} input").last.check()
            page.locator(f"#{name} button").click()
        expect(asks).to_have_count(0)
        link = page.get_by_role("link", name="Repeat with one layer")
        link.press("Enter")
        expect(button(page, "Stop")).to_be_focused()
        expect(button(page, "Stop")).to_be_in_viewport()
        trained_to(page, 3)
        assert [value(page, name) for name in ("spec.layers", "at")] == [1, 16]
        expect(page.get_by_label("Speed")).to_have_value("30 steps a second")
        back = page.get_by_role("link", name="Back to the text")
        expect(back).to_be_in_viewport()
        back.press("Enter")
        expect(link).to_be_focused()
        expect(link).to_be_in_viewport()
        expect(back).to_have_count(0)


def test_no_curve_of_a_comparison_runs_past_the_cursor(open_page):
    """One of the two has come further before."""
    with open_page(f"{PAGE}?{SMALL}&play.step=90&play.pace=0") as page:
        page.wait_for_function(READ, timeout=WAIT)
        show(page, f"{SMALL}&play.step=20&play.versus=layers-2&play.pace=0")
        assert len(value(page, "sides[0].losses")) == 90
        ends = [float(e.get_attribute("width")) for e in part(page, ".curve svg").all()]
        nows = [float(e.get_attribute("x1")) for e in part(page, ".now").all()]
        assert ends == pytest.approx([now + 1 for now in nows])


def test_two_trainings_go_side_by_side_and_the_one_before_stays_dotted(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=20&play.pace=0") as page:
        page.wait_for_function(READ, timeout=WAIT)
        before = part(page, ".former")
        expect(before).to_have_count(0)
        layers(page, 2).check(force=True)
        expect(before).to_have_count(2)
        expect(part(page, ".curves .note")).to_have_text("dotted: the training before (1 layer)")
        page.get_by_label("Compare with").select_option("no positions")
        expect(before).to_have_count(0)

        button(page, "Train").click()
        trained_to(page, 20)
        button(page, "Stop").click()
        drawn(page)
        expect(part(page, ".side")).to_have_count(2)
        assert value(page, "sides[0].losses[9]") != value(page, "sides[1].losses[9]")
        expect(part(page, ".sentence")).to_contain_text("Beside it, no positions")
        go_to(page, "play.versus=layers-1")
        expect(part(page, ".sides div").first.locator("span")).to_have_text(
            ["row", "asked", "2 layers", "1 layer"]
        )


# Notes what the status says from now on.
LISTEN = """() => {
  const status = document.querySelector("#playground .status");
  globalThis.told = [];
  new MutationObserver(() => told.push(status.textContent))
    .observe(status, {childList: true, characterData: true, subtree: true});
}"""
# At each frame until the state is read: the first head line, and how many answers are wrong.
SEEN = """async (query) => {
  const root = document.querySelector("#playground .widget-live");
  const url = new URL(location);
  url.search = query;
  history.replaceState(null, "", url);
  dispatchEvent(new PopStateEvent("popstate"));
  const seen = [];
  do {
    await new Promise(requestAnimationFrame);
    const wrong = root.querySelectorAll(".symbols .wrong").length;
    seen.push([root.querySelector(".side .title").innerText, wrong]);
  } while (root.value.isAwaited);
  return seen;
}"""


def test_a_training_that_the_worker_forgot_is_made_again(open_page):
    """It keeps four; meanwhile nothing is said of heads that isn't shown."""
    trained = f"{SMALL}&play.step=150&play.pace=3"

    def forget(*seeds):
        for seed in seeds:
            show(page, f"{SMALL}&play.step=2&play.seed={seed}&play.pace=3")

    with open_page(f"{PAGE}?{trained}") as page:
        page.wait_for_function(READ, timeout=WAIT)
        forget(1, 2, 3, 4, 5)
        seen = page.evaluate(SEEN, f"{trained}&play.example=1")
        assert len(seen) > 5
        assert seen[-1][1] == 0
        assert all(wrong == 0 for said, wrong in seen if "100" in said), seen
        show(page, f"{SMALL}&play.step=2&play.seed=1&play.pace=3&play.off=1.1")
        expect(part(page, ".status.problem")).to_have_count(0)

        forget(6, 7, 8, 9)
        go_to(page, trained)
        page.evaluate(LISTEN)
        button(page, "Train on").click()
        trained_to(page, 151)  # at three steps a second, 50 seconds of what is known already
        assert "Training as far as step 150 … " in page.evaluate("told")
        expect(part(page, ".status progress")).to_have_count(0)


def distance(upper, lower):
    return lower.bounding_box()["y"] - upper.bounding_box()["y"]


def test_the_mark_is_followed(open_page):
    """Three presses lead along, and what they tell is what the maps show."""
    with open_page(f"{PAGE}?play.step=200&play.pace=0") as page:
        page.wait_for_function(READ, timeout=WAIT)
        told = part(page, ".mark span")
        tops = [part(page, name).first for name in (".training", ".weight-map")]
        expect(told).to_contain_text("Head 1.1 leaves a mark at a letter")
        expect(part(page, ".mark [aria-pressed=true]")).to_have_count(0)
        place = distance(*tops)
        for name, says, at, is_off in (
            ("1 The first h", "Head 1.1 looks at the b before it.", 8, False),
            ("2 The second b", "finds it at the h", 16, False),
            ("3 Without head 1.1", "it doesn’t find the h", 16, True),
        ):
            button(page, name).click()
            expect(told).to_contain_text(says, timeout=WAIT)
            expect(button(page, name)).to_have_attribute("aria-pressed", "true")
            shown = [value(page, name) for name in ("at", "sides[0].heads[0].isOff")]
            assert shown == [at, is_off]
            assert distance(*tops) == place, "no map moves"
        page.get_by_label("Compare with").select_option("1 layer")
        expect(part(page, ".mark")).to_have_count(0)

        show(page, "play.scale=0&play.step=200")
        goal = part(page, ".told")
        expect(goal).not_to_contain_text("Goal met")
        part(page, ".symbols button").nth(12).click()
        expect(goal).to_contain_text("Goal met: Break Repeat with one click.")
        page.get_by_label("Compare with").select_option("no positions")
        expect(goal).not_to_contain_text("Goal met")


def test_answers_curves_and_maps_are_seen_at_once(open_page):
    """In a window of 1280 × 800, from where *Try it* leads to; and a wide one is used."""
    with open_page(PAGE) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        for state in ("play.versus=layers-1", "play.layers=3", "play.layers=1&play.heads=4"):
            show(page, f"{state}&play.step=2")
            part(page, ".training").evaluate("(e) => e.scrollIntoView()")
            drawn(page)
            for name in (".train", ".symbols", ".curve", ".weight-map", ".pattern"):
                for box in (one.bounding_box() for one in part(page, name).all()):
                    assert box["y"] >= 0, (state, name)
                    assert box["y"] + box["height"] <= 800, (state, name)
        page.set_viewport_size({"width": 1920, "height": 900})
        go_to(page, "play.heads=4&play.layers=3")
        assert_legible(page, "#playground")
        assert page.locator("#playground").bounding_box()["width"] > 1300


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_train_brings_answers_and_maps_into_view(open_page, width, height):
    """Unless they are in view already; and the maps stand right below the answers on a phone."""
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
        if width < 500:
            assert distance(part(page, ".models"), part(page, ".curves")) > 0


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_each_line_of_letters_has_its_labels(open_page, width):
    with open_page(PAGE, width=width) as page:
        lines = {box["y"] for box in (e.bounding_box() for e in part(page, ".symbol").all())}
        labels = part(page, ".sides div:visible span:first-child").all()
        assert [label.bounding_box()["y"] for label in labels] == pytest.approx(
            sorted(lines), abs=2
        )


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


# Presses a letter: whether it is marked and the map has followed, then and in the next frame.
PRESSED = """async () => {
  const root = document.querySelector("#playground .widget-live");
  const letter = root.querySelectorAll(".symbols button")[3];
  const seen = () => [
    letter.ariaChecked,
    root.querySelector(".frame").style.transform === `translateY(${100 * 3}%)`,
  ];
  const frame = () => new Promise(requestAnimationFrame);
  letter.click();
  const first = seen();
  await frame();
  return [first, seen()];
}"""


def test_what_is_pressed_is_drawn_before_the_rest(open_page):
    """So that the answer's own frame is short; then the maps follow, and the words."""
    with open_page(f"{PAGE}?{SMALL}&play.step=20&play.pace=0") as page:
        page.wait_for_function(READ, timeout=WAIT)
        drawn(page)
        assert page.evaluate(PRESSED) == [["true", False]] * 2
        drawn(page)
        expect(part(page, ".frame").first).to_have_attribute("style", re.compile(r"300%"))
        expect(part(page, ".sentence")).to_contain_text("At position 4,")


def test_the_page_answers_while_it_trains_and_the_worker_ends_with_the_widget(open_page):
    with open_page(f"{PAGE}?play.pace=0") as page:
        button(page, "Train").click()
        trained_to(page, 1)
        assert page.evaluate(SLOWEST) < 50
        assert len(page.workers) == 1
        page.evaluate("document.querySelector('#playground .widget-live').remove()")
        page.wait_for_timeout(1500)
        assert not page.workers


@pytest.mark.parametrize(
    ("why", "says"),
    [("no workers", "runs no workers"), ("no script", "its script is missing")],
)
def test_a_training_that_cannot_start_says_why(visit, served, why, says):
    with visit(served, fresh=True) as (page, _):
        if why == "no workers":
            page.add_init_script("delete globalThis.Worker")
        else:
            page.route("**/playground/worker.js", lambda route: route.abort())
        page.goto(served + PAGE)
        button(page, "Train").click()
        expect(part(page, ".status.problem")).to_contain_text(says)
        expect(button(page, "Train")).to_be_visible()
