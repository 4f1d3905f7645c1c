"""A whole decoder: it learns, and decodes a padded batch as one by one."""

import pytest
import torch
import torch.nn.functional as F

from .decoder import Decoder

PATTERN = [0, 1, 0, 2, 0, 1, 0, 3]  # after a 0, only what came before says what comes next
PROMPTS = [PATTERN, (PATTERN * 2)[3:13], (PATTERN * 2)[6:11], [2]]


@pytest.fixture(scope="module")
def decoder():
    torch.manual_seed(0)
    model = Decoder(vocabulary=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    text = torch.tensor(PATTERN * 4)
    for step in range(60):
        tokens = torch.stack([text[(step + i) % 8 :][:17] for i in range(8)])
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@pytest.mark.parametrize("side", ["right", "left"])
@torch.no_grad()
def test_a_padded_batch_goes_on_with_the_pattern_as_one_by_one(decoder, side):
    together = decoder.generate(PROMPTS, 12, side)
    assert together[0].tolist() == (PATTERN * 2)[:12]
    assert torch.equal(together, torch.cat([decoder.generate([p], 12) for p in PROMPTS]))
    _, logits = decoder.start(PROMPTS, side)
    torch.testing.assert_close(logits, torch.cat([decoder.start([p], side)[1] for p in PROMPTS]))
