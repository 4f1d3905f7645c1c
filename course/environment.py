"""Make .venv, install the pinned requirements into it, and restart the command inside it.

Standard library only, in the syntax of Python 3.6: it runs before the version is checked.
"""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

from course.ended import death, status_of

# The platforms with a wheel for every pin, by platform.system() and platform.machine();
# .github/workflows tests each, with OLDEST to NEWEST.
MACHINES = {
    ("Linux", "x86_64"): "ubuntu-latest",
    ("Linux", "aarch64"): "ubuntu-24.04-arm",
    ("Darwin", "arm64"): "macos-latest",
    ("Windows", "AMD64"): "windows-latest",
}
OLDEST, NEWEST = (3, 11), (3, 13)
_RANGE = "3.11 to 3.13"
_MARK = "# Written by python3 -m course."


class SetupError(Exception):
    """A message for the terminal: what is missing, and how to go on."""


def enter(root, arguments):
    """Return when running in the project's environment; make it the first time."""
    if _is_off():
        return
    check_python()
    check_machine()
    venv = root / ".venv"
    if not _is_ready(root, venv):
        _make(venv)
        _install(root, venv)
        _write(venv / "course-stamp", _stamp(root))
    _write_quarto_python(root, venv)
    if Path(sys.prefix).resolve() != venv.resolve():
        _start_again(venv, arguments)


def _write_quarto_python(root, venv):
    """Write the environment's Python to Quarto's settings, because Quarto looks for no .venv.

    The path is absolute: Quarto resolves a relative one from the folder that it is started in.
    """
    path = root / "_environment.local"
    text = f"{_MARK}\nQUARTO_PYTHON='{python_of(venv).as_posix()}'\n"
    current = path.read_text(encoding="utf-8") if path.exists() else _MARK
    if current.startswith(_MARK) and current != text:
        _write(path, text)


def python_of(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _is_off():
    return os.environ.get("COURSE_NO_SETUP") == "1"


def check_python():
    if not _is_off() and not OLDEST <= sys.version_info[:2] <= NEWEST:
        version = ".".join(map(str, sys.version_info[:3]))
        raise SetupError(
            f"this is Python {version}; the course runs on Python {_RANGE}: "
            "start it with one of those, such as python3.12 -m course"
        )


def check_machine():
    """Stop if some pin has no wheel: pip's message would mislead whoever has no compiler."""
    here = platform.system(), platform.machine()
    if here in MACHINES:
        return
    raise SetupError(
        "PyTorch ended its packages for Macs with Intel's processors at 2.2, and the course needs "
        "2.6 or newer: use another machine, or a Python for which you have built one, with "
        "COURSE_NO_SETUP=1"
        if here == ("Darwin", "x86_64")
        else "not everything that requirements.txt pins comes for {} on {}: install what you can "
        "into a Python of your own, PyTorch 2.6 or newer, and use COURSE_NO_SETUP=1".format(*here)
    )


def _is_ready(root, venv):
    try:
        return (venv / "course-stamp").read_text(encoding="utf-8") == _stamp(root)
    except OSError:
        return False


def _stamp(root):
    """Identify an installation: the digest of its pins, and its Python."""
    pins = hashlib.sha256((root / "requirements.txt").read_bytes()).hexdigest()
    return f"{pins} python {'.'.join(map(str, _version_of(root / '.venv')))}\n"


def _version_of(venv):
    """Return (3, 11) and the like: of the environment, or of this Python if there is none."""
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return tuple(sys.version_info[:2])
    values = dict(line.replace(" ", "").split("=", 1) for line in lines if "=" in line)
    return tuple(int(part) for part in values.get("version", "0.0").split(".")[:2])


def _is_usable(venv):
    """False if it is missing or broken: an interrupted set-up, or a Python that was removed."""
    if not python_of(venv).exists() or not OLDEST <= _version_of(venv) <= NEWEST:
        return False
    pip = [str(python_of(venv)), "-m", "pip", "--version"]
    return subprocess.run(pip, capture_output=True).returncode == 0


def _make(venv):
    if _is_usable(venv):
        return
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        raise SetupError(
            "this Python has no ensurepip, so it can't make an environment: install it "
            "(Debian, Ubuntu: apt install python3-venv) or use a Python from python.org"
        ) from None
    print(f"making {venv} …", flush=True)
    try:
        import venv as venv_module

        venv_module.create(str(venv), with_pip=True, clear=True)
    except OSError as error:
        raise SetupError(_not_writable(venv, error)) from None
    except subprocess.CalledProcessError as error:
        raise SetupError(f"could not make {venv}: {error}") from None


def _install(root, venv):
    print("installing what requirements.txt pins (once; torch is the largest) …", flush=True)
    command = [str(python_of(venv)), "-m", "pip", "install", "--disable-pip-version-check"]
    result = subprocess.run(
        [*command, "-r", str(root / "requirements.txt")], stderr=subprocess.PIPE, text=True
    )
    if result.returncode:
        killed_by = death(result.returncode)
        raise SetupError("pip died of " + killed_by if killed_by else _not_installed(result.stderr))


def _not_installed(errors):
    lines = [line for line in errors.splitlines() if line.startswith("ERROR:")]
    reason = lines[-1][len("ERROR:") :].strip() if lines else errors.strip()[-500:]
    for line in lines:
        if "No matching distribution" in line or "Could not find" in line:
            reason = line[len("ERROR:") :].strip()
    return (
        f"could not fetch what requirements.txt pins: {reason}\n"
        "With a network (or a proxy, or an index in PIP_INDEX_URL), run the same command again: "
        "it goes on where it stopped.\n"
        f"Without one, install the pins into any Python {_RANGE} and use that: "
        "COURSE_NO_SETUP=1 python -m course …"
    )


def _write(path, text):
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(_not_writable(path, error)) from None


def _not_writable(path, error):
    path = error.filename or path
    return f"can't write {path}: {error.strerror}. Copy the course to a folder of your own."


def _start_again(venv, arguments):
    command = [str(python_of(venv)), "-m", "course", *arguments]
    if os.name != "nt":
        os.execv(command[0], command)
    try:  # Windows' exec would return to the prompt at once
        sys.exit(status_of("course", subprocess.call(command)))
    except KeyboardInterrupt:
        sys.exit(130)
