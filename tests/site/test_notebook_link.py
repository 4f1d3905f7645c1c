"""The link to a lesson's notebook: found by keyboard, and right wherever the site is served."""

import json
import shutil
from pathlib import Path

from course.serve import start_server
from tests.site.conftest import LESSON


def test_the_notebook_arrives_under_its_lessons_name_and_knows_this_site(open_page, served):
    with open_page(LESSON) as page:
        link = page.get_by_role("link", name="Notebook")
        link.focus()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == "m03_scaled_dot_product.ipynb"
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert f'SITE = \\"{served}\\"' in text
        assert "http://127.0.0.1:4200/" not in text
        assert json.loads(text)["nbformat"] == 4


def test_without_javascript_it_is_a_plain_download(open_page):
    with open_page(LESSON, live=False, java_script_enabled=False) as page:
        with page.expect_download() as download:
            page.get_by_role("link", name="Notebook").click()
        assert download.value.suggested_filename == "m03_scaled_dot_product.ipynb"


def test_from_a_subpath_it_names_the_subpath(open_page, site, tmp_path):
    shutil.copytree(site, tmp_path / "course")
    server = start_server(tmp_path, 0)
    try:
        with open_page(LESSON, base=f"{server.url}course/") as page:
            with page.expect_download() as download:
                page.get_by_role("link", name="Notebook").click()
            text = Path(download.value.path()).read_text(encoding="utf-8")
            assert f'SITE = \\"{server.url}course/\\"' in text
    finally:
        server.shutdown()
