"""The states that the widget of m09 is looked at in; tests/site/test_widgets.py says how."""

STATES = {
    "attributions": {
        "page": "modules/m09_interpretation/lesson.html", "key": "review", "grows": 140,
        "states": {"truth": "review.truth=1",
                   "fined": "review.model=B&review.truth=1&review.review=2",
                   "erased": "review.erased=3",
                   "many erased": "review.review=1&review.erased=0.1.2.5&review.truth=1",
                   "last": "review.review=5&review.model=B"},
        "damaged": ["review.review=99", "review.review=x", "review.model=good", "review.erased=99",
                    "review.erased=1.x", "review.erased=", "review.truth=2"],
        "goals": {"open": "review.erased=9", "unmoved": "review.model=B&review.erased=7",
                  "five-left": "review.erased=0.1.2.3.5.6.8"},
    },
}  # fmt: skip
