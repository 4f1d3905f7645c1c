"""Predictions, bug hunts and exercises on every page: asked, kept, cleared, open to all."""

import json

import pytest
from playwright.sync_api import expect

from course.exercises import learner
from course.exercises.task import tasks_of
from tests.site.conftest import LESSON, LESSONS

KEY = "course-answers"
ASKED = ".prediction, .bug-hunt"
PRACTISED = f"{ASKED}, .exercise"
FOLDER = LESSON.split("/")[1]


@pytest.fixture(params=LESSONS)
def path(request, read):
    """Every lesson that asks something."""
    if not read(request.param.split("?")[0]).select(PRACTISED):
        pytest.skip("nothing is asked here yet")
    return request.param


def _live(page):
    page.wait_for_selector(".practice-live", state="attached")


ANSWER_ALL = """(questions) => {
  for (const question of document.querySelectorAll(questions)) {
    question.querySelector("input[type=radio]").click();
    question.querySelector(".ask button").click();
  }
  for (const box of document.querySelectorAll(".exercise .done input")) box.click();
}"""
# Asks each question for each of its choices, and returns what is wrong: in the page, since each of
# a thousand looks from outside takes longer than all of them there.
ASK_ALL = r"""(questions) => {
  const wrong = [];
  for (const question of document.querySelectorAll(questions)) {
    const expect = (isRight, what) => isRight || wrong.push(`${question.id}: ${what}`);
    const all = (selector) => [...question.querySelectorAll(selector)];
    const shown = () => all(".why, .rest").filter((e) => e.checkVisibility()).length;
    const press = () => question.querySelector(".ask button").click();
    const says = () => question.querySelector("output").textContent;
    const next = question.nextElementSibling;
    const hides = Boolean(next?.matches(".after-prediction"));
    // A figure stands behind its axes: it isn't blurred but unseen.
    const isHidden = () => hides && next.inert && [...next.children].every((part) =>
      part.querySelector("img") ? getComputedStyle(part.querySelector("img")).opacity === "0"
        : !part.checkVisibility() || getComputedStyle(part).filter !== "none");
    const choices = all(".choices li");
    expect(shown() === 0, "answered before it is asked");
    expect(isHidden() === hides, "what follows gives the answer away");
    press();
    expect(says() === "Choose one first.", `without a choice it says ${says()}`);
    expect(shown() === 0, "answered without a choice");
    choices.forEach((choice, i) => {
      const isRight = i + 1 === Number(question.dataset.right);
      choice.querySelector("input").click();
      expect(shown() === 0, "answered before it is asked again");
      press();
      expect(says().includes(isRight ? "Right." : "Not that one"), `choice ${i + 1}: ${says()}`);
      const reasons = choices.map((one) => one.querySelector("details"));
      expect(reasons.every((one) => one.checkVisibility()), "a reason can't be opened");
      expect(reasons.every((one, j) => one.open === (i === j)), "another reason is open");
      const answer = choices[question.dataset.right - 1].querySelector("label").textContent.trim();
      const isNamed = says().includes(answer.replace(/\.$/, ""));
      expect(isRight || isNamed, `no answer is named: ${says()}`);
      expect(choice.matches(isRight ? ".right" : ".wrong"), "the choice isn't marked");
      expect(!isHidden(), "what follows stays hidden");
      const marked = choices.filter((one) => one.matches(".right"));
      expect(marked.length === 1 && marked[0] === choices[question.dataset.right - 1],
        "the right choice isn't marked, or another is");
      press(); // "Ask me again"
      expect(shown() === 0 && !all(":checked").length, "asked again, it isn't as before");
    });
  }
  return wrong;
}"""


@pytest.mark.slow
def test_every_question_is_asked_before_it_is_answered_and_one_click_clears(open_page, path):
    """Answers stay when the page is left; one lesson, with questions of each kind, is enough."""
    with open_page(path) as page:
        _live(page)
        assert not page.evaluate(ASK_ALL, ASKED)
        total = page.locator(PRACTISED).count()
        whole = f" {total} of {total + page.locator('.goal').count()} done"
        count = page.locator("#quarto-sidebar a.active .progress-count")
        expect(count).to_be_empty()
        expect(page.locator(".clear-answers")).to_be_hidden()
        page.evaluate(ANSWER_ALL, ASKED)
        expect(count).to_have_text(whole)
        expect(page.locator(".progress-count:not(:empty)")).to_have_count(1)
        if path == LESSON:
            page.reload()
            _live(page)
            expect(count).to_have_text(whole)
            assert page.locator(".choices :checked").count() == page.locator(ASKED).count()
            assert page.locator(".exercise .done :checked").count()
        page.locator(".clear-answers").click()
        expect(count).to_be_empty()
        assert page.locator(f":is({PRACTISED}) input:checked").count() == 0
        expect(page.locator(".why:visible")).to_have_count(0)
        assert page.evaluate(f"localStorage.getItem('{KEY}')") is None


