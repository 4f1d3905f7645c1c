"""The states that the explorer is looked at in; tests/site/test_widgets.py says how."""

FREE = "explorer.guide=6"  # without the tour all is open
OPEN = f"explorer.html?{FREE}&explorer.head=4.3"
WEIGHT = "#explorer .detail > details:last-child > summary"  # how a weight comes about
STATES = {
    "explorer": {
        "page": "explorer.html", "key": "explorer", "grows": 2400,
        "states": {
            "a head": "explorer.head=2.4&explorer.at=5&explorer.to=4&explorer.guide=6",
            "off": "explorer.off=4.3,1.1&explorer.temperature=0.5&explorer.head=4.3"
            "&explorer.guide=5",
            "typed": "explorer.text=%3Cb%3EZo%C3%AB%3C/b%3E+said:+%E2%80%9CCome!%E2%80%9D%0Aand"
            "&explorer.head=4.4&explorer.at=6&explorer.pin=The+king+was+old",
            "masked": "explorer.model=masked&explorer.head=2.1&explorer.guide=6",
            "hidden word": "explorer.model=masked-standard&explorer.head=2.1&explorer.to=1",
            "induction": "explorer.model=two-layers",
            "one layer": "explorer.model=one-layer&explorer.off=1.1",
            "long": "explorer.text=" + "the+duck+swam+and+" * 25 + "&explorer.head=1.1",
            "play": "explorer.stage=6&explorer.guide=6&explorer.head=4.3",
            "play, two ways": "explorer.model=masked&explorer.stage=5&explorer.guide=6",
            "finding": "explorer.text=The+Tin+Woodman+and+the+Scarecrow+went+to+see+the+Tin"
            "&explorer.head=2.4&explorer.off=1.1,2.4&explorer.guide=6",
            "unknown": "explorer.model=causal&explorer.text=hello+there",
            "empty": "explorer.text=+",
        },
        "damaged": ["explorer.model=x", "explorer.head=5.1", "explorer.head=", "explorer.at=x",
                    "explorer.to=-1", "explorer.off=9.9", "explorer.temperature=3",
                    "explorer.guide=7", "explorer.topk=0", "explorer.text=" + "a" * 1600],
        "goals": {
            "one-head-off": "explorer.off=4.3"
            "&explorer.text=The+king+had+a+golden+bird.+One+day+the+golden",
            "copied": "explorer.model=two-layers&explorer.head=2.2&explorer.text=quick+frog,"
            "quick+frog",
            "late": "explorer.text=Tom+had+a+black+cat.+One+night+the+black",
        },
    },
}  # fmt: skip
