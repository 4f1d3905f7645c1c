"""The playground's tasks ask what they say, by rules written anew here; and its settings."""

import pytest

from tests.widgets.js import module

TASKS, SPEC, PATTERNS = (module(f"playground/{name}.js") for name in ("tasks", "spec", "patterns"))
ROWS = """(await import('/widgets/lib/exact.js').then(({chanceOf}) => {
  const chance = chanceOf(7);
  return Array.from({length: 200}, () => m.TASKS[x].make(chance));
}))"""
NONE = -1  # where no answer is asked for


def repeat(tokens):
    """After the first round, what came after the same letter."""
    period = tokens.index(tokens[0], 1)
    assert len(set(tokens)) == period in range(5, 13)
    return [NONE] * period + [tokens[tokens.index(token) + 1] for token in tokens[period:]]


def recall(tokens):
    """The number of each letter, when the six letters come again."""
    pairs = dict(zip(tokens[:12:2], tokens[1:12:2], strict=True))
    assert sorted(tokens[12::2]) == sorted(pairs)
    assert len(pairs) == 6
    return [NONE] * 12 + [one for letter in tokens[12::2] for one in (pairs[letter], NONE)]


def two(tokens):
    """Two answers a symbol: what stood one place before, and three."""
    pairs = zip(tokens[2:-1], tokens[:-3], strict=True)
    return [NONE] * 6 + [one for pair in pairs for one in pair]


def sort(tokens):
    """The ten letters in order, from the last of them on."""
    ordered = sorted(tokens[:10])
    assert len({*ordered}) == 10
    assert tokens[10:] == ordered[:9]
    return [NONE] * 9 + ordered


ANSWERS = {
    "repeat": repeat,
    "recall": recall,
    "previous": lambda tokens: [NONE, *tokens[:-1]],
    "reverse": lambda tokens: tokens[::-1],
    "first": lambda tokens: [tokens.index(token) for token in tokens],
    "two": two,
    "sort": sort,
}


@pytest.mark.parametrize("task", ANSWERS)
def test_a_task_asks_for_what_its_rule_says(task):
    for row in TASKS.run(ROWS, task):
        assert row["targets"] == ANSWERS[task](row["tokens"])


@pytest.mark.parametrize("task", ANSWERS)
def test_a_setting_that_is_not_chosen_is_the_tasks(task):
    opening = TASKS.run("m.TASKS[x].opening", task)
    spec = SPEC.call("specOf", {"task": task, "mlp": True})
    assert {name: spec[name] for name in opening} == opening
    assert spec["mlp"] is True
    for change in SPEC.call("changesOf", spec):
        rival = SPEC.call("rivalOf", spec, change)
        assert [name for name in spec if spec[name] != rival[name]] == [change["name"]]


def test_a_lesson_may_offer_one_task_and_few_settings():
    shown = """(() => {
      const root = m.playground({tasks: ["previous"], parts: ["layers", "norm"]});
      document.body.append(root);
      const labels = ".widget-controls :is(legend, .toggle, .menu > span)";
      const names = [...root.querySelectorAll(labels)];
      root.remove();
      return names.map((e) => e.textContent.trim());
    })()"""
    assert module("playground.js").run(shown) == ["Layers", "norm", "Compare with"]


# ---- What a head follows -------------------------------------------------------------------------

SHARES = "m.sharesOf('repeat', x.examples, true)(x.maps.map((map) => Float64Array.from(map)))"
LENGTH = 24
EQUAL = [[(j <= i) / (i + 1) for j in range(LENGTH)] for i in range(LENGTH)]
PERIODS = [*range(5, 13)] * 2


def row_of(period, first=0):
    tokens = [(first + i % period) % 16 for i in range(LENGTH + 1)]
    targets = [NONE] * period + tokens[period + 1 :]
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


def share_by_equal_weights(period):
    """What equal weights give to what came after the same letter, on average."""
    tokens = row_of(period)["tokens"]
    places = range(period, LENGTH)
    counts = [sum(tokens[j - 1] == tokens[i] for j in range(1, i + 1)) for i in places]
    return sum(n / (i + 1) for n, i in zip(counts, places, strict=True)) / len(places)


@pytest.mark.parametrize(("much", "is_clear"), [(0, False), (0.1, False), (0.3, True), (1, True)])
def test_a_pattern_is_named_only_where_it_is_clearly_above_equal_weights(much, is_clear):
    """And its share is the mean over all rows, not that of one."""
    pattern = followed(PERIODS, [looking(period - 1, much) for period in PERIODS])
    assert ("share" in pattern) == ("after" in pattern["says"]) == is_clear
    assert much or "even" in pattern["says"]
    if is_clear:
        even = sum(map(share_by_equal_weights, PERIODS)) / len(PERIODS)
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
