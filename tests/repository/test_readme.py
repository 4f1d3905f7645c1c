"""README and CONTRIBUTING: the files that they name exist, and CONTRIBUTING lists every folder."""

import re

import pytest
import yaml

from course import environment
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TREE = re.search(r"^```\n(index\.qmd.*?)^```$", CONTRIBUTING, re.M | re.S)[1]
PLACEHOLDER = re.compile(r"NAME|mNN(_name)?")  # stands for any name


def exists(name: str) -> bool:
    return any(ROOT.glob(PLACEHOLDER.sub("*", name).rstrip("/")))


def named_in_the_tree():
    folders = {0: ""}
    for line in TREE.splitlines():
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        folder = folders[max(depth for depth in folders if depth <= indent)]
        names = re.split(r"\s{2,}", line.strip())[0].split(", ")
        for name in names:
            yield folder + name
            if name.endswith("/") and len(names) == 1:
                folders = {d: f for d, f in folders.items() if d <= indent}
                folders[indent + 2] = folder + name


def test_the_readme_is_read_at_a_glance():
    lessons = re.findall(r"^\| \d* ?\| \[.*\]\(modules/.*$", README, re.M)
    assert len(lessons) == len(list(ROOT.glob("modules/*/lesson.qmd")))
    assert len(README.splitlines()) - len(lessons) <= 45  # so that a new lesson fits, too


@pytest.mark.parametrize("name", list(named_in_the_tree()))
def test_the_tree_names_what_is_there(name):
    assert exists(name)


def test_each_module_of_the_course_is_in_the_tree():
    there = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("course/*.py")}
    assert there - {"course/__init__.py", "course/__main__.py"} <= set(named_in_the_tree())


def test_each_folder_is_in_the_tree():
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._"}
    unlisted = {"node_modules", "notebooks", "__pycache__"}
    for folder in there - unlisted:
        assert f"{folder}/" in TREE


FILES = re.findall(
    r"`((?:[\w.*]+/)+[\w.*-]*|[\w-]+\.(?:py|md|yml|qmd|json|toml|bib))`", CONTRIBUTING
)


FOLDERS = ("", "course/**/", "models/", "models/*/", "exercises/")  # that a row speaks of


@pytest.mark.parametrize("name", sorted(set(FILES)))
def test_contributing_names_what_is_there(name):
    assert any(exists(folder + name) for folder in FOLDERS)


def test_the_workflow_tests_every_machine_and_python_that_the_set_up_allows():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert set(matrix["os"]) == set(environment.MACHINES.values())
    (major, oldest), (_, newest) = environment.OLDEST, environment.NEWEST
    assert matrix["python"] == [f"{major}.{minor}" for minor in range(oldest, newest + 1)]
    assert matrix["tests"] == ["--quick"]
    assert [one["tests"] for one in matrix["include"]] == [""]
    assert f"Python {matrix['python'][0]} to {matrix['python'][-1]}" in README
    for words in ("Linux (x86-64 or ARM)", "Macs with Apple's processors", "Windows (x86-64)"):
        assert words in README
