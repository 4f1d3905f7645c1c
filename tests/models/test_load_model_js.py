"""A page fetches a model from the site that it came from, wherever that site stands."""

import shutil

import pytest
from playwright.sync_api import Error

from course.serve import start_server
from models import weights
from tests.attention.inputs import assert_refused
from tests.conftest import ROOT
from tests.models.small import assert_near, saved

LOAD = """async (path) => {
  const {loadModel} = await import("/some/course/widgets/lib/load-model.js");
  const model = await loadModel(path);
  return model.run(model.encode(["on", "cat"])).logits.map((row) => [...row]);
}"""
SMALL = "models/small.safetensors"
pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A site below an address, with one model: its file."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "widgets", site / "some/course/widgets")
    for page in ("index.html", "some/course/modules/m05/lesson.html"):
        (site / page).parent.mkdir(parents=True, exist_ok=True)
        (site / page).write_text("<!doctype html><link rel=icon href=data:,>", encoding="utf-8")
    return saved(site / "some/course/models")


@pytest.fixture
def page(browser, file):
    server = start_server(file.parents[3], 0)
    page = browser.new_page()
    page.goto(f"{server.url}some/course/modules/m05/lesson.html")
    yield page
    page.close()
    server.shutdown()


def test_a_model_is_fetched_once_from_below_any_address_and_runs(page, file):
    requests, model = [], weights.load(file).double()
    page.on("request", lambda request: requests.append(request.url))
    for _ in range(3):
        got = page.evaluate(LOAD, SMALL)
    assert_near(got, model(model.encode(["on", "cat"])).logits[0])
    assert sum("small.safetensors" in url for url in requests) == 1


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("models/none.safetensors", "none.safetensors; 404"),
        ("models/cut.safetensors", "cut.safetensors; cut"),
        ("index.html", "index.html"),
    ],
)
def test_what_is_missing_or_cut_is_named(page, file, path, says):
    file.with_name("cut.safetensors").write_bytes(file.read_bytes()[:-100])
    assert_refused(lambda: page.evaluate(LOAD, path), Error, says)


def test_without_a_connection_it_says_so_and_asking_again_helps(page):
    page.route("**/*.safetensors", lambda route: route.abort())
    assert_refused(lambda: page.evaluate(LOAD, SMALL), Error, "connection")
    page.unroute("**/*.safetensors")
    assert page.evaluate(LOAD, SMALL)
