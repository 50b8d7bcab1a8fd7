"""Every lesson opened on a narrow page in the dark theme; the judge is the browser itself.

A page that becomes narrow and dark after its lesson has run is looked at in test_lessons.
"""

import pytest

from tests.browser.lesson_page import LESSONS, LessonPage

pytestmark = [pytest.mark.browser, pytest.mark.soak]


@pytest.mark.parametrize("name", LESSONS)
def test_fits_a_narrow_dark_page(browser, lab, name):
    """At 900 pixels in the dark theme nothing fails, and no output is wider than the page."""
    page = LessonPage(browser, lab, name, width=900, dark=True)
    try:
        page.run_all()
        page.settle()
        assert (page.trouble(), page.broken_widgets()) == ([], [])
        assert page.page.evaluate("() => look.tooWide()") == []
    finally:
        page.close()
