"""A whole decoder: it trains, decodes a padded batch as one by one, and reorders its beams."""

import pytest
import torch
import torch.nn.functional as F

from caching import RaggedKVCache

from .decoder import Decoder

PATTERN = [0, 1, 0, 2, 0, 1, 0, 3]  # after a 0, only what came before says what comes next


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


PROMPTS = [PATTERN, (PATTERN * 2)[3:13], (PATTERN * 2)[6:11], [2]]


def test_it_goes_on_with_the_pattern(decoder):
    for start in range(8):
        prompt = (PATTERN * 3)[start : start + 8]
        want = (PATTERN * 4)[start + 8 : start + 18]
        assert decoder.generate([prompt], 10)[0].tolist() == want


@pytest.mark.parametrize("side", ["right", "left"])
@torch.no_grad()
def test_a_padded_batch_is_decoded_as_one_by_one(decoder, side):
    together = decoder.generate(PROMPTS, 12, side)
    alone = torch.cat([decoder.generate([prompt], 12) for prompt in PROMPTS])
    assert torch.equal(together, alone)
    caches = [decoder.start(PROMPTS, side), *(decoder.start([p], side) for p in PROMPTS)]
    torch.testing.assert_close(caches[0][1], torch.cat([logits for _, logits in caches[1:]]))


@torch.no_grad()
def test_beams_find_what_recomputing_finds():
    torch.manual_seed(1)
    fuzzy = Decoder(vocabulary=4).eval()
    fuzzy.embedding.weight.mul_(0.2)  # no beam is far ahead, so that they overtake one another
    prompt, beams, count = [0, 1, 3], 4, 7
    tokens, scores = fuzzy.beam_search(prompt, count, beams)
    best = [([], 0.0)]
    for _ in range(count):
        grown = []
        for words, score in best:
            logs = fuzzy(torch.tensor([prompt + words]))[0, -1].log_softmax(-1)
            grown += [([*words, word], score + logs[word].item()) for word in range(4)]
        best = sorted(grown, key=lambda beam: -beam[1])[:beams]
    assert tokens.tolist() == [words for words, _ in best]
    torch.testing.assert_close(scores, torch.tensor([score for _, score in best]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RaggedKVCache, "reorder", lambda cache, index: None)
        assert not torch.allclose(fuzzy.beam_search(prompt, count, beams)[1], scores)
    assert (
        len({tuple(words[:-1]) for words, _ in best}) > 1
        or len(set(map(tuple, tokens.tolist()))) == 3
    )


@torch.no_grad()
def test_what_a_draft_proposed_in_vain_is_taken_back(decoder):
    cache, _ = decoder.start(PROMPTS, "right")
    lengths = cache[0].lengths[0]
    draft = torch.tensor([[0, 1, 2]] * len(PROMPTS))
    decoder(draft, cache)
    cache.crop([length + count for length, count in zip(lengths, [0, 1, 2, 3], strict=True)])
    after = decoder(torch.tensor([[1]] * len(PROMPTS)), cache)[:, -1]
    for row, (prompt, count) in enumerate(zip(PROMPTS, range(4), strict=True)):
        whole = [*prompt, *draft[0, :count].tolist(), 1]
        torch.testing.assert_close(after[row], decoder(torch.tensor([whole]))[0, -1])
