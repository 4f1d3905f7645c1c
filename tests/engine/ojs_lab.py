"""Write pages of OJS cells to a temporary folder, with modules to import."""

import shutil
from pathlib import Path

from course.render.ojs.modules import Modules
from course.render.ojs.page_script import OjsPage

ROOT = Path(__file__).parents[2]
LESSON = "lessons/a.qmd"
MODULES = {
    "widgets/math.js": "export const double = (x) => 2 * x, UNIT = 'kg';\nexport class Box {}\n"
    "export {double as twice};\nexport default 1;\n",
    "widgets/all.js": 'export * from "./math.js";\nexport {helped} from "./lib/help.js";\n',
    "widgets/lib/help.js": 'import {double} from "../math.js";\nexport const helped = double(8);\n',
    "widgets/broken.js": 'throw new Error("broken.js breaks");\nexport const broken = 1;\n',
    "widgets/slip.js": "export const slip = (1;\n",
    "widgets/lost.js": 'import {doubel} from "./math.js";\nexport const lost = 1;\n',
    "widgets/newer.js": "export class P {\n  #hidden = 1;\n}\n",
}


class Lab:
    """A project of ES modules, and pages of cells in it."""

    def __init__(self, root):
        self.root = root
        (root.parent / "outside.js").write_text("export const x = 1;\n", encoding="utf-8")
        for path, text in MODULES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        shutil.copytree(ROOT / "assets/vendor", root / "assets/vendor")

    def page(self, published=()):
        return OjsPage(Modules(self.root), published=published)

    def write(self, name, page, elements, before=""):
        html = f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>{before}"
        html += f'<main style="width: 500px">{"".join(elements)}</main>{page.script(root="../")}'
        (self.root / "lessons").mkdir(exist_ok=True)
        (self.root / "lessons" / name).write_text(html, encoding="utf-8")


def element(place, tag="div", nodetype=""):
    return f'<{tag} id="{place}" data-nodetype="{nodetype}"></{tag}>'
