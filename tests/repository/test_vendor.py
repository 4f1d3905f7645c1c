"""The built JavaScript: rebuilt from the lock file, licensed, without requests to other hosts."""

import json
import re
import subprocess

import pytest

from tests.repository.node import ROOT, lock, missing_for_a_build

VENDOR = ROOT / "assets/vendor"
# Never requested: names of XML vocabularies, and an address in an error message.
HARMLESS = re.compile(
    r"http://www\.w3\.org/(1999|2000|XML)/[\w/]+|https://github\.com/markedjs/marked\b"
)
REMOTE = re.compile(
    r"d3-require|jsdelivr|unpkg|observableusercontent|observablehq\.com|skypack|cdnjs"
)
PAGES = ["index.qmd", "_diagram-lib.qmd", "modules", "widgets"]


@pytest.mark.slow
def test_a_rebuild_gives_the_same_bytes_and_nothing_else(tmp_path):
    if reason := missing_for_a_build():
        pytest.skip(reason)
    subprocess.run(["node", ROOT / "web/build.mjs", tmp_path], check=True, cwd=tmp_path)
    built = {path.name: path.read_bytes() for path in (tmp_path / "assets/vendor").iterdir()}
    assert built.keys() == {path.name for path in VENDOR.iterdir()}
    for name, content in built.items():
        assert content == (VENDOR / name).read_bytes(), name


@pytest.mark.parametrize("path", sorted(VENDOR.glob("*.js")), ids=lambda path: path.name)
def test_what_readers_load_names_no_other_host(path):
    text = path.read_text(encoding="utf-8")
    addresses = r"(?:https?:|wss?:)?//[\w-]+\.[\w.-]+\w[^\s\"'`]*"
    assert REMOTE.findall(text) + re.findall(addresses, HARMLESS.sub("", text)) == []


def test_each_package_is_listed_with_its_licence_in_the_locked_version():
    for part in (VENDOR / "LICENSES.txt").read_text(encoding="utf-8").split(f"\n{'-' * 80}\n\n"):
        name, version, files = re.match(r"(\S+) (\S+) \(\S+\), in (.+)\n\n", part).groups()
        assert version == lock()[f"node_modules/{name}"]["version"]
        assert all((VENDOR / file).is_file() for file in files.split(", "))
        assert re.search(r"copyright|permission", part, re.I)


def test_the_lock_file_names_no_registry():
    text = (ROOT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert not re.search(r"https?://[^\"]*(registry|npm)[^\"]*", text)
    packages = lock()
    assert {name for name, about in packages.items() if name and "integrity" not in about} == set()
    wanted = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_every_d3_name_in_the_bundle_is_in_use_and_the_reverse():
    exported = re.findall(r"^export \{([^}]+)\}", (ROOT / "web/d3.js").read_text("utf-8"), re.M)
    names = {name.strip() for line in exported for name in line.split(",")}
    imports = re.compile(r'import \{([^}]+)\} from "[./]*/assets/vendor/d3\.js"')
    used = set()
    for page in PAGES:
        for path in [ROOT / page] if (ROOT / page).is_file() else (ROOT / page).rglob("*.*"):
            if path.suffix in {".js", ".qmd"}:
                text = path.read_text("utf-8")
                used |= set(re.findall(r"\bd3\.(?!js\b)([a-zA-Z]\w*)", text))
                used |= {name.strip() for line in imports.findall(text) for name in line.split(",")}
    assert used == names
