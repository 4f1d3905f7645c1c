"""Broken learners' files: each gets a clear message in seconds, and harms nothing."""

import os
import time

import pytest

from course.cli import main
from course.exercises import exercise, learner, report, run

STARTER = learner.file_of("m03").read_text(encoding="utf-8")
RIGHT = "from exercises.solutions.m03 import additive_scores, attention, find_mistake\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A copy of m03's file to break, with its own record of hints and outcomes."""
    monkeypatch.setattr(report, "_NOTES", tmp_path / "notes" / "exercises.json")
    monkeypatch.setattr(run, "LIMIT", 2.0)
    monkeypatch.setenv("COURSE_EXERCISE_LIMIT", "2")
    path = tmp_path / "m03.py"
    monkeypatch.setattr(learner, "file_of", lambda module: path)
    return path


def command(file, source, capsys):
    file.write_text(source, encoding="utf-8")
    started = time.perf_counter()
    status = main(["exercise", "m03"], learner.ROOT)
    assert time.perf_counter() - started < 30
    assert file.read_text(encoding="utf-8") == source, "the learner's file is never touched"
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def with_body(body):
    """Return the starter with ``attention`` written."""
    before, after = STARTER.split("def attention(", 1)
    return before + "def attention(" + after.replace("    ...\n", body, 1)


def test_the_right_answers_pass(file, capsys):
    solutions = (learner.ROOT / "exercises/solutions/m03.py").read_text(encoding="utf-8")
    status, output = command(file, solutions, capsys)
    assert status == 0
    assert "3 of 3 passed" in output


