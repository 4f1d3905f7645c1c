"""The states of the front page's widgets; tests/site/test_widgets.py says how they are used."""

TEXT = 'The moon looked down at Peter Rabbit. "Good night, moon," said Peter'  # as the page opens
STATES = {
    "story": {
        "page": "index.html", "key": "story", "grows": 900,
        "states": {
            "previous": "story.head=2.4&story.at=7", "first": "story.at=0",
            "off": "story.off=2.4,4.3&story.temperature=1.5",
            "own": "story.text=Once+upon+a+time+there+was+a+cat&story.head=1.1&story.at=3",
            "markup":
                "story.text=%3Cb%3EA%3C/b%3E%0A%0Ahttps://a.b/%3Fc%3Dd%26e&story.temperature=0",
            "empty": "story.text=", "long": "story.text=" + "The+duck+swam+and+sang.+" * 24,
        },
        "damaged": ["story.head=5.1", "story.head=", "story.at=x", "story.at=1e9", "story.off=9.9",
                    "story.temperature=3", "story.text=" + "a" * 1600],
    },
    "taste": {
        "page": "index.html", "key": "taste",
        "states": {"corner": "taste.across=-2&taste.up=-2", "middle": "taste.across=0&taste.up=0"},
        "damaged": ["taste.across=9", "taste.up=x", "taste.up="],
    },
}  # fmt: skip
