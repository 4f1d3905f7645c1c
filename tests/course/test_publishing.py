"""`course publish`: the address, the render for it, and the workflows that use it."""

import os

import pytest
import yaml

from course.cli import parse, run
from course.publishing import address_of
from tests.conftest import ROOT

WORKFLOWS = ROOT / ".github/workflows"


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/Ann/attention.git\n", "https://ann.github.io/attention/"),
        ("git@github.com:ann/attention.git", "https://ann.github.io/attention/"),
        ("ssh://git@github.com/ann/attention", "https://ann.github.io/attention/"),
        ("https://token@github.com/ann/Ann.github.io", "https://ann.github.io/"),
        ("https://gitlab.com/ann/course.git", "https://ann.gitlab.io/course/"),
        ("https://example.org/ann/course.git", None),
        ("/somewhere/course", None),
        ("", None),
    ],
)
def test_the_address_follows_from_where_the_copy_lies(remote, address):
    assert address_of(remote) == address


@pytest.fixture
def rendered(monkeypatch):
    calls = []
    monkeypatch.setenv("COURSE_SITE_URL", "")
    monkeypatch.setattr(
        "course.render.site.render_site",
        lambda root, cell_timeout: calls.append(os.environ["COURSE_SITE_URL"]),
    )
    return calls


def test_it_renders_for_the_address_and_says_what_to_do(rendered, tmp_path, capsys):
    assert run(parse(["publish", "--url", "https://example.org/a"]), tmp_path) == 0
    assert rendered == ["https://example.org/a"]
    output = capsys.readouterr().out
    assert "ready for https://example.org/a/" in output
    assert "GitHub Actions" in output


@pytest.mark.parametrize("arguments", [[], ["--url", "example"]])
def test_without_an_address_it_asks_for_one(rendered, tmp_path, capsys, arguments):
    assert run(parse(["publish", *arguments]), tmp_path) == 1
    assert not rendered
    assert "--url https://" in capsys.readouterr().err


def jobs(name):
    return yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))["jobs"]


@pytest.mark.parametrize("name", ["test.yml", "publish.yml"])
def test_workflows_run_commands_that_there_are(name):
    lines = [s["run"] for job in jobs(name).values() for s in job["steps"] if "run" in s]
    assert lines
    for line in lines:
        if line == "npm ci":
            continue
        words = line.split()
        assert words[:3] == ["python", "-m", "course"]
        parse(words[3:])


def test_all_tests_run_with_the_packages_of_node():
    """Without them the checks of style, types and assets/vendor/ are skipped."""
    steps = jobs("test.yml")["test"]["steps"]
    node = [s for s in steps if s.get("run") == "npm ci" or "setup-node" in s.get("uses", "")]
    assert [step["if"] for step in node] == ["matrix.tests == ''"] * 2
    assert steps.index(node[-1]) < len(steps) - 1


def test_what_is_published_knows_its_address():
    steps = jobs("publish.yml")["render"]["steps"]
    render = next(step for step in steps if "run" in step)
    assert render["env"]["ADDRESS"] == "${{ steps.pages.outputs.base_url }}"
    assert '--url "$ADDRESS"' in render["run"]
    assert {"pages": "write", "id-token": "write"}.items() <= (
        yaml.safe_load((WORKFLOWS / "publish.yml").read_text("utf-8"))["permissions"].items()
    )
