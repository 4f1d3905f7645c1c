"""The modules of widgets/ import in one direction, so that each can be read by itself."""

import re
from graphlib import CycleError, TopologicalSorter

from tests.conftest import ROOT

# What is imported later, by `import()`, isn't counted: by then both modules are there.
IMPORT = re.compile(r'^(?:(?:import|export)\b[^;"]*?\bfrom|import) "(\.[^"]+)"', re.M)


def imports():
    for file in ROOT.glob("widgets/**/*.js"):
        text = file.read_text(encoding="utf-8")
        yield file, {(file.parent / name).resolve() for name in IMPORT.findall(text)}


def test_no_modules_of_the_widgets_import_one_another():
    graph = dict(imports())
    assert sum(map(len, graph.values())) > len(graph)
    assert all(file.is_file() for files in graph.values() for file in files)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " <- ".join(file.relative_to(ROOT).as_posix() for file in error.args[1])
        raise AssertionError(circle) from None
