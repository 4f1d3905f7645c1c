"""Add notebooks and mentions to Quarto's pages; run by Quarto as `post-render:` of _quarto.yml."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)  # instead of this file's folder

from course.problems import Problem, Problems  # noqa: E402
from course.render.quarto.render_project import add_mentions, add_notebooks  # noqa: E402

try:
    pages = os.environ["QUARTO_PROJECT_OUTPUT_FILES"].splitlines()
    limit = os.environ.get("COURSE_CELL_TIMEOUT")  # of `course render`, not of `quarto preview`
    add_notebooks(ROOT, pages, cell_timeout=float(limit) if limit else None)
    add_mentions(ROOT)
except (Problem, Problems) as error:
    sys.exit(str(error))
