"""The states that the playground is looked at in; tests/site/test_widgets.py says how."""

STATES = {
    "playground": {
        "page": "playground.html", "key": "play", "grows": 1200, "patience": 120_000,
        "states": {
            "trained a little": "play.step=6&play.width=16&play.off=1.1&play.at=20&play.example=3",
            "many heads": "play.task=recall&play.layers=3&play.heads=4&play.width=16&play.step=2",
            "compared": "play.task=reverse&play.versus=positions-none&play.step=12&play.seed=4",
            "both without a head": "play.task=recall&play.versus=layers-1&play.step=3&play.width=16"
            "&play.off=1.1,b1.1",
            "everything": "play.task=sort&play.layers=2&play.heads=2&play.width=16&play.mask=0"
            "&play.scale=0&play.norm=0&play.mlp=1&play.positions=rotary&play.rate=0.05"
            "&play.seed=9&play.step=3&play.off=1.2,2.1&play.example=9&play.at=18"
            "&play.versus=mlp-false&play.pace=0",
            "first": "play.task=first&play.example=1", "previous": "play.task=previous&play.step=4",
        },
        "damaged": ["play.task=x", "play.layers=4", "play.heads=3", "play.width=17",
                    "play.positions=x", "play.mask=2", "play.rate=0.3", "play.seed=10",
                    "play.step=1001", "play.step=x", "play.off=4.1", "play.off=b4.1", "play.off=",
                    "play.example=10", "play.at=24", "play.at=x", "play.versus=x-1",
                    "play.versus=layers-9", "play.versus=layers", "play.pace=2"],
        "goals": {
            "smallest": "play.layers=1&play.mask=0&play.width=16&play.step=300",
            "one-switch": "play.scale=0&play.step=200",
            "unsorted": "play.task=sort&play.positions=none&play.step=300&play.at=9"
            "&play.example=1",
        },
    },
}  # fmt: skip
