"""The playground: what its page says was found, against the scores of all trainings."""

import re
from statistics import fmean

import pytest

from course.payloads.playground import HEADS, QUESTIONS, TASKS
from tests.lessons.page_text import cells, share
from tests.scores import scores_of
from tests.widgets.js import module

PAGE = "playground.html"
ALL = scores_of("playground")
SCORES, RECORDED = ALL["tasks"], ALL["recorded"]


def shares(task, change):
    return [run["share"] for run in SCORES[task][change]]


@pytest.mark.parametrize("task", TASKS)
def test_every_opening_learns_with_every_seed(task):
    runs = SCORES[task]["opening"]
    assert len(runs) >= 3
    assert all(run["learned"] and run["share"] >= 0.95 for run in runs)


@pytest.mark.parametrize(("task", "change", "most"), [
    ("repeat", "one layer", 0.4), ("repeat", "one layer, MLP", 0.4),
    ("repeat", "one layer, four heads", 0.4), ("repeat", "no positions", 0.8),
    ("repeat", "no positions, no mask", 0.25), ("repeat", "no scale", 0.25),
    ("repeat", "fast", 0.15), ("recall", "one layer", 0.45), ("previous", "no positions", 0.4),
    ("reverse", "no positions", 0.3), ("first", "no positions", 0.2),
])  # fmt: skip
def test_a_model_that_lacks_a_part_stays_below(task, change, most):
    assert max(shares(task, change)) < most


def test_head_1_1_begins_and_head_2_1_does_not_wait():
    """With every seed; and at step 150 head 2.1 has more of its own."""
    since = ALL["since"]
    assert len(since) == len(SCORES["repeat"]["opening"])
    assert all(first < second for first, second in since)
    follows = {one["step"]: one["follows"] for one in RECORDED}
    begun, nothing = follows[since[0][0]]
    assert (begun["says"], nothing["share"]) == (HEADS[0], None)
    later, overtook = follows[150]
    assert (later["says"], overtook["says"]) == HEADS
    assert overtook["share"] > later["share"] + 0.1


def test_head_2_1_needs_head_1_1():
    for run in SCORES["repeat"]["opening"]:
        assert run["without"][0] < 0.2
        assert run["heads"][0]["before, once"] > 0.9
        assert run["heads"][1]["after"] > 0.95


def test_without_a_mask_the_answer_is_looked_up():
    """Sooner than with the mask; and the last answer, which nothing follows, is missed."""
    runs = SCORES["repeat"]["no mask"]
    for run in runs:
        assert sum(head["next"] for head in run["heads"]) > 0.8
        assert min(run["right"][6:23]) == 1
    assert fmean(run["right"][23] for run in runs) < 0.7
    slowest = max(run["learned"] for run in runs)
    assert slowest < min(run["learned"] for run in SCORES["repeat"]["opening"])


def test_without_positions_it_goes_on_to_learn_without_a_line():
    change = "no positions, 1,000 steps"
    assert min(shares("repeat", change)) > 0.85
    assert max(run["heads"][0]["before, once"] for run in SCORES["repeat"][change]) < 0.3


def test_of_the_short_tasks_one_part_is_known_by_what_the_mask_leaves(page):
    for run in SCORES["previous"]["no positions"]:
        assert run["right"][1] == 1, "one letter to choose from"
        assert fmean(run["right"][11:]) < run["share"]
    for run in SCORES["reverse"]["mask"]:
        assert max(run["right"][:8]) < 0.4 < 0.85 < min(run["right"][8:]), "half of it"
    blind = [" ".join(row[-1].split()) for row in cells(page, "one-look-table")]
    assert blind == [share(1 / symbols) for symbols in (12, 12, 16)]


def test_a_row_of_each_short_task_is_answered_right(page):
    previous, mirrored, first = (
        [text.split() for text in row[2:]] for row in cells(page, "short-tasks")
    )
    assert previous[1] == ["–", *previous[0][:-1]]
    assert mirrored[1] == mirrored[0][::-1]
    assert first[1] == [str(first[0].index(letter) + 1) for letter in first[0]]


