"""The page for teachers: its sessions last 45 minutes, and its tasks are there."""

import re

import pytest

from tests.conftest import ROOT

TEXT = (ROOT / "teaching.qmd").read_text(encoding="utf-8")
SESSIONS = dict(re.findall(r"^### (\d\..*?) \{.*?\}\n(.*?)(?=^##)", TEXT, re.M | re.S))


def test_there_are_nine_sessions():
    assert len(SESSIONS) == 9


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_lasts_45_minutes_and_has_an_act_and_a_question(session):
    minutes = [int(row) for row in re.findall(r"^\| (\d+) \|", SESSIONS[session], re.M)]
    assert sum(minutes) == 45
    for part in ("Predict", "Do", "Play"):
        assert part in SESSIONS[session]


@pytest.mark.parametrize("name", re.findall(r"`(exercises/m\d\d\.py)`", TEXT))
def test_the_exercises_are_there(name):
    assert (ROOT / name).is_file()
