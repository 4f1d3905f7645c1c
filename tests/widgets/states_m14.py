"""The states that the widgets of m14 are looked at in; tests/site/test_widgets.py says how."""

PAGE = "modules/m14_hybrids/lesson.html"

SLOTS = ("first", "second", "third", "fourth")
SOFTMAX = "night.shown=softmax"
STATES = {
    "night-porter": {
        "page": PAGE, "key": "night",
        "states": {"nothing yet": "night.tokens=", "one coffee": "night.tokens=b",
                   "paid and counted anew": "night.tokens=aapa", "Ben": "night.asked=Ben",
                   "softmax": f"night.tokens=apaba&{SOFTMAX}",
                   "nothing but the question": f"night.tokens=&{SOFTMAX}",
                   "full": "night.tokens=aabapb",
                   "full softmax": f"night.tokens=aabapb&night.asked=Ben&{SOFTMAX}"},
        "damaged": ["night.tokens=apc", "night.tokens=aaaaaaa", "night.tokens=A",
                    "night.shown=table", "night.asked=Cleo"],
        "goals": {"misled": "night.tokens=ab", "softmax-again": "night.tokens=aapa"},
    },
    "coffee-count": {
        "page": PAGE, "key": "coffees",
        "states": {"others too": "coffees.others=5",
                   "all there are": "coffees.coffees=8&coffees.others=8",
                   "a single one": "coffees.coffees=1"},
        "damaged": ["coffees.coffees=0", "coffees.others=0", "coffees.coffees=two"],
        "goals": {"half-of-six": "coffees.coffees=6&coffees.others=6",
                  "three-quarters": "coffees.coffees=6&coffees.others=2"},
    },
    "stack-designer": {
        "page": PAGE, "key": "stack",
        "states": {"three in four": "&".join(f"stack.{slot}=table" for slot in SLOTS[:3]),
                   "windows": "stack.first=window&stack.third=window",
                   "all tables": "&".join(f"stack.{slot}=table" for slot in SLOTS),
                   "one of each": "stack.second=window&stack.third=table"},
        "damaged": ["stack.first=mamba", "stack.second=", "stack.fourth=2"],
        "goals": {"flat": "&".join(f"stack.{slot}=table" for slot in SLOTS)},
    },
}  # fmt: skip
