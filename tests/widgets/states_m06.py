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
        "page": M06, "key": "heads",
        "states": {"one lion, head 2 off": "heads.sentence=1&heads.way=off-2",
                   "keys, one map": "heads.sentence=2&heads.way=mean",
                   "head 1 off, another row": "heads.way=off-1&heads.row=1",
                   "keys, cabinet": "heads.sentence=2&heads.row=5&heads.way=off-2"},
        "damaged": ["heads.sentence=9", "heads.way=off-3", "heads.row=-1", "heads.row=x"],
        "goals": {"wrong-number": "heads.way=off-2", "no-verb": "heads.way=off-1"},
    },
    "own-heads": {
        "page": M06, "key": "play", "grows": 1200,
        "states": {"one head": "play.heads=1&play.step=4", "beside": "play.versus=heads-1"},
        "damaged": ["play.heads=3"],
    },
}  # fmt: skip
