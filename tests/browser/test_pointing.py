"""Words of a lesson that light a part of a picture, pointed at with the mouse and by keyboard.

Judge: the browser; the picture changes while the word is pointed at, and is as it was afterwards.
"""

import pytest

from tests.browser.lesson_page import LessonPage
from trainium_edu import neuroncore
from trainium_edu.neuroncore.tilings.attention import attention_program

pytestmark = pytest.mark.browser

PIXELS = "e => [...e.querySelectorAll('canvas')].map(c => c.toDataURL()).join()"


@pytest.mark.parametrize(
    ("name", "picture", "word"),
    [
        ("03_systolic_array", ".te-array", "operand-X"),
        ("07_topology", ".te-topo", "cable-0-3"),
    ],
)
def test_a_word_lights_its_part_of_the_picture_and_lets_it_go(browser, lab, name, picture, word):
    lesson = LessonPage(browser, lab, f"{name}.ipynb")
    lesson.page.locator(".jp-CodeCell .cm-content").first.click()
    lesson.page.keyboard.press("Shift+Enter")
    light_and_let_go(lesson, picture, word)
    assert lesson.console_errors == []
    lesson.close()


def light_and_let_go(lesson, picture, word):
    page = lesson.page
    shown = page.locator(f"{picture} canvas").first
    shown.wait_for(timeout=60_000)
    shown = page.locator(picture).first
    link = page.locator(f"a[href='#light={word}']").first
    link.scroll_into_view_if_needed()
    page.mouse.move(2, 2)
    lesson.still(shown)
    before, place = shown.evaluate(PIXELS), page.url
    link.hover()
    assert lesson.soon(lambda: shown.evaluate(PIXELS) != before)
    link.click()
    assert page.url == place
    page.mouse.move(2, 2)
    page.evaluate("() => document.activeElement.blur()")
    assert lesson.soon(lambda: shown.evaluate(PIXELS) == before)
    link.focus()
    assert lesson.soon(lambda: shown.evaluate(PIXELS) != before)


def test_an_engines_name_lights_its_instructions_alone(browser, lab):
    """Judge: the recorded program's instructions."""
    program = neuroncore.measure(attention_program()).program
    engines = [i.engine.value for i in program.instructions]
    lesson = LessonPage(browser, lab, "04_neuroncore.ipynb")
    page = lesson.page
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    light_and_let_go(lesson, ".te-core", "engine-vector")
    page.evaluate("() => document.activeElement.blur()")
    explorer = page.locator(".te-core").first
    for key in ("tensor", "vector"):
        assert engines.count(key) > 1
        page.locator(f"a[href='#light=engine-{key}']").first.hover()
        lit = str(engines.count(key))
        assert lesson.soon(lambda lit=lit: explorer.get_attribute("data-lit") == lit)
    assert lesson.console_errors == []
    lesson.close()
