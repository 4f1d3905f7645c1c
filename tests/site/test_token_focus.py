"""Where words look: the page shows what the committed models give, chosen by mouse and keys."""

from playwright.sync_api import expect

from course.payloads.token_focus import DID_FIT, EXAMPLES, FIT, IN_LESSON, SWAPPED, handed, lent
from tests.site.settling import assert_shows, settle
from tests.widgets.truth_token_focus import maps

LESSON = "modules/m02_query_key_value/lesson.html"
WIDGET = "#token-focus"
WIDTHS = """(lines) => lines.map((line) => parseFloat(getComputedStyle(line).strokeWidth))"""


def select(page, name, widget=WIDGET):
    return page.locator(widget).get_by_role("combobox", name=name, exact=True)


def words(page, widget=WIDGET):
    return page.locator(f"{widget} [role=radio]")


def focus(page, widget=WIDGET):
    return words(page, widget).evaluate_all(
        "(words) => words.findIndex((word) => word.ariaChecked === 'true')"
    )


def assert_right(page, sentence, head, *, causal=False, row=None, widget=WIDGET):
    settle(page)
    at = focus(page, widget)
    row = row or maps("causal" if causal else "masked", sentence)[head, at].tolist()
    texts = page.locator(f"{widget} .share").all_inner_texts()
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
        names = select(page, "Head").locator("option").all_inner_texts()
        assert len(names) == len(maps("masked", 0))
        for place, (_, start, says) in enumerate(EXAMPLES[index] for index in IN_LESSON):
            select(page, "Sentence").select_option(index=place)
            settle(page)
            assert focus(page) == start
            assert page.locator(f"{WIDGET} .says").inner_text() == says
        select(page, "Head").select_option(index=len(names) - 1)
        assert_right(page, IN_LESSON[-1], -1)

        select(page, "Sentence").select_option(index=1)
        words(page).nth(2).click()
        for key, at in [("ArrowDown", 3), ("ArrowUp", 2), ("Home", 0), ("ArrowUp", 0), ("End", 12)]:
            page.keyboard.press(key)
            settle(page)
            assert focus(page) == at
            assert not page.locator(f"{WIDGET} .says").inner_text()  # that is of the pronoun
            assert page.evaluate("document.activeElement.ariaChecked") == "true"
        assert page.locator(f"{WIDGET} [role=radio][tabindex='0']").count() == 1

        expect(page.locator(WIDGET).get_by_role("checkbox")).to_have_count(0)
        page.locator(".causal-switch").evaluate("(at) => (at.closest('details').open = true)")
        causal = page.get_by_role("checkbox", name="Show the causal model")
        causal.focus()
        for is_on in (True, False, True):
            page.keyboard.press("Space")
            settle(page)
            expect(causal).to_be_checked(checked=is_on)
            expect(causal).to_be_focused()
        words(page).nth(9).click()
        select(page, "Head of the causal model").select_option(index=8)
        assert_right(page, 1, 8, causal=True)
        assert page.locator(f"{WIDGET} .share").all_inner_texts().count("hidden") == 3
        causal.uncheck()
        assert_right(page, 1, -1)  # it has fewer heads: the last choice stays their mean
        assert select(page, "Head").input_value() == "mean of all heads"


def assert_says(page, widget, finds, answer):
    says = page.locator(f"{widget} .says")
    expect(says).to_contain_text(f"The pronoun finds: {finds}")
    expect(says).to_contain_text(
        f"The model answers: {answer['word']}, {100 * answer['share']:.1f}"
    )


def guess_all(page):
    for question in page.locator(".prediction").all():
        question.locator("input[type=radio]").nth(1).check()
        question.locator(".ask button").click()


def test_a_value_can_be_handed_over(open_page):
    with open_page("pronoun.html") as page:
        widget = "#changed-look"
        value = page.locator(widget).get_by_role("checkbox", name="hands “trophy” the value of")
        for place, noun, found in ((1, "suitcase", "trophy"), (0, "trophy", "itself")):
            sentence = FIT[place]
            select(page, "Sentence", widget).select_option(index=place)
            assert_right(page, sentence, 4, widget=widget)
            expect(page.locator(f"{widget} .says")).to_contain_text(f"finds: {noun}")
            value.check()
            change = handed(sentence)
            assert_right(page, sentence, 4, row=change["weights"][4, 9].tolist(), widget=widget)
            assert_says(page, widget, found, change["answer"])
            value.uncheck()


def test_a_noun_can_be_lent_a_query(open_page):
    with open_page("pronoun.html") as page:
        widget = "#swapped-look"
        guess_all(page)
        asks = page.locator(widget).get_by_role("checkbox", name="“suitcase” asks like “trophy”")
        assert_right(page, SWAPPED[1], 4, widget=widget)
        # The way that the text shows.
        select(page, "Head", widget).select_option(label="layer 1, head 4")
        words(page, widget).nth(1).click()
        assert_right(page, SWAPPED[1], 3, widget=widget)
        select(page, "Head", widget).select_option(label="layer 2, head 1")
        words(page, widget).nth(9).click()
        asks.check()
        for place, noun in ((1, "trophy"), (0, "suitcase")):
            select(page, "Sentence", widget).select_option(index=place)
            change = lent(SWAPPED[place])
            row = change["weights"][4, 9].tolist()
            assert_right(page, SWAPPED[place], 4, row=row, widget=widget)
            assert_says(page, widget, noun, change["answer"])


def test_three_pictures_of_one_page_are_apart(open_page):
    """Each has its own sentences and state, and its own gradient."""
    with open_page("pronoun.html") as page:
        guess_all(page)
        pictures = {"#changed-look": FIT, "#swapped-look": SWAPPED, "#did-fit-look": DID_FIT}
        for widget, indices in pictures.items():
            offered = select(page, "Sentence", widget).locator("option").all_inner_texts()
            for text, index in zip(offered, indices, strict=True):
                begins, ends = text.split(" … ")  # as a closed menu has room for it on a phone
                assert EXAMPLES[index][0].startswith(begins)
                assert EXAMPLES[index][0].endswith(ends)
            assert len({*offered}) == len(offered), "told apart"
        widget = "#did-fit-look"
        for place, sentence in enumerate(DID_FIT):
            select(page, "Sentence", widget).select_option(index=place)
            assert_right(page, sentence, 4, widget=widget)
        expect(page.locator(widget).get_by_role("checkbox")).to_have_count(0)
        assert_right(page, FIT[1], 4, widget="#changed-look")
        assert_right(page, SWAPPED[1], 4, widget="#swapped-look")
        ids = page.locator("linearGradient").evaluate_all("(all) => all.map((one) => one.id)")
        assert len(set(ids)) == len(ids) >= 3
