"""The course's commands, and the functions that its lessons import."""

from importlib import import_module

_MODULES = {
    "exercise": "exercises", "show_exercises": "exercises", "fails": "expected_failure",
    "publish": "cell_output", "show_source": "cell_output", "show_table": "cell_output",
    "static_form": "cell_output", "percent": "numbers",
}  # fmt: skip
__all__ = list(_MODULES)


def __getattr__(name):
    # Imported late: the commands start at once, and on a Python without NumPy.
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
