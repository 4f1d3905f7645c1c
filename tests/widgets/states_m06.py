"""The states that the widgets of m06 are looked at in; tests/site/test_widgets.py says how."""

M06 = "modules/m06_multi_head/lesson.html"

STATES = {
    "layer-steps": {
        "page": M06, "key": "layer", "grows": 130,
        "states": {"project": "layer.step=1", "one head, split": "layer.heads=1&layer.step=2",
                   "eight heads, attend": "layer.heads=8&layer.step=3", "merge": "layer.step=4",
                   "two heads, mix": "layer.heads=2&layer.step=5",
                   "sixteen, split": "layer.heads=16&layer.step=2",
                   "sixteen, attend": "layer.heads=16&layer.step=3"},
        "damaged": ["layer.heads=3", "layer.heads=1e9", "layer.step=6", "layer.step=x"],
    },
    "reshape-tracer": {
        "page": M06, "key": "trace",
        "states": {
            "four heads": "trace.heads=4&trace.number=22",
            "blind split": "trace.splitBlind=1&trace.number=0",
            "blind merge": "trace.mergeBlind=1&trace.number=22",
            "both blind": "trace.splitBlind=1&trace.mergeBlind=1",
            "four, blind split": "trace.heads=4&trace.splitBlind=1",
            "four, blind merge": "trace.heads=4&trace.mergeBlind=1&trace.number=0",
            "four, both": "trace.heads=4&trace.splitBlind=1&trace.mergeBlind=1&trace.number=22",
        },
        "damaged": ["trace.heads=3", "trace.number=24", "trace.number=", "trace.splitBlind=2"],
        "goals": {"all-back": "trace.splitBlind=1&trace.mergeBlind=1"},
    },
    "head-maps": {
        "page": M06, "key": "heads", "grows": 130,
        "states": {"cat": "heads.sentence=1&heads.layer=1&heads.head=4",
                   "cat, layer 1": "heads.sentence=1",
                   "big": "heads.sentence=3&heads.layer=1&heads.row=12",
                   "dogs, random": "heads.sentence=2&heads.head=1&heads.untrained=1",
                   "random": "heads.untrained=1&heads.layer=1"},
        "damaged": ["heads.sentence=9", "heads.layer=2", "heads.head=x", "heads.row=-1",
                    "heads.untrained=yes"],
        "goals": {"finds-keys": "heads.layer=1&heads.head=1",
                  "finds-dogs": "heads.sentence=2&heads.layer=1&heads.head=1"},
    },
    "own-heads": {
        "page": M06, "key": "play", "grows": 1200,
        "states": {"one head": "play.heads=1&play.step=4", "beside": "play.versus=heads-1"},
        "damaged": ["play.heads=3"],
    },
}  # fmt: skip
