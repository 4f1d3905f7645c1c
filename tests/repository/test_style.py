"""The style of Python (ruff), tests and JavaScript (Biome, length of lines), and its types."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.node import missing_for_a_build

ROOT = Path(__file__).parents[2]
TSC = ROOT / "node_modules/typescript/bin/tsc"
BIOME = ROOT / "node_modules/@biomejs/biome/bin/biome"
LONGEST = 200  # letters of a line of JavaScript
# Without annotations TypeScript can't know which element a selector finds, which options have no
# default, or how a callback is called.
UNKNOWABLE = re.compile(
    r"error TS(2322|2345|2554):"
    r"|does not exist on type '(Element|EventTarget|\(Anonymous function\)|\{\}|\{ \w+\?: .*\})'"
)


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=" ".join)
def test_ruff_finds_nothing(command):
    run = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_lessons_are_held_to_numbers_and_not_to_sentences():
    """Whoever words a sentence anew breaks no test: ``shows`` and ``in_order`` look for numbers."""
    quoted = []
    for file in sorted(ROOT.glob("tests/lessons/*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                parts = (str(x.value) for x in ast.walk(node.left) if isinstance(x, ast.Constant))
                if len(re.findall(r"\b[A-Za-z]{2,}\b", " ".join(parts))) >= 4:
                    quoted.append(f"{file.name}:{node.lineno}")
    assert quoted == []


def test_no_test_is_part_of_another():
    """What two tests share stands in a module of its own: one that fails to import fails one."""
    pattern = re.compile(r"^ *(?:from|import) .*\btest_.*", re.M)
    shared = {
        f"{file.relative_to(ROOT).as_posix()}: {line}"
        for file in ROOT.glob("tests/**/*.py")
        for line in pattern.findall(file.read_text(encoding="utf-8"))
    }
    assert not shared


def test_biome_finds_nothing():
    if reason := missing_for_a_build():
        pytest.skip(reason)
    run = subprocess.run(["node", BIOME, "check"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_line_of_the_widgets_is_too_long():
    """Biome leaves templates as they are, so that one can grow to several hundred letters."""
    files = {file.relative_to(ROOT).as_posix(): file for file in ROOT.glob("widgets/**/*.js")}
    long = [
        f"{name}:{number} has {len(line)} letters"
        for name in sorted(files)
        for number, line in enumerate(files[name].read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST
    ]
    assert long == []


@pytest.fixture(scope="module")
def type_errors():
    if reason := missing_for_a_build():
        pytest.skip(reason)

    def errors(project: Path) -> list[str]:
        run = subprocess.run(["node", TSC, "-p", project], capture_output=True, text=True)
        lines = [line for line in run.stdout.splitlines() if " error TS" in line]
        assert lines or not run.returncode, run.stdout + run.stderr
        return [line for line in lines if not UNKNOWABLE.search(line)]

    return errors


def test_typescript_finds_nothing_in_the_widgets(type_errors):
    assert type_errors(ROOT) == []


SLIPS = {
    "const words = ['a'];\nexport const many = words.lenght;": "'lenght' does not exist",
    "export const root = Math.sqr(4);": "'sqr' does not exist",
    "export const sum = (a, b) => a + c;": "Cannot find name 'c'",
    "import {doubel} from './math.js';\nexport const four = doubel(2);": "no exported member",
    "const one = 1;\nexport const two = () => { one = 2; };": "Cannot assign to 'one'",
}


@pytest.mark.slow
def test_typescript_would_find_a_slip(type_errors, tmp_path):
    shutil.copy(ROOT / "tsconfig.json", tmp_path)
    (tmp_path / "widgets").mkdir()
    (tmp_path / "widgets/math.js").write_text("export const double = (x) => 2 * x;\n")
    for number, slip in enumerate(SLIPS):
        (tmp_path / f"widgets/slip{number}.js").write_text(slip)
    errors = type_errors(tmp_path)
    assert len(errors) == len(SLIPS)
    for error, message in zip(sorted(errors), SLIPS.values(), strict=True):
        assert message in error
