import pytest

from tests.engine.ojs_lab import Lab
from tests.engine.sites import Site


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("ojs") / "project")
