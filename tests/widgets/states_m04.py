"""The states that the widgets of m04 are looked at in; tests/site/test_widgets.py says how."""

M04 = "modules/m04_softmax_and_scale/lesson.html"
RANDOM = ";".join(["-1.2,0.3,2,-0.7"] * 6)

STATES = {
    "saturation": {
        "page": M04, "key": "saturation",
        "states": {
            "largest keys": "saturation.size=8", "divided": "saturation.size=8&saturation.divide=1",
            "raw, spread out": "saturation.size=8&saturation.spread=2&saturation.draw=1",
            "narrow": "saturation.divide=1&saturation.spread=0.25&saturation.draw=2",
            "all changed":
                "saturation.size=8&saturation.divide=1&saturation.spread=2&saturation.draw=39",
        },
        "damaged": ["saturation.size=9", "saturation.size=-1", "saturation.divide=2",
                    "saturation.spread=0", "saturation.spread=1e309", "saturation.draw=40",
                    "saturation.draw=x"],
        "goals": {"frozen": "saturation.size=8",
                  "frozen-divided": "saturation.size=4&saturation.divide=1&saturation.spread=2",
                  "spread-of-1": "saturation.size=3&saturation.spread=0.4"},
    },
    "temperature": {
        "page": M04, "key": "heat",
        "states": {"zero": "heat.stop=0", "zero, a tie": "heat.stop=0&heat.cell=1.0",
                   "cold": "heat.stop=0.1&heat.cell=3.2", "hot": "heat.stop=3&heat.cell=5.5",
                   "infinite": "heat.stop=Infinity&heat.cell=5.5",
                   "other numbers": f"heat.stop=0.5&heat.cell=4.1&heat.query={RANDOM}"},
        "damaged": ["heat.stop=7", "heat.stop=", "heat.stop=0.25", "heat.stop=-1", "heat.cell=6.0",
                    "heat.cell=1.1.1", "heat.cell=x", "heat.query=1,2;3", "heat.key=1e309"],
    },
    "learning-rate": {
        "page": M04, "key": "learning-rate",
        "states": {"largest rate": "learning-rate.rate=2"},
        "damaged": ["learning-rate.rate=3", "learning-rate.rate=x"],
        "goals": {},
    },
    "own-scale": {
        "page": M04, "key": "play", "grows": 1200,
        "states": {"undivided": "play.scale=0&play.step=4", "beside": "play.versus=scale-false"},
        "damaged": ["play.scale=2"],
    },
}  # fmt: skip
