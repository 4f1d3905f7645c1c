"""The states that the widgets of m03 are looked at in; tests/site/test_widgets.py says how."""

M03 = "modules/m03_scaled_dot_product/lesson.html"
BIG = ";".join(["9.99,-9.99"] * 3)
LARGEST = "&".join(f"steps.{name}={BIG}" for name in ("query", "key", "value"))

STATES = {
    "step-slider": {
        "page": M03, "key": "steps",
        "states": {
            **{f"step {step}": f"steps.step={step}" for step in range(1, 6)},
            "the largest numbers": LARGEST,
            **{f"step {step}, the largest": f"steps.step={step}&{LARGEST}" for step in range(1, 6)},
            "another cell":
                "steps.step=5&steps.cell=5.weights.1.0&steps.query=-1.5,0;1,1;1,2",
            "equal weights": "steps.query=1.5,-1;1,1;1.5,1",
            "in the ring": "steps.query=1.5,-1;1,1;2.5,1",
            "an arrow beyond the plane": "steps.query=1.5,-1;1,1;-9,-9",
            "another word asks": "steps.cell=0.weights.1.2",
        },
        "damaged": ["steps.query=1,2;3", "steps.query=a,b;c,d;e,f", "steps.key=1e309,0;0,0;0,0",
                    "steps.value=,;,;,", "steps.step=9", "steps.step=%F0",
                    "steps.cell=4.weights.9.9", "steps.cell=1.query.0.0"],
        "goals": {"equal": "steps.query=1.5,-1;1,1;1.5,1",
                  "equal-doubled": "steps.query=1.5,-1;1,1;6,4",
                  "bank-to-the": "steps.query=1.5,-1;1,1;0,-2",
                  "steer": "steps.query=1.5,-1;1,1;2.5,1"},
    },
    "exchanged-values": {
        "page": M03, "key": "exchange",
        "states": {"exchanged": "exchange.exchange=1",
                   **{f"sentence {i}": f"exchange.sentence={i}" for i in (1, 2, 3)},
                   **{f"sentence {i}, exchanged": f"exchange.sentence={i}&exchange.exchange=1"
                      for i in (1, 2, 3)}},
        "damaged": ["exchange.sentence=4", "exchange.sentence=x", "exchange.exchange=2"],
        "goals": {"turn": "exchange.sentence=1&exchange.exchange=1",
                  "keep": "exchange.sentence=3&exchange.exchange=1"},
    },
}  # fmt: skip
