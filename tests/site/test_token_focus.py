"""Where words look: the page shows what the committed models give, chosen by mouse and keys."""

from playwright.sync_api import expect

from course.payloads.token_focus import (
    DID_FIT,
    EXAMPLES,
    FIT,
    FOLDED,
    IN_LESSON,
    SWAPPED,
    WITH_MARKER,
    patched,
)
from tests.site.settling import assert_shows, settle
from tests.widgets.truth_token_focus import maps

LESSON = "modules/m02_query_key_value/lesson.html"
WIDGET, CHANGED, LENT, DID = "#token-focus", "#changed-look", "#swapped-look", "#did-fit-look"
WIDTHS = """(lines) => lines.map((line) => parseFloat(getComputedStyle(line).strokeWidth))"""
FINDER = 4  # layer 2, head 1


def menu(page, name, widget=WIDGET):
    return page.locator(widget).get_by_role("combobox", name=name, exact=True)


def words(page, widget=WIDGET):
    return page.locator(f"{widget} [role=radio]")


def focus(page, widget=WIDGET):
    settle(page)
    return words(page, widget).evaluate_all(
        "(words) => words.findIndex((word) => word.ariaChecked === 'true')"
    )


def assert_right(page, sentence, head, *, causal=False, row=None, widget=WIDGET):
    at = focus(page, widget)
    row = row or maps("causal" if causal else "masked", sentence)[head, at].tolist()
    texts = page.locator(f"{widget} .to .share").all_inner_texts()
    for to, (text, weight) in enumerate(zip(texts, row, strict=True)):
        if causal and to > at:
            assert text == "hidden"
        else:
            assert_shows(text.removesuffix("\u202f%"), 100 * weight, (sentence, at, to))
    drawn = page.locator(f"{widget} .arrows path").evaluate_all(WIDTHS)
    for width, weight in zip(drawn, row, strict=True):
        assert abs(width - (1 + 8 * weight)) < 0.05


def test_sentences_heads_and_words_show_the_model_s_weights(open_page):
    with open_page(LESSON) as page:
        menu(page, "Sentence").select_option(index=len(IN_LESSON) - 1)
        assert focus(page) == EXAMPLES[IN_LESSON[-1]][1]
        menu(page, "Head").select_option(label="mean of all heads")
        assert_right(page, IN_LESSON[-1], -1)

        menu(page, "Sentence").select_option(index=1)
        words(page).nth(2).click()
        for key, at in [("ArrowDown", 3), ("ArrowUp", 2), ("Home", 0), ("ArrowUp", 0), ("End", 12)]:
            page.keyboard.press(key)
            assert focus(page) == at
            assert page.evaluate("document.activeElement.ariaChecked") == "true"

        page.locator(".causal-switch").evaluate("(at) => (at.closest('details').open = true)")
        causal = page.get_by_role("checkbox", name="Show the causal model")
        causal.focus()
        for is_on in (True, False, True):
            page.keyboard.press("Space")
            expect(causal).to_be_checked(checked=is_on)
            expect(causal).to_be_focused()
        words(page).nth(9).click()
        menu(page, "Head of the causal model").select_option(index=8)
        assert_right(page, 1, 8, causal=True)
        causal.uncheck()
        assert_right(page, 1, -1)  # it has fewer heads: the last choice stays their mean


def assert_bars(page, widget, told, at=0, folds=FOLDED):
    """The bars end where the parts, and the scores, say, and their numbers stand beside them."""
    parts, wholes = told["parts"][at].tolist(), told["parts"].sum(1).tolist()
    sums = [sum(parts[i] for i in places) for places in folds.values()]
    want = [*sums, parts[6], *wholes]
    mark, own = len(sums), len(sums) + 1 + at
    texts = page.locator(f"{widget} .bars b").all_inner_texts()
    for text, value in zip(texts, want, strict=True):
        assert_shows(text.replace("\N{MINUS SIGN}", "-"), value, value)
    page.wait_for_timeout(500)  # until they have moved
    boxes = page.locator(f"{widget} .bars .track").evaluate_all(
        """(tracks) => tracks.map((track) => {
          const [all, bar] = [track, track.firstElementChild].map((e) => e.getBoundingClientRect());
          return [(bar.left - all.left) / all.width, (bar.right - all.left) / all.width];
        })"""
    )
    unit = (boxes[own][1] - boxes[own][0]) / wholes[at]
    for (left, right), value in zip(boxes, want, strict=True):
        assert abs(right - left - unit * abs(value)) < 0.03
    ends = boxes[mark][0 if parts[6] < 0 else 1]
    assert abs(ends - boxes[own][1]) < 0.03, "the mark ends there"


def assert_changed(page, widget, sentence, noun, change, folds=FOLDED):
    """With a change made, the pronoun, the model and the bars say so."""
    row = change["weights"][-2, 9] if change["weights"].ndim == 3 else change["weights"][0]
    assert_right(page, sentence, FINDER, row=row.tolist(), widget=widget)
    says, answer = page.locator(f"{widget} .says"), change["answer"]
    expect(says).to_contain_text(f"finds: {noun}")
    expect(says).to_contain_text(f"answers: {answer['word']}, {100 * answer['share']:.1f}")
    assert_bars(page, widget, change, folds=folds)


