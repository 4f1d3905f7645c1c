import pytest

from tests.engine.sites import Site


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site")
