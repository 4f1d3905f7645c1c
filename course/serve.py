"""Serve _site/ to this machine only, and tell open pages when to reload."""

from __future__ import annotations

import errno
import sys
import threading
import time
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from course.preview_address import HOST

EVENTS = "/course-live-reload"  # live_reload.js listens there
_OWN_NAMES = {HOST, "localhost"}
RELOAD = "/course-live-reload.js"  # no inline script: the pages' policy refuses it
_PORTS_TO_TRY = 100
_SECONDS_OF_A_SWAP = 2  # at most, between the old site and the new one
_RELOAD_FILE = Path(__file__).with_name("live_reload.js")


class SiteServer(ThreadingHTTPServer):
    """Serves the folder ``site``; with ``live``, ``reload()`` reloads every open page."""

    daemon_threads = True
    request_queue_size = 128  # a browser opens a dozen connections for each tab
    # It frees the port of a stopped server; on Windows it would let two servers share a port.
    allow_reuse_address = errno.errorcode.get(10048) is None

    def __init__(self, site: Path, port: int, *, live: bool) -> None:
        super().__init__((HOST, port), _Handler)
        self.site = site
        self.addition = f'<script src="{RELOAD}"></script>' if live else ""
        self._changed = threading.Condition()
        self._version = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore readers who leave before a file has arrived."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def tree(self) -> tuple[int, int] | None:
        """Identify the site's folder, which each render replaces; None between two."""
        try:
            stat = self.site.stat()
        except FileNotFoundError:
            return None
        return stat.st_dev, stat.st_ino

    def reload(self) -> None:
        with self._changed:
            self._version += 1
            self._changed.notify_all()

    def wait_for_change(self, timeout: float) -> bool:
        with self._changed:
            version = self._version
            return self._changed.wait_for(lambda: self._version != version, timeout)


def start_server(site: Path, port: int, *, live: bool = False) -> SiteServer:
    """Start serving on ``port`` or the next free port; 0 lets the system choose."""
    for candidate in range(port, port + _PORTS_TO_TRY):
        try:
            server = SiteServer(site, candidate, live=live)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            continue
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server
    raise OSError(errno.EADDRINUSE, f"no free port from {port} to {port + _PORTS_TO_TRY - 1}")


class _Handler(SimpleHTTPRequestHandler):
    server: SiteServer
    # Windows' table may type scripts as text/plain, and browsers refuse such modules.
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".css": "text/css",
        ".html": "text/html; charset=utf-8",
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
    }

    def translate_path(self, path: str) -> str:
        """Map to a file below the site, or to none. Quarto's pages request ``//widgets/x.js``."""
        requested = unquote(path.split("?", 1)[0].split("#", 1)[0]).replace("\\", "/")
        full = (self.server.site / requested.replace("\0", "").lstrip("/")).resolve()
        is_inside = full.is_relative_to(self.server.site.resolve())
        file = full if is_inside else self.server.site / "no such file"
        return str(file) + ("/" if requested.endswith("/") and file.is_dir() else "")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        """Answer HEAD too, with the same headers."""
        self._tree = self.server.tree()
        if urlsplit(f"//{self.headers.get('Host', HOST)}").hostname not in _OWN_NAMES:
            # DNS rebinding: another site's name that resolves to this machine, to read the pages.
            return self.send_error(421, "This server answers to localhost alone")
        path = urlsplit("/" + self.path.lstrip("/")).path
        if path == EVENTS:
            self._send_events()
        elif path == RELOAD:
            self._send(200, "text/javascript", _RELOAD_FILE.read_bytes())
        elif path.endswith((".html", "/")):
            self._send_page()
        elif self.command == "HEAD":
            super().do_HEAD()
        else:
            super().do_GET()

    def send_error(self, code: int, *reason: str) -> None:
        if code == HTTPStatus.NOT_FOUND and self._is_another_tree():
            return self.do_GET()
        super().send_error(code, *reason)

    def _is_another_tree(self) -> bool:
        """True if a render has replaced the site since the request came; waits while it does."""
        end = time.monotonic() + _SECONDS_OF_A_SWAP
        while self.server.tree() is None and time.monotonic() < end:
            time.sleep(0.01)
        return self.server.tree() not in (None, self._tree)

    def list_directory(self, path: object) -> None:
        self.send_error(404)

    def _send_page(self) -> None:
        file = Path(self.translate_path(self.path))
        if file.is_dir():
            file /= "index.html"
        try:
            html = file.read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return self._send_not_found()
        self._send_html(200, html)

    def _send_not_found(self) -> None:
        """Send the site's own page 404, whose links count from the root of the site."""
        if self._is_another_tree():
            return self.do_GET()
        try:
            html = (self.server.site / "404.html").read_text(encoding="utf-8")
        except FileNotFoundError:
            return self.send_error(404)
        self._send_html(404, html.replace("<head>", '<head><base href="/">', 1))

    def _send_html(self, status: int, html: str) -> None:
        text = html.replace("</body>", self.server.addition + "</body>")
        self._send(status, "text/html; charset=utf-8", text.encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _send_events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            while self.command != "HEAD":
                changed = self.server.wait_for_change(timeout=15)
                self.wfile.write(b"data: reload\n\n" if changed else b": still here\n\n")
                self.wfile.flush()
        except OSError:
            pass  # the page was closed

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal is for renders and their errors."""
