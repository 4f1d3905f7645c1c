"""The states that the widgets of m15 are looked at in; tests/site/test_widgets.py says how."""

PAGE = "modules/m15_sparse_attention/lesson.html"

STATES = {
    "token-choice": {
        "page": PAGE, "key": "choice",
        "states": {"one by the cheap score": "choice.by=cheap&choice.looks=1",
                   "everything": "choice.by=full&choice.looks=33",
                   "a note overlooked": "choice.asked=4&choice.by=cheap&choice.looks=2",
                   "another guest": "choice.asked=15&choice.by=cheap&choice.looks=4"},
        "damaged": ["choice.looks=0", "choice.asked=16", "choice.by=best"],
        "goals": {"window-is-right": "choice.looks=26", "fewest": "choice.by=cheap&choice.looks=2",
                  "overlooked": "choice.asked=4&choice.by=cheap&choice.looks=4"},
    },
    "choice-savings": {
        "page": PAGE, "key": "savings",
        "states": {"short": "savings.length=256", "even": "savings.length=2304",
                   "long": "savings.length=1048576"},
        "damaged": ["savings.length=0", "savings.length=2305", "savings.length=all"],
        "goals": {"even": "savings.length=2304"},
    },
}  # fmt: skip
