"""The states that the widgets of m13 are looked at in; tests/site/test_widgets.py says how."""

PAGE = "modules/m13_beyond_softmax/lesson.html"

STATES = {
    "table-writer": {
        "page": PAGE, "key": "table",
        "states": {"corrects": "table.rule=corrects", "empty": "table.notes=",
                   "overlapping": "table.rule=corrects&table.notes=0n5%201n10%202n4",
                   "faded": "table.notes=0n5%201n10%20f20%200n2&table.fade=0.2",
                   "full": "table.notes=0n5%200n4%200n3%200n2%20f50%201n12%202n1%20f50"},
        "damaged": ["table.rule=guesses", "table.notes=9n5", "table.notes=0n13", "table.notes=f101",
                    "table.room=13", "table.fade=-1", "table.guest=Zoe"],
        "goals": {"all-right": "table.rule=corrects&table.notes=0n5%201n10%200n2%201n6%202n6",
                  "forgotten": "table.notes=0n5%201n10%20f0%200n5"},
    },
}  # fmt: skip
