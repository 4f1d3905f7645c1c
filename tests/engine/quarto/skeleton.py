# ruff: noqa — kept as it was when the skeletons were made with it
import sys, re
from bs4 import BeautifulSoup, NavigableString

h = open(sys.argv[1]).read()
s = BeautifulSoup(h, "html.parser")
SKIP = {
    "path",
    "svg",
    "mrow",
    "mi",
    "mo",
    "mn",
    "msup",
    "mfrac",
    "semantics",
    "annotation",
    "msqrt",
    "mtext",
    "mspace",
    "munder",
    "mstyle",
}


def show(n, d):
    if isinstance(n, NavigableString) or n.name is None:
        return
    if n.name in ("script", "style"):
        return
    cls = ".".join(sorted(c for c in n.get("class", [])))
    i = n.get("id", "")
    if re.fullmatch(r"[0-9a-f]{8}|cb\d+.*|.*-[0-9a-f]{8}-.*", i):
        i = "~"
    at = [
        k
        + (
            "=" + str(n[k])
            if k
            in (
                "data-nodetype",
                "role",
                "data-execution_count",
                "href",
                "src",
                "aria-selected",
                "data-bs-toggle",
            )
            else ""
        )
        for k in n.attrs
        if k
        in (
            "data-nodetype",
            "role",
            "data-execution_count",
            "data-bs-toggle",
            "aria-describedby",
            "href",
            "src",
        )
    ]
    at = [re.sub(r"[0-9a-f]{8}-[0-9a-f-]+", "~", x) for x in at]
    t = ""
    kids = [c for c in n.children if not isinstance(c, NavigableString)]
    if not kids or n.name in ("p", "figcaption", "a", "summary", "h1", "h2", "h3"):
        t = " ".join(n.get_text(" ", strip=True).split())[:60]
    print(
        "  " * d
        + n.name
        + ("#" + i if i else "")
        + ("." + cls if cls else "")
        + (" [" + " ".join(at) + "]" if at else "")
        + (' "' + t + '"' if t else "")
    )
    if n.name in SKIP or n.name == "math":
        return
    if n.name == "code" and "sourceCode" in n.get("class", []):
        return
    for c in kids:
        show(c, d + 1)


for sel in sys.argv[2:]:
    for n in s.select(sel):
        show(n, 0)
