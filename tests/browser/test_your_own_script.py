"""Lesson 10: a film after one Shift+Enter, that plays; a right and a wrong guess are answered.

Judge: the browser.
"""

import pytest

from tests.browser.lesson_page import lesson_fixture, shot
from tests.browser.test_start_here import SCROLLED, cell, commit

pytestmark = pytest.mark.browser


lesson = lesson_fixture("10_your_own_script.ipynb")  # test_lessons turns every page narrow and dark


def test_one_action_and_a_film_plays_and_each_guess_is_answered(lesson):
    page = lesson.page
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    film = page.locator(".te-sf").first
    film.wait_for(timeout=60_000)
    playback = film.locator(".te-playback[data-position]")
    begin = float(playback.get_attribute("data-position"))
    assert lesson.soon(lambda: float(playback.get_attribute("data-position")) > begin)
    assert page.evaluate(SCROLLED) < 5
    assert lesson.soon(lambda: film.locator("li.te-sf-on").count() == 1)
    shot(lesson, "film")

    lesson.run_all()
    commit(lesson, "graphs-ask", text="20")
    told = cell(lesson, "graphs-reveal")
    told.locator("text=a graph that is known is not compiled again").wait_for()
    told.locator(".te-sf").wait_for()
    told.locator("button[aria-label^='Play:']").click()
    shot(lesson, "graphs", 4_000)
    commit(lesson, "print-ask", option="longer, by less than half")
    told = cell(lesson, "print-reveal")
    told.locator("text=Exactly right.").wait_for()
    told.locator(".te-sf-bar.te-sf-value").first.wait_for()
    assert "item()" in told.locator(".te-sf-lines").text_content()
    shot(lesson, "print")
    commit(lesson, "starved-ask", text="165.5")
    cell(lesson, "starved-reveal").locator(".te-sf-bar.te-sf-loader").first.wait_for()
    shot(lesson, "starved")
    commit(lesson, "dollar-ask", text="39")
    cell(lesson, "dollar-reveal").locator("text=what is left is the price").wait_for()
    shot(lesson, "dollar")
    assert lesson.console_errors == []
