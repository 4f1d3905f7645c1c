"""Write each lesson as a Jupyter notebook beside its page, from the same source and outputs."""

from .archive import write_notebook
from .link import has_notebook, link_html, notebook_name, site_address
from .writer import notebook_of

__all__ = [
    "has_notebook", "link_html", "notebook_name", "notebook_of", "site_address",
    "write_notebook",
]  # fmt: skip
