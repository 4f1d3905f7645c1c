"""The cache: a lesson runs again exactly when content that its output depends on has changed."""

import os
import py_compile
import shutil
import time

import pytest
import torch
from safetensors.torch import save_file

from course.render import cache
from tests.engine.sites import Site, python

HEAD = "---\ntitle: Lesson\n---\n"
LESSONS = {
    "module": HEAD + python("import helper\nprint(helper.answer())"),
    "data": HEAD + "{{< include /_shared.qmd >}}\n" + python("print(open('data.txt').read())"),
    "plain": HEAD + "{{< include /_shared.qmd >}}\n" + python("print(6 * 7)"),
}
MODULE, DATA, PLAIN = (f"lessons/{name}.qmd" for name in LESSONS)
EVERY = {MODULE, DATA, PLAIN}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("cache") / "site", **LESSONS)
    site.write("helper.py", "from deeper import VALUE\n\ndef answer():\n    return VALUE\n")
    site.write("deeper.py", "VALUE = 41\n")
    site.write("data.txt", "first")
    site.write("_shared.qmd", python("shared = 1"))
    assert site.executed() == {"index.qmd", *EVERY}
    return site


@pytest.fixture
def site(rendered, tmp_path):
    copy = Site.__new__(Site)
    copy.root = tmp_path / "copy"
    shutil.copytree(rendered.root, copy.root)
    return copy


def test_nothing_changed_runs_nothing(site):
    before = site.snapshot()
    assert set(site.render().values()) == {"cached"}
    assert site.snapshot() == before


def test_where_no_file_was_touched_nothing_is_read(site, monkeypatch):
    time.sleep(0.1)  # an edit in the same tick of the clock would not show
    site.render()
    monkeypatch.setattr("course.render.site.load_project", lambda root: pytest.fail("was read"))
    assert set(site.render()) == {*EVERY, "index.qmd"}


def test_an_edit_that_keeps_size_and_time_is_seen(site):
    time.sleep(0.1)
    site.render()
    then = (site.root / "data.txt").stat().st_mtime_ns
    site.edit("data.txt", "first", "other")
    os.utime(site.root / "data.txt", ns=(then, then))
    assert site.executed() == {DATA}


def test_touching_without_editing_runs_nothing(site):
    for path in [*EVERY, "helper.py", "data.txt", "_shared.qmd", "requirements.txt", "_quarto.yml"]:
        site.touch(path)
    assert set(site.render().values()) == {"cached"}


