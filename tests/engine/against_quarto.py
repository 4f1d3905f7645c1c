"""Compare random pages of this engine with Quarto's: `python -m tests.engine.against_quarto`.

``--keep`` writes pages and Quarto's answers to answers.json, for where Quarto isn't at hand.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.engine.random_pages import random_page
from tests.engine.seen import seen
from tests.engine.sites import Problem, Problems, Site

_OF_A_PAGE = re.compile(r"\[ *\d+/\d+\] lessons/(\w+)\.qmd(.*?)(?=\n\[ *\d+/\d+\]|\Z)", re.S)
ANSWERS = Path(__file__).parent / "quarto" / "answers.json"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'


def site_of(root: Path, pages: dict[str, str]) -> Site:
    site = Site(root, **pages)
    site.write("lessons/picture.svg", PICTURE)
    site.write("lessons/page0.qmd", "---\ntitle: Another\n---\nx\n")
    return site


def ours(root: Path, pages: dict[str, str]) -> dict[str, list[str]]:
    """Return what is seen of each page; of a page that is refused, "refused" and the messages."""
    site = site_of(root, pages)
    answers = _refused(site.check())
    try:
        site.render()
    except (Problem, Problems) as problem:
        answers = answers or _refused(str(problem).splitlines())
    for name in answers:
        (root / f"lessons/{name}.qmd").unlink()
    rest = {name: text for name, text in pages.items() if name not in answers}
    if answers:
        return answers | ours(root, rest)
    return {name: seen(site.html(f"lessons/{name}.html")) for name in rest}


def _refused(messages: list[str]) -> dict[str, list[str]]:
    answers: dict[str, list[str]] = {}
    for message in messages:
        name = re.match(r"lessons/(\w+)\.qmd:", message)
        assert name, f"names no page: {message}"
        answers.setdefault(name[1], ["refused"]).append(message.partition(":")[2])
    return answers


def quartos(root: Path, pages: dict[str, str], quarto: str) -> dict[str, list[str]]:
    """Return what is seen of each of Quarto's pages; "refused" and its log where it fails."""
    site = site_of(root, pages)
    environment = os.environ | {"QUARTO_PYTHON": sys.executable}
    done = subprocess.run(
        [quarto, "render"], cwd=root, env=environment, encoding="utf-8", errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    log = re.sub(r"\x1b\[\d+m", "", done.stdout)
    told = dict(_OF_A_PAGE.findall(log))
    answers = {
        name: ["refused", *found]
        for name, text in told.items()
        if name in pages and (found := re.findall(r"Unable to resolve.*|(?:ERROR|Error).*", text))
    }
    if done.returncode:  # it stopped at the page that it named last
        last = list(told)[-1]
        answers = {last: answers.get(last, ["refused", log[-500:]])}
        print(f"Quarto stops at {last}: {answers[last][1:]}", flush=True)
        (root / f"lessons/{last}.qmd").unlink()
        rest = {name: text for name, text in pages.items() if name != last}
        return answers | quartos(root, rest, quarto)
    good = (name for name in pages if name not in answers)
    return answers | {name: seen(site.html(f"lessons/{name}.html")) for name in good}


def differences(mine: list[str], theirs: list[str]) -> list[str]:
    """Return the lines that differ; none where this engine refuses the page."""
    if mine[0] == "refused":
        return []
    lines = difflib.unified_diff(theirs, mine, lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def keep(pages: dict[str, str], mine: dict[str, list[str]], theirs: dict[str, list[str]]) -> None:
    kept = {}
    for name, text in pages.items():
        kept[name] = {"page": text.splitlines(), "quarto": theirs[name]}
        if mine[name][0] == "refused":
            kept[name]["refused"] = mine[name][1:]
    ANSWERS.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--quarto", default=shutil.which("quarto"))
    options = parser.parse_args()
    if not options.quarto:
        parser.error("there is no quarto on this machine; pytest compares with its kept answers")
    seeds = range(options.seed, options.seed + options.count)
    pages = {f"page{seed}": random_page(seed) for seed in seeds}
    with tempfile.TemporaryDirectory() as folder:
        mine = ours(Path(folder) / "ours", pages)
        theirs = quartos(Path(folder) / "quarto", pages, options.quarto)
    different = {name: found for name in pages if (found := differences(mine[name], theirs[name]))}
    for name, found in different.items():
        print(f"\n{name}", pages[name].partition("---\n\n")[2], *found, sep="\n")
    refused = sum(answer[0] == "refused" for answer in mine.values())
    print(f"\n{len(pages)} pages: {refused} refused, {len(different)} differ from Quarto's")
    if options.keep:
        keep(pages, mine, theirs)
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
