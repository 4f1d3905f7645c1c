"""Run a page's Python, its cells and its inline expressions, in order, in a fresh kernel."""

import json
import logging
import os
import re
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from course.problems import Problem
from course.render.read.page_source import Cell, Page
from course.render.read.project import Project

from .forks import ForkedKernel
from .inline import values_of

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colours
_ATTEMPTS = 3  # a port may be taken between its choice and the kernel's use of it
_MOST_PRINTED = 100_000  # characters of a cell
_FIGURES = {
    "figure_formats": ["svg", "retina"],  # PNG too: Jupyter trusts no SVG of another's notebook
    # A fixed salt and no date make the SVG of a figure the same bytes each time.
    "rc": {"figure.figsize": [7, 5], "figure.dpi": 96, "svg.hashsalt": "course"},
    "print_figure_kwargs": {"bbox_inches": "tight", "metadata": {"Date": None}},
}

_running: set[AsyncKernelManager] = set()
_stopped = threading.Event()


@dataclass(frozen=True)
class Execution:
    outputs: list[list[dict[str, Any]]]  # of each cell, in nbformat's form
    reads: dict[str, str | None]  # files that the kernel opened -> digest, None if missing
    values: list[str]  # of each `{python} expression` of the text, as Markdown


class CellFailed(Problem):
    """A cell raised, hung or ended its kernel; ``detail`` is the traceback."""

    def __init__(self, cell: Cell, what: str, detail: str = "") -> None:
        name = f'cell "{cell.label}"' if cell.label else "unlabelled cell"
        # The first frame of the traceback is in the cell.
        own = re.search(r"Cell In\[\d+\], line (\d+)", detail)
        line = cell.line + int(own[1]) - 1 if own else cell.line
        super().__init__(cell.path, line, f"{name} {what}")
        self.detail = detail

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.detail}".rstrip()


class _NotStarted(Problem):
    """The kernel ended or fell silent before its first cell."""

    def __init__(self, error: RuntimeError) -> None:
        super().__init__("the kernel", None, f"could not be started: {error}")


class _LessonKernel(ForkedKernel, AsyncKernelManager):
    """Start kernel.py with this Python, whatever kernels the machine has registered."""

    @property
    def kernel_spec(self) -> KernelSpec:
        script = Path(__file__).with_name("kernel.py")
        argv = [sys.executable, str(script), "-f", "{connection_file}"]
        encrypted = {"supported_encryption": "curve"}
        return KernelSpec(argv=argv, display_name="lesson", language="python", metadata=encrypted)


def execute(project: Project, page: Page, *, cell_timeout: float) -> Execution:
    for _ in range(_ATTEMPTS - 1):
        with suppress(_NotStarted):
            return _execute(project, page, cell_timeout)
    return _execute(project, page, cell_timeout)


def _execute(project: Project, page: Page, cell_timeout: float) -> Execution:
    notebook = new_notebook(cells=[new_code_cell(cell.source) for cell in page.cells("python")])
    positions, values = count(), []
    (scratch := project.root / ".course").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as folder:
        record = Path(folder) / "reads.txt"
        manager = _LessonKernel(transport_encryption="auto")
        client = NotebookClient(
            notebook, km=manager, shutdown_kernel="immediate",
            timeout_func=lambda _: cell_timeout,
            log=logging.Logger("silent", logging.CRITICAL + 1),
        )  # fmt: skip
        _running.add(manager)
        try:
            environment = _environment(folder, record)
            with client.setup_kernel(cwd=str(project.root), env=environment, cleanup_kc=True):
                for run in page.runs:
                    if isinstance(run, Cell):
                        _run_cell(client, next(positions), run, cell_timeout)
                    else:
                        values += values_of(client, run, cell_timeout)
        except RuntimeError as error:
            raise _NotStarted(error) from None
        finally:
            _running.discard(manager)
        outputs = [cell.outputs for cell in notebook.cells]
        return Execution(outputs, _reads(record, project.root), values)


def kill_kernels() -> None:
    """Kill all running kernels, so that Ctrl-C need not wait for the longest cell."""
    _stopped.set()
    for manager in list(_running):
        if pid := getattr(manager.provisioner, "pid", None):
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def _run_cell(client: NotebookClient, position: int, cell: Cell, limit: float) -> None:
    if _stopped.is_set():
        raise CellFailed(cell, "was not run")
    try:
        client.execute_cell(client.nb.cells[position], position)
    except CellExecutionError as error:
        detail = _ANSI.sub("", error.traceback)
        raise CellFailed(cell, f"raised {error.ename}: {error.evalue}", detail) from None
    except CellTimeoutError:
        raise CellFailed(cell, f"was stopped: it ran past its limit of {limit:g} s") from None
    except DeadKernelError:
        raise CellFailed(cell, "ended its kernel (crashed, was killed, or called exit)") from None
    ran = client.nb.cells[position]
    ran.outputs = _merge_streams(ran.outputs)
    for output in ran.outputs:
        _refuse_unknown_types(cell, output)
        for texts, key in ((output, "text"), (output.get("data", {}), "text/plain")):
            if key in texts:
                texts[key] = _ANSI.sub("", texts[key])


def _merge_streams(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join what a cell printed: Jupyter sends it in pieces, and mixes the two streams."""
    merged: list[dict[str, Any]] = []
    for output in outputs:
        stream = output.get("name")
        same = [earlier for earlier in merged if stream and earlier.get("name") == stream]
        if same:
            same[0]["text"] += output["text"]
        else:
            merged.append(output)
    return merged


def _refuse_unknown_types(cell: Cell, output: dict[str, Any]) -> None:
    known = {"text/plain", "text/markdown", "image/png", "image/svg+xml"}
    if (printed := len(output.get("text", ""))) > _MOST_PRINTED:
        raise CellFailed(cell, f"prints {printed:,} characters; a page shows {_MOST_PRINTED:,}")
    for mime in output.get("data", {}):
        if mime == "text/html":
            message = "shows text/html, which Quarto serves with scripts from another host"
            raise CellFailed(cell, f"{message}; show text/markdown or a figure instead")
        if mime not in known:
            raise CellFailed(cell, f"shows {mime}, which pages don't support")


def _environment(folder: str, record: Path) -> dict[str, str]:
    return {
        # Lessons run in parallel. With a thread for every processor in each, the threads waited
        # for one another, and all lessons together took three times as long.
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "COURSE_KERNEL": json.dumps({"InlineBackend": _FIGURES, "record": str(record)}),
        "IPYTHONDIR": str(Path(folder) / "ipython"),  # without the user's start-up files
        "JUPYTER_RUNTIME_DIR": folder,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
    }


def _reads(record: Path, root: Path) -> dict[str, str | None]:
    pairs = (line.split(" ", 1) for line in record.read_text(encoding="utf-8").splitlines())
    return {Path(path).relative_to(root).as_posix(): hashed or None for hashed, path in pairs}
