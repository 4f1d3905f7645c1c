"""Open JupyterLab on copies of the lessons' notebooks, in a folder that is the learner's own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from course.preview_address import PORT
from course.render.site import render_site
from course.serve import SiteServer

_RECORD = ".given.json"  # digest of each notebook when it was copied
_SETTINGS = Path(__file__).with_name("jupyter")  # turn off news and updates from other hosts
# End at once on Ctrl-C, and print little but the address.
_OPTIONS = ("--ServerApp.answer_yes=True", "--log-level=ERROR")


def lab(root: Path, *, cell_timeout: float, arguments: Sequence[str]) -> int:
    render_site(root, cell_timeout=cell_timeout)
    folder = root / "notebooks"
    for line in copy_notebooks(root / "_site", folder):
        print(line, flush=True)
    paths = [str(_SETTINGS), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    from jupyterlab.labapp import main as jupyterlab

    print("JupyterLab is starting (Ctrl-C ends)", flush=True)
    with _serve(root / "_site"):
        jupyterlab([*_OPTIONS, *arguments, str(folder)])
    print("\nstopped")
    return 0


def copy_notebooks(site: Path, folder: Path) -> list[str]:
    """Copy each lesson's notebook into ``folder``; returns messages for the terminal.

    A notebook whose cells the learner changed stays, and the copy gets another name.
    """
    folder.mkdir(exist_ok=True)
    record = _read(folder / _RECORD)
    messages = []
    for source in sorted(site.glob("modules/*/lesson.ipynb")):
        fresh = source.read_bytes()
        first = f"{source.parent.name}.ipynb"
        names = _names(source.parent.name)
        name = next(name for name in names if _is_free(folder / name, fresh, record))
        (folder / name).write_bytes(fresh)
        record[name] = _digest(fresh)
        if name != first:
            messages.append(f"you changed notebooks/{first}: it stays, and the fresh one is {name}")
    (folder / _RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return messages


def _names(lesson: str) -> Iterator[str]:
    yield f"{lesson}.ipynb"
    yield f"{lesson}.fresh.ipynb"
    yield from (f"{lesson}.fresh-{number}.ipynb" for number in count(2))


def _is_free(path: Path, fresh: bytes, record: dict[str, str]) -> bool:
    """True if writing to ``path`` overwrites no work of the learner's."""
    if not path.exists():
        return True
    current = _digest(path.read_bytes())
    return current in (_digest(fresh), record.get(path.name))


def _digest(notebook: bytes) -> str:
    """Digest the cells without outputs and settings, which Jupyter changes on opening the file."""
    try:
        work = [
            [cell["cell_type"], "".join(cell["source"]), cell.get("attachments")]
            for cell in json.loads(notebook)["cells"]  # Jupyter saves a source as a list of lines
        ]
    except (ValueError, KeyError, TypeError):
        return "not a notebook"
    return hashlib.sha256(json.dumps(work).encode()).hexdigest()


def _read(path: Path) -> dict[str, str]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}  # without a record, each changed file counts as the learner's
    return record if isinstance(record, dict) else {}


@contextlib.contextmanager
def _serve(site: Path) -> Iterator[None]:
    """Serve ``site`` at the notebooks' address; if that is taken, `preview` is serving it."""
    try:
        server = SiteServer(site, PORT, live=False)
    except OSError:
        yield
        return
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
