"""The states that m03 and m04 are looked at in; tests/site/test_widgets.py says how."""

M03 = "modules/m03_scaled_dot_product/lesson.html"
M04 = "modules/m04_softmax_and_scale/lesson.html"
BIG = ";".join(["9.99,-9.99"] * 3)
LARGEST = "&".join(f"steps.{name}={BIG}" for name in ("query", "key", "value"))
RANDOM = ";".join(["-1.2,0.3,2,-0.7"] * 6)

STATES = {
    "step-slider": {
        "page": M03,
        "key": "steps",
        "states": {
            **{f"step {step}": f"steps.step={step}" for step in range(1, 5)},
            "causal": "steps.causal=1",
            **{f"step {step}, causal": f"steps.step={step}&steps.causal=1" for step in range(1, 5)},
            "the largest numbers": LARGEST,
            **{
                f"step {step}, the largest numbers": f"steps.step={step}&{LARGEST}"
                for step in range(1, 5)
            },
            "a hidden score": "steps.step=1&steps.causal=1&steps.cell=1.scores.0.2",
            "a hidden weight": "steps.step=3&steps.causal=1&steps.cell=3.weights.0.2",
            "another cell": (
                "steps.step=4&steps.causal=1&steps.cell=4.weights.1.0&steps.query=-1.5,0;0,2;2,1"
            ),
        },
        "damaged": [
            "steps.query=1,2;3", "steps.query=a,b;c,d;e,f", "steps.key=1e309,0;0,0;0,0",
            "steps.value=,;,;,", "steps.causal=maybe", "steps.step=9", "steps.step=%F0",
            "steps.cell=4.weights.9.9", "steps.cell=1.query.0.0",
        ],
        "goals": {
            "sat-to-cat": "steps.query=1,0.5;0,2;8,4",
            "equal-row": "steps.query=1,0.5;0,0;2,1",
        },
    },
    "saturation": {
        "page": M04,
        "key": "saturation",
        "states": {
            "largest keys": "saturation.size=8",
            "divided": "saturation.size=8&saturation.divide=1",
            "raw, spread out": "saturation.size=8&saturation.spread=2&saturation.draw=1",
            "narrow": "saturation.divide=1&saturation.spread=0.25&saturation.draw=2",
            "all changed": (
                "saturation.size=8&saturation.divide=1&saturation.spread=2&saturation.draw=39"
            ),
        },
        "damaged": [
            "saturation.size=9", "saturation.size=-1", "saturation.divide=2", "saturation.spread=0",
            "saturation.spread=1e309", "saturation.draw=40", "saturation.draw=x",
        ],
        "goals": {
            "frozen": "saturation.size=8",
            "frozen-divided": "saturation.size=4&saturation.divide=1&saturation.spread=2",
            "spread-of-1": "saturation.spread=0.7",
        },
    },
    "temperature": {
        "page": M04,
        "key": "heat",
        "states": {
            "zero": "heat.stop=0",
            "zero, a tie": "heat.stop=0&heat.cell=1.0",
            "cold": "heat.stop=0.1&heat.cell=3.2",
            "hot": "heat.stop=3&heat.cell=5.5",
            "infinite": "heat.stop=Infinity&heat.cell=5.5",
            "other numbers": f"heat.stop=0.5&heat.cell=4.1&heat.query={RANDOM}",
        },
        "damaged": [
            "heat.stop=7", "heat.stop=", "heat.stop=0.25", "heat.stop=-1", "heat.cell=6.0",
            "heat.cell=1.1.1", "heat.cell=x", "heat.query=1,2;3", "heat.key=1e309",
        ],
        "goals": {
            "half": "heat.stop=1.6",
            "tie": "heat.stop=0&heat.cell=1.0",
            "all-equal": "heat.stop=Infinity",
        },
    },
}  # fmt: skip
