"""The states that the widgets of m07 and of longer.qmd, which goes on from it, are looked at in.

tests/site/test_widgets.py says how.
"""

PAGE = "modules/m07_position/lesson.html"

STATES = {
    "word-order": {
        "page": PAGE, "key": "order",
        "states": {"man bites dog": "order.order=2.1.0",
                   "causal, one kept": "order.causal=1&order.order=1.0.2",
                   "causal, first order": "order.causal=1"},
        "damaged": ["order.order=0.0.1", "order.order=3", "order.causal=2"],
    },
    "clock-hands": {
        "page": PAGE, "key": "clocks",
        "states": {"rebound": "clocks.place=7&clocks.distance=6",
                   "far": "clocks.place=47&clocks.distance=47"},
        "damaged": ["clocks.place=48", "clocks.distance=0", "clocks.distance=x"],
    },
    "rotary-hands": {
        "page": PAGE, "key": "rotary",
        "states": {"best": "rotary.query=10&rotary.all=1",
                   "the other word": "rotary.word=man&rotary.query=9&rotary.all=1",
                   "far": "rotary.query=15&rotary.key=0",
                   "ahead": "rotary.query=0&rotary.key=15",
                   "one position": "rotary.query=7"},
        "damaged": ["rotary.word=cat", "rotary.query=16", "rotary.key=-1", "rotary.all=2"],
        "goals": {"same-score": "rotary.query=15&rotary.key=14",
                  "highest-of-dog": "rotary.query=3&rotary.key=0",
                  "highest-of-man": "rotary.word=man&rotary.query=9"},
    },
    "rotary-order": {
        "page": PAGE, "key": "turned",
        "states": {"man bites dog": "turned.order=2.1.0",
                   "not turned": "turned.order=2.1.0&turned.rotary=0"},
        "damaged": ["turned.order=2.1", "turned.rotary=2"],
    },
    "moved-pair": {
        "page": "longer.html", "key": "pair",
        "states": {"sinusoidal": "pair.scheme=sinusoidal&pair.place=20&pair.distance=5",
                   "rotary": "pair.scheme=rotary&pair.place=47&pair.distance=12",
                   "alibi": "pair.scheme=alibi", "learned": "pair.scheme=learned",
                   "last": "pair.scheme=relative&pair.place=47&pair.distance=47"},
        "damaged": ["pair.scheme=best", "pair.place=48", "pair.place=2", "pair.distance=0"],
    },
    "own-positions": {
        "page": PAGE, "key": "play", "grows": 1200,
        "states": {"none": "play.positions=none&play.step=4",
                   "beside": "play.versus=positions-none"},
        "damaged": ["play.positions=x"],
    },
}  # fmt: skip
