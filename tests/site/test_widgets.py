"""What every widget must do, over one table of states: tests/widgets/states_*.py.

Each entry, by the id of the widget's place, gives its page, its key in the address, the states to
look at (as an address has them), damaged addresses, and for each goal a state that meets it;
"grows" where the states differ in height by more than 80 px, as sentences of the text do;
"patience", in ms, where a goal's state takes long to compute.
"""

import itertools
import re
import xml.etree.ElementTree as ET
from collections import defaultdict

import pytest

from tests.site.axe import axe_violations
from tests.site.conftest import UNFOLD, WIDTHS
from tests.site.geometry import ILLEGIBLE, IS_EXACT, lines_of
from tests.site.gestures import (
    GO_TO,
    KEYS,
    KIND,
    SNAPSHOT,
    STATE,
    STATES,
    TAB_STOPS,
    go_to,
    live,
    set_as_reader,
    widgets_of,
)
from tests.site.hearing import false_equations
from tests.site.settling import IDLE, SETTLE, settle

PAGES = sorted({entry["page"] for entry in STATES.values()})


# The quick run takes every fourth of them, and of the four ways to do so the shortest.
EACH_PAGE = [
    pytest.param(path, marks=[] if i % 4 == 2 else pytest.mark.slow) for i, path in enumerate(PAGES)
]


def fullest(entry):
    """The state that differs from the default in most fields."""
    return max(entry["states"].values(), key=lambda query: query.count("="))


def at_once(states):
    """Yield addresses that together hold all ``states``, (name, query), each with those it holds.

    That is {name: query}, of as many widgets as can; of those whose states share a key, because
    one follows the other, those that agree in all of it.
    """
    left = list(states)
    keys = {name: {STATES[name]["key"]} for name, _ in left}
    for name, query in left:
        keys[name] |= by_key(query).keys()
    while left:
        parts, group = {}, {}
        for name, query in left:
            own = dict.fromkeys(keys[name], "") | by_key(query)
            if name not in group and all(parts.get(key, own[key]) == own[key] for key in own):
                parts |= own
                group[name] = query
        yield "&".join(filter(None, parts.values())), group
        left = [(name, query) for name, query in left if group.get(name) != query]


def by_key(query):
    """``{"a": "a.x=1&a.y=2", "b": …}``"""
    parts = itertools.groupby(query.split("&"), lambda part: part.partition(".")[0])
    return {key: "&".join(group) for key, group in parts}


# ---- Look --------------------------------------------------------------------------------------


NARROWEST, WIDEST = min(WIDTHS), max(WIDTHS)


@pytest.fixture
def widths(pytestconfig):
    """Where there is least room most goes wrong, so the quick run looks there alone."""
    return [NARROWEST] if "not slow" in pytestconfig.option.markexpr else sorted(WIDTHS)[::-1]


@pytest.mark.parametrize("path", EACH_PAGE)
def test_all_that_holds_for_every_widget(open_page, path, widths):
    """In one load, as each part begins with the default, but for the goals already met."""
    entries = widgets_of(path)
    with open_page(path) as page:
        assert_ticks_announces_and_counts_goals(page, path)
        assert_takes_numbers_as_typed(page, entries)
        assert_ignores_damaged_addresses(page, entries)
        assert_keep_their_states_in_the_address(page, entries)
        assert_have_pictures_of_their_own(page)
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            assert_legible_in_all(page, entries, width)
        assert_accessible(page, entries)
        # The last of all, as what a button starts is in no address.
        assert_works_by_keyboard_with_a_visible_focus(page, entries)
        assert_prints_its_fallback(page)
        assert_each_place_follows_its_drawing(page)


def states_at(width, entry):
    """All states at the narrowest and the widest; between them the fullest.

    The default is looked at by the audit of the page, at the same widths.
    """
    states = [*entry["states"].values()]
    return states if width in (NARROWEST, WIDEST) else [fullest(entry)]


# All that is looked at in a state, in one call: each call takes longer than its work.
LOOK = f"""async (names) => {{
  const seen = {{}};
  for (const name of names) {{
    const widget = document.getElementById(name);
    widget.scrollIntoView(); // out of view it may draw later; from its top on, nothing lies over it
    for (const end = performance.now() + 5000; !({IS_EXACT})(widget) && performance.now() < end;) {{
      await new Promise(requestAnimationFrame);
    }}
    const live = widget.querySelector(".widget-live");
    const sentences = [...live.querySelectorAll(".sentence[aria-live=polite]")];
    seen[name] = {{
      isExact: ({IS_EXACT})(widget), faults: ({ILLEGIBLE})(widget),
      height: widget.getBoundingClientRect().height,
      sentences: sentences.map((sentence) => sentence.textContent), shown: live.innerText
    }};
  }}
  return seen;
}}"""


