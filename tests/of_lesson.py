"""pytest plugin behind `python3 -m course test m05`: keep the tests of one lesson.

A test belongs to the lessons in its id: in its file's name (test_m05.py) or in its parameters
(modules/m05_masks/lesson.html). Where the id names no lesson, it belongs to those whose page is a
constant of its file (PAGE = "modules/m05_masks/lesson.html"). So a new lesson needs no entry here.
"""

import re

IN_ID = re.compile(r"(?<![a-zA-Z0-9])m\d\d(?![a-zA-Z0-9])")
PAGE = re.compile(r"modules/(m\d\d)_\w+/lesson")


def pytest_addoption(parser):
    parser.addoption("--lesson", action="append", help="only the tests of this lesson: m05")


def pytest_collection_modifyitems(config, items):
    if wanted := config.getoption("--lesson"):
        others = [item for item in items if lessons_of(item).isdisjoint(wanted)]
        items[:] = [item for item in items if not lessons_of(item).isdisjoint(wanted)]
        config.hook.pytest_deselected(items=others)


def lessons_of(item) -> set[str]:
    in_constants = set()
    for name, value in vars(item.module).items():
        if isinstance(value, str) and not name.startswith("__"):
            in_constants |= set(PAGE.findall(value))
    return set(IN_ID.findall(item.nodeid)) or in_constants
