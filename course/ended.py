"""Turn a child process's return code into an exit status, and say what killed it.

Standard library only, in the syntax of Python 3.6: the set-up uses it.
"""

import signal
import sys

_CRASHES = {
    0xC0000005: "an access violation",
    0xC00000FD: "a stack overflow",
    0xC0000409: "a failed run-time check",
}  # Windows has no signals: a crash is a large return code, which may come as a negative one


def status_of(what, returncode):
    """Return the exit status for ``returncode``: as a shell's, 128 and the signal's number.

    ``sys.exit`` with a negative number would give an arbitrary status.
    """
    killed_by = death(returncode)
    if killed_by is None:
        return returncode
    print("{} died of {}".format(what, killed_by), file=sys.stderr)  # noqa: UP032
    return 128 - returncode if -65 < returncode < 0 else 1


def death(returncode):
    """Return what killed a process, or None if it ended by itself."""
    if -65 < returncode < 0:
        try:
            return signal.Signals(-returncode).name
        except ValueError:
            return "signal {}".format(-returncode)  # noqa: UP032
    return _CRASHES.get(returncode & 0xFFFFFFFF)
