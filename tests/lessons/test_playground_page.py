"""The playground: what its page says was found, against the scores of all trainings."""

import json
import re
from statistics import fmean

import pytest

from course.payloads.playground import HEADS, QUESTIONS, TASKS
from tests.conftest import ROOT
from tests.lessons.reading import cells, share, shows
from tests.widgets.js import module

PAGE = "playground.html"
ALL = json.loads((ROOT / "models/playground/scores.json").read_text(encoding="utf-8"))
SCORES, RECORDED = ALL["tasks"], ALL["recorded"]


TASKS_SECTION = "#what-there-is-to-find"


def shares(task, change):
    return [run["share"] for run in SCORES[task][change]]


def mean(task, change):
    return share(fmean(shares(task, change)))


def table(page, label):
    return [[cell.replace("\u202f", " ") for cell in row] for row in cells(page, label)]


def test_every_opening_learns_with_every_seed():
    for task in TASKS:
        runs = SCORES[task]["opening"]
        assert len(runs) >= 3
        assert all(run["learned"] and run["share"] >= 0.95 for run in runs), task


def test_one_layer_and_missing_positions_stay_below(page):
    changes = "opening", "one layer", "no positions", "no positions, no mask"
    assert [right for _, right in table(page, "repeat-table")] == [
        mean("repeat", change) for change in changes
    ]
    one, four = mean("repeat", "one layer"), mean("repeat", "one layer, four heads")
    assert shows(page, TASKS_SECTION, one, four, mean("repeat", "opening"))
    assert shows(page, TASKS_SECTION, mean("recall", "one layer"))
    for task, change, most in (
        ("repeat", "one layer", 0.4), ("repeat", "one layer, MLP", 0.4),
        ("repeat", "one layer, four heads", 0.4), ("repeat", "no positions", 0.8),
        ("repeat", "no positions, no mask", 0.25), ("repeat", "no scale", 0.25),
        ("repeat", "fast", 0.15), ("recall", "one layer", 0.45), ("previous", "no positions", 0.4),
        ("reverse", "no positions", 0.3), ("first", "no positions", 0.2),
    ):  # fmt: skip
        assert max(shares(task, change)) < most, (task, change)


def test_without_positions_the_first_answers_are_known_by_what_the_mask_leaves(page):
    runs = SCORES["previous"]["no positions"]
    assert all(run["right"][1] == 1 for run in runs)
    last = sum(sum(run["right"][11:]) for run in runs) / (5 * len(runs))
    assert shows(page, TASKS_SECTION, share(last))
    assert last < min(shares("previous", "no positions"))
    blind = {"previous": 12, "reverse": 12, "first": 16}
    assert [row[1:] for row in table(page, "one-look-table")] == [
        [mean(task, "no positions"), share(1 / n)] for task, n in blind.items()
    ]


def test_a_row_of_each_short_task_is_answered_right(page):
    for (_, _, row, answers), answer in zip(
        table(page, "short-tasks"),
        (lambda row: ["–", *row[:-1]], lambda row: row[::-1],
         lambda row: [str(row.index(letter) + 1) for letter in row]), strict=True,
    ):  # fmt: skip
        assert answers.split() == answer(row.split())


def test_the_answer_for_a_small_model_is_small_enough():
    runs = SCORES["repeat"]["narrow, one layer, no mask"]
    assert all(run["numbers"] < 2000 and run["share"] >= 0.95 for run in runs)
    assert SCORES["repeat"]["narrow"][0]["numbers"] > 2000


def test_without_positions_sorting_misses_the_first_answer_alone(page):
    runs = SCORES["sort"]["no positions"]
    assert all(run["right"][9] < 0.1 for run in runs)
    others = [share for run in runs for share in run["right"][10:]]
    assert fmean(others) > 0.9
    first = share(fmean(run["right"][9] for run in runs))
    assert shows(page, TASKS_SECTION, mean("sort", "no positions"), mean("sort", "opening"))
    assert shows(page, TASKS_SECTION, first), "in the answers to the challenges"
    assert first not in "".join(p.get_text() for p in page.select("#sort p, #sort li")), (
        "which is a challenge"
    )


def test_without_a_mask_the_answer_is_looked_up():
    """The heads together look at the next letter, and need no more steps than with the mask."""
    runs = SCORES["repeat"]["no mask"]
    for run in runs:
        assert sum(head["next"] for head in run["heads"]) > 0.8
    slowest = max(run["learned"] for run in runs)
    assert slowest < min(run["learned"] for run in SCORES["repeat"]["opening"])


