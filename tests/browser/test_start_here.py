"""The doorway: the first picture after one Shift+Enter, predictions, and a network that learns.

Judge: the browser; how many digits are misread, the film itself says (``data-wrong``).
"""

import pytest

from tests.browser.lesson_page import LessonPage, lesson_fixture, shot

pytestmark = pytest.mark.browser
SCROLLED = "() => document.querySelector('.jp-WindowedPanel-outer').scrollTop"


lesson = lesson_fixture("00_start_here.ipynb")  # test_lessons turns every page narrow and dark


def cell(lesson, cell_id):
    """Bring a cell into view and return it."""
    i = lesson.cells().index(cell_id)
    lesson.page.evaluate(
        "i => window.jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", i
    )
    found = lesson.page.locator(f".jp-Cell[data-windowed-list-index='{i}']")
    found.wait_for()
    return found


def commit(lesson, cell_id, *, text=None, option=None):
    asked = cell(lesson, cell_id)
    if text is not None:
        asked.locator("input[type=text]").fill(text)
    else:
        asked.locator(f"label:has-text('{option}') input").first.check()
    asked.locator("button:text-is('Commit')").click()


def misread(film):
    """Return how many digits the film misreads where it stands."""
    return int(film.locator("[data-wrong]").get_attribute("data-wrong"))


def test_one_shift_enter_brings_the_first_picture_and_the_page_stays_at_the_top(lesson):
    page = lesson.page
    shot(lesson, "1-opened")
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    page.locator("button[aria-label='Pause the flight']").first.wait_for(timeout=60_000)
    page.wait_for_timeout(500)
    assert page.evaluate(SCROLLED) < 60
    shot(lesson, "2-first-picture")


@pytest.mark.parametrize("name", ["06_lazy_execution.ipynb", "09_data_parallel_training.ipynb"])
def test_a_first_picture_is_in_view_though_the_page_was_scrolled(browser, lab, name):
    """A little down the page Chromium would keep the next cell in place, and scroll."""
    lesson = LessonPage(browser, lab, name, width=900)
    page = lesson.page
    page.set_viewport_size({"width": 900, "height": 900})
    page.evaluate("() => (document.querySelector('.jp-WindowedPanel-outer').scrollTop = 40)")
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    picture = page.locator(".jp-CodeCell .jp-OutputArea-output [data-drawn]").first
    picture.wait_for(timeout=60_000)
    lesson.wait_idle(60)
    assert page.evaluate(SCROLLED) < 150  # of 900
    assert 0 < picture.bounding_box()["y"] < 800
    lesson.close()


def test_predictions_right_and_wrong_get_their_cards(lesson):
    lesson.run_all()
    commit(lesson, "light-predict", text="93")
    reveal = cell(lesson, "light-run")
    reveal.locator("text=the work of a single worker").wait_for()
    shot(lesson, "3-wrong-number")
    commit(lesson, "next-predict", option="257")
    reveal = cell(lesson, "next-run")
    reveal.locator("text=As if each whole number were there").wait_for()
    shot(lesson, "4-wrong-choice")
    commit(lesson, "training-predict", text="500")
    cell(lesson, "training-predict").locator("text=there are only 360").wait_for()
    lesson.page.evaluate("""() => look.clickOnceDrawn(".te-tf button[aria-label^='Play:']")""")
    commit(lesson, "training-predict", text="346")
    film = cell(lesson, "training-run")
    film.locator(".te-tf").wait_for()
    assert lesson.soon(lambda: misread(film) < 150)  # a click counts as soon as there is a button
    film.locator("button[aria-label^='To the first frame']").click()
    cell(lesson, "training-reveal").locator("text=Exactly right.").wait_for()
    shot(lesson, "5-right-number")
    assert lesson.trouble() == []


def test_the_film_plays_wrong_digits_turn_right_and_another_rate_is_another_film(lesson):
    page, film = lesson.page, cell(lesson, "training-run")
    assert misread(film) == 360 - 64
    shot(lesson, "6-film-begins")
    film.locator("button[aria-label^='Play:']").click()
    assert lesson.soon(lambda: misread(film) < 150)
    shot(lesson, "7-film-plays")
    film.locator("input[aria-label^='Position']").focus()
    page.keyboard.press("End")
    assert lesson.soon(lambda: misread(film) == 14)
    film.locator("canvas.te-tf-wall").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert "this is a 0" in film.locator(".te-tf-about").inner_text()
    shot(lesson, "8-film-ends")
    film.locator("input[aria-label='Learning rate']").focus()
    page.keyboard.press("ArrowLeft")
    assert lesson.soon(lambda: film.locator(".te-playback").get_attribute("data-playing") == "yes")
    page.keyboard.press("ArrowRight")
    assert lesson.console_errors == []


def test_progress_says_what_was_done_and_where(lesson):
    page = lesson.page
    i = lesson.cells().index("progress")
    cell(lesson, "progress").locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    lesson.wait_idle(60)
    table = page.locator(f".jp-Cell[data-windowed-list-index='{i}']")
    table.locator("text=3 of 3").wait_for()
    assert "You left off at 00/reads in Start here." in table.inner_text()
    assert table.locator("a:text-is('Kernels')").count() == 1
    shot(lesson, "9-progress")
