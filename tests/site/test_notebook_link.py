"""The link to a lesson's notebook: found by keyboard, and right wherever the site is served."""

import json
from pathlib import Path

from tests.site.conftest import LESSON


def test_the_notebook_arrives_under_its_lessons_name_and_knows_its_site(open_page, below):
    with open_page(LESSON, base=below) as page:
        link = page.get_by_role("link", name="Notebook")
        link.focus()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == "m03_scaled_dot_product.ipynb"
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert f'SITE = \\"{below}\\"' in text
        assert "http://127.0.0.1:4200/" not in text
        assert json.loads(text)["nbformat"] == 4


def test_without_javascript_it_is_a_plain_download(open_page):
    with open_page(LESSON, live=False, java_script_enabled=False) as page:
        with page.expect_download() as download:
            page.get_by_role("link", name="Notebook").click()
        assert download.value.suggested_filename == "m03_scaled_dot_product.ipynb"