def assert_legible_in_all(page, entries, width):
    heights, sentences = defaultdict(list), defaultdict(set)
    states = [(name, query) for name in entries for query in states_at(width, entries[name])]
    for address, group in at_once(states):
        go_to(page, address)
        for name, seen in page.evaluate(LOOK, [*group]).items():
            query = group[name]
            assert seen["isExact"], f"{name} isn't as high as its drawing: {query}"
            faults = lines_of(seen["faults"], name)
            assert not faults, "\n".join([query, *faults])
            heights[name].append(seen["height"])
            sentences[name].add(sentence_of(seen, (name, query)))
    for name, entry in entries.items():
        silent = len(sentences[name]) == 1 < len(states_at(width, entry))
        assert not silent, f"{name} says the same in every state"
        jump = max(heights[name]) - min(heights[name])
        too_far = jump > entry.get("grows", 80)
        assert not too_far, f"{name} at {width} px: the page jumps by {jump:.0f} px"


def assert_accessible(page, entries):
    """All widgets in their fullest states, as many at once as can: axe reads the whole page."""
    for address, group in at_once([(name, fullest(entry)) for name, entry in entries.items()]):
        go_to(page, address)
        assert not axe_violations(page, ", ".join(f"#{name}" for name in group)), address


# ---- Sentence ----------------------------------------------------------------------------------


def sentence_of(seen, where):
    """Return the sentence that a screen reader hears of a state, after looking for untruths."""
    [text] = seen["sentences"]
    assert text.strip(), where
    assert not [*false_equations(f"{seen['shown']}\n{text}")], where
    assert not {"NaN", "undefined", "Infinity", "null", "[object"} & set(text.split()), where
    return text


# ---- Pictures ----------------------------------------------------------------------------------


PICTURES = """async () => {
  const {picture} = await import("/widgets/lib/save.js");
  const pictures = {};
  for (const card of document.querySelectorAll(".widget[id]:has(> .widget-save)")) {
    const drawn = await picture(card, card.querySelector(".widget-live"));
    const text = new XMLSerializer().serializeToString(drawn);
    const image = new Image();
    image.src = "data:image/svg+xml," + encodeURIComponent(text);
    await image.decode();
    const badges = [...card.querySelectorAll(".widget-caption .source")].map((e) => e.textContent);
    pictures[card.id] = {text, badges, width: image.naturalWidth, height: image.naturalHeight};
  }
  return pictures;
}"""


def assert_have_pictures_of_their_own(page):
    """With the badge that says whether it was trained, and without what a file can't reach."""
    pictures = page.evaluate(PICTURES)
    assert len(pictures) == page.locator(".widget[id]:has(.widget-live)").count()
    for name, picture in pictures.items():
        words = "".join(ET.fromstring(picture["text"]).itertext())
        assert all(badge in words for badge in picture["badges"]), name
        assert picture["width"] >= 250, name
        assert picture["height"] >= 80, name
        assert not re.search(r'\ssrc="(?!data:)', picture["text"]), name
        assert "<script" not in picture["text"], name


# ---- Fallback -------------------------------------------------------------------------------


# The fallbacks and the drawings that show; the room of drawings, and that which a widget keeps
# beyond what is in it.
ON_PAPER = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const height = (e) => e.getBoundingClientRect().height;
  const isShown = (e) => e.checkVisibility() && height(e) > 0;
  return {
    forms: all(".widget .fallback").map(isShown),
    drawings: all(".widget-live").map(isShown),
    places: all(".widget-place").map(height),
    gaps: all(".widget").map((widget) =>
      height(widget) - [...widget.children].reduce((sum, child) => sum + height(child), 0))
  };
}"""


def assert_prints_its_fallback(page):
    assert not any(page.evaluate(ON_PAPER)["forms"])
    page.emulate_media(media="print")
    printed = page.evaluate(ON_PAPER)
    assert len(printed["forms"]) >= page.locator(".widget").count()
    assert all(printed["forms"])
    assert not any(printed["drawings"])
    assert not any(printed["places"])
    assert max(printed["gaps"]) < 130, "no widget keeps its drawing's room"
    page.emulate_media(media="screen")


def test_the_fallbacks_stand_without_scripts(read, served, open_page):
    """All have rows; that they show is a matter of one rule, and tests/site/audit.py's."""
    for path in PAGES:
        forms = read(path.partition("?")[0]).select(".widget .fallback")
        assert forms, path
        assert all(form.select("tbody tr") for form in forms), path
    with open_page("explorer.html", live=False, java_script_enabled=False) as page:
        for path in ("explorer.html", "modules/m05_masks/lesson.html"):
            page.goto(served + path)
            page.evaluate(UNFOLD)
            assert all(form.is_visible() for form in page.locator(".widget .fallback").all())


