"""The page for teachers: its sessions last 45 minutes, and its tasks are there."""

import re

import pytest

from tests.conftest import ROOT

TEXT = (ROOT / "teaching.qmd").read_text(encoding="utf-8")
SESSIONS = dict(re.findall(r"^### (\d\..*?) \{.*?\}\n(.*?)(?=^##)", TEXT, re.M | re.S))


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_lasts_45_minutes(session):
    minutes = [int(row) for row in re.findall(r"^\| (\d+) \|", SESSIONS[session], re.M)]
    assert len(minutes) >= 4
    assert sum(minutes) == 45


def test_there_are_nine_and_each_has_an_act_and_a_question():
    assert len(SESSIONS) == 9
    for text in SESSIONS.values():
        assert "Predict" in text
        assert "Do" in text
        assert "Play" in text


@pytest.mark.parametrize("name", re.findall(r"`(exercises/m\d\d\.py)`", TEXT))
def test_the_exercises_are_there(name):
    assert (ROOT / name).is_file()