def test_by_keyboard_alone(open_page):
    with open_page(LESSON) as page:
        _live(page)
        page.locator("#predict-double input").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(page.locator("#predict-double input").nth(2)).to_be_checked()
        expect(page.locator("#predict-double .why:visible")).to_have_count(0)
        page.keyboard.press("Enter")
        expect(page.locator("#predict-double output")).to_have_text("Right.")
        assert page.evaluate("document.activeElement.textContent") == "Ask me again"
        page.locator("#exercise-attention summary").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#exercise-attention details").first).to_have_attribute("open", "")
        page.locator("#exercise-attention .done input").focus()
        page.keyboard.press("Space")
        expect(page.locator("#exercise-attention .done input")).to_be_checked()


def test_progress_shows_on_other_pages_and_in_other_tabs(open_page):
    with open_page(LESSON, fresh=True) as page:
        _live(page)
        other = page.context.new_page()
        other.goto(page.url.replace(LESSON, "index.html"))
        page.locator("#predict-double input").first.check()
        page.locator("#predict-double .ask button").click()
        link = other.locator(f"#quarto-sidebar a[href*='{FOLDER}'] .progress-count")
        expect(link).to_contain_text(" 1 of ")


WRITE = """([key, text]) => {
  localStorage.setItem(key, text);
  dispatchEvent(new StorageEvent("storage", {key}));
}"""
OUT_OF_RANGE = json.dumps({FOLDER: {"total": 5, "done": {"predict-double": 99}}})


def test_damaged_storage_is_as_if_empty(open_page):
    """In place: a page reads its storage again when another tab has written it."""
    question = "#predict-double"
    with open_page(LESSON) as page:
        _live(page)
        for text in ("{", "7", "[]", '{"x": 1}', '{"x": {"total": "2"}}', OUT_OF_RANGE):
            page.evaluate(WRITE, [KEY, text])
            expect(page.locator(f"{question} .why:visible")).to_have_count(0)
            page.locator(f"{question} input").first.check()
            page.locator(f"{question} .ask button").click()
            expect(page.locator(f"{question} .why:visible")).to_have_count(4)
        page.evaluate(WRITE, [KEY, "{"])
        page.reload()
        _live(page)
        expect(page.locator(f"{question} .why:visible")).to_have_count(0)


# Scripts that take the storage away, or leave no room in it.
NO_STORAGE = {
    "refused": """Object.defineProperty(window, "localStorage", {
      get() { throw new DOMException("denied", "SecurityError"); }})""",
    "full": """Storage.prototype.setItem = () => {
      throw new DOMException("full", "QuotaExceededError"); }""",
}


@pytest.mark.usefixtures("ours")  # Quarto's own script throws where storage is refused
@pytest.mark.parametrize("script", NO_STORAGE.values(), ids=NO_STORAGE)
def test_without_storage_it_works_until_the_page_is_left(open_page, script):
    with open_page(LESSON, script=script, fresh=True) as page:
        _live(page)
        page.evaluate(ANSWER_ALL, ASKED)
        expect(page.locator(".reason:visible").first).to_be_visible()
        total = page.locator(PRACTISED).count()
        count = page.locator("#quarto-sidebar a.active .progress-count")
        expect(count).to_have_text(f" {total} of {total + page.locator('.goal').count()} done")


def test_without_javascript_all_of_it_can_be_read(open_page):
    with open_page(LESSON, live=False, java_script_enabled=False) as page:
        for question in page.locator(ASKED).all():
            question.locator(".answer > summary").click()
            assert all(item.is_visible() for item in question.locator("ol > li").all())
        for folded in page.locator(".exercise details").all():
            folded.locator("summary").click()
            assert folded.locator("p").first.is_visible()


def test_the_tasks_are_those_of_the_learner_s_file(read):
    for path in LESSONS:
        module = path.split("/")[1].split("_")[0]
        shown = read(path.split("?")[0]).select(".exercise")
        if module not in learner.modules():
            assert not shown
            continue
        written = learner.read(learner.file_of(module))
        tasks = {f"exercise-{name}": task for name, task in tasks_of(module).items()}
        assert sorted(one["id"] for one in shown) == sorted(tasks)  # one may stand in a box before
        for one in shown:
            task = tasks[one["id"]]
            shown_title = one.select_one("h3").get_text().replace("’", "'")  # Pandoc's, in prose
            assert shown_title == written[task.name].title
            assert len(one.select("details")) == len(task.hints) + 1
            assert one.select("pre")[-1].get_text().strip() == task.source
