"""Answers that m10's checkers must refuse: each kind of work has a limit of its own."""

import pytest

from course.exercises.examine import FAILED, PASSED, examine
from course.exercises.task import tasks_of
from exercises.solutions import m10

SEEDS = range(8)
DECODE, BENCHMARK = (tasks_of("m10")[name] for name in ("decode_ms", "benchmark"))


def decided_once(uses, parameters, kept, tokens, group, batch, flops, bandwidth):
    """Arithmetic holds back both kinds if ``uses`` is above the ridge point, else memory."""
    cache = batch * tokens * kept
    if uses * bandwidth > flops:
        return 2000 * parameters * batch / flops, 2000 * cache * group / flops
    return 2000 * parameters / bandwidth, 2000 * cache / bandwidth


WRONG = {
    "by the texts": lambda *given: decided_once(given[4], *given),
    "by the queries that share": lambda *given: decided_once(given[3], *given),
    "by the machine alone": lambda *given: decided_once(10, *given),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("how", WRONG)
def test_who_decides_once_for_both_is_refused(how, seed):
    assert examine(DECODE, WRONG[how], seed).status == FAILED


@pytest.mark.parametrize("seed", SEEDS)
def test_the_roofline_is_accepted(seed):
    assert examine(DECODE, m10.by_roofline, seed).status == PASSED


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("warm", [1, 2, 3, 7])
def test_any_number_of_warm_up_calls_is_accepted(warm, seed):
    def answer(device, rounds):
        return m10.timed(device, rounds, warm=warm)

    assert examine(BENCHMARK, answer, seed).status == PASSED


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("missed", [{"warm": 0}, {"wait": False}, {"wait_first": False}], ids=str)
def test_a_benchmark_without_one_of_its_steps_is_refused(missed, seed):
    def answer(device, rounds):
        return m10.timed(device, rounds, **missed)

    assert examine(BENCHMARK, answer, seed).status == FAILED
