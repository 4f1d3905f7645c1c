"""What bench says of its budgets, and what it leaves behind."""

import pytest

from benchmarks import attention as bench
from benchmarks import report


def rows(keys, length):
    shared = {"pass": "one step", "ratio": 0.5, "to": "recomputed"}
    shared |= {"ms": 1.0, "fastest_ms": 1.0, "slowest_ms": 1.0}
    return [
        {"section": "decoding", "length": keys, "name": "cached", **shared},
        {"section": "memory", "length": length, "name": "fused, causal", "mb": 100.0},
    ]


def test_a_budget_is_told_for_the_length_that_it_is_stated_for():
    assert report.budgets(rows(512, 512)) == []
    assert [line["holds"] for line in report.budgets(rows(4096, 8192))] == [False, False]


@pytest.mark.parametrize("where", [[], ["--out"]])
def test_quick_leaves_files_where_it_is_told_to_alone(monkeypatch, tmp_path, capsys, where):
    results = report.described(rows(512, 512), "cpu", "float32", None)
    monkeypatch.setattr(bench, "run", lambda device, quick: results)
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "attention.py"))
    monkeypatch.setattr(report, "save", lambda result, stem: [stem])
    arguments = ["--quick", "--device", "cpu", *where, *([str(tmp_path / "here")] if where else [])]
    assert bench.main(arguments) == 0
    assert "MISSED" not in capsys.readouterr().out
    assert (tmp_path / "here").exists() == bool(where)
    assert not (tmp_path / "results").exists()
