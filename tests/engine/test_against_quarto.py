"""Random pages against what Quarto made of them, kept in quarto/answers.json."""

import json
import re

import pytest

from tests.engine.against_quarto import ANSWERS, ours

CASES = json.loads(ANSWERS.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_each_page_reads_as_quartos_or_is_refused_by_its_line(tmp_path):
    """In one test: on several processes each would render all pages."""
    pages = {name: "\n".join(case["page"]) + "\n" for name, case in CASES.items()}
    answers = ours(tmp_path / "site", pages)
    assert answers == {name: wanted(case) for name, case in CASES.items()}
    quotes = [quote for case in CASES.values() for quote in quotes_elsewhere(case)]
    assert not quotes


def wanted(case):
    return ["refused", *case["refused"]] if "refused" in case else case["quarto"]


def quotes_elsewhere(case):
    """Refusals that quote a word which doesn't stand in the line that they name."""
    for message in case.get("refused", ()):
        line, reason = re.fullmatch(r"(\d+): (.*)", message).groups()
        quoted = re.search(r'"([^"]+)"|([#@][\w-]+)', reason)
        word = quoted and (quoted[1] or quoted[2]).strip("@#")
        if word and word not in case["page"][int(line) - 1]:
            yield message
