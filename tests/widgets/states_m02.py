"""The states that the widgets of m02 are looked at in; tests/site/test_widgets.py says how."""

M02 = "modules/m02_query_key_value/lesson.html"
PRONOUN = "pronoun.html"

STATES = {
    "soft-lookup": {
        "page": M02, "key": "lookup",
        "states": {"hard": "lookup.heat=0", "soft": "lookup.heat=3&lookup.across=-2&lookup.up=0.4",
                   "middle, hard": "lookup.across=0&lookup.up=0&lookup.heat=0"},
        "damaged": ["lookup.heat=-1", "lookup.heat=99", "lookup.across=x", "lookup.up=1e309"],
        "goals": {"bow": "lookup.across=1.5&lookup.up=0.5&lookup.heat=0.5",
                  "halves": "lookup.across=1.45&lookup.up=2"},
    },
    "token-focus": {
        "page": M02, "key": "focus", "grows": 240,
        "states": {"short": "focus.sentence=0", "too small": "focus.sentence=2&focus.head=0",
                   "keys, causal": "focus.sentence=3&focus.causal=1&focus.word=3.2&focus.head=7",
                   "warm": "focus.sentence=4&focus.head=6",
                   "causal, mean": "focus.causal=1&focus.head=8"},
        "damaged": ["focus.sentence=99", "focus.word=1.99", "focus.word=9.0", "focus.head=x",
                    "focus.causal=2", "focus.taken=x", "focus.lent=2",
                    "focus.apart=3"],
        "goals": {"causal-noun": "focus.causal=1&focus.head=7"},
    },
    "hidden-word": {
        "page": M02, "key": "hide",
        "states": {"from trophy": "hide.trophy=1",
                   "from all": "hide.trophy=1&hide.suitcase=1&hide.it=1",
                   "big, from it": "hide.last=big&hide.it=1"},
        "damaged": ["hide.last=huge", "hide.trophy=2", "hide.it=x"],
        "goals": {"sure-of-trophy": "hide.trophy=1&hide.it=1"},
    },
    "changed-look": {
        "page": PRONOUN, "key": "focus", "grows": 240,
        "states": {"the value of big": "focus.sentence=1&focus.head=4&focus.taken=other",
                   "the value of small": "focus.sentence=0&focus.head=4&focus.taken=other",
                   "no mark": "focus.sentence=1&focus.head=4&focus.taken=off&focus.apart=1",
                   "hidden": "focus.sentence=0&focus.head=3&focus.taken=hidden&focus.apart=2",
                   "another word": "focus.sentence=0&focus.head=3&focus.word=0.1",
                   "another query": "focus.sentence=1&focus.head=4&focus.taken=off&focus.asks=1"},
        "damaged": ["focus.sentence=2", "focus.word=2.1", "focus.taken=none", "focus.apart=x",
                    "focus.asks=2"],
        "goals": {},
    },
    "swapped-look": {
        "page": PRONOUN, "key": "swap", "grows": 240,
        "states": {"did": "swap.sentence=1&swap.head=3&swap.word=1.1",
                   "a lent query": "swap.sentence=1&swap.head=4&swap.lent=1",
                   "big, a lent query": "swap.sentence=0&swap.head=4&swap.lent=1"},
        "damaged": ["swap.sentence=2", "swap.word=1.13", "swap.lent=2"],
        "goals": {},
    },
    "did-fit-look": {
        "page": PRONOUN, "key": "fit", "grows": 240,
        "states": {"small": "fit.sentence=1&fit.head=4", "tired": "fit.sentence=3&fit.head=4",
                   "did not": "fit.sentence=2&fit.head=4&fit.word=2.1"},
        "damaged": ["fit.sentence=4", "fit.word=1.99", "fit.head=x"],
        "goals": {},
    },
}  # fmt: skip
