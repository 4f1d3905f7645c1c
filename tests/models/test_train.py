"""`python3 -m course train NAME`: what it trains, and what it tells meanwhile."""

import io
import sys

import pytest

from course import cli, train


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    return now


def test_progress_tells_the_loss_and_the_time_left(clock):
    out = io.StringIO()
    progress = train.Progress(out)
    for step in range(101, 1001):  # taken up at 100
        clock[0] += 0.5
        progress("masked, seed 0", step, 1000, 2.0 / step)
    first, second, *_, last = lines = out.getvalue().splitlines()
    for line, parts in (
        (first, ["masked, seed 0", "101 of 1000", "0.020"]),
        (second, ["121 of 1000", "0.017", "7 min left"]),
        (last, ["1000 of 1000", "0.002", "0 s left"]),
    ):
        assert all(part in line for part in parts)
    assert "left" not in first  # of one step nothing can be said
    assert len(lines) <= 47


def test_on_a_terminal_it_is_one_line(clock):
    out = Terminal()
    progress = train.Progress(out)
    for step in (1, 2):
        clock[0] += 1
        progress("causal, seed 1", step, 10, 1.5)
    progress.end()
    assert out.getvalue().count("\n") == 1
    last = out.getvalue().split("\r")[-1]
    assert all(part in last for part in ("causal, seed 1", "2 of 10", "1.500", "8 s left"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A course with one model, whose training stops in the middle until it is let on."""
    folder = tmp_path / "models" / "tiny_model_of_a_test"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(
        "def train(workdir, report):\n"
        "    workdir.mkdir(parents=True, exist_ok=True)\n"
        "    report('tiny', 1, 1, 0.5)\n"
        "    if not (workdir / 'half').exists():\n"
        "        (workdir / 'half').touch()\n"
        "        raise KeyboardInterrupt\n"
    )
    monkeypatch.setattr("models.__path__", [str(tmp_path / "models")])
    yield tmp_path
    sys.modules.pop("models.tiny_model_of_a_test.train", None)
    sys.modules.pop("models.tiny_model_of_a_test", None)


def test_an_interrupted_training_is_gone_on_with(project, capsys):
    command = ["train", "tiny_model_of_a_test"]
    assert cli.main(command, project) == 130
    assert cli.main(command, project) == 0
    assert "interrupted" in capsys.readouterr().out
    assert not (project / ".course" / "training" / "tiny_model_of_a_test").exists()


def test_an_unknown_model_is_told_with_the_known_ones(project, capsys):
    assert cli.main(["train", "tiny_model_of_a_tset"], project) == 1
    _, known = capsys.readouterr().err.split("tiny_model_of_a_tset", 1)
    assert "tiny_model_of_a_test" in known
