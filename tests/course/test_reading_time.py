"""A page's time counts what stands open on it, and stands under its title and on the front page."""

import pytest

from course.page.reading_time import minutes

OPEN = "word " * 1200  # 10 minutes
BOX = "::: {.box}\n## Title\n" + "word " * 4000 + "\n\n" + "```{python}\nx\n```\n" * 10 + ":::\n"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("A few words.", 5),
        (OPEN, 10),
        (OPEN + "word " * 360, 15),
        (OPEN + "\n\n" + BOX, 10),
        (OPEN + "\n\n```{python}\n#| echo: false\nx\n```\n" * 20, 10),
        (OPEN + "\n\n" + "```{python}\nx\n```\n\n" * 10, 15),
        (OPEN + "\n\n" + "::: {.widget #a}\n:::\n\n" * 5, 20),
        (OPEN + "\n\n::: {.prediction}\n::: {.answer}\n## A\n" + "word " * 3000 + "\n:::\n:::", 10),
        (OPEN + "\n\n::: {.box}\n## T\n" + "::: {.challenges}\n:::\n" * 5 + ":::\n", 10),
    ],
    ids=[
        "short",
        "words",
        "more",
        "box",
        "hidden cells",
        "cells",
        "widgets",
        "question",
        "boxed goals",
    ],
)
def test_what_stands_open_counts(tmp_path, text, want):
    (tmp_path / "page.qmd").write_text(f"---\ntitle: A page\n---\n{text}\n", encoding="utf-8")
    assert minutes(tmp_path, "page.qmd") == want
