"""Random pages, each as Quarto made it or refused: `against_quarto.py` kept Quarto's answers."""

import json
import re

import pytest

from tests.engine.against_quarto import ANSWERS, ours

CASES = json.loads(ANSWERS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    pages = {name: "\n".join(case["page"]) + "\n" for name, case in CASES.items()}
    return ours(tmp_path_factory.mktemp("random") / "site", pages)


@pytest.mark.parametrize("name", CASES)
def test_a_page_reads_as_quartos_or_is_refused(answers, name):
    case = CASES[name]
    wanted = ["refused", *case["refused"]] if "refused" in case else case["quarto"]
    assert answers[name] == wanted


@pytest.mark.parametrize("name", [name for name in CASES if "refused" in CASES[name]])
def test_a_refusal_quotes_a_word_of_the_line_that_it_names(answers, name):
    for message in answers[name][1:]:
        line, reason = re.fullmatch(r"(\d+): (.*)", message).groups()
        quoted = re.search(r'"([^"]+)"|([#@][\w-]+)', reason)
        if quoted:
            assert (quoted[1] or quoted[2]).strip("@#") in CASES[name]["page"][int(line) - 1]
