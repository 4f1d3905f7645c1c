"""The playground: what its page says was found, against the scores of all trainings."""

import json
import re

import pytest

from course.payloads.playground import HEADS, QUESTIONS, TASKS
from tests.conftest import ROOT
from tests.widgets.js import module

PAGE = "playground.html"
ALL = json.loads((ROOT / "models/playground/scores.json").read_text(encoding="utf-8"))
SCORES, RECORDED = ALL["tasks"], ALL["recorded"]


@pytest.fixture
def said(page):
    return re.sub(r"\s+", " ", page.select_one("main").get_text(" ", strip=True))


def shares(task, change):
    return [run["share"] for run in SCORES[task][change]]


def mean(task, change):
    found = shares(task, change)
    return f"{100 * sum(found) / len(found):.0f} %"


def test_every_opening_learns_with_every_seed():
    for task in TASKS:
        runs = SCORES[task]["opening"]
        assert len(runs) >= 3
        assert all(run["learned"] and run["share"] >= 0.95 for run in runs), task


def test_one_layer_and_missing_positions_stay_below(said):
    assert f"mask {mean('repeat', 'opening')} one layer {mean('repeat', 'one layer')}" in said
    assert f" no positions {mean('repeat', 'no positions')} neither positions nor mask" in said
    assert f"nor mask {mean('repeat', 'no positions, no mask')} The last is hardly better" in said
    assert f"With one layer, {mean('recall', 'one layer')} of the answers" in said
    for task, change, most in (
        ("repeat", "one layer", 0.4), ("repeat", "one layer, MLP", 0.4),
        ("repeat", "one layer, four heads", 0.4), ("repeat", "no positions", 0.8),
        ("repeat", "no positions, no mask", 0.25), ("repeat", "no scale", 0.25),
        ("repeat", "fast", 0.15), ("recall", "one layer", 0.45), ("previous", "no positions", 0.4),
        ("reverse", "no positions", 0.3), ("first", "no positions", 0.2),
    ):  # fmt: skip
        assert max(shares(task, change)) < most, (task, change)


def test_without_positions_the_first_answers_are_known_by_what_the_mask_leaves(said):
    runs = SCORES["previous"]["no positions"]
    assert all(run["right"][1] == 1 for run in runs)
    last = sum(sum(run["right"][11:]) for run in runs) / (5 * len(runs))
    assert f"Of the last five answers {100 * last:.0f} % are right." in said
    assert last < min(shares("previous", "no positions"))
    one_look = (
        ("Previous token", "previous", 12),
        ("Reverse", "reverse", 12),
        ("First occurrence", "first", 16),
    )
    rows = (f"{name} {mean(task, 'no positions')} {100 / n:.0f} %" for name, task, n in one_look)
    assert " ".join(rows) in said


def test_a_row_of_each_short_task_is_answered_right(said):
    row = list("daca")
    firsts = [str(row.index(letter) + 1) for letter in row]
    for answers in (["–", *row[:-1]], row[::-1], firsts):
        assert f"{' '.join(row)} {' '.join(answers)}" in said


def test_the_answer_for_a_small_model_is_small_enough():
    runs = SCORES["repeat"]["narrow"]
    assert all(run["numbers"] < 3500 for run in runs)
    assert any(run["share"] >= 0.95 for run in runs)


def test_without_positions_sorting_misses_the_first_answer_alone(said):
    runs = SCORES["sort"]["no positions"]
    assert all(run["right"][9] < 0.1 for run in runs)
    others = [share for run in runs for share in run["right"][10:]]
    assert sum(others) / len(others) > 0.9
    assert f"{mean('sort', 'no positions')} of all answers are right" in said


def test_without_a_mask_the_answer_is_looked_up():
    """The heads together look at the next letter, and need no more steps than with the mask."""
    runs = SCORES["repeat"]["no mask"]
    for run in runs:
        assert sum(head["next"] for head in run["heads"]) > 0.8
    slowest = max(run["learned"] for run in runs)
    assert slowest < min(run["learned"] for run in SCORES["repeat"]["opening"])


def test_without_a_mask_the_other_head_takes_over(said):
    """With seed 0, head 1.1 looks at the next letter; with it off, head 2.1 does more of it."""
    run = SCORES["repeat"]["no mask"][0]
    assert run["heads"][0]["next"] > 2 * run["heads"][1]["next"]
    assert f"head 1.1 off, {100 * run['without'][0]:.0f} % are still right" in said
    next_letter = [
        sum(one["maps"][1][i][i + 1] for one in examples(off=off, mask=False) for i in range(1, 23))
        for off in ([], [[0, 0]])
    ]
    assert next_letter[1] > 1.3 * next_letter[0]


def test_without_a_mask_only_the_last_answer_is_missed(said):
    missed = [run["right"][23] for run in SCORES["repeat"]["no mask"]]
    assert all(min(run["right"][6:23]) == 1 for run in SCORES["repeat"]["no mask"])
    wrong = 100 - 100 * sum(missed) / len(missed)
    assert wrong > 30
    assert f"wrong in {wrong:.0f} % of the examples" in said


