import pytest
import torch


@pytest.fixture(autouse=True)
def _seed_and_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # the inputs are small, and tests may run side by side
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)
