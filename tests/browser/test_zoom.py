"""The zoom in real JupyterLab: levels, keys, the flight, beats, and what the pointer is on.

Judges: the levels that the camera stands on, and the labels of the facts.
"""

import pytest

from tests.browser.lesson_page import LessonPage

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser, lab):
    lesson = LessonPage(browser, lab, "00_start_here.ipynb")
    lesson.run_all()
    lesson.settle()
    yield lesson
    lesson.close()


@pytest.fixture
def zoom(page):
    box = page.page.locator(".te-zoom").first
    box.scroll_into_view_if_needed()
    return box


def level(box):
    return float(box.get_attribute("data-z"))


def test_buttons_keys_and_slider_move_the_camera(page, zoom):
    keys = page.page.keyboard
    zoom.locator(".te-zoom-rung").nth(3).click()
    assert page.soon(lambda: level(zoom) == 3)
    zoom.locator("canvas").focus()
    keys.press("ArrowDown")
    assert page.soon(lambda: level(zoom) == 4)
    zoom.locator("input").focus()
    keys.press("ArrowLeft")
    assert page.soon(lambda: level(zoom) == 3.9)
    keys.press("PageUp")
    assert page.soon(lambda: level(zoom) == 4)
    keys.press("Home")
    assert page.soon(lambda: level(zoom) == 0)


def test_a_flight_is_paused_where_it_is_and_ends_in_a_beat(page, zoom):
    fly = zoom.locator(".te-zoom-bar button").first
    fly.click()
    assert page.soon(lambda: level(zoom) > 0.3)
    fly.click()
    here = level(zoom)
    page.page.wait_for_timeout(300)
    assert 0 < here == level(zoom) < 5
    zoom.locator("input").focus()
    page.page.keyboard.press("End")
    assert page.soon(lambda: level(zoom) == 5)
    beat = zoom.locator("[aria-label^='One more beat']")
    assert page.soon(lambda: beat.count() == 1)
    first = beat.get_attribute("aria-label")
    beat.click()
    assert page.soon(lambda: beat.get_attribute("aria-label") != first)


def test_pointing_at_a_part_says_its_source_and_a_click_on_the_frame_leads_in(page, zoom):
    zoom.locator(".te-zoom-rung").nth(2).click()
    assert page.soon(lambda: level(zoom) == 2)
    box = zoom.locator("canvas").bounding_box()

    def at(x, y):  # in the level's units
        return box["x"] + box["width"] * x / 1600, box["y"] + box["height"] * y / 1000

    page.page.mouse.move(*at(200, 500))
    source = zoom.locator(".te-zoom-source")
    assert page.soon(lambda: "memory (HBM)" in source.inner_text())
    page.page.mouse.click(*at(580, 280))
    assert page.soon(lambda: level(zoom) == 3)
    assert page.console_errors == []