# ---- Height ------------------------------------------------------------------------------------

# A drawing is laid out alone: its place on the page states the height that it takes.
GROW = """() => document.querySelectorAll(".widget-stage")
  .forEach((e) => e.append("more ".repeat(200)))"""
# The widgets whose place isn't soon as high as their drawing, or is laid out with the page around
# it. Each is looked at in view: far from the reader nothing is laid out.
WRONG_PLACES = f"""async () => {{
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const isAlone = (widget) => [...widget.querySelectorAll(".widget-place")].every((place) =>
    !place.checkVisibility() || getComputedStyle(place).contain === "size layout");
  const becomesRight = async (widget) => {{
    for (const end = performance.now() + 5000; performance.now() < end; await frame()) {{
      if (({IS_EXACT})(widget) && isAlone(widget)) return true;
    }}
    return false;
  }};
  const wrong = [];
  for (const widget of document.querySelectorAll(".widget:has(.widget-place)")) {{
    widget.scrollIntoView({{block: "nearest"}});
    await frame();
    if (!await becomesRight(widget)) wrong.push(widget.id);
  }}
  return wrong;
}}"""


def assert_each_place_follows_its_drawing(page):
    """Also where drawings are longer than any state's, and after a change of the width."""
    page.evaluate(GROW)
    for width in (NARROWEST, WIDEST):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        assert not page.evaluate(WRONG_PLACES)


# ---- Keyboard ----------------------------------------------------------------------------------

# One of several that is chosen: what it does is seen at the others.
IS_CHOSEN = """(e) => e.ariaPressed === "true"
  && Boolean(e.parentElement.parentElement.querySelector("button[aria-pressed=false]"))"""
IS_FOCUSED_VISIBLY = """(e) => {
  const {outlineStyle, outlineWidth, boxShadow} = getComputedStyle(e);
  return (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
}"""


MOVING = """(root) => [...root.querySelectorAll("*")].filter((e) =>
  !/^(0s(, )?)+$/.test(getComputedStyle(e).transitionDuration)
  || e.getAnimations().some((a) => a.playState === "running"))
  .map((e) => e.outerHTML.slice(0, 80))"""
SENTENCE = "(e) => e.querySelector('.sentence[aria-live]').textContent"
# What else a screen reader finds below the controls: where it changes, the sentence is to tell so.
OTHER_TEXT = """(e) => {
  const copy = e.querySelector(".widget-stage").cloneNode(true);
  const others = "[aria-hidden=true], [role=status], [aria-live], pre"; // code repeats the controls
  for (const part of copy.querySelectorAll(others)) part.remove();
  return copy.textContent;
}"""
# The texts stay in the page: they are long, and only whether they change matters.
FOCUS = f"""(root, i) => {{
  const stop = ({TAB_STOPS})(root)[i];
  if (!stop) return null;
  stop.focus();
  root.before = [{SNAPSHOT}, {SENTENCE}, {OTHER_TEXT}].map((look) => look(root));
  return {{
    kind: ({KIND})(stop), text: stop.innerText,
    isSeen: ({IS_FOCUSED_VISIBLY})(stop), isChosen: ({IS_CHOSEN})(stop),
    isEntry: Boolean(stop.closest(".matrix.editable")) // of a row that isn't told
  }};
}}"""
AFTER_A_KEY = f"""async (root) => {{
  await ({SETTLE})();
  const [isChanged, isToldAnew, isFoundAnew] = [{SNAPSHOT}, {SENTENCE}, {OTHER_TEXT}]
    .map((look, i) => look(root) !== root.before[i]);
  return {{
    isChanged, isToldAnew, isFoundAnew, isIdle: ({IDLE})(),
    holdsFocus: root.contains(document.activeElement),
    isWriting: [...root.querySelectorAll("button")] // more comes by itself
      .some((e) => /stop/i.test(e.ariaLabel ?? e.textContent) && e.checkVisibility())
  }};
}}"""


