"""A run in which a worker crashed fails. Apart, so that its test starts without PyTorch."""

import pytest

_crashed = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    if error:
        _crashed.append(node.gateway.id)


def pytest_sessionfinish(session):
    """Fail when a worker crashed, even after its last test, which xdist only mentions."""
    if _crashed:
        session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR
