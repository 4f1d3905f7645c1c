"""The states that the widgets of m01 are looked at in; tests/site/test_widgets.py says how."""

M01 = "modules/m01_why_attention/lesson.html"

STATES = {
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
