import pytest

from tests.faults import catch, planted


def test_faults_are_planted():
    assert len(planted()) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("fault", planted(), ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault):
    assert catch(fault), f"{fault.test} passes"