def test_neither_head_waits_for_the_other(said):
    """Only head 1.1 has its pattern at step 115; at step 150 head 2.1 has more of its own."""
    (first, second), (later, overtook) = (
        next(one["follows"] for one in RECORDED if one["step"] == step) for step in (115, 150)
    )
    assert second["share"] is None
    assert [first["says"], later["says"], overtook["says"]] == [HEADS[0], *HEADS]
    assert overtook["share"] > later["share"] + 0.1
    begins = f"says {100 * first['share']:.0f} % {first['says']} , and that under head 2.1 still"
    assert f"{begins} says {second['says']} . But at step 150" in said
    assert f"with {100 * overtook['share']:.0f} % against {100 * later['share']:.0f} %." in said


def test_one_layer_does_not_do_and_head_2_1_needs_head_1_1(said):
    one, four = mean("repeat", "one layer"), mean("repeat", "one layer, four heads")
    assert (
        f"With four heads {four} of the answers are right, and with one head it is {one}." in said
    )
    without = [run["without"][0] for run in SCORES["repeat"]["opening"]]
    assert max(without) < 0.2
    assert f"of the answers only {100 * sum(without) / len(without):.0f} % are right" in said


# What trainings of Repeat read of ten examples, after 300 steps.
READ = """(async () => {
  const [{specOf}, {exampleOf}] = await Promise.all(
    ["spec", "reading"].map((name) => import(`/widgets/playground/${name}.js`)));
  const run = m.runOf(specOf({task: "repeat", ...x.changes}));
  while (run.step < 300) run.goOn();
  return Array.from({length: 10}, (_, i) => {
    const {maps, answers} = run.look(300, x.off ?? [], i);
    return {...exampleOf("repeat", i), answers, maps: maps.map((map) => [...map])};
  });
})()"""


def examples(off=(), **changes):
    """Ten examples, with each head's map as a list of rows."""
    found = module("playground/run.js").run(f"(await {READ})", {"changes": changes, "off": off})
    for one in found:
        one["maps"] = [[flat[i : i + 24] for i in range(0, 576, 24)] for flat in one["maps"]]
        one["period"] = 1 + one["tokens"][1:].index(one["tokens"][0])
    return found


def test_the_three_steps_show_what_they_say():
    """The h looks at the b, the second b at the h; and head 2.1 loses it with head 1.1 off."""
    on, off = examples()[0], examples(off=[[0, 0]])[0]
    letters = "".join("abcdefghijklmnop"[token] for token in on["tokens"])
    assert (letters[16], letters.index("b"), letters.index("h")) == ("b", 7, 8)
    assert on["maps"][0][8][7] > 0.95
    assert on["maps"][1][16][8] > 0.95
    assert off["maps"][1][16][8] < 0.05


@pytest.mark.slow
def test_one_layer_names_a_letter_5_to_12_back():
    """And most of all one 10 to 12 back, which is right in long rows and in the shortest."""
    near, rights = [], {True: [], False: []}
    far, band = [], []
    for one in examples(layers=1):
        tokens, period = one["tokens"], one["period"]
        for i in range(period, 24):
            near.append(one["answers"][i] in tokens[max(0, i - 11) : i - 3])
            rights[7 <= period <= 9].append(one["answers"][i] == one["targets"][i])
        for i, weights in enumerate(one["maps"][0][12:], 12):
            band.append(sum(weights[i - 11 : i - 3]))
            far.append(sum(weights[i - 11 : i - 8]))
    assert sum(near) / len(near) > 0.95
    assert sum(band) / len(band) > 0.6
    assert sum(far) / sum(band) > 3 / 8
    assert sum(rights[False]) / len(rights[False]) > 2 * sum(rights[True]) / len(rights[True])


@pytest.mark.slow
def test_without_positions_head_2_1_looks_less_and_less_behind():
    """Head 1.1 takes nearly an even average in the first round."""
    odd, behind = [], [[] for _ in range(4)]
    for one in examples(positions="none"):
        period, (first, second) = one["period"], one["maps"]
        odd += [
            sum(abs(weight - 1 / (i + 1)) for weight in first[i][: i + 1]) / 2
            for i in range(1, period)
        ]
        for i in range(period, 24):
            for k in range(4):
                after = i % period + 1 + k
                behind[k].append(second[i][after] if after < period else 0)
    assert sum(odd) / len(odd) < 0.15
    found = [sum(one) / len(one) for one in behind]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[1] > 3 * found[2]


def test_with_the_mask_half_of_reverse_is_known():
    for run in SCORES["reverse"]["mask"]:
        assert max(run["right"][:8]) < 0.4 < 0.85 < min(run["right"][8:])


def test_each_task_asks_a_question_of_the_page(page):
    assert [*QUESTIONS] == TASKS
    for _, prediction in QUESTIONS.values():
        assert page.select_one(f"#{prediction}.prediction")


def test_the_same_share_twice_is_said_once(page):
    assert not re.search(r"\b(\d+) to \1\b", page.select_one("main").get_text())


def test_each_section_of_a_task_sets_the_widget_up(page):
    links = [a["href"] for a in page.select("a.set-up")]
    tasks = {re.search(r"play\.task=(\w+)", link)[1] for link in links}
    assert tasks == set(TASKS)
    assert all(link.endswith("#playground") for link in links)
