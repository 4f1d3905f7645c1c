"""Write random small pages: attributes, classes and options of Quarto, combined by a seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.engine.sites import python

HEAD = "---\ntitle: A page\n---\n"
WORDS = "cat query key value 'weight' row \"mask\" d_k head -- scale ... layer".split()
MARKUP = ["*{}*", "**{}**", "`{}`", "~~{}~~", "H~{}~", "x^{}^", "[{}]{{.known-class}}", "${}$"]
# What may stand in braces; the second list is what this engine may refuse.
USUAL = [".known-class", ".third", 'data-row="F1"', 'style="color: red"', "lang=en"]
UNUSUAL = [
    ".column-margin", ".aside", ".smallcaps", ".underline", ".mark", ".hidden", ".lightbox",
    ".content-hidden", 'when-format="html"', 'layout-ncol="2"', "tbl-colwidths=[20,80]",
    'fig-align="left"', 'filename="a.py"', 'code-line-numbers="true"', "code-fold=true",
    ".numberLines", 'startFrom="3"', 'appearance="simple"', 'icon="false"', 'title="A *title*"',
    "width=30%", ".unnumbered", ".unlisted", "key=value", ".nobody", "fig-alt=x", "collapse=true",
    '.python', 'shortcodes="false"', 'fig-cap="Over *it*"', 'tbl-cap="Over"', 'lst-cap="Code"',
    '.striped', '.panel-tabset', '.line-block', '.incremental', '.proof', '.fig-cap', 'start=3',
]  # fmt: skip
CALLOUTS = ["note", "tip", "warning", "caution", "important"]


class Writer:
    """Writes one page; labels are counted, so that later text can refer to them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.labels: list[str] = []
        self.count = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def label(self, kind: str) -> str:
        self.count += 1
        label = f"{kind}-{self.count}"
        if kind != "own":
            self.labels.append(label)
        return label

    def braces(self, *fixed: str, odd: float = 0.06) -> str:
        parts = [one for one in fixed if one]
        if self.chance(0.4):
            parts.append(self.one(*USUAL))
        if self.chance(odd):
            parts.append(self.one(*UNUSUAL))
        return f"{{{' '.join(parts)}}}" if parts else ""

    def words(self, count: int = 4) -> str:
        words = [self.one(*WORDS) for _ in range(count)]
        if self.chance(0.6):
            words[-1] = self.one(*MARKUP).format("a" + words[-1].strip("'\".-_"))
        return " ".join(words)

    def sentence(self) -> str:
        text = self.words(5) + self.one(".", "?", "\\", "  \nand on.", "\nand on.")
        if self.chance(0.5):
            text += " " + self.inline()
        return text

    def inline(self) -> str:
        return self.one(*INLINE).format(
            text=self.words(2), braces=self.braces(odd=0.1) or "{.third}", ref=self.reference(),
            odd=self.one(*ODD_INLINE) if self.chance(0.06) else "so.",
        )  # fmt: skip

    def reference(self) -> str:
        """Refer to a label, or cite a book."""
        if not self.labels or self.chance(0.25):
            return self.one(
                "@knuth1984", "[@knuth1984]", "[-@knuth1984]", "[see @knuth1984, p. 3]",
                "@knuth1984 [p. 3]", "[@knuth1984, chap. 2, and *on*]", "@knuth1984's",
            )  # fmt: skip
        form = self.one(
            "@{}", "@{}.", "[@{}]", "[-@{}]", "-@{}", "@{}'s", "(@{})", "**@{}**",
            "[@{}; @{other}]", "[@{}, @{other}]", "@{{{}}}", "\\@{}", "[@{}]{{.third}}",
            "[see](#{})", "@{}, p. 3",
        )  # fmt: skip
        return form.format(self.one(*self.labels), other=self.one(*self.labels))

    def indented(self, text: str, by: str) -> str:
        return "\n".join(by + line if line else line for line in text.splitlines())

    def inner(self) -> str:
        """Blocks for the inside of a div, a list or a quotation."""
        return "\n\n".join(self.one(*SIMPLE)(self) for _ in range(self.random.randint(1, 2)))


INLINE = [
    "[{text}]{braces}", "`code`{braces}", "[link](/index.qmd){braces}", "<https://example.org>",
    "A note.^[With {text}]", "{ref}", "{ref}", "{ref} and {text}", "$q_i K^\\top$", "{odd}",
    "[{text}](page0.qmd \"Its title\")", "a^b^ c~d~ -- e---f...", "![Small](picture.svg){braces}",
    "[{text} [inside]{{.third}}]{braces}", "a<br>b", "\\$5 and \\*stars\\*", 
    "&amp; &copy; <!-- c -->x",
]  # fmt: skip
ODD_INLINE = [
    "{{< meta title >}}", "{{< pagebreak >}}", "{{{< meta title >}}}", "`{python} 1 + 1`",
    "{{< kbd Ctrl-C >}}", ":smile:", "https://example.org/bare", "@Fig-1", "[Fig. @fig-1]",
    "@thm-1", "`x`{.python}", "x^[Inline *note*.]", "[x]{.callout-note}", "{{< video a.mp4 >}}",
    "[@sec-1 and @fig-1]", "@tip-1", "{{< lipsum 1 >}}", "[text][ref]", "\\(x\\)", "$$x$$ inline",
]  # fmt: skip


def paragraph(w: Writer) -> str:
    return w.sentence()


