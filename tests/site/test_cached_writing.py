"""m12's storyteller writes with its cache and without, in a real browser."""

import re

from playwright.sync_api import expect

PAGE = "modules/m12_inference/lesson.html"


def test_it_writes_the_same_text_twice_and_can_be_stopped(open_page):
    with open_page(PAGE) as page:
        widget = page.locator("#cached-writing .widget-live")
        write, texts = widget.locator(".write"), widget.locator(".lane .text")
        write.click()
        expect(write).to_have_text("Stop")
        expect(texts.first).to_have_text(re.compile("Once upon a time.{20}", re.DOTALL))
        write.click()
        expect(write).to_have_text("Write")
        write.click()
        verdict = widget.locator(".verdict")
        verdict.wait_for(timeout=90_000)  # `expect` would describe the page at each look
        assert verdict.inner_text() == "Both wrote the same text."
        assert texts.first.inner_text() == texts.last.inner_text()
        speeds = [
            int(text.split()[0].replace(",", ""))
            for text in widget.locator(".lane .speed").all_inner_texts()
        ]
        assert speeds[0] > 3 * speeds[1]
