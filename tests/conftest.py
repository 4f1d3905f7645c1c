"""What the tests of pages share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def site() -> Path:
    """``--site DIR`` of ``python3 -m course test``, or the site as it renders now."""
    if given := os.environ.get("COURSE_SITE"):
        return Path(given)
    from course.render.site import render_site

    render_site(ROOT, cell_timeout=300)
    return ROOT / "_site"
