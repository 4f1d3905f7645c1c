"""The states that the widgets of m08 are looked at in; tests/site/test_widgets.py says how."""

PAGE = "modules/m08_patterns/lesson.html"

STATES = {
    "pattern-zoo": {
        "page": PAGE, "key": "zoo", "grows": 180,
        "states": {"first word": "zoo.row=0&zoo.head=4",
                   "previous": "zoo.isTrained=1&zoo.head=7&zoo.row=4",
                   "induction": "zoo.isTrained=1&zoo.head=14"},
        "damaged": ["zoo.isTrained=2", "zoo.head=16", "zoo.head=x", "zoo.row=13"],
        "goals": {"previous": "zoo.isTrained=1&zoo.head=7", "marks": "zoo.isTrained=1&zoo.head=12",
                  "rabbit": "zoo.isTrained=1&zoo.head=14"},
    },
    "induction-lab": {
        "page": PAGE, "key": "lab", "grows": 120,
        "states": {"untrained": "lab.step=0", "turning": "lab.step=8&lab.at=20",
                   "off": "lab.off=1.1,2.2", "own": "lab.text=the+cat+sat.+the+cat&lab.at=13",
                   "longest": f"lab.text={2 * 'abcdefghijklmnopqrstuvwx'}&lab.at=47&lab.step=4",
                   "refused": "lab.text=%C3%A4%3Cb%3E", "too short": "lab.text=a"},
        "damaged": ["lab.step=21", "lab.step=x", "lab.at=48", "lab.off=3.1", "lab.off=",
                    "lab.text=" + "a" * 49],
        "goals": {"turning": "lab.step=8", "blind": "lab.off=1.1,1.2",
                  "fooled": "lab.text=abcdefghijhgfedcba"},
    },
    "own-induction": {
        "page": PAGE, "key": "play", "grows": 1200,
        "states": {"one layer": "play.layers=1&play.step=4", "beside": "play.versus=layers-1"},
        "damaged": ["play.layers=4"],
    },
}  # fmt: skip
