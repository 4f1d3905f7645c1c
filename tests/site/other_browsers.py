"""Firefox and WebKit behind the same methods, each over the protocol that it speaks by itself."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from websocket import create_connection  # a package that JupyterLab needs

# How WebDriver writes the keys that are no letters.
KEYS = {"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015",
        "Enter": "\ue007", "Space": " "}  # fmt: skip
PATIENCE = 60  # seconds until a browser that doesn't answer is given up


class OtherBrowser:
    """One tab, which a subclass opens by a protocol of its own.

    Each has ``needs``, the programs it takes, and ``open(address)``, ``resize(width, height)``,
    ``run(function, *given)``, which calls a function of JavaScript and waits for its promise, and
    ``act(source)``, which lets a keyboard or a mouse act as WebDriver describes them.
    """

    name: str
    needs: tuple[str, ...]

    def press(self, key: str) -> None:
        steps = [{"type": step, "value": KEYS.get(key, key)} for step in ("keyDown", "keyUp")]
        self.act({"type": "key", "id": "keyboard", "actions": steps})

    def click(self, x: float, y: float) -> None:
        self.drag((x, y), (x, y))

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y)} for x, y in (begin, end)]
        down, up = ({"type": step, "button": 0} for step in ("pointerDown", "pointerUp"))
        actions = [moves[0], down, moves[1], up]
        self.act({"type": "pointer", "id": "mouse", "actions": actions})

    def comes(self, function: str, *given: object, seconds: float = 30) -> bool:
        """Whether ``function`` gives true within ``seconds``."""
        end = time.monotonic() + seconds
        while not (is_true := self.run(function, *given)) and time.monotonic() < end:
            time.sleep(0.05)
        return bool(is_true)


class Firefox(OtherBrowser):
    """By WebDriver BiDi, over a web socket."""

    name = "Firefox"
    needs = ("firefox-esr",)

    def __init__(self, folder: Path) -> None:
        port = _free_port()
        command = ["firefox-esr", "--headless", "--no-remote", "--profile", folder]
        self._process = _start([*command, "--remote-debugging-port", str(port)])
        address = f"ws://127.0.0.1:{port}/session"
        self._socket = _retried(
            lambda: create_connection(address, suppress_origin=True, timeout=PATIENCE)
        )
        self._asked = 0
        self._ask("session.new", capabilities={})
        # A tab of its own has the focus, without which no button answers to a key.
        self._tab = self._ask("browsingContext.create", type="tab")["context"]

    def _ask(self, method: str, **params: object) -> dict:
        self._asked += 1
        self._socket.send(json.dumps({"id": self._asked, "method": method, "params": params}))
        while (answer := json.loads(self._socket.recv())).get("id") != self._asked:
            pass  # what the browser tells by itself
        if answer["type"] == "error" or answer["result"].get("type") == "exception":
            raise RuntimeError(f"{method}: {json.dumps(answer)[:1000]}")
        return answer["result"]

    def open(self, address):
        self._ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def resize(self, width, height):
        viewport = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", context=self._tab, viewport=viewport)

    def run(self, function, *given):
        # As text both ways, because BiDi has its own notation for each kind of value.
        answer = self._ask(
            "script.callFunction",
            functionDeclaration=f"""async (given) =>
              JSON.stringify((await ({function})(...JSON.parse(given))) ?? null)""",
            arguments=[{"type": "string", "value": json.dumps(given)}],
            target={"context": self._tab},
            awaitPromise=True,
        )
        return json.loads(answer["result"]["value"])

    def act(self, source):
        self._ask("input.performActions", context=self._tab, actions=[source])

    def close(self):
        self._socket.close()
        _stop(self._process)


class WebKit(OtherBrowser):
    """By WebDriver, over HTTP, in the small browser that comes with WebKitGTK."""

    name = "WebKit"
    needs = ("WebKitWebDriver", "xvfb-run")

    def __init__(self, folder: Path) -> None:
        port = _free_port()
        (folder / "gtk-3.0").mkdir()
        # Its toolbar would keep the window wider than a phone.
        style = "button, entry { min-width: 0; padding: 0; }"
        (folder / "gtk-3.0/gtk.css").write_text(style, encoding="utf-8")
        screen = ["xvfb-run", "-a", "-s", "-screen 0 1600x1200x24"]
        surroundings = {"XDG_CONFIG_HOME": str(folder), "GDK_BACKEND": "x11"}
        surroundings["WEBKIT_DISABLE_COMPOSITING_MODE"] = "1"  # without a GPU it takes longer
        self._process = _start([*screen, "WebKitWebDriver", f"--port={port}"], **surroundings)
        self._address = f"http://127.0.0.1:{port}/session"
        session = _retried(lambda: self._post("", capabilities={}))
        self._address += f"/{session['sessionId']}"

    def _post(self, path: str, **values: object) -> object:
        kind = {"Content-Type": "application/json"}
        request = Request(self._address + path, json.dumps(values).encode(), kind)
        try:
            with urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise RuntimeError(error.read().decode()[:1000]) from None

    def open(self, address):
        self._post("/url", url=address)

    def resize(self, width, height):
        self._post("/window/rect", width=width, height=height)

    def run(self, function, *given):
        return self._post("/execute/sync", script=f"return ({function})(...arguments)", args=given)

    def act(self, source):
        self._post("/actions", actions=[source])

    def close(self):
        _stop(self._process)


def missing(kind: type[OtherBrowser]) -> list[str]:
    return [program for program in kind.needs if not shutil.which(program)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _start(command: list, **surroundings: str) -> subprocess.Popen:
    """Start ``command`` in a group of its own, as the browser starts others that must end too."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(
        command, env={**os.environ, **surroundings}, start_new_session=True, **quiet
    )


def _stop(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(PATIENCE)


def _retried(connect):
    """Return what ``connect`` gives once the program that was started listens."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return connect()
        except (ConnectionError, URLError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
