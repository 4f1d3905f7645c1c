"""The states that the widgets of m12 and of ahead.qmd, which goes on from it, are looked at in.

tests/site/test_widgets.py says how.
"""

PAGE = "modules/m12_inference/lesson.html"

STATES = {
    "cached-writing": {
        "page": PAGE, "key": "write",
        "states": {"first": "write.length=1", "last": "write.length=128"},
        "damaged": ["write.length=0", "write.length=129", "write.length=x"],
        "goals": {"spare-most": "write.length=100"},
    },
    "kv-calculator": {
        "page": PAGE, "key": "kv",
        "states": {
            "storyteller": "kv.model=0&kv.length=1&kv.texts=0",
            "too large": "kv.model=4&kv.keeps=all&kv.length=8&kv.texts=8",
            "latent": "kv.model=6&kv.keeps=latent&kv.narrow=1",
            "shared": "kv.model=3&kv.keeps=one&kv.length=5&kv.texts=6&kv.window=1&kv.narrow=1",
        },
        "damaged": ["kv.model=7", "kv.keeps=some", "kv.length=9", "kv.texts=-1", "kv.window=2"],
        "goals": {"room-for-64": "kv.length=5&kv.texts=6&kv.window=1"},
    },
    "sparse-patterns": {
        "page": PAGE, "key": "pattern",
        "states": {"full": "pattern.pattern=full", "causal": "pattern.pattern=causal",
                   "window": "pattern.pattern=window&pattern.size=5",
                   "strided": "pattern.pattern=strided&pattern.size=12",
                   "blocks": "pattern.pattern=blocks&pattern.size=32",
                   "itself": "pattern.pattern=window&pattern.size=1"},
        "damaged": ["pattern.pattern=none", "pattern.size=0", "pattern.size=33"],
        "goals": {"skip-tiles": "pattern.pattern=window&pattern.size=4",
                  "far-and-few": "pattern.pattern=strided&pattern.size=8",
                  "nine-layers": "pattern.size=8"},
    },
    "writing-ahead": {
        "page": "ahead.html", "key": "ahead",
        "states": {"nothing yet": "ahead.done=0", "kept and struck": "ahead.done=16",
                   "the end": "ahead.done=60",
                   "all kept": "ahead.text=2&ahead.length=8&ahead.done=20",
                   "layers": "ahead.writer=layers&ahead.done=9",
                   "most thrown": "ahead.text=1&ahead.writer=layers&ahead.length=8&ahead.done=60"},
        "damaged": ["ahead.text=3", "ahead.length=0", "ahead.length=9", "ahead.done=61",
                    "ahead.done=-1", "ahead.done=x", "ahead.writer=nobody"],
        "goals": {"fewest-readings": "ahead.writer=layers&ahead.length=8&ahead.done=60",
                  "drafts-that-pay":
                      "ahead.text=2&ahead.writer=layers&ahead.length=2&ahead.done=60"},
    },
}  # fmt: skip
