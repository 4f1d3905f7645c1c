"""The cache: a page is made again exactly when content that it depends on has changed."""

import os
import py_compile
import shutil

import pytest
import torch
from safetensors.torch import save_file

from tests.engine.sites import Site, python

HEAD = "---\ntitle: Lesson\n---\n"
INCLUDE = "{{< include /_shared.qmd >}}\n"
LATE = "try: print(open('late.txt').read())\nexcept OSError: print(0)"
OWN = "import pathlib\npath = pathlib.Path('own.txt')\npath.write_text('x')\npath.read_text()"
WEIGHTS = "from safetensors.torch import load_file\nprint(load_file('w.safetensors'))"
LESSONS = {
    "module": HEAD + python("from models import helper\nprint(helper.answer())"),
    "data": HEAD + INCLUDE + python("print(open('data.txt').read())"),
    "plain": HEAD + INCLUDE + python("print(6 * 7)"),
    "files": HEAD + python(LATE) + python(OWN) + python(WEIGHTS),
    "widget": HEAD + '```{ojs}\nimport {x} from "/widgets/x.js"\n```\n',
}
MODULE, DATA, PLAIN, FILES, WIDGET = (f"lessons/{name}.qmd" for name in LESSONS)
EVERY = {"index.qmd", MODULE, DATA, PLAIN, FILES, WIDGET}


def weigh(site, number):
    save_file({"w": torch.tensor([number])}, site.root / "w.safetensors")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("cache") / "site", **LESSONS)
    site.write(
        "models/helper.py", "from models.deeper import VALUE\n\ndef answer():\n    return VALUE\n"
    )
    site.write("models/deeper.py", "VALUE = 41\n")
    site.write("models/other.py", "VALUE = 1\n")
    site.write("tests/test_helper.py", "from models import helper\n")
    site.write("data.txt", "first")
    site.write("_shared.qmd", python("shared = 1"))
    site.write("assets/vendor/ojs-runtime.js", "export const define = 1, load = 1;")
    site.write("widgets/lib/deep.js", "export const deep = 1;")
    site.write("widgets/x.js", 'import {deep} from "./lib/deep.js";\nexport const x = deep;')
    resources = "project:\n  resources: [assets/, widgets/]"
    site.edit("_quarto.yml", "project:", resources)
    weigh(site, 1.0)
    assert site.executed() == EVERY
    site.render()  # after a lesson has written its file
    return site


@pytest.fixture
def site(rendered, tmp_path):
    copy = Site.__new__(Site)
    copy.root = tmp_path / "copy"
    shutil.copytree(rendered.root, copy.root)
    return copy


def work(site):
    """Render; returns the pages that were executed, and those that were assembled alone."""
    states = site.render()
    return tuple({page for page in states if states[page] == one} for one in STATES)


STATES = "executed", "assembled"
NONE = set()
# An edit, the pages that it executes, and the pages that it assembles from cached outputs.
EDITS = {
    "nothing": (lambda site: None, NONE, NONE),
    "times": (lambda site: [site.touch(each) for each in ("models/helper.py", PLAIN)], NONE, NONE),
    "a cell": ((PLAIN, "6 * 7", "6 * 8"), {PLAIN}, NONE),
    "a cell of an include": (("_shared.qmd", "= 1", "= 2"), {DATA, PLAIN}, NONE),
    "a module": (("models/helper.py", "return VALUE", "return VALUE + 1"), {MODULE}, NONE),
    "a module's module": (("models/deeper.py", "41", "42"), {MODULE}, NONE),
    "a data file": (("data.txt", "first", "other"), {DATA}, NONE),
    "weights that Rust reads": (lambda site: weigh(site, 2.0), {FILES}, NONE),
    "a file that was missing": (lambda site: site.write("late.txt", "here"), {FILES}, NONE),
    "a pin": (("requirements.txt", "numpy==1", "numpy==2"), EVERY, NONE),
    "prose": ((PLAIN, INCLUDE, f"{INCLUDE}\nMore.\n"), NONE, {PLAIN}),
    "the bibliography": (("references.bib", "1984", "1985"), NONE, EVERY),
    "the frame's settings": (("_quarto.yml", "Small", "Smaller"), NONE, EVERY),
    "a widget's module": (("widgets/lib/deep.js", "= 1", "= 2"), NONE, {WIDGET}),
    "a stylesheet": (("style.css", "red", "blue"), NONE, NONE),
    "a test": (("tests/test_helper.py", "helper", "deeper"), NONE, NONE),
    "a page of the site": (lambda site: (site.root / "_site/index.html").unlink(), NONE, NONE),
}


@pytest.mark.parametrize(("edit", "executed", "assembled"), EDITS.values(), ids=EDITS)
def test_an_edit_makes_exactly_the_pages_concerned(site, edit, executed, assembled):
    files = site.snapshot().keys()
    edit(site) if callable(edit) else site.edit(*edit)
    assert work(site) == (executed, assembled)
    assert work(site) == (NONE, NONE)
    assert site.snapshot().keys() == files


def test_a_module_that_no_lesson_imports_runs_none(site):
    site.edit("models/other.py", "1", "2")
    assert site.executed() == set()


def test_where_nothing_changed_nothing_is_read(site, monkeypatch):
    site.render()
    monkeypatch.setattr("course.render.site.load_project", lambda root: pytest.fail("was read"))
    assert set(site.render()) == EVERY


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sys.version", "course.render.cache.engine"])
def test_another_python_or_engine_runs_all(site, monkeypatch, name):
    monkeypatch.setattr(name, "4.0" if name == "sys.version" else lambda *_: "other")
    (site.root / ".course/rendered.json").unlink()  # the engine lies elsewhere here
    assert site.executed() == EVERY


def test_undoing_an_edit_runs_nothing(site):
    for path, old, new in [("models/deeper.py", "41", "42"), (PLAIN, "6 * 7", "6 * 8")]:
        site.edit(path, old, new)
        site.render()
        site.edit(path, new, old)
        assert site.executed() == set()
    assert "41" in site.html("lessons/module.html")


def test_bytecode_that_looks_as_old_as_its_source_is_not_trusted(site):
    module = site.root / "models/deeper.py"
    time = module.stat().st_mtime
    py_compile.compile(str(module))
    site.edit("models/deeper.py", "41", "42")
    os.utime(module, (time, time))
    (site.root / ".course/rendered.json").unlink()
    assert site.executed() == {MODULE}
    assert "42" in site.html("lessons/module.html")


@pytest.mark.slow
def test_an_edit_while_a_cell_runs_is_not_lost(site):
    source = "import pathlib\npath = pathlib.Path('other.txt')\nprint(path.read_text())\n"
    site.write("other.txt", "before")
    site.write(PLAIN, HEAD + python(source + "path.write_text('after')"))
    assert site.executed() == {PLAIN}
    assert site.executed() == {PLAIN}, "it has not seen the edit yet"
    assert set(site.render().values()) == {"cached"}
