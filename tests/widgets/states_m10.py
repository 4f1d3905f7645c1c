"""The states that the widgets of m10 are looked at in; tests/site/test_widgets.py says how."""

PAGE = "modules/m10_cost/lesson.html"

STATES = {
    "cost-curves": {
        "page": PAGE, "key": "cost",
        "states": {"GPT-2, short": "cost.model=0&cost.length=128",
                   "all layers, long": "cost.everything=1&cost.length=262144",
                   "Gemma, all layers": "cost.model=3&cost.everything=1&cost.length=8192",
                   "Llama 3": "cost.model=2&cost.length=65536"},
        "damaged": ["cost.model=4", "cost.model=x", "cost.length=100", "cost.length=1e309",
                    "cost.everything=2"],
        "goals": {"even": "cost.model=1&cost.length=8192",
                  "even-in-all": "cost.everything=1&cost.model=1&cost.length=25268"},
    },
    "memory-bars": {
        "page": PAGE, "key": "memory",
        "states": {"GPT-2": "memory.model=0&memory.length=512",
                   "most": "memory.model=1&memory.length=131072&memory.batch=128",
                   "Gemma": "memory.model=3&memory.length=32768&memory.batch=4"},
        "damaged": ["memory.model=9", "memory.length=513", "memory.batch=3", "memory.batch="],
    },
    "roofline": {
        "page": PAGE, "key": "roofline",
        "states": {"too many texts": "roofline.batch=400",
                   "full": "roofline.batch=126",
                   "most": "roofline.batch=512&roofline.machine=0&roofline.length=128000",
                   "card, Llama 3": "roofline.machine=2&roofline.model=2&roofline.bits=8",
                   "CPU, Gemma": "roofline.machine=3&roofline.model=3&roofline.length=125"},
        "damaged": ["roofline.machine=4", "roofline.length=128", "roofline.batch=0",
                    "roofline.batch=513", "roofline.batch=1.5", "roofline.bits=4",
                    "roofline.model=-1"],
        "goals": {"past-the-ridge": "roofline.batch=296", "full": "roofline.batch=126",
                  "cache-first": "roofline.batch=26", "lift-attention": "roofline.model=2"},
    },
}  # fmt: skip
