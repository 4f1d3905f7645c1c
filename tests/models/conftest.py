import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread():
    """As `course train` does: a second one costs such small models more than it brings."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
