"""The states that the widgets of m02 are looked at in; tests/site/test_widgets.py says how."""

M02 = "modules/m02_query_key_value/lesson.html"

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
                    "focus.causal=2", "focus.handed=x", "focus.lent=2"],
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
        "page": "pronoun.html", "key": "focus", "grows": 240,
        "states": {"the value of big": "focus.sentence=2&focus.head=4&focus.handed=1",
                   "nouns swapped": "focus.sentence=6&focus.head=4&focus.handed=1",
                   "a lent query": "focus.sentence=6&focus.head=4&focus.lent=1"},
        "damaged": ["focus.sentence=99", "focus.handed=x", "focus.lent=2"],
        "goals": {},
    },
}  # fmt: skip
