"""The widgets of m00 and m01: the states in which each is looked at."""

TOUR, M01 = "modules/m00_tour/lesson.html", "modules/m01_why_attention/lesson.html"
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
        {"before training": "see.untrained=1&see.head=0&see.row=0",
         "the last word, warm": "see.ending=1&see.head=5&see.row=9"},
        ["see.head=6", "see.untrained=2"]),
    "path-tracer": {
        "page": M01, "key": "path",
        "states": {
            **{f"net {net}, {name}": f"path.net={net}&path.from={start}&path.to={end}"
               for net in range(5)
               for name, start, end in [("forth", 1, 7), ("back", 9, 0), ("itself", 6, 6)]},
        },
        "damaged": ["path.net=5", "path.from=-1", "path.to=1e309", "path.to=%F0"],
        "goals": {
            "no-path": "path.from=7&path.to=1",
            "one-step": "path.from=4&path.to=4",
            "nine-steps": "path.net=1&path.from=0&path.to=9",
        },
    },
    "flow-map": {
        "page": M01, "key": "flow",
        "states": {
            f"word {source}, decay {step}, {'causal' if causal else 'all'}":
                f"flow.source={source}&flow.causal={causal}&flow.decay={step}&flow.times={step + 1}"
            for source, causal in [(1, 0), (9, 1), (6, 1), (0, 0)] for step in (0, 2, 4)
        },
        "damaged": ["flow.decay=5", "flow.times=x", "flow.source=10", "flow.causal=yes",
                    "flow.decay=%F0"],
        "goals": {
            "half-far": "flow.source=0&flow.decay=3",
            "same": "flow.source=7&flow.decay=0&flow.times=1",
        },
    },
}  # fmt: skip
