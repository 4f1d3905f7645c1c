"""The preview server: it serves this machine only, files of the site only, with the right type."""

import http.client
import re
import shutil
import socket
import threading
import urllib.error
import urllib.request

import pytest

from course.preview_address import HOST
from course.serve import SiteServer, start_server


@pytest.fixture
def folder(tmp_path):
    site = tmp_path / "site"
    (site / "widgets").mkdir(parents=True)
    (site / "lessons").mkdir()
    (site / "index.html").write_text("<body>Hello</body>", encoding="utf-8")
    (site / "lessons/a b.html").write_text("<body>Lesson</body>", encoding="utf-8")
    (site / "widgets/x.js").write_text("export const x = 1;", encoding="utf-8")
    (site / "widgets/x.mjs").write_text("export const x = 1;", encoding="utf-8")
    (site / "widgets/x.css").write_text("b {}", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "site-two").mkdir()
    (tmp_path / "site-two/secret.html").write_text("secret", encoding="utf-8")
    return site


@pytest.fixture
def server(folder):
    server = start_server(folder, 0, live=True)
    yield server
    server.shutdown()
    server.server_close()


def get(server, path):
    """Return status, type and body of exactly this path, which clients would normalise."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=5)
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.headers["Content-Type"], response.read().decode()


@pytest.mark.parametrize("path", ["/", "/index.html", "/?x=1", "//", "/lessons/a%20b.html"])
def test_pages_are_served(server, path):
    status, kind, body = get(server, path)
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert "<body>" in body


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


def test_no_request_is_lost_while_the_site_is_replaced(server, folder, tmp_path):
    def replace_on_and_on():  # as a render does: the old tree goes aside, the new takes its name
        for number in range(200):
            new = shutil.copytree(folder, tmp_path / f"new-{number}")
            folder.rename(tmp_path / f"old-{number}")
            new.rename(folder)

    replacing = threading.Thread(target=replace_on_and_on)
    replacing.start()
    answers = set()
    while replacing.is_alive():
        answers |= {(path, get(server, path)[0]) for path in ("/", "/widgets/x.js", "/nothing")}
    assert answers == {("/", 200), ("/widgets/x.js", 200), ("/nothing", 404)}


def test_a_head_is_a_get_without_its_page(server):
    get, head = (answer(server, method) for method in (b"GET", b"HEAD"))
    assert length_of(get) == length_of(head) == len(get.partition(b"\r\n\r\n")[2]) > 0
    assert head.endswith(b"\r\n\r\n")


def answer(server, method):
    """Return all bytes of the answer: a client drops what comes after the head of a HEAD."""
    with socket.create_connection(server.server_address, timeout=5) as connection:
        connection.sendall(method + b" /index.html HTTP/1.0\r\n\r\n")
        return b"".join(iter(lambda: connection.recv(4096), b""))


def length_of(answer):
    return int(re.search(rb"Content-Length: (\d+)", answer)[1])


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8000", 200), ("127.0.0.1", 200), ("other.example", 421)],
)
def test_another_sites_name_is_refused(server, host, status):
    connection = http.client.HTTPConnection(*server.server_address, timeout=5)
    connection.request("GET", "/", headers={"Host": host})
    assert connection.getresponse().status == status


def test_many_tabs_may_connect_before_the_server_takes_them(folder):
    """A queue of five, Python's own, would leave them waiting for seconds."""
    server = SiteServer(folder, 0, live=False)
    tabs = [socket.create_connection(server.server_address, timeout=2) for _ in range(100)]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for tab in tabs:
        tab.sendall(b"GET / HTTP/1.0\r\n\r\n")
    assert all(b"200" in tab.recv(20) for tab in tabs)
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/widgets/x.js", "text/javascript"),
        ("//widgets/x.js", "text/javascript"),
        ("/widgets/x.mjs", "text/javascript"),
        ("/widgets/x.css", "text/css"),
    ],
)
def test_types_and_double_slashes(server, path, kind):
    assert get(server, path)[:2] == (200, kind)


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == HOST == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((address, server.server_address[1]), timeout=1)


def test_a_port_in_use_gives_the_next(folder):
    first = start_server(folder, 0)
    port = first.server_address[1]
    second = start_server(folder, port)
    try:
        assert port < second.server_address[1] < port + 100
        assert get(second, "/")[0] == 200
    finally:
        for server in (first, second):
            server.shutdown()
            server.server_close()


def test_open_pages_are_told_to_reload(server):
    script = re.search(r'<script src="(/[^"]+)"></script></body>', get(server, "/")[2])[1]
    status, kind, code = get(server, script)
    assert (status, kind) == (200, "text/javascript")
    assert "EventSource" in code
    stream = urllib.request.urlopen(server.url + "course-live-reload", timeout=5)
    threading.Timer(0.2, server.reload).start()
    assert stream.readline() == b"data: reload\n"


def test_without_live_reload_pages_are_served_as_they_are(folder):
    server = start_server(folder, 0)
    assert get(server, "/")[2] == "<body>Hello</body>"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("error", "is_told"), [(BrokenPipeError(), False), (ValueError(), True)])
def test_a_reader_who_leaves_is_no_error(server, capsys, error, is_told):
    try:
        raise error
    except type(error):
        server.handle_error(None, ("127.0.0.1", 1))
    assert bool(capsys.readouterr().err) == is_told
