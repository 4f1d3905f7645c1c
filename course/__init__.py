"""The course's commands, and the functions that its lessons import."""

from importlib import import_module

_MODULES = {
    "exercise": "exercises", "show_exercises": "exercises", "fails": "page.expected_failure",
    "publish": "page.cell_output", "show_source": "page.cell_output",
    "show_table": "page.cell_output", "show_fallback": "page.cell_output",
    "percent": "page.numbers", "plots": "page.plots", "costs": "page.costs",
}  # fmt: skip
__all__ = list(_MODULES)


def __getattr__(name):
    # Imported late: the commands start at once, and on a Python without NumPy.
    if name in _MODULES:
        module = import_module(f".{_MODULES[name]}", __name__)
        return getattr(module, name, module)  # plots and costs are modules
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
