"""Make the course's type of the published fonts: assets/fonts/*.woff2, course/page/fonts/*.ttf.

Only after a change of what is kept. In an environment with fonttools and brotli, from the root:

    npm pack @fontsource-variable/atkinson-hyperlegible-next@5.3.0
    npm pack @fontsource-variable/atkinson-hyperlegible-mono@5.3.0
    for file in *.tgz; do tar xzf $file --one-top-level=${file%-5.3.0.tgz}; done
    python web/fonts.py
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._g_l_y_f import Glyph
from fontTools.varLib.instancer import instantiateVariableFont

ROOT = Path(__file__).parents[1]
SOURCE = (
    "fontsource-variable-atkinson-hyperlegible-{0}/package/files/"
    "atkinson-hyperlegible-{0}-latin-wght-{1}.woff2"
)
NARROW = 0x202F  # the space of percentages, which the fonts lack
ASCII = {*range(0x20, 0x7F), 0xA0, NARROW}
MARKS = {*map(ord, "×–—‘’“”…−éü")}
TEXT = {*map(ord, "§°±²³·¹¼½÷àáäçëèêíóôöúñßÄÖÜÉ•€¶")}
FIGURES = {*map(ord, "°±²³·¹½÷")}


def make(kind: str, style: str, weight: object, signs: set[int], file: str) -> None:
    """Keep ``signs`` at ``weight``, one or (lightest, boldest)."""
    font = _again(instantiateVariableFont(TTFont(SOURCE.format(kind, style)), {"wght": weight}))
    _add_narrow_space(font, 632 if kind == "mono" else 200)
    if file.endswith(".ttf"):
        _name(font, int(weight))
    options = Options()
    options.layout_features = ["kern", "tnum"]
    options.hinting = False
    options.name_IDs = [0, 1, 2, 3, 4, 6, 13, 14]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=signs)
    subsetter.subset(font)
    font.flavor = "woff2" if file.endswith(".woff2") else None
    font.save(ROOT / file)
    print(file, (ROOT / file).stat().st_size)


def _again(font: TTFont) -> TTFont:
    """Write and read it: what an instance leaves half done is then whole."""
    font.flavor = None
    font.save(whole := BytesIO())
    font = TTFont(BytesIO(whole.getvalue()))
    for table in font.reader.tables:
        font[table]
    if "gvar" in font:
        font["gvar"].variations = {name: [*of] for name, of in font["gvar"].variations.items()}
    return font


def _add_narrow_space(font: TTFont, width: int) -> None:
    font["glyf"].glyphs["uni202F"] = Glyph()
    font["glyf"].glyphs["uni202F"].numberOfContours = 0
    font.setGlyphOrder([*font.getGlyphOrder(), "uni202F"])
    font["glyf"].glyphOrder = font.getGlyphOrder()
    font["hmtx"].metrics["uni202F"] = (width, 0)
    if "gvar" in font:
        font["gvar"].variations["uni202F"] = []
    if "HVAR" in font:
        del font["HVAR"]
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap[NARROW] = "uni202F"


def _name(font: TTFont, weight: int) -> None:
    """Tell matplotlib the family and the weight."""
    is_bold = weight > 400
    for record in font["name"].names:
        if record.nameID in (1, 16):
            record.string = "Atkinson Hyperlegible Next"
        if record.nameID in (2, 17):
            record.string = "Bold" if is_bold else "Regular"
        if record.nameID == 6:  # matplotlib keeps the letters of an SVG apart by this name
            record.string = f"AtkinsonHyperlegibleNext-{'Bold' if is_bold else 'Regular'}"
    font["OS/2"].usWeightClass = weight
    font["head"].macStyle = int(is_bold)
    font["OS/2"].fsSelection = font["OS/2"].fsSelection & ~0x61 | (0x20 if is_bold else 0x40)


if __name__ == "__main__":
    make("next", "normal", (400, 800), ASCII | MARKS | TEXT, "assets/fonts/text.woff2")
    make("next", "italic", 400, ASCII | MARKS, "assets/fonts/text-italic.woff2")
    make("mono", "normal", 400, ASCII | MARKS, "assets/fonts/code.woff2")
    make("next", "normal", 400, ASCII | MARKS | FIGURES, "course/page/fonts/regular.ttf")
    make("next", "normal", 700, ASCII | MARKS | FIGURES, "course/page/fonts/bold.ttf")
