"""Make assets/fonts/math.woff2, the part of STIX Two Math that formulas of the course need.

After `npm ci`, with fonttools and brotli: `python web/math_font.py`. Chromium
stretches brackets and sums only with a font that has a MATH table, and few systems have one.
"""

from pathlib import Path
from string import ascii_letters, digits

from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).parents[1]
SOURCE = "node_modules/@fontsource/stix-two-math/files/stix-two-math-latin-400-normal.woff2"
TARGET = "assets/fonts/math.woff2"
SIGNS = " #&()+,./:;<=>[]{|}!'*-~\u00a0±·×…′−→⇒∂∈∑√∝∞∥≈≠≤≥⊤⊙⋅⌊⌋⌈⌉ℝ\u2061\u2062\u0302\u0304ˆ"
GREEK = "αβγδεθλμπστφωΔΣ"
# A browser takes a variable's letter from the block of italic ones; only h has another code point.
ITALIC_LETTERS = [*range(0x1D434, 0x1D455), *range(0x1D456, 0x1D468), 0x210E]
ITALIC_GREEK = [
    0x1D6E2 + ord(c) - ord("Α") if c < "α" else 0x1D6FC + ord(c) - ord("α") for c in GREEK
]


def narrow_roots(font: TTFont) -> None:
    """Give the taller root the width of the small one, and drop those that are taller still.

    Chromium leaves as much room for a root as its widest form has, whichever it draws, so that
    a gap stood behind each root in a line of text.
    """
    variants = font["MATH"].table.MathVariants
    root = font.getBestCmap()[ord("√")]
    forms = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    forms.MathGlyphVariantRecord = forms.MathGlyphVariantRecord[:2]
    forms.VariantCount = 2
    forms.GlyphAssembly = None
    taller = forms.MathGlyphVariantRecord[1].VariantGlyph
    width, _ = font["hmtx"][root]
    shift = width - font["hmtx"][taller][0]
    outline = font["glyf"][taller]
    outline.coordinates.translate((shift, 0))
    outline.recalcBounds(font["glyf"])
    font["hmtx"][taller] = (width, font["hmtx"][taller][1] + shift)


def main() -> None:
    options = subset.Options()
    options.flavor = "woff2"
    options.hinting = False
    options.layout_features = ["ssty", "dtls"]  # small forms of raised and lowered signs
    font = subset.load_font(ROOT / SOURCE, options)
    narrow_roots(font)
    subsetter = subset.Subsetter(options)
    letters = map(ord, ascii_letters + digits + SIGNS + GREEK)
    subsetter.populate(unicodes=[*letters, *ITALIC_LETTERS, *ITALIC_GREEK])
    subsetter.subset(font)
    subset.save_font(font, ROOT / TARGET, options)


if __name__ == "__main__":
    main()
