"""The states that the widgets of m04 are looked at in; tests/site/test_widgets.py says how."""

M04 = "modules/m04_softmax_and_scale/lesson.html"
RANDOM = ";".join(["-1.2,0.3,2,-0.7"] * 6)

STATES = {
    "saturation": {
        "page": M04, "key": "saturation",
        "states": {
            "largest keys": "saturation.size=8", "divided": "saturation.size=8&saturation.divide=1",
            "all changed": "saturation.size=8&saturation.divide=1&saturation.draw=39",
        },
        "damaged": ["saturation.size=9", "saturation.size=-1", "saturation.divide=2",
                    "saturation.draw=40", "saturation.draw=x"],
        "goals": {},
    },
    "softmax-slope": {
        "page": M04, "key": "softmax-slope",
        "states": {"by the root": "softmax-slope.by=3", "all level": "softmax-slope.by=6"},
        "damaged": ["softmax-slope.by=7", "softmax-slope.by=x"],
        "goals": {"farthest": "softmax-slope.by=3"},
    },
    "learning-rate": {
        "page": M04, "key": "learning-rate",
        "states": {"rate of 1": "learning-rate.rate=1", "largest rate": "learning-rate.rate=2"},
        "damaged": ["learning-rate.rate=3", "learning-rate.rate=x"],
        "goals": {},
    },
    "one-step": {
        "page": M04, "key": "one-step",
        "states": {"divided": "one-step.divide=1", "some outside": "one-step.rate=2",
                   "smallest": "one-step.rate=0&one-step.divide=1"},
        "damaged": ["one-step.rate=4", "one-step.rate=x", "one-step.divide=2"],
        "goals": {"all-open": "one-step.rate=0"},
    },
    "own-scale": {
        "page": M04, "key": "play", "grows": 1200,
        "states": {"undivided": "play.scale=0&play.step=4", "beside": "play.versus=scale-false"},
        "damaged": ["play.scale=2"],
    },
}  # fmt: skip
