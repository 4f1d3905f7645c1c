"""The built JavaScript: rebuilt from the lock file, licensed, without requests to other hosts."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JS = ROOT / "course/render/js"
VENDOR = ROOT / "assets/vendor"
BUILT = [
    *(
        VENDOR / name
        for name in (
            "observable.js",
            "d3.js",
            "lit.js",
            "markdown.js",
            "minisearch.js",
            "ojs-runtime.js",
        )
    ),
    VENDOR / "LICENSES.txt",
    JS / "ojs-compiler.js",
    JS / "LICENSES.txt",
]
SENT = [path for path in BUILT if path.parent == VENDOR and path.suffix != ".txt"]
# Never requested: names of XML vocabularies, and an address in an error message.
HARMLESS = re.compile(
    r"http://www\.w3\.org/(1999|2000|XML)/[\w/]+|https://github\.com/markedjs/marked\b"
)
REMOTE = re.compile(
    r"d3-require|jsdelivr|unpkg|observableusercontent|observablehq\.com|skypack|cdnjs"
)
PAGES = ["index.qmd", "_diagram-lib.qmd", "modules", "widgets"]


def relative(path):
    return path.relative_to(ROOT).as_posix()


def lock():
    return json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]


def missing_for_a_build():
    """Return the reason why a build is impossible here, or None."""
    if not shutil.which("node"):
        return "there is no Node here"
    installed = ROOT / "node_modules/.package-lock.json"
    if not installed.is_file():
        return "node_modules is missing: `npm ci` makes it"
    found = json.loads(installed.read_text(encoding="utf-8"))["packages"]
    asked = {name: about["version"] for name, about in lock().items() if name}
    other = [name for name in found if found[name]["version"] != asked.get(name)]
    return f"node_modules is not what the lock file says ({other[0]}): `npm ci`" if other else None


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    if reason := missing_for_a_build():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("rebuilt")
    subprocess.run(["node", JS / "build.mjs", folder], check=True, cwd=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("path", BUILT, ids=relative)
def test_a_rebuild_gives_the_same_bytes(rebuilt, path):
    assert (rebuilt / path.relative_to(ROOT)).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_nothing_else_is_built_or_left_over(rebuilt):
    files = {path.relative_to(rebuilt).as_posix() for path in rebuilt.rglob("*") if path.is_file()}
    assert files == set(map(relative, BUILT))
    assert set(VENDOR.iterdir()) == {path for path in BUILT if path.parent == VENDOR}


@pytest.mark.parametrize("path", SENT, ids=relative)
def test_what_readers_load_names_no_other_host(path):
    text = path.read_text(encoding="utf-8")
    assert REMOTE.findall(text) == []
    assert (
        re.findall(r"(?:https?:|wss?:)?//[\w-]+\.[\w.-]+\w[^\s\"'`]*", HARMLESS.sub("", text)) == []
    )
    if path.suffix == ".css":
        assert not re.search(r"@import|url\((?!data:)", text)


@pytest.mark.parametrize("path", [VENDOR / "LICENSES.txt", JS / "LICENSES.txt"], ids=relative)
def test_each_package_is_listed_with_its_licence_in_the_locked_version(path):
    parts = path.read_text(encoding="utf-8").split(f"\n{'-' * 80}\n\n")
    for part in parts:
        name, version, files = re.match(r"(\S+) (\S+) \(\S+\), in (.+)\n\n", part).groups()
        assert version == lock()[f"node_modules/{name}"]["version"]
        assert all((path.parent / file).is_file() for file in files.split(", "))
        assert re.search(r"copyright|permission", part, re.I)


@pytest.mark.slow
def test_every_package_in_a_bundle_is_listed(rebuilt):
    """Compare the list, made from the build's inputs, with the packages whose bytes are output."""
    inputs = subprocess.run(
        ["node", "-e", LIST_PACKAGES], check=True, cwd=ROOT, capture_output=True
    )
    listed = "".join(p.read_text("utf-8") for p in BUILT if p.suffix == ".txt")
    for name in json.loads(inputs.stdout):
        assert re.search(rf"^{re.escape(name)} \d", listed, re.M), name


LIST_PACKAGES = """
const {outputs} = require("esbuild").buildSync({
  entryPoints: ["observable", "markdown", "runtime", "compile"]
    .map((name) => `course/render/js/${name}.js`),
  alias: {"@observablehq/stdlib": "./course/render/js/no-stdlib.js"},
  external: ["./markdown.js"], format: "esm", outdir: "nowhere",
  bundle: true, metafile: true, write: false, logLevel: "error"
}).metafile;
const files = Object.values(outputs).flatMap(({inputs}) =>
  Object.keys(inputs).filter((name) => inputs[name].bytesInOutput > 0));
const names = files.map((file) => file.match(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/)?.[1]);
console.log(JSON.stringify([...new Set(names)].filter(Boolean)));
"""


def test_the_lock_file_names_no_registry():
    text = (ROOT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert not re.search(r"https?://[^\"]*(registry|npm)[^\"]*", text)
    packages = lock()
    assert {name for name, about in packages.items() if name and "integrity" not in about} == set()
    wanted = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_every_d3_name_in_the_bundle_is_in_use_and_the_reverse():
    exported = re.findall(r"^export \{([^}]+)\}", (JS / "d3.js").read_text("utf-8"), re.M)
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
