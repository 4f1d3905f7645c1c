"""The states that the widgets of m01 are looked at in; tests/site/test_widgets.py says how."""

M01 = "modules/m01_why_attention/lesson.html"

STATES = {
    "path-tracer": {
        "page": M01, "key": "path",
        "states": {
            **{f"net {net}, {start} to {end}": f"path.net={net}&path.from={start}&path.to={end}"
               for net in range(2) for start, end in [(1, 7), (9, 0), (6, 6)]},
        },
        "damaged": ["path.net=2", "path.from=-1", "path.to=1e309", "path.to=%F0"],
        "goals": {"no-path": "path.from=7&path.to=1", "ten-steps": "path.from=0&path.to=9"},
    },
    "flow-map": {
        "page": M01, "key": "flow",
        "states": {
            f"word {source}, decay {step}":
                f"flow.source={source}&flow.decay={step}&flow.times={step + 1}"
            for source, step in [(0, 0), (0, 4), (1, 2), (6, 0), (9, 2), (9, 4)]
        },
        "damaged": ["flow.decay=5", "flow.times=x", "flow.source=10", "flow.decay=%F0"],
        "goals": {"half-far": "flow.source=0&flow.decay=3"},
    },
}  # fmt: skip
