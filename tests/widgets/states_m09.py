"""The states that the widget of m09 is looked at in; tests/site/test_widgets.py says how."""

STATES = {
    "attributions": {
        "page": "modules/m09_interpretation/lesson.html", "key": "review", "grows": 140,
        "states": {"truth": "review.truth=1",
                   "fined": "review.model=B&review.truth=1&review.review=2",
                   "erased": "review.erased=3",
                   "many erased": "review.review=1&review.erased=0.1.2.5&review.truth=1",
                   "all ways": "review.all=1",
                   "last": "review.review=5&review.model=B&review.all=1"},
        "damaged": ["review.review=99", "review.review=x", "review.model=good", "review.erased=99",
                    "review.erased=1.x", "review.erased=", "review.truth=2", "review.all=2"],
        "goals": {"open": "review.erased=9", "unmoved": "review.model=B&review.erased=7",
                  "three-left": "review.erased=0.1.2.3.4.5.6.8.11"},
    },
    "patch-lab": {
        "page": "modules/m09_interpretation/lesson.html", "key": "patch", "grows": 120,
        "states": {"one": "patch.at=8&patch.tried=10.8",
                   "two": "patch.two=1&patch.at=8.0&patch.tried=10.8.0",
                   "headless": "patch.off=1&patch.at=0",
                   "A, all tried": "patch.model=A&patch.run=dull&patch.at=10&"
                                   "patch.tried=0.1.2.3.4.5.6.7.8.9.10.11.12"},
        "damaged": ["patch.at=13", "patch.at=1.2.3", "patch.at=8.8", "patch.at=x", "patch.at=",
                    "patch.tried=0.99", "patch.run=not", "patch.model=C", "patch.two=2",
                    "patch.off=x"],
        "goals": {"copies": "patch.at=8&patch.tried=0.8", "headless": "patch.off=1&patch.at=0",
                  "lost": "patch.model=A&patch.off=1"},
    },
}  # fmt: skip
