"""The states that the widgets of m02, m06 and the front page are looked at in."""

M02 = "modules/m02_query_key_value/lesson.html"
M06 = "modules/m06_multi_head/lesson.html"

STATES = {
    "taste": {
        "page": "index.html",
        "key": "taste",
        "states": {"corner": "taste.across=-2&taste.up=-2", "middle": "taste.across=0&taste.up=0"},
        "damaged": ["taste.across=9", "taste.up=x", "taste.up="],
        "goals": {},
    },
    "soft-lookup": {
        "page": M02,
        "key": "lookup",
        "states": {
            "hard": "lookup.heat=0",
            "soft": "lookup.heat=3&lookup.across=-2&lookup.up=0.4",
            "middle, hard": "lookup.across=0&lookup.up=0&lookup.heat=0",
        },
        "damaged": ["lookup.heat=-1", "lookup.heat=4", "lookup.across=x", "lookup.up=1e309"],
        "goals": {
            "bow": "lookup.across=1.5&lookup.up=0.5&lookup.heat=0.5",
            "halves": "lookup.across=1.45&lookup.up=2",
        },
    },
    "token-focus": {
        "page": M02,
        "key": "focus",
        "states": {
            "short": "focus.sentence=0",
            "too small": "focus.sentence=2&focus.head=0",
            "keys, causal": "focus.sentence=3&focus.causal=1&focus.word=3.2&focus.head=7",
            "warm": "focus.sentence=4&focus.head=6",
            "causal, mean": "focus.causal=1&focus.head=8",
        },
        "damaged": [
            "focus.sentence=99", "focus.word=1.99", "focus.word=9.0", "focus.head=x",
            "focus.causal=2",
        ],
        "goals": {
            "verb-to-subject": "focus.sentence=3&focus.head=5",
            "causal-noun": "focus.causal=1&focus.head=7",
        },
    },
    "layer-steps": {
        "page": M06,
        "key": "layer",
        "states": {
            "project": "layer.step=1",
            "one head, split": "layer.heads=1&layer.step=2",
            "pairs, attend": "layer.heads=4&layer.sharing=1&layer.step=3",
            "all share, join": "layer.sharing=2&layer.step=4",
            "two heads, output": "layer.heads=2&layer.step=5",
            "sixteen, pairs": "layer.heads=16&layer.sharing=1&layer.step=2",
            "sixteen, all share": "layer.heads=16&layer.sharing=2&layer.step=3",
        },
        "damaged": [
            "layer.heads=3", "layer.heads=1e9", "layer.step=6", "layer.step=x", "layer.sharing=-1",
        ],
        "goals": {
            "small-cache": "layer.heads=16&layer.sharing=2",
            "quarter-less": "layer.sharing=1&layer.step=5",
        },
    },
    "reshape-tracer": {
        "page": M06,
        "key": "trace",
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
        "goals": {
            "twelve-astray": "trace.heads=4&trace.splitBlind=1",
            "all-back": "trace.splitBlind=1&trace.mergeBlind=1",
        },
    },
    "head-maps": {
        "page": M06,
        "key": "heads",
        "states": {
            "cat": "heads.sentence=1&heads.head=2",
            "cat, layer 0": "heads.sentence=1&heads.layer=0",
            "big": "heads.sentence=2&heads.row=12",
            "small, random": "heads.sentence=3&heads.layer=0&heads.head=2&heads.untrained=1",
            "random": "heads.untrained=1&heads.head=0",
        },
        "damaged": [
            "heads.sentence=9", "heads.layer=2", "heads.head=x", "heads.row=-1",
            "heads.untrained=yes",
        ],
        "goals": {
            "sharpest-head": "heads.sentence=1&heads.head=0",
            "looks-at-itself": "heads.sentence=2&heads.head=0&heads.row=1",
        },
    },
}  # fmt: skip
