"""The states that the widget of m15 is looked at in; tests/site/test_widgets.py says how."""

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
}  # fmt: skip
