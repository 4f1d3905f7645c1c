"""Start a lesson's kernel: IPython that records every project file which the lesson opens.

Run by execute.py with the project's root as working directory, as
``python kernel.py -f CONNECTION_FILE``; settings come in ``COURSE_KERNEL`` as JSON.
"""

import hashlib
import json
import os
import sys
import threading
from importlib.machinery import FileFinder, SourceFileLoader

MOST_PRINTED = 100_000  # characters; the client merges a long line ever more slowly

_importing = threading.local()  # the file whose code this thread is about to run
_NOT_SOURCES = {"__pycache__", "_site", "node_modules"}


def is_project_file(path, root):
    """True below ``root``, but not in hidden folders, environments or caches."""
    if not path.startswith(root + os.sep) or path.startswith(sys.prefix + os.sep):
        return False
    parts = path[len(root) + 1 :].split(os.sep)
    return not any(part in _NOT_SOURCES or part.startswith(".") for part in parts)


def note_reads(root, record):
    """Append each file that is opened for reading to the file ``record``, once.

    The digest is taken at that moment, as a later edit is not what the lesson read. "code" is
    what is imported, "text" what is opened in any other way, as for ``inspect.getsource``.
    """
    descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    seen = set()

    def hook(event, args):
        if event != "open" or isinstance(args[0], int):
            return
        path, mode, flags = args
        writes = set(mode) & set("wax") if mode else (flags or 0) & (os.O_WRONLY | os.O_RDWR)
        full = os.path.realpath(os.fsdecode(path))
        kind = "code" if path == getattr(_importing, "path", None) else "text"
        if not writes and (kind, full) not in seen and is_project_file(full, root):
            seen.add((kind, full))
            os.write(descriptor, f"{kind} {_digest(full)} {full}\n".encode())

    sys.addaudithook(hook)


def note_safetensors():
    """Open each file in Python before safetensors does, whose own reads raise no audit event."""
    try:
        import safetensors
    except ImportError:
        return
    unheard = safetensors.safe_open

    def safe_open(filename, *args, **kwargs):
        open(filename, "rb").close()
        return unheard(filename, *args, **kwargs)

    safetensors.safe_open = safe_open


def _digest(path):
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


class _FreshLoader(SourceFileLoader):
    """Compile from source always: bytecode dates by the second, and would hide a quick edit."""

    def get_code(self, fullname):
        path = _importing.path = self.get_filename(fullname)
        try:
            source = self.get_data(path)
        finally:
            _importing.path = None
        return self.source_to_code(source, path)


def load_project_modules_from_source(root):
    finder = FileFinder.path_hook((_FreshLoader, [".py"]))

    def hook(entry):
        if entry != root and not is_project_file(os.path.realpath(entry), root):
            raise ImportError(entry)
        return finder(entry)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


def limit_printing(shell):
    """Raise in a cell that prints more than a page can show."""
    printed = 0

    def start(*_):
        nonlocal printed
        printed = 0

    def limited(write):
        def write_limited(text):
            nonlocal printed
            printed += len(text)
            if printed > MOST_PRINTED:
                raise ValueError(f"a cell may print {MOST_PRINTED:,} characters, not more")
            return write(text)

        return write_limited

    shell.events.register("pre_run_cell", start)
    for stream in (sys.stdout, sys.stderr):
        stream.write = limited(stream.write)


def main():
    settings = json.loads(os.environ["COURSE_KERNEL"])
    root = os.getcwd()
    sys.path[0] = root  # in place of this file's folder
    note_reads(root, settings["record"])
    note_safetensors()
    load_project_modules_from_source(root)

    from ipykernel.kernelapp import IPKernelApp

    kernel = IPKernelApp.instance()
    kernel.config.InlineBackend.update(settings["InlineBackend"])
    kernel.initialize(sys.argv[1:])
    limit_printing(kernel.shell)
    kernel.start()


if __name__ == "__main__":
    main()
