"""Write each lesson as a Jupyter notebook beside its page, from the same source and outputs."""

from .archive import write_notebook
from .link import SITE, has_notebook, link_html, notebook_name
from .writer import notebook_of

__all__ = [
    "SITE", "has_notebook", "link_html", "notebook_name", "notebook_of", "write_notebook",
]  # fmt: skip
