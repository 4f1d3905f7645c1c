"""Where words look: the page shows what the committed models give, chosen by mouse and keys."""

from playwright.sync_api import expect

from course.payloads.token_focus import EXAMPLES, IN_LESSON, handed_maps, lent_maps
from tests.site.settling import assert_shows, settle
from tests.widgets.truth_token_focus import maps

LESSON = "modules/m02_query_key_value/lesson.html"
WIDGET = ":is(#token-focus, #changed-look)"  # in the lesson, and on the page on pronouns
WORDS = f"{WIDGET} [role=radio]"
WIDTHS = """(lines) => lines.map((line) => parseFloat(getComputedStyle(line).strokeWidth))"""


def select(page, name):
    return page.locator(WIDGET).get_by_role("combobox", name=name, exact=True)


def focus(page):
    return page.locator(WORDS).evaluate_all(
        "(words) => words.findIndex((word) => word.ariaChecked === 'true')"
    )


def assert_right(page, sentence, head, *, causal=False, row=None):
    settle(page)
    at = focus(page)
    row = row or maps("causal" if causal else "masked", sentence)[head, at].tolist()
    texts = page.locator(f"{WIDGET} .share").all_inner_texts()
    for to, (text, weight) in enumerate(zip(texts, row, strict=True)):
        if causal and to > at:
            assert text == "hidden"
        else:
            assert_shows(text.removesuffix("\u202f%"), 100 * weight, (sentence, at, to))
    drawn = page.locator(f"{WIDGET} .arrows path").evaluate_all(WIDTHS)
    for width, weight in zip(drawn, row, strict=True):
        assert abs(width - (1 + 8 * weight)) < 0.05


def test_sentences_heads_and_words_show_the_model_s_weights(open_page):
    with open_page(LESSON) as page:
        names = select(page, "Head").locator("option").all_inner_texts()
        assert len(names) == len(maps("masked", 0))
        for text, start, says in EXAMPLES[:IN_LESSON]:
            select(page, "Sentence").select_option(label=text)
            settle(page)
            assert focus(page) == start
            assert page.locator(f"{WIDGET} .says").inner_text() == says
        select(page, "Head").select_option(index=len(names) - 1)
        assert_right(page, IN_LESSON - 1, -1)

        select(page, "Sentence").select_option(index=1)
        page.locator(WORDS).nth(2).click()
        for key, at in [("ArrowDown", 3), ("ArrowUp", 2), ("Home", 0), ("ArrowUp", 0), ("End", 12)]:
            page.keyboard.press(key)
            settle(page)
            assert focus(page) == at
            assert not page.locator(f"{WIDGET} .says").inner_text()  # that is of the pronoun
            assert page.evaluate("document.activeElement.ariaChecked") == "true"
        assert page.locator(f"{WORDS}[tabindex='0']").count() == 1

        expect(page.locator(WIDGET).get_by_role("checkbox")).to_have_count(0)
        page.locator(".causal-switch").evaluate("(at) => (at.closest('details').open = true)")
        causal = page.get_by_role("checkbox", name="Show the causal model")
        causal.focus()
        for is_on in (True, False, True):
            page.keyboard.press("Space")
            settle(page)
            expect(causal).to_be_checked(checked=is_on)
            expect(causal).to_be_focused()
        page.locator(WORDS).nth(9).click()
        select(page, "Head of the causal model").select_option(index=8)
        assert_right(page, 1, 8, causal=True)
        assert page.locator(f"{WIDGET} .share").all_inner_texts().count("hidden") == 3
        causal.uncheck()
        assert_right(page, 1, -1)  # it has fewer heads: the last choice stays their mean
        assert select(page, "Head").input_value() == "mean of all heads"


def test_a_change_to_the_model_can_be_ticked_for_its_sentence(open_page):
    with open_page("pronoun.html") as page:
        value = page.locator(WIDGET).get_by_role("checkbox", name="hands “trophy” the value of")
        asks = page.locator(WIDGET).get_by_role("checkbox", name="“suitcase” asks like “trophy”")
        assert_right(page, 2, 4)
        says = page.locator(f"{WIDGET} .says")
        expect(says).to_contain_text("The pronoun finds: suitcase")
        value.check()
        expect(says).to_contain_text("The pronoun finds: trophy")
        row = handed_maps(2)[4, 9].tolist()
        assert row[1] > 0.9
        assert_right(page, 2, 4, row=row)
        value.uncheck()
        assert_right(page, 2, 4)
        select(page, "Sentence").select_option(index=6)
        expect(value).to_have_count(0)
        asks.check()
        row = lent_maps(6)[4, 9].tolist()
        assert row[7] > 0.8 > 0.1 > row[1]
        assert_right(page, 6, 4, row=row)


def test_links_in_the_text_set_the_picture_and_lead_back(open_page):
    """Each link that stands on the page, and the row that it promises."""
    promised = {
        "?focus.sentence=2&focus.head=4&focus.handed=1": (2, 4, handed_maps(2)[4, 9]),
        "?focus.sentence=1&focus.head=4&focus.handed=1": (1, 4, handed_maps(1)[4, 9]),
        "?focus.sentence=6&focus.head=3&focus.word=6.1": (6, 3, maps("masked", 6)[3, 1]),
        "?focus.sentence=7&focus.head=4": (7, 4, maps("masked", 7)[4, 8]),
        "?focus.sentence=6&focus.head=4&focus.lent=1": (6, 4, lent_maps(6)[4, 9]),
        "?focus.sentence=5&focus.head=4&focus.lent=1": (5, 4, lent_maps(5)[4, 9]),
    }
    with open_page("pronoun.html") as page:
        for question in page.locator(".prediction").all():  # what comes after is inert until then
            question.locator("input[type=radio]").nth(1).check()
            question.locator(".ask button").click()
        links = page.locator("a.set-up[href^='?focus.']")
        links.evaluate_all(
            "(all) => all.forEach((a) => a.closest('details')?.setAttribute('open', ''))"
        )
        hrefs = links.evaluate_all("(all) => all.map((a) => a.getAttribute('href'))")
        assert {href.partition("#")[0] for href in hrefs} == set(promised)
        for number, href in enumerate(hrefs):
            sentence, head, row = promised[href.partition("#")[0]]
            links.nth(number).evaluate("(link) => link.click()")
            assert_right(page, sentence, head, row=row.tolist())
            expect(page.locator(WIDGET)).to_be_in_viewport(ratio=0.5)
            expect(select(page, "Sentence")).to_be_focused()
            page.locator(f"{WIDGET} a.back").click()
            expect(links.nth(number)).to_be_focused()
            expect(page.locator(f"{WIDGET} a.back")).to_have_count(0)
