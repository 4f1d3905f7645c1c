"""The widgets' states and the ways to them, and what a reader does by mouse or key."""

import importlib
from pathlib import Path

from models.storyteller.model import ADDRESS
from tests.site.settling import DRAWN, IDLE, SETTLE


def drag(page, widget, start, end):
    """Drag from one place in the plane to another, both as shares of its box."""
    plane = page.locator(f"{widget} svg")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    (x, y), (to_x, to_y) = start, end
    page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * to_x, box["y"] + box["height"] * to_y, steps=3)
    page.mouse.up()


TABLES = sorted((Path(__file__).parents[1] / "widgets").glob("states_*.py"))
STATES = {
    name: entry
    for table in TABLES
    for name, entry in importlib.import_module(f"tests.widgets.{table.stem}").STATES.items()
}


def widgets_of(page_path):
    return {name: entry for name, entry in STATES.items() if entry["page"] == page_path}


# Reads a state from the address in place, as going back does. What waits for a reader's guess is
# open to keys and clicks, as after it.
GO_TO = """(query) => {
  for (const waiting of document.querySelectorAll(".after-prediction")) waiting.inert = false;
  const url = new URL(location);
  url.search = query;
  history.replaceState(null, "", url);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
GO_TO_AND_DRAW = f"(query) => {{ ({GO_TO})(query); return ({DRAWN})(); }}"
STATE = "(e) => JSON.parse(JSON.stringify(e.state))"


def go_to(page, query):
    page.evaluate(GO_TO_AND_DRAW, query) or page.wait_for_function(IDLE)


def live(page, name):
    return page.locator(f"#{name} .widget-live").first


TAB_STOPS = """(root) => [...root.querySelectorAll(
    "input, textarea, select, button, a[href], [tabindex]")]
  .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility()
    && !(e.type === "radio" && e.name && !e.checked))"""
KIND = """(e) => e.type === "range" || e.matches("[role=slider]") ? "slider"
  : e.type === "checkbox" ? "box" : e.type === "radio" ? "radio" : e.matches("input") ? "number"
  : e.matches("[role=gridcell][aria-selected]") ? "cell" : e.matches("[role=radio]") ? "word"
  : e.localName"""
# A key that changes something, and, at the end of the range, one that goes the other way.
KEYS = {
    "slider": ("ArrowRight", "ArrowLeft"), "box": ("Space",), "radio": ("ArrowRight", "ArrowLeft"),
    "number": ("ArrowUp", "ArrowDown"), "cell": ("ArrowRight", "ArrowLeft", "Space"),
    "word": ("ArrowDown", "ArrowUp"), "select": ("ArrowDown", "ArrowUp"), "button": ("Enter",),
    "textarea": ("a",),
}  # fmt: skip
SNAPSHOT = "(e) => JSON.stringify([e.state, e.value]) + e.textContent"


SET_AS_READER = f"""async (names) => {{
  const root = names.map((name) => document.querySelector(`#${{name}} .widget-live`)).find(Boolean);
  const state = ({STATE})(root);
  ({GO_TO})("");
  await ({SETTLE})();
  root.set(state);
  return ({DRAWN})();
}}"""


def set_as_reader(page, query):
    """Set the state that ``query`` stands for, through the page's widget with its address key."""
    key = query.split(".")[0]
    names = [name for name, entry in STATES.items() if entry["key"] == key]
    go_to(page, query)
    page.evaluate(SET_AS_READER, names) or page.wait_for_function(IDLE)


def answer(**how):
    """Let the storyteller's file come so."""
    return lambda page: page.route(f"**/{ADDRESS}", lambda route: route.fulfill(**how))
