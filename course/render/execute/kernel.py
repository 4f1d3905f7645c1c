"""Start a page's kernel: IPython that notes every project file which the page opens.

Run by cells.py as ``python kernel.py -f CONNECTION_FILE`` in the project's root; settings come
in ``COURSE_KERNEL`` as JSON.
"""

import hashlib
import json
import os
import sys
from importlib.machinery import SourceFileLoader

_NOT_SOURCES = {"__pycache__", "_site", "node_modules"}
_WRITES = os.O_WRONLY | os.O_RDWR


def is_project_file(path, root):
    """True below ``root``, but not in hidden folders, environments or caches."""
    if not path.startswith(root + os.sep) or path.startswith(sys.prefix + os.sep):
        return False
    parts = path[len(root) + 1 :].split(os.sep)
    return not any(part in _NOT_SOURCES or part.startswith(".") for part in parts)


def note_reads(root, record):
    """Append each file that is opened for reading, and its digest, to the file ``record``, once.

    The digest is taken at that moment, as a later edit is not what the page read.
    """
    descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    seen = {os.path.realpath(__file__)}

    def hook(event, args):
        if event != "open" or isinstance(args[0], int):
            return
        path, _, flags = args
        full = os.path.realpath(os.fsdecode(path))
        if not (flags or 0) & _WRITES and full not in seen and is_project_file(full, root):
            seen.add(full)
            os.write(descriptor, f"{_digest(full)} {full}\n".encode())

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


def compile_project_modules(root):
    """Use no bytecode of the project: it dates by the second, and its source is not opened."""
    stats = SourceFileLoader.path_stats

    def path_stats(loader, path):
        if is_project_file(os.path.realpath(path), root):
            raise OSError("without a date, Python compiles the source")
        return stats(loader, path)

    SourceFileLoader.path_stats = path_stats


def main():
    settings = json.loads(os.environ["COURSE_KERNEL"])
    root = os.getcwd()
    sys.path[0] = root  # instead of this file's folder
    note_reads(root, settings["record"])
    note_safetensors()
    compile_project_modules(root)

    from ipykernel.kernelapp import IPKernelApp
    from zmq import ZMQError

    kernel = IPKernelApp.instance()
    kernel.config.InlineBackend.update(settings["InlineBackend"])
    try:
        kernel.initialize(sys.argv[1:])
    except ZMQError:  # a port was taken meanwhile; cells.py starts another kernel
        os._exit(1)  # an ordinary exit may wait for a thread, and cells.py a minute for it
    kernel.start()


if __name__ == "__main__":
    main()
