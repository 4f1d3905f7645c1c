"""What the site leaves out of scripts and styles: comments and indentation, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from course.render.write.strip_sources import strip_source
from tests.engine.sites import ROOT, Site

SOURCES = [*ROOT.glob("widgets/**/*"), *ROOT.glob("assets/**/*")]
WRITTEN = [
    path for path in SOURCES
    if path.suffix in (".js", ".css") and path.parent.name not in ("vendor", "node_modules")
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "source", "left"),
    [
        ("a.js", "a(); // one\nb();\n", "a();\nb();\n"),
        ("a.js", "/** One\n * two */\nexport const a = 1;\n", "\n\nexport const a = 1;\n"),
        ("a.js", "const a = b/* c */in d;", "const a = b in d;"),
        ("a.js", "a(\"// b\", '/* c */', /\\/*/, /[/*]/);", None),
        (
            "a.js",
            "a(`// ${b /* c */ + `/* d */`} /* e */`);",
            "a(`// ${b  + `/* d */`} /* e */`);",
        ),
        ("a.js", "// Built; licences in LICENSES.txt.\na();", None),
        ("a.js", "//# sourceMappingURL=a.js.map\n/*! kept */", None),
        ("a.js", "a( // what isn't understood stays", None),
        ("a.js", "{\n  a(`\n  b ${\n    c}`);\n}", "{\na(`\n  b ${\nc}`);\n}"),
        ("a.js", "a('b\\\n  c');", None),
        ("a.css", "/* one\n two */\na { top: 0; /* b */ }\n", "\n\na { top: 0;   }\n"),
        ("a.css", 'a::before { content: \'/* b */\'; } b { content: " /* \\" */ "; }', None),
        ("a.css", "a/* no space between */.b { top: 0; }", None),
        ("a.svg", "<!-- /* a */ -->", None),
    ],
)
def test_comments_and_indentation_go_and_all_else_stays(tmp_path, name, source, left):
    (tmp_path / name).write_text(source, encoding="utf-8", newline="")
    assert strip_source(tmp_path / name).decode() == (source if left is None else left)


def test_lines_keep_their_numbers():
    for path in WRITTEN:
        assert strip_source(path).count(b"\n") == path.read_bytes().count(b"\n"), path


def test_scripts_and_styles_mean_the_same_once_stripped(tmp_path):
    """In esbuild's shortest form."""
    esbuild = ROOT / "node_modules/.bin/esbuild"
    if not esbuild.is_file():
        pytest.skip("node_modules is missing: `npm ci` makes it")
    forms = []
    for content_of in (Path.read_bytes, strip_source):
        folder = tmp_path / content_of.__name__
        folder.mkdir()
        for number, path in enumerate(WRITTEN):
            (folder / f"{number}{path.suffix}").write_bytes(content_of(path))
        options = [f"--outdir={folder}/short", "--minify", "--legal-comments=none"]
        subprocess.run([esbuild, *folder.iterdir(), *options, "--log-level=error"], check=True)
        short = (folder / "short").iterdir()
        forms.append({WRITTEN[int(file.stem)]: file.read_bytes() for file in short})
    before, after = forms
    assert len(before) == len(WRITTEN) > 100
    assert [path for path in WRITTEN if before[path] != after[path]] == []


def test_a_site_is_stripped_and_the_source_is_not(tmp_path):
    site = Site(tmp_path / "site")
    site.write("parts/one.js", "/* why */ export const one = 1;\n")
    site.edit("_quarto.yml", "  type: website", "  type: website\n  resources: [parts/]")
    site.render()
    assert (site.root / "_site/parts/one.js").read_text() == "  export const one = 1;\n"
    assert "no-longer" not in (site.root / "_site/style.css").read_text()
    assert "/*" not in (site.root / "_site/assets/frame/frame.css").read_text()
    assert "why" in (site.root / "parts/one.js").read_text()
