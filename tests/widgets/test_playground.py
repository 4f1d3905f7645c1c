"""The playground's tasks ask what they say, by rules written anew here; and its settings."""

import pytest

from tests.widgets.js import module

TASKS, SPEC, PATTERNS, LOOK = (
    module(f"playground/{name}.js") for name in ("tasks", "spec", "patterns", "look")
)
ROWS = """(await import('/widgets/lib/exact.js').then(({chanceOf}) => {
  const chance = chanceOf(7);
  return Array.from({length: 200}, () => m.TASKS[x].make(chance));
}))"""


def rows(task):
    return [(row["tokens"], row["targets"]) for row in TASKS.run(ROWS, task)]


def test_repeat_asks_for_what_came_after_the_same_letter():
    periods = set()
    for tokens, targets in rows("repeat"):
        period = tokens.index(tokens[0], 1)
        periods.add(period)
        assert len(set(tokens)) == period
        assert targets[:period] == [-1] * period
        for i in range(period, 24):
            assert targets[i] == tokens[tokens.index(tokens[i]) + 1]
    assert periods == set(range(5, 13))


def test_recall_asks_for_the_number_of_each_letter():
    for tokens, targets in rows("recall"):
        pairs = dict(zip(tokens[:12:2], tokens[1:12:2], strict=True))
        assert len(pairs) == 6
        assert sorted(tokens[12::2]) == sorted(pairs)
        assert targets[12::2] == [pairs[letter] for letter in tokens[12::2]]
        assert set(targets[:12] + targets[13::2]) == {-1}


def test_the_tasks_of_one_or_two_looks():
    for tokens, targets in rows("previous"):
        assert targets == [-1, *tokens[:-1]]
    for tokens, targets in rows("reverse"):
        assert targets == tokens[::-1]
    for tokens, targets in rows("first"):
        assert targets == [tokens.index(token) for token in tokens]
    for tokens, targets in rows("two"):
        assert targets[:6] == [-1] * 6
        assert targets[6::2] == tokens[2:-1]
        assert targets[7::2] == tokens[:-3]


def test_sort_asks_for_the_ten_in_order():
    for tokens, targets in rows("sort"):
        ordered = sorted(tokens[:10])
        assert len({*ordered}) == 10
        assert targets == [-1] * 9 + ordered
        assert tokens[10:] == ordered[:9]


@pytest.mark.parametrize("task", "repeat recall previous reverse first sort two".split())
def test_a_setting_that_is_not_chosen_is_the_tasks(task):
    opening = TASKS.run("m.TASKS[x].opening", task)
    spec = SPEC.call("specOf", {"task": task, "mlp": True})
    assert {name: spec[name] for name in opening} == opening
    assert spec["mlp"] is True
    for change in SPEC.call("changesOf", spec):
        rival = SPEC.call("rivalOf", spec, change)
        assert [name for name in spec if spec[name] != rival[name]] == [change["name"]]


def test_a_lesson_may_offer_one_task_and_few_settings():
    """The labels of the controls, of a playground with one task and two settings."""
    shown = """(() => {
      const root = m.playground({tasks: ["previous"], parts: ["layers", "norm"]});
      document.body.append(root);
      const names = [...root.querySelectorAll(".widget-controls :is(legend, label > span)")];
      const labels = names.map((e) => e.textContent);
      const task = root.value.task;
      root.remove();
      return [task, labels];
    })()"""
    labels = ["Layers", "1", "2", "3", "norm", "Compare with"]
    assert module("playground.js").run(shown) == ["previous", labels]


SHARES = "m.sharesOf('repeat', x.examples, true)(x.maps.map((map) => Float64Array.from(map)))"
LENGTH = 24
EQUAL = [[(j <= i) / (i + 1) for j in range(LENGTH)] for i in range(LENGTH)]
PERIODS = [*range(5, 13)] * 2


def row_of(period, first=0):
    tokens = [(first + i % period) % 16 for i in range(LENGTH + 1)]
    targets = [-1] * period + tokens[period + 1 :]
    return {"tokens": tokens[:LENGTH], "targets": targets}


def looking(back, much=1.0):
    """Each symbol gives ``much`` to one position, ``back`` before it, and else all the same."""
    return [
        [much * (j == max(0, i - back)) + (1 - much) * weight for j, weight in enumerate(row)]
        for i, row in enumerate(EQUAL)
    ]


def followed(periods, maps):
    """What a head follows over rows with these periods, whose maps are ``maps``."""
    flat = [[weight for row in rows for weight in row] for rows in maps]
    examples = [row_of(period, 3 * k) for k, period in enumerate(periods)]
    return PATTERNS.run(f"m.named('repeat', {SHARES})", {"examples": examples, "maps": flat})


@pytest.mark.parametrize(("much", "is_clear"), [(0, False), (0.1, False), (0.3, True), (1, True)])
def test_a_pattern_is_named_only_where_it_is_clearly_above_equal_weights(much, is_clear):
    """And its share is the mean over all rows, not that of one."""
    pattern = followed(PERIODS, [looking(period - 1, much) for period in PERIODS])
    assert ("share" in pattern) == ("after" in pattern["says"]) == is_clear
    assert much or "even" in pattern["says"]
    if is_clear:
        means = []
        for period in PERIODS:
            tokens = row_of(period)["tokens"]
            places = range(period, LENGTH)
            even = [sum(tokens[j - 1] == tokens[i] for j in range(1, i + 1)) for i in places]
            means.append(sum(n / (i + 1) for n, i in zip(even, places, strict=True)) / len(places))
        even = sum(means) / 16
        assert pattern["even"] == pytest.approx(even)
        assert pattern["share"] == pytest.approx(much + (1 - much) * even)


def test_a_pattern_that_only_some_rows_follow_is_not_named():
    pattern = followed(PERIODS, [looking(4) if period == 5 else EQUAL for period in PERIODS])
    assert "share" not in pattern


def test_a_head_that_looks_at_places_is_not_said_to_look_for_tokens():
    """In rows of one period, eight back is what came after the same letter, whatever the letter."""
    pattern = followed([9] * 16, [looking(8)] * 16)
    assert "4 to 11" in pattern["says"]
    assert pattern["share"] == pytest.approx(1)
    assert "before" in followed(PERIODS, [looking(1)] * 16)["says"]


@pytest.mark.parametrize(
    ("count", "off", "words", "too"),
    [
        (2, [], "", "With it off"),
        (2, [0], "head 1.1", "With both off"),
        (3, [0], "head 1.1", "With it off too"),
        (4, [0, 1, 2], "heads 1.1, 2.1 and 3.1", "With it off too"),
    ],
)
def test_what_is_off_is_said(count, off, words, too):
    side = {"heads": [{"name": f"{i + 1}.1", "isOff": i in off} for i in range(count)]}
    assert (LOOK.call("offInWords", side), LOOK.call("offToo", side)) == (words, too)
