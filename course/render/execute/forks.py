"""Start kernels as forks of one process that has imported what takes each of them seconds.

Run by itself as ``python forks.py DESCRIPTOR``, a socket. Only on Linux, where PyTorch works after
a fork; elsewhere, and if it fails, a kernel is started like any program.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache, partialmethod
from typing import Any, TextIO

# Nothing of a project: a kernel notes which of its files it reads.
_PRELOADED = "numpy.random", "torch", "matplotlib.pyplot", "ipykernel.kernelapp"
_PRELOADED_FOR_MANY = "torch._dynamo"  # more than a second, which a third of the lessons need
# The part of a kernel's environment that matters while modules are imported.
_ENVIRONMENT = {"PYTHONPATH": "", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
                "MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # fmt: skip
_one_asks = threading.Lock()


class ForkedKernel:
    """Mixin for a kernel manager: starts its kernel as a fork."""

    async def _async_launch_kernel(self, kernel_cmd: list[str], **options: Any) -> None:
        program, *arguments = kernel_cmd
        process = None
        if hasattr(os, "pidfd_open") and program == sys.executable and arguments[0] != "-c":
            with suppress(OSError, ValueError):
                process = _start(arguments, str(options["cwd"]), options["env"])
        if process is None:
            await super()._async_launch_kernel(kernel_cmd, **options)
            return
        self.provisioner.process = process
        self.provisioner.pid = self.provisioner.pgid = process.pid
        self._reconcile_connection_info(self.provisioner.connection_info)


class _Process:
    """The methods of ``subprocess.Popen`` that Jupyter calls, for a child of another process."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid, self._descriptor = pid, os.pidfd_open(pid)

    def __del__(self) -> None:
        if hasattr(self, "_ended"):
            os.close(self._descriptor)

    def poll(self) -> int | None:
        return -1 if select.select([self._descriptor], [], [], 0)[0] else None

    def wait(self) -> int:
        select.select([self._descriptor], [], [])
        return -1

    def send_signal(self, number: int) -> None:
        signal.pidfd_send_signal(self._descriptor, number)

    kill = partialmethod(send_signal, signal.SIGKILL)
    terminate = partialmethod(send_signal, signal.SIGTERM)


def _start(arguments: list[str], folder: str, environment: dict[str, str]) -> _Process:
    with _one_asks:  # a child that has ended keeps its number until the next request
        requests, replies = _forker(os.getpid())
        print(json.dumps([arguments, folder, environment]), file=requests, flush=True)
        return _Process(int(replies.readline()))


@cache
def _forker(_: int) -> tuple[TextIO, TextIO]:
    """Start the process that forks, which ends with this one; return files to write to and read."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        env=os.environ | _ENVIRONMENT,
        stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
    )  # fmt: skip
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.shutdown, socket.SHUT_RDWR)
    return ours.makefile("w"), ours.makefile("r")


# ---- The process that forks ----------------------------------------------------------------------


def _serve(connection: socket.socket) -> None:
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # which ipykernel reads when it is imported
    del sys.path[0]  # this folder, whose modules are none of theirs
    for name in _PRELOADED:
        importlib.import_module(name)
    for number, request in enumerate(connection.makefile("r")):
        if number == 1:
            importlib.import_module(_PRELOADED_FOR_MANY)
        if number < 2:
            gc.freeze()  # no kernel's collection need look at what is imported
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        pid = os.fork()
        if pid == 0:
            os.close(connection.detach())
            _become(*json.loads(request))
            return
        os.setpgid(pid, pid)  # so that signals to its group reach what it starts
        connection.sendall(f"{pid}\n".encode())


def _become(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Go on as ``python *arguments`` would, started in ``folder``."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.modules["numpy"].random.seed()  # or all forks would draw the same numbers
    search_path = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    if arguments[0] == "-m":
        sys.argv, sys.path[:0] = arguments[1:], [folder, *search_path]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[:0] = arguments, [os.path.dirname(arguments[0]), *search_path]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
