"""The states that the widgets of m05 are looked at in; tests/site/test_widgets.py says how."""

PAGE = "modules/m05_masks/lesson.html"

STATES = {
    "mask-builder": {
        "page": PAGE, "key": "mask",
        "states": {"everyone": "mask.causal=0",
                   "all rules": "mask.window=2&mask.prefix=1&mask.padding=2&mask.row=5",
                   "empty rows": "mask.painted=0.0.0_3.0.0_3.1.0_3.2.0_3.3.0&mask.row=3",
                   "leaking": "mask.painted=0.5.1_2.4.1&mask.row=0"},
        "damaged": ["mask.window=0", "mask.window=x", "mask.prefix=6", "mask.padding=9",
                    "mask.causal=2", "mask.painted=9.9.1", "mask.painted=1.1",
                    "mask.painted=1.1.2_0.0.1", "mask.row=6"],
        "goals": {"hide-one": "mask.painted=5.2.0", "two-words": "mask.window=2",
                  "prefix-padding": "mask.prefix=2&mask.padding=1"},
    },
    "leak-test": {
        "page": PAGE, "key": "leak",
        "states": {"all moved": "leak.changed=5.0", "chosen": "leak.changed=5.1&leak.cell=0.1",
                   "wrong": "leak.mask=4&leak.changed=5.3.1&leak.cell=0.1&leak.isNamed=1",
                   "not changed": "leak.mask=2&leak.cell=0.2&leak.isNamed=1",
                   "found": "leak.mask=3&leak.changed=4&leak.cell=2.4&leak.isNamed=1"},
        "damaged": ["leak.mask=0", "leak.mask=5", "leak.changed=6", "leak.changed=1.1",
                    "leak.changed=x", "leak.cell=1", "leak.cell=0.6", "leak.isNamed=2"],
        "goals": {"leak": "leak.changed=3&leak.cell=1.3&leak.isNamed=1",
                  "leak-one-column": "leak.mask=2&leak.changed=2&leak.cell=0.2&leak.isNamed=1",
                  "leak-window": "leak.mask=3&leak.changed=4&leak.cell=2.4&leak.isNamed=1",
                  "leak-prefix": "leak.mask=4&leak.changed=3&leak.cell=0.3&leak.isNamed=1"},
    },
    "translator-rows": {
        "page": PAGE, "key": "translator",
        "states": {"first row": "translator.row=0",
                   "without slow": "translator.phrase=2&translator.row=5",
                   "last row of the longer": "translator.row=11",
                   "beyond the shorter": "translator.phrase=2&translator.row=11"},
        "damaged": ["translator.row=12", "translator.row=x", "translator.phrase=3",
                    "translator.phrase=x"],
        "goals": {"same-query": "translator.phrase=2",
                  "three-words": "translator.row=8"},
    },
    "empty-row": {
        "page": PAGE, "key": "empty", "grows": 120,
        "states": {"half": "empty.dtype=2", "double": "empty.dtype=1&empty.hidden=2",
                   "none hidden": "empty.hidden=0"},
        "damaged": ["empty.dtype=4", "empty.hidden=-1"],
    },
    "mask-conventions": {
        "page": PAGE, "key": "mask",
        "states": {"last row": "mask.row=5",
                   "empty row": "mask.painted=3.0.0_3.1.0_3.2.0_3.3.0&mask.row=3"},
        "damaged": [],
    },
}  # fmt: skip
