"""attention.py as a file: alone, light, short; and its two demonstrations."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import attention
from attention import demonstrate_attention, demonstrate_causal_attention

SOURCE = Path(attention.__file__)


@pytest.mark.slow
def test_it_imports_with_pytorch_and_no_other_file(tmp_path):
    shutil.copy(SOURCE, tmp_path)
    code = (
        "import torch, sys; before = set(sys.modules); import attention;"
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    roots = {name.split(".")[0] for name in done.stdout.split()} - {"torch", "attention"}
    assert roots <= sys.stdlib_module_names


def test_it_is_laid_out_for_reading():
    text = SOURCE.read_text("utf-8")
    assert "# fmt: skip" not in text
    assert not re.search(r";\s*\w+ ?=", re.sub(r'""".*?"""|#.*|"[^"]*"', "", text, flags=re.DOTALL))


def test_what_the_lessons_teach_stands_first():
    """Masks, explicit attention, the layer, the cache; then kernels; checks at the end."""
    text = SOURCE.read_text("utf-8")
    taught = "create_padding_mask scaled_dot_product_attention MultiHeadAttention KVCache".split()
    starts = [re.search(rf"^(def|class) {name}\b", text, re.MULTILINE).start() for name in taught]
    kernels = text.index("# --- Fused")
    assert starts == sorted(starts)
    assert starts[-1] < kernels < text.index("# --- What callers get wrong")
    assert text.count("\n", 0, text.index("# The rest is in no lesson")) <= 300
    assert text.count("\n", 0, kernels) <= 338
    assert "raise " not in re.sub(r'""".*?"""', "", text[:kernels], flags=re.DOTALL)
    steps = re.findall(r"^ +_?check_\w+\(", text[:kernels], re.MULTILINE)
    assert len(steps) <= 10  # a line each, at a function's head


@pytest.mark.parametrize("seq_len", [1, 6, 20])
@pytest.mark.parametrize("demonstrate", [demonstrate_attention, demonstrate_causal_attention])
def test_demonstrations_are_short_seeded_and_true(capsys, demonstrate, seq_len):
    state = torch.random.get_rng_state()
    demonstrate(seq_len=seq_len)
    first = capsys.readouterr().out
    assert torch.equal(torch.random.get_rng_state(), state)
    demonstrate(seq_len=seq_len)
    assert capsys.readouterr().out == first
    lines = first.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 100
    if seq_len == 6:
        rows = [[float(n) for n in line.split()] for line in lines if re.match(r"  \d", line)]
        assert all(sum(row) == pytest.approx(1, abs=0.03) for row in rows[:6])
        if demonstrate is demonstrate_causal_attention:
            assert rows[0] == [1, 0, 0, 0, 0, 0]
            assert rows[6][:5] == [0] * 5
            assert rows[6][5] > 0


def test_demonstrations_take_the_sizes_of_the_source_documents(capsys):
    demonstrate_attention(seq_len=6, embed_dim=32, num_heads=4)
    want = "(1, 6, 32) in, weights (1, 4, 6, 6), (1, 6, 32) out"
    assert want in capsys.readouterr().out