@pytest.mark.slow
def test_without_a_mask_the_other_head_takes_over_and_the_last_answer_is_missed(page):
    """With seed 0, head 1.1 looks at the next letter; with it off, head 2.1 does more of it."""
    runs = SCORES["repeat"]["no mask"]
    wrong = 1 - fmean(run["right"][23] for run in runs)
    assert wrong > 0.3
    assert all(min(run["right"][6:23]) == 1 for run in runs)
    assert runs[0]["heads"][0]["next"] > 2 * runs[0]["heads"][1]["next"]
    assert shows(page, TASKS_SECTION, share(wrong))
    on, off = (
        sum(one["maps"][1][i][i + 1] for one in looks for i in range(1, 23))
        for looks in examples([], [[0, 0]], mask=False)
    )
    assert off > 1.3 * on


def test_head_1_1_begins_and_head_2_1_does_not_wait(page):
    """With every seed; and at step 150 head 2.1 has more of its own."""
    since = ALL["since"]
    assert len(since) == len(SCORES["repeat"]["opening"])
    ahead = [second - first for first, second in since]
    assert min(ahead) > 0
    (begun, none), (later, overtook) = (
        next(one["follows"] for one in RECORDED if one["step"] == step)
        for step in (since[0][0], 150)
    )
    assert none["share"] is None
    assert [begun["says"], later["says"], overtook["says"]] == [HEADS[0], *HEADS]
    assert overtook["share"] > later["share"] + 0.1
    numbers = *map(str, since[0]), str(len(since)), str(min(ahead)), str(max(ahead))
    shares = share(overtook["share"]), share(later["share"])
    assert shows(page, TASKS_SECTION, *numbers, *shares)


def test_without_positions_it_goes_on_to_learn(page):
    """After 1,000 steps, the most that the widget trains; and head 1.1 as before."""
    change = "no positions, 1,000 steps"
    assert min(shares("repeat", change)) > 0.85
    for run in SCORES["repeat"][change]:
        assert run["heads"][0]["before, once"] < 0.3
    assert shows(page, TASKS_SECTION, mean("repeat", change))
    steps = len(page.select('a.set-up[href*="play.step=1000"]'))
    assert steps == 1


def test_an_experiment_is_never_blurred_and_no_goal_is_told_before(page):
    told = page.select(".after-prediction a.set-up")
    assert [link.get_text() for link in told] == ["train it to 1,000 steps"]
    for prediction in page.select(".prediction"):
        assert prediction.select("a.set-up")
    assert not page.select('a.set-up[href*="layers=1&play.mask=0"]')


def test_head_2_1_needs_head_1_1(page):
    without = [run["without"][0] for run in SCORES["repeat"]["opening"]]
    assert max(without) < 0.2
    assert shows(page, TASKS_SECTION, share(fmean(without)))


# What a training of Repeat reads of ten examples, after 300 steps, with these heads off.
READ = """(async () => {
  const [{specOf}, {exampleOf}] = await Promise.all(
    ["spec", "reading"].map((name) => import(`/widgets/playground/${name}.js`)));
  const run = m.runOf(specOf({task: "repeat", ...x.changes}));
  while (run.step < 300) run.goOn();
  return x.offs.map((off) => Array.from({length: 10}, (_, i) => {
    const {maps, answers} = run.look(300, off, i);
    return {...exampleOf("repeat", i), answers, maps: maps.map((map) => [...map])};
  }));
})()"""


def examples(*offs, **changes):
    """For each of ``offs`` ten examples, with each head's map as a list of rows."""
    looks = module("playground/run.js").run(f"(await {READ})", {"changes": changes, "offs": offs})
    for one in [one for look in looks for one in look]:
        one["maps"] = [[flat[i : i + 24] for i in range(0, 576, 24)] for flat in one["maps"]]
        one["period"] = 1 + one["tokens"][1:].index(one["tokens"][0])
    return looks


@pytest.mark.slow
def test_the_three_steps_show_what_they_say():
    """The h looks at the b, the second b at the h; and head 2.1 loses it with head 1.1 off."""
    on, off = (look[0] for look in examples([], [[0, 0]]))
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
    for one in examples([], layers=1)[0]:
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
    for one in examples([], positions="none")[0]:
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
    assert set(TASKS) <= set(QUESTIONS)
    for _, prediction in QUESTIONS.values():
        assert page.select_one(f"#{prediction}.prediction")


def test_the_same_share_twice_is_said_once(page):
    assert not re.search(r"\b(\d+) to \1\b", page.select_one("main").get_text())


def test_each_section_of_a_task_sets_the_widget_up(page):
    links = [a["href"] for a in page.select("a.set-up")]
    tasks = {re.search(r"play\.task=(\w+)", link)[1] for link in links}
    assert tasks == set(TASKS)
    assert all(link.endswith("#playground") for link in links)
