"""The states that the widgets of m00 are looked at in; tests/site/test_widgets.py says how."""

TOUR = "modules/m00_tour/lesson.html"
STEPS = {"why": 1, "scores": 3, "softmax": 4, "heads": 5, "mask": 6, "patterns": 8}
DAMAGED_STEPS = ["tour.step=0", "tour.step=9", "tour.step=x", "tour.step=2.5", "tour.step=%E0%A4%A",
                 "tour.all=yes"]  # fmt: skip


def figure(name, states, damaged, key="see"):
    """A figure of one step, which must be shown."""
    step = f"tour.step={STEPS[name]}"
    shown = {"as it starts": step, **{look: f"{step}&{query}" for look, query in states.items()}}
    return {"page": TOUR, "key": key, "states": shown,
            "damaged": [f"{step}&{query}" for query in damaged]}  # fmt: skip


STATES = {
    "tour": {
        "page": TOUR, "key": "tour", "damaged": DAMAGED_STEPS,
        "states": {**{f"step {n}": f"tour.step={n}" for n in range(1, 9)}, "all": "tour.all=1"},
    },
    "tour-why": figure("why", {"warm": "see.ending=1"}, ["see.ending=2", "see.ending=x"]),
    "tour-scores": figure(
        "scores",
        {"a score below 1": "see.word=0&see.key=0", "the mat": "see.mat=1&see.word=1&see.key=2"},
        ["see.key=-1", "see.word=3", "see.mat=2"]),
    "tour-softmax": figure(
        "softmax",
        {"the first word": "see.word=0&see.key=2", "the mat": "see.mat=1&see.word=1&see.key=0"},
        ["see.key=%F0"]),
    "tour-heads": figure(
        "heads",
        {"the last word": "see.head=5&see.row=9",
         "before training, the first word": "see.untrained=1&see.head=0&see.row=0"},
        ["see.row=10", "see.head=6", "see.untrained=2"]),
    "tour-mask": figure("mask", {"lifted": "mask.causal=0&mask.word=0"}, ["mask.causal=yes"],
                        key="mask"),
    "tour-patterns": figure(
        "patterns",
        {"without its verb head": "gap.off=1",
         "lions, without a head of layer 1": "gap.plural=1&gap.head=3&gap.off=1"},
        ["gap.head=6", "gap.off=2", "gap.plural=x"], key="gap"),
}  # fmt: skip
