"""Whether Node's packages are here, in the versions of the lock file."""

import json
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lock():
    return json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]


def missing_for_a_build():
    """Return the reason why a build is impossible here, or None."""
    if not shutil.which("node"):
        return "there is no Node here"
    installed = ROOT / "node_modules/.package-lock.json"
    if not installed.is_file():
        return "node_modules is missing: `npm ci` makes it"
    packages = json.loads(installed.read_text(encoding="utf-8"))["packages"]
    versions = {name: about["version"] for name, about in lock().items() if name}
    if lacking := [
        name for name in versions if name not in packages and not lock()[name].get("optional")
    ]:
        return f"node_modules lacks {lacking[0]}: `npm ci`"
    other = [name for name in packages if packages[name]["version"] != versions.get(name)]
    return f"node_modules is not what the lock file says ({other[0]}): `npm ci`" if other else None
