"""The playground in a browser: it trains, stops, goes back, and is the same again."""

import re

import pytest
from playwright.sync_api import expect

from course.payloads.playground import scores
from tests.site.geometry import assert_legible
from tests.site.reading import drawn
from tests.site.test_widgets import go_to

PAGE = "playground.html"
SMALL = "play.task=previous"  # a step takes some milliseconds
VALUE = "document.querySelector('#playground .widget-live').value"
WAIT = 60_000  # ms: a busy machine trains slowly


def button(page, name):
    return page.locator("#playground").get_by_role("button", name=name, exact=True)


def step(page):
    return page.evaluate(f"{VALUE}.step")


def trained_to(page, least):
    page.wait_for_function(f"() => {VALUE}.step >= {least}", timeout=WAIT)


def test_it_trains_in_view_stops_and_goes_back(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.pace=0") as page:
        page.set_default_timeout(WAIT)
        told = page.locator("#playground .sentence")
        expect(told).to_contain_text("Not trained yet.")
        ends = page.locator("#playground .status")
        expect(ends).to_have_text("It stops at step 200.")
        button(page, "Train").click()
        trained_to(page, 3)
        expect(ends).to_have_text("It stops at step 200.")
        expect(told).to_contain_text("Training. Stop to hear how far it is.")
        trained_to(page, 200)
        expect(button(page, "Train on")).to_be_visible()
        expect(ends).to_have_text("Train on goes on to step 400, and at most to 1,000.")
        drawn(page)
        expect(told).to_contain_text("After 200 steps")
        expect(page.locator("#playground .symbols .wrong")).to_have_count(0)
        run = scores()["tasks"]["previous"]["opening"][0]
        side = page.evaluate(f"(({{share, learned}}) => ({{share, learned}}))({VALUE}.sides[0])")
        assert side["learned"] == run["learned"]
        assert side["share"] == pytest.approx(run["share"], abs=1e-4)
        page.locator("#playground .scrub input").fill("1")
        drawn(page)
        expect(told).to_contain_text("After 1 steps")
        assert page.locator("#playground .symbols .wrong").count() > 5
        expect(page).to_have_url(re.compile(r"play\.step=1\b"))


def test_at_the_last_step_it_says_so(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=950&play.pace=0") as page:
        page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        ends = page.locator("#playground .status")
        expect(ends).to_have_text("Train on goes on to step 1,000.")
        button(page, "Train on").click()
        expect(ends).to_have_text("It goes no further than step 1,000.", timeout=WAIT)
        expect(button(page, "Train on")).to_have_attribute("aria-disabled", "true")


def test_an_address_gives_the_same_training(open_page):
    shown = []
    for _ in range(2):
        with open_page(f"{PAGE}?{SMALL}&play.step=30&play.seed=7") as page:
            page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
            shown.append(page.locator("#playground .sentence").text_content())
            assert step(page) == 30
    assert shown[0] == shown[1]
    assert "After 30 steps" in shown[0]


def test_a_head_that_matters_is_switched_off(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=120") as page:
        page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        assert page.evaluate(f"{VALUE}.sides[0].worth.share") > 0.95
        page.get_by_label("Head 1.1 is on").uncheck()
        page.wait_for_function(
            f"() => {VALUE}.sides[0].isRead && {VALUE}.sides[0].worth", timeout=WAIT
        )
        assert page.evaluate(f"{VALUE}.sides[0].worth.share") < 0.3
        share = page.evaluate(f"{VALUE}.sides[0].worth.share")
        said = f"{100 * share:.0f}\u202f% right with head 1.1 off, on 16 other rows"
        expect(page.locator("#playground .side .title")).to_contain_text(said)


def test_the_heads_of_both_models_are_switched_off(open_page):
    """And the maps of both begin at the same height, with the letter that is looked at above."""
    with open_page(f"{PAGE}?play.step=2&play.versus=mask-false") as page:
        page.wait_for_function(f"() => !{VALUE}.isAwaited", timeout=WAIT)
        own, other = page.locator("#playground .side").all()
        expect(own.locator(".lettered .most")).to_have_count(2)
        other.get_by_label("Head 1.1 of the second model is on").uncheck()
        expect(page).to_have_url(re.compile(r"play\.off=b1\.1"))
        page.wait_for_function(f"() => !{VALUE}.isAwaited", timeout=WAIT)
        expect(other.locator(".title")).to_contain_text("right with head 1.1 off")
        expect(own.locator(".title")).not_to_contain_text("off")
        expect(other.locator(".worth").nth(1)).to_contain_text("With both off")
        expect(other.locator(".lettered .most")).to_have_count(1)
        tops = [side.locator(".weight-map").first.bounding_box()["y"] for side in (own, other)]
        assert tops[0] == pytest.approx(tops[1], abs=1)


@pytest.mark.parametrize("width", [390, 1280])
def test_try_it_trains_at_once_and_leads_back(open_page, width):
    with open_page(f"{PAGE}?play.pace=30", width=width) as page:
        asks = page.locator("#playground .example .title a")
        expect(asks).to_have_attribute("href", "#predict-one-layer")
        for name in ("predict-repeat", "predict-one-layer"):
            page.locator(f"#{name} input").last.check()
            page.locator(f"#{name} button").click()
        expect(asks).to_have_count(0)
        link = page.get_by_role("link", name="Repeat with one layer")
        link.press("Enter")
        expect(button(page, "Stop")).to_be_focused()
        expect(button(page, "Stop")).to_be_in_viewport()
        trained_to(page, 3)
        assert page.evaluate(f"[{VALUE}.spec.layers, {VALUE}.at]") == [1, 16]
        expect(page.get_by_label("Speed")).to_have_value("30 steps a second")
        back = page.get_by_role("link", name="Back to the question")
        expect(back).to_be_in_viewport()
        back.press("Enter")
        expect(link).to_be_focused()
        expect(link).to_be_in_viewport()
        expect(back).to_have_count(0)


def test_two_trainings_go_side_by_side(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.pace=0") as page:
        page.get_by_label("Compare with").select_option("no positions")
        button(page, "Train").click()
        trained_to(page, 20)
        button(page, "Stop").click()
        drawn(page)
        sides = page.locator("#playground .side")
        expect(sides).to_have_count(2)
        assert len({page.evaluate(f"{VALUE}.sides[{i}].losses[9]") for i in (0, 1)}) == 2
        expect(page.locator("#playground .sentence")).to_contain_text("Beside it, no positions")


def test_reset_keeps_the_settings_and_begins_anew(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.seed=2&play.positions=rotary&play.pace=0") as page:
        button(page, "Train").click()
        trained_to(page, 200)
        losses = page.evaluate(f"{VALUE}.sides[0].losses")
        button(page, "Reset").click()
        expect(page.locator("#playground .score")).to_have_text("not trained yet")
        assert page.evaluate(f"[{VALUE}.step, {VALUE}.last]") == [0, 0]
        assert page.evaluate(f"[{VALUE}.spec.seed, {VALUE}.spec.positions]") == [2, "rotary"]
        button(page, "Train").click()
        trained_to(page, 20)
        again = page.evaluate(f"{VALUE}.sides[0].losses.slice(0, 20)")
        assert again == losses[:20]
        button(page, "Stop").click()
        page.locator("#playground").get_by_role("radio", name="Previous token").click(force=True)
        assert page.evaluate(f"{VALUE}.spec.positions") == "learned"


def test_the_training_before_stays_as_a_dotted_line(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=20") as page:
        page.wait_for_function(f"() => !{VALUE}.isAwaited", timeout=WAIT)
        before = page.locator("#playground .former")
        expect(before).to_have_count(0)
        page.locator("#playground fieldset", has_text="Layers").get_by_label("2").check(force=True)
        expect(before).to_have_count(2)
        expect(page.locator("#playground figcaption").last).to_have_text(
            "Answers right (dotted: 1 layer)"
        )
        page.get_by_label("Compare with").select_option("no positions")
        expect(before).to_have_count(0)


def test_a_training_that_was_forgotten_says_that_it_is_made_again(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.step=150&play.pace=3") as page:
        page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        for seed in range(1, 6):
            go_to(page, f"{SMALL}&play.step=2&play.seed={seed}&play.pace=3")
            page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        go_to(page, f"{SMALL}&play.step=150&play.pace=3")
        page.evaluate("""() => {
          const status = document.querySelector("#playground .status");
          globalThis.told = [];
          new MutationObserver(() => told.push(status.textContent))
            .observe(status, {childList: true, characterData: true, subtree: true});
        }""")
        button(page, "Train on").click()
        trained_to(page, 151)  # at three steps a second, 50 seconds of what is known already
        assert "Training as far as step 150 … " in page.evaluate("told")
        expect(page.locator("#playground .status progress")).to_have_count(0)


def test_the_mark_is_followed(open_page):
    """Three presses lead along, and what they tell is what the maps show."""
    with open_page(f"{PAGE}?play.step=200&play.pace=0") as page:
        page.wait_for_function(f"() => !{VALUE}.isAwaited", timeout=WAIT)
        told = page.locator("#playground .mark span")
        for name, says, at, off in (
            ("1 The first h", "Head 1.1 looks at the b before it.", 8, 0),
            ("2 The second b", "finds it at the h", 16, 0),
            ("3 Without head 1.1", "it doesn’t find the h", 16, 1),
        ):
            button(page, name).click()
            expect(told).to_contain_text(says, timeout=WAIT)
            expect(button(page, name)).to_have_attribute("aria-pressed", "true")
            assert page.evaluate(f"{VALUE}.at") == at
            assert page.evaluate(f"{VALUE}.sides[0].heads[0].isOff") == bool(off)
        page.get_by_label("Compare with").select_option("1 layer")
        expect(page.locator("#playground .mark")).to_have_count(0)


@pytest.mark.parametrize(
    "state", ["play.versus=layers-1", "play.layers=3", "play.layers=1&play.heads=4"]
)
def test_answers_curves_and_maps_are_seen_at_once(open_page, state):
    """In a window of 1280 × 800, from where *Try it* leads to."""
    with open_page(f"{PAGE}?{state}&play.step=2") as page:
        page.wait_for_function(f"() => !{VALUE}.isAwaited", timeout=WAIT)
        page.set_viewport_size({"width": 1280, "height": 800})
        page.evaluate("document.querySelector('#playground .training').scrollIntoView()")
        drawn(page)
        for part in (".train", ".symbols", ".curve", ".weight-map"):
            for box in (one.bounding_box() for one in page.locator(f"#playground {part}").all()):
                assert box["y"] >= 0, part
                assert box["y"] + box["height"] <= 800, part


def test_the_answers_of_two_models_are_named(open_page):
    with open_page(f"{PAGE}?play.versus=layers-1") as page:
        names = page.locator("#playground .sides span").all_text_contents()
        assert names == ["row", "asked", "2 layers", "1 layer"]


def test_a_change_of_the_model_stops_the_training(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.pace=0") as page:
        button(page, "Train").click()
        trained_to(page, 2)
        page.locator("#playground").get_by_text("More settings").click()
        page.locator("#playground").get_by_role("checkbox", name="norm").uncheck()
        expect(button(page, "Train")).to_be_visible()
        assert step(page) == 0


def test_more_settings_stay_open_at_the_usual_values(open_page):
    with open_page(f"{PAGE}?{SMALL}") as page:
        page.locator("#playground").get_by_text("More settings").click()
        norm = page.locator("#playground").get_by_role("checkbox", name="norm")
        norm.uncheck()
        norm.check()
        expect(norm).to_be_visible()


def test_a_goal_that_is_met_is_told_in_the_widget(open_page):
    with open_page(f"{PAGE}?play.scale=0&play.step=200") as page:
        page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        told = page.locator("#playground .told")
        expect(told).not_to_contain_text("Goal met")
        page.locator("#playground .symbols button").nth(12).click()
        expect(told).to_contain_text("Goal met: Break Repeat with one click.")
        page.get_by_label("Compare with").select_option("no positions")
        expect(told).not_to_contain_text("Goal met")


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


def test_the_page_answers_while_it_trains(open_page):
    with open_page(f"{PAGE}?play.pace=0") as page:
        button(page, "Train").click()
        trained_to(page, 1)
        assert page.evaluate(SLOWEST) < 50


def test_the_worker_ends_with_the_widget(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.pace=0") as page:
        button(page, "Train").click()
        trained_to(page, 2)
        assert len(page.workers) == 1
        page.evaluate("document.querySelector('#playground .widget-live').remove()")
        page.wait_for_timeout(1500)
        assert not page.workers


@pytest.mark.parametrize("why", ["no workers", "no script"])
def test_a_training_that_cannot_start_says_why(visit, served, why):
    with visit(served, fresh=True) as (page, _):
        if why == "no workers":
            page.add_init_script("delete globalThis.Worker")
        else:
            page.route("**/playground/worker.js", lambda route: route.abort())
        page.goto(served + PAGE)
        button(page, "Train").click()
        says = {"no workers": "runs no workers", "no script": "its script is missing"}[why]
        expect(page.locator("#playground .status.problem")).to_contain_text(says)
        expect(button(page, "Train")).to_be_visible()


def test_it_is_legible_on_a_wide_window(open_page):
    with open_page(PAGE, width=1920) as page:
        go_to(page, "play.heads=4&play.layers=3")
        assert_legible(page, "#playground")
        assert page.locator("#playground").bounding_box()["width"] > 1300


def test_a_training_that_the_worker_forgot_is_read_again(open_page):
    """It keeps four; Back leads to the first of six."""
    with open_page(f"{PAGE}?{SMALL}&play.step=3") as page:
        for seed in range(6):
            go_to(page, f"{SMALL}&play.step=3&play.seed={seed}")
            page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        go_to(page, f"{SMALL}&play.step=3&play.off=1.1")
        page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        expect(page.locator("#playground .status.problem")).to_have_count(0)


def test_a_setting_that_was_trained_is_shown_at_its_last_step(open_page):
    with open_page(f"{PAGE}?{SMALL}&play.pace=0") as page:
        layers = page.locator("#playground fieldset", has_text="Layers")
        button(page, "Train").click()
        trained_to(page, 200)
        layers.get_by_role("radio", name="2").check()
        expect(button(page, "Train")).to_be_visible()
        assert step(page) == 0
        layers.get_by_role("radio", name="1").check()
        expect(button(page, "Train on")).to_be_visible()
        assert step(page) == 200
        expect(page.locator("#playground .score")).to_contain_text("100\u202f% right")
        expect(page.locator("#playground .symbols .wrong")).to_have_count(0)


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


def test_the_head_line_waits_for_the_maps(open_page):
    """Also where the worker, which keeps four trainings, has to train one again."""
    with open_page(f"{PAGE}?{SMALL}&play.step=200") as page:
        page.wait_for_function(f"() => {VALUE}.sides[0].worth", timeout=WAIT)
        for seed in range(1, 6):
            page.evaluate(SEEN, f"{SMALL}&play.step=2&play.seed={seed}")
        seen = page.evaluate(SEEN, f"{SMALL}&play.step=200&play.example=1")
        assert len(seen) > 5
        assert seen[-1][1] == 0
        assert all(wrong == 0 for said, wrong in seen if "100" in said), seen