def assert_works_by_keyboard_with_a_visible_focus(page, entries):
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("Shift")  # so that the focus counts as the keyboard's
    for name in entries:
        go_to(page, "")
        root = live(page, name).element_handle()
        count = root.evaluate(f"(root) => ({TAB_STOPS})(root).length")
        for i in range(count):
            if stop := root.evaluate(FOCUS, i):
                assert_answers(page, root, stop, f"{name}, stop {i}, this {stop['kind']}")
        assert not root.evaluate(MOVING), f"{name} moves though motion is not wanted"
    page.emulate_media(reduced_motion="no-preference")


def assert_answers(page, root, stop, where):
    assert stop["isSeen"], f"{where}: its focus can't be seen"
    kind = stop["kind"]
    if kind == "a" or (kind == "button" and stop["text"] in ("Reset", "Play")):
        return
    for key in KEYS[kind]:
        page.keyboard.press(key)
        after = root.evaluate(AFTER_A_KEY)
        if after["isChanged"]:
            break
    else:
        assert stop["isChosen"], f"{where}: no key changes anything"
        return
    assert after["holdsFocus"], f"{where} loses the focus"
    if not after["isIdle"]:
        page.wait_for_function(IDLE)
        after = root.evaluate(AFTER_A_KEY)
    if after["isFoundAnew"] and not (stop["isEntry"] or after["isWriting"]):
        assert after["isToldAnew"], f"{where}: changes what no sentence tells"


# ---- Typed numbers -----------------------------------------------------------------------------

# All are typed into one field of each page; in the others what a widget's own wiring can break.
ALL_TYPED = (
    {"0.5": 0.5, "0,5": 0.5, "-0.5": -0.5, " 1 ": 1, "2": 2},
    ["", "x", "1e309", "1 2", "--1", "99999"],
)
FEW_TYPED = {"-0.5": -0.5, "2": 2}, ["x"]
FIELD = """(field) => {
  const root = field.closest(".widget-live");
  return {value: field.value, hint: root.querySelector(".hint").innerText,
    isInvalid: Boolean(field.getAttribute("aria-invalid")), state: JSON.stringify(root.state)};
}"""
SELECTED_FIELD = f"(field) => {{ field.focus(); field.select(); return ({FIELD})(field); }}"
# What it says of what was typed, and what is there once the reader leaves it.
TYPED_FIELD = f"""(field) => {{
  const typed = ({FIELD})(field);
  field.blur();
  return [typed, ({FIELD})(field)];
}}"""
TYPE_ALL = f"""(field, texts) => texts.map((text) => {{
  field.focus();
  field.select();
  document.execCommand(...(text ? ["insertText", false, text] : ["delete"]));
  return ({TYPED_FIELD})(field);
}})"""


def assert_takes_numbers_as_typed(page, entries):
    """Type in the first and the last field of each widget."""
    typed = ALL_TYPED
    for name in entries:
        fields = live(page, name).locator("input[type=text]:visible").element_handles()
        for field in {0: fields[0], len(fields) - 1: fields[-1]}.values() if fields else ():
            assert_refuses_numbers(page, field, name, typed[1])  # and leads back to the default
            assert_takes_numbers(page, field, name, typed[0])
            typed = FEW_TYPED


def assert_takes_numbers(page, field, name, right):
    field.click()
    for text, number in right.items():
        before = field.evaluate(SELECTED_FIELD)
        page.keyboard.type(text)
        typed, left = field.evaluate(TYPED_FIELD)
        assert typed["value"] == text, f"{name}: rewritten while typing {text!r}"
        if typed["isInvalid"]:
            assert typed["hint"].startswith(("Only", "Type")), (name, text, typed)
            assert typed["state"] == before["state"]
        else:
            assert not typed["hint"]
            assert float(left["value"].replace("−", "-")) == number, (name, text)


def assert_refuses_numbers(page, field, name, wrong):
    go_to(page, "")
    was = field.input_value()
    for text, (typed, left) in zip(wrong, field.evaluate(TYPE_ALL, wrong), strict=True):
        assert typed["value"] == text, f"{name}: rewritten while typing {text!r}"
        assert typed["hint"].startswith(("Only", "Type")), (name, text)
        assert left["value"] == was, f"{name}: {text!r} changed the field"
        assert not left["hint"]
    field.fill("x")
    go_to(page, "")
    back = field.evaluate(FIELD)
    assert back["value"] == was, f"{name}: going back leaves what was being typed"
    assert not back["hint"]


