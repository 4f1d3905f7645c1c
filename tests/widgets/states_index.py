"""The states of the front page's widget; tests/site/test_widgets.py says how they are used."""

STATES = {
    "taste": {
        "page": "index.html",
        "key": "taste",
        "states": {"corner": "taste.across=-2&taste.up=-2", "middle": "taste.across=0&taste.up=0"},
        "damaged": ["taste.across=9", "taste.up=x", "taste.up="],
        "goals": {},
    },
}
