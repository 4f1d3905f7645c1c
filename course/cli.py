"""The commands and their options; each imports its modules when it runs, in the environment."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from course.preview_address import PORT
from course.problems import Problem, Problems

DEFAULT_CELL_TIMEOUT = 300.0
_TEST_EPILOG = """\
what to test:
  m05           a lesson: its page, its exercises, its notebook
  tests/engine  a folder, a file, or one test (FILE::NAME)
  -k masks      the tests that have this in their name; -m site: those with this mark
All other options are pytest's; those with a value take it with "=": --durations=5.
Tests run in parallel unless you name a file; "-n 0" runs them in one process."""
_MACHINE_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC}
_OWN_PACKAGES = {"benchmarks", "course", "exercises", "models", "tests"}
_NOT_OPTIONS = {"command", "run"}
_NOT_SET_UP = (
    "this Python has no {}, and COURSE_NO_SETUP=1 says to install nothing: "
    "leave COURSE_NO_SETUP away, or run python -m pip install -r requirements.txt"
)


def main(arguments: Sequence[str], root: Path) -> int:
    return run(parse(arguments), root)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    chosen, more = parser.parse_known_args(arguments)
    if chosen.command == "test":
        chosen.arguments = [word for word in more if word != "--"]
    elif more:
        parser.error(f"unknown arguments: {' '.join(more)}")
    return chosen


def run(chosen: argparse.Namespace, root: Path) -> int:
    try:
        options = {key: value for key, value in vars(chosen).items() if key not in _NOT_OPTIONS}
        return _function(chosen.run)(root, **options)
    except Problems as problems:
        print(problems, file=sys.stderr)
        note = "" if chosen.command == "check" else "; nothing was written"
        print(_count(len(problems.problems)) + note, file=sys.stderr)
    except Problem as problem:
        print(problem, file=sys.stderr)
    except OSError as error:
        if error.errno not in _MACHINE_ERRORS:
            raise
        path = error.filename2 or error.filename or root
        print(f"can't write {path}: {error.strerror}", file=sys.stderr)
    except ModuleNotFoundError as error:
        if os.environ.get("COURSE_NO_SETUP") != "1" or error.name.split(".")[0] in _OWN_PACKAGES:
            raise
        print(_NOT_SET_UP.format(error.name), file=sys.stderr)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return 1


def _function(run: Callable[..., int] | str) -> Callable[..., int]:
    """Import ``course.lab:lab``; a command takes the root, and its options by name."""
    if callable(run):
        return run
    module, name = run.split(":")
    return getattr(import_module(module), name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m course", description=__doc__)
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )

    render = commands.add_parser("render", help="make the site in _site/")
    render.add_argument("--engine", choices=["embedded", "quarto"], default="embedded")
    render.set_defaults(run=_render)

    preview = commands.add_parser("preview", help="render, serve, and follow every change")
    preview.add_argument("--port", type=port, default=PORT, help="the first port to try")
    preview.add_argument("--no-browser", dest="browser", action="store_false")
    preview.set_defaults(run="course.preview:preview")

    lab = commands.add_parser("lab", help="JupyterLab, with a notebook for every lesson")
    lab.add_argument(
        "arguments", metavar="jupyter", nargs="*", help="more arguments for JupyterLab, after --"
    )
    lab.set_defaults(run="course.lab:lab")

    publish = commands.add_parser("publish", help="render for the web, and say how to publish")
    publish.add_argument("--url", help="the address that the site will have")
    publish.set_defaults(run="course.publishing:publish")

    for command in (render, preview, lab, publish):
        command.add_argument(
            "--cell-timeout", type=float, default=DEFAULT_CELL_TIMEOUT, metavar="SECONDS"
        )

    check = commands.add_parser("check", help="find mistakes without executing anything")
    check.set_defaults(run=_check)

    test = commands.add_parser(
        "test", help="run the tests: all, or those you name", epilog=_TEST_EPILOG,
        usage="python3 -m course test [--quick] [--site DIR] [LESSON] [PATH] [-k NAME] [-m MARK]",
        allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    test.add_argument("--quick", action="store_true", help="leave out the tests marked slow")
    test.add_argument("--site", metavar="DIR", help="test this rendered site, not a fresh one")
    test.set_defaults(run="course.testing:run_tests")

    rooms = commands.add_parser("rooms", help="measure the room that each widget takes")
    rooms.set_defaults(run="course.rooms:write_rooms")

    exercise = commands.add_parser("exercise", help="check your answers; alone: your progress")
    exercise.add_argument("module", nargs="?", help="such as m03")
    exercise.add_argument("task", nargs="?", help="for --hint and --solution")
    exercise.add_argument("--hint", action="store_true", help="one more hint each time")
    exercise.add_argument("--solution", action="store_true", help="the worked solution, and why")
    exercise.add_argument("--seed", type=int, help="repeat the inputs of an earlier check")
    exercise.set_defaults(run=_exercise)

    train = commands.add_parser("train", help="train one of models/ again")
    train.add_argument("name", metavar="NAME", help="a folder of models/, such as grammar")
    books = "the books that storyteller learns from, .txt files"
    train.add_argument("--text", type=Path, metavar="DIR", help=books)
    train.set_defaults(run="course.train:train_model")

    bench = commands.add_parser("bench", help="time attention.py against PyTorch's own")
    bench.add_argument(
        "arguments", metavar="benchmark", nargs="*", help="more arguments for it, after --"
    )
    bench.set_defaults(run=_bench)
    return parser


def port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port; ports go from 0 to 65535")
    return port


def _render(root: Path, engine: str, cell_timeout: float) -> int:
    started = time.perf_counter()
    if engine == "quarto":
        from course.render.quarto.render_project import render_with_quarto

        return render_with_quarto(root, cell_timeout=cell_timeout)
    from course.render.site import render_site

    render_site(root, cell_timeout=cell_timeout)
    print(f"_site/ is ready ({time.perf_counter() - started:.1f} s)")
    return 0


def _check(root: Path) -> int:
    from course.check.pages import read_site
    from course.lessons import lesson_mistakes
    from course.render.read.project import load_project

    project = load_project(root)
    pages, problems = read_site(project)
    if problems := [*problems, *lesson_mistakes(project, pages)]:
        raise Problems(problems)
    print(f"{len(pages)} pages, nothing wrong")
    return 0


def _exercise(
    root: Path, module: str | None, task: str | None, hint: bool, solution: bool, seed: int | None
) -> int:
    from course.exercises import report

    if module is None:
        report.progress()
    elif hint:
        report.hint(module, task)
    elif solution:
        report.solution(module, task)
    else:
        return 0 if report.report(module, seed=seed) else 1
    return 0


def _bench(root: Path, arguments: Sequence[str]) -> int:
    return import_module("benchmarks.attention").main(arguments)


def _count(problems: int) -> str:
    return "1 problem" if problems == 1 else f"{problems} problems"
