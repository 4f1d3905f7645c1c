"""Fixtures for notebooks: the lessons', a fresh kernel, and a small site."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient

from course.render.execute.forks import ForkedKernel
from tests.engine.sites import STYLE, Site


class _Kernel(ForkedKernel, KernelManager):
    """Start a kernel of this Python, whatever kernels the machine has registered."""

    @property
    def kernel_spec(self):
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="fresh", language="python")


def execute(notebook: Path, folder: Path, *, stop_at_error: bool = True) -> nbformat.NotebookNode:
    """Run ``notebook`` in a kernel started in ``folder``, like Jupyter's "Run all"."""
    fresh = nbformat.read(notebook, as_version=4)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    environment = {k: v for k, v in os.environ.items() if k not in ("COURSE_KERNEL", "PYTHONPATH")}
    manager = _Kernel()
    client = NotebookClient(
        fresh,
        km=manager,
        timeout=300,
        allow_errors=not stop_at_error,
        coalesce_streams=True,
        shutdown_kernel="immediate",
    )
    client.execute(cwd=str(folder), env=environment, cleanup_kc=True)
    return fresh


@pytest.fixture(scope="session")
def lessons(site) -> dict[str, Path]:
    """Paths by lesson: ``{"m03_scaled_dot_product": _site/…/lesson.ipynb, …}``."""
    return {path.parent.name: path for path in sorted(site.glob("modules/*/lesson.ipynb"))}


def lesson_site(root: Path, text: str, front: str = "title: A lesson") -> Site:
    """Write a small project with notebooks and the lesson modules/m01_small."""
    site = Site(root)
    config = "project:\n  post-render: course/render/quarto/post_render.py"
    site.edit("_quarto.yml", "project:", f"{config}\n  resources: [assets/]")
    site.write("style.css", f"{STYLE}\n.q, .hidden {{ color: red }}")
    site.write("assets/vendor/ojs-runtime.js", "export const define = 1, load = 1;")
    site.edit("_quarto.yml", "lessons/*.qmd", "modules/**/lesson.qmd")
    site.write("course/render/quarto/post_render.py", "")
    site.write("modules/m01_small/lesson.qmd", f"---\n{front}\n---\n{text}")
    return site
