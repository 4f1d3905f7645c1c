"""Makes .venv, installs the pinned requirements into it, and goes on inside it.

Standard library only, in the syntax of old Pythons too: this runs before anything is checked.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 13)


class SetupFailed(Exception):
    """One line that says what is missing and how to go on."""


def enter(root, arguments):
    """Return inside the project's environment; the first time, make it."""
    if os.environ.get("COURSE_NO_SETUP") == "1":
        return
    _check_python()
    venv = root / ".venv"
    if not _is_ready(root, venv):
        _make(venv)
        _install(root, venv)
        _write(venv / "course-stamp", _stamp(root))
    if Path(sys.prefix).resolve() != venv.resolve():
        _start_again(venv, arguments)


def python_of(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _check_python():
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST:
        found = ".".join(map(str, sys.version_info[:3]))
        message = "this is Python {}; the course runs on Python {}.{} to {}.{}"
        message += ": start it with one of them, such as python3.12 -m course"
        raise SetupFailed(message.format(found, *OLDEST, *NEWEST))


def _is_ready(root, venv):
    try:
        return (venv / "course-stamp").read_text(encoding="utf-8") == _stamp(root)
    except OSError:
        return False


def _stamp(root):
    """Of what is installed: the pins, and the Python that they are installed for."""
    pins = hashlib.sha256((root / "requirements.txt").read_bytes()).hexdigest()
    return "{} python {}.{}\n".format(pins, *sys.version_info)


def _make(venv):
    if python_of(venv).exists():
        return
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        raise SetupFailed(
            "this Python has no ensurepip, so it can't make an environment: install it "
            "(Debian, Ubuntu: apt install python3-venv) or use a Python from python.org"
        ) from None
    print("making {} …".format(venv), flush=True)
    try:
        import venv as venv_module

        venv_module.create(str(venv), with_pip=True)
    except OSError as error:
        raise SetupFailed(_not_writable(venv, error)) from None
    except subprocess.CalledProcessError as error:
        raise SetupFailed("could not make {}: {}".format(venv, error)) from None


def _install(root, venv):
    print("installing what requirements.txt pins (once; torch is the largest) …", flush=True)
    command = [str(python_of(venv)), "-m", "pip", "install", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "-r", str(root / "requirements.txt")], stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise SetupFailed(_not_installed(venv, done.stderr))


def _not_installed(venv, errors):
    lines = [line for line in errors.splitlines() if line.startswith("ERROR:")]
    reason = lines[-1][len("ERROR:") :].strip() if lines else errors.strip()[-500:]
    for line in lines:
        if "No matching distribution" in line or "Could not find" in line:
            reason = line[len("ERROR:") :].strip()
    return (
        "could not fetch what requirements.txt pins: {}\n"
        "With a network (or a proxy or an index in PIP_INDEX_URL), run the same command again; "
        "it goes on where it stopped.\n"
        "Without one, install the pins into any Python {}.{} to {}.{} and use that: "
        "COURSE_NO_SETUP=1 python -m course …"
    ).format(reason, *OLDEST, *NEWEST)


def _write(path, text):
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupFailed(_not_writable(path, error)) from None


def _not_writable(path, error):
    return "can't write {}: {}. Copy the course to a folder of your own.".format(
        error.filename or path, error.strerror
    )


def _start_again(venv, arguments):
    command = [str(python_of(venv)), "-m", "course", *arguments]
    if os.name != "nt":
        os.execv(command[0], command)
    try:  # Windows has no exec: it would give the prompt back at once
        sys.exit(subprocess.call(command))
    except KeyboardInterrupt:
        sys.exit(130)
