"""The states that the widget of the front page is looked at in; tests/site/test_widgets.py says how."""

STATES = {
    "taste": {
        "page": "index.html",
        "key": "taste",
        "states": {"corner": "taste.across=-2&taste.up=-2", "middle": "taste.across=0&taste.up=0"},
        "damaged": ["taste.across=9", "taste.up=x", "taste.up="],
        "goals": {},
    },
}
