"""The rows of the curriculum: each lesson has an element for those that it holds."""

import pytest

ROWS = {
    "m00_tour": ["F1", "F3", "F4", "F15", "F64"],
    "m01_why_attention": ["F1", "F2", "F3"],
    "m02_query_key_value": ["F4", "F5", "F6", "F23", "F26"],
    "m03_scaled_dot_product": [f"F{n}" for n in [*range(7, 17), 24, 40]],
    "m04_softmax_and_scale": [f"F{n}" for n in range(17, 23)],
    "m05_masks": ["F25", *(f"F{n}" for n in range(27, 32)), "F61"],
    "m06_multi_head": [f"F{n}" for n in [*range(32, 40), 65]],
}
NOTEBOOK = "F66"


@pytest.mark.parametrize("name", ROWS)
def test_each_row_has_its_element(read, name):
    page = read(f"modules/{name}/lesson.html")
    for row in [*ROWS[name], NOTEBOOK]:
        assert page.select_one(f'[data-row="{row}"]'), row


def test_no_lesson_is_left_out(site):
    assert {page.parent.name for page in site.glob("modules/*/lesson.html")} == set(ROWS)
