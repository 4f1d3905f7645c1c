"""The states that the step slider of m03 is looked at in; tests/site/test_widgets.py says how."""

M03 = "modules/m03_scaled_dot_product/lesson.html"
BIG = ";".join(["9.99,-9.99"] * 3)
LARGEST = "&".join(f"steps.{name}={BIG}" for name in ("query", "key", "value"))

STATES = {
    "step-slider": {
        "page": M03, "key": "steps",
        "states": {
            **{f"step {step}": f"steps.step={step}" for step in range(1, 5)},
            "causal": "steps.causal=1",
            **{f"step {step}, causal": f"steps.step={step}&steps.causal=1" for step in range(1, 5)},
            "the largest numbers": LARGEST,
            **{f"step {step}, the largest": f"steps.step={step}&{LARGEST}" for step in range(1, 5)},
            "a hidden score": "steps.step=1&steps.causal=1&steps.cell=1.scores.0.2",
            "a hidden weight": "steps.step=3&steps.causal=1&steps.cell=3.weights.0.2",
            "another cell":
                "steps.step=4&steps.causal=1&steps.cell=4.weights.1.0&steps.query=-1.5,0;1,1;1,2",
        },
        "damaged": ["steps.query=1,2;3", "steps.query=a,b;c,d;e,f", "steps.key=1e309,0;0,0;0,0",
                    "steps.value=,;,;,", "steps.causal=maybe", "steps.step=9", "steps.step=%F0",
                    "steps.cell=4.weights.9.9", "steps.cell=1.query.0.0"],
        "goals": {"bank-to-the": "steps.query=1,0.5;1,1;0,-2",
                  "steer": "steps.query=1,0.5;1,1;2.5,1"},
    },
}  # fmt: skip
