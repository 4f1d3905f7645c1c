"""The preview server: it serves this machine only, files of the site only, with the right type."""

import re
import threading
import urllib.request

import pytest

from course.serve import start_server
from tests.course.request import get

FILES = {
    "index.html": "<body>Hello</body>",
    "lessons/a b.html": "<body>Lesson</body>",
    "widgets/x.js": "export const x = 1;",
    "widgets/x.css": "b {}",
    "../secret.txt": "secret",
    "../site-two/secret.html": "secret",
}


@pytest.fixture
def folder(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name, text in FILES.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    return site


@pytest.fixture
def server(folder):
    server = start_server(folder, 0, live=True)
    yield server
    server.shutdown()
    server.server_close()


SERVED = {
    "/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8",
    "/?x=1": "text/html; charset=utf-8", "//": "text/html; charset=utf-8",
    "/lessons/a%20b.html": "text/html; charset=utf-8", "/widgets/x.js": "text/javascript",
    "//widgets/x.js": "text/javascript",  # as Quarto's pages ask for it
    "/widgets/x.css": "text/css",
}  # fmt: skip


@pytest.mark.parametrize("path", SERVED)
def test_files_are_served_with_their_type(server, path):
    assert get(server, path)[:2] == (200, SERVED[path])
    assert get(server, path, "HEAD") == (200, SERVED[path], "")


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt", "/%2e%2e/secret.txt", "/widgets/../../secret.txt", "/..%5csecret.txt",
        "//../secret.txt", "/..%2fsecret.txt", "/../site-two/secret.html", "/etc/passwd",
        "//etc/passwd", "/index.html%00.js", "/nothing.html", "/widgets/", "/widgets",
    ],
)  # fmt: skip
def test_nothing_outside_the_site_is_served(server, path):
    status, _, body = get(server, path)
    assert status in (404, 301)
    assert "secret" not in body
    assert "root:" not in body


@pytest.mark.parametrize(
    ("host", "status"), [("localhost:8000", 200), ("127.0.0.1", 200), ("other.example", 421)]
)
def test_it_answers_to_this_machine_alone(server, host, status):
    assert server.server_address[0] == "127.0.0.1"
    assert get(server, "/", Host=host)[0] == status


@pytest.mark.parametrize(
    ("path", "status"), [("/", 200), ("/widgets/x.js", 200), ("/nothing", 404), ("/no.html", 404)]
)
def test_no_request_is_lost_while_the_site_is_replaced(server, folder, path, status):
    aside = folder.rename(folder.with_name("aside"))
    threading.Timer(0.3, lambda: aside.rename(folder)).start()
    assert get(server, path)[0] == status


def test_a_port_in_use_gives_the_next(folder, server):
    port = server.server_address[1]
    second = start_server(folder, port)
    assert port < second.server_address[1] < port + 100
    assert get(second, "/")[2] == "<body>Hello</body>", "without live reload, as it is"
    second.shutdown()
    second.server_close()


def test_open_pages_are_told_to_reload(server):
    script = re.search(r'<script src="(/[^"]+)"></script></body>', get(server, "/")[2])[1]
    status, kind, code = get(server, script)
    assert (status, kind) == (200, "text/javascript")
    assert "EventSource" in code
    stream = urllib.request.urlopen(server.url + "course-live-reload", timeout=5)
    threading.Timer(0.2, server.reload).start()
    assert stream.readline() == b"data: reload\n"


@pytest.mark.parametrize(("error", "is_told"), [(BrokenPipeError(), False), (ValueError(), True)])
def test_a_reader_who_leaves_is_no_error(server, capsys, error, is_told):
    try:
        raise error
    except type(error):
        server.handle_error(None, ("127.0.0.1", 1))
    assert bool(capsys.readouterr().err) == is_told
