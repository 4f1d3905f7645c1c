import pytest

from tests.faults import planted, survivors


@pytest.mark.slow
def test_no_planted_fault_survives():
    assert len(planted()) >= 20
    assert survivors() == []