EDITS = {
    "a module": ("helper.py", "return VALUE", "return VALUE + 1", {MODULE}),
    "a module's module": ("deeper.py", "41", "42", {MODULE}),
    "an include": ("_shared.qmd", "shared = 1", "shared = 2", {DATA, PLAIN}),
    "a data file": ("data.txt", "first", "other", {DATA}),
    "a pin": ("requirements.txt", "numpy==1", "numpy==2", {*EVERY, "index.qmd"}),
    "a cell": (PLAIN, "6 * 7", "6 * 8", {PLAIN}),
    "what figures are made of": (
        "_quarto.yml", "    toc: true", "    toc: true\n    fig-dpi: 50", {*EVERY, "index.qmd"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "concerned"), EDITS.values(), ids=EDITS)
def test_an_edit_runs_exactly_the_lessons_concerned(site, path, old, new, concerned):
    site.edit(path, old, new)
    assert site.executed() == concerned
    assert set(site.render().values()) == {"cached"}


def test_a_comment_in_a_module_runs_nothing_but_its_docstring_does(site):
    site.edit("helper.py", "def answer", "# as everyone knows\n\n\ndef answer")
    assert site.executed() == set()
    site.edit("helper.py", "    return", '    """42"""\n    return')
    assert site.executed() == {MODULE}


@pytest.mark.slow
def test_a_comment_counts_where_the_lesson_shows_the_source(site):
    shown = "import inspect, helper\nprint(inspect.getsource(helper.answer))"
    site.write(PLAIN, HEAD + python(shown))
    site.render()
    site.edit("helper.py", "return VALUE", "return VALUE  # as everyone knows")
    assert site.executed() == {PLAIN}
    assert "everyone" in site.html("lessons/plain.html")


@pytest.mark.slow
def test_undoing_an_edit_runs_nothing(site):
    for path, old, new in [("deeper.py", "41", "42"), (PLAIN, "6 * 7", "6 * 8")]:
        site.edit(path, old, new)
        site.render()
        site.edit(path, new, old)
        assert site.executed() == set()
    assert "41" in site.html("lessons/module.html")


def test_an_answer_is_remembered_until_its_text_or_the_engine_changes(tmp_path, monkeypatch):
    asked = []

    def twice(text):
        asked.append(text)
        if text == "wrong":
            raise ValueError("no answer")
        return [text, text]

    for _ in range(2):
        assert cache.remembered(tmp_path, twice, "a") == ["a", "a"]
        assert cache.remembered(tmp_path, twice, "b") == ["b", "b"]
        with pytest.raises(ValueError, match="no answer"):
            cache.remembered(tmp_path, twice, "wrong")
    assert asked == ["a", "b", "wrong", "wrong"]
    monkeypatch.setattr(cache, "whole_engine", lambda: "other")
    cache.remembered(tmp_path, twice, "a")
    assert asked[-1] == "a"


def test_a_folder_that_cannot_be_written_remembers_nothing(tmp_path):
    (tmp_path / ".course").write_text("a file")
    assert cache.remembered(tmp_path, str.upper, "a") == "A"


@pytest.mark.slow
def test_a_few_executions_are_kept(site):
    for number in range(43, 50):
        site.edit("deeper.py", str(number - 2) if number == 43 else str(number - 1), str(number))
        site.render()
    kept = list((site.root / ".course/pages/lessons--module").glob("execution-*"))
    assert len(kept) == 4


def test_the_new_output_is_in_the_page(site):
    assert "41" in site.html("lessons/module.html")
    site.edit("deeper.py", "41", "42")
    site.render()
    assert "42" in site.html("lessons/module.html")


@pytest.mark.slow
def test_weights_that_are_read_outside_of_python_count_too(site):
    def weigh(*numbers):
        save_file({"w": torch.tensor(numbers)}, site.root / "w.safetensors")

    weigh(1.0)
    code = "from safetensors.torch import load_file\nprint(load_file('w.safetensors'))"
    site.write(PLAIN, HEAD + python(code))
    assert site.executed() == {PLAIN}
    assert set(site.render().values()) == {"cached"}
    weigh(2.0)
    assert site.executed() == {PLAIN}
    assert "tensor([2.])" in site.html("lessons/plain.html")


def test_bytecode_that_looks_as_old_as_its_source_is_not_trusted(site):
    module = site.root / "deeper.py"
    time = module.stat().st_mtime
    py_compile.compile(str(module))
    site.edit("deeper.py", "41", "42")
    os.utime(module, (time, time))
    assert site.executed() == {MODULE}
    assert "42" in site.html("lessons/module.html")


@pytest.mark.slow
def test_another_python_runs_all(site, monkeypatch):
    monkeypatch.setattr("sys.version", "4.0")
    assert site.executed() >= EVERY


@pytest.mark.slow
def test_another_engine_runs_all(site, monkeypatch):
    monkeypatch.setattr("course.render.cache.executing_engine", lambda: "other")
    assert site.executed() >= EVERY


def test_prose_is_assembled_again_but_no_cell_runs(site):
    site.write(PLAIN, (site.root / PLAIN).read_text(encoding="utf-8") + "\nMore.\n")
    states = site.render()
    assert states.pop(PLAIN) == "assembled"
    assert set(states.values()) == {"cached"}
    assert "More." in site.html("lessons/plain.html")


@pytest.mark.parametrize("path", ["references.bib", "_quarto.yml"])
def test_what_only_pages_are_made_of_runs_no_cell(site, path):
    site.write(path, (site.root / path).read_text(encoding="utf-8") + "\n")
    assert set(site.render().values()) == {"assembled"}


@pytest.mark.slow
def test_a_file_that_comes_to_be_counts_as_a_change(site):
    site.write(
        PLAIN, HEAD + python("try: print(open('late.txt').read())\nexcept OSError: print(0)")
    )
    assert site.executed() == {PLAIN}
    site.write("late.txt", "here")
    assert site.executed() == {PLAIN}


@pytest.mark.slow
def test_an_edit_while_a_cell_runs_is_not_lost(site):
    source = "import pathlib\npath = pathlib.Path('other.txt')\nprint(path.read_text())\n"
    site.write("other.txt", "before")
    site.write(PLAIN, HEAD + python(source + "path.write_text('after')"))
    assert site.executed() == {PLAIN}
    assert site.executed() == {PLAIN}, "it has not seen the edit yet"
    assert set(site.render().values()) == {"cached"}


def test_a_file_that_the_lesson_itself_writes_and_reads_is_no_change(site):
    source = "import pathlib\npath = pathlib.Path('own.txt')\npath.write_text('x')\n"
    site.write(PLAIN, HEAD + python(source + "path.read_text()"))
    assert site.executed() == {PLAIN}
    assert set(site.render().values()) == {"cached"}


def test_a_deleted_page_file_comes_back(site):
    (site.root / "_site/lessons/plain.html").unlink()
    assert set(site.render().values()) == {"cached"}
    assert "42" in site.html("lessons/plain.html")


@pytest.mark.slow
def test_lost_figures_are_made_again(site):
    figure = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"
    site.write(PLAIN, HEAD + python(figure, label="fig-x", fig_cap="x", fig_alt="x"))
    site.render()
    name = "plain_files/figure-html/fig-x-output-1.png"
    for path in site.root.joinpath(".course").rglob("fig-x*"):
        path.unlink()
    assert site.render()[PLAIN] == "assembled"
    assert (site.root / "_site/lessons" / name).is_file()


@pytest.mark.slow
def test_an_edited_widget_is_assembled_into_its_own_pages_alone(site):
    site.write("assets/vendor/ojs-runtime.js", "export const define = 1, load = 1;")
    site.write("widgets/lib/deep.js", "export const deep = 1;")
    site.write("widgets/x.js", 'import {deep} from "./lib/deep.js";\nexport const x = deep;')
    config = (site.root / "_quarto.yml").read_text(encoding="utf-8")
    resources = "project:\n  resources: [assets/, widgets/]"
    site.write("_quarto.yml", config.replace("project:", resources, 1))
    cell = '```{ojs}\nimport {x} from "/widgets/x.js"\n```\n'
    site.write(PLAIN, HEAD + cell)
    site.render()
    site.write("widgets/lib/deep.js", "export const deep = 2;")
    states = site.render()
    assert states.pop(PLAIN) == "assembled"
    assert set(states.values()) == {"cached"}


@pytest.mark.slow
def test_lessons_that_run_side_by_side_have_a_thread_each(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    page = HEAD + python("import os\nprint('threads:', os.environ['OMP_NUM_THREADS'])")
    site = Site(tmp_path / "site", page=page)
    site.render()
    assert "threads: 1" in (site.root / "_site/lessons/page.html").read_text("utf-8")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # a reader's own choice
    site.write("lessons/page.qmd", page + "\n" + python("1"))
    site.render()
    assert "threads: 2" in (site.root / "_site/lessons/page.html").read_text("utf-8")
