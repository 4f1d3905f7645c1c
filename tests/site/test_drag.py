"""Drawings whose mark follows a finger: the page stays still under it."""

import pytest

# The page, and what a finger drags in it.
HANDLES = {
    "index.html": ".query-plane .query .handle",
    "modules/m02_query_key_value/lesson.html": ".query-plane .query .handle",
    "modules/m03_scaled_dot_product/lesson.html": ".attention-steps .pad .handle",
    "modules/m07_position/lesson.html": ".rotary-hands [data-drag=key] .sign",
    "modules/m10_cost/lesson.html": ".cost-curves circle.now, .cost-curves .now circle",
}


@pytest.mark.parametrize("path", HANDLES)
def test_a_finger_drags_and_the_page_stays(open_page, path):
    with open_page(path, width=390, has_touch=True, is_mobile=True) as page:
        handle = page.locator(HANDLES[path]).first
        handle.evaluate("(e) => e.scrollIntoView({block: 'center', behavior: 'instant'})")
        shown = "(e) => e.closest('.widget').innerText"
        before, scrolled = handle.evaluate(shown), page.evaluate("scrollY")
        box = handle.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        touch = page.context.new_cdp_session(page)
        for kind, i in [("Start", 0), *(("Move", i) for i in range(1, 5))]:
            points = [{"x": x - 20 * i, "y": y + 25 * i}]
            touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(100)
        assert handle.evaluate(shown) != before
        assert page.evaluate("scrollY") == scrolled
