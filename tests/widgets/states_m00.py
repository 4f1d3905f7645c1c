"""The states that the widgets of m00 are looked at in; tests/site/test_widgets.py says how."""

TOUR = "modules/m00_tour/lesson.html"
STEPS = ["why", "roles", "scores", "softmax", "heads", "mask", "code", "patterns"]
DAMAGED_STEPS = ["tour.step=0", "tour.step=9", "tour.step=x", "tour.step=2.5", "tour.step=%E0%A4%A",
                 "tour.all=yes"]  # fmt: skip


def figure(name, states, damaged):
    """A figure of one step, which must be shown."""
    step = f"tour.step={STEPS.index(name) + 1}"
    shown = {"as it starts": step, **{look: f"{step}&{query}" for look, query in states.items()}}
    return {"page": TOUR, "key": "see", "states": shown,
            "damaged": [f"{step}&{query}" for query in damaged], "goals": {}}  # fmt: skip


STATES = {
    "tour": {
        "page": TOUR, "key": "tour",
        "states": {**{f"step {n}": f"tour.step={n}" for n in range(1, 9)}, "all": "tour.all=1"},
        "damaged": DAMAGED_STEPS, "goals": {},
    },
    "tour-why": figure("why", {"warm": "see.ending=1"}, ["see.ending=2", "see.ending=x"]),
    "tour-roles": figure("roles", {"the first word": "see.word=0"}, ["see.word=3"]),
    "tour-scores": figure("scores", {"a score below 1": "see.word=0&see.key=0"}, ["see.key=-1"]),
    "tour-softmax": figure("softmax", {"the first word": "see.word=0&see.key=2"}, ["see.key=%F0"]),
    "tour-heads": figure("heads", {"the last word, warm": "see.ending=1&see.row=9"},
                         ["see.row=10"]),
    "tour-mask": figure("mask", {"lifted": "see.causal=0&see.word=1"}, ["see.causal=yes"]),
    "tour-code": figure("code", {f"line {n + 1}": f"see.line={n}" for n in range(5)},
                        ["see.line=5"]),
    "tour-patterns": figure(
        "patterns",
        {"before training, the first word": "see.head=0&see.row=0",
         "the last word, warm": "see.untrained=0&see.ending=1&see.head=5&see.row=9"},
        ["see.head=6", "see.untrained=2"]),
}  # fmt: skip
