"""The states that the widgets of m11 are looked at in; tests/site/test_widgets.py says how."""

STATES = {
    "new-score": {
        "page": "modules/m11_fast_and_exact/lesson.html", "key": "new-score",
        "states": {"nothing converted": "new-score.score=0", "the pencil's 4": "new-score.score=4",
                   "longest numbers": "new-score.score=6",
                   "too large for powers": "new-score.score=7"},
        "damaged": ["new-score.score=8", "new-score.score=-1", "new-score.score=x"],
    },
    "flash-stepper": {
        "page": "modules/m11_fast_and_exact/lesson.html", "key": "flash",
        "states": {
            "a chosen cell": "flash.step=2&flash.cell=11",
            "a hidden cell": "flash.causal=1&flash.step=1&flash.cell=2",
            "nothing yet": "flash.step=0", "written": "flash.step=5", "the end": "flash.step=72",
            "causal, skipped": "flash.causal=1&flash.step=7",
            "one by one": "flash.queryTile=1&flash.keyTile=1&flash.step=30",
            "all at once": "flash.queryTile=8&flash.keyTile=8&flash.step=1",
            "too large, causal": "flash.queryTile=8&flash.keyTile=4&flash.causal=1&flash.step=2",
        },
        "damaged": ["flash.step=73", "flash.step=-1", "flash.step=x", "flash.queryTile=3",
                    "flash.keyTile=0", "flash.keyTile=1e309", "flash.causal=2", "flash.cell=65",
                    "flash.cell=-1", "flash.cell=x"],
        "goals": {"all-written": "flash.step=20",
                  "least-carried": "flash.queryTile=4&flash.causal=1"},
    },
}  # fmt: skip