FINDS = {
    "value of": ("other", "trophy", "itself"),
    "mark off": ("off", "suitcase", "itself"),
    "hidden": ("hidden", "trophy", "trophy"),
}


def open_box(page):
    """Open the closed box that a picture stands in."""
    page.locator(f"details:has({LENT})").evaluate("(box) => (box.open = true)")


# With the query of the other sentence: for each sentence which noun is found.
OTHER_QUERY = (
    [("mark off", "off", "suitcase"), ("as it is", "", "trophy")],
    [("mark off", "off", "trophy"), ("as it is", "", "suitcase")],
)


def test_changes_are_made_and_undone_and_three_pictures_are_apart(open_page):
    with open_page("pronoun.html") as page:
        open_box(page)
        for question in page.locator(".prediction").all():
            question.locator("input[type=radio]").nth(1).check()
            question.locator(".ask button").click()

        at_trophy = page.locator(CHANGED).get_by_role("group", name="At “trophy”")
        for place, noun in ((1, "suitcase"), (0, "trophy")):
            menu(page, "Sentence", CHANGED).select_option(index=place)
            assert_right(page, FIT[place], FINDER, widget=CHANGED)
            expect(page.locator(f"{CHANGED} .says")).to_contain_text(f"finds: {noun}")
            for name, (how, *finds) in FINDS.items():
                at_trophy.get_by_role("radio", name=name).check()
                change = patched(FIT[place], how)
                assert_changed(page, CHANGED, FIT[place], finds[1 - place], change)
            asks = page.locator(CHANGED).get_by_role("checkbox", name="query of the pronoun")
            asks.focus()
            page.keyboard.press("Space")
            for name, how, noun in OTHER_QUERY[place]:
                at_trophy.get_by_role("radio", name=name).check()
                change = patched(FIT[place], how)["asked"]
                assert_changed(page, CHANGED, FIT[place], noun, change)
            asks.focus()
            page.keyboard.press("Space")
            at_trophy.get_by_role("radio", name="as it is").focus()
            page.keyboard.press("Space")
        apart = page.locator(CHANGED).get_by_role("group", name="The score of")
        apart.get_by_role("radio", name="trophy").focus()
        page.keyboard.press("ArrowRight")
        expect(apart.get_by_role("radio", name="suitcase")).to_be_focused()
        assert_bars(page, CHANGED, patched(FIT[0]), 1)
        page.locator(CHANGED).get_by_role("button", name="Reset").click()
        assert_right(page, FIT[1], FINDER, widget=CHANGED)
        assert_bars(page, CHANGED, patched(FIT[1]))

        # The way that the text shows.
        menu(page, "Head", LENT).select_option(label="layer 1, head 4")
        words(page, LENT).nth(1).click()
        assert_right(page, SWAPPED[1], 3, widget=LENT)
        menu(page, "Head", LENT).select_option(label="layer 2, head 1")
        words(page, LENT).nth(9).click()
        page.locator(LENT).get_by_role("checkbox", name="“suitcase” asks like “trophy”").check()
        for place, noun in ((1, "trophy"), (0, "suitcase")):
            menu(page, "Sentence", LENT).select_option(index=place)
            change = patched(SWAPPED[place], "lent")
            assert_changed(page, LENT, SWAPPED[place], noun, change, WITH_MARKER)

        for place, sentence in enumerate(DID_FIT):
            menu(page, "Sentence", DID).select_option(index=place)
            assert_right(page, sentence, FINDER, widget=DID)
            assert_bars(page, DID, patched(sentence))
        assert_right(page, FIT[1], FINDER, widget=CHANGED)
        for widget, indices in {CHANGED: FIT, LENT: SWAPPED, DID: DID_FIT}.items():
            offered = menu(page, "Sentence", widget).locator("option").all_inner_texts()
            assert len({*offered}) == len(indices), "told apart, as a closed menu shortens them"
        ids = page.locator("linearGradient").evaluate_all("(all) => all.map((one) => one.id)")
        assert len(set(ids)) == len(ids) >= 3, "each has its own gradient"


def test_each_arrow_ends_beside_its_word(open_page):
    """In all three pictures: a taller drawing beside the arrows must not stretch them."""
    with open_page("pronoun.html") as page:
        open_box(page)
        for widget in (CHANGED, LENT, DID):
            lean = page.locator(widget).evaluate("""(root) => {
                const words = [...root.querySelectorAll(".to li")], {top, height} = root
                    .querySelector(".arrows svg").getBoundingClientRect();
                return Math.max(...words.map((word, i) => {
                    const box = word.getBoundingClientRect();
                    const end = top + (i + 0.5) * height / words.length;
                    return Math.abs(box.top + box.height / 2 - end);
                }));
            }""")
            assert lean < 2, f"{widget}: an arrow ends {lean:.0f} px from its word"
