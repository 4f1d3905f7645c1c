"""The states that the ground floor is looked at in; tests/site/test_widgets.py says how."""

LESSON = "floor.lesson=The+good+old+man+went+home+to+his+mother"

STATES = {
    "ground-floor": {
        "page": "modules/start/lesson.html", "key": "floor", "grows": 480,
        "states": {
            "vector of The": "floor.part=1&floor.token=0", "attention": "floor.part=4&floor.head=3",
            "the last layer's attention": "floor.part=8&floor.token=8",
            "MLP": "floor.part=3&floor.token=4", "guess at the end": "floor.part=10&floor.token=8",
            "loss": "floor.part=11&floor.token=2", "step": "floor.part=12",
            "learned": f"floor.part=12&floor.steps=3&{LESSON}",
            "another text, learned": f"floor.text=She+had+a+%F0%9F%90%87&floor.part=10"
            f"&floor.steps=10&floor.token=3&{LESSON}",
            "long": "floor.text=The+little+girl+ran+home+to+her+mother+and+father%2C+who+were"
            "+looking+at+the+Wizard+of+Oz.+Then+they+went+to+town.&floor.part=5",
            "no text": "floor.text=",
        },
        "damaged": ["floor.part=13", "floor.part=x", "floor.token=-1", "floor.token=99",
                    "floor.head=4", "floor.steps=11", "floor.steps=0.5", f"floor.text={'x' * 161}"],
        "goals": {"word-before": "floor.part=4&floor.head=3",
                  "first-guess": "floor.text=Come+here%2C+my+dear"},
    },
    "floor-head": {
        "page": "modules/start/lesson.html", "key": "floor-head", "grows": 250,
        "states": {
            "off": "floor-head.off=1",
            "the prince": "floor-head.text=The+prince+put+on+his&floor-head.off=1",
            "the girl": "floor-head.text=The+little+girl+went+home+to+her",
            "one's own": "floor-head.text=She+had+a+%F0%9F%90%87&floor-head.off=1",
            "long": "floor-head.text=The+little+girl+ran+home+to+her+mother+and+father%2C+who+were"
            "+looking+at+the+Wizard+of+Oz.+Then+they+went+to+town.",
            "no text": "floor-head.text=",
        },
        "damaged": ["floor-head.off=2", f"floor-head.text={'x' * 161}"],
    },
    "floor-unit": {
        "page": "modules/start/lesson.html", "key": "floor-unit", "grows": 250,
        "states": {
            "the girl": "floor-unit.text=The+little+girl+went+home+to+her",
            "its": "floor-unit.text=The+dog+saw+its+mother%2C+and+my+cats+saw+your+house",
            "a rabbit": "floor-unit.text=%F0%9F%90%87",
            "no text": "floor-unit.text=",
        },
        "damaged": [f"floor-unit.text={'x' * 161}"],
    },
    "floor-step": {
        "page": "modules/start/lesson.html", "key": "floor-step", "grows": 120,
        "states": {
            "learned": "floor-step.steps=1",
            "the prince": "floor-step.text=The+prince+put+on+his&floor-step.steps=3",
            "one's own": "floor-step.text=She+had+a+%F0%9F%90%87&floor-step.steps=10",
            "no text": "floor-step.text=&floor-step.steps=1",
        },
        "damaged": ["floor-step.steps=11", "floor-step.steps=x", f"floor-step.text={'x' * 161}"],
    },
}  # fmt: skip