IN_PLACE = """\
    Q /= np.sqrt(K.shape[-1])
    w = np.exp(Q @ K.T)
    w /= w.sum(axis=-1, keepdims=True)
    return w @ V, w
"""  # right, but for what it does to Q
BAD = {
    "does not parse": (STARTER.replace("(Q, K, V):", "(Q, K, V:"), "m03.py:11: Python can't read"),
    "stops in the middle": (STARTER[:-60], "Python can't read this"),
    "nothing in it": ("", "there is no function attention"),
    "a NUL": ("x = '\0'\n", "Python can't read this"),
    "fails when loaded": ("import nowhere\n" + with_body("    return 1\n"), "m03.py:1: ModuleNotF"),
    "an endless loop": (
        with_body("    while True:\n        pass\n"),
        "still running after 2 s",
    ),
    "an endless loop when loaded": (
        with_body("    return 1\n") + "while True:\n    pass\n",
        ": no task could be checked",
    ),
    "wrong return type": (with_body("    return None\n"), "return 2 values, not None"),
    "a text": (with_body("    return 'x', 'y'\n"), "return an array (1, 3), not the str 'x'"),
    "a flood of prints": (
        with_body("    while True:\n        print('x' * 1000)\n"),
        "still running after 2 s",
    ),
    "prints, then raises": (with_body("    print('hello')\n    1 / 0\n"), "it printed  hello"),
    "calls exit": (with_body("    raise SystemExit\n"), "it called exit"),
    "ends the process": (with_body("    import os\n    os._exit(0)\n"), "it ended the process"),
    "catches everything": (
        with_body("    while 1:\n        try:\n         1 / 0\n        except:\n         1\n"),
        "still running after 2 s",
    ),
    "asks for input": (with_body("    return input()\n"), "EOFError"),
    "recurs for ever": (with_body("    return attention(Q, K, V)\n"), "RecursionError"),
    "changes its arguments": (with_body(IN_PLACE), "it changes `Q`, which the caller still needs"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("source", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_gets_a_clear_answer(file, capsys, source, message):
    status, output = command(file, source, capsys)
    assert status == 1
    assert message in output
    assert "Traceback" not in output
    assert len(output.splitlines()) < 40


@pytest.mark.slow
def test_the_line_that_hangs_is_named(file, capsys):
    source = with_body("    while True:\n        pass\n")
    lines = source.splitlines()
    _, output = command(file, source, capsys)
    line = int(output.split("m03.py:")[1].split(":")[0])
    assert lines[line - 1].strip() in ("while True:", "pass")


def test_one_bad_answer_does_not_keep_the_others_from_being_checked(file, capsys):
    source = RIGHT + with_body("    import os\n    os._exit(0)\n")
    source = "    return 0\n".join(source.rsplit("    ...\n", 1))  # of additive_scores
    source += "from exercises.solutions.m03 import additive_scores\n"
    _, output = command(file, source, capsys)
    assert "ended the process" in output
    assert "passed       additive_scores" in output
    assert "not started  find_mistake" in output


BEAT = """
import sys, time
for beat in range(600):
    open(sys.argv[1], "a").write(".")
    time.sleep(0.05)
"""
STARTED = {
    "a process": "subprocess.Popen([sys.executable, '-c', beat, file])",
    "a fork": "if not os.fork(): sys.argv = ['', file]; exec(beat)",
}


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Windows has no process groups")
@pytest.mark.parametrize("start", STARTED.values(), ids=STARTED)
@pytest.mark.parametrize("wait", [0, 60], ids=["then returns", "then hangs"])
@pytest.mark.slow
def test_what_an_answer_started_ends_with_its_check(file, capsys, start, wait):
    beats = file.with_suffix(".beat")
    lines = [
        "import os, subprocess, sys, time",
        f"beat, file = {BEAT!r}, {str(beats)!r}",
        start,
        "while not os.path.exists(file): time.sleep(0.01)",
        f"time.sleep({wait})",
        "return V, Q",
    ]
    _, output = command(file, with_body("".join(f"    {line}\n" for line in lines)), capsys)
    assert ("still running" in output) == bool(wait)
    time.sleep(0.3)  # a process killed within a system call finishes that call first
    before = beats.stat().st_size
    time.sleep(0.3)
    assert beats.stat().st_size == before


def test_a_right_answer_that_warns_fails_where_the_task_forbids_it(file, capsys):
    source = "import numpy as np\n\ndef masked_softmax(scores, mask):\n    " + (
        "shown = np.where(mask, scores, -np.inf)\n    "
        "e = np.exp(shown - shown.max(-1, keepdims=True))\n    "
        "return np.nan_to_num(e / e.sum(-1, keepdims=True))\n"
    )
    file.write_text(source, encoding="utf-8")
    outcome = run.check("m05", file, seed=0)["masked_softmax"]
    assert outcome.status == "failed"
    assert "m03.py:5: right, but it warns: invalid value encountered" in outcome.message


def test_a_seed_repeats_a_failure(file, capsys):
    file.write_text(with_body("    return V, Q\n"), encoding="utf-8")
    seen = []
    for seed in (5, 5, 6):
        report.report("m03", seed=seed)
        seen.append(capsys.readouterr().out)
    assert "--seed 5 " in seen[0]
    assert seen[0] == seen[1] != seen[2]


def test_each_time_one_hint_more_then_the_solution(file, capsys):
    file.write_text(STARTER, encoding="utf-8")
    outputs = []
    for _ in range(4):
        assert main(["exercise", "m03", "attention", "--hint"], learner.ROOT) == 0
        outputs.append(capsys.readouterr().out)
    assert [text.count("Hint ") for text in outputs] == [1, 2, 3, 3]
    assert "--solution" not in outputs[2]
    assert "exercise m03 attention --solution" in outputs[3]
    main(["exercise", "m03", "attention", "--solution"], learner.ROOT)
    shown = capsys.readouterr().out
    assert "def attention(Q, K, V):" in shown
    assert "overflowing" in shown


def test_alone_it_lists_all_with_progress(file, capsys):
    file.write_text(with_body("    return V, Q\n"), encoding="utf-8")
    report.report("m03", seed=1)
    capsys.readouterr()
    assert main(["exercise"], learner.ROOT) == 0
    output = capsys.readouterr().out
    assert "m03  0 of 3 passed" in output
    assert "failed       attention" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["m3"], 'unknown module "m3"; did you mean "m03"?'),
     (["m03", "atention", "--hint"], 'unknown task "atention"; did you mean "attention"?')],
)  # fmt: skip
def test_a_mistyped_name_is_told(capsys, arguments, message):
    assert main(["exercise", *arguments], learner.ROOT) == 1
    assert message in capsys.readouterr().err


# ---- In Jupyter ----------------------------------------------------------------------------------


def test_in_jupyter_a_function_of_a_cell_is_checked(capsys):
    def attention(Q, K, V):
        return V, Q

    exercise("m03", attention, seed=1)
    output = capsys.readouterr().out
    assert output.startswith("failed       attention")
    assert "the shape must be" in output


def test_in_jupyter_nothing_hangs(capsys, monkeypatch):
    monkeypatch.setattr("course.exercises.jupyter.LIMIT", 0.5)

    def attention(Q, K, V):
        while True:
            pass

    exercise("m03", attention)
    assert "still running after 0.5 s" in capsys.readouterr().out


def test_in_jupyter_a_slip_is_a_line_not_a_traceback(capsys):
    exercise("m3")
    exercise("m03", print)
    lines = capsys.readouterr().out.splitlines()
    assert "did you mean" in lines[0]
    assert "name your function so" in lines[1]