def heading(w: Writer) -> str:
    kind = w.one("", "", "sec", "sec", "own")
    label = f"#{w.label(kind)}" if kind else ""
    return f"{w.one('#', '##', '##', '###')} {w.words(2)} {w.braces(label)}".rstrip()


def items(w: Writer) -> str:
    tasks = "- [x] " if w.chance(0.1) else "- "
    mark = w.one("- ", "* ", "1. ", "3. ", "#. ", "a. ", "(i) ", tasks)
    apart = w.one("\n", "\n\n")
    inside = w.indented(w.inner(), "    ") if w.chance(0.4) else ""
    return apart.join([mark + w.words(), mark + w.words(), *([f"\n{inside}"] if inside else [])])


def definition(w: Writer) -> str:
    return f"{w.words(1)}\n: {w.sentence()}"


def quotation(w: Writer) -> str:
    return "\n".join(f"> {line}".rstrip() for line in w.inner().splitlines())


def lines(w: Writer) -> str:
    return f"| {w.words()}\n|   {w.words()}"


def fence(w: Writer) -> str:
    info = w.one("", "python", "text", "{.python}", w.braces(".python", odd=0.25), "{.nolang}",
                 "yaml", "{=html}", "{=latex}")  # fmt: skip
    code = w.one("x = 1", "<b>x</b>", "x = 1  # <1>" if w.chance(0.1) else "a: 'b'", "# comment")
    ticks = w.one("```", "~~~", "````")
    return f"{ticks} {info}\n{code}\n{ticks}"


def formula(w: Writer) -> str:
    label = f" {{#{w.label('eq')}}}" if w.chance(0.6) else ""
    end = w.one("", "", " and text", ".")
    return w.one("$$a = b$$", "$$\na = b\n$$", f"{w.words(2)} $$c^2$$") + label + end


def image(w: Writer) -> str:
    label = f"#{w.label('fig')}" if w.chance(0.6) else ""
    caption = w.one(w.words(3), "", w.reference())
    title = w.one("", ' "Its title"')
    return f"![{caption}](picture.svg{title}){w.braces(label, odd=0.12)}"


def table(w: Writer) -> str:
    rule = w.one("| --- | ---: |", "| :-: | --- |", "|---|---|")
    label = w.braces(f"#{w.label('tbl')}", odd=0.2) if w.chance(0.5) else w.one("", "{.third}")
    caption = w.one(f"\n\n: {w.words(3)} {label}", "")
    return f"| a | {w.words(1)} |\n{rule}\n| {w.words(2)} | 1 |{caption}"


def div(w: Writer) -> str:
    kind = w.one("", "", "", "", "fig", "tbl", "own", "sec" if w.chance(0.2) else "")
    label = f"#{w.label(kind)}" if kind else ""
    braces = w.braces(label, odd=0.12) or "{.known-class}"
    return f"::: {braces}\n{w.inner()}\n:::"


def callout(w: Writer) -> str:
    options = ['collapse="true"', 'collapse="false"', "collapse=true", 'title="My *own*"', "", ""]
    kind, label = f".callout-{w.one(*CALLOUTS)}", w.one("", "#a-callout")
    braces = w.braces(kind, w.one(*options), label, odd=0.12)
    title = w.one("", f"{w.one('##', '###')} {w.words(2)}\n\n")
    return f":::: {braces}\n{title}{w.inner()}\n::::"


def cell(w: Writer) -> str:
    source = w.one(
        "print('shown')", "1 + 1", "from IPython.display import Markdown; Markdown('*said*')",
        f"from IPython.display import SVG; SVG('{DRAWING}')", "x = 1", "print('**bold**')",
        f"from IPython.display import SVG, display; display(SVG('{DRAWING}')); 5",
        "import sys; print('one'); print('two', file=sys.stderr)",
    )  # fmt: skip
    is_figure = "SVG" in source and w.chance(0.6)
    options = {"label": w.label("fig") if is_figure else w.one("one", "two", "three")}
    for name, values in CELL_OPTIONS.items():
        if w.chance(0.2):
            options[name] = w.one(*values)
    if w.chance(0.05):
        options |= [{"eval": "false"}, {"include": "false"}, {"warning": "false"},
                    {"classes": "third"}, {"tbl-cap": "x"}][w.random.randrange(5)]  # fmt: skip
    return python(source, **options)


DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'
CELL_OPTIONS = {
    "echo": ("true", "false", "false"), "output": ("true", "false", "asis"),
    "code_fold": ("true", "false", "show"), "code_summary": ("'See *it*'", "See"),
    "fig_cap": ("'A *drawn* one'", "Drawn"), "fig_alt": ("'Alt \"x\"'", "Alt"),
}  # fmt: skip
SIMPLE: list[Callable[[Writer], str]] = [
    paragraph, paragraph, items, fence, image, table, formula, quotation, lines, definition,
]  # fmt: skip
PIECES = [*SIMPLE, heading, heading, div, div, callout, callout, callout]


def random_page(seed: int) -> str:
    """Return a page of two to four pieces; every fifth has a Python cell too."""
    w = Writer(seed)
    parts = [w.one(*PIECES)(w) for _ in range(w.random.randint(2, 4))]
    if seed % 5 == 0:
        parts.insert(w.random.randrange(len(parts) + 1), cell(w))
    if w.labels:
        parts.append(f"See {w.reference()} here.")
    return HEAD + "\n" + "\n\n".join(parts) + "\n"
