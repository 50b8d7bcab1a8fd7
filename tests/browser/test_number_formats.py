"""Lesson 01 used: the first screen, bits, predictions right and wrong, the wipe.

Judge: the browser; what is uncovered, the canvas itself says.
"""

import pytest

from tests.browser.lesson_page import lesson_fixture
from tests.browser.test_start_here import SCROLLED, cell, commit

pytestmark = pytest.mark.browser


lesson = lesson_fixture("01_number_formats.ipynb")  # test_lessons turns every page narrow and dark


def test_one_shift_enter_brings_the_bits_and_one_click_flips_the_sign(lesson):
    page = lesson.page
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    page.locator(".te-be").first.wait_for(timeout=60_000)
    page.wait_for_timeout(500)
    assert page.evaluate(SCROLLED) < 60
    page.locator(".te-be-sign .te-be-bit").first.click()
    page.locator(".te-be-reading:has-text('−13')").first.wait_for()


def test_predictions_right_and_wrong_get_their_cards(lesson):
    lesson.run_all()
    commit(lesson, "count-predict", text="1024")
    reveal = cell(lesson, "count-reveal")
    reveal.locator("text=As if each whole number were there").wait_for()
    reveal.locator("text=your 1024 would stand 1 apart").wait_for()
    commit(lesson, "cast-predict", option="258")
    cell(lesson, "cast-reveal").locator("text=A half goes up, as at school").wait_for()
    commit(lesson, "codes-predict", text="239")
    cell(lesson, "codes-reveal").locator("text=Exactly right.").wait_for()
    commit(lesson, "weights-predict", option="INT8")
    reveal = cell(lesson, "weights-reveal")
    reveal.locator("text=far too wide for weights").wait_for()
    assert lesson.trouble() == []


def test_the_wipe_uncovers_what_it_is_dragged_over(lesson):
    photo = cell(lesson, "photo")
    wipe = photo.locator(".te-sk-wipe")
    wipe.scroll_into_view_if_needed()
    lesson.still(photo)
    box, mouse = wipe.bounding_box(), lesson.page.mouse
    covered = "e => e.parentNode.querySelectorAll('canvas')[1].style.clipPath"
    drawn = photo.locator("canvas").first
    assert "50%" in drawn.evaluate(covered)
    mouse.move(box["x"] + box["width"] / 2, box["y"] + 90)
    mouse.down()
    mouse.move(box["x"] + box["width"] / 4, box["y"] + 90, steps=4)
    mouse.up()
    assert wipe.get_attribute("aria-valuetext") == "25 % before"
    assert "25%" in drawn.evaluate(covered)
    assert drawn.bounding_box()["width"] == pytest.approx(box["width"], abs=1)
    lesson.page.keyboard.press("ArrowRight")
    assert "26%" in drawn.evaluate(covered)
    photo.locator("select[aria-label='Format']").select_option("fp8_e4m3")
    photo.locator("strong:text-is('33.6 dB')").wait_for()
    assert "26%" in photo.locator("canvas").first.evaluate(covered)  # it stays where it was
    assert lesson.console_errors == []


def test_tables_are_as_narrow_as_the_page(lesson):
    """Judge: the browser's own widths; a table that is too wide is turned on its side."""
    page, tables = lesson.page, ".te-sk-scroll"
    wider = (
        f"() => [...document.querySelectorAll('{tables}')].map(e => e.scrollWidth - e.clientWidth)"
    )
    size = page.viewport_size
    page.set_viewport_size({"width": 700, "height": 1000})
    lesson.settle()
    lesson.wait_idle(60)
    assert lesson.soon(lambda: max(page.evaluate(wider)) <= 1)
    page.set_viewport_size(size)
