"""The pages of input/ as the engine writes them, compared with output/, where a diff is the review.

`python -m tests.engine.test_output` writes output/ anew.
"""

import re
import tempfile
from pathlib import Path

import pytest

from tests.engine.sites import Site

INPUT, OUTPUT = (Path(__file__).parent / name for name in ("input", "output"))
NAMES = sorted(path.stem for path in INPUT.glob("[a-z]*.qmd"))
STYLE = ".known-class, .source, .term, .box, .answer, .prediction { color: red }\n"
GLOSSARY = "weight:\n  sentence: A share $v$ of 1.\n  symbol: $A_{ij}$\n  forms: [weights]\n"
SIDEBAR = """\
      - href: index.qmd
      - section: "Part one"
        contents:
          - href: pages/text.qmd
          - href: pages/boxes.qmd"""


def rendered(root: Path) -> dict[str, str]:
    """Return the body of each page, and the frame of one."""
    site = Site(root)
    site.extend()
    site.write("style.css", STYLE)
    site.write("glossary.yml", GLOSSARY)
    site.write("assets/vendor/ojs-runtime.js", "")
    site.edit("_quarto.yml", "type: website", "type: website\n  resources: [/assets/]")
    site.write("attention.py", "def fused_attention(query):\n    ...\n")
    for name in ("glossary", "sources/attention"):
        site.write(f"{name}.qmd", f"---\ntitle: {name}\n---\n")
    for file in INPUT.iterdir():
        site.write(f"pages/{file.name}", file.read_text(encoding="utf-8"))
    site.edit("_quarto.yml", '"lessons/*.qmd"', '"sources/*.qmd", glossary.qmd, "pages/[a-z]*.qmd"')
    site.edit("_quarto.yml", "      - href: index.qmd", SIDEBAR)
    site.render()
    pages = {name: site.html(f"pages/{name}.html") for name in NAMES}
    bodies = {name: re.search(r"<main.*?</header>\n(.*)</main>", html, re.S)[1]
              for name, html in pages.items()}  # fmt: skip
    frame = pages["text"].replace(bodies["text"], "")
    frame = re.sub(r"(<script[^>]*>)[^<]*(?=</script>)|'sha256-[^']*'|<p .*</p>\n", r"\1", frame)
    return {**bodies, "frame": re.sub(r"\n\s+", "\n", frame)}


@pytest.fixture(scope="module")
def bodies(tmp_path_factory):
    return rendered(tmp_path_factory.mktemp("output") / "site")


@pytest.mark.parametrize("name", [*NAMES, "frame"])
def test_a_page_is_as_stored(bodies, name):
    assert bodies[name] == (OUTPUT / f"{name}.html").read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, body in rendered(Path(folder) / "site").items():
            (OUTPUT / f"{name}.html").write_text(body, encoding="utf-8")
