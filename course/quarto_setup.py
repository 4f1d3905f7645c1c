"""Check Quarto's Python, and list the modules' names for a filter; `pre-render:` of _quarto.yml.

Standard library only: Quarto may run it with any Python, with nothing installed.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ["nbformat", "nbclient", "ipykernel", "matplotlib", "torch"]
MESSAGE = """\
the course isn't set up for Quarto yet: {python} has no {missing}.
Run this once, in the course's folder, and then the same command again:
    python3 -m course check
It makes .venv and tells Quarto of it. With an environment of your own, activated:
    python3 -m pip install -r requirements.txt"""


def missing():
    return [name for name in NEEDED if find_spec(name) is None]


def main():
    if missing():
        sys.exit(MESSAGE.format(python=sys.executable, missing=", ".join(missing())))
    sys.path[0] = str(ROOT)  # instead of this file's folder
    from course.render.read.names import write_names

    write_names(ROOT)


if __name__ == "__main__":
    main()