# ---- Address -----------------------------------------------------------------------------------


STATES_NOW = f"""(names) => Object.fromEntries(names.map((name) =>
  [name, ({STATE})(document.querySelector(`#${{name}} .widget-live`))]))"""
# The states of widgets at each of the addresses, which are read at once and drawn only at the end.
STATES_AT = f"""([names, addresses]) => addresses.map((query) => {{
  ({GO_TO})(query);
  return ({STATES_NOW})(names);
}})"""
SET_ALL = """(states) => {
  history.pushState("start", "");
  for (const [name, state] of Object.entries(states)) {
    document.querySelector(`#${name} .widget-live`).set(state);
  }
  return history.length;
}"""
ARE_WRITTEN = "(keys) => keys.every((key) => location.search.match(`[?&]${key}[.]`))"


def states_of(page, names):
    return page.evaluate(STATES_NOW, [*names])


def assert_ignores_damaged_addresses(page, entries):
    damaged = [*at_once([(name, q) for name in entries for q in entries[name]["damaged"]])]
    addresses = ["", *(address for address, _ in damaged)]
    default, *results = page.evaluate(STATES_AT, [[*entries], addresses])
    for (_, group), states in zip(damaged, results, strict=True):
        for name, query in group.items():
            assert states[name] == default[name], f"{name}: {query} is not the default"


def assert_keep_their_states_in_the_address(page, entries):
    """All at once, but for those that share a key: each writes once, after a pause, a step."""
    path = page.url.split("?")[0]
    go_to(page, "")
    default = states_of(page, entries)
    for address, group in at_once(own_states(entries)):
        states, _ = page.evaluate(STATES_AT, [[*group], [address, ""]])
        settle(page)
        for name, query in group.items():
            assert states[name] != default[name], f"{name}: {query} is the default"
        before = page.evaluate(SET_ALL, states)
        keys = [entries[name]["key"] for name in group]
        page.wait_for_function(ARE_WRITTEN, arg=keys, timeout=5000)
        search, steps = page.evaluate("[location.search.slice(1), history.length]")
        assert steps - before == len(group), f"{[*group]}: {steps - before} steps for Back"
        go_to(page, "")
        go_to(page, search)
        assert states_of(page, group) == states, f"{search} is not {address}"
        page.evaluate("(steps) => history.go(-steps)", len(group))
        page.wait_for_function("() => history.state === 'start'")
        settle(page)
        assert states_of(page, entries) == default, f"{[*group]}: Back doesn't go back"
        assert page.url.split("?")[0] == path


def own_states(entries):
    """The last of the fullest states of each widget: the first may be the default, told in full."""
    for name, entry in entries.items():
        if own := [query for query in entry["states"].values() if is_own(entry, query)]:
            yield name, max(reversed(own), key=lambda query: query.count("="))


def is_own(entry, query):
    return all(part.startswith(f"{entry['key']}.") for part in query.split("&"))


# ---- Goals -------------------------------------------------------------------------------------


GOAL = """(goal) => {
  const item = document.getElementById(`goal-${goal}`);
  const told = [...document.querySelectorAll("[role=status]")].map((e) => e.textContent);
  return {
    isMet: item.classList.contains("met"), text: item.textContent,
    announced: told.find((text) => text.includes("Goal met")),
    count: document.querySelector("#quarto-sidebar a.active .progress-count")?.textContent.trim()
  };
}"""


def assert_ticks_announces_and_counts_goals(page, path):
    goals = {
        goal: name for name, entry in widgets_of(path).items() for goal in entry.get("goals", ())
    }
    on_page = page.locator(".goal").evaluate_all("(all) => all.map((goal) => goal.id)")
    assert sorted(on_page) == sorted(f"goal-{goal}" for goal in goals)
    for met, (goal, name) in enumerate(goals.items(), 1):
        assert not page.evaluate(GOAL, goal)["isMet"], f"{goal} is met by itself"
        set_as_reader(page, STATES[name]["goals"][goal])
        # A model may have to be fetched, or trained, first.
        patience = STATES[name].get("patience", 5000)
        page.wait_for_selector(f"#goal-{goal}.met", state="attached", timeout=patience)
        after = page.evaluate(GOAL, goal)
        assert after["announced"].endswith(after["text"])
        assert after["count"] is None or after["count"].startswith(f"{met} of ")
