"""Lessons in Jupyter Notebook 7, which many people open a notebook with; judge: the browser.

What is asked of them in JupyterLab is asked here too, of one and in the soak of three; and their
cards answer.
"""

import pytest

from tests.browser import conftest, test_lessons, test_start_here
from tests.browser.lesson_page import LessonPage, page_of
from tests.browser.test_lessons import (  # noqa: F401 - with the lesson below
    test_every_control_has_a_name_and_keeps_its_keys,
    test_every_slider_answers_the_keyboard,
    test_players_advance_when_played,
    test_runs_without_an_error_or_a_word_on_stderr,
    test_typing_on_a_control_never_edits_the_notebook,
)

pytestmark = pytest.mark.browser
LESSONS = [
    pytest.param("00_start_here.ipynb", marks=pytest.mark.soak),
    "03_systolic_array.ipynb",
    pytest.param("09_data_parallel_training.ipynb", marks=pytest.mark.soak),
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """Jupyter Notebook over a working copy, and what it says of an empty page of its own."""
    with conftest.running_lab(tmp_path_factory.mktemp("notebook"), "notebook") as running:
        yield running


@pytest.fixture(scope="module")
def own_errors(browser, notebook):
    """What the program itself says on an empty page."""
    page = page_of(browser, notebook, "empty.ipynb", "", path="notebooks")
    page.page.wait_for_timeout(2000)
    page.close()
    return page.console_errors


@pytest.fixture(scope="module", params=LESSONS)
def lesson(request, browser, notebook):
    page = LessonPage(browser, notebook, request.param, path="notebooks")
    page.run_all()
    page.settle()
    yield page
    page.close()


def test_every_widget_is_alive(lesson, own_errors):
    assert lesson.broken_widgets() == []
    said = [e for e in lesson.console_errors if not test_lessons.HARMLESS.search(e)]
    assert [e for e in said if e not in own_errors] == []


def test_fits_the_page_when_it_becomes_narrow_and_dark(lesson):
    lesson.turn_narrow_and_dark()
    assert (lesson.broken_widgets(), lesson.page.evaluate("() => look.tooWide()")) == ([], [])


def test_a_prediction_hears_its_sentence(browser, notebook):
    page = LessonPage(browser, notebook, "00_start_here.ipynb", path="notebooks")
    page.run_all()
    test_start_here.commit(page, "light-predict", text="93")
    test_start_here.cell(page, "light-run").locator("text=the work of a single worker").wait_for()
    page.close()
