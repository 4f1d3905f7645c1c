"""m06's reshape tracer: every number where PyTorch puts it, in every state."""

from itertools import product

import pytest
import torch

from tests.site.conftest import THEMES, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import axe_violations, settle

PAGE = "modules/m06_multi_head/lesson.html"
WIDGET = "#reshape-tracer"
BLIND = [False, True]
STATES = list(product([2, 4], BLIND, BLIND))
READ = """(root) => [...root.querySelectorAll(".matrices")].map((stage) =>
  [...stage.querySelectorAll("table")].map((table) =>
    [...table.querySelectorAll("tbody tr")].map((tr) =>
      [...tr.querySelectorAll("td")].map((td) => td.textContent))))"""


def real(heads, split_blind, merge_blind):
    """x, heads and merged, by PyTorch's own view, transpose and reshape."""
    x = torch.arange(24).view(1, 3, 8)
    size = 8 // heads
    right = x.view(1, 3, heads, size).transpose(1, 2)
    split = x.view(1, heads, 3, size) if split_blind else right
    merged = split.reshape(1, 3, 8) if merge_blind else split.transpose(1, 2).reshape(1, 3, 8)
    return x, split, merged


def address(heads=2, split_blind=False, merge_blind=False, number=13):
    query = f"trace.heads={heads}&trace.splitBlind={split_blind:d}&trace.mergeBlind={merge_blind:d}"
    return f"{PAGE}?{query}&trace.number={number}"


def set_state(page, heads, split_blind, merge_blind):
    page.locator(WIDGET).get_by_label("Heads").select_option(str(heads), force=True)
    page.locator(WIDGET).get_by_label("Split without transpose").set_checked(split_blind)
    page.locator(WIDGET).get_by_label("Merge without transpose").set_checked(merge_blind)
    settle(page)


def assert_numbers_are_pytorchs(page, *state):
    shown = page.locator(WIDGET).evaluate(READ)
    x, heads, merged = real(*state)
    as_text = [[[str(n) for n in row] for row in t] for t in (x[0].tolist(), merged[0].tolist())]
    assert shown[0] == [as_text[0]]
    assert shown[1] == [[[str(n) for n in row] for row in head] for head in heads[0].tolist()]
    assert shown[2] == [as_text[1]]


def cell(page, stage, number):
    cells = page.locator(f"{WIDGET} .stage").nth(stage).locator("td")
    return cells.get_by_text(str(number), exact=True)


def arithmetic(page):
    settle(page)
    return page.locator(f"{WIDGET} .arithmetic").inner_text()


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_number_stands_where_pytorch_puts_it(open_page, state):
    with open_page(address(*state)) as page:
        assert_numbers_are_pytorchs(page, *state)


def test_it_follows_its_controls(open_page):
    with open_page(PAGE) as page:
        assert_numbers_are_pytorchs(page, 2, False, False)
        for state in STATES[::-1]:
            set_state(page, *state)
            assert_numbers_are_pytorchs(page, *state)


@pytest.mark.parametrize("state", STATES, ids=str)
def test_numbers_in_the_wrong_row_are_marked_and_counted(open_page, state):
    _, heads, merged = real(*state)
    token, row = heads // 8, torch.arange(3)[:, None]
    astray, after = int((token != row).sum()), int((merged // 8 != row).sum())
    with open_page(address(*state)) as page:
        marked = page.locator(f"{WIDGET} .stage")
        assert marked.nth(0).locator(".hidden-cell").count() == 0
        assert marked.nth(1).locator(".hidden-cell").count() == astray
        assert marked.nth(2).locator(".hidden-cell").count() == after
        said = page.locator(f"{WIDGET} .verdict").inner_text()
        assert (f"{astray} of 24" in said) == (astray > 0)
        assert ("all are back" in said) == (after == 0)


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_path_of_every_number(open_page, state):
    """The sentence gives the indices at which PyTorch's tensors hold the number."""
    x, heads, merged = real(*state)
    with open_page(address(*state)) as page:
        for number in (0, 5, 10, 13, 23):
            cell(page, 0, number).click()
            said = arithmetic(page)
            place, back = ((t == number).nonzero()[0].tolist() for t in (heads, merged))
            assert f"heads{place}" in said
            assert f"Merged: {back}" in said
            assert ("back where it was" in said) == (back == (x == number).nonzero()[0].tolist())
            chosen = page.locator(f"{WIDGET} [aria-selected=true]").all_inner_texts()
            assert chosen == [str(number)] * 3


def test_a_number_is_chosen_by_keyboard_and_by_touch(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        cell(page, 1, 4).tap()
        assert "x[0, 0, 4]" in arithmetic(page)
        cell(page, 2, 4).focus()
        page.keyboard.press("ArrowDown")
        assert "x[0, 1, 4]" in arithmetic(page)
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("ArrowRight")
        assert "x[0, 1, 5]" in arithmetic(page)


def test_the_address_keeps_a_view(open_page):
    with open_page(PAGE) as page:
        set_state(page, 4, True, False)
        cell(page, 0, 20).click()
        page.wait_for_url("**trace.number=20**")
        page.reload()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert_numbers_are_pytorchs(page, 4, True, False)
        assert "20 = " in arithmetic(page)


@pytest.mark.parametrize("damage", ["heads=3", "number=24", "number=", "splitBlind=2"])
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(f"{PAGE}?trace.{damage}") as page:
        assert_numbers_are_pytorchs(page, 2, False, False)
        assert "x[0, 1, 5]" in arithmetic(page)


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    with open_page(PAGE, width=width) as page:
        for state in STATES:
            set_state(page, *state)
            for number in (0, 13, 22):
                cell(page, 0, number).click()
                settle(page)
                assert_legible(page, WIDGET)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", STATES, ids=str)
def test_no_axe_violation_in_any_state(open_page, state, theme):
    with open_page(address(*state), theme=theme) as page:
        assert not axe_violations(page, WIDGET)


def test_the_static_form_stands_without_javascript(open_page):
    with open_page(PAGE, live=False, java_script_enabled=False) as page:
        rows = page.locator(f"{WIDGET} .static-form tbody tr").all_inner_texts()
    x, heads, _ = real(2, False, False)
    for i, row in enumerate(rows):
        parts = [x[0, i], heads[0, 0, i], heads[0, 1, i]]
        assert row.split("\t")[1:] == [" ".join(map(str, part.tolist())) for part in parts]
