"""attention.py as a file: it stands alone, and what the lessons teach comes first."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attention

SOURCE = Path(attention.__file__)


@pytest.mark.slow
def test_it_imports_with_pytorch_and_no_other_file(tmp_path):
    shutil.copy(SOURCE, tmp_path)
    code = (
        "import torch, sys; before = set(sys.modules); import attention;"
        "print(*(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    roots = {name.split(".")[0] for name in run.stdout.split()} - {"torch", "attention"}
    assert roots <= sys.stdlib_module_names


def test_what_the_lessons_teach_stands_first_and_is_short():
    text = SOURCE.read_text("utf-8")
    taught = "create_padding_mask scaled_dot_product_attention MultiHeadAttention KVCache".split()
    starts = [re.search(rf"^(def|class) {name}\b", text, re.MULTILINE).start() for name in taught]
    kernels, checks = text.index("# --- Fused"), text.index("# --- What callers get wrong")
    assert [*starts, kernels, checks] == sorted([*starts, kernels, checks])
    assert text.count("\n", 0, text.index("# The rest is in no lesson")) <= 300
    assert text.count("\n", 0, kernels) <= 338
    assert "raise " not in re.sub(r'""".*?"""', "", text[:kernels], flags=re.DOTALL)
