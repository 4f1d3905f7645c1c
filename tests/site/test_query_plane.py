"""The query in the plane, in m02 and on the front page: typed, by slider, dragged and tapped."""

from tests.numbers import number
from tests.site.gestures import drag
from tests.site.settling import assert_shows, settle
from tests.widgets.truth_query_plane import KEYS, expected

LOOKUP, TASTE = "#soft-lookup", "#taste"
LESSON = "modules/m02_query_key_value/lesson.html"
FRONT_KEYS = [[-1.3, 0.9], [1.4, 0.9], [0.2, -1.4]]


def entered(page, widget):
    settle(page)
    fields = page.locator(f"{widget} input[type=text]").all()
    return [number(field.input_value()) for field in fields]


def assert_shares(page, widget, shares):
    texts = page.locator(f"{widget} .share").all_inner_texts()
    for text, share in zip(texts, shares, strict=True):
        assert_shows(text.removesuffix("\u202f%"), 100 * share, entered(page, widget))


def assert_lookup(page):
    temperature, *query = entered(page, LOOKUP)
    shares, answer = expected(query, temperature, KEYS)
    assert_shares(page, LOOKUP, shares)
    shown = page.locator(f"{LOOKUP} .retrieved b").inner_text()
    assert_shows(shown.removesuffix(" m"), answer, (temperature, query))


def test_the_harbours_are_asked_by_numbers_sliders_and_dragging(open_page):
    with open_page(LESSON) as page:
        for field, text in enumerate(["0.05", "-1.35", "0.4"]):
            page.locator(f"{LOOKUP} input[type=text]").nth(field).fill(text)
        assert_lookup(page)
        page.locator(f"{LOOKUP} input[type=range]").nth(2).press("ArrowRight")
        assert entered(page, LOOKUP) == [0.05, -1.35, 0.45]
        drag(page, LOOKUP, (0.6, 0.4), (0.2, 0.3))
        query = entered(page, LOOKUP)
        assert query[1] < -0.8
        assert_lookup(page)
        plane = page.locator(f"{LOOKUP} svg").bounding_box()
        page.mouse.move(plane["x"] + 40, plane["y"] + 40)
        assert entered(page, LOOKUP) == query, "a query that was let go follows the mouse"


def test_the_front_page_s_query_is_tapped_and_dragged(open_page):
    with open_page("index.html", width=390, has_touch=True, is_mobile=True) as page:
        page.locator(f"{TASTE} svg").tap(position={"x": 20, "y": 20})
        for found, least in ((0, 0.6), (2, 0.8)):
            shares, _ = expected(entered(page, TASTE), 2**0.5, FRONT_KEYS, [0, 0, 0])
            assert_shares(page, TASTE, shares)
            assert shares[found] > least
            drag(page, TASTE, (0.5, 0.5), (0.55, 0.95))