def test_the_challenges_have_the_answers_that_are_told():
    smallest = SCORES["repeat"]["narrow, one layer, no mask"]
    assert all(run["numbers"] < 2000 and run["share"] >= 0.95 for run in smallest)
    assert SCORES["repeat"]["narrow"][0]["numbers"] > 2000, "a smaller width doesn't do it alone"
    unsorted = SCORES["sort"]["no positions"]
    assert all(run["right"][9] < 0.1 for run in unsorted), "the first answer alone"
    assert fmean(right for run in unsorted for right in run["right"][10:]) > 0.9


# What a training of Repeat reads of ten examples, after 300 steps.
READ = """(async () => {
  const [{specOf}, {exampleOf}] = await Promise.all(
    ["spec", "reading"].map((name) => import(`/widgets/playground/${name}.js`)));
  const run = m.runOf(specOf({task: "repeat", ...x}));
  while (run.step < 300) run.goOn();
  return Array.from({length: 10}, (_, i) => {
    const {maps, answers} = run.look(300, [], i);
    return {...exampleOf("repeat", i), answers, maps: maps.map((map) => [...map])};
  });
})()"""


def examples(**changes):
    """Ten examples, with each head's map as a list of rows, and how many letters repeat."""
    looks = module("playground/run.js").run(f"(await {READ})", changes)
    for one in looks:
        one["maps"] = [[flat[i : i + 24] for i in range(0, 576, 24)] for flat in one["maps"]]
        one["period"] = 1 + one["tokens"][1:].index(one["tokens"][0])
    return looks


@pytest.mark.slow
def test_one_layer_names_a_letter_5_to_12_back():
    """And looks most at those 9 to 11 back, where the right letter of a long row stands."""
    near, far, band = [], [], []
    for one in examples(layers=1):
        tokens = one["tokens"]
        near += [one["answers"][i] in tokens[max(0, i - 11) : i - 3]
                 for i in range(one["period"], 24)]  # fmt: skip
        for i, weights in enumerate(one["maps"][0][12:], 12):
            band.append(sum(weights[i - 11 : i - 3]))
            far.append(sum(weights[i - 11 : i - 8]))
    assert fmean(near) > 0.95
    assert fmean(band) > 0.6
    assert sum(far) / sum(band) > 3 / 8


@pytest.mark.slow
def test_without_positions_head_2_1_looks_less_and_less_behind():
    """Head 1.1 takes nearly an even average in the first round."""
    odd, behind = [], [[] for _ in range(4)]
    for one in examples(positions="none"):
        period, (first, second) = one["period"], one["maps"]
        odd += [sum(abs(weight - 1 / (i + 1)) for weight in first[i][: i + 1]) / 2
                for i in range(1, period)]  # fmt: skip
        for i in range(period, 24):
            for k in range(4):
                after = i % period + 1 + k
                behind[k].append(second[i][after] if after < period else 0)
    assert fmean(odd) < 0.15
    means = [fmean(one) for one in behind]
    assert means == sorted(means, reverse=True)
    assert means[0] > 2 * means[1] > 3 * means[2]


def test_each_task_asks_a_question_of_the_page(page):
    assert set(TASKS) <= set(QUESTIONS)
    for _, prediction in QUESTIONS.values():
        assert page.select_one(f"#{prediction}.prediction")


def test_links_set_every_task_up_and_lead_to_no_goal(page):
    links = [a["href"] for a in page.select("a.set-up")]
    assert {re.search(r"play\.task=(\w+)", link)[1] for link in links} == set(TASKS)
    assert all(link.endswith("#playground") for link in links)
    assert not any("layers=1&play.mask=0" in link for link in links)
    assert all(prediction.select("a.set-up") for prediction in page.select(".prediction"))
